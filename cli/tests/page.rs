//! The preview's page in a real browser. `make page` runs it, and needs Chromium.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use cli::{
    Manifests, Policy, SettingsFile,
    preview::{Origin, Preview, page},
};

/// Of a phone, and of a desk.
const WIDTHS: [u32; 2] = [360, 1400];

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

/// The sample cluster's.
fn sample() -> Result<String> {
    let file = SettingsFile::load(&root().join("cli/tour/fences.yml"))?;
    let cluster = Manifests::load(&root().join("cli/tour/cluster"))?;
    let origin = Origin::now("cli/tour/cluster".to_owned(), "cli/tour/fences.yml".to_owned(), None);
    page(&Preview::new(&Policy::native(), &file, cluster, false).run(|_, _| {})?, &origin)
}

/// Also makes the screenshot in the documentation.
#[test]
#[ignore = "needs Chromium: make page"]
fn the_page_fits_phones_and_desks() -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let page = sample()?;
    let file = folder.join("preview.html");
    fs::write(&file, &page)?;
    for width in WIDTHS {
        // Within a script, the end of one must not stand.
        let text = serde_json::to_string(&page)?.replace("</", "<\\/");
        let measure = folder.join(format!("measure-{width}.html"));
        fs::write(&measure, MEASURE.replace("WIDTH", &width.to_string()).replace("PAGE", &text))?;
        let seen = chromium(&[
            "--virtual-time-budget=5000".to_owned(),
            "--window-size=1600,1000".to_owned(),
            "--dump-dom".to_owned(),
            format!("file://{}", measure.display()),
        ])?;
        let (_, title) = seen.split_once("<title>").with_context(|| format!("no title in {seen}"))?;
        let title = title.split_once('.').map_or(title, |(title, _)| title);
        ensure!(title.starts_with("overflow=0 "), "at {width} pixels: {title}");
        let text: usize = title.split_once("text=").context("a length")?.1.parse()?;
        ensure!(text > 1000, "at {width} pixels there are {text} letters");
    }
    let screenshot = root().join("docs/preview.png");
    let _ = fs::remove_file(&screenshot);
    chromium(&[
        format!("--screenshot={}", screenshot.display()),
        "--window-size=1400,1150".to_owned(),
        format!("file://{}", file.display()),
    ])?;
    ensure!(fs::metadata(&screenshot)?.len() > 10_000, "there is no picture");
    let phone = folder.join("preview-360.png");
    chromium(&[
        format!("--screenshot={}", phone.display()),
        "--window-size=500,1600".to_owned(),
        format!("file://{}", folder.join("measure-360.html").display()),
    ])?;
    Ok(())
}
