//! `test`: how its cases pass and fail, what it prints, and what it refuses.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use rstest::rstest;
use serde_json::{Value, json};

const SETTINGS: &str = "{ placement: { namespaces: [{ name: team-blue, requiredNodeSelector: pool=blue, \
                        defaultTolerations: [{ key: team, operator: Exists }] }] } }";
const POD: &str =
    "{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: team-blue }, spec: { containers: [] } }";
const CLUSTER: &str = "[{ apiVersion: v1, kind: Namespace, metadata: { name: team-blue } }, \
                       { apiVersion: v1, kind: Node, metadata: { name: blue, labels: { pool: blue } } }, \
                       { apiVersion: v1, kind: Node, metadata: { name: red, labels: { pool: red } } }, \
                       { apiVersion: karpenter.sh/v1, kind: NodePool, metadata: { name: more-blue }, \
                         spec: { template: { metadata: { labels: { pool: blue } }, spec: { requirements: [] } } } }]";

/// A file of one test with these cases.
fn tests(cases: &str) -> String {
    format!("tests: [{{ name: T, settings: {SETTINGS}, cluster: {CLUSTER}, manifest: {POD}, cases: {cases} }}]")
}

/// Runs the command in a folder with these files; the first is the file of tests.
fn test(folder: &str, files: &[(&str, &str)], arguments: &[&str]) -> Result<Output> {
    let folder = folder_of(folder)?;
    for (name, text) in files {
        fs::write(folder.join(name), text)?;
    }
    let (first, _) = files.first().context("a file")?;
    Ok(command(&folder).arg(first).args(arguments).output()?)
}

fn folder_of(test: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("testing").join(test);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"));
    command.arg("test").current_dir(folder);
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Each with an expectation that holds, and one that does not; the field that is told then.
#[rstest]
#[case::accepted("", "accepted: true", "accepted: false", "accepted")]
#[case::code("with: { object: { spec: { nodeSelector: { pool: red } } } }", "code: 403", "code: 500", "code")]
#[case::message(
    "with: { object: { spec: { nodeSelector: { pool: red } } } }",
    "message: [pool=blue, pool=red]",
    "message: [pool=blue, pool=green]",
    "message"
)]
#[case::begins(
    "with: { object: { spec: { nodeSelector: { pool: red } } } }",
    "begins: pod node label selector conflicts",
    "begins: conflicts",
    "begins"
)]
#[case::conceals(
    "with: { object: { spec: { nodeSelector: { pool: red } } } }",
    "accepted: false, conceals: [green]",
    "accepted: false, conceals: [pool=blue]",
    "conceals"
)]
#[case::warnings("", "warnings: []", "warnings: [a]", "warnings")]
#[case::warned(
    "settings: { placement: { namespaces: [{ name: team-blue, requiredNodeSelector: pool=blue, enforcement: Warn }] } }",
    "warned: [pool=blue]",
    "warned: [pool=red]",
    "warned"
)]
#[case::adds("", "adds: ['toleration team', pool=blue]", "adds: [pool=blue]", "adds")]
#[case::nothing_added(
    "with: { object: { spec: { nodeSelector: { pool: blue } } } }",
    "adds: ['toleration team']",
    "adds: []",
    "adds"
)]
#[case::patch("operation: DELETE", "patch: []", "patch: [{ op: remove, path: /a }]", "patch")]
#[case::nodes("", "nodes: [more-blue, blue]", "nodes: [blue]", "nodes")]
#[case::no_node(
    "with: { object: { spec: { nodeSelector: { pool: red } } } }",
    "accepted: false, nodes: []",
    "accepted: false, nodes: [red]",
    "nodes"
)]
#[case::the_named_node(
    "with: { object: { spec: { nodeName: blue } } }",
    "nodes: [blue]",
    "nodes: [blue, more-blue]",
    "nodes"
)]
#[case::nodes_of_a_workload(
    "manifest: { apiVersion: apps/v1, kind: Deployment, metadata: { name: w, namespace: team-blue }, \
     spec: { template: { spec: { containers: [] } } } }",
    "nodes: [blue, more-blue]",
    "nodes: []",
    "nodes"
)]
#[case::audit(
    "",
    "audit: { node-selector: pool=blue, node-selector-source: [namespaces], tolerations: team }",
    "audit: {}",
    "audit"
)]
#[case::lookups(
    "",
    "lookups: ['Namespace team-blue (metadata.annotations, metadata.labels)']",
    "lookups: []",
    "lookups"
)]
#[case::logs(
    "with: { object: { spec: { nodeSelector: { pool: red } } } }",
    "accepted: false, logs: [pool=red]",
    "accepted: false, logs: [green]",
    "logs"
)]
#[case::invalid(
    "settings: { placement: { onNodes: Everything } }",
    "invalid: placement.onNodes",
    "invalid: placement.namespaces",
    "invalid"
)]
#[case::valid("", "accepted: true", "invalid: placement", "invalid")]
#[case::an_update(
    "old: { apiVersion: v1, kind: Pod, metadata: { name: web, namespace: team-blue }, spec: { containers: [] } }",
    "adds: []",
    "adds: [pool=blue]",
    "adds"
)]
#[case::somebody(
    "user: { username: kubelet, groups: ['system:nodes'] }, \
     with: { object: { metadata: { annotations: { kubernetes.io/config.mirror: a } } } }",
    "adds: []",
    "adds: [pool=blue]",
    "adds"
)]
fn an_expectation_can_hold_and_fail(
    #[case] case: &str,
    #[case] right: &str,
    #[case] wrong: &str,
    #[case] field: &str,
) -> Result<()> {
    let folder = format!("{field}-{}", [case, right, wrong].map(str::len).map(|length| length.to_string()).join("-"));
    let case = if case.is_empty() { String::new() } else { format!("{case}, ") };
    let file = tests(&format!("[{{ name: right, {case}expect: {{ {right} }} }}]"));
    let output = test(&folder, &[("tests.yml", &file)], &[])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("1 case passed\n", Some(0)), "{stderr}");
    let file = tests(&format!("[{{ name: wrong, {case}expect: {{ {wrong} }} }}]"));
    let output = test(&folder, &[("tests.yml", &file)], &["-o", "json"])?;
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let case = &report["tests"][0]["cases"][0];
    assert_eq!((&case["passed"], &case["failures"][0]["what"]), (&json!(false), &json!(field)), "{report}");
    Ok(())
}

#[test]
fn what_failed_is_told_with_expected_and_found() -> Result<()> {
    let cases =
        "[{ name: a, expect: { accepted: true } }, { name: b, expect: { accepted: false, adds: [pool=blue] } }]";
    let output = test("told", &[("tests.yml", &tests(cases))], &[])?;
    let expected = "tests.yml: T: b\n  accepted: expected false\n            found    true\n  adds: expected pool=blue\n        \
                    found    pool=blue, toleration team\n\n1 case failed of 2\n";
    assert_eq!((stdout(&output).as_str(), output.status.code()), (expected, Some(1)));
    Ok(())
}

/// That the policy can't look something up is no rejection that somebody meant.
#[test]
fn an_object_that_the_cluster_lacks_is_told() -> Result<()> {
    let rejected = "[{ name: a, expect: { accepted: false } }]";
    let file = tests(rejected).replace("{ apiVersion: v1, kind: Namespace, metadata: { name: team-blue } }, ", "");
    let settings = "{ placement: { namespaces: [{ namespaceSelector: team, requiredNodeSelector: pool=blue }] } }";
    let output = test("lacking", &[("tests.yml", &file.replace(SETTINGS, settings))], &[])?;
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("cluster: expected Namespace team-blue\n           found    nothing"), "{text}");
    let meant = rejected.replace("accepted: false", "code: 500");
    let file = tests(&meant).replace("{ apiVersion: v1, kind: Namespace, metadata: { name: team-blue } }, ", "");
    let output = test("lacking", &[("tests.yml", &file.replace(SETTINGS, settings))], &[])?;
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    Ok(())
}

#[test]
fn junit_names_each_case() -> Result<()> {
    let cases = "[{ name: a, expect: { accepted: true } }, { name: 'b < c', expect: { accepted: false } }]";
    let output = test("junit", &[("tests.yml", &tests(cases))], &["-o", "junit"])?;
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1));
    for part in [
        "<testsuites name=\"kubectl node-placement test\" tests=\"2\" skipped=\"0\" failures=\"1\" errors=\"0\"",
        "<testsuite name=\"tests.yml: T\" tests=\"2\"",
        "<testcase name=\"a\" classname=\"T\"",
        "<testcase name=\"b &lt; c\" classname=\"T\"",
        "<failure message=\"accepted: expected false; found true\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    Ok(())
}

/// Settings, cluster and manifests by path, in a file beside them; a policy of its own rules.
#[test]
fn files_are_read_relative_to_the_tests() -> Result<()> {
    let file = "tests: [{ name: T, settings: settings.yml, cluster: cluster.yml, cases: [{ name: a, manifest: pod.yml, \
                expect: { accepted: true, nodes: [blue, more-blue] } }] }]";
    let cluster = format!("{{ kind: List, items: {CLUSTER} }}");
    let files = [("tests.yml", file), ("settings.yml", SETTINGS), ("cluster.yml", &cluster), ("pod.yml", POD)];
    let output = test("files", &files, &[])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut from_above = command(&folder_of("")?);
    let output = from_above.arg("files/tests.yml").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn a_policy_that_is_not_asked_changes_nothing() -> Result<()> {
    let policy = format!(
        "{{ apiVersion: policies.kubewarden.io/v1, kind: ClusterAdmissionPolicy, metadata: {{ name: p }}, spec: {{ \
         module: m, mutating: true, rules: [{{ apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE] }}], \
         namespaceSelector: {{ matchExpressions: [{{ key: kubernetes.io/metadata.name, operator: NotIn, values: [spared] }}] }}, \
         settings: {SETTINGS} }} }}"
    );
    let cases = "[{ name: asked, expect: { adds: [pool=blue, 'toleration team'] } }, \
                 { name: spared, with: { namespace: spared }, expect: { accepted: true, adds: [] } }, \
                 { name: told, with: { namespace: spared }, expect: { accepted: false } }]";
    let file = tests(cases).replace(SETTINGS, "policy.yml");
    let output = test("policy", &[("tests.yml", &file), ("policy.yml", &policy)], &[])?;
    let text = stdout(&output);
    assert!(
        text.contains("T: told\n") && text.contains("the policy is not asked (the policy's namespaceSelector"),
        "{text}"
    );
    assert!(text.ends_with("1 case failed of 3\n"), "{text}");
    Ok(())
}

#[rstest]
#[case::nothing("", "expected one document with tests; found 0")]
#[case::something_else("kind: Pod", "kind: unknown field \"kind\", expected one of tests")]
#[case::no_test("tests: []", "tests.yml:1:1: tests: expected at least one test")]
#[case::no_case(&tests("[]"), ": tests[0].cases: expected at least one case")]
#[case::no_expectation(&tests("[{ name: a, expect: {} }]"), ": tests[0].cases[0].expect: names nothing that is expected")]
#[case::an_unknown_field(&tests("[{ name: a, expect: { acepted: true } }]"), "cases[0].expect.acepted: unknown field \"acepted\", did you mean accepted?")]
#[case::twice(
    &tests("[{ name: a, expect: { code: 1 } }, { name: a, expect: { code: 1 } }]"),
    ": tests[0].cases[1].name: \"a\" is there twice"
)]
#[case::no_file(&tests("[{ name: a, manifest: nowhere.yml, expect: { code: 1 } }]"), "cases[0].manifest: cannot read nowhere.yml")]
#[case::invalid_settings(
    &tests("[{ name: a, settings: { placement: { onNodes: Everything } }, expect: { accepted: true } }]"),
    "T: a: settings: placement.onNodes"
)]
#[case::another_kind(
    &tests("[{ name: a, manifest: { apiVersion: v1, kind: Secret, metadata: { name: s } }, expect: { code: 1 } }]"),
    "T: a: manifest: the policy does not handle the kind Secret"
)]
#[case::no_pods(
    &tests("[{ name: a, manifest: { apiVersion: v1, kind: Namespace, metadata: { name: n } }, expect: { nodes: [] } }]"),
    "T: a: expect.nodes: a Namespace makes no Pods"
)]
#[case::an_update_of_nothing(&tests("[{ name: a, operation: UPDATE, expect: { code: 1 } }]"), "old: an UPDATE needs the object")]
#[case::an_unknown_field_of_with(
    &tests("[{ name: a, with: { objct: {} }, expect: { code: 1 } }]"),
    "cases[0].with: unknown field \"objct\"; expected one of uid, "
)]
#[case::an_unknown_field_of_a_request(
    &tests("[{ name: a, manifest: { operation: CREATE, objct: {} }, expect: { code: 1 } }]"),
    "cases[0].manifest: unknown field \"objct\"; expected one of uid, "
)]
#[case::an_empty_message(
    &tests("[{ name: a, expect: { message: '' } }]"),
    "cases[0].expect.message: expected a text; found none"
)]
#[case::a_blank_message(
    &tests("[{ name: a, expect: { message: [red, ' '] } }]"),
    "cases[0].expect.message: expected a text; found none"
)]
#[case::an_empty_beginning(
    &tests("[{ name: a, expect: { begins: '' } }]"),
    "cases[0].expect.begins: expected a text; found none"
)]
#[case::nodes_of_a_cluster_without_any(
    &tests("[{ name: a, expect: { nodes: [] } }]").replace("kind: Node", "kind: ConfigMap"),
    "expect.nodes: the cluster as given has no Nodes and no NodePools"
)]
#[case::a_user_that_is_a_text(
    "tests:\n- name: a\n  settings: {}\n  cases:\n  - name: a\n    user: ada\n    expect: { code: 1 }\n",
    "tests.yml:6:5: tests[0].cases[0].user: expected an object; found \"ada\""
)]
#[case::a_code_that_is_a_text(
    "tests:\n- name: a\n  settings: {}\n  cases:\n  - name: a\n    expect: { code: x }\n",
    "tests.yml:6:15: tests[0].cases[0].expect.code: expected a whole number; found \"x\""
)]
#[case::an_operation(
    "tests:\n- name: a\n  settings: {}\n  cases:\n  - name: a\n    operation: BIND\n    expect: { code: 1 }\n",
    "tests.yml:6:5: tests[0].cases[0].operation: unknown word `BIND`, expected one of `CREATE`, `UPDATE`"
)]
#[case::a_key_twice(
    "tests: [{ name: a, name: b }]",
    "tests.yml:1:20: tests[0].name: this key stands there twice; remove one of them"
)]
#[case::an_empty_message_in_its_place(
    "tests:\n- name: a\n  settings: {}\n  manifest: {}\n  cases:\n  - name: a\n    expect: { message: '' }\n",
    "tests.yml:7:15: tests[0].cases[0].expect.message: expected a text; found none"
)]
#[case::a_file_that_is_not_there(
    "tests:\n- name: a\n  settings: nowhere.yml\n  cases:\n  - name: a\n    expect: { code: 1 }\n",
    "tests.yml:3:3: tests[0].settings: cannot read nowhere.yml"
)]
#[case::a_request_that_can_t_be_made(
    "tests:\n- name: a\n  settings: { placement: {} }\n  cases:\n  - name: b\n    manifest: {}\n    expect: { code: 1 }\n",
    "tests.yml:5:5: a: b: manifest: expected an object"
)]
fn a_mistake_is_no_failure(#[case] file: &str, #[case] told: &str) -> Result<()> {
    let folder = format!("mistake-{}-{}", file.len(), told.len());
    let output = test(&folder, &[("tests.yml", file)], &[])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    assert!(stderr.starts_with("error: tests.yml:") && stderr.contains(told), "{stderr}");
    let output = command(&folder_of(&folder)?).args(["tests.yml", "-o", "junit"]).output()?;
    let text = stdout(&output);
    assert!(
        text.starts_with("<?xml ") && text.contains("errors=\"1\"") && text.contains("<error message=\"tests.yml:"),
        "{text}"
    );
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr)), (Some(2), stderr));
    Ok(())
}

/// What `--init` writes passes, and has a case for each subject of a preview, but for those that the policy exempts.
#[test]
fn a_first_file_says_what_is() -> Result<()> {
    let folder = folder_of("init")?;
    fs::write(folder.join("settings.yml"), SETTINGS)?;
    let asking = "{ apiVersion: apps/v1, kind: Deployment, metadata: { name: asking, namespace: team-blue }, \
                  spec: { template: { metadata: { labels: { app: a } }, spec: { nodeSelector: { pool: red }, containers: [{ \
                  name: c, image: i, env: [{ name: SECRET, value: x }], resources: { requests: { cpu: 2 } } }] } } } }";
    let lost = asking.replace("asking, namespace: team-blue", "lost, namespace: other").replace("red", "green");
    let web = asking.replace("asking", "web").replace("nodeSelector: { pool: red }, ", "");
    let namespaces = ["other", "kube-system"]
        .map(|name| format!("{{ apiVersion: v1, kind: Namespace, metadata: {{ name: {name} }} }}"))
        .join(", ");
    let all = format!("[{asking}, {lost}, {web}, {namespaces}, ");
    fs::write(folder.join("cluster.yml"), format!("{{ kind: List, items: {} }}", CLUSTER.replacen('[', &all, 1)))?;
    let written = command(&folder).args(["--init", "-s", "settings.yml", "-c", "cluster.yml"]).output()?;
    ensure!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let file: Value = yaml_serde::from_slice(&written.stdout)?;
    let cases = file["tests"][0]["cases"].as_array().context("cases")?;
    let told: Vec<Value> = cases.iter().map(|case| json!([case["name"], case["expect"]["accepted"]])).collect();
    let expected = [
        json!(["Pod other/plain is accepted as it is", true]),
        json!(["Pod team-blue/plain gets pool=blue; toleration team", true]),
        json!(["Deployment other/lost: its Pods would stay as they are, and no node can run it", true]),
        json!(["Deployment team-blue/asking is refused", false]),
        json!(["Deployment team-blue/web: its Pods would get pool=blue; toleration team", true]),
    ];
    assert_eq!(told, expected);
    assert_eq!(cases[1]["expect"]["nodes"], json!(["blue", "more-blue"]));
    let template = json!({ "metadata": { "labels": { "app": "a" } }, "spec": {
        "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": 2 } } }] } });
    assert_eq!(cases[4]["manifest"]["spec"]["template"], template);
    fs::write(folder.join("tests.yml"), &written.stdout)?;
    let output = command(&folder).arg("tests.yml").output()?;
    assert_eq!(stdout(&output), "5 cases passed\n");
    let more = ["--init", "-s", "settings.yml", "-c", "cluster.yml", "-c", "cluster.yml"];
    let output = command(&folder).args(more).output()?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    Ok(())
}

/// Beside the text, also where a file of tests has a mistake.
#[test]
fn results_are_written_for_ci_beside_the_text() -> Result<()> {
    let cases = "[{ name: a, expect: { accepted: true } }, { name: b, expect: { accepted: false } }]";
    let output = test("junit-file", &[("tests.yml", &tests(cases))], &["--junit", "junit.xml"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout(&output).ends_with("1 case failed of 2\n"), "{output:?}");
    let path = folder_of("junit-file")?.join("junit.xml");
    assert!(fs::read_to_string(&path)?.contains("<testcase name=\"b\" classname=\"T\""));
    let output = test("junit-file", &[("tests.yml", "tests: []")], &["--junit", "junit.xml"])?;
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: tests.yml:1:1: tests: "), "{output:?}");
    assert!(fs::read_to_string(&path)?.contains("<error message=\"tests.yml:1:1: tests: "));
    Ok(())
}

/// No field but those that are about refusals makes a case pass whose request is refused.
#[rstest]
#[case::nothing_added("adds: []")]
#[case::no_change("patch: []")]
#[case::no_warning("warnings: []")]
#[case::no_node("nodes: []")]
#[case::no_variable("environment: {}")]
#[case::no_audit("audit: {}")]
#[case::a_log("logs: [pool=red]")]
#[case::a_secret("conceals: [green]")]
fn a_refusal_must_be_expected(#[case] expect: &str) -> Result<()> {
    let pod = "with: { object: { spec: { nodeSelector: { pool: red } } } }";
    let case = format!("[{{ name: a, {pod}, expect: {{ {expect} }} }}]");
    let folder = format!("refusal-{}", expect.len());
    let output = test(&folder, &[("tests.yml", &tests(&case))], &[])?;
    let printed = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() != Some(0), "{printed}");
    Ok(())
}

#[test]
fn the_documented_example_passes() -> Result<()> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tool.md"))?;
    let (_, example) = page.split_once("### The format of tests").context("the example")?;
    let example = example.split("```").nth(1).and_then(|block| block.strip_prefix("yaml\n")).context("YAML")?;
    let output = test("environment", &[("tests.yml", example)], &[])?;
    assert_eq!(stdout(&output), "1 case passed\n", "{output:?}");
    let wrong = example.replace("ZONE: zone-a", "ZONE: zone-b");
    assert_eq!(test("environment-wrong", &[("tests.yml", &wrong)], &[])?.status.code(), Some(1));
    Ok(())
}

const CLASS: &str = "{ apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: { name: red }, handler: h, \
                     scheduling: { nodeSelector: { pool: red } } }";

/// What a cluster would refuse, or what is not known, is never green.
#[rstest]
#[case::a_pod_of_a_missing_class(
    "{ object: { spec: { runtimeClassName: gone } } }",
    CLUSTER,
    2,
    "no RuntimeClass gone"
)]
#[case::a_pod_that_contradicts_its_class(
    "{ object: { spec: { runtimeClassName: red, nodeSelector: { pool: blue } } } }",
    CLUSTER,
    1,
    "RuntimeClass red requires pool=red"
)]
#[case::a_namespace_that_is_deleted(
    "{}",
    "[{ apiVersion: v1, kind: Namespace, metadata: { name: team-blue }, status: { phase: Terminating } }]",
    1,
    "the namespace is being deleted"
)]
fn what_the_cluster_refuses_is_not_green(
    #[case] with: &str,
    #[case] cluster: &str,
    #[case] status: i32,
    #[case] told: &str,
) -> Result<()> {
    let cluster = cluster.replacen('[', &format!("[{CLASS}, "), 1);
    for expect in ["accepted: true", "warned: []"] {
        let case = format!("[{{ name: a, with: {with}, expect: {{ {expect} }} }}]");
        let file = tests(&case).replace(CLUSTER, &cluster);
        let output = test(&format!("refused-{}", told.len()), &[("tests.yml", &file)], &[])?;
        let printed = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{printed}");
        assert!(printed.contains(told), "{printed}");
    }
    Ok(())
}

const DEPLOYMENT: &str = "{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: team-blue }, \
                          spec: { selector: {}, template: { spec: { SPEC containers: [] } } } }";

/// The Deployment itself is accepted, or not sent, and its Pods are refused, or nobody knows.
#[rstest]
#[case::of_a_missing_class("runtimeClassName: gone,", "", 2, "no RuntimeClass gone")]
#[case::of_a_condition_that_is_not_known("", "has(object.spec.volumes)", 2, "object.spec.volumes")]
fn a_workload_whose_pods_are_not_known_is_not_green(
    #[case] spec: &str,
    #[case] condition: &str,
    #[case] status: i32,
    #[case] told: &str,
) -> Result<()> {
    let folder = format!("pods-{}", told.len());
    let manifest = DEPLOYMENT.replace("SPEC", spec);
    let mut settings = SETTINGS.to_owned();
    if !condition.is_empty() {
        fs::write(folder_of(&folder)?.join("settings.yml"), SETTINGS)?;
        let policy = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"))
            .args(["policy", "settings.yml"])
            .current_dir(folder_of(&folder)?)
            .output()?;
        let added = format!("matchConditions:\n    - {{ name: some, expression: \"{condition}\" }}");
        fs::write(folder_of(&folder)?.join("policy.yml"), stdout(&policy).replace("matchConditions:", &added))?;
        settings = "policy.yml".to_owned();
    }
    let file = tests("[{ name: a, expect: { accepted: true } }]").replace(SETTINGS, &settings).replace(POD, &manifest);
    let output = test(&folder, &[("tests.yml", &file)], &[])?;
    let printed = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{printed}");
    assert!(printed.contains(told), "{printed}");
    Ok(())
}
