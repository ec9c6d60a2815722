//! A first file of tests: what settings do to a cluster now, for people to review.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, ensure};
use node_placement_policy::resource::Resource;
use serde::Serialize;
use serde_json::{Value, json};

use super::CaseAnswer;
use crate::{
    Manifests,
    cluster::{
        Cluster,
        pod_template::{template, template_path},
    },
    engine::additions::additions,
    input::{
        json::{list_of, remove_nulls, title},
        yaml,
    },
    trial::Trial,
    webhook::request::manifest_request,
};

/// A test as it is written: its fields stand in this order.
#[derive(Serialize)]
struct WrittenTest {
    name: String,
    settings: String,
    cluster: String,
    cases: Vec<WrittenCase>,
}

#[derive(Serialize)]
struct WrittenCase {
    name: String,
    manifest: Value,
    expect: Value,
}

const HEADING: &str = "# What the settings do now: one case for each workload, each Pod without one, and a Pod that requests nothing in each\n\
                       # namespace. Review each case, and change what should be otherwise. Run it with:\n\
                       #   kubectl node-placement test FILE\n";

/// A file of tests, and what no case was written for.
pub struct FirstFile {
    pub text: String,
    /// What could not be evaluated, and why.
    pub left_out: Vec<String>,
}

/// Writes a file with one case for each subject of a preview: workloads, Pods without one, and of each namespace a Pod that
/// requests nothing. What no policy is asked about is left out. The `paths` are those of the settings and the cluster.
///
/// # Errors
/// The policy is asked about nothing, or failed to answer.
pub fn write_tests(trial: &Trial<'_>, paths: [&Path; 2], progress: impl Fn(&str)) -> Result<FirstFile> {
    let (mut cases, mut left_out) = (vec![], vec![]);
    for manifest in subjects(trial.known)? {
        let Some(request) = manifest_request(manifest.clone(), None)? else { continue };
        let title = title(&manifest);
        progress(&title);
        let result = trial.judge_with_nodes(&request).with_context(|| title.clone())?;
        let lines = result.pods.as_ref().map(|pods| pods.lines.clone()).unwrap_or_default();
        match CaseAnswer::new(result, trial.has_nodes()) {
            Ok(answered) if answered.not_asked.is_some() => {}
            Ok(answered) => {
                let name = format!("{title}{}", outcome(&answered, &lines));
                cases.push(WrittenCase { name, manifest, expect: expected(&answered) });
            }
            Err(error) => left_out.push(format!("{title}: {error:#}")),
        }
    }
    ensure!(!cases.is_empty(), "the policy is asked about nothing in the cluster: expected Namespaces that it covers");
    let [settings, cluster] = paths.map(|path| path.display().to_string());
    let test = WrittenTest { name: format!("What {settings} does to {cluster}"), settings, cluster, cases };
    let written = yaml::write(&BTreeMap::from([("tests", [test])]))?;
    Ok(FirstFile { text: format!("{HEADING}{written}"), left_out })
}

/// Returns the workloads, and the Pods without one; and for each namespace a Pod that requests nothing.
fn subjects(objects: &Manifests) -> Result<Vec<Value>> {
    let cluster = Cluster::new(objects)?;
    let plain = cluster.namespaces.iter().map(|namespace| {
        let metadata = json!({ "name": "plain", "namespace": namespace });
        reduced(&json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata }), Resource::Pod)
    });
    let workloads = cluster.workloads.iter().map(|workload| reduced(&workload.json.parse(), workload.resource));
    let pods = cluster.pods.iter().map(|pod| {
        let mut manifest = reduced(&pod.json.parse(), Resource::Pod);
        if let Some(node) = pod.node.as_ref().filter(|_| pod.names_node) {
            manifest["spec"]["nodeName"] = node.to_string().into();
        }
        manifest
    });
    Ok(plain.chain(workloads).chain(pods).collect())
}

/// What of a PodSpec decides on the policy's answer and on nodes, beside its containers and volumes.
const KEPT: [&str; 9] = [
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "resources",
    "overhead",
    "priorityClassName",
    "schedulerName",
    "schedulingGates",
];

/// Returns the object with nothing but its name and what decides on its nodes.
fn reduced(object: &Value, resource: Resource) -> Value {
    let pod = template(object).unwrap_or(object);
    let container = |own: &Value| {
        let (name, image, resources) = (&own["name"], &own["image"], &own["resources"]);
        json!({ "name": name, "image": image, "resources": resources, "restartPolicy": own["restartPolicy"] })
    };
    let containers = |list: &str| list_of(&pod["spec"][list]).iter().map(container).collect::<Vec<Value>>();
    let claims: Vec<&Value> =
        list_of(&pod["spec"]["volumes"]).iter().filter(|volume| volume["persistentVolumeClaim"].is_object()).collect();
    let mut spec = json!({ "containers": containers("containers") });
    if spec["containers"] == json!([]) {
        spec["containers"] = json!([{ "name": "c", "image": "example.com/c:1" }]);
    }
    for (list, elements) in [("initContainers", json!(containers("initContainers"))), ("volumes", json!(claims))] {
        spec[list] = if elements == json!([]) { Value::Null } else { elements };
    }
    for field in KEPT {
        spec[field] = pod["spec"][field].clone();
    }
    let own = json!({ "metadata": { "labels": pod["metadata"]["labels"] }, "spec": spec });
    let path = template_path(resource).unwrap_or_default();
    let mut reduced = path.iter().rev().fold(own, |inner, step| json!({ *step: inner }));
    for field in ["apiVersion", "kind"] {
        reduced[field] = object[field].clone();
    }
    for field in ["name", "namespace"] {
        reduced["metadata"][field] = object["metadata"][field].clone();
    }
    remove_nulls(&mut reduced);
    reduced
}

fn expected(answered: &CaseAnswer) -> Value {
    let answer = answered.decisive();
    if let (Some(code), Some(message)) = (answer.code, &answer.message) {
        return json!({ "accepted": answer.accepted, "code": code, "message": message });
    }
    let mut expect = json!({ "accepted": answer.accepted, "adds": additions(&answered.evaluation) });
    if let Some(warnings) = answer.warnings.as_ref().filter(|warnings| !warnings.is_empty()) {
        expect["warnings"] = json!(warnings);
    }
    if let Some(nodes) = &answered.nodes {
        expect["nodes"] = json!(nodes);
    }
    expect
}

/// Returns what becomes of the object or of its Pods, of which `lines` tell, as the end of a title.
fn outcome(answered: &CaseAnswer, lines: &[String]) -> String {
    if !answered.evaluation.answer.accepted {
        return " is refused".to_owned();
    }
    if answered.pods_rejection.is_some() {
        return ": its Pods are refused".to_owned();
    }
    let additions = additions(&answered.evaluation);
    let waits = answered.nodes.as_ref().is_some_and(Vec::is_empty);
    let on_nodes = if waits { ", and no node can run it" } else { "" };
    match lines {
        [] if additions.is_empty() => format!(" is accepted as it is{on_nodes}"),
        [] => format!(" gets {}{on_nodes}", additions.join("; ")),
        lines => format!(": {}{on_nodes}", lines.join("; ")),
    }
}
