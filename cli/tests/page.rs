//! The preview's page in a real browser. `make page` runs it, and needs Chromium.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use cli::{
    Manifests, Policy, SettingsFile,
    output::preview::{Origin, page},
    preview::PreviewInput,
};
use serde_json::{Value, json};

/// Of a phone, and of a desk.
const WIDTHS: [u32; 2] = [360, 1280];

/// Puts the page into a frame, and tells how much wider it is than that.
const MEASURE: &str = r#"<!doctype html><body style="margin:0"><iframe id="f" style="border:0;width:WIDTHpx;height:900px"></iframe>
<script>
const frame = document.getElementById("f");
frame.onload = () => {
  const page = frame.contentDocument.documentElement;
  const open = frame.contentDocument.querySelectorAll("details").length;
  document.title = "overflow=" + (page.scrollWidth - frame.clientWidth) + " details=" + open
    + " text=" + frame.contentDocument.body.innerText.length + ".";
};
frame.srcdoc = PAGE;
</script>"#;

fn chromium(arguments: &[String]) -> Result<String> {
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium");
    let _ = fs::remove_dir_all(&profile);
    let program = env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
    ];
    let mut command = Command::new(&program);
    command.args(flags).arg(format!("--user-data-dir={}", profile.display())).args(arguments);
    let output = command.output().with_context(|| format!("{program} can't be started: install chromium"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page_of(settings: SettingsFile, cluster: Manifests, origin: &Origin) -> Result<String> {
    let files = [settings];
    let policy = Policy::native();
    let input = PreviewInput {
        policy: &policy,
        files: &files,
        old: None,
        cluster: &cluster,
        accepted: &[],
        fixed_nodes: false,
    };
    page(&input.preview(|_, _| {})?, origin)
}

/// The sample cluster's.
fn sample() -> Result<String> {
    let settings = SettingsFile::load(&root().join("cli/tour/fences.yml"))?.0.pop().context("settings")?;
    let cluster = Manifests::load(&root().join("cli/tour/cluster"))?;
    let origin = Origin::now("cli/tour/cluster".to_owned(), "cli/tour/fences.yml".to_owned(), None);
    page_of(settings, cluster, &origin)
}

/// That of so many tenants, each with a namespace, nodes of its own and a Deployment. Some Deployments ask for the nodes
/// of others, and some run there.
fn tenants(count: usize) -> Result<String> {
    let settings = "placement: { namespaces: [
        { namespaceSelector: example.com/tenant, requiredNodeSelector: 'example.com/tenant=$(example.com/tenant)',
          defaultTolerations: [{ key: example.com/tenant, value: $(example.com/tenant), effect: NoSchedule }] },
        { name: '*', requiredNodeSelector: '!example.com/tenant' } ] }";
    let file = SettingsFile::read_all(vec![yaml_serde::from_str(settings)?])?.pop().context("settings")?;
    let mut objects = vec![json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "shared" } })];
    for index in 0..count {
        let tenant = format!("tenant-{index:03}");
        let label = json!({ "example.com/tenant": tenant });
        let taint = json!([{ "key": "example.com/tenant", "value": tenant, "effect": "NoSchedule" }]);
        let object = |version: &str, kind: &str, name: &str, spec: Value| {
            let metadata = json!({ "name": name, "namespace": tenant, "labels": label });
            json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec })
        };
        let asked = if index % 50 == 1 { json!({ "example.com/tenant": "tenant-000" }) } else { json!({}) };
        let spec = json!({ "nodeSelector": asked });
        let owner = json!([{ "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": true }]);
        let node = if index % 50 == 2 { "shared".to_owned() } else { format!("node-{index:03}") };
        let mut pod = object("v1", "Pod", "web-0", json!({ "nodeName": node }));
        pod["metadata"]["ownerReferences"] = owner;
        pod["status"] = json!({ "phase": "Running" });
        let mut objects_of_all = [
            object("v1", "Namespace", &tenant, json!({})),
            object("v1", "Node", &format!("node-{index:03}"), json!({ "taints": taint })),
        ];
        objects_of_all.iter_mut().for_each(|object| object["metadata"]["namespace"] = Value::Null);
        objects.extend(objects_of_all);
        objects.extend([object("apps/v1", "StatefulSet", "web", json!({ "template": { "spec": spec } })), pod]);
    }
    page_of(file, objects.into_iter().collect(), &Origin::now("example".to_owned(), "settings.yml".to_owned(), None))
}

fn measure(name: &str, page: &str, width: u32) -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Within a script, the end of one must not stand.
    let text = serde_json::to_string(page)?.replace("</", "<\\/");
    let measure = folder.join(format!("measure-{name}-{width}.html"));
    fs::write(&measure, MEASURE.replace("WIDTH", &width.to_string()).replace("PAGE", &text))?;
    let seen = chromium(&[
        "--virtual-time-budget=5000".to_owned(),
        "--window-size=1600,1000".to_owned(),
        "--dump-dom".to_owned(),
        format!("file://{}", measure.display()),
    ])?;
    let (_, title) = seen.split_once("<title>").with_context(|| format!("no title in {seen}"))?;
    let title = title.split_once('.').map_or(title, |(title, _)| title);
    ensure!(title.starts_with("overflow=0 "), "{name} at {width} pixels: {title}");
    let text: usize = title.split_once("text=").context("a length")?.1.parse()?;
    ensure!(text > 600, "{name} at {width} pixels: {text} letters");
    Ok(())
}

/// Also makes the screenshot in the documentation.
#[test]
#[ignore = "needs Chromium: make page"]
fn the_page_fits_phones_and_desks() -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let pages = [("sample", sample()?), ("3", tenants(3)?), ("25", tenants(25)?), ("300", tenants(300)?)];
    for (name, page) in &pages {
        let file = folder.join(format!("preview-{name}.html"));
        fs::write(&file, page)?;
        WIDTHS.iter().try_for_each(|width| measure(name, page, *width))?;
        for (width, height) in [(500, 1600), (1280, 1150)] {
            let picture = folder.join(format!("preview-{name}-{width}.png"));
            let source = if width == 500 { format!("measure-{name}-360.html") } else { format!("preview-{name}.html") };
            chromium(&[
                format!("--screenshot={}", picture.display()),
                format!("--window-size={width},{height}"),
                format!("file://{}", folder.join(source).display()),
            ])?;
        }
        for (flag, what) in [("--force-dark-mode", "dark"), ("", "print")] {
            let output = folder.join(format!("preview-{name}-{what}"));
            let output = match what {
                "print" => format!("--print-to-pdf={}.pdf", output.display()),
                _ => format!("--screenshot={}.png", output.display()),
            };
            let flag = if flag.is_empty() { "--no-pdf-header-footer" } else { flag };
            chromium(&[
                flag.to_owned(),
                "--enable-features=WebContentsForceDark".to_owned(),
                output,
                format!("file://{}", file.display()),
            ])?;
        }
    }
    let screenshot = root().join("docs/preview.png");
    fs::copy(folder.join("preview-sample-1280.png"), &screenshot)?;
    ensure!(fs::metadata(&screenshot)?.len() > 10_000, "there is no picture");
    Ok(())
}
