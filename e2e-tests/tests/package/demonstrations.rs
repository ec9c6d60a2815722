//! The demonstrations of the examples end as they say.

use anyhow::{Context, Result};
use e2e_tests::{Answer, Manifests, read_documents};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    examples::{deployment, examples},
    file, policy,
};

/// A demonstration says in its comments what becomes of its objects, and why.
#[rstest]
#[case::a_deployment_that_fits("placement.yml", "demo/deployments.yml", "web", "")]
#[case::a_deployment_beyond_the_whitelist("placement.yml", "demo/deployments.yml", "greedy", r#"requests "pool=gold""#)]
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
