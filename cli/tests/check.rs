//! What `check` finds, where, and how it ends.

use std::{fs, path::Path, process::Output};

use anyhow::{Context, Result};
use rstest::rstest;
use serde_json::Value;

use crate::common::{file, run, text};

#[rstest]
#[case::several_documents("---\n{kind: Role}\n---\n{kind: RoleBinding}", "found a Role")]
#[case::another_object("{apiVersion: v1, kind: ConfigMap, data: {}}", "found a ConfigMap")]
#[case::what_an_api_server_reads(
    "{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: []}",
    "found AdmissionConfiguration, an API server's configuration: convert it first (kubectl node-placement convert FILE)"
)]
#[case::a_part_of_a_policy(
    "spec: {settings: {placement: {}}}",
    "found spec: of a policy without its apiVersion and kind"
)]
#[case::a_smaller_part("settings: {placement: {}}", "found settings: of a policy without its apiVersion and kind")]
#[case::a_policy_without_spec(
    "{apiVersion: policies.kubewarden.io/v1, kind: ClusterAdmissionPolicy}",
    "spec is missing"
)]
#[case::a_list("[placement]", "found a list")]
#[case::nothing("# nothing", "the file is empty")]
fn settings_that_are_none_are_told_what_they_look_like(#[case] settings: &str, #[case] told: &str) -> Result<()> {
    let settings = file("settings.yml", settings)?;
    let output = run(&["check", &settings.to_string_lossy()])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let expected = "expected what stands under spec.settings of a policy, or a whole ClusterAdmissionPolicy; ";
    assert!(text(&output.stderr).contains(&format!("{expected}{told}")), "{output:?}");
    Ok(())
}

#[test]
fn mistakes_in_settings_are_told_one_a_line() -> Result<()> {
    let settings = file("mistakes.yml", "{nodeMetadata: {propagate: [{}, {}]}, placement: {namespaces: [{}]}}")?;
    let output = run(&["check", &settings.to_string_lossy()])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(&output.stderr).lines().count(), 3, "{output:?}");
    Ok(())
}

/// All that is wrong with `text`, each as `LINE:COLUMN: …`.
fn mistakes(text: &str) -> Result<Vec<String>> {
    let path = file("settings.yml", text)?.to_string_lossy().into_owned();
    let output = run(&["check", &path, "-o", "json"])?;
    let report: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    let lines = report["mistakes"].as_array().context("a list")?.iter();
    Ok(lines.map(|line| line.as_str().unwrap_or_default().replace(&format!("{path}:"), "")).collect())
}

const WRONG: &str = "placement:\n  namespaces:\n    - name: a\n      requiredNodeSelector: 'a=1,a=2'\n";
const FOUND: &str = "placement.namespaces[0].requiredNodeSelector: ";

/// The mistake, below a policy's settings.
fn wrong_policy() -> String {
    let settings = WRONG.lines().map(|line| format!("    {line}\n")).collect::<String>();
    format!(
        "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {{ name: p }}\nspec:\n  settings:\n{settings}"
    )
}

#[rstest]
#[case::settings(WRONG.to_owned(), "4:7")]
#[case::a_policy(wrong_policy(), "9:11")]
#[case::a_byte_order_mark(format!("\u{feff}{WRONG}"), "4:7")]
#[case::carriage_returns(WRONG.replace('\n', "\r\n"), "4:7")]
#[case::a_second_document(format!("---\n{}---\n{}", wrong_policy().replace("a=2", "b=2"), wrong_policy()), "20:11")]
#[case::a_list(
    format!("apiVersion: v1\nkind: List\nitems:\n- {}", wrong_policy().replace('\n', "\n  ")),
    "12:13"
)]
#[case::before_a_syntax_error(format!("{}---\na: [\n", wrong_policy()), "9:11")]
#[case::json("{\"placement\": {\"namespaces\": [\n{\"name\": \"a\",\n\"requiredNodeSelector\": \"a=1,a=2\"}]}}".to_owned(), "3:1")]
fn a_mistake_is_found_in_any_file(#[case] text: String, #[case] position: &str) -> Result<()> {
    let mistakes = mistakes(&text)?;
    let is_found = |line: &String| {
        let Some(rest) = line.strip_prefix(&format!("{position}: ")) else { return false };
        rest.strip_prefix("p: ").unwrap_or(rest).starts_with(FOUND)
    };
    assert_eq!(mistakes.iter().filter(|line| is_found(line)).count(), 1, "{mistakes:?}");
    Ok(())
}

#[rstest]
#[case::a_bracket("placement: {}\n---\na: [\n", "4:1: ")]
#[case::a_repeated_key(
    "placement:\n  onNodes: Reject\n  onNodes: Ignore\n",
    "3:3: placement.onNodes: this key stands there twice; remove one of them"
)]
#[case::in_json(
    "{\"placement\": {\"onNodes\": \"Reject\",\n\"onNodes\": \"Ignore\"}}",
    "2:1: placement.onNodes: this key stands there twice; remove one of them"
)]
#[case::an_unknown_field(
    "placement:\n  onNode: Reject\n",
    "2:3: placement: unknown field \"onNode\", did you mean onNodes?"
)]
#[case::a_reference_of_a_shell(
    "placement:\n  namespaces:\n  - namespaceSelector: tenant\n    requiredNodeSelector: pool=${tenant}\n",
    "4:5: placement.namespaces[0].requiredNodeSelector: \"${tenant}\" at position 6 is not a valid value, expected at most 63 \
     letters, digits, '-', '_' and '.', beginning and ending with a letter or digit; for ${tenant}, write $(tenant)"
)]
#[case::a_reference_of_a_template(
    "placement:\n  namespaces:\n  - name: a\n    defaultTolerations: [{key: t, operator: Equal, value: '{{ .a.io/b }}'}]\n",
    "4:52: placement.namespaces[0].defaultTolerations[0].value: expected at most 63 letters, digits, '-', '_' and '.', \
     beginning and ending with a letter or digit, found \"{{ .a.io/b }}\"; for {{ .a.io/b }}, write $(a.io/b)"
)]
#[case::a_wrong_type(
    "kind: ClusterAdmissionPolicy\nspec:\n  settings: {placement: {}}\n  rules:\n  - resources: pods\n",
    "5:5: spec.rules[0].resources: expected a list; found \"pods\""
)]
#[case::an_unknown_field_beside_wrong_types(
    "kind: ClusterAdmissionPolicy\nspec:\n  settings: {}\n  mutating: maybe\n  rules:\n  - {resources: pods, operation: []}\n",
    "6:23: spec.rules[0].operation: unknown field; did you mean operations?"
)]
#[case::another_kind("# A role.\nkind: Role\n", "2:1: expected what stands under spec.settings")]
fn what_cannot_be_read_has_a_position(#[case] text: &str, #[case] told: &str) -> Result<()> {
    let mistakes = mistakes(text)?;
    assert!(mistakes.iter().any(|line| line.starts_with(told)), "{mistakes:?}");
    Ok(())
}

#[rstest]
#[case::a_name("placement: {namespaces: [{name: '${a}', defaultNodeSelector: a=b}]}")]
#[case::the_key_of_a_toleration("placement: {clusterDefaultTolerations: [{key: '${a}', operator: Exists}]}")]
#[case::the_key_of_an_entrys_toleration("placement: {namespaces: [{name: a, defaultTolerations: [{key: '{{a}}'}]}]}")]
#[case::the_clusters_default("placement: {clusterDefaultNodeSelector: 'a=${b}'}")]
#[case::labels_of_namespaces("placement: {namespaces: [{namespaceSelector: 'a=${b}', defaultNodeSelector: ''}]}")]
#[case::the_plugin("podNodeSelectorPluginConfig: {a: 'b={{c}}'}")]
#[case::node_metadata("nodeMetadata: {propagate: [{nodeLabel: '${a}'}]}")]
fn no_reference_is_proposed_where_none_can_stand(#[case] text: &str) -> Result<()> {
    let mistakes = mistakes(text)?;
    assert!(!mistakes.is_empty() && !mistakes.iter().any(|line| line.contains("$(")), "{mistakes:?}");
    Ok(())
}

#[rstest]
#[case::nothing_to_say("placement: {}", 0, 0)]
#[case::a_remark("placement: {namespaces: [{name: a, allowedNodeSelector: \"\"}]}", 0, 1)]
#[case::a_mistake("placement: {namespaces: [{name: a, allowedNodeSelector: \"a=\\n\"}, {}]}", 2, 2)]
fn the_exit_status_says_what_was_found(#[case] text: &str, #[case] usual: i32, #[case] strict: i32) -> Result<()> {
    let path = file("settings.yml", text)?.to_string_lossy().into_owned();
    assert_eq!(run(&["check", &path])?.status.code(), Some(usual));
    assert_eq!(run(&["check", &path, "--strict"])?.status.code(), Some(strict));
    Ok(())
}

/// A policy that may look up nothing.
fn policy(settings: &str, resources: &str) -> String {
    format!(
        "{{apiVersion: policies.kubewarden.io/v1, kind: ClusterAdmissionPolicy, metadata: {{name: p}}, spec: {{
        module: m, mutating: true, backgroundAudit: false, settings: {settings},
        rules: [{{apiGroups: [\"*\"], apiVersions: [v1], resources: [{resources}], operations: [CREATE, UPDATE]}}]}}}}"
    )
}

#[rstest]
#[case::nodes("{placement: {onNodes: Reject, clusterDefaultNodeSelector: a}}", "nodes, nodes/status", &[])]
#[case::workloads("{placement: {}}", "deployments", &["Namespace", "Node"])]
#[case::pods("{placement: {}}", "pods", &["Namespace", "Node"])]
#[case::pods_that_do_not_name_their_node("{placement: {onNodeName: Ignore}}", "pods", &["Namespace"])]
#[case::no_annotations("{placement: {namespaceAnnotations: [], onNodeName: Ignore}}", "pods", &[])]
#[case::the_in_tree_plugin("{podNodeSelectorPluginConfig: {}}", "pods", &["Namespace"])]
#[case::metadata("{nodeMetadata: {propagate: [{nodeLabel: a}]}}", "pods/binding", &["Node"])]
#[case::metadata_without_bindings("{nodeMetadata: {propagate: [{nodeLabel: a}]}}", "pods/status", &["Node"])]
fn a_policy_must_list_what_its_settings_look_up(
    #[case] settings: &str,
    #[case] resources: &str,
    #[case] lacking: &[&str],
) -> Result<()> {
    let policy = file("policy.yml", &policy(settings, resources))?;
    let output = run(&["check", &policy.to_string_lossy()])?;
    let told = text(&output.stderr);
    for kind in ["Namespace", "Node"] {
        let line = format!("spec.contextAwareResources: lacks apiVersion v1, kind {kind}, which ");
        assert_eq!(told.contains(&line), lacking.contains(&kind), "{told}");
    }
    Ok(())
}

#[rstest]
#[case::placement("{placement: {}}", "pods/binding", "no CREATE of pods (apiGroup \"\"), which placement needs")]
#[case::placement_and_nothing_else_is_sent("{placement: {}}", "secrets", "no CREATE of pods")]
#[case::the_plugin(
    "{podNodeSelectorPluginConfig: {}}",
    "deployments",
    "no CREATE of pods (apiGroup \"\"), which podNode"
)]
#[case::variables(
    "{nodeMetadata: {propagate: [{nodeLabel: a, env: A}]}}",
    "pods/binding",
    "no CREATE of pods (apiGroup \"\"), which nodeMetadata.propagate[].env needs: no container gets a variable; add the rule"
)]
#[case::node_metadata("{nodeMetadata: {propagate: [{nodeLabel: a}]}}", "pods", "no CREATE of pods/binding")]
#[case::the_other_way_to_bind("{nodeMetadata: {propagate: [{nodeLabel: a}]}}", "bindings", "no CREATE of pods/binding")]
#[case::bindings(
    "{placement: {onBindings: Verify}}",
    "pods",
    "no CREATE of pods/binding (apiGroup \"\"), which placement.on"
)]
#[case::daemon_sets_beside_a_whitelist(
    "{placement: {onDaemonSets: Inject, namespaces: [{name: a, allowedNodeSelector: b}]}}",
    "pods",
    "no CREATE of daemonsets (apiGroup apps), which placement.namespaces[0].allowedNodeSelector needs: DaemonSets get past it"
)]
#[case::daemon_sets_beside_forbidden_labels(
    "{placement: {namespaces: [{name: a, forbiddenNodeLabels: [b]}]}}",
    "pods",
    "no CREATE of daemonsets (apiGroup apps), which placement.namespaces[0].forbiddenNodeLabels needs: DaemonSets get past it"
)]
#[case::nodes("{placement: {onNodes: Reject, clusterDefaultNodeSelector: a}}", "pods", "no UPDATE of nodes (apiGroup")]
#[case::nodes_alone(
    "{placement: {onNodes: Reject, clusterDefaultNodeSelector: a}}",
    "nodes/status",
    "no UPDATE of nodes ("
)]
fn a_rule_without_which_a_setting_does_nothing_must_be_there(
    #[case] settings: &str,
    #[case] resources: &str,
    #[case] told: &str,
) -> Result<()> {
    let policy = file("policy.yml", &policy(settings, resources))?;
    let output = run(&["check", &policy.to_string_lossy()])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains(told), "{output:?}");
    Ok(())
}

/// What onNodeAffinity does not judge, no DaemonSet can get past.
#[test]
fn daemon_sets_need_not_be_sent_where_affinity_is_ignored() -> Result<()> {
    let settings = "{placement: {onNodeAffinity: Ignore, namespaces: [{name: a, allowedNodeSelector: b}]}}";
    let output = run(&["check", &file("policy.yml", &policy(settings, "pods"))?.to_string_lossy()])?;
    assert!(!text(&output.stderr).contains("of daemonsets"), "{output:?}");
    Ok(())
}

#[test]
fn all_unknown_fields_and_wrong_types_are_told_at_once() -> Result<()> {
    let settings = "placement:\n  onNode: Reject\n  namespaceAnnotations: [1, a, 2]\n  namespaces:\n  - nam: a\n  - {name: 5, \
                    requiredNodeSelector: a=b}\nnodeMetadata: {propagate: {}}\n";
    let expected = [
        "2:3: placement: unknown field \"onNode\", did you mean onNodes?",
        "3:26: placement.namespaceAnnotations[0]: expected a string, found a number",
        "3:32: placement.namespaceAnnotations[2]: expected a string, found a number",
        "5:5: placement.namespaces[0]: unknown field \"nam\", did you mean name?",
        "6:6: placement.namespaces[1].name: expected a string, found a number",
        "7:16: nodeMetadata.propagate: expected a list, found an object",
    ];
    let mut found = mistakes(settings)?;
    found.sort();
    assert_eq!(found, expected);
    let indented: String = settings.lines().map(|line| format!("    {line}\n")).collect();
    let policy = format!(
        "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {{name: p, label: {{}}}}\nspec:\n  mutating: \
         maybe\n  rules: [{{resources: pods}}, {{operations: CREATE}}]\n  failurePolice: Fail\n  settings:\n{indented}"
    );
    let found = mistakes(&policy)?;
    for told in [
        "3:21: metadata.label: unknown field; did you mean labels?",
        "5:3: spec.mutating: expected true or false; found \"maybe\"",
        "6:12: spec.rules[0].resources: expected a list; found \"pods\"",
        "6:31: spec.rules[1].operations: expected a list; found \"CREATE\"",
        "7:3: spec.failurePolice: unknown field; did you mean failurePolicy?",
        "10:7: placement: unknown field \"onNode\", did you mean onNodes?",
        "14:10: placement.namespaces[1].name: expected a string, found a number",
    ] {
        assert!(found.iter().any(|line| line == told), "{told}: {found:#?}");
    }
    Ok(())
}

#[rstest]
#[case::env("{nodeMetadata: {propagate: [{nodeLabel: a, env: A}]}}", true)]
#[case::no_env("{nodeMetadata: {propagate: [{nodeLabel: a}]}}", false)]
fn variables_of_a_policy_that_only_validates_are_a_remark(#[case] settings: &str, #[case] is_told: bool) -> Result<()> {
    let policy = policy(settings, "pods").replace("mutating: true", "mutating: false");
    let output = run(&["check", &file("policy.yml", &policy)?.to_string_lossy(), "-o", "json"])?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let told =
        "spec.mutating: false, while nodeMetadata.propagate has env: a Pod to which a later webhook adds a container";
    assert_eq!(says(&found["remarks"], told), is_told, "{found}");
    Ok(())
}

/// Of several documents; alone it is a mistake.
#[test]
fn what_is_no_policy_of_this_module_is_passed_over() -> Result<()> {
    let foreign = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: no-privileged}\nspec:\n  \
                   module: registry://ghcr.io/kubewarden/policies/pod-privileged:v1.0.3\n  settings: {}\n";
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\n";
    let path = file("all.yml", &format!("{role}---\n{AROUND}---\n{foreign}"))?;
    let output = run(&["check", &path.to_string_lossy()])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for told in [
        "all.yml:1:1: ClusterRole reader is no policy of this module, and is passed over",
        "ClusterAdmissionPolicy no-privileged is no policy of this module, and is passed over",
    ] {
        assert!(text(&output.stdout).contains(told), "{output:?}");
    }
    let output = run(&["preview", "-s", &path.to_string_lossy(), "-c", "cli/tour/cluster"])?;
    let told = "all.yml: passed over, since it is no policy of this module: ClusterRole reader and";
    assert!(output.status.code() != Some(2) && text(&output.stderr).contains(told), "{output:?}");
    let output = run(&["check", &file("foreign.yml", foreign)?.to_string_lossy()])?;
    let told = "found ClusterAdmissionPolicy no-privileged of the module registry://ghcr.io/kubewarden/policies/pod-privileged:v1.0.3, \
                whose settings have none of placement, podNodeSelectorPluginConfig, nodeMetadata";
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains(told), "{output:?}");
    Ok(())
}

/// Guarding Nodes is all that a policy does whose rules are about Nodes alone, and another one may do it.
#[test]
fn several_policies_are_one_deployment() -> Result<()> {
    let settings = "
placement:
  onNodes: Reject
  onBindings: Verify
  namespaces: [{name: \"*\", requiredNodeSelector: pool=a}]
nodeMetadata: {propagate: [{nodeLabel: a}]}
";
    let settings = file("settings.yml", settings)?;
    let written = text(&run(&["policy", &settings.to_string_lossy()])?.stdout);
    assert_eq!(written.matches("kind: ClusterAdmissionPolicy").count(), 3, "{written}");
    let output = run(&["check", &file("policy.yml", &written)?.to_string_lossy(), "--strict"])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    Ok(())
}

/// Rules for all Pods and Bindings, look-ups of all there is, and what a policy must have.
const AROUND: &str = "
apiVersion: policies.kubewarden.io/v1
kind: ClusterAdmissionPolicy
metadata: {name: p}
spec:
  module: m
  mutating: true
  mode: protect
  failurePolicy: Fail
  backgroundAudit: false
  matchPolicy: Equivalent
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}
  contextAwareResources: [{apiVersion: v1, kind: Namespace}, {apiVersion: v1, kind: Node}]
  matchConditions: [{name: some, expression: \"true\"}]
  rules: [{apiGroups: [\"\"], apiVersions: [v1], resources: [pods, pods/binding], operations: [CREATE, UPDATE]}]
  settings: {placement: {}}
";

#[rstest]
#[case::a_misspelt_field(
    "failurePolicy",
    "failurePolice",
    "spec.failurePolice: unknown field; did you mean failurePolicy?"
)]
#[case::a_misspelt_field_beside_the_spec(
    "metadata: {",
    "metdata: {}\nmetadata: {",
    "4:1: metdata: unknown field; did you mean metadata?"
)]
#[case::a_misspelt_field_of_the_metadata(
    "name: p}",
    "name: p, label: {}}",
    "4:21: metadata.label: unknown field; did you mean labels?"
)]
#[case::a_misspelt_field_deeper_in_the_metadata(
    "name: p}",
    "name: p, ownerReferences: [{apiVersion: v1, kind: Node, name: a, uid: b, blocks: true}]}",
    "metadata.ownerReferences[0].blocks: unknown field\n"
)]
#[case::a_misspelt_field_of_a_rule(
    "operations:",
    "operation:",
    "spec.rules[0].operation: unknown field; did you mean operations?"
)]
#[case::a_misspelt_selector(
    "namespaceSelector: {matchExpressions",
    "namespaceSelector: {matchLabel: {}, matchExpressions",
    "spec.namespaceSelector.matchLabel: unknown field; did you mean matchLabels?"
)]
#[case::no_rules("resources: [pods, pods/binding]", "resources: []", "spec.rules[0].resources: expected at least one")]
#[case::a_mode("mode: protect", "mode: Monitor", "spec.mode: expected one of monitor, protect; found \"Monitor\"")]
#[case::a_failure_policy(
    "Policy: Fail",
    "Policy: fail",
    "spec.failurePolicy: expected one of Fail, Ignore; found \"fail\""
)]
#[case::side_effects(
    "mode: protect",
    "sideEffects: Some",
    "spec.sideEffects: expected one of None, NoneOnDryRun; found \"Some\""
)]
#[case::a_match_policy(
    "matchPolicy: Equivalent",
    "matchPolicy: Near",
    "spec.matchPolicy: expected one of Equivalent, Exact"
)]
#[case::a_timeout_that_is_none(
    "mode: protect",
    "timeoutSeconds: 5s",
    "spec.timeoutSeconds: expected a number; found \"5s\""
)]
#[case::a_timeout_that_is_too_long(
    "mode: protect",
    "timeoutSeconds: 31",
    "spec.timeoutSeconds: expected from 2 to 30 seconds; found 31"
)]
#[case::an_evaluation_that_is_too_short(
    "mode: protect",
    "timeoutEvalSeconds: 1",
    "spec.timeoutEvalSeconds: expected from 2 to 30"
)]
#[case::an_evaluation_that_outlives_its_request(
    "mode: protect",
    "timeoutSeconds: 5\n  timeoutEvalSeconds: 6",
    "spec.timeoutEvalSeconds: expected at most timeoutSeconds, which is 5; found 6"
)]
#[case::an_evaluation_that_outlives_the_usual_request(
    "mode: protect",
    "timeoutEvalSeconds: 11",
    "spec.timeoutEvalSeconds: expected at most timeoutSeconds, which is 10; found 11"
)]
#[case::a_misspelt_field_of_a_condition(
    "expression",
    "expresion",
    "spec.matchConditions[0].expresion: unknown field; did you mean expression?"
)]
#[case::a_condition_that_says_nothing(
    "\"true\"",
    "\" \"",
    "spec.matchConditions[0].expression: expected an expression; found \" \""
)]
#[case::a_condition_without_a_name("name: some, ", "", "spec.matchConditions[0].name: expected at most 63 letters")]
#[case::a_misspelt_operation(
    "[CREATE, UPDATE]",
    "[Create]",
    "spec.rules[0].operations: expected one of CREATE, UPDATE"
)]
#[case::an_empty_resource("[pods, pods/binding]", "[pods, \"\"]", "spec.rules[0].resources: expected no empty text")]
#[case::a_scope(
    "UPDATE]}",
    "UPDATE], scope: namespaced}",
    "spec.rules[0].scope: expected one of *, Namespaced, Cluster"
)]
#[case::a_misspelt_field_of_an_expression(
    "operator: NotIn, values",
    "operator: NotIn, vaules",
    "spec.namespaceSelector.matchExpressions[0].vaules: unknown field; did you mean values?"
)]
#[case::a_value_that_no_label_has(
    "values: [kube-system]",
    "values: [kube system]",
    "spec.namespaceSelector.matchExpressions[0].values: expected at most 63 letters"
)]
#[case::values_that_are_missing(
    "operator: NotIn, values: [kube-system]",
    "operator: In",
    "spec.namespaceSelector.matchExpressions[0].values: expected at least one"
)]
#[case::a_misspelt_field_of_a_look_up(
    "{apiVersion: v1, kind: Node}",
    "{apiVersion: v1, kind: Node, group: a}",
    "spec.contextAwareResources[1].group: unknown field; expected one of apiVersion, kind"
)]
#[case::two_conditions_of_a_name(
    "{name: some,",
    "{name: some, expression: \"true\"}, {name: some,",
    "spec.matchConditions[1].name: \"some\" stands there already"
)]
#[case::no_module("module: m", "timeoutSeconds: 5", "spec.module: missing")]
#[case::no_boolean(
    "mutating: true",
    "mutating: yes please",
    "spec.mutating: expected true or false; found \"yes please\""
)]
#[case::nothing_about_mutating("mutating: true", "timeoutSeconds: 5", "spec.mutating: missing")]
#[case::a_fence_that_is_none("Policy: Fail", "Policy: Ignore", "spec.failurePolicy: Ignore, but placement needs Fail")]
#[case::marks_that_are_none(
    "Fail",
    "Ignore\n  settings: {nodeMetadata: {propagate: [{nodeLabel: a}], protect: true}}",
    "spec.failurePolicy: Ignore, but nodeMetadata.protect needs Fail"
)]
#[case::what_is_required(
    "Fail",
    "Ignore\n  settings: {nodeMetadata: {propagate: [{nodeLabel: a, required: true}]}}",
    "spec.failurePolicy: Ignore, but nodeMetadata.propagate[].required needs Fail"
)]
#[case::pods_that_select_no_node(
    "\"true\"",
    "\"request.operation != 'CREATE' || has(object.spec.nodeSelector)\"",
    "\"some\" excludes CREATE of pods, CREATE of pods that name their node, which placement needs; remove the condition"
)]
#[case::pods_that_name_their_node(
    "\"true\"",
    "\"request.operation != 'CREATE' || !has(object.spec.nodeName)\"",
    "\"some\" excludes CREATE of pods that name their node, which placement needs; remove the condition"
)]
#[case::all_pods_by_their_kind(
    "\"true\"",
    "\"request.requestKind.kind != 'Pod'\"",
    "\"some\" excludes CREATE of pods, CREATE of pods that name their node, which placement needs"
)]
#[case::pods_of_ordinary_users(
    "\"true\"",
    "\"'system:masters' in request.userInfo.groups\"",
    "\"some\" excludes CREATE of pods, CREATE of pods that name their node, which placement needs"
)]
#[case::a_field_that_may_be_missing(
    "\"true\"",
    "\"object.spec.runtimeClassName != 'batch'\"",
    "\"some\" raises an error (No such key: runtimeClassName) for CREATE of pods, CREATE of pods that name their node, which \
     the API server then refuses, by failurePolicy: Fail, even with mode: monitor; ask first whether the field is there"
)]
#[case::a_module_that_nobody_finds(
    "module: m",
    "module: htps://example.com/m.wasm",
    "spec.module: expected one of registry://…, https://…, http://…, file://…; found htps://"
)]
#[case::a_selector_that_contradicts_itself(
    "operator: NotIn, values: [kube-system]",
    "operator: In, values: [a]}, {key: kubernetes.io/metadata.name, operator: NotIn, values: [a]",
    "spec.namespaceSelector: no namespace meets all of its expressions"
)]
#[case::a_variable_that_webhooks_lack(
    "\"true\"",
    "\"namespaceObject.metadata.name != 'a'\"",
    "spec.matchConditions[0].expression: the conditions of a webhook have no namespaceObject"
)]
fn what_breaks_a_policy_is_a_mistake(#[case] from: &str, #[case] to: &str, #[case] told: &str) -> Result<()> {
    let output = check_changed(from, to)?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains(told), "{output:?}");
    Ok(())
}

#[rstest]
#[case::nothing_is_written(
    "mutating: true",
    "mutating: false",
    "spec.mutating: false, and so what the settings would write is rejected"
)]
#[case::a_fence_with_ignore_that_does_not_protect_yet(
    "mode: protect\n  failurePolicy: Fail",
    "mode: monitor\n  failurePolicy: Ignore",
    "needs Fail: with Ignore, users can bypass a healthy policy, as soon as its mode is protect"
)]
#[case::an_audit_of_bindings("Audit: false", "Audit: true", "spec.backgroundAudit: true, but the audit scanner counts")]
#[case::an_audit_by_default(
    "backgroundAudit: false",
    "timeoutSeconds: 5",
    "spec.backgroundAudit: true, but the audit scanner counts"
)]
fn what_may_be_meant_is_a_remark(#[case] from: &str, #[case] to: &str, #[case] told: &str) -> Result<()> {
    let output = check_changed(from, to)?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains(told), "{output:?}");
    Ok(())
}

#[rstest]
#[case::as_it_is("mode: protect", "mode: protect")]
#[case::nothing_said("matchPolicy: Equivalent", "matchPolicy: null\n  objectSelector: null")]
#[case::the_longest_evaluation("matchPolicy: Equivalent", "timeoutSeconds: 30\n  timeoutEvalSeconds: 30")]
#[case::no_side_effects("matchPolicy: Equivalent", "sideEffects: None\n  matchPolicy: Exact")]
#[case::nothing_to_protect(
    "\"true\"",
    "\"request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp)\""
)]
fn what_is_right_around_settings_is_not_mentioned(#[case] from: &str, #[case] to: &str) -> Result<()> {
    let output = check_changed(from, to)?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = text(&output.stdout);
    assert!(told.lines().skip(1).all(|line| line.contains(" spec.rules: no ")), "{told}");
    Ok(())
}

/// Whatever it decides about.
#[rstest]
fn a_missing_mode_is_a_remark(#[values("nodes", "placement", "plugin-config")] example: &str) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(example).with_extension("yml");
    let policy = fs::read_to_string(path)?.replace("  mode: monitor\n", "");
    let output = run(&["check", &file("policy.yml", &policy)?.to_string_lossy()])?;
    let told = text(&output.stdout);
    assert!(told.contains("spec.mode: missing, and so it is protect; start with monitor"), "{output:?}");
    Ok(())
}

/// It decides nothing, and is there for the audit scanner.
#[test]
fn a_policy_that_only_reports_needs_no_fail() -> Result<()> {
    let output = run(&["check", "examples/audit.yml"])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = text(&output.stdout);
    assert!(!told.contains("needs Fail") && !told.contains("spec.mutating"), "{told}");
    Ok(())
}

/// The policy with one thing changed. Settings that come with the change take the place of its own.
fn check_changed(from: &str, to: &str) -> Result<Output> {
    let (to, settings) =
        to.split_once("\n settings: ").or_else(|| to.split_once("\n  settings: ")).unwrap_or((to, "{placement: {}}"));
    let changed = AROUND.replace(from, to).replace("{placement: {}}", settings);
    let policy = file("changed.yml", &changed)?;
    run(&["check", &policy.to_string_lossy()])
}

#[test]
fn nothing_is_to_be_said_of_any_example() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut count = 0;
    for folder in ["examples", "examples/metadata", "examples/platform-team"] {
        for entry in fs::read_dir(root.join(folder))? {
            let path = entry?.path();
            let has_settings =
                |text: &str| text.contains("\nkind: ClusterAdmissionPolicy\n") || path.ends_with("settings.yml");
            if !path.is_file() || !has_settings(&fs::read_to_string(&path)?) {
                continue;
            }
            let output = run(&["check", &path.to_string_lossy(), "--strict"])?;
            assert_eq!(output.status.code(), Some(0), "{}: {output:?}", path.display());
            count += 1;
        }
    }
    assert!(count > 10, "only {count} examples");
    Ok(())
}

/// What a pull request in the platform team's repository asks last.
#[test]
fn the_platform_teams_settings_are_ready() -> Result<()> {
    let [settings, cluster] = ["settings", "cluster"].map(|name| format!("examples/platform-team/{name}.yml"));
    let output = run(&["preview", "-s", &settings, "-c", &cluster])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    Ok(())
}

/// A policy that nothing is wrong with, with one thing exchanged.
fn changed(from: &str, to: &str) -> Result<Value> {
    assert!(AROUND.contains(from), "{from}");
    let path = file("policy.yml", &AROUND.replacen(from, to, 1))?;
    let output = run(&["check", &path.to_string_lossy(), "-o", "json"])?;
    serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))
}

fn says(lines: &Value, told: &str) -> bool {
    lines.as_array().into_iter().flatten().any(|line| line.as_str().is_some_and(|line| line.contains(told)))
}

#[rstest]
#[case::a_name("name: p", "name: No_Name", ": metadata.name: expected lowercase letters")]
#[case::a_name_that_is_no_text("name: p", "name: 1.0", ": metadata.name: expected a text; found integer `1`")]
#[case::labels_that_are_no_texts(
    "name: p",
    "name: p, labels: {a: 1}",
    "4:30: metadata.labels.a: expected a text; found"
)]
#[case::a_version(
    "policies.kubewarden.io/v1",
    "policies.kubewarden.io/v1alpha2",
    "2:1: apiVersion: expected policies."
)]
#[case::a_scope("resources: [pods, pods/binding]", "scope: Cluster, resources: [pods]", "no CREATE of pods")]
#[case::api_versions("apiVersions: [v1]", "apiVersions: [v1beta1]", "no CREATE of pods")]
#[case::no_expression("expression: \"true\"", "expression: \"object.\"", "spec.matchConditions[0].expression: ")]
#[case::no_truth("expression: \"true\"", "expression: \"1\"", "spec.matchConditions[0].expression: ")]
fn a_policy_that_can_t_work_is_a_mistake(#[case] from: &str, #[case] to: &str, #[case] told: &str) -> Result<()> {
    let found = changed(from, to)?;
    assert!(says(&found["mistakes"], told), "{found}");
    Ok(())
}

#[rstest]
#[case::an_object_selector(
    "matchPolicy: Equivalent",
    "objectSelector: {matchLabels: {a: b}}",
    "spec.objectSelector: users choose the labels"
)]
#[case::a_condition_that_depends_on_a_label(
    "\"true\"",
    "\"!(has(object.metadata.labels) && 'skip' in object.metadata.labels)\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.labels, which users choose"
)]
#[case::a_condition_that_depends_on_the_value_of_an_annotation(
    "\"true\"",
    "\"object.metadata.?annotations.?skip.orValue('') != 'please'\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.annotations, which users choose"
)]
#[case::a_condition_that_depends_on_an_annotation_by_a_computed_name(
    "\"true\"",
    "\"object['metadata']['annotations'][string('skip')] != 'please'\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.annotations, which users choose"
)]
#[case::a_condition_that_depends_on_an_owner(
    "\"true\"",
    "\"!has(object.metadata.ownerReferences)\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.ownerReferences, which users choose"
)]
#[case::a_condition_that_depends_on_a_claim_to_be_deleted(
    "\"true\"",
    "\"!has(object.metadata.deletionTimestamp)\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.deletionTimestamp, which users choose"
)]
#[case::a_condition_that_depends_on_a_finalizer(
    "\"true\"",
    "\"!object.metadata.?finalizers.orValue([]).exists(f, f == 'a')\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.finalizers, which users choose"
)]
#[case::a_condition_that_depends_on_the_beginning_of_a_name(
    "\"true\"",
    "\"!object.metadata.name.startsWith('debug-')\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.name, which users choose"
)]
#[case::a_condition_that_depends_on_a_scheduler(
    "\"true\"",
    "\"object.spec.?schedulerName.orValue('') != 'other'\"",
    "spec.matchConditions[0]: \"some\" depends on spec.schedulerName, which users choose"
)]
#[case::a_condition_that_depends_on_the_network_of_the_host(
    "\"true\"",
    "\"!request.object.spec.?hostNetwork.orValue(false)\"",
    "spec.matchConditions[0]: \"some\" depends on spec.hostNetwork, which users choose"
)]
#[case::a_condition_that_depends_on_a_node(
    "\"true\"",
    "\"!has(object.spec.nodeName)\"",
    "spec.matchConditions[0]: \"some\" depends on spec.nodeName, which users choose"
)]
#[case::a_condition_that_depends_on_an_affinity(
    "\"true\"",
    "\"!has(object.spec.affinity)\"",
    "spec.matchConditions[0]: \"some\" depends on spec.affinity, which users choose"
)]
#[case::a_condition_that_depends_on_an_image(
    "\"true\"",
    "\"!object.spec.containers.exists(c, c.image.startsWith('debug'))\"",
    "spec.matchConditions[0]: \"some\" depends on spec.containers, which users choose"
)]
#[case::a_condition_that_depends_on_the_size_of_an_object(
    "\"true\"",
    "\"size(object) < 9\"",
    "spec.matchConditions[0]: \"some\" depends on object, which users choose"
)]
#[case::a_condition_that_depends_on_the_name_of_the_request(
    "\"true\"",
    "\"request.?name.orValue('') != 'debug'\"",
    "spec.matchConditions[0]: \"some\" depends on request.name, which users choose"
)]
#[case::a_condition_that_depends_on_a_status_which_a_manifest_may_claim(
    "\"true\"",
    "\"object.?status.?phase.orValue('') != 'Succeeded'\"",
    "spec.matchConditions[0]: \"some\" depends on status.phase, which users choose"
)]
#[case::a_condition_that_depends_on_the_name_of_a_client(
    "\"true\"",
    "\"!object.metadata.?managedFields.orValue([]).exists(m, m.manager == 'helm')\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.managedFields, which users choose"
)]
#[case::a_condition_that_depends_on_a_label_of_the_old_object(
    "\"true\"",
    "\"request.operation != 'UPDATE' || oldObject.metadata.?labels.orValue({}) == {}\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.labels, which users choose"
)]
#[case::a_condition_that_only_mentions_the_old_object(
    "\"true\"",
    "\"(object.metadata.?labels.orValue({}) == {}) == (oldObject == null)\"",
    "spec.matchConditions[0]: \"some\" depends on metadata.labels, which users choose"
)]
#[case::a_condition_that_depends_on_the_end_of_a_user_name(
    "\"true\"",
    "\"!request.userInfo.username.endsWith(':deployer')\"",
    "spec.matchConditions[0]: \"some\" depends on a part of request.userInfo.username"
)]
#[case::a_condition_of_a_library_that_is_not_here(
    "\"true\"",
    "\"authorizer.group('').resource('pods').check('get').allowed()\"",
    "spec.matchConditions[0]: \"some\" can't be evaluated here"
)]
#[case::an_exempt_namespace(
    "{placement: {}}",
    "{placement: {namespaces: [{name: kube-system, requiredNodeSelector: a=b}]}}",
    "placement.namespaces[0]: the policy's namespaceSelector leaves kube-system out"
)]
#[case::a_pattern_that_fits_an_exempt_namespace(
    "{placement: {}}",
    "{placement: {namespaces: [{name: 'kube-*', requiredNodeSelector: a=b}]}}",
    "placement.namespaces[0]: the policy's namespaceSelector leaves kube-system out, so this entry does nothing there"
)]
#[case::a_selector_that_names_an_exempt_namespace(
    "{placement: {}}",
    "{placement: {namespaces: [{namespaceSelector: 'kubernetes.io/metadata.name in (a, kube-system)', requiredNodeSelector: a=b}]}}",
    "placement.namespaces[0]: the policy's namespaceSelector leaves kube-system out"
)]
#[case::the_scheduler(
    "{placement: {}}",
    "{placement: {exemptUsernames: ['system:kube-scheduler']}}",
    "placement.exemptUsernames[0]: \"system:kube-scheduler\" creates no Pods"
)]
#[case::a_space(
    "{placement: {}}",
    "{placement: {exemptUsernames: ['ada lovelace']}}",
    "placement.exemptUsernames[0]: \"ada lovelace\" has a space"
)]
fn what_does_nothing_or_can_be_bypassed_is_a_remark(
    #[case] from: &str,
    #[case] to: &str,
    #[case] told: &str,
) -> Result<()> {
    let found = changed(from, to)?;
    assert!(says(&found["remarks"], told), "{found}");
    Ok(())
}

/// What no sample is, and opens a fence all the same.
#[rstest]
#[case::changes("request.operation == 'CREATE'", "excludes changes of Pods that wait for a node")]
#[case::changes_of_pods(
    "request.resource.resource != 'pods' || request.operation != 'UPDATE'",
    "excludes changes of Pods"
)]
#[case::daemon_sets("request.resource.resource != 'daemonsets'", "excludes CREATE of daemonsets")]
fn what_a_condition_excludes_beside_the_samples_is_a_remark(
    #[case] expression: &str,
    #[case] told: &str,
) -> Result<()> {
    let settings = "{placement: {namespaces: [{name: a, requiredNodeSelector: a=b, allowedNodeSelector: a}]}}";
    let written = String::from_utf8(run(&["policy", &file("s.yml", settings)?.to_string_lossy()])?.stdout)?;
    let found = |condition: &str| -> Result<Value> {
        let condition = format!("matchConditions:\n    - name: some\n      expression: \"{condition}\"");
        let policy = file("policy.yml", &written.replacen("matchConditions:", &condition, 1))?;
        Ok(serde_json::from_slice(&run(&["check", &policy.to_string_lossy(), "-o", "json"])?.stdout)?)
    };
    let told = format!("spec.matchConditions[0]: \"some\" {told}");
    let with = found(expression)?;
    assert!(says(&with["remarks"], &told), "{with}");
    let without = found("true")?;
    assert!(!says(&without["remarks"], "excludes"), "{without}");
    Ok(())
}

#[rstest]
#[case::a_comparison(
    "request.operation != 'UPDATE' || object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({})"
)]
#[case::the_old_object("request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp)")]
#[case::the_request("request.namespace != 'a' && request.operation in ['CREATE', 'UPDATE']")]
#[case::what_api_servers_write("object.kind != 'Pod' || object.metadata.namespace != 'a'")]
#[case::what_they_write_later("request.operation != 'UPDATE' || oldObject.?status.?phase.orValue('') != 'Failed'")]
#[case::whether_there_was_an_object("oldObject == null || request.operation != 'DELETE'")]
#[case::a_whole_user_name("request.userInfo.username != 'jane'")]
#[case::the_beginning_of_one("!request.userInfo.username.startsWith('system:serviceaccount:kube-system:')")]
fn a_condition_that_users_cannot_meet_is_not_mentioned(#[case] expression: &str) -> Result<()> {
    let found = changed("\"true\"", &format!("\"{expression}\""))?;
    assert!(!says(&found["remarks"], "which users choose"), "{found}");
    Ok(())
}

#[test]
fn a_condition_that_leaves_an_entry_s_namespace_out_is_a_remark() -> Result<()> {
    let text = AROUND
        .replace("\"true\"", "\"request.namespace != 'team-a'\"")
        .replace("{placement: {}}", "{placement: {namespaces: [{name: team-a, requiredNodeSelector: a=b}]}}");
    let output = run(&["check", &file("policy.yml", &text)?.to_string_lossy(), "-o", "json"])?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let told = "placement.namespaces[0]: the matchCondition \"some\" leaves team-a out";
    assert!(says(&found["remarks"], told), "{found}");
    Ok(())
}

#[rstest]
#[case::other_labels("key: t, operator: In, values: [a]", "namespaceSelector: 't in (b, c)'", true)]
#[case::another_name("key: kubernetes.io/metadata.name, operator: In, values: [a-1]", "name: 'b-*'", true)]
#[case::a_label_that_must_be_absent("key: t, operator: DoesNotExist", "namespaceSelector: t", true)]
#[case::a_label_of_both("key: t, operator: In, values: [a, b]", "namespaceSelector: 't in (b, c)'", false)]
#[case::a_name_that_fits("key: kubernetes.io/metadata.name, operator: In, values: [a-1]", "name: 'a-*'", false)]
#[case::the_rest("key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]", "name: '*'", false)]
fn an_entry_for_namespaces_that_are_not_covered_is_a_remark(
    #[case] covered: &str,
    #[case] entry: &str,
    #[case] is_told: bool,
) -> Result<()> {
    let text =
        AROUND.replace("key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]", covered).replace(
            "{placement: {}}",
            &format!("{{placement: {{namespaces: [{{{entry}, requiredNodeSelector: a=b}}]}}}}"),
        );
    let output = run(&["check", &file("policy.yml", &text)?.to_string_lossy(), "-o", "json"])?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let told = "placement.namespaces[0]: the policy's namespaceSelector leaves all of its namespaces out";
    assert_eq!(says(&found["remarks"], told), is_told, "{found}");
    assert!(is_told || !says(&found["remarks"], "does nothing"), "{found}");
    Ok(())
}

#[rstest]
#[case::audit("audit", &["spec.mutating: false is not kept", "spec.backgroundAudit: true is not kept"])]
#[case::verify("verify", &["spec.mutating: false is not kept"])]
#[case::one_that_enforces("tenants", &[])]
#[case::one_that_guards_nodes("nodes", &[])]
fn what_policy_does_not_keep_is_told(#[case] example: &str, #[case] told: &[&str]) -> Result<()> {
    let output = run(&["policy", &format!("examples/{example}.yml")])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().count(), told.len(), "{stderr}");
    assert!(told.iter().all(|told| stderr.contains(told)), "{stderr}");
    Ok(())
}

/// It reads YAML 1.1.
#[test]
fn a_word_that_is_a_boolean_for_kubectl_is_one() -> Result<()> {
    let toleration = "{key: dedicated, operator: Equal, value: yes, effect: NoSchedule}";
    let settings = format!("{{placement: {{namespaces: [{{name: no, defaultTolerations: [{toleration}]}}]}}}}");
    let found = changed("{placement: {}}", &settings)?;
    assert!(says(&found["mistakes"], "without quotes yes is true or false in YAML: write \"yes\""), "{found}");
    let found = changed("{placement: {}}", "{placement: {}, nodeMetadata: {protect: yes, propagate: []}}")?;
    assert!(!says(&found["mistakes"], "without quotes"), "{found}");
    Ok(())
}

#[rstest]
#[case::two_settings(
    "placement: {}\n---\nplacement: {}\n",
    "settings must stand alone in their file; found 2 documents"
)]
#[case::settings_beside_a_policy("{POLICY}---\nplacement: {}\n", "settings must stand alone in their file")]
#[case::two_policies_of_a_name("{POLICY}---{POLICY}", "metadata.name: \"p\" stands there already; this one would")]
fn what_can_t_stand_in_one_file_is_a_mistake(#[case] text: &str, #[case] told: &str) -> Result<()> {
    let found = mistakes(&text.replace("{POLICY}", AROUND))?;
    assert!(found.iter().any(|line| line.contains(told)), "{found:?}");
    Ok(())
}

#[test]
fn a_file_that_policy_can_t_read_is_named() -> Result<()> {
    let path = file("broken.yml", "placement: {}\n---\na: [\n")?;
    let output = run(&["policy", &path.to_string_lossy()])?;
    assert!(text(&output.stderr).contains("broken.yml:4:1: expected a value: "), "{output:?}");
    Ok(())
}
