//! A first file of tests: what settings do to a cluster now, for people to review.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use node_placement_policy::resource::Resource;
use serde::Serialize;
use serde_json::{Value, json};

use super::{CaseAnswer, case::answer};
use crate::{
    Manifests,
    demands::Demands,
    engine::additions::additions,
    input::{
        json::{list_of, remove_nulls, title},
        yaml,
    },
    trial::Trial,
    webhook::{
        controllers::controller_reference,
        pods::template,
        request::manifest_request,
        resource::{resource_of, template_path},
    },
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

const HEADING: &str = "# What the settings do now: one case for each entry and kind of answer. Review each case, and change what \
                       should be\n# otherwise. Run it with: kubectl node-placement test FILE\n";

/// Writes a file with one case for each entry of the settings and kind of answer: of the Pods that ask for nothing, of
/// each namespace, and of the workloads and Pods of the cluster. The `paths` are those of the settings and the cluster.
///
/// # Errors
/// There is no namespace, or the policy failed to answer.
pub fn write_tests(trial: &Trial<'_>, paths: [&Path; 2], progress: impl Fn(&str)) -> Result<String> {
    let mut kinds = BTreeSet::new();
    let mut cases = vec![];
    for manifest in subjects(trial.known) {
        let Some(request) = manifest_request(manifest.clone(), None)? else { continue };
        let title = title(&manifest);
        progress(&title);
        let answered = answer(trial, &request, trial.has_nodes()).with_context(|| title.clone())?;
        let name = request.namespace().unwrap_or_default();
        let namespace = trial.known.namespace(name);
        let entry = trial
            .deployment
            .files
            .iter()
            .find_map(|file| Demands::new(&file.typed, name, Some(namespace?)).ok()?.entry());
        let is_new = kinds.insert((entry.map(|at| at.position), kind_of_answer(&answered, &manifest)));
        if answered.not_asked.is_none() && is_new {
            let expect = expected(&answered);
            cases.push(WrittenCase { name: format!("{title} {}", result(&answered)), manifest, expect });
        }
    }
    ensure!(!cases.is_empty(), "the policy is asked about nothing in the cluster: expected Namespaces that it covers");
    let [settings, cluster] = paths.map(|path| path.display().to_string());
    let test = WrittenTest { name: format!("What {settings} does to {cluster}"), settings, cluster, cases };
    let written = yaml::write(&BTreeMap::from([("tests", [test])]))?;
    let marked = written.replace("nodes: []\n", "nodes: [] # no node takes it: is that intended?\n");
    Ok(format!("{HEADING}{marked}"))
}

/// A Pod that asks for nothing for each namespace; then the workloads, and the Pods without one.
fn subjects(cluster: &Manifests) -> Vec<Value> {
    let plain = cluster.namespaces().map(|namespace| {
        let metadata = json!({ "name": "plain", "namespace": namespace["metadata"]["name"] });
        reduced(&json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata }), Resource::Pod)
    });
    let others = cluster.objects().iter().filter_map(|object| {
        let resource = resource_of(&object.identity.api_version, &object.identity.kind)?;
        let object = object.parse();
        let makes_pods = resource == Resource::Pod || resource.has_template();
        (makes_pods && controller_reference(&object).is_none()).then(|| reduced(&object, resource))
    });
    plain.chain(others).collect()
}

/// The object with nothing but its name and what decides about its nodes.
fn reduced(object: &Value, resource: Resource) -> Value {
    let spec = &template(object).unwrap_or(object)["spec"];
    let mut containers: Vec<Value> = list_of(&spec["containers"])
        .iter()
        .map(|container| json!({ "name": container["name"], "image": container["image"] }))
        .collect();
    if containers.is_empty() {
        containers.push(json!({ "name": "c", "image": "example.com/c:1" }));
    }
    let mut pod = json!({ "spec": { "containers": containers } });
    for field in ["nodeSelector", "affinity", "tolerations", "runtimeClassName"] {
        pod["spec"][field] = spec[field].clone();
    }
    let path = template_path(resource).unwrap_or_default();
    let mut reduced = path.iter().rev().fold(pod, |inner, step| json!({ *step: inner }));
    reduced["apiVersion"] = object["apiVersion"].clone();
    reduced["kind"] = object["kind"].clone();
    reduced["metadata"] = json!({ "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"] });
    remove_nulls(&mut reduced);
    reduced
}

/// Answers that are alike: about Pods or about workloads, refused with a code, or let in and given something, or not.
fn kind_of_answer(answered: &CaseAnswer, manifest: &Value) -> (bool, Option<u16>, String, bool) {
    let answer = answered.decisive();
    let sentence = answer.message.as_deref().and_then(|message| message.split(':').next()).map(str::to_owned);
    let is_warned = answer.warnings.as_ref().is_some_and(|warnings| !warnings.is_empty());
    let added = || additions(&answered.evaluation).join("; ");
    (manifest["kind"] == "Pod", answer.code, sentence.unwrap_or_else(added), is_warned)
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

/// What the case is named for.
fn result(answered: &CaseAnswer) -> String {
    let additions = additions(&answered.evaluation);
    match answered.decisive().accepted {
        false => "is refused".to_owned(),
        true if additions.is_empty() => "is accepted unchanged".to_owned(),
        true => format!("gets {}", additions.join("; ")),
    }
}
