//! A first file of tests: what settings do to a cluster now, for people to review.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result, ensure};
use node_placement_policy::resource::Resource;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{asked::Asked, nodes::nodes};
use crate::{
    Evaluation, Manifests, Policy, SettingsFile,
    demands::Demands,
    input::{json::text, yaml},
    output::changes::gets,
    requests::{
        admission::of_manifest,
        owner::controller,
        resource::{resource_of, template_path},
        template::template,
    },
    scheduling::places::Places,
};

#[derive(Serialize)]
struct WrittenFile {
    tests: Vec<WrittenTest>,
}

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

/// Writes a file with one case for each entry of the settings and kind of answer: of the Pods that ask for nothing, of
/// each namespace, and of the workloads and Pods of the cluster.
///
/// # Errors
/// There is no namespace, or the policy can't be asked.
pub fn write_tests(
    files: &[SettingsFile],
    cluster: &Manifests,
    policy: &Policy,
    paths: [&Path; 2],
    progress: impl Fn(&str),
) -> Result<String> {
    let asked = Asked { policies: files, cluster, policy };
    let places = Places::of(cluster)?;
    let mut known = BTreeSet::new();
    let mut cases = vec![];
    for manifest in subjects(cluster) {
        let Some(request) = of_manifest(manifest.clone(), None)? else { continue };
        progress(&title(&manifest));
        let (evaluation, not_asked) = asked.answer(&request).with_context(|| title(&manifest))?;
        let namespace = request["namespace"].as_str().unwrap_or_default();
        let there = cluster.namespace(namespace);
        let entry = files.iter().find_map(|file| Demands::of(&file.typed, namespace, Some(there?)).ok()?.entry);
        if not_asked.is_some() || !known.insert((entry.map(|at| at.position), kind_of_answer(&evaluation, &manifest))) {
            continue;
        }
        let expect = expected(&asked, &places, &request, &evaluation)?;
        cases.push(WrittenCase { name: name(&manifest, &evaluation), manifest, expect });
    }
    ensure!(!cases.is_empty(), "the policy is asked about nothing in the cluster: expected Namespaces that it covers");
    let [settings, cluster] = paths.map(|path| path.display().to_string());
    let test = WrittenTest { name: format!("What {settings} does to {cluster}"), settings, cluster, cases };
    Ok(format!(
        "# What the settings do now: one case for each entry and kind of answer. Review each case, and change what should be\n\
         # otherwise. Run it with: kubectl node-placement test FILE\n{}",
        yaml::write(&WrittenFile { tests: vec![test] })?
            .replace("nodes: []\n", "nodes: [] # no node takes it: is that intended?\n")
    ))
}

/// A Pod that asks for nothing for each namespace; then what makes Pods, and Pods of nobody, with what decides about
/// nodes alone.
fn subjects(cluster: &Manifests) -> Vec<Value> {
    let plain = cluster.namespaces().map(|namespace| {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": "plain", "namespace": namespace["metadata"]["name"] },
            "spec": scheduled(&Value::Null),
        })
    });
    let others = cluster.objects().iter().filter_map(|object| {
        let resource = resource_of(&object.identity.api_version, &object.identity.kind)?;
        let object = object.parse();
        let is_judged = resource == Resource::Pod || resource.has_template();
        (is_judged && controller(&object).is_none()).then(|| reduced(&object, resource))
    });
    plain.chain(others).collect()
}

/// The object with nothing but its name and what decides about its nodes.
fn reduced(object: &Value, resource: Resource) -> Value {
    let mut reduced = json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": { "name": object["metadata"]["name"] },
    });
    if object["metadata"]["namespace"].is_string() {
        reduced["metadata"]["namespace"] = object["metadata"]["namespace"].clone();
    }
    let mut place = &mut reduced;
    for step in template_path(resource).unwrap_or_default() {
        place = &mut place[*step];
    }
    place["spec"] = scheduled(&template(object).unwrap_or(object)["spec"]);
    reduced
}

fn scheduled(spec: &Value) -> Value {
    let mut kept = Map::new();
    for field in ["nodeSelector", "affinity", "tolerations", "runtimeClassName"] {
        if !spec[field].is_null() {
            kept.insert(field.to_owned(), spec[field].clone());
        }
    }
    let requests = |container: &Value| json!({ "name": container["name"], "image": container["image"] });
    let containers: Vec<Value> = spec["containers"].as_array().into_iter().flatten().map(requests).collect();
    let containers =
        if containers.is_empty() { json!([{ "name": "c", "image": "example.com/c:1" }]) } else { containers.into() };
    kept.insert("containers".to_owned(), containers);
    Value::Object(kept)
}

/// Answers that are alike: about Pods or about workloads, refused with a code, or let in and given something, or not.
fn kind_of_answer(evaluation: &Evaluation, manifest: &Value) -> (bool, Option<u16>, Option<String>, bool) {
    let answer = &evaluation.answer;
    let sentence = answer.message.as_deref().and_then(|message| message.split(':').next()).map(str::to_owned);
    let is_warned = answer.warnings.as_ref().is_some_and(|warnings| !warnings.is_empty());
    (manifest["kind"] == "Pod", answer.code, sentence.or_else(|| Some(gets(evaluation).join("; "))), is_warned)
}

fn expected(asked: &Asked<'_>, places: &Places, request: &Value, evaluation: &Evaluation) -> Result<Value> {
    let answer = &evaluation.answer;
    let mut expect = json!({ "accepted": answer.accepted });
    if let (Some(code), Some(message)) = (answer.code, &answer.message) {
        expect["code"] = code.into();
        expect["message"] = message.as_str().into();
        return Ok(expect);
    }
    expect["adds"] = gets(evaluation).into();
    if let Some(warnings) = answer.warnings.as_ref().filter(|warnings| !warnings.is_empty()) {
        expect["warnings"] = warnings.clone().into();
    }
    if !places.is_empty() {
        expect["nodes"] = nodes(asked, places, request, evaluation)?.into();
    }
    Ok(expect)
}

fn name(manifest: &Value, evaluation: &Evaluation) -> String {
    let gets = gets(evaluation);
    let what = match (evaluation.answer.accepted, gets.is_empty()) {
        (false, _) => "is refused".to_owned(),
        (true, true) => "is accepted unchanged".to_owned(),
        (true, false) => format!("gets {}", gets.join("; ")),
    };
    format!("{} {what}", title(manifest))
}

/// `Deployment team-a/web`
fn title(manifest: &Value) -> String {
    let [name, namespace] = ["name", "namespace"].map(|field| text(&manifest["metadata"][field]));
    format!("{} {namespace}/{name}", text(&manifest["kind"]))
}
