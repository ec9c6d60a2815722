//! Input that somebody wrote to do harm: what reaches the terminal, and what ends with an error.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::Result;
use rstest::rstest;
use serde_json::{Value, json};

/// Clears the screen, says something else, turns the direction around.
const TRICK: &str = "\u{1b}[2J\u{1b}[Henv=prod\u{9b}31m\u{7f}\u{202e}";

const SETTINGS: &str = "{placement: {namespaces: [{name: '*', requiredNodeSelector: pool=blue}]}}";

fn folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn run(arguments: &[&str], folder: &Path) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"));
    Ok(command.args(arguments).current_dir(folder).output()?)
}

/// A cluster all of whose texts are tricks.
fn cluster() -> Value {
    let metadata = |name: &str| json!({ "name": name, "annotations": { "scheduler.alpha.kubernetes.io/node-selector": TRICK, "a": TRICK } });
    json!({ "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "Namespace", "metadata": metadata("team-a") },
        {
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": format!("node{TRICK}"), "labels": { "pool": TRICK } },
            "spec": { "taints": [{ "key": TRICK, "value": TRICK, "effect": "NoSchedule" }] },
        },
        {
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": format!("web{TRICK}"), "namespace": "team-a" },
            "spec": { "nodeName": format!("node{TRICK}"), "nodeSelector": { "pool": TRICK }, "containers": [] },
        },
        { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "api", "namespace": format!("ghost{TRICK}") } },
    ] })
}

#[rstest]
#[case::explain("explain", &["explain", "-n", "team-a", "-s", "settings.yml", "-c", "cluster.json"])]
#[case::a_pod("pod", &["explain", "-n", "team-a", "pod/web\u{1b}[2J", "-s", "settings.yml", "-c", "cluster.json"])]
#[case::preview("preview", &["preview", "-s", "settings.yml", "-c", "cluster.json"])]
#[case::preview_as_json("json", &["preview", "-s", "settings.yml", "-c", "cluster.json", "-o", "json"])]
#[case::preview_as_yaml("yaml", &["preview", "-s", "settings.yml", "-c", "cluster.json", "-o", "yaml"])]
#[case::preview_as_a_page("html", &["preview", "-s", "settings.yml", "-c", "cluster.json", "-o", "html"])]
#[case::a_manifest("try", &["try", "cluster.json", "-s", "settings.yml", "-c", "cluster.json"])]
#[case::settings("check", &["check", "tricks.yml"])]
#[case::a_policy("policy", &["policy", "tricks.yml"])]
#[case::a_path("path", &["check", "\u{1b}[2J.yml"])]
#[case::colors("colors", &["explain", "-n", "team-a", "-s", "settings.yml", "-c", "cluster.json", "--color", "always"])]
fn no_control_character_of_others_reaches_a_terminal(#[case] name: &str, #[case] arguments: &[&str]) -> Result<()> {
    let folder = folder(name)?;
    fs::write(folder.join("settings.yml"), SETTINGS)?;
    fs::write(folder.join("cluster.json"), cluster().to_string())?;
    let entry = json!({ "name": "*", "requiredNodeSelector": TRICK, TRICK: 1 });
    fs::write(folder.join("tricks.yml"), json!({ "placement": { "namespaces": [entry] } }).to_string())?;
    let output = run(arguments, &folder)?;
    let told = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
    assert!(!told.is_empty());
    // The tool's own colours.
    let told = ["1", "2", "1;31", "32", "0"].iter().fold(told, |told, ink| told.replace(&format!("\u{1b}[{ink}m"), ""));
    let dangerous = |it: &char| it.is_control() && *it != '\n' || *it == '\u{202e}';
    assert_eq!(told.chars().find(dangerous), None, "{told:?}");
    Ok(())
}

#[rstest]
#[case::settings("settings", &["check", "bomb.yml"])]
#[case::a_cluster("cluster", &["preview", "-s", "settings.yml", "-c", "bomb.yml"])]
#[case::a_manifest("manifest", &["try", "bomb.yml", "-s", "settings.yml"])]
fn anchors_that_explode_end_with_an_error(#[case] name: &str, #[case] arguments: &[&str]) -> Result<()> {
    let folder = folder(&format!("bomb-{name}"))?;
    let mut bomb =
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 10].join(", "));
    }
    fs::write(folder.join("bomb.yml"), bomb)?;
    fs::write(folder.join("settings.yml"), SETTINGS)?;
    let output = run(arguments, &folder)?;
    let told = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("bomb.yml") && told.contains("aliases copy more than 8388608 bytes"), "{told}");
    Ok(())
}

#[test]
fn an_object_that_is_nested_too_deeply_is_named() -> Result<()> {
    let folder = folder("deep")?;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let pod = format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "web", "namespace": "a"}}, "spec": {deep}}}"#
    );
    fs::write(folder.join("cluster.json"), pod)?;
    fs::write(folder.join("settings.yml"), SETTINGS)?;
    let output = run(&["preview", "-s", "settings.yml", "-c", "cluster.json"], &folder)?;
    let told = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("cluster.json: object 1: Pod a/web: expected an object of at most 120 levels"), "{told}");
    Ok(())
}

#[rstest]
#[case::a_spec("Deployment", json!({ "template": { "spec": "x" } }), "Deployment a/web: spec.template.spec: expected")]
#[case::a_selector(
    "DaemonSet",
    json!({ "template": { "spec": { "nodeSelector": "x" } } }),
    "DaemonSet a/web: spec.template.spec.nodeSelector: expected"
)]
#[case::an_affinity(
    "DaemonSet",
    json!({ "template": { "spec": { "affinity": [] } } }),
    "DaemonSet a/web: spec.template.spec.affinity: expected"
)]
#[case::metadata("StatefulSet", json!({ "template": { "metadata": 1 } }), "web: spec.template.metadata: expected")]
#[case::a_pod("Pod", json!("x"), "Pod a/web: spec: expected an object")]
fn a_field_that_is_no_object_is_named(#[case] kind: &str, #[case] spec: Value, #[case] expected: &str) -> Result<()> {
    let folder = folder(&format!("field-{}", expected.len()))?;
    let api_version = if kind == "Pod" { "v1" } else { "apps/v1" };
    let metadata = json!({ "name": "web", "namespace": "a" });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } });
    let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec });
    fs::write(folder.join("cluster.json"), json!({ "kind": "List", "items": [namespace, object] }).to_string())?;
    fs::write(folder.join("settings.yml"), SETTINGS)?;
    let output = run(&["preview", "-s", "settings.yml", "-c", "cluster.json"], &folder)?;
    let told = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains(expected), "{told}");
    let subject = format!("{kind}/web").to_lowercase();
    let output = run(&["explain", "-n", "a", &subject, "-s", "settings.yml", "-c", "cluster.json"], &folder)?;
    let told = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains(expected), "{told}");
    Ok(())
}

#[rstest]
#[case::narrow("60", 60)]
#[case::wide("160", 160)]
#[case::no_number("wide", 100)]
fn lines_are_as_wide_as_columns_says(#[case] columns: &str, #[case] width: usize) -> Result<()> {
    let folder = folder(&format!("columns-{columns}"))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"));
    let output = command.args(["tour", "--all"]).env("COLUMNS", columns).current_dir(folder).output()?;
    let told = String::from_utf8(output.stdout)?;
    // What is quoted as it is written may be longer, and so may commands.
    let is_prose = |line: &&str| line.starts_with(|it: char| it.is_uppercase()) && !line.contains("kubectl ");
    let prose: Vec<&str> = told.lines().filter(is_prose).collect();
    let longest = prose.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    assert!(longest <= width && longest + 20 > width, "{longest}");
    Ok(())
}
