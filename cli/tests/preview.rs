//! The command `preview`: what it prints, how it ends, and what it makes of a dump that is not what it should be.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use rstest::rstest;
use serde_json::Value;

const FENCES: &str = "cli/tour/fences.yml";
const CLUSTER: &str = "cli/tour/cluster";

const BLUE: &str = "{ placement: { namespaces: [{ name: blue, requiredNodeSelector: pool=blue }] } }";
const NAMESPACE: &str = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blue"}}"#;
const NODE: &str = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"pool": "blue"}}}"#;
const OTHER_NODE: &str = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}}"#;
const REFUSED: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "blue"},
    "spec": {"template": {"spec": {"nodeSelector": {"pool": "red"}}}}}"#;
const MISPLACED: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "blue"},
    "spec": {"nodeName": "n2"}, "status": {"phase": "Running"}}"#;

/// At the root of the workspace, with the width that `COLUMNS` says.
fn run(arguments: &[&str], columns: &str) -> Result<Output> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"));
    Ok(command.arg("preview").args(arguments).env("COLUMNS", columns).current_dir(root).output()?)
}

/// The files of one test.
struct Files(PathBuf);

impl Files {
    fn new(test: &str, settings: &str, cluster: &str) -> Result<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("preview").join(test);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("settings.yml"), settings)?;
        fs::write(folder.join("cluster.json"), cluster)?;
        Ok(Self(folder))
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    fn preview(&self, more: &[&str]) -> Result<Output> {
        let (settings, cluster) = (self.path("settings.yml"), self.path("cluster.json"));
        run(&[&["-s", &settings, "-c", &cluster], more].concat(), "")
    }
}

fn list(objects: &[&str]) -> String {
    format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{}]}}"#, objects.join(","))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Nodes are missing. The outcome is longer than its column.
#[test]
fn a_long_outcome_stands_apart_from_its_workloads() -> Result<()> {
    let files = Files::new("long-outcome", BLUE, &list(&[NAMESPACE, REFUSED]))?;
    let output = text(&files.preview(&[])?.stdout);
    assert!(output.contains("\n  could not be evaluated\n                "), "{output}");
    Ok(())
}

#[rstest]
#[case::ready("ready", &[NAMESPACE, NODE], &[], 0)]
#[case::not_yet("not-yet", &[NAMESPACE, NODE, REFUSED], &[], 1)]
#[case::misplaced("misplaced", &[NAMESPACE, NODE, OTHER_NODE, MISPLACED], &[], 1)]
#[case::misplaced_and_accepted("accepted", &[NAMESPACE, NODE, OTHER_NODE, MISPLACED], &["--accept", "Misplaced,LeavesNodes"], 0)]
#[case::what_nobody_can_want("unwanted", &[NAMESPACE, NODE], &["--accept", "Refused"], 2)]
#[case::nothing_got_worse("same", &[NAMESPACE, NODE, REFUSED], &["--old", "cli/tests/blue.yml"], 0)]
fn the_exit_status_tells_whether_a_deployment_may_go_on(
    #[case] name: &str,
    #[case] cluster: &[&str],
    #[case] more: &[&str],
    #[case] status: i32,
) -> Result<()> {
    let files = Files::new(name, BLUE, &list(cluster))?;
    let own = files.path("settings.yml");
    let more: Vec<&str> =
        more.iter().map(|word| if word.ends_with("blue.yml") { own.as_str() } else { word }).collect();
    let output = files.preview(&more)?;
    ensure!(output.status.code() == Some(status), "{output:?}");
    Ok(())
}

/// What is no longer sent to the policy no longer gets its tolerations.
#[test]
fn what_the_new_policy_leaves_out_loses_what_the_old_one_added() -> Result<()> {
    const POLICY: &str = r#"
        { apiVersion: policies.kubewarden.io/v1, kind: ClusterAdmissionPolicy, metadata: { name: placement }, spec: {
            module: registry://example.com/policy:v1, mutating: true,
            rules: [{ apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE] }],
            contextAwareResources: [{ apiVersion: v1, kind: Namespace }, { apiVersion: v1, kind: Node }],
            namespaceSelector: { matchExpressions: [{ key: placed, operator: DoesNotExist }] },
            settings: { placement: { namespaces: [{ name: blue,
                defaultTolerations: [{ key: team, operator: Equal, value: blue, effect: NoSchedule }] }] } } } }"#;
    const TAINTED: &str = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
        "spec": {"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}]}}"#;
    let files = Files::new("left-out", &POLICY.replace("DoesNotExist", "Exists"), &list(&[NAMESPACE, TAINTED]))?;
    let old = files.path("old.yml");
    fs::write(&old, POLICY)?;
    let output = files.preview(&["--old", &old, "-o", "json"])?;
    let preview: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    let namespace = &preview["namespaces"][0];
    ensure!(output.status.code() == Some(1) && namespace["outcome"] == "Waits", "{preview:#}");
    ensure!(
        namespace["was"]["outcome"] == "Changed" && preview["advice"][0]["cause"]["kind"] == "Taint",
        "{preview:#}"
    );
    Ok(())
}

#[rstest]
#[case::cut("cut", &format!(r#"{{"kind": "List", "items": [{NAMESPACE}, {NODE}, {{"apiV"#), "cluster.json")]
#[case::wrong_types(
    "wrong-types",
    &list(&[NAMESPACE, r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n3"}, "spec": {"taints": "x"}}"#]),
    "Node n3: spec.taints: "
)]
#[case::wrong_types_in_a_template(
    "wrong-template",
    &list(&[NAMESPACE, NODE, r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "blue"}, "spec": {"template": {"spec": {"tolerations": 7}}}}"#]),
    "Deployment blue/d: spec.template.spec.tolerations: expected a list; found integer `7`"
)]
#[case::a_wrong_node_pool(
    "wrong-pool",
    &list(&[NAMESPACE, r#"{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": {"template": {"spec": {"requirements": [{"key": "a", "operator": "Near"}]}}}}"#]),
    "NodePool p: spec.template.spec.requirements[0]"
)]
#[case::a_wrong_status(
    "wrong-status",
    &list(&[NAMESPACE, NODE, r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "blue"}, "spec": {"replicas": "3"}}"#]),
    "Deployment blue/d: spec.replicas: expected i32; found \"3\""
)]
#[case::a_template_that_is_none(
    "no-template",
    &list(&[NAMESPACE, NODE, r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "blue"}, "spec": {"template": "x"}}"#]),
    "Deployment blue/d: spec.template: expected an object; found \"x\""
)]
#[case::a_label_that_is_no_text(
    "wrong-label",
    &list(&[r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blue", "labels": {"tenant": 7}}}"#, NODE]),
    "Namespace blue: metadata.labels.tenant: expected a text; found integer `7`"
)]
#[case::a_time_that_is_none(
    "wrong-time",
    &list(&[NAMESPACE, NODE, r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "blue", "deletionTimestamp": ""}}"#]),
    "Pod blue/p: metadata.deletionTimestamp: "
)]
#[case::a_list_that_goes_on(
    "goes-on",
    &format!(r#"{{"apiVersion": "v1", "kind": "PodList", "metadata": {{"continue": "abc"}}, "items": [{NAMESPACE}, {NODE}]}}"#),
    "cluster.json: metadata.continue: expected a whole list"
)]
#[case::too_deep(
    "deep",
    &list(&[&format!(r#"{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "deep"}}, "x": {}{}}}"#, "[".repeat(130), "]".repeat(130))]),
    "Node deep: "
)]
fn a_dump_that_can_not_be_read_is_told_with_its_object(
    #[case] name: &str,
    #[case] cluster: &str,
    #[case] told: &str,
) -> Result<()> {
    let output = Files::new(name, BLUE, cluster)?.preview(&[])?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    ensure!(text(&output.stderr).contains(told) && output.stdout.is_empty(), "{output:?}");
    Ok(())
}

/// `kubectl get -o yaml` writes `kind: List` last.
#[rstest]
#[case::at_the_beginning_of_an_item("item", 2, Some("it was cut off"))]
#[case::within_an_item("within", 1, Some("it was cut off"))]
#[case::nowhere("whole", 0, None)]
fn a_yaml_list_that_was_cut_off_is_told(
    #[case] name: &str,
    #[case] less: usize,
    #[case] told: Option<&str>,
) -> Result<()> {
    let whole = format!(
        "apiVersion: v1\nitems:\n- {NAMESPACE}\n- {NODE}\n- apiVersion: v1\n  kind: Node\n  metadata: {{ name: n2 }}\nkind: List\n"
    );
    let lines: Vec<&str> = whole.lines().collect();
    let cut = match less {
        2 => lines.len() - 4,
        less => lines.len() - less,
    };
    let files = Files::new(&format!("yaml-cut-{name}"), BLUE, &format!("{}\n", lines[..cut].join("\n")))?;
    fs::rename(files.0.join("cluster.json"), files.0.join("cluster.yml"))?;
    let (settings, cluster) = (files.path("settings.yml"), files.path("cluster.yml"));
    let output = run(&["-s", &settings, "-c", &cluster], "")?;
    match told {
        Some(told) => {
            ensure!(output.status.code() == Some(2) && text(&output.stderr).contains(told), "{output:?}");
            ensure!(text(&output.stderr).contains("cluster.yml"), "{output:?}");
        }
        None => ensure!(output.status.code() == Some(0), "{output:?}"),
    }
    Ok(())
}

#[test]
fn a_yaml_list_that_goes_on_elsewhere_is_told() -> Result<()> {
    let files = Files::new("yaml-goes-on", BLUE, "")?;
    let list = format!("apiVersion: v1\nitems:\n- {NAMESPACE}\n- {NODE}\nkind: List\nmetadata:\n  continue: abc\n");
    fs::write(files.0.join("cluster.yml"), list)?;
    let output = run(&["-s", &files.path("settings.yml"), "-c", &files.path("cluster.yml")], "")?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    ensure!(text(&output.stderr).contains("metadata.continue: expected a whole list"), "{output:?}");
    Ok(())
}

#[test]
fn folders_in_a_folder_are_read_and_what_is_not_is_told() -> Result<()> {
    let files = Files::new("folders", BLUE, "")?;
    let folder = files.0.join("cluster");
    fs::create_dir_all(folder.join("workloads/web"))?;
    fs::create_dir_all(folder.join(".git"))?;
    fs::write(folder.join("all.json"), list(&[NAMESPACE, NODE]))?;
    fs::write(folder.join("workloads/web/deployment.YML"), REFUSED)?;
    fs::write(folder.join("workloads/nodes.txt"), NODE)?;
    fs::write(folder.join(".git/config.yml"), REFUSED.replace("web", "hidden"))?;
    let (settings, folder) = (files.path("settings.yml"), files.path("cluster"));
    let output = run(&["-s", &settings, "-c", &folder, "-o", "json"], "")?;
    let preview: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(preview["workloads"].as_array().map(Vec::len), Some(1), "{preview}");
    assert_eq!(preview["workloads"][0]["outcome"], "Refused");
    let remarks = preview["remarks"].to_string();
    ensure!(remarks.contains("were not read") && remarks.contains("nodes.txt"), "{remarks}");
    ensure!(!remarks.contains("hidden") && !remarks.contains(".git"), "{remarks}");
    Ok(())
}

#[test]
fn what_is_there_twice_counts_once_and_is_told() -> Result<()> {
    let files = Files::new("twice", BLUE, &list(&[NAMESPACE, NODE, REFUSED, REFUSED]))?;
    let preview: Value = serde_json::from_slice(&files.preview(&["-o", "json"])?.stdout)?;
    assert_eq!(preview["workloads"].as_array().map(Vec::len), Some(1));
    let remarks = preview["remarks"].to_string();
    assert!(remarks.contains("the first counts: Deployment blue/web"), "{remarks}");
    Ok(())
}

#[test]
fn a_script_is_printed_for_what_is_misplaced_alone() -> Result<()> {
    let files = Files::new("script", BLUE, &list(&[NAMESPACE, NODE, OTHER_NODE, MISPLACED, REFUSED]))?;
    let script = text(&files.preview(&["-o", "commands"])?.stdout);
    assert!(script.starts_with("#!/bin/sh\n# Read this") && script.contains("# Not restarted: Pod one"), "{script}");
    assert!(!script.contains("web") && !script.contains("\nkubectl"), "{script}");
    Ok(())
}

#[rstest]
fn piped_text_keeps_to_columns(#[values("40", "72", "160")] columns: &str) -> Result<()> {
    let report = text(&run(&["-s", FENCES, "-c", CLUSTER], columns)?.stdout);
    let width: usize = columns.parse()?;
    let is_too_long =
        |line: &&str| line.chars().count() > width && line.trim_start().trim_start_matches("- ").contains(' ');
    ensure!(!report.lines().any(|line| is_too_long(&line)), "{report}");
    Ok(())
}

/// What the schema says of a value: which members it has, and which it may have.
fn complaints(value: &Value, schema: &Value, root: &Value, path: &str) -> Vec<String> {
    let schema =
        match schema["$ref"].as_str().or(schema["allOf"][0]["$ref"].as_str()).or(schema["anyOf"][0]["$ref"].as_str()) {
            Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
            None => schema,
        };
    let mut found = vec![];
    if let (Some(members), Some(known)) = (value.as_object(), schema["properties"].as_object()) {
        for (key, member) in members {
            match known.get(key) {
                Some(schema) => found.extend(complaints(member, schema, root, &format!("{path}.{key}"))),
                None => found.push(format!("{path}.{key} is not in the schema")),
            }
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        found.extend(required.filter(|key| !members.contains_key(*key)).map(|key| format!("{path}.{key} is missing")));
    }
    for item in value.as_array().into_iter().flatten() {
        found.extend(complaints(item, &schema["items"], root, path));
    }
    let words = schema["oneOf"].as_array().into_iter().flatten().map(|word| &word["const"]);
    let words: Vec<&Value> = words.chain(schema["enum"].as_array().into_iter().flatten()).collect();
    if !words.is_empty() && !words.contains(&value) && !words.iter().all(|word| word.is_null()) {
        found.push(format!("{path}: {value} is none of {words:?}"));
    }
    found
}

#[test]
fn the_json_is_what_its_schema_says_and_yaml_the_same() -> Result<()> {
    let schema = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/preview.schema.json"))?;
    let schema: Value = serde_json::from_str(&schema)?;
    let arguments = ["-s", FENCES, "-c", CLUSTER, "-o"];
    let json: Value = serde_json::from_slice(&run(&[&arguments[..], &["json"]].concat(), "")?.stdout)?;
    assert_eq!(complaints(&json, &schema, &schema, ""), Vec::<String>::new());
    assert_eq!(json["advice"].as_array().map(Vec::len), Some(5), "{json}");
    let yaml: Value = yaml_serde::from_str(&text(&run(&[&arguments[..], &["yaml"]].concat(), "")?.stdout))?;
    assert_eq!(json, yaml);
    let mut wrong = json;
    wrong["workloads"][0]["outcome"] = "Fine".into();
    wrong["extra"] = 1.into();
    assert_eq!(complaints(&wrong, &schema, &schema, "").len(), 2);
    Ok(())
}

/// An API server asks webhooks that mutate first, each in the order of the names of their configurations.
#[rstest]
#[case::by_name(("z-white", true), ("a-fence", true), 1)]
#[case::what_only_validates_comes_last(("a-white", false), ("b-fence", true), 1)]
#[case::the_whitelist_comes_first(("a-white", true), ("z-fence", true), 0)]
fn policies_are_asked_in_their_order(
    #[case] white: (&str, bool),
    #[case] fence: (&str, bool),
    #[case] exit: i32,
) -> Result<()> {
    let policy = |(name, mutating): (&str, bool), entry: &str| {
        format!(
            "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {{ name: {name} }}\nspec:\n  \
             module: registry://example.com/policy:v1\n  mutating: {mutating}\n  mode: protect\n  failurePolicy: Fail\n  \
             contextAwareResources: [{{ apiVersion: v1, kind: Namespace }}, {{ apiVersion: v1, kind: Node }}]\n  \
             rules: [{{ apiGroups: [\"\"], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE] }}]\n  \
             settings: {{ placement: {{ namespaces: [{{ name: \"*\", {entry} }}] }} }}\n"
        )
    };
    let settings = [policy(white, "allowedNodeSelector: \"\""), policy(fence, "requiredNodeSelector: pool=blue")];
    let files =
        Files::new(&format!("order-{}-{}", white.0, white.1), &settings.join("---\n"), &list(&[NAMESPACE, NODE]))?;
    let output = files.preview(&[])?;
    ensure!(output.status.code() == Some(exit), "{}{}", text(&output.stdout), text(&output.stderr));
    Ok(())
}
