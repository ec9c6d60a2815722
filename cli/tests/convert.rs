//! `convert`: what it reads, what it writes, and what it refuses. That the settings decide as the plugins did is a test
//! of `e2e-tests`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use rstest::rstest;
use serde_json::{Value, json};

const NODE_SELECTOR: &str =
    "podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: env=dev, production: env=production }";
const TOLERATIONS: &str = "
apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
kind: Configuration
default: [{ key: dedicated, operator: Equal, value: blue, effect: NoSchedule }]
whitelist: [{ key: dedicated, operator: Exists }, { operator: Exists, effect: NoExecute }]
";

/// Runs the command in a folder with these files; the first is what is converted.
fn convert(test: &str, files: &[(&str, &str)], arguments: &[&str]) -> Result<Output> {
    let folder = folder(test)?;
    for (name, text) in files {
        fs::write(folder.join(name), text)?;
    }
    let (first, _) = files.first().context("a file")?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"));
    Ok(command.arg("convert").arg(first).args(arguments).current_dir(folder).output()?)
}

fn folder(test: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("convert").join(test);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn printed(output: &Output) -> Result<String> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout.clone())?)
}

fn settings(text: &str) -> Result<Value> {
    Ok(yaml_serde::from_str(text)?)
}

fn of_tolerations(list: &str) -> Result<Value> {
    let configuration: Value = yaml_serde::from_str(TOLERATIONS)?;
    Ok(configuration[list].clone())
}

#[test]
fn pod_node_selector_alone() -> Result<()> {
    let text = printed(&convert("node-selector", &[("plugin.yml", NODE_SELECTOR)], &[])?)?;
    assert_eq!(
        settings(&text)?,
        json!({ "placement": {
            "clusterDefaultNodeSelector": "env=dev",
            "namespaceAnnotations": ["scheduler.alpha.kubernetes.io/node-selector"],
            "namespaces": [{ "name": "production", "allowedNodeSelector": "env=production" }],
        } })
    );
    assert!(
        text.contains(
            "# It does not allow env=dev of clusterDefaultNodeSelector: a Pod that requests nothing is refused"
        )
    );
    Ok(())
}

#[test]
fn pod_toleration_restriction_alone() -> Result<()> {
    let text = printed(&convert("tolerations", &[("plugin.yml", TOLERATIONS)], &[])?)?;
    assert_eq!(
        settings(&text)?,
        json!({ "placement": {
            "clusterDefaultTolerations": of_tolerations("default")?,
            "namespaceAnnotations": [],
            "namespaces": [{ "name": "*", "allowedTolerations": of_tolerations("whitelist")? }],
            "onTolerationAnnotations": "Honor",
        } })
    );
    assert!(!text.contains("The plugin refuses a Pod that requests nothing"), "{text}");
    Ok(())
}

/// By path, relative to the file, and inline; in YAML and in JSON.
#[rstest]
#[case::inline("inline", json!([
    { "name": "PodNodeSelector", "configuration": { "podNodeSelectorPluginConfig": { "a": "x=y", "b": "" } } },
    { "name": "PodTolerationRestriction", "configuration": yaml_serde::from_str::<Value>(TOLERATIONS).unwrap() },
]), &[])]
#[case::by_path("by-path", json!([
    { "name": "ImagePolicyWebhook", "path": "nowhere.yml" },
    { "name": "PodNodeSelector", "path": "node-selector.yml" },
    { "name": "PodTolerationRestriction", "path": "tolerations.yml" },
]), &[("node-selector.yml", "podNodeSelectorPluginConfig: { a: x=y, b: '' }"), ("tolerations.yml", TOLERATIONS)])]
fn both_plugins(#[case] test: &str, #[case] plugins: Value, #[case] others: &[(&str, &str)]) -> Result<()> {
    let file =
        json!({ "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins });
    let file = file.to_string();
    let files = [&[("admission.json", file.as_str())], others].concat();
    let text = printed(&convert(test, &files, &[])?)?;
    let whitelist = of_tolerations("whitelist")?;
    assert_eq!(
        settings(&text)?["placement"]["namespaces"],
        json!([
            { "name": "a", "allowedNodeSelector": "x=y", "allowedTolerations": whitelist },
            { "name": "*", "allowedTolerations": whitelist },
        ])
    );
    assert!(text.contains("# Left out, since an empty selector allows everything in the plugin: b."), "{text}");
    Ok(())
}

#[rstest]
#[case::a_key_twice("twice", "{ a: 'x=1, x=2' }", "The plugin's selector has x more than once", "x=2")]
#[case::no_name(
    "no-name",
    "{ team-*: x=1, a: x=2 }",
    "Left out, since no namespace can be called \"team-*\": \"x=1\".",
    "x=2"
)]
#[case::no_end_of_a_comment("comment", "{ \"a\\nplacement:\": x=1, a: x=2 }", "called \"a\\nplacement:\"", "x=2")]
fn what_is_read_otherwise_is_told(
    #[case] test: &str,
    #[case] config: &str,
    #[case] comment: &str,
    #[case] allowed: &str,
) -> Result<()> {
    let file = format!("podNodeSelectorPluginConfig: {config}");
    let text = printed(&convert(test, &[("plugin.yml", &file)], &[])?)?;
    assert!(text.contains(comment), "{text}");
    assert_eq!(settings(&text)?["placement"]["namespaces"], json!([{ "name": "a", "allowedNodeSelector": allowed }]));
    Ok(())
}

#[test]
fn a_default_that_a_whitelist_does_not_allow_is_told() -> Result<()> {
    let file = "podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: env=dev, a: env=prod }";
    let text = printed(&convert("default", &[("plugin.yml", file)], &[])?)?;
    assert!(text.contains("# It does not allow env=dev of clusterDefaultNodeSelector"), "{text}");
    assert!(text.contains("# Pod, give the entry a defaultNodeSelector that it allows.\n"), "{text}");
    Ok(())
}

#[test]
fn a_whitelist_that_no_plain_pod_satisfies_is_told() -> Result<()> {
    let file =
        "{apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, whitelist: [{key: a}]}";
    let text = printed(&convert("plain-pod", &[("plugin.yml", file)], &[])?)?;
    assert!(text.contains("# The plugin refuses a Pod that requests nothing"), "{text}");
    assert!(text.contains("#   { key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute"), "{text}");
    Ok(())
}

/// A comment stays only where the cluster does not contradict it.
#[test]
fn what_the_cluster_contradicts_is_no_comment() -> Result<()> {
    let plugin = "podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: env=dev, a: env=prod, b: env=prod }";
    let cluster = "{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {scheduler.alpha.kubernetes.io/node-selector: \
                   env=prod}}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n";
    let files = [("plugin.yml", plugin), ("cluster.yml", cluster)];
    let text = printed(&convert("contradicted", &files, &["-c", "cluster.yml"])?)?;
    assert_eq!(text.matches("# It does not allow env=dev of clusterDefaultNodeSelector").count(), 1, "{text}");
    let of_b = text.split("- name: b").nth(1).context("b")?;
    assert!(of_b.contains("# It does not allow env=dev"), "{text}");
    assert!(!text.contains("no such namespace"), "{text}");
    let without_b = cluster.split("---").next().context("a")?;
    let files = [("plugin.yml", plugin), ("cluster.yml", without_b)];
    let text = printed(&convert("contradicted", &files, &["-c", "cluster.yml"])?)?;
    assert!(text.contains("# - The cluster has no such namespace: b\n"), "{text}");
    Ok(())
}

/// DefaultTolerationSeconds adds tolerations before the plugin looks at the Pod.
#[rstest]
#[case::the_namespaces_whitelist(
    "",
    "gpu",
    "gpu: PodTolerationRestriction refuses a Pod that requests nothing, since its tolerationsWhitelist lacks \
     node.kubernetes.io/not-ready:NoExecute, node.kubernetes.io/unreachable:NoExecute"
)]
#[case::the_plugins_whitelist(
    "whitelist: [{key: gpu}]",
    "plain",
    "plain: PodTolerationRestriction refuses a Pod that requests nothing, since the plugin's whitelist lacks"
)]
fn namespaces_whose_pods_the_plugin_refuses_are_named(
    #[case] whitelist: &str,
    #[case] name: &str,
    #[case] told: &str,
) -> Result<()> {
    let plugin =
        format!("apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\n{whitelist}\n");
    let list = r#"'[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]'"#;
    let annotations = match name {
        "gpu" => format!("{{scheduler.alpha.kubernetes.io/tolerationsWhitelist: {list}}}"),
        _ => "{}".to_owned(),
    };
    let cluster =
        format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, annotations: {annotations}}}}}\n");
    let files = [("plugin.yml", plugin.as_str()), ("cluster.yml", &cluster)];
    let text = printed(&convert(&format!("refused-{name}"), &files, &["-c", "cluster.yml"])?)?.replace("\n#   ", " ");
    assert!(text.contains(told) && text.contains("which every Pod has; here it is accepted"), "{text}");
    Ok(())
}

#[test]
fn everything_may_only_warn() -> Result<()> {
    let text = printed(&convert("warn", &[("plugin.yml", NODE_SELECTOR)], &["--warn"])?)?;
    assert_eq!(
        settings(&text)?["placement"]["namespaces"],
        json!([
            { "name": "production", "enforcement": "Warn", "allowedNodeSelector": "env=production" },
            { "name": "*", "enforcement": "Warn" },
        ])
    );
    let text = printed(&convert("warn", &[("plugin.yml", TOLERATIONS)], &["--warn"])?)?;
    let whitelist = of_tolerations("whitelist")?;
    assert_eq!(
        settings(&text)?["placement"]["namespaces"],
        json!([{ "name": "*", "enforcement": "Warn", "allowedTolerations": whitelist }])
    );
    Ok(())
}

#[test]
fn all_that_no_plugin_reads_is_told() -> Result<()> {
    let file = "podNodeSelectorPluginConfig: { a: 'x!=y', b: 'x=1', c: '=', d: 'x in (y)' }";
    let output = convert("all", &[("plugin.yml", file)], &[])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!((output.status.code(), lines.len()), (Some(2), 3), "{stderr}");
    let by_hand = "; placement can read it: write it into the settings by hand";
    for (line, (name, is_readable)) in lines.iter().zip([("a", true), ("c", false), ("d", true)]) {
        let told = format!("error: plugin.yml: podNodeSelectorPluginConfig.{name}: PodNodeSelector can't read it: ");
        assert!(line.starts_with(&told) && line.ends_with(by_hand) == is_readable, "{line}");
    }
    Ok(())
}

#[test]
fn an_empty_whitelist_becomes_none() -> Result<()> {
    let file = "{apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, whitelist: []}";
    let text = printed(&convert("empty", &[("plugin.yml", file)], &[])?)?;
    let expected = json!({ "placement": { "namespaceAnnotations": [], "onTolerationAnnotations": "Honor" } });
    assert_eq!(settings(&text)?, expected);
    assert!(text.contains("whitelist of tolerations is empty, which allows everything"), "{text}");
    Ok(())
}

#[rstest]
#[case::nothing("nothing", "", "plugin.yml: expected one document, it is empty")]
#[case::another_kind("kind", "{apiVersion: v1, kind: ConfigMap}", "found \"ConfigMap\" of \"v1\"")]
#[case::no_plugin(
    "no-plugin",
    "{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: [{name: ImagePolicyWebhook}]}",
    "plugins: expected PodNodeSelector or PodTolerationRestriction; found ImagePolicyWebhook"
)]
#[case::no_path(
    "no-path",
    "{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: [{name: PodNodeSelector, path: x.yml}]}",
    "plugins[0].path: cannot read x.yml: No such file or directory (os error 2); copy the file here, and write where it is"
)]
#[case::a_selector(
    "selector",
    "podNodeSelectorPluginConfig: { a: 'x in (y)' }",
    "podNodeSelectorPluginConfig.a: PodNodeSelector can't read it"
)]
#[case::a_type(
    "type",
    "podNodeSelectorPluginConfig: { a: 5 }",
    "podNodeSelectorPluginConfig.a: expected a text; found integer `5`"
)]
#[case::a_toleration(
    "toleration",
    "{apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, default: [{key: a, operator: In}]}",
    "PodTolerationRestriction can't read it: default[0].operator: expected Equal or Exists"
)]
#[case::the_type_of_a_toleration(
    "toleration-type",
    "{apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, default: [{key: 5}]}",
    "default[0].key: expected a text; found integer `5`"
)]
fn what_no_plugin_reads_is_a_mistake(#[case] test: &str, #[case] file: &str, #[case] told: &str) -> Result<()> {
    let output = convert(test, &[("plugin.yml", file)], &[])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    assert!(stderr.starts_with("error: plugin.yml: ") && stderr.contains(told), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    Ok(())
}

#[test]
fn a_field_that_the_api_server_ignores_is_told() -> Result<()> {
    let file = format!("{TOLERATIONS}\nwhiteList: []");
    let text = printed(&convert("ignored", &[("plugin.yml", &file)], &[])?)?;
    assert!(text.contains("# Ignored, as by the API server: whiteList."), "{text}");
    Ok(())
}

#[test]
fn goes_on_to_the_policy() -> Result<()> {
    let text = printed(&convert("policy", &[("plugin.yml", NODE_SELECTOR)], &["-o", "policy"])?)?;
    let policy = settings(&text)?;
    assert_eq!(policy["kind"], "ClusterAdmissionPolicy");
    let own = settings(&printed(&convert("policy", &[("plugin.yml", NODE_SELECTOR)], &[])?)?)?;
    assert_eq!(policy["spec"]["settings"], own);
    Ok(())
}

/// Each namespace, and whether it is named, with what.
#[test]
fn tells_the_namespaces_whose_annotations_are_read_differently() -> Result<()> {
    let node_selector = "scheduler.alpha.kubernetes.io/node-selector";
    let whitelist = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
    let defaults = "scheduler.alpha.kubernetes.io/defaultTolerations";
    let namespaces = [
        ("as-before", node_selector, "env=test", ""),
        (
            "set",
            node_selector,
            "pool in (a,b)",
            "set: scheduler.alpha.kubernetes.io/node-selector is pool in (a,b) here; PodNodeSelector can't read it",
        ),
        ("twice", node_selector, "a=b,a=c", "(PodNodeSelector reads \"a=c\")"),
        (
            "production",
            node_selector,
            "env=test",
            "production: pod node label selector labels conflict with its namespace whitelist",
        ),
        (
            "wider",
            whitelist,
            r#"[{"key":"gpu"},{"operator":"Exists","effect":"NoExecute"}]"#,
            "wider: its tolerationsWhitelist allows gpu in the plugin",
        ),
        (
            "no-toleration",
            defaults,
            r#"[{"key":"a","operator":"In"}]"#,
            "(of defaultTolerations PodTolerationRestriction reads a)",
        ),
        ("nobody", defaults, "[", "(of defaultTolerations PodTolerationRestriction can't read the list)"),
    ];
    let list: Vec<Value> = namespaces
        .iter()
        .map(|(name, key, text, _)| {
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "annotations": { *key: text } } })
        })
        .collect();
    let cluster = json!({ "apiVersion": "v1", "kind": "List", "items": list }).to_string();
    let tolerations: Value = yaml_serde::from_str(TOLERATIONS)?;
    let plugins = json!([
        { "name": "PodNodeSelector", "configuration": yaml_serde::from_str::<Value>(NODE_SELECTOR)? },
        { "name": "PodTolerationRestriction", "configuration": tolerations },
    ]);
    let file =
        json!({ "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins });
    let file = file.to_string();
    let files = [("admission.yml", file.as_str()), ("cluster.json", &cluster)];
    let text = printed(&convert("cluster", &files, &["-c", "cluster.json"])?)?;
    let report = text.replace("\n#   ", " ");
    let heading = "# Namespaces of cluster.json for which something changes, or whose Pods the plugins refuse:\n";
    assert!(report.contains(heading), "{report}");
    for (name, _, _, expected) in namespaces {
        match expected {
            "" => assert!(!report.contains(&format!("# - {name}: ")), "{report}"),
            expected => assert!(report.contains(expected), "{expected}: {report}"),
        }
    }
    assert_eq!(settings(&text)?, settings(&printed(&convert("cluster", &files, &[])?)?)?);
    Ok(())
}

/// Upstream's plugin knows no exempt namespaces; the policy that is written does.
#[test]
fn an_entry_that_the_policy_exempts_is_told() -> Result<()> {
    let plugin = "podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: a=b, kube-system: a=c, team-a: a=d }";
    let output = convert("exempt", &[("plugin.yml", plugin)], &["-o", "policy"])?;
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the policy's namespaceSelector leaves kube-system out"), "{output:?}");
    assert!(!told.contains("team-a"), "{output:?}");
    let settings = convert("exempt", &[("plugin.yml", plugin)], &[])?;
    assert!(settings.stderr.is_empty(), "{settings:?}");
    Ok(())
}
