//! Clusters in which one thing is true, and what a preview has to say of them: `previews/*.yml`.
//!
//! Each file has `settings` (or `old` and new ones), perhaps the `policy` around them, a `cluster`, and what to `expect`:
//! every workload and every namespace with its outcome, the kinds of advice in their order, whether it is `ready`.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use cli::{
    Manifests, Policy, SettingsFile,
    cluster::{Kind, manifests::Unlisted},
    input::documents::objects,
    output::preview::{Origin, commands, page, text},
    preview::{Accepted, Forecast, Preview, PreviewInput},
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Planted {
    settings: Value,
    #[serde(default)]
    old: Value,
    #[serde(default)]
    policy: Value,
    /// The specs of more policies of the same deployment, with their settings.
    #[serde(default)]
    beside: Vec<Value>,
    #[serde(default)]
    accept: Vec<String>,
    #[serde(default)]
    fixed_nodes: bool,
    cluster: Vec<Value>,
    /// Resources that the cluster refuses to list.
    #[serde(default)]
    unlisted: Vec<String>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    ready: bool,
    /// The nodes that namespaces may use, and may not with the old settings.
    opens: Option<BTreeMap<String, Vec<String>>>,
    workloads: BTreeMap<String, String>,
    namespaces: BTreeMap<String, String>,
    was: Option<BTreeMap<String, String>>,
    advice: Option<Vec<String>>,
    remarks: Option<usize>,
    nodes: Option<BTreeMap<String, Vec<String>>>,
    pods: Option<BTreeMap<String, usize>>,
    /// The lines of the script that do something.
    commands: Option<Vec<String>>,
    /// Parts of the script.
    #[serde(default)]
    script: Vec<String>,
    /// Parts of the text.
    #[serde(default)]
    text: Vec<String>,
    #[serde(default)]
    no_text: Vec<String>,
}

/// All planted clusters, with their names.
fn planted() -> Result<Vec<(String, Planted)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/previews");
    let mut found = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().context("a name")?.to_string_lossy().into_owned();
        let file = yaml_serde::from_str(&fs::read_to_string(&path)?).with_context(|| name.clone())?;
        found.push((name, file));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

impl Planted {
    fn files(&self, settings: &Value) -> Result<Vec<SettingsFile>> {
        if self.policy.is_null() {
            return SettingsFile::read_all(vec![settings.clone()]);
        }
        let mut spec = self.policy.clone();
        spec["settings"] = settings.clone();
        let specs = [&spec].into_iter().chain(&self.beside).enumerate();
        let documents = specs.map(|(place, spec)| {
            let metadata = json!({ "name": format!("placement-{place}") });
            let kind = "ClusterAdmissionPolicy";
            json!({ "apiVersion": "policies.kubewarden.io/v1", "kind": kind, "metadata": metadata, "spec": spec })
        });
        SettingsFile::read_all(documents.collect())
    }

    fn preview(&self) -> Result<Preview> {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": self.cluster });
        let cluster = Manifests::read(objects(&list.to_string())?.texts)?;
        let cluster = cluster.lacking(self.unlisted.iter().map(unlisted).collect());
        let accepted = self.accept.iter().map(|wanted| Accepted::ALL.into_iter().find(|known| known.name() == *wanted));
        let accepted = accepted.collect::<Option<Vec<_>>>().context("outcomes")?;
        let policy = Policy::native();
        let files = |settings: &Value| {
            let answer = policy.validate_settings(settings)?;
            ensure!(answer.valid, "{:?}", answer.message);
            self.files(settings)
        };
        let now = files(&self.settings)?;
        let old = (!self.old.is_null()).then(|| files(&self.old)).transpose()?;
        let old = old.as_deref();
        let (policy, files, cluster, accepted, fixed_nodes) = (&policy, &now, &cluster, &accepted, self.fixed_nodes);
        PreviewInput { policy, files, old, cluster, accepted, fixed_nodes }.preview(|_, _| {})
    }
}

fn unlisted(resource: &String) -> Unlisted {
    let kind = Kind::all().find(|kind| kind.for_kubectl() == *resource).unwrap_or(Kind::NodePool);
    Unlisted { kind, resource: resource.clone(), is_not_found: false, reason: format!("{resource} is forbidden") }
}

fn outcome(Forecast { outcome, would_be }: Forecast) -> String {
    let would_be = if would_be { "would be " } else { "" };
    format!("{would_be}{outcome:?}")
}

/// What is found, in the form of what is expected.
fn found(preview: &Preview, expected: &Expected) -> Expected {
    let name = |kind: &str, namespace: &str, name: &str| format!("{kind} {namespace}/{name}");
    let workloads = || preview.workloads.iter().map(|it| (name(&it.kind, &it.namespace, &it.name), it));
    let script = commands(preview);
    let runs = script.lines().filter(|line| !line.is_empty() && !line.starts_with('#') && *line != "set -e");
    let of_workloads = workloads().filter_map(|(name, it)| Some((name, it.finding.was?)));
    let of_namespaces = preview.namespaces.iter().filter_map(|it| Some((it.name.clone(), it.finding.was?)));
    let was = of_workloads.chain(of_namespaces).map(|(name, was)| (name, outcome(was)));
    Expected {
        ready: preview.verdict.ready,
        opens: expected.opens.as_ref().map(|_| {
            let opens = preview.opens.iter().flatten();
            opens.map(|opening| (opening.namespace.clone(), opening.nodes.clone())).collect()
        }),
        workloads: workloads().map(|(name, it)| (name, outcome(it.finding.forecast))).collect(),
        namespaces: preview.namespaces.iter().map(|it| (it.name.clone(), outcome(it.finding.forecast))).collect(),
        was: expected.was.as_ref().map(|_| was.collect()),
        advice: expected
            .advice
            .as_ref()
            .map(|_| preview.advice.iter().map(|it| format!("{:?}", it.cause.kind)).collect()),
        remarks: expected.remarks.map(|_| preview.remarks.len()),
        nodes: expected.nodes.as_ref().map(|some| {
            workloads().filter(|(name, _)| some.contains_key(name)).map(|(name, it)| (name, it.nodes.clone())).collect()
        }),
        pods: expected.pods.as_ref().map(|some| {
            workloads().filter(|(name, _)| some.contains_key(name)).map(|(name, it)| (name, it.pods)).collect()
        }),
        commands: expected.commands.as_ref().map(|_| runs.map(str::to_owned).collect()),
        script: expected.script.iter().filter(|part| script.contains(*part)).cloned().collect(),
        text: vec![],
        no_text: vec![],
    }
}

impl Expected {
    fn fields(&self) -> [(&'static str, String); 11] {
        [
            ("ready", self.ready.to_string()),
            ("opens", format!("{:?}", self.opens)),
            ("workloads", format!("{:?}", self.workloads)),
            ("namespaces", format!("{:?}", self.namespaces)),
            ("was", format!("{:?}", self.was)),
            ("advice", format!("{:?}", self.advice)),
            ("remarks", format!("{:?}", self.remarks)),
            ("nodes", format!("{:?}", self.nodes)),
            ("pods", format!("{:?}", self.pods)),
            ("commands", format!("{:?}", self.commands)),
            ("script", format!("{:?}", self.script)),
        ]
    }
}

/// What differs from what is expected, in lines.
fn differences(name: &str, planted: &Planted) -> Result<Vec<String>> {
    let preview = planted.preview().with_context(|| name.to_owned())?;
    let expected = &planted.expect;
    let found = found(&preview, expected);
    let mut lines = vec![];
    for ((field, expected), (_, found)) in expected.fields().into_iter().zip(found.fields()) {
        if expected != found {
            lines.push(format!("{name}: {field}: expected {expected}, found {found}"));
        }
    }
    let text = text(&preview, 10_000, true);
    let page = page(&preview, &Origin::default())?;
    let is_known = |kind: &str| page.contains(kind);
    ensure!(is_known("<h1"), "{name}: a page without a verdict");
    lines.extend(
        expected.text.iter().filter(|part| !text.contains(*part)).map(|part| format!("{name}: no {part:?} in {text}")),
    );
    lines.extend(
        expected.no_text.iter().filter(|part| text.contains(*part)).map(|part| format!("{name}: {part:?} in {text}")),
    );
    if !lines.is_empty() {
        lines.push(text);
    }
    Ok(lines)
}

#[test]
fn a_preview_of_a_planted_cluster_tells_what_was_planted() -> Result<()> {
    let planted = planted()?;
    ensure!(planted.len() >= 40, "only {} planted clusters", planted.len());
    let mut wrong = vec![];
    for (name, planted) in &planted {
        wrong.extend(differences(name, planted)?);
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A false *ready* is the worst fault.
#[test]
fn what_lacks_something_is_never_ready() -> Result<()> {
    let lacking: Vec<_> = planted()?.into_iter().filter(|(name, _)| name.starts_with("missing-")).collect();
    ensure!(lacking.len() >= 8, "only {} clusters lack something", lacking.len());
    for (name, planted) in lacking {
        ensure!(!planted.expect.ready && !planted.preview()?.verdict.ready, "{name}");
    }
    Ok(())
}
