//! The conditions of the examples keep away what the policy has nothing to do with, and nothing else.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use cli::{
    input::documents::yaml_documents,
    policies::{overrides::Overrides, policy_file::policy_file},
    webhook::{
        conditions::{Condition, Passage, evaluate},
        request::Request,
    },
};
use e2e_tests::{admission_request, read_document};
use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    documentation::yaml_of,
    examples::{deployment, deployments},
    file,
    rules::{known_rules, opt_in_rules, rule, rules},
};

/// Whether an API server would send the request to the policy, as far as its `matchConditions` decide. An expression that
/// can't be evaluated is an error: an API server takes it for a failure, and does what `failurePolicy` says.
fn reaches(spec: &Value, request: &Value) -> Result<bool> {
    let conditions = Option::<Vec<Condition>>::deserialize(&spec["matchConditions"])?.unwrap_or_default();
    match evaluate(&conditions, &Request::recorded(request.clone())) {
        Passage::Passes => Ok(true),
        Passage::KeptAway(_) => Ok(false),
        Passage::Fails(name, reason) | Passage::Unknown(name, reason) => bail!("{name}: {reason}"),
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
/// must see them, owned ones and those that claim to be deleted too. Of updates, those that change the selector.
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
                    "object": { "metadata": metadata, "spec": { "selector": { "app": "web" } } },
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

/// Of each resource, the updates that matter and those that do not: what an outage stops is no more than it must.
#[rstest]
#[case::a_deployment_is_scaled("apps", "deployments", "/spec/replicas", json!(0), false)]
#[case::a_deployment_is_paused("apps", "deployments", "/spec/paused", json!(true), false)]
#[case::a_deployment_is_labelled("apps", "deployments", "/metadata/labels/team", json!("a"), false)]
#[case::a_deployment_is_annotated("apps", "deployments", "/metadata/annotations/team", json!("a"), false)]
#[case::a_deployment_gets_another_image("apps", "deployments", "/spec/template/spec/containers/0/image", json!("new"), true)]
#[case::a_deployment_gets_a_node_selector("apps", "deployments", "/spec/template/spec/nodeSelector", json!({ "a": "b" }), true)]
#[case::a_deployment_is_restarted("apps", "deployments", "/spec/template/metadata/annotations/restartedAt", json!("now"), true)]
#[case::a_replica_set_is_scaled("apps", "replicasets", "/spec/replicas", json!(3), false)]
#[case::a_replica_sets_template("apps", "replicasets", "/spec/template/spec/nodeName", json!("node-a"), true)]
#[case::a_stateful_set_is_scaled("apps", "statefulsets", "/spec/replicas", json!(3), false)]
#[case::a_stateful_sets_template("apps", "statefulsets", "/spec/template/spec/nodeName", json!("node-a"), true)]
#[case::a_daemon_set_is_annotated("apps", "daemonsets", "/metadata/annotations/team", json!("a"), false)]
#[case::a_daemon_sets_template("apps", "daemonsets", "/spec/template/spec/nodeName", json!("node-a"), true)]
#[case::a_job_is_suspended("batch", "jobs", "/spec/suspend", json!(true), false)]
#[case::a_suspended_jobs_template("batch", "jobs", "/spec/template/spec/nodeSelector", json!({ "a": "b" }), true)]
#[case::a_cron_job_is_suspended("batch", "cronjobs", "/spec/suspend", json!(true), false)]
#[case::a_cron_jobs_schedule("batch", "cronjobs", "/spec/schedule", json!("@daily"), false)]
#[case::a_cron_jobs_template("batch", "cronjobs", "/spec/jobTemplate/spec/template/spec/nodeName", json!("node-a"), true)]
#[case::a_pod_template_is_labelled("", "podtemplates", "/metadata/labels/team", json!("a"), false)]
#[case::a_pod_templates_template("", "podtemplates", "/template/spec/nodeName", json!("node-a"), true)]
#[case::a_replication_controller_is_scaled("", "replicationcontrollers", "/spec/replicas", json!(3), false)]
#[case::a_replication_controllers_template("", "replicationcontrollers", "/spec/template/spec/nodeName", json!("node-a"), true)]
#[case::a_namespace_is_annotated("", "namespaces", "/metadata/annotations/team", json!("a"), true)]
#[case::a_namespace_is_labelled("", "namespaces", "/metadata/labels/team", json!("a"), true)]
#[case::a_namespaces_finalizers("", "namespaces", "/metadata/finalizers", json!(["example.com/hold"]), false)]
#[case::a_namespaces_managed_fields("", "namespaces", "/metadata/managedFields", json!([{ "manager": "a" }]), false)]
#[case::a_pod_waits("", "pods", "/spec/nodeSelector", json!({ "a": "b" }), true)]
fn only_updates_that_matter_are_sent(
    #[case] group: &str,
    #[case] resource: &str,
    #[case] path: &str,
    #[case] value: Value,
    #[case] sent: bool,
) -> Result<()> {
    let old_object = stored(resource);
    let mut object = old_object.clone();
    let mut place = &mut object;
    for step in path.split('/').skip(1) {
        place = match step.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[step],
        };
    }
    *place = value;
    let mut count = 0;
    for (name, spec) in deployments()? {
        let enforces = spec["settings"]["placement"].is_object() && spec["mutating"] == true;
        if !enforces || !rules(&spec["rules"])?.contains(&rule(group, resource, "UPDATE")) {
            continue;
        }
        for (object, sent) in [(&object, sent), (&old_object, resource == "pods")] {
            let request = json!({
                "operation": "UPDATE", "resource": { "resource": resource }, "object": object, "oldObject": old_object,
            });
            assert_eq!(reaches(&spec, &request)?, sent, "{name}: {object}");
        }
        let request = json!({ "operation": "CREATE", "resource": { "resource": resource }, "object": object });
        assert!(reaches(&spec, &request)?, "{name}: CREATE");
        count += 1;
    }
    ensure!(count > 2, "only {count} examples have the rule");
    Ok(())
}

/// An object of a resource.
fn stored(resource: &str) -> Value {
    let metadata = json!({ "name": "web", "labels": { "app": "web" } });
    let spec = json!({ "containers": [{ "name": "app", "image": "old" }] });
    let template = json!({ "metadata": { "labels": { "app": "web" } }, "spec": spec });
    match resource {
        "pods" => json!({ "metadata": metadata, "spec": spec }),
        "namespaces" => json!({ "metadata": metadata, "spec": { "finalizers": ["kubernetes"] } }),
        "podtemplates" => json!({ "metadata": metadata, "template": template }),
        "cronjobs" => json!({ "metadata": metadata, "spec": { "jobTemplate": { "spec": { "template": template } } } }),
        _ => json!({ "metadata": metadata, "spec": { "replicas": 2, "template": template } }),
    }
}

/// What the policy does about a ReplicationController with placement is about its template, and with a `podLabel` about
/// its selector.
#[rstest]
#[case::placement_and_its_template("{placement: {}}", "template", true)]
#[case::placement_and_its_selector("{placement: {}}", "selector", false)]
#[case::a_pod_label_and_its_template("{nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a}]}}", "template", false)]
#[case::a_pod_label_and_its_selector("{nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a}]}}", "selector", true)]
#[case::both_and_its_template(
    "{placement: {}, nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a, required: true}]}}",
    "template",
    true
)]
#[case::both_and_its_selector(
    "{placement: {}, nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a, required: true}]}}",
    "selector",
    true
)]
fn replication_controllers_are_sent_for_what_settings_need(
    #[case] settings: &str,
    #[case] field: &str,
    #[case] sent: bool,
) -> Result<()> {
    let written = yaml_documents(&policy_file(settings, &Overrides::default())?)?;
    let old_object = stored("replicationcontrollers");
    let mut object = old_object.clone();
    object["spec"][field] = json!({ "changed": true });
    let request = json!({
        "operation": "UPDATE", "resource": { "resource": "replicationcontrollers" },
        "object": object, "oldObject": old_object,
    });
    assert_eq!(reaches(&written[0]["spec"], &request)?, sent);
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
        if ["allowedTolerations", "forbiddenTolerations"].iter().any(|setting| text.contains(setting)) {
            assert!(reaches(&spec, &update(&tolerating))?, "{name}: tolerations");
            judging += 1;
        }
    }
    ensure!(filling_in > 3 && judging > 2, "{filling_in} examples fill in, {judging} judge tolerations");
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
    let spec = yaml_of("docs/clouds.md")?.into_iter().find(|block| block.get("matchConditions").is_some());
    let spec = spec.context("docs/clouds.md has a condition")?;
    assert_eq!(reaches(&spec, &json!({ "namespace": namespace, "object": {} }))?, sent);
    Ok(())
}
