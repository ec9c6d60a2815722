//! The commands: what they take, what they print, and how they end.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Result;
use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{file, run, text};

const CLUSTER: &str = "cli/tour/cluster";
const FENCES: &str = "cli/tour/fences.yml";
const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}";
const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}";

#[rstest]
#[case::a_manifest(&["try", "nowhere.json"], "the path \"nowhere.json\" does not exist")]
#[case::settings(&["check", "nowhere.yml"], "the path \"nowhere.yml\" does not exist")]
#[case::a_cluster(&["preview", "-c", "nowhere", "-s", FENCES], "the path \"nowhere\" does not exist")]
#[case::settings_for_a_manifest(
    &["try", "e2e-tests/fixtures/requests/binding.json", "-c", CLUSTER],
    "no settings: the cluster has no ClusterAdmissionPolicy of this policy; add -s FILE, with the content of spec.settings, or a"
)]
#[case::settings_for_a_cluster(&["preview", "-c", CLUSTER], "no settings: the cluster has no ClusterAdmissionPolicy")]
#[case::old_settings_for_a_cluster(
    &["preview", "-c", CLUSTER, "-s", "examples/placement.yml", "--old", "deployed"],
    "no settings: the cluster has no ClusterAdmissionPolicy"
)]
#[case::one_manifest(
    &["try", "examples/demo/env.yml", "--old", "nowhere.yml"],
    "--old: expected one manifest; found 2"
)]
#[case::a_version(
    &["try", "{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: web}}"],
    "apiVersion: expected \"apps/v1\" for a Deployment, found \"apps/v1beta1\""
)]
#[case::a_kind(
    &["try", "{apiVersion: v1, kind: Secret, metadata: {name: s}}"],
    "the policy does not handle the kind Secret of v1"
)]
#[case::a_command(&["preveiw"], "unrecognized subcommand 'preveiw' tip: a similar subcommand exists: 'preview'; see kubectl node-pl")]
#[case::a_flag(&["preview", "--setings", "x"], "unexpected argument '--setings' found tip: a similar argument exists: '--settings'")]
#[case::a_format(&["preview", "-o", "xml"], "invalid value 'xml' for '--output <FORMAT>'")]
#[case::a_namespace(&["explain", "-s", FENCES], "the following required arguments were not provided: --namespace <NAMESPACE>")]
#[case::a_pod(&["explain", "-n", "a", "web", "-s", FENCES, "-c", CLUSTER], "expected KIND/NAME, such as pod/web or deployment/web; found \"web\"")]
#[case::a_module(&["tour", "--module", "Cargo.toml"], "Cargo.toml: not a WebAssembly module")]
fn what_is_wrong_is_told_in_one_line(#[case] arguments: &[&str], #[case] told: &str) -> Result<()> {
    let written = |argument: &&str| match argument.starts_with('{') {
        true => Ok(file("written.yml", argument)?.to_string_lossy().into_owned()),
        false => Ok((*argument).to_owned()),
    };
    let arguments = arguments.iter().map(written).collect::<Result<Vec<_>>>()?;
    let output = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = text(&output.stderr);
    assert!(error.starts_with("error: ") && error.contains(told), "{output:?}");
    assert_eq!(error.lines().count(), 1, "{error}");
    Ok(())
}

#[rstest]
#[case::in_yaml(
    "repeated.yml",
    "placement:\n  onNodes: Reject\n  onNodes: Ignore\n",
    ":3:3: placement.onNodes: this key stands there twice; remove one of them"
)]
#[case::in_json(
    "repeated.json",
    "{\"placement\": {\"onNodes\": \"Reject\",\n\"onNodes\": \"Ignore\"}}",
    ":2:1: placement.onNodes: this key stands there twice; remove one of them"
)]
fn a_repeated_key_is_a_mistake_in_settings(
    #[case] name: &str,
    #[case] written: &str,
    #[case] told: &str,
) -> Result<()> {
    let repeated = file(name, written)?.to_string_lossy().into_owned();
    let output = run(&["try", "examples/demo/env.yml", "-s", &repeated])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains(&format!("{repeated}{told}")), "{output:?}");
    let output = run(&["check", &repeated])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains(&format!("{repeated}{told}")), "{output:?}");
    Ok(())
}

#[rstest]
#[case::no_yaml("no-yaml.yml", "a: [", "no-yaml.yml:2:1: expected a value: write one, or close the bracket")]
#[case::no_json("no-json.json", "{", "no-json.json:2:1: expected a value: write one, or close the bracket")]
#[case::no_kind(
    "no-kind.yml",
    "{apiVersion: v1, metadata: {name: a}}",
    "expected a Kubernetes object with apiVersion, kind and metadata.name; kind is missing"
)]
#[case::no_kind_in_a_list(
    "list.json",
    r#"{"kind":"List","items":[{"metadata":{"name":"a"}}]}"#,
    "object 1: expected a Kubernetes object with apiVersion, kind and metadata.name; apiVersion is missing"
)]
#[case::a_list_of_json(
    "array.json",
    r#"[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}]"#,
    "array.json:1:1: object 1: expected a Kubernetes object, as kubectl get -o yaml prints it; found a list"
)]
#[case::an_item_that_is_nothing(
    "null.json",
    r#"{"kind":"List","items":[null]}"#,
    "null.json: items: expected objects; found nothing"
)]
#[case::no_object(
    "text.yml",
    "just text",
    "text.yml:1:1: object 1: expected a Kubernetes object, as kubectl get -o yaml prints it; found a text"
)]
#[case::a_name_that_is_a_number(
    "number.json",
    r#"{"kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":5}}]}"#,
    "number.json:1:70: object 1: expected a Kubernetes object: metadata.name: expected a text; found integer `5`"
)]
fn a_cluster_that_is_none_is_wrong_input(#[case] name: &str, #[case] cluster: &str, #[case] told: &str) -> Result<()> {
    let cluster = file(name, cluster)?;
    let output = run(&["preview", "--settings", FENCES, "--cluster", &cluster.to_string_lossy()])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains(told), "{output:?}");
    Ok(())
}

#[rstest]
#[case::nothing_to_write(&["examples/nodes.yml"], "no entry of placement.namespaces has a requiredNodeSelector")]
#[case::a_module(&["examples/tenants.yml", "--module", "registry://example.com/module"], "cannot be used with")]
#[case::a_policy_server(&["examples/tenants.yml", "--policy-server", "second"], "cannot be used with")]
fn a_backstop_that_there_is_not_is_wrong_input(#[case] arguments: &[&str], #[case] told: &str) -> Result<()> {
    let output = run(&[&["policy", "--backstop"][..], arguments].concat())?;
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(text(&output.stderr).contains(told), "{}", text(&output.stderr));
    Ok(())
}

#[test]
fn a_backstop_has_the_name_and_the_namespaces_of_the_policy() -> Result<()> {
    let output = run(&["policy", "examples/tenants.yml", "--backstop", "--name", "mine", "--namespaces", "tenant"])?;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert_eq!(printed.matches("name: mine-backstop\n").count(), 2, "{printed}");
    assert!(printed.contains("policyName: mine-backstop\n"), "{printed}");
    assert!(printed.contains("- key: tenant\n          operator: Exists\n"), "{printed}");
    Ok(())
}

#[rstest]
#[case::nothing_to_write(&["examples/nodes.yml"], "no entry of placement.namespaces has a requiredNodeSelector")]
#[case::a_module(&["examples/tenants.yml", "--module", "registry://example.com/module"], "cannot be used with")]
#[case::a_backstop(
    &["examples/tenants.yml", "--backstop"],
    "--backstop cannot be used with --in-process, which writes the backstop, too"
)]
fn a_twin_that_there_is_not_is_wrong_input(#[case] arguments: &[&str], #[case] told: &str) -> Result<()> {
    let output = run(&[&["policy", "--in-process"][..], arguments].concat())?;
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(text(&output.stderr).contains(told), "{}", text(&output.stderr));
    Ok(())
}

/// Fields of a policy that what is written lacks, or has although it should not.
#[rstest]
#[case::selector(&["policy"], "spec.objectSelector is not kept")]
#[case::selector_of_backstop(&["policy", "--backstop"], "spec.objectSelector is carried over")]
#[case::selector_of_twin(&["policy", "--in-process"], "spec.objectSelector is carried over")]
#[case::mode_of_backstop(&["policy", "--backstop"], "spec.mode: monitor is not carried over")]
#[case::mode_of_twin(&["policy", "--in-process"], "spec.mode: monitor is not carried over")]
fn differences_from_the_deployed_policy_are_reported(#[case] command: &[&str], #[case] told: &str) -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "a=b" }] } });
    let policy = json!({
        "apiVersion": "policies.kubewarden.io/v1", "kind": "ClusterAdmissionPolicy", "metadata": { "name": "own" },
        "spec": {
            "module": "registry://example.com/module:v1", "mutating": true, "mode": "monitor", "settings": settings,
            "objectSelector": { "matchLabels": { "a": "b" } },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"] }],
        },
    });
    let policy = file("policy.json", &policy.to_string())?.to_string_lossy().into_owned();
    let output = run(&[command, &[&policy]].concat())?;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(told), "{}", text(&output.stderr));
    Ok(())
}

/// A hundred entries with so many pairs and three tolerations, all with references to labels.
fn large_settings(pairs: usize) -> Value {
    let key = |number: usize| format!("label-{number}.of.example.com/with-a-name");
    let entries = (0..100).map(|entry| {
        let pairs: Vec<String> = (0..pairs).map(|own| format!("{}=$({})", key(own), key(own))).collect();
        let tolerations = (0..3).map(|own| json!({ "key": key(own), "value": format!("$({})", key(own)) }));
        json!({ "name": format!("team-{entry}"), "requiredNodeSelector": pairs.join(","),
                "defaultTolerations": tolerations.collect::<Value>() })
    });
    json!({ "placement": { "namespaces": entries.collect::<Value>() } })
}

/// `kubectl apply` writes an object into one of its annotations, which may have 256 KiB. An API server stores 1.5 MiB.
#[rstest]
#[case::small(2, "--in-process", Some(0), "")]
#[case::only_server_side(
    4,
    "--in-process",
    Some(0),
    "warning: node-placement-backstop is too large for kubectl apply without --server-side"
)]
#[case::too_large(
    40,
    "--backstop",
    Some(2),
    "\"node-placement-backstop\": expected at most 1572864 bytes, as much as an API server stores"
)]
fn an_object_that_is_too_large_is_told(
    #[case] pairs: usize,
    #[case] flag: &str,
    #[case] status: Option<i32>,
    #[case] told: &str,
) -> Result<()> {
    let settings = file("settings.json", &large_settings(pairs).to_string())?;
    let output = run(&["policy", &settings.to_string_lossy(), flag])?;
    assert_eq!(output.status.code(), status, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(told), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).is_empty(), told.is_empty(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).is_empty(), status == Some(2));
    Ok(())
}

/// The backstop comes before it, with the same namespaces.
#[test]
fn a_twin_has_the_name_and_the_namespaces_of_the_policy() -> Result<()> {
    let output = run(&["policy", "examples/tenants.yml", "--in-process", "--name", "mine", "--namespaces", "tenant"])?;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert_eq!(printed.matches("name: mine-twin\n").count(), 2, "{printed}");
    assert!(
        printed.contains("policyName: mine-twin\n") && printed.contains("policyName: mine-backstop\n"),
        "{printed}"
    );
    assert_eq!(printed.matches("- key: tenant\n          operator: Exists\n").count(), 2, "{printed}");
    Ok(())
}

#[rstest]
#[case::a_misspelt_one(&["SETTING=x.yml"], "*** SETTING: expected one of REQUEST ", Some(2))]
#[case::a_folder_alone(&["examples/metadata"], "*** examples/metadata: say what it is", Some(2))]
#[case::a_file_alone(&["x.yml"], "*** x.yml: say what it is: make run REQUEST=, SETTINGS= or CLUSTER=x.yml", Some(2))]
#[case::nothing(&[], "tour --module policy.wasm", Some(0))]
#[case::everything(&["VERBOSE=1"], "tour --module policy.wasm --all", Some(0))]
#[case::settings(&["SETTINGS=s.yml"], "check \"s.yml\" --module policy.wasm", Some(0))]
#[case::a_request(&["REQUEST=r.yml", "SETTINGS=s.yml"], "try \"r.yml\" --module policy.wasm --settings \"s.yml\"", Some(0))]
#[case::a_cluster(&["CLUSTER=c", "SETTINGS=s.yml"], "preview --module policy.wasm --settings \"s.yml\" --cluster \"c\"", Some(0))]
fn make_run_is_a_way_to_the_commands(
    #[case] variables: &[&str],
    #[case] told: &str,
    #[case] status: Option<i32>,
) -> Result<()> {
    let mut make = Command::new("make");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Of the make that runs this test.
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").current_dir(root);
    let output = make.args(["--dry-run", "run"]).args(variables).output()?;
    assert_eq!(output.status.code(), status, "{output:?}");
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(printed.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{output:?}");
    Ok(())
}

/// A policy with these settings, and a rule for each of the resources.
fn policy(settings: &str, resources: &str, more: &str) -> String {
    format!(
        "{{apiVersion: policies.kubewarden.io/v1, kind: ClusterAdmissionPolicy, metadata: {{name: p}}, spec: {{
        module: m, mutating: true, backgroundAudit: false, {more}settings: {settings},
        rules: [{{apiGroups: [\"*\"], apiVersions: [v1], resources: [{resources}], operations: [CREATE, UPDATE]}}]}}}}"
    )
}

#[rstest]
#[case::created(&[], "CREATE pods default/web", 0)]
#[case::updated(&["--old"], "UPDATE pods default/web", 0)]
fn a_manifest_is_asked_about(#[case] more: &[&str], #[case] asked: &str, #[case] status: i32) -> Result<()> {
    let pod = file("pod.yml", POD)?.to_string_lossy().into_owned();
    let cluster = file("default.yml", NAMESPACE)?.to_string_lossy().into_owned();
    let settings = "e2e-tests/fixtures/settings/placement.yml";
    let mut arguments = vec!["try", pod.as_str(), "--settings", settings, "--cluster", &cluster];
    arguments.extend(more);
    if !more.is_empty() {
        arguments.push(&pod);
    }
    let output = run(&arguments)?;
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(told.contains(asked) && told.contains("as it will be stored:"), "{told}");
    assert_eq!(told.contains("env: development"), more.is_empty(), "{told}");
    Ok(())
}

#[rstest]
#[case::by_its_rules("namespaces", "", "default", "no rule of the policy has pods CREATE")]
#[case::by_the_name_of_the_namespace(
    "pods",
    "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [spared]}]}, ",
    "spared",
    "the policy's namespaceSelector leaves the namespace out"
)]
#[case::by_a_label_of_the_namespace(
    "pods",
    "namespaceSelector: {matchExpressions: [{key: fenced, operator: In, values: [\"yes\"]}]}, ",
    "default",
    "the policy's namespaceSelector leaves the namespace out"
)]
#[case::by_no_label_that_is_known(
    "pods",
    "namespaceSelector: {matchExpressions: [{key: fenced, operator: In, values: [\"yes\"]}]}, ",
    "unheard-of",
    ""
)]
#[case::by_the_labels_of_the_object(
    "pods",
    "objectSelector: {matchLabels: {app: db}}, ",
    "default",
    "the policy's objectSelector leaves the object out"
)]
#[case::not_at_all("pods", "", "default", "")]
fn a_policy_says_which_requests_it_is_sent(
    #[case] resources: &str,
    #[case] more: &str,
    #[case] namespace: &str,
    #[case] reason: &str,
) -> Result<()> {
    let look_ups = "contextAwareResources: [{apiVersion: v1, kind: Namespace}, {apiVersion: v1, kind: Node}], ";
    let settings = "{placement: {clusterDefaultNodeSelector: a=b, clusterDefaultTolerations: []}}";
    let policy = file("policy.yml", &policy(settings, resources, &format!("{look_ups}{more}")))?;
    let pod = file("pod.yml", &POD.replace("name: web", &format!("name: web, namespace: {namespace}")))?;
    let cluster = file("default.yml", NAMESPACE)?;
    let [policy, pod, cluster] = [policy, pod, cluster].map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &pod, "--settings", &policy, "--cluster", &cluster])?;
    let told = text(&output.stdout);
    assert_eq!(told.contains("  not sent  CREATE pods "), !reason.is_empty(), "{output:?}");
    if !reason.is_empty() {
        assert!(told.contains(&format!("not sent to the policy: {reason}\n")), "{told}");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    Ok(())
}

/// What an API server would know, and nobody knows here, is not told as if it was known.
#[rstest]
#[case::a_condition_that_raises_an_error(
    "matchConditions: [{name: some, expression: \"object.metadata.annotations.a == 'b'\"}], ",
    POD,
    2,
    "it could not be evaluated: the matchCondition some raises an error"
)]
#[case::a_condition_that_only_an_api_server_evaluates(
    "matchConditions: [{name: some, expression: \"authorizer.group('').resource('pods').check('create').allowed()\"}], ",
    POD,
    2,
    "it could not be evaluated: it can't be evaluated here whether the policy is asked: some: "
)]
#[case::the_labels_of_a_namespace(
    "namespaceSelector: {matchExpressions: [{key: fenced, operator: In, values: [\"yes\"]}]}, ",
    "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: unheard-of}, spec: {containers: []}}",
    2,
    "it could not be evaluated: the cluster as given has no Namespace unheard-of"
)]
#[case::the_pods_of_a_workload(
    "matchConditions: [{name: some, expression: \"object.metadata.annotations.a == 'b'\"}], ",
    DEPLOYMENT,
    0,
    "its Pods could not be evaluated: the matchCondition some raises an error"
)]
fn what_can_not_be_told_is_not_answered(
    #[case] more: &str,
    #[case] manifest: &str,
    #[case] status: i32,
    #[case] told: &str,
) -> Result<()> {
    let settings = "{placement: {namespaceAnnotations: [], onNodeName: Ignore, clusterDefaultNodeSelector: a=b}}";
    let files =
        [file("policy.yml", &policy(settings, "pods", more))?, file("m.yml", manifest)?, file("c.yml", NAMESPACE)?];
    let [policy, manifest, cluster] = files.map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &manifest, "--settings", &policy, "--cluster", &cluster])?;
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    let found = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(found.contains(told) && !found.contains("accepted"), "{found}");
    Ok(())
}

#[test]
fn a_policy_that_may_not_change_what_it_would_change_rejects_it() -> Result<()> {
    let policy = policy(
        "{placement: {namespaceAnnotations: [], onNodeName: Ignore, clusterDefaultNodeSelector: a=b}}",
        "pods",
        "",
    );
    let policy = policy.replace("mutating: true", "mutating: false");
    let files = [file("policy.yml", &policy)?, file("pod.yml", POD)?, file("c.yml", NAMESPACE)?];
    let [policy, pod, cluster] = files.map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &pod, "--settings", &policy, "--cluster", &cluster])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains("it is currently configured to not allow"), "{output:?}");
    Ok(())
}

/// The audit scanner puts the kind where the resource belongs.
#[rstest]
#[case::that_rules_send("pods", false)]
#[case::that_no_rule_sends("namespaces", true)]
fn the_kind_says_what_is_asked_where_the_resource_does_not(
    #[case] resources: &str,
    #[case] unsent: bool,
) -> Result<()> {
    let gvk = json!({ "group": "", "version": "v1", "kind": "Pod" });
    let pod = json!({ "metadata": { "name": "web", "namespace": "default" }, "spec": { "containers": [] } });
    let request = json!({
        "uid": "1", "kind": gvk, "resource": { "group": "", "version": "v1", "resource": "Pod" },
        "namespace": "default", "operation": "CREATE", "object": pod, "userInfo": {},
    });
    let request = file("request.json", &request.to_string())?;
    let policy = policy("{placement: {namespaceAnnotations: [], onNodeName: Ignore}}", resources, "");
    let policy = file("policy.yml", &policy)?;
    let [request, policy] = [request, policy].map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &request, "--settings", &policy])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = text(&output.stdout);
    assert_eq!(told.contains("not sent to the policy: no rule of the policy has pods CREATE\n"), unsent, "{told}");
    Ok(())
}

#[test]
fn every_manifest_is_judged_and_the_worst_decides() -> Result<()> {
    let rejected = POD.replace("spec: {", "spec: {nodeSelector: {env: production}, ").replace("web", "bad");
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}";
    let request = file("request.yml", &[NAMESPACE, POD, &rejected, secret].join("\n---\n"))?;
    let list = format!("{{apiVersion: v1, kind: List, items: [{NAMESPACE}, {POD}]}}");
    let list = file("list.yml", &list)?;
    let [request, list] = [request, list].map(|path| path.to_string_lossy().into_owned());
    let settings = "e2e-tests/fixtures/settings/placement.yml";
    let output = run(&["try", &request, "--settings", settings])?;
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for headline in [
        "  accepted  CREATE namespaces default\n",
        "  accepted  CREATE pods default/web\n",
        "  REJECTED  CREATE pods default/bad\n",
        "  skipped   Secret s\n",
    ] {
        assert!(told.contains(headline), "{headline:?} is missing in\n{told}");
    }
    let secrets = file("secrets.yml", &[secret, secret].join("\n---\n"))?;
    let output = run(&["try", &secrets.to_string_lossy(), "--settings", settings])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = run(&["try", &list, "--settings", settings])?;
    assert_eq!(
        (output.status.code(), text(&output.stdout).matches("  accepted  ").count()),
        (Some(0), 2),
        "{output:?}"
    );
    Ok(())
}

#[rstest]
#[case::created("Reject", false, 1)]
#[case::created_where_only_changes_count("RejectChanges", false, 0)]
#[case::labelled("RejectChanges", true, 1)]
fn a_node_is_judged_as_if_its_kubelet_sent_it(
    #[case] on_nodes: &str,
    #[case] is_update: bool,
    #[case] status: i32,
) -> Result<()> {
    let node =
        |labels: &str| format!("{{apiVersion: v1, kind: Node, metadata: {{name: node-a, labels: {{{labels}}}}}}}");
    let settings = format!("{{placement: {{clusterDefaultNodeSelector: pool=blue, onNodes: {on_nodes}}}}}");
    let files = [file("node.yml", &node("pool: blue"))?, file("old.yml", &node(""))?, file("settings.yml", &settings)?];
    let [node, old, settings] = files.map(|path| path.to_string_lossy().into_owned());
    let mut arguments = vec!["try", node.as_str(), "--settings", &settings];
    if is_update {
        arguments.extend(["--old", &old]);
    }
    let output = run(&arguments)?;
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(text(&output.stdout).contains(" nodes node-a"), "{output:?}");
    Ok(())
}

#[test]
fn a_workload_whose_pods_are_refused_is_no_success() -> Result<()> {
    let deployment = DEPLOYMENT.replace("spec: {containers", "spec: {nodeSelector: {a: c}, containers");
    let settings = "{placement: {clusterDefaultNodeSelector: a=b, onWorkloads: Ignore}}";
    let files = [file("m.yml", &deployment)?, file("settings.yml", settings)?, file("c.yml", NAMESPACE)?];
    let [manifest, settings, cluster] = files.map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &manifest, "-s", &settings, "-c", &cluster, "-o", "json"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let data: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(data["results"][0]["accepted"], true);
    let refused = data["results"][0]["pods"]["refused"].as_str();
    assert!(refused.is_some_and(|why| why.starts_with("403: ")), "{data}");
    Ok(())
}

#[test]
fn nodes_that_fit_are_named_with_those_that_are_not_ready() -> Result<()> {
    let node = |name: &str, spec: &str, cpu: u32| {
        let status = format!("{{allocatable: {{pods: 110, cpu: {cpu}}}}}");
        format!("{{apiVersion: v1, kind: Node, metadata: {{name: {name}}}, spec: {{{spec}}}, status: {status}}}")
    };
    let cordoned = "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]";
    let tainted = "taints: [{key: team, effect: NoSchedule}]";
    let nodes = [node("one", "", 2), node("cordoned", cordoned, 2), node("small", "", 1), node("tainted", tainted, 2)]
        .join("\n---\n");
    let cluster = file("c.yml", &format!("{NAMESPACE}\n---\n{nodes}"))?;
    let pod = POD.replace("image: i", "image: i, resources: {requests: {cpu: 2}}");
    let files = [file("m.yml", &pod)?, file("settings.yml", "{placement: {}}")?, cluster];
    let [manifest, settings, cluster] = files.map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &manifest, "-s", &settings, "-c", &cluster, "-o", "json"])?;
    let data: Value = serde_json::from_slice(&output.stdout)?;
    let pods = &data["results"][0]["pods"];
    assert_eq!(
        *pods,
        json!({
            "refused": null, "nodes": ["one"], "nodePools": [], "notNow": ["cordoned"], "tooSmall": ["small"],
        })
    );
    Ok(())
}

const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {
    metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}";

#[rstest]
#[case::placement("{placement: {clusterDefaultNodeSelector: a=b}}", DEPLOYMENT, "its Pods would get a=b as it will")]
#[case::metadata(
    "{nodeMetadata: {propagate: [{nodeLabel: zone, env: ZONE}, {nodeField: spec.a, podLabel: x/a}]}}",
    DEPLOYMENT,
    "its Pods would get environment variables; and when they are bound, label x/a, annotation zone as it will"
)]
#[case::what_tolerates_the_limits_of_its_containers(
    "{placement: {onWorkloads: Ignore, onExtendedResources: Tolerate}}",
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [
    {name: c, image: i, resources: {limits: {example.com/gpu: 1}}}]}}}}",
    "not sent to the policy: no rule of the policy has deployments CREATE its Pods would get toleration \
     example.com/gpu:NoSchedule"
)]
#[case::nothing("{placement: {}}", DEPLOYMENT, "its Pods would stay as they are as it will")]
#[case::a_rejection(
    "{placement: {onWorkloads: Ignore, namespaces: [{name: default, requiredNodeSelector: app=db}]}}",
    "{apiVersion: batch/v1, kind: CronJob, metadata: {name: web}, spec: {jobTemplate: {spec: {template: {spec: {
    nodeSelector: {app: web}, containers: []}}}}}}",
    "its Pods would be rejected: 403: pod node label selector conflicts"
)]
fn what_the_pods_of_a_workload_would_get_is_told(
    #[case] settings: &str,
    #[case] workload: &str,
    #[case] told: &str,
) -> Result<()> {
    let files = [file("settings.yml", settings)?, file("workload.yml", workload)?, file("default.yml", NAMESPACE)?];
    let [settings, workload, cluster] = files.map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &workload, "--settings", &settings, "--cluster", &cluster])?;
    assert_eq!(output.status.code(), Some(i32::from(told.contains("rejected"))), "{output:?}");
    assert!(text(&output.stdout).replace("\n            ", " ").contains(told), "{output:?}");
    Ok(())
}

#[rstest]
#[case::a_template("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: text}}")]
#[case::its_metadata(
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {metadata: text}}}"
)]
#[case::its_spec("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {template: {spec: text}}}")]
#[case::labels_of_a_namespace("{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: text}}")]
fn what_is_no_object_does_no_harm(#[case] manifest: &str) -> Result<()> {
    let look_ups = "contextAwareResources: [{apiVersion: v1, kind: Namespace}, {apiVersion: v1, kind: Node}], ";
    let policy = file("policy.yml", &policy("{placement: {onWorkloads: Ignore}}", "\"*\"", look_ups))?;
    let manifest = file("manifest.yml", manifest)?;
    let [policy, manifest] = [policy, manifest].map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &manifest, "--settings", &policy])?;
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    Ok(())
}

#[rstest]
#[case::rules_without_pods(
    "deployments, pods/status",
    "its Pods are not sent to the policy: no rule of the policy has pods CREATE\n"
)]
#[case::rules_without_bindings("deployments, pods", "its Pods would stay as they are\n")]
#[case::rules_without_workloads("pods, pods/binding", "its Pods would get annotation a when they are bound\n")]
fn what_the_rules_do_not_send_no_pod_gets(#[case] resources: &str, #[case] told: &str) -> Result<()> {
    let node = "contextAwareResources: [{apiVersion: v1, kind: Node}], ";
    let policy = file("policy.yml", &policy("{nodeMetadata: {propagate: [{nodeLabel: a}]}}", resources, node))?;
    let workload = file("workload.yml", DEPLOYMENT)?;
    let [policy, workload] = [policy, workload].map(|path| path.to_string_lossy().into_owned());
    let output = run(&["try", &workload, "--settings", &policy])?;
    assert!(text(&output.stdout).contains(told), "{output:?}");
    Ok(())
}

#[rstest]
#[case::an_empty_file("cluster.json", "", "expected objects of a cluster")]
#[case::an_empty_yaml_file("cluster.yml", "", "expected objects of a cluster")]
#[case::an_empty_list(
    "cluster.json",
    r#"{"apiVersion":"v1","kind":"List","items":[]}"#,
    "expected objects of a cluster"
)]
#[case::a_policy(
    "cluster.yml",
    "{apiVersion: policies.kubewarden.io/v1, kind: ClusterAdmissionPolicy, metadata: {name: p}}",
    "expected objects of a cluster"
)]
fn a_cluster_of_which_nothing_can_be_told(#[case] name: &str, #[case] text: &str, #[case] told: &str) -> Result<()> {
    let output = run(&["preview", "--settings", FENCES, "--cluster", &file(name, text)?.to_string_lossy()])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let told_is = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told_is.contains(told), "{output:?}");
    Ok(())
}

#[rstest]
#[case::a_cluster(true, "the cluster has no Namespace acme-2\n")]
#[case::none(false, "without a cluster (-c), there is no Namespace acme-2\n")]
fn what_the_cluster_lacks_is_named(#[case] is_given: bool, #[case] told: &str) -> Result<()> {
    let pod = file("pod.yml", &POD.replace("name: web", "name: web, namespace: acme-2"))?;
    let cluster = file("default.yml", NAMESPACE)?;
    let [pod, cluster] = [pod, cluster].map(|path| path.to_string_lossy().into_owned());
    let mut arguments = vec!["try", pod.as_str(), "--settings", FENCES];
    if is_given {
        arguments.extend(["--cluster", &cluster]);
    }
    let output = run(&arguments)?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains(told), "{output:?}");
    Ok(())
}

#[test]
fn a_rejection_is_told_once() -> Result<()> {
    let pod = POD.replace("spec: {", "spec: {nodeSelector: {env: production}, ");
    let pod = file("rejected.yml", &pod)?.to_string_lossy().into_owned();
    let cluster = file("default.yml", NAMESPACE)?.to_string_lossy().into_owned();
    let settings = "e2e-tests/fixtures/settings/placement.yml";
    let output = run(&["try", &pod, "--settings", settings, "--cluster", &cluster])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(text(&output.stdout).matches("pod node label selector conflicts").count(), 1, "{output:?}");
    Ok(())
}

#[test]
fn the_story_shows_the_annotations_and_the_settings_as_they_are_written() -> Result<()> {
    let output = run(&["tour", "--all"])?;
    let told = text(&output.stdout);
    let told = told.replace("\n            ", " ");
    let annotated =
        "Namespace team-blue, annotated scheduler.alpha.kubernetes.io/node-selector: pool in (blue, shared)";
    assert!(told.contains(annotated), "{told}");
    let settings =
        "    podNodeSelectorPluginConfig:\n      clusterDefaultNodeSelector: env=development\n      production:";
    assert!(told.contains(settings), "{told}");
    Ok(())
}

/// As `2>&1 | head -1` does.
#[test]
fn whoever_reads_errors_may_leave_early() -> Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"));
    let mut running = command.args(["check", "nowhere.yml"]).stderr(Stdio::piped()).spawn()?;
    drop(running.stderr.take());
    assert_eq!(running.wait()?.code(), Some(2));
    Ok(())
}
