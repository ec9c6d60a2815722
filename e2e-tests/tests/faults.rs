//! Hostile input and a cluster in trouble: the answer is always an answer.

use std::{collections::BTreeMap, fs, str::from_utf8};

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    Answer, Call, NoCluster, Policy, Scripted, SettingsAnswer, admission_request, payload, policy_under_test,
    read_document,
};
use rstest::{fixture, rstest};
use serde_json::{Value, json};

#[fixture]
#[once]
fn policy() -> Policy {
    policy_under_test().expect("the policy")
}

fn request(name: &str) -> Value {
    let file = format!("{}/fixtures/requests/{name}.json", env!("CARGO_MANIFEST_DIR"));
    admission_request(&read_document(file.as_ref()).expect("a fixture")).clone()
}

fn answer(call: &Call) -> Result<Answer> {
    let bytes = call.result.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    serde_json::from_slice(bytes).with_context(|| format!("{:?}", String::from_utf8_lossy(bytes)))
}

/// Whatever is asked. `validate_settings` has refused them before.
#[rstest]
#[case::of_a_wrong_type("5", "expected an object, found a number")]
#[case::an_unknown_field(
    r#"{"placement":{"onNodeNames":"Verify"}}"#,
    "placement: unknown field \"onNodeNames\", did you mean onNodeName?"
)]
#[case::a_list_for_an_object(r#"{"placement":[]}"#, "placement: expected an object, found a list")]
fn settings_that_cant_be_read_are_answered_with_500(
    policy: &Policy,
    #[case] settings: &str,
    #[case] problem: &str,
) -> Result<()> {
    let request = r#"{"resource":{"group":"","resource":"secrets"},"operation":"DELETE"}"#;
    let payload = format!(r#"{{"request":{request},"settings":{settings}}}"#);
    let answer = answer(&policy.call("validate", payload.as_bytes(), NoCluster))?;
    let message = answer.message.unwrap_or_default();
    ensure!(
        answer.code == Some(500) && message == format!("the policy's settings have a mistake: {problem}"),
        "{message}"
    );
    Ok(())
}

#[rstest]
#[case::nothing(b"")]
#[case::no_json(b"{\"request\":")]
#[case::no_text(b"{\"request\":\"\xff\"}")]
#[case::a_list(b"[]")]
#[case::a_number(b"5")]
#[case::no_request(b"{\"settings\":{}}")]
#[case::null(b"{\"request\":null,\"settings\":{}}")]
#[case::a_request_of_a_wrong_type(b"{\"request\":5,\"settings\":{}}")]
fn what_is_no_request_is_a_bad_request(policy: &Policy, #[case] bytes: &[u8]) -> Result<()> {
    let answer = answer(&policy.call("validate", bytes, NoCluster))?;
    ensure!(!answer.accepted && answer.code == Some(400), "{answer:?}");
    let message = answer.message.unwrap_or_default();
    ensure!(message.starts_with("the request can't be read: ") && message.len() > 30, "{message}");
    Ok(())
}

#[rstest]
#[case::nothing(b"")]
#[case::no_json(b"{")]
#[case::no_text(b"\xff\xfe")]
#[case::a_list(b"[]")]
#[case::a_string(b"\"placement\"")]
#[case::null(b"null")]
#[case::a_block_of_a_wrong_type(b"{\"nodeMetadata\":[]}")]
fn what_is_no_settings_is_invalid_settings(policy: &Policy, #[case] bytes: &[u8]) -> Result<()> {
    let call = policy.call("validate_settings", bytes, NoCluster);
    let answer: SettingsAnswer =
        serde_json::from_slice(call.result.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?)?;
    ensure!(!answer.valid && answer.message.as_ref().is_some_and(|message| !message.is_empty()), "{answer:?}");
    Ok(())
}

#[rstest]
#[case::error("API server\nis on fire\n  at stack.rs:1", "API server")]
#[case::empty_error("", "no reason given")]
#[case::not_found("Cannot find v1/Namespace named 'team-a' inside of namespace 'None'", "Cannot find v1/Namespace")]
fn a_failed_look_up_is_told_in_one_line(policy: &Policy, #[case] error: &str, #[case] reason: &str) -> Result<()> {
    let settings = json!({"placement": {}});
    let error = error.to_owned();
    let failing = Scripted(move |_: &_| Err(error.clone()));
    let call = policy.call("validate", &payload(&request("pod-create"), &settings), failing);
    let answer = answer(&call)?;
    let message = answer.message.unwrap_or_default();
    ensure!(answer.code == Some(500) && !message.contains('\n'), "{message}");
    ensure!(message.starts_with(&format!("Namespace \"team-a\" can't be read: {reason}")), "{message}");
    let levels: Vec<&Value> = call.record.logs.iter().map(|event| &event["level"]).collect();
    ensure!(levels == ["warning", "info"], "{:?}", call.record.logs);
    Ok(())
}

/// Only a Node that does not exist is the wrong one; of any other, nobody knows.
#[rstest]
#[case::a_pod("pod-create-nodename")]
#[case::a_binding("binding")]
fn a_node_that_cannot_be_read_is_no_mismatch(policy: &Policy, #[case] name: &str) -> Result<()> {
    let placement = json!({"namespaceAnnotations": [], "clusterDefaultNodeSelector": "a=b", "onBindings": "Verify"});
    let settings = json!({ "placement": placement });
    let away = Scripted(|_: &_| Err("the API server is away".to_owned()));
    let answer = answer(&policy.call("validate", &payload(&request(name), &settings), away))?;
    ensure!(answer.code == Some(500), "{answer:?}");
    let message = answer.message.unwrap_or_default();
    ensure!(message.starts_with("Node ") && message.ends_with("can't be read: the API server is away"), "{message}");
    Ok(())
}

#[rstest]
#[case::nothing("")]
#[case::no_json("{")]
#[case::a_number("5")]
#[case::no_metadata("{}")]
#[case::a_status(r#"{"kind":"Status","code":404}"#)]
#[case::metadata_of_a_wrong_type(r#"{"metadata":5}"#)]
#[case::labels_of_a_wrong_type(r#"{"metadata":{"labels":[]}}"#)]
#[case::a_label_of_a_wrong_type(r#"{"metadata":{"labels":{"a":{}}}}"#)]
#[case::annotations_of_a_wrong_type(r#"{"metadata":{"annotations":true}}"#)]
fn a_malformed_answer_is_a_failed_look_up(policy: &Policy, #[case] object: &'static str) -> Result<()> {
    let broken = Scripted(move |_: &_| Ok(object.to_owned()));
    let placement = json!({"placement": {}});
    let metadata = json!({"nodeMetadata": {"propagate": [{"nodeLabel": "zone"}, {"nodeAnnotation": "a"}]}});
    for (name, settings, what) in
        [("pod-create", placement, "Namespace \"team-a\""), ("binding", metadata, "Node \"node-a\"")]
    {
        let answer = answer(&policy.call("validate", &payload(&request(name), &settings), broken))?;
        let message = answer.message.unwrap_or_default();
        ensure!(answer.code == Some(500), "{name}: {message}");
        ensure!(
            message.starts_with(&format!("{what} can't be read: the host's answer is malformed: ")),
            "{name}: {message}"
        );
    }
    Ok(())
}

#[rstest]
fn what_is_accepted_is_not_logged(policy: &Policy) -> Result<()> {
    let settings = json!({"placement": {"namespaceAnnotations": [], "clusterDefaultNodeSelector": "a=b"}});
    let call = policy.call("validate", &payload(&request("pod-create"), &settings), NoCluster);
    ensure!(answer(&call)?.accepted && call.record.logs.is_empty(), "{call:?}");
    Ok(())
}

/// Every request that was ever captured, with pieces missing: no trap, and a reason for every rejection.
#[rstest]
fn truncated_requests_are_answered(policy: &Policy) -> Result<()> {
    let settings = everything("a=b");
    let object = Scripted(|_: &_| Ok(r#"{"metadata":{"labels":{"a":"b"}}}"#.to_owned()));
    let mut requests = 0;
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/requests"))? {
        let whole = payload(admission_request(&read_document(&entry?.path())?), &settings);
        for at in (0..whole.len()).step_by(whole.len() / 12 + 1) {
            let answer = answer(&policy.call("validate", &whole[..at], object))?;
            let message = answer.message.unwrap_or_default();
            let refused = answer.code == Some(400) && message.starts_with("the request can't be read: ");
            ensure!(refused, "{message:?}: {:?}", from_utf8(&whole[..at]));
        }
        let answer = answer(&policy.call("validate", &whole, object))?;
        ensure!(answer.code != Some(400), "{answer:?}");
        requests += 1;
    }
    ensure!(requests > 20, "only {requests} requests");
    Ok(())
}

/// Settings that make the policy read whatever it ever reads.
fn everything(selector: &str) -> Value {
    json!({
        "placement": {"clusterDefaultNodeSelector": selector, "onBindings": "Verify"},
        "nodeMetadata": {"protect": true, "propagate": [{"nodeLabel": "a.io/*"}]},
    })
}

/// What may stand in a place that is read.
#[derive(Clone, Copy, Debug)]
enum Place {
    Text,
    Object,
    /// An object that must be there.
    Needed,
    /// None of the swapped values is one: a list of objects, an object of strings, or one with certain members.
    Other,
}

impl Place {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string() || value.is_null(),
            Self::Object => value.is_object() || value.is_null(),
            Self::Needed => value.is_object(),
            Self::Other => value.is_null(),
        }
    }
}

/// What is read of every request.
const OF_ALL: [(&str, Place); 5] = [
    ("/resource/group", Place::Text),
    ("/subResource", Place::Text),
    ("/namespace", Place::Text),
    ("/object", Place::Needed),
    ("/object/metadata", Place::Object),
];

/// One place in a captured request at a time gets a value of every other type. Where it is read, the answer says so,
/// and names the place; elsewhere it does not matter.
#[rstest]
#[case::a_pod_with_a_node("pod-create-nodename", &[
    ("/userInfo", Place::Object),
    ("/userInfo/groups", Place::Other),
    ("/userInfo/username", Place::Text),
    ("/object/metadata/labels", Place::Other),
    ("/object/metadata/annotations", Place::Other),
    ("/object/metadata/ownerReferences", Place::Other),
    ("/object/spec", Place::Object),
    ("/object/spec/nodeSelector", Place::Other),
    ("/object/spec/nodeName", Place::Text),
    ("/object/spec/affinity", Place::Object),
])]
#[case::a_binding("binding", &[
    ("/object/metadata/name", Place::Text),
    ("/object/metadata/labels", Place::Other),
    ("/object/metadata/annotations", Place::Other),
    ("/object/target", Place::Object),
    ("/object/target/name", Place::Text),
    ("/object/target/kind", Place::Text),
])]
#[case::a_daemon_set("daemonset-create", &[
    ("/object/metadata/ownerReferences", Place::Other),
    ("/object/spec", Place::Object),
    ("/object/spec/template", Place::Object),
    ("/object/spec/template/spec", Place::Object),
])]
#[case::a_namespace("namespace-update-annotation", &[
    ("/object/metadata/annotations", Place::Other),
])]
#[case::the_status_of_a_pod("pod-status-update-by-admin", &[
    ("/userInfo", Place::Object),
    ("/userInfo/groups", Place::Other),
    ("/userInfo/username", Place::Text),
    ("/object/metadata/labels", Place::Other),
    ("/object/metadata/annotations", Place::Other),
    ("/oldObject", Place::Needed),
])]
fn requests_with_swapped_types_are_answered(
    policy: &Policy,
    #[case] name: &str,
    #[case] of_this: &[(&str, Place)],
) -> Result<()> {
    let settings = everything("a=b,c in (d,e)");
    let object = Scripted(|_: &_| Ok(r#"{"metadata":{"labels":{"a":"b","c":"d"}}}"#.to_owned()));
    let read: BTreeMap<&str, Place> = OF_ALL.iter().chain(of_this).copied().collect();
    let not_read = ["/object/status", "/object/status/phase", "/object/unknown", "/options", "/uid", "/dryRun"];
    ensure!(not_read.iter().all(|place| !read.contains_key(place)), "{read:?}");
    for place in read.keys().copied().chain(not_read) {
        for swapped in [json!(null), json!(true), json!(1e300), json!("text"), json!([[]]), json!({"a": 5})] {
            let mut request = request(name);
            put(&mut request, place, &swapped);
            let answer = answer(&policy.call("validate", &payload(&request, &settings), object))
                .with_context(|| format!("{place} is {swapped}"))?;
            let message = answer.message.unwrap_or_default();
            if place == "/namespace" && swapped.is_null() {
                // Nobody asks so, and no Namespace can have the empty name.
                ensure!(answer.accepted || answer.code == Some(500), "{place} is {swapped}: {message:?}");
            } else if read.get(place).is_none_or(|kind| kind.takes(&swapped)) {
                ensure!(answer.accepted, "{place} is {swapped}: {message:?}");
            } else {
                let names_it = message.contains(&place.trim_start_matches('/').replace('/', "."));
                let refused = answer.code == Some(400) && message.starts_with("the request can't be read: ");
                ensure!(refused && names_it, "{place} is {swapped}: {message:?}");
            }
        }
    }
    Ok(())
}

/// Puts a value at a path of members, which are made where they are missing.
fn put(request: &mut Value, path: &str, value: &Value) {
    let place = path.split('/').skip(1).fold(request, |place, member| &mut place[member]);
    *place = value.clone();
}

/// Without these nobody knows what is asked.
#[rstest]
#[case::resource("/resource", "request.resource")]
#[case::the_resource_of_resource("/resource/resource", "request.resource.resource: ")]
#[case::operation("/operation", "request.operation: ")]
fn what_is_asked_must_be_said(policy: &Policy, #[case] place: &str, #[case] path: &str) -> Result<()> {
    for swapped in [json!(null), json!(true), json!(1e300), json!([[]]), json!({"a": 5})] {
        let mut request = request("pod-create");
        put(&mut request, place, &swapped);
        let answer = answer(&policy.call("validate", &payload(&request, &everything("a=b")), NoCluster))?;
        let message = answer.message.unwrap_or_default();
        let refused = answer.code == Some(400) && message.starts_with(&format!("the request can't be read: {path}"));
        ensure!(refused, "{place} is {swapped}: {message:?}");
    }
    Ok(())
}
