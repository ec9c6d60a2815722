//! What is shipped around the module says the same as the module, and the same everywhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use cli::match_conditions::{MatchConditions, Passage};
use e2e_tests::{
    Answer, Manifests, Policy, admission_request, policy_metadata, policy_module, policy_under_test, read_document,
    read_documents,
};
use rstest::rstest;
use serde_json::{Value, json};

const SOURCE: &str = "https://github.com/node-placement/node-placement-policy";
const REGISTRY: &str = "ghcr.io/node-placement/policies/node-placement";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Compiled once, and only if a test asks.
fn policy() -> Result<&'static Policy> {
    static POLICY: LazyLock<Result<Policy>> = LazyLock::new(policy_under_test);
    POLICY.as_ref().map_err(|error| anyhow!("{error:#}"))
}

/// The requests that are somebody's job, less those that are opt-in: group, resource, operation.
fn known_rules() -> BTreeSet<Rule> {
    let both = ["CREATE", "UPDATE"];
    let core = rules_for("", &["pods", "namespaces", "replicationcontrollers", "podtemplates"], &both);
    let bindings = rules_for("", &["pods/binding", "bindings"], &["CREATE"]);
    let apps = rules_for("apps", &["deployments", "replicasets", "statefulsets", "daemonsets"], &both);
    let batch = rules_for("batch", &["jobs", "cronjobs"], &both);
    [core, bindings, apps, batch].into_iter().flatten().collect()
}

/// What an administrator has to ask for.
fn opt_in_rules() -> BTreeSet<Rule> {
    let nodes = rules_for("", &["nodes"], &["CREATE", "UPDATE"]);
    let statuses = rules_for("", &["nodes/status", "pods/status"], &["UPDATE"]);
    nodes.into_iter().chain(statuses).collect()
}

type Rule = (String, String, String);

fn rules_for(group: &str, resources: &[&str], operations: &[&str]) -> Vec<Rule> {
    let rules_of = |resource| operations.iter().map(move |operation| rule(group, resource, operation));
    resources.iter().flat_map(|resource| rules_of(resource)).collect()
}

fn rule(group: &str, resource: &str, operation: &str) -> Rule {
    (group.to_owned(), resource.to_owned(), operation.to_owned())
}

/// The rules in a list as webhooks have it, one by one.
fn rules(list: &Value) -> Result<BTreeSet<Rule>> {
    let mut rules = BTreeSet::new();
    for entry in list.as_array().context("expected a list of rules")? {
        ensure!(entry["apiVersions"] == json!(["v1"]), "expected apiVersions [v1]: {entry}");
        for group in strings(&entry["apiGroups"]) {
            for resource in strings(&entry["resources"]) {
                rules.extend(strings(&entry["operations"]).map(|operation| rule(group, resource, operation)));
            }
        }
    }
    Ok(rules)
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[test]
fn the_metadata_is_complete() -> Result<()> {
    let metadata = read_document(&policy_metadata())?;
    assert_eq!(rules(&metadata["rules"])?, known_rules());
    assert_eq!(metadata["mutating"], true);
    assert_eq!(metadata["backgroundAudit"], false);
    assert_eq!(metadata["executionMode"], "kubewarden-wapc");
    assert_eq!(metadata["hostCapabilities"], json!(["kubernetes/get_resource"]));
    let resources = json!([
        { "apiVersion": "v1", "kind": "Namespace" },
        { "apiVersion": "v1", "kind": "Node" },
        { "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass" },
    ]);
    assert_eq!(metadata["contextAwareResources"], resources);
    assert_eq!(metadata["minimumKubewardenVersion"], "1.33.0");
    let annotation = |name: &str| metadata["annotations"][name].as_str().unwrap_or_default();
    assert_eq!(annotation("io.kubewarden.policy.version"), VERSION);
    assert_eq!(annotation("io.kubewarden.policy.source"), SOURCE);
    assert_eq!(annotation("io.kubewarden.policy.ociUrl"), REGISTRY);
    assert_eq!(annotation("io.kubewarden.policy.license"), env!("CARGO_PKG_LICENSE"));
    assert_eq!(env!("CARGO_PKG_REPOSITORY"), SOURCE);
    for name in ["title", "description", "author", "url", "category", "severity"] {
        assert!(!annotation(&format!("io.kubewarden.policy.{name}")).is_empty(), "{name}");
    }
    for name in ["displayName", "resources", "keywords"] {
        assert!(!annotation(&format!("io.artifacthub.{name}")).is_empty(), "{name}");
    }
    Ok(())
}

#[test]
fn artifact_hub_is_told_the_same() -> Result<()> {
    let metadata = read_document(&policy_metadata())?;
    let package = read_document(&file("artifacthub-pkg.yml"))?;
    let annotation = |name: &str| metadata["annotations"][name].clone();
    assert_eq!(package["version"], VERSION);
    assert_eq!(package["name"], annotation("io.kubewarden.policy.title"));
    assert_eq!(package["displayName"], annotation("io.artifacthub.displayName"));
    assert_eq!(package["description"], annotation("io.kubewarden.policy.description"));
    assert_eq!(package["license"], annotation("io.kubewarden.policy.license"));
    assert_eq!(package["homeURL"], SOURCE);
    assert_eq!(package["containersImages"][0]["image"], format!("{REGISTRY}:v{VERSION}"));
    assert_eq!(package["annotations"]["kubewarden/resources"], annotation("io.artifacthub.resources"));
    assert_eq!(package["annotations"]["kubewarden/mutation"], "true");
    let embedded = |name: &str| -> Result<Value> {
        let text = package["annotations"][name].as_str().with_context(|| name.to_owned())?;
        Ok(yaml_serde::from_str(text)?)
    };
    assert_eq!(rules(&embedded("kubewarden/rules")?)?, known_rules());
    assert_eq!(embedded("kubewarden/contextAwareResources")?, metadata["contextAwareResources"]);
    assert_eq!(embedded("kubewarden/questions-ui")?, read_document(&file("questions-ui.yml"))?);
    let install = package["install"].as_str().unwrap_or_default();
    assert!(install.contains("/examples") && !install.contains("scaffold manifest"), "{install}");
    Ok(())
}

/// A question of Rancher's form.
struct Question {
    variable: String,
    question: Value,
}

/// All questions, with their variables as paths; those about an entry of a list have `[]` in theirs.
fn questions() -> Result<Vec<Question>> {
    fn collect(list: &Value, prefix: &str, found: &mut Vec<Question>) {
        for question in list.as_array().into_iter().flatten() {
            let variable = format!("{prefix}{}", question["variable"].as_str().unwrap_or_default());
            collect(&question["subquestions"], prefix, found);
            collect(&question["sequence_questions"], &format!("{variable}[]."), found);
            found.push(Question { variable, question: question.clone() });
        }
    }
    let mut found = vec![];
    collect(&read_document(&file("questions-ui.yml"))?["questions"], "", &mut found);
    Ok(found)
}

/// Every setting that fits a form, a value that is valid for it, and what the form fills in; null where that is nothing.
fn settings() -> BTreeMap<&'static str, (Value, Value)> {
    let selector = || (json!("a=b"), Value::Null);
    BTreeMap::from([
        ("placement", (json!({}), json!({}))),
        ("placement.clusterDefaultNodeSelector", (json!("a=b"), json!(""))),
        ("placement.clusterDefaultTolerations", (json!([{ "operator": "Exists" }]), json!([]))),
        ("placement.clusterDefaultTolerations[].key", (json!("a"), Value::Null)),
        ("placement.clusterDefaultTolerations[].operator", (json!("Exists"), Value::Null)),
        ("placement.clusterDefaultTolerations[].value", (json!("a"), Value::Null)),
        ("placement.clusterDefaultTolerations[].effect", (json!("NoSchedule"), Value::Null)),
        ("placement.clusterDefaultTolerations[].tolerationSeconds", (json!(1), Value::Null)),
        ("placement.namespaceAnnotations", (json!(["a"]), json!([]))),
        ("placement.namespaces", (json!([{ "name": "a" }]), json!([]))),
        ("placement.namespaces[].name", (json!("a"), Value::Null)),
        ("placement.namespaces[].namespaceSelector", selector()),
        ("placement.namespaces[].requiredNodeSelector", selector()),
        ("placement.namespaces[].defaultNodeSelector", selector()),
        ("placement.namespaces[].allowedNodeSelector", selector()),
        ("placement.namespaces[].enforcement", (json!("Warn"), Value::Null)),
        ("placement.guardedNodeLabels", (json!(["a"]), json!([]))),
        ("placement.exemptUsernames", (json!(["a"]), json!([]))),
        ("placement.onDefaultConflict", (json!("Yield"), Value::Null)),
        ("placement.onRuntimeClasses", (json!("Resolve"), Value::Null)),
        ("placement.onNodeAffinity", (json!("Ignore"), Value::Null)),
        ("placement.onNodeName", (json!("Reject"), Value::Null)),
        ("placement.onTolerationAnnotations", (json!("Honor"), Value::Null)),
        ("placement.onExtendedResources", (json!("Tolerate"), Value::Null)),
        ("placement.onWorkloads", (json!("Warn"), Value::Null)),
        ("placement.onDaemonSets", (json!("Warn"), Value::Null)),
        ("placement.onNamespaces", (json!("Warn"), Value::Null)),
        ("placement.onBindings", (json!("Verify"), Value::Null)),
        ("placement.onNodes", (json!("Reject"), Value::Null)),
        ("nodeMetadata", (json!({ "propagate": [{ "nodeLabel": "a" }] }), json!({}))),
        ("nodeMetadata.propagate", (json!([{ "nodeLabel": "a" }]), json!([]))),
        ("nodeMetadata.propagate[].nodeLabel", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].nodeAnnotation", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].nodeField", (json!("spec.a"), Value::Null)),
        ("nodeMetadata.propagate[].podAnnotation", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].podLabel", (json!("a/b"), Value::Null)),
        ("nodeMetadata.propagate[].default", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].required", (json!(true), json!(false))),
        ("nodeMetadata.propagate[].env", (json!("A"), Value::Null)),
        ("nodeMetadata.onLookupFailure", (json!("Ignore"), Value::Null)),
        ("nodeMetadata.protect", (json!(true), Value::Null)),
    ])
}

#[test]
fn the_form_asks_for_every_setting() -> Result<()> {
    let asked: BTreeSet<String> = questions()?.into_iter().map(|question| question.variable).collect();
    let known: BTreeSet<String> = settings().into_keys().map(str::to_owned).collect();
    assert_eq!(asked, known);
    Ok(())
}

#[test]
fn the_form_asks_with_the_right_types_and_defaults() -> Result<()> {
    let settings = settings();
    for Question { variable, question } in questions()? {
        let (value, default) = &settings[variable.as_str()];
        let types: &[&str] = match value {
            Value::Bool(_) => &["boolean"],
            Value::Number(_) => &["int"],
            Value::String(_) => &["string", "enum"],
            Value::Array(items) if items.iter().all(Value::is_string) => &["array["],
            Value::Array(_) => &["sequence["],
            _ => &["map["],
        };
        let found = question["type"].as_str().unwrap_or_default();
        assert!(types.contains(&found), "{variable}: {found}, expected one of {types:?}");
        assert_eq!(question["default"], *default, "{variable}");
    }
    Ok(())
}

/// The policy takes every option of every choice, and refuses any other text.
#[test]
fn the_form_offers_what_the_policy_takes() -> Result<()> {
    let policy = policy()?;
    let questions = questions()?;
    let choices: Vec<&Question> = questions.iter().filter(|question| question.question["type"] == "enum").collect();
    let is_choice = |path: &&str| path.contains(".on") || path.ends_with(".enforcement");
    let known = settings().into_keys().filter(is_choice).count();
    assert_eq!(choices.len(), known, "every setting on… is a choice, and enforcement");
    for Question { variable, question } in choices {
        let (block, field) = variable.split_once('.').context("a choice stands in a block")?;
        for option in strings(&question["options"]).chain([""]) {
            let valid = policy.validate_settings(&with_setting(block, field, json!(option)))?.valid;
            assert_eq!(valid, !option.is_empty(), "{variable}: {option:?}");
        }
        let refused = policy.validate_settings(&with_setting(block, field, json!("")))?.message.unwrap_or_default();
        let options: Vec<&str> = strings(&question["options"]).collect();
        assert!(refused.ends_with(&format!("expected one of {}", options.join(", "))), "{variable}: {refused}");
    }
    Ok(())
}

/// Values of the types that the form asks for make valid settings. What is left empty is dropped by Rancher, so a block
/// that nobody touched is not there.
#[test]
fn what_the_form_fills_in_is_valid() -> Result<()> {
    let policy = policy()?;
    let empties = [json!(null), json!(""), json!([]), json!({})];
    for (variable, (value, default)) in settings().into_iter().filter(|(variable, _)| !variable.contains("[]")) {
        let Some((block, field)) = variable.split_once('.') else { continue };
        assert!(empties.contains(&default), "{variable}: {default}");
        let written = with_setting(block, field, value);
        let answer = policy.validate_settings(&written)?;
        assert!(answer.valid, "{written}: {:?}", answer.message);
    }
    Ok(())
}

/// Settings with this one, and with what its block can't be without.
fn with_setting(block: &str, field: &str, value: Value) -> Value {
    let mut settings = match block {
        "nodeMetadata" => json!({ block: { "propagate": [{ "nodeLabel": "a" }] } }),
        "placement" if field == "guardedNodeLabels" => json!({ block: { "onNodes": "Reject" } }),
        // What there is to guard, for onNodes.
        "placement" => json!({ block: { "clusterDefaultNodeSelector": "a" } }),
        _ => json!({ block: {} }),
    };
    match field.strip_prefix("namespaces[].") {
        Some(field) => settings[block]["namespaces"] = json!([{ "name": "a", field: value }]),
        None => settings[block][field] = value,
    }
    settings
}

#[test]
fn every_example_is_one_that_the_policy_takes() -> Result<()> {
    let policy = policy()?;
    let metadata = read_document(&policy_metadata())?;
    let mut count = 0;
    for (name, spec) in deployments()? {
        let answer = policy.validate_settings(&spec["settings"])?;
        assert!(answer.valid, "{name}: {:?}", answer.message);
        let rules = rules(&spec["rules"]).with_context(|| name.clone())?;
        assert!(rules.is_subset(&known_rules().union(&opt_in_rules()).cloned().collect()), "{name}: {rules:?}");
        assert_eq!(spec["module"], format!("registry://{REGISTRY}:v{VERSION}"), "{name}");
        let declared = metadata["contextAwareResources"].as_array().context("a list")?;
        let looked_up = spec["contextAwareResources"].as_array().with_context(|| name.clone())?;
        assert!(looked_up.iter().all(|resource| declared.contains(resource)), "{name}");
        // What an administrator must have decided.
        for field in ["mutating", "backgroundAudit", "failurePolicy", "timeoutSeconds"] {
            assert!(spec.get(field).is_some(), "{name}: {field} is missing");
        }
        let nodes_only = rules.is_subset(&opt_in_rules());
        assert_ne!(
            spec.get("namespaceSelector").is_some(),
            nodes_only,
            "{name}: Nodes have no namespace, all else does"
        );
        count += 1;
    }
    assert!(count > 10, "only {count} examples");
    Ok(())
}

/// The audit scanner counts a policy that has rules with subresources as errored.
#[test]
fn only_examples_without_subresources_are_audited() -> Result<()> {
    for (name, spec) in deployments()? {
        let subresources = rules(&spec["rules"])?.iter().any(|(_, resource, _)| resource.contains('/'));
        let audited = spec["backgroundAudit"] != false;
        assert!(!(subresources && audited), "{name}");
    }
    Ok(())
}

/// A rule for one of the two ways to bind a Pod never matches the other.
#[test]
fn examples_list_both_ways_to_bind_a_pod() -> Result<()> {
    for (name, spec) in deployments()? {
        let rules = rules(&spec["rules"])?;
        let ways = ["pods/binding", "bindings"].map(|resource| rules.contains(&rule("", resource, "CREATE")));
        assert_eq!(ways[0], ways[1], "{name}");
    }
    Ok(())
}

/// Whether an API server would send the request to the policy, as far as its `matchConditions` decide. An expression that
/// can't be evaluated is an error: an API server takes it for a failure, and does what `failurePolicy` says.
fn reaches(spec: &Value, request: &Value) -> Result<bool> {
    match MatchConditions::read(&spec["matchConditions"]).evaluate(request) {
        Passage::Passes => Ok(true),
        Passage::KeptAway(_) => Ok(false),
        Passage::Unknown(name, reason) => bail!("{name}: {reason}"),
    }
}

/// An update of an object that is being deleted, as far as conditions look at it.
fn terminating(resource: &str) -> Value {
    let metadata = json!({
        "name": "web",
        "annotations": { "topology.kubernetes.io/zone": "eu-1a" },
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    });
    let mut old_metadata = metadata.clone();
    old_metadata["finalizers"] = json!(["example.com/hold"]);
    json!({
        "operation": "UPDATE",
        "resource": { "resource": resource },
        "userInfo": { "username": "ada", "groups": ["system:authenticated"] },
        "object": { "metadata": metadata, "spec": {} },
        "oldObject": { "metadata": old_metadata, "spec": {} },
    })
}

/// What is being deleted must be able to go, whatever the rules say by now: with a rule for updates of everything, too.
#[test]
fn a_finalizer_can_always_be_removed() -> Result<()> {
    for (name, spec) in deployments()? {
        for (_, resource, _) in known_rules().union(&opt_in_rules()).filter(|(_, _, operation)| operation == "UPDATE") {
            assert!(!reaches(&spec, &terminating(resource))?, "{name}: {resource}");
        }
    }
    Ok(())
}

/// An API server leaves it to the sender what a Binding, or the new object of an update, says of itself when webhooks see it.
#[rstest]
#[case::a_new_pod("pods", "CREATE", json!({ "spec": {} }), Value::Null)]
#[case::a_binding("pods", "CREATE", json!({ "target": { "name": "node-a" } }), Value::Null)]
#[case::a_binding_on_the_older_endpoint("bindings", "CREATE", json!({ "target": { "name": "node-a" } }), Value::Null)]
#[case::a_pod_that_waits("pods", "UPDATE", json!({ "spec": {} }), json!({ "metadata": {}, "spec": {} }))]
#[case::a_pod_that_claims_to_be_bound("pods", "UPDATE", json!({ "spec": { "nodeName": "node-a" } }), json!({ "metadata": {}, "spec": {} }))]
fn nobody_passes_by_a_claim(
    #[case] resource: &str,
    #[case] operation: &str,
    #[case] mut object: Value,
    #[case] old_object: Value,
) -> Result<()> {
    object["metadata"] = json!({ "name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let request = json!({
        "operation": operation, "resource": { "resource": resource }, "object": object, "oldObject": old_object,
    });
    for (name, spec) in deployments()? {
        if rules(&spec["rules"])?.contains(&rule("", "pods", "CREATE")) {
            assert!(reaches(&spec, &request)?, "{name}");
        }
    }
    Ok(())
}

/// A Pod runs on for as long as its grace period says.
#[test]
fn what_is_protected_is_so_until_the_pod_ends() -> Result<()> {
    let mut count = 0;
    for (name, spec) in deployments()? {
        let updates = rules(&spec["rules"])?.contains(&rule("", "pods", "UPDATE"));
        if !updates || spec["settings"]["nodeMetadata"]["protect"] != true {
            continue;
        }
        for (field, target) in [("annotations", "podAnnotation"), ("labels", "podLabel")] {
            let mut entries = spec["settings"]["nodeMetadata"]["propagate"].as_array().into_iter().flatten();
            if entries.any(|entry| entry[target].is_string()) {
                for value in [json!({ "example.com/forged": "x" }), json!({}), Value::Null] {
                    let mut request = terminating("pods");
                    request["oldObject"]["metadata"][field] = json!({ "example.com/true": "x" });
                    request["object"]["metadata"][field] = value;
                    if request["object"]["metadata"][field].is_null() {
                        request["object"]["metadata"].as_object_mut().context("an object")?.remove(field);
                    }
                    assert!(reaches(&spec, &request)?, "{name}: {field}");
                    count += 1;
                }
            }
        }
    }
    ensure!(count > 0, "no example protects anything");
    Ok(())
}

/// A Pod's annotations must leave room for what its Binding brings, from its creation until it is bound.
#[test]
fn examples_with_node_metadata_see_every_pod_before_it_is_bound() -> Result<()> {
    let pod = json!({ "metadata": { "name": "web" }, "spec": {} });
    let mut count = 0;
    for (name, spec) in deployments()?.iter().filter(|(_, spec)| spec["settings"]["nodeMetadata"].is_object()) {
        let rules = rules(&spec["rules"])?;
        assert!(rules.contains(&rule("", "pods", "CREATE")), "{name}");
        for (operation, old_object) in [("CREATE", Value::Null), ("UPDATE", pod.clone())] {
            let request = json!({
                "operation": operation, "resource": { "resource": "pods" }, "object": pod, "oldObject": old_object,
            });
            assert!(reaches(spec, &request)?, "{name}: {operation}");
        }
        count += 1;
    }
    ensure!(count > 5, "only {count} examples have node metadata");
    Ok(())
}

/// A workload that selects its Pods by a label that a Binding brings makes Pods for ever: whatever an example is for, it
/// must see them, owned ones and those that claim to be deleted too.
#[test]
fn examples_with_a_pod_label_see_every_workload_that_selects() -> Result<()> {
    let metadata = json!({
        "name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [{ "controller": true }],
    });
    let old_object = json!({ "metadata": { "name": "web" }, "spec": {} });
    let mut count = 0;
    for (name, spec) in deployments()? {
        let entries = spec["settings"]["nodeMetadata"]["propagate"].as_array();
        if !entries.into_iter().flatten().any(|entry| entry["podLabel"].is_string()) {
            continue;
        }
        let sent = rules(&spec["rules"])?;
        for (group, resources, operation) in [
            ("apps", vec!["deployments", "replicasets", "statefulsets", "daemonsets"], "CREATE"),
            ("batch", vec!["jobs", "cronjobs"], "CREATE"),
            ("", vec!["replicationcontrollers"], "CREATE"),
            ("", vec!["replicationcontrollers"], "UPDATE"),
        ] {
            for resource in resources {
                assert!(sent.contains(&rule(group, resource, operation)), "{name}: {operation} of {resource}");
                let request = json!({
                    "operation": operation, "resource": { "resource": resource },
                    "object": { "metadata": metadata, "spec": {} },
                    "oldObject": if operation == "UPDATE" { old_object.clone() } else { Value::Null },
                });
                assert!(reaches(&spec, &request)?, "{name}: {operation} of {resource}");
            }
        }
        count += 1;
    }
    ensure!(count > 1, "only {count} examples have a podLabel");
    Ok(())
}

/// A kubelet sends its heartbeats with the labels unchanged.
#[rstest]
#[case::a_heartbeat("system:nodes", json!({ "pool": "a" }), json!({ "pool": "a" }), false)]
#[case::a_heartbeat_of_a_node_without_labels("system:nodes", Value::Null, Value::Null, false)]
#[case::a_label_changes("system:nodes", json!({ "pool": "a" }), json!({ "pool": "b" }), true)]
#[case::a_label_is_added("system:nodes", Value::Null, json!({ "pool": "b" }), true)]
#[case::a_label_is_removed("system:nodes", json!({ "pool": "a" }), Value::Null, true)]
#[case::an_administrator_changes_a_label("system:masters", json!({ "pool": "a" }), json!({ "pool": "b" }), false)]
fn kubelets_are_asked_about_labels_and_not_about_heartbeats(
    #[case] group: &str,
    #[case] old: Value,
    #[case] new: Value,
    #[case] asked: bool,
) -> Result<()> {
    let node = |labels: Value| match labels {
        Value::Null => json!({ "metadata": { "name": "node-a" } }),
        labels => json!({ "metadata": { "name": "node-a", "labels": labels } }),
    };
    let request = json!({
        "operation": "UPDATE", "resource": { "resource": "nodes" }, "userInfo": { "groups": [group] },
        "object": node(new), "oldObject": node(old),
    });
    assert_eq!(reaches(&deployment("nodes.yml")?, &request)?, asked);
    Ok(())
}

/// Filling in is about bound Pods, and a toleration can be added to a Pod for as long as it lives.
#[test]
fn bound_pods_are_seen_where_a_feature_is_about_them() -> Result<()> {
    let bound = json!({ "metadata": { "name": "web" }, "spec": { "nodeName": "node-a" } });
    let mut tolerating = bound.clone();
    tolerating["spec"]["tolerations"] = json!([{ "operator": "Exists" }]);
    let update = |object: &Value| {
        json!({
            "operation": "UPDATE", "resource": { "resource": "pods" }, "object": object, "oldObject": bound,
        })
    };
    let (mut filling_in, mut judging) = (0, 0);
    for (name, spec) in deployments()?.into_iter().filter(|(_, spec)| spec["mutating"] == true) {
        let settings = &spec["settings"];
        let entries = settings["nodeMetadata"]["propagate"].as_array().into_iter().flatten();
        if entries.clone().any(|entry| entry["default"].is_string() || entry["required"] == true) {
            assert!(reaches(&spec, &update(&bound))?, "{name}: filling in");
            filling_in += 1;
        }
        let text = settings.to_string();
        if ["allowedTolerations", "forbiddenTolerations", "podTolerationRestrictionPluginConfig"]
            .iter()
            .any(|setting| text.contains(setting))
        {
            assert!(reaches(&spec, &update(&tolerating))?, "{name}: tolerations");
            judging += 1;
        }
    }
    ensure!(filling_in > 3 && judging > 3, "{filling_in} examples fill in, {judging} judge tolerations");
    Ok(())
}

#[test]
fn conditions_of_one_name_say_the_same() -> Result<()> {
    let mut expressions = BTreeMap::new();
    for (name, spec) in deployments()? {
        for condition in spec["matchConditions"].as_array().with_context(|| name.clone())? {
            let known =
                expressions.entry(condition["name"].to_string()).or_insert_with(|| condition["expression"].clone());
            assert_eq!(*known, condition["expression"], "{name}");
        }
    }
    Ok(())
}

/// What one of them judges, the other must have written, or guard.
#[test]
fn deployments_for_the_same_cluster_have_the_same_settings() -> Result<()> {
    let mut guard = deployment("nodes.yml")?["settings"].take();
    for own in ["onNodes", "guardedNodeLabels"] {
        guard["placement"].as_object_mut().context("a block")?.remove(own).context("this is what it is for")?;
    }
    assert_eq!(guard, deployment("placement.yml")?["settings"]);
    assert_eq!(deployment("verify.yml")?["settings"], deployment("both.yml")?["settings"]);
    Ok(())
}

/// A demonstration says in its comments what becomes of its objects, and why.
#[rstest]
#[case::a_deployment_that_fits("placement.yml", "demo/deployments.yml", "web", "")]
#[case::a_deployment_beyond_the_whitelist("placement.yml", "demo/deployments.yml", "greedy", r#"asks for "pool=gold""#)]
#[case::a_deployment_to_which_the_default_yields("placement.yml", "demo/deployments.yml", "nightly", "")]
#[case::a_daemonset_that_is_completed("placement.yml", "demo/daemonset.yml", "agent", "")]
#[case::the_teams_own("dedicated-nodes.yml", "demo/dedicated-nodes.yml", "web", "")]
#[case::by_label("dedicated-nodes.yml", "demo/dedicated-nodes.yml", "by-label", "namespace node label selector")]
#[case::by_toleration("dedicated-nodes.yml", "demo/dedicated-nodes.yml", "by-toleration", "pod tolerations")]
#[case::by_any_toleration("dedicated-nodes.yml", "demo/dedicated-nodes.yml", "by-any-toleration", "pod tolerations")]
#[case::by_name("dedicated-nodes.yml", "demo/dedicated-nodes.yml", "by-name", r#"names node "worker-7""#)]
fn demonstrations_show_what_they_say(
    #[case] policy: &str,
    #[case] demo: &str,
    #[case] name: &str,
    #[case] refused_for: &str,
) -> Result<()> {
    let answer = ask_about(&demonstrated(demo, name)?, &deployment(policy)?["settings"])?;
    assert_eq!(answer.accepted, refused_for.is_empty(), "{:?}", answer.message);
    let message = answer.message.unwrap_or_default();
    assert!(message.contains(refused_for), "{message}");
    Ok(())
}

/// What the demonstration is about: the team's Pods get to the team's nodes without asking.
#[test]
fn the_teams_pods_get_the_selector_and_the_toleration() -> Result<()> {
    let pod = pod_of(&demonstrated("demo/dedicated-nodes.yml", "web")?);
    let answer = ask_about(&pod, &deployment("dedicated-nodes.yml")?["settings"])?;
    let changed = answer.mutated_object.with_context(|| format!("unchanged: {:?}", answer.message))?;
    assert_eq!(changed["spec"]["nodeSelector"], json!({ "node-restriction.kubernetes.io/team": "blue" }));
    let toleration = json!({ "key": "team", "operator": "Equal", "value": "blue", "effect": "NoSchedule" });
    assert_eq!(changed["spec"]["tolerations"], json!([toleration]));
    Ok(())
}

/// The variables come first, so that the container's own, and its arguments, can name them.
#[test]
fn the_demonstration_of_variables_has_them() -> Result<()> {
    let pod = pod_of(&demonstrated("demo/env.yml", "from-a-chart")?);
    let answer = ask_about(&pod, &deployment("metadata/env.yml")?["settings"])?;
    let changed = answer.mutated_object.with_context(|| format!("unchanged: {:?}", answer.message))?;
    let variables = changed["spec"]["containers"][0]["env"].as_array().context("a list")?.clone();
    let names: Vec<&str> = variables.iter().filter_map(|variable| variable["name"].as_str()).collect();
    assert_eq!(names, ["ZONE", "RACK", "PROVIDER_ID", "GREETING"]);
    Ok(())
}

/// The object of that name, of those that are no Namespaces.
fn demonstrated(demo: &str, name: &str) -> Result<Value> {
    let mut objects = read_documents(&file("examples").join(demo))?.into_iter();
    objects
        .find(|object| object["metadata"]["name"] == name && object["kind"] != "Namespace")
        .with_context(|| format!("{demo} has no {name}"))
}

/// A Pod as the controllers make it from a template.
fn pod_of(workload: &Value) -> Value {
    let mut pod = workload["spec"]["template"].clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["generateName"] = json!(format!("{}-", workload["metadata"]["name"].as_str().unwrap_or_default()));
    pod["metadata"]["namespace"] = workload["metadata"]["namespace"].clone();
    pod
}

/// Asks about an object as if it were created now, in a cluster with the Namespaces of all demonstrations and one node of
/// the team's.
fn ask_about(object: &Value, settings: &Value) -> Result<Answer> {
    let api_version = object["apiVersion"].as_str().context("an apiVersion")?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = json!({ "group": group, "version": version, "kind": object["kind"] });
    let resource = format!("{}s", object["kind"].as_str().context("a kind")?.to_lowercase());
    let resource = json!({ "group": group, "version": version, "resource": resource });
    let request = json!({
        "uid": "1", "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
        "namespace": object["metadata"]["namespace"], "operation": "CREATE", "dryRun": false, "oldObject": null,
        "userInfo": { "username": "ada", "groups": ["system:authenticated"] }, "object": object,
    });
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": "worker-7", "labels": { "node-restriction.kubernetes.io/team": "blue" } },
        "spec": { "taints": [{ "key": "team", "value": "blue", "effect": "NoSchedule" }] },
    });
    let namespaces =
        examples()?.into_iter().map(|(_, example)| example).filter(|example| example["kind"] == "Namespace");
    let cluster: Manifests = namespaces.chain([node]).collect();
    Ok(policy()?.validate(&request, settings, cluster)?.answer)
}

/// The in-tree plugin judges what the cluster adds to every Pod, too.
#[rstest]
fn the_toleration_plugins_whitelist_takes_pods_as_an_api_server_sends_them(
    #[values("pod-create", "pod-create-by-job", "pod-create-by-replicaset", "pod-create-by-statefulset")] name: &str,
) -> Result<()> {
    let settings = deployment("toleration-plugin-config.yml")?["settings"].take();
    let review = read_document(&file("e2e-tests/fixtures/requests").join(format!("{name}.json")))?;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team-a" } });
    let cluster: Manifests = [namespace].into_iter().collect();
    let answer = policy()?.validate(admission_request(&review), &settings, cluster)?.answer;
    assert!(answer.accepted, "{:?}", answer.message);
    let recipes = fs::read_to_string(file("docs/recipes.md"))?;
    let blocks: Vec<Value> =
        yaml_blocks(&recipes).iter().map(|block| yaml_serde::from_str(block)).collect::<Result<_, _>>()?;
    assert!(blocks.contains(&settings), "docs/recipes.md has other settings than the example");
    Ok(())
}

/// The settings in the documentation are valid as they stand there.
#[rstest]
#[case("docs/recipes.md", 12)]
#[case("docs/operating.md", 0)]
#[case("docs/clouds.md", 3)]
fn settings_in_the_documentation_are_valid(#[case] document: &str, #[case] least: usize) -> Result<()> {
    let policy = policy()?;
    let text = fs::read_to_string(file(document))?;
    let mut count = 0;
    for block in yaml_blocks(&text) {
        let written: Value = yaml_serde::from_str(&block).with_context(|| block.clone())?;
        let blocks =
            ["placement", "podNodeSelectorPluginConfig", "podTolerationRestrictionPluginConfig", "nodeMetadata"];
        if blocks.iter().any(|block| written.get(block).is_some()) {
            let answer = policy.validate_settings(&written)?;
            assert!(answer.valid, "{:?} of\n{block}", answer.message);
            count += 1;
        }
    }
    ensure!(count >= least, "only {count} settings");
    Ok(())
}

/// What stands between fences of YAML, without the indentation of the list that it stands in.
fn yaml_blocks(text: &str) -> Vec<String> {
    let mut blocks = vec![];
    let mut lines = text.lines();
    while let Some(fence) = lines.find(|line| line.trim_start() == "```yaml") {
        let indentation = fence.len() - fence.trim_start().len();
        let block = lines.by_ref().take_while(|line| line.trim_start() != "```");
        blocks.push(block.map(|line| line.get(indentation..).unwrap_or_default()).collect::<Vec<_>>().join("\n"));
    }
    blocks
}

/// The alerts ask for metrics and labels that the documentation names, of every ClusterAdmissionPolicy.
#[test]
fn the_alerts_ask_for_what_is_counted() -> Result<()> {
    let documentation = fs::read_to_string(file("docs/operating.md"))?;
    let alerts = read_document(&file("examples/alerts.yml"))?;
    let rules = alerts["spec"]["groups"][0]["rules"].as_array().context("a list of rules")?;
    assert_eq!(rules.len(), 3);
    for rule in rules {
        let expression = rule["expr"].as_str().context("an expression")?;
        let words = expression.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        for metric in words.filter(|word| ["kubewarden_", "apiserver_"].iter().any(|by| word.starts_with(by))) {
            assert!(documentation.contains(&format!("`{}`", metric.trim_end_matches("_bucket"))), "{metric}");
        }
        let (_, selectors) = expression.split_once('{').context("selectors")?;
        let (selectors, _) = selectors.split_once('}').context("selectors")?;
        for (label, _) in
            selectors.split(", ").flat_map(|part| part.split(",\n")).filter_map(|part| part.split_once('='))
        {
            assert!(documentation.contains(&format!("`{}`", label.trim())), "{label}");
        }
        // Whatever they are called: one that a list forgets would be watched by nobody.
        assert!(expression.contains(r#"name=~"clusterwide-.*"#), "{expression}");
    }
    Ok(())
}

/// An API server takes an expression that can't be evaluated for a failure of the webhook.
#[test]
fn conditions_can_be_evaluated_for_whatever_comes() -> Result<()> {
    let mut requests = vec![
        json!({
            "operation": "DELETE", "resource": { "resource": "pods" }, "userInfo": {},
            "object": null, "oldObject": { "metadata": {} },
        }),
        json!({
            "operation": "CONNECT", "resource": { "resource": "pods" }, "userInfo": {},
            "object": {}, "oldObject": null,
        }),
    ];
    for entry in fs::read_dir(file("e2e-tests/fixtures/requests"))? {
        requests.push(admission_request(&read_document(&entry?.path())?).clone());
    }
    for (name, spec) in deployments()? {
        let guards_nodes = rules(&spec["rules"])?.is_subset(&opt_in_rules());
        for request in &requests {
            let sent = reaches(&spec, request).with_context(|| format!("{name}: {request}"))?;
            assert!(sent || guards_nodes || request["operation"] == "UPDATE", "{name}: {request}");
        }
    }
    ensure!(requests.len() > 20, "only {} requests", requests.len());
    Ok(())
}

/// Kubernetes sends a Namespace's own name as that of its namespace.
#[rstest]
#[case("openshift-dns", false)]
#[case("openshift", true)]
#[case("team-a", true)]
fn the_condition_for_openshift_spares_its_own_namespaces(#[case] namespace: &str, #[case] sent: bool) -> Result<()> {
    let text = fs::read_to_string(file("docs/clouds.md"))?;
    let condition = yaml_blocks(&text).into_iter().find(|block| block.starts_with("matchConditions"));
    let spec: Value = yaml_serde::from_str(&condition.context("docs/clouds.md has a condition")?)?;
    assert_eq!(reaches(&spec, &json!({ "namespace": namespace, "object": {} }))?, sent);
    Ok(())
}

/// With `Ignore` a tenant gets past a healthy policy at will.
#[test]
fn nothing_that_must_hold_has_failure_policy_ignore() -> Result<()> {
    let mut ignoring = 0;
    for (name, spec) in deployments()? {
        if spec["failurePolicy"] == "Fail" {
            continue;
        }
        let settings = &spec["settings"];
        let places = settings.as_object().context("expected settings")?.keys().any(|block| block != "nodeMetadata");
        assert!(!places || spec["mode"] == "monitor", "{name}: a fence");
        assert!(settings["nodeMetadata"]["protect"] != true, "{name}: protect");
        let mut entries = settings["nodeMetadata"]["propagate"].as_array().into_iter().flatten();
        assert!(entries.all(|entry| entry["required"] != true), "{name}: required");
        ignoring += 1;
    }
    ensure!(ignoring > 0, "no example has Ignore");
    Ok(())
}

/// Who applies settings of an imagined cluster by mistake rejects nothing. What comes after another policy, or a plugin,
/// goes on where that stopped.
#[test]
fn examples_that_place_start_in_monitor_mode() -> Result<()> {
    let placing = deployments()?.into_iter().filter(|(_, spec)| spec["settings"]["placement"].is_object());
    for (name, spec) in placing.filter(|(_, spec)| spec["mutating"] == true) {
        assert_eq!(spec["mode"], "monitor", "{name}");
    }
    Ok(())
}

/// Where an API server gives up first, `failurePolicy` answers in place of the policy-server.
#[test]
fn api_servers_wait_longer_than_an_evaluation_may_take() -> Result<()> {
    for (name, spec) in deployments()? {
        let evaluation = spec["timeoutEvalSeconds"].as_u64().unwrap_or(2);
        assert!(spec["timeoutSeconds"].as_u64() > Some(evaluation), "{name}");
    }
    Ok(())
}

#[test]
fn the_policy_server_may_get_what_is_looked_up_and_nothing_more() -> Result<()> {
    let documents = read_documents(&file("examples/rbac.yml"))?;
    let roles: Vec<&Value> = documents.iter().filter(|document| !document["rules"].is_null()).collect();
    assert_eq!(roles.len(), 1);
    let expected = json!([
        { "apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get"] },
        { "apiGroups": ["node.k8s.io"], "resources": ["runtimeclasses"], "verbs": ["get"] },
    ]);
    assert_eq!(roles[0]["rules"], expected);
    Ok(())
}

#[test]
fn the_index_of_examples_names_every_file() -> Result<()> {
    let index = fs::read_to_string(file("examples/README.md"))?;
    for (path, _) in examples()? {
        let name = path.strip_prefix(file("examples"))?.display().to_string();
        assert!(index.contains(&format!("({name})")), "{name}");
    }
    Ok(())
}

/// Every file or heading that the documentation points to is there.
#[rstest]
#[case("README.md")]
#[case("CONTRIBUTING.md")]
#[case("SECURITY.md")]
#[case("docs/settings.md")]
#[case("docs/operating.md")]
#[case("docs/recipes.md")]
#[case("docs/threat-model.md")]
#[case("docs/troubleshooting.md")]
#[case("docs/policy-server.md")]
#[case("docs/preview.md")]
#[case("docs/clouds.md")]
#[case("fuzz/README.md")]
#[case("docs/performance.md")]
#[case("examples/README.md")]
fn links_lead_somewhere(#[case] document: &str) -> Result<()> {
    let path = file(document);
    let text = fs::read_to_string(&path)?;
    for (link, _) in links(&text).filter(|(link, _)| !link.starts_with("https://")) {
        let (target, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = match target {
            "" => path.clone(),
            _ => path.parent().context("a document stands in a folder")?.join(target),
        };
        ensure!(target.exists(), "{document}: {link}");
        if !heading.is_empty() {
            let text = fs::read_to_string(&target)?;
            ensure!(text.lines().any(|line| anchor(line).as_deref() == Some(heading)), "{document}: {link}");
        }
    }
    Ok(())
}

/// The links of a document, each with its title, which may be empty.
fn links(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    links.map(|link| link.split_once(' ').map_or((link, ""), |(link, title)| (link, title.trim_matches('"'))))
}

/// The anchor that GitHub gives a heading.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_'));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// The title of a link to a file of tests names functions, or titles where cases are data: YAML in either style, or rows
/// of a table.
#[test]
fn every_test_that_the_threat_model_names_is_there() -> Result<()> {
    let text = fs::read_to_string(file("docs/threat-model.md"))?;
    let titled = links(&text).filter(|(_, title)| !title.is_empty());
    let mut count = 0;
    for (path, name) in titled.flat_map(|(path, title)| title.split("; ").map(move |name| (path, name))) {
        let tests = fs::read_to_string(file("docs").join(path)).with_context(|| path.to_owned())?;
        let spellings = [
            format!("fn {name}("),
            format!("case::{name}("),
            format!("title: {name}\n"),
            format!("title: {name}, "),
            format!("{name}\t"),
            format!("name: {name}\n"),
        ];
        ensure!(spellings.iter().any(|spelling| tests.contains(spelling)), "{path} has no {name}");
        count += 1;
    }
    ensure!(count > 100, "only {count} tests are named");
    Ok(())
}

/// Every setting is explained in the reference.
#[test]
fn every_setting_is_documented() -> Result<()> {
    let reference = fs::read_to_string(file("docs/settings.md"))?;
    let mut names = BTreeSet::from(["podNodeSelectorPluginConfig"]);
    names.extend(settings().keys().filter_map(|path| path.rsplit('.').next()));
    for name in names {
        assert!(reference.contains(&format!("`{name}`")) || reference.contains(&format!("# {name}")), "{name}");
    }
    Ok(())
}

#[test]
fn the_module_is_small() -> Result<()> {
    let size = fs::metadata(policy_module()?)?.len();
    ensure!(size <= 680 * 1024, "policy.wasm has {size} bytes");
    Ok(())
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The `spec` of every example that deploys the policy, with the name of its file.
fn deployments() -> Result<Vec<(String, Value)>> {
    let policies = examples()?.into_iter().filter(|(_, example)| example["kind"] == "ClusterAdmissionPolicy");
    Ok(policies.map(|(path, mut example)| (path.display().to_string(), example["spec"].take())).collect())
}

/// The `spec` of one of them.
fn deployment(name: &str) -> Result<Value> {
    Ok(read_document(&file("examples").join(name))?["spec"].take())
}

/// Every object of every example.
fn examples() -> Result<Vec<(PathBuf, Value)>> {
    fn collect(folder: &Path, found: &mut Vec<(PathBuf, Value)>) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                collect(&path, found)?;
            } else if path.extension().is_some_and(|extension| extension == "yml") {
                found.extend(read_documents(&path)?.into_iter().map(|document| (path.clone(), document)));
            }
        }
        Ok(())
    }
    let mut found = vec![];
    collect(&file("examples"), &mut found)?;
    Ok(found)
}
