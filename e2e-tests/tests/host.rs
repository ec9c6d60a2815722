//! The host itself, tried on small guests: what it answers, what it refuses, what it finds wrong.

use anyhow::Result;
use e2e_tests::{Call, Cluster, Manifests, Metadata, Module, NoCluster, Policy, Scripted, Session};
use rstest::rstest;
use serde_json::{Value, json};

const CALLER: &[u8] = include_bytes!("guests/caller.wat");
const COUNTER: &[u8] = include_bytes!("guests/counter.wat");

const GET_RESOURCE: &str = "kubernetes/get_resource";

const SESSION: &str = r#"
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: v1
    kind: Namespace
    name: production
    namespace: null
    disable_cache: false
    field_masks:
    - metadata.annotations
  response:
    type: Success
    payload: '{"kind":"Namespace"}'
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: v1
    kind: Node
    name: worker-1
    namespace: null
    disable_cache: false
    field_masks: null
  response:
    type: Error
    message: the API server is away
"#;

fn metadata(capabilities: Value, kinds: Value) -> Metadata {
    let resources = kinds.as_array().into_iter().flatten();
    let resources: Vec<_> = resources.map(|kind| json!({ "apiVersion": "v1", "kind": kind })).collect();
    serde_json::from_value(json!({
        "contextAwareResources": resources,
        "hostCapabilities": capabilities,
    }))
    .expect("metadata")
}

fn policy(module: &[u8], metadata: Metadata) -> Policy {
    Module::new(module).and_then(|module| module.bound_by(metadata)).expect("the guest compiles")
}

fn caller() -> Policy {
    policy(CALLER, metadata(json!([GET_RESOURCE]), json!(["Namespace", "Node", "ConfigMap"])))
}

/// A guest that answers everything with this text.
fn answering(text: &str) -> Policy {
    let module = format!(
        r#"(module
             (import "wapc" "__guest_response" (func $guest_response (param i32 i32)))
             (memory (export "memory") 1)
             (data (i32.const 0) "{}")
             (func (export "__guest_call") (param i32 i32) (result i32)
               (call $guest_response (i32.const 0) (i32.const {}))
               (i32.const 1)))"#,
        text.replace('"', "\\\""),
        text.len()
    );
    policy(module.as_bytes(), Metadata::default())
}

fn namespace(name: &str) -> Value {
    json!({
        "api_version": "v1", "kind": "Namespace", "name": name, "namespace": null,
        "disable_cache": false, "field_masks": ["metadata.annotations"],
    })
}

fn node(name: &str, field_masks: Value) -> Value {
    json!({
        "api_version": "v1", "kind": "Node", "name": name, "namespace": null,
        "disable_cache": false, "field_masks": field_masks,
    })
}

fn look_up(lookup: &Value, cluster: impl Cluster + Send + Sync + 'static) -> Call {
    caller().call(GET_RESOURCE, lookup.to_string().as_bytes(), cluster)
}

fn text(call: &Call) -> &str {
    str::from_utf8(call.result.as_ref().expect("an answer")).expect("text")
}

fn error(call: &Call) -> &str {
    call.result.as_ref().expect_err("an error")
}

fn complaint(session: &Session) -> String {
    session.verify().expect_err("a complaint").to_string()
}

fn worker() -> Manifests {
    Manifests::from_iter([json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": "worker-1", "labels": { "zone": "a" } },
        "spec": { "providerID": "kind://worker-1", "unschedulable": true },
        "status": {
            "addresses": [
                { "type": "InternalIP", "address": "10.0.0.11" },
                { "type": "Hostname", "address": "worker-1" },
            ],
            "phase": "Running",
        },
    })])
}

#[test]
fn every_call_gets_a_fresh_instance() {
    let policy = policy(COUNTER, Metadata::default());
    for _ in 0..2 {
        assert_eq!(text(&policy.call("validate", b"", NoCluster)), "1");
    }
}

#[test]
fn a_module_that_needs_more_memory_than_allowed_does_not_start() {
    let policy = Module::new(CALLER).unwrap().policy(Some(2 * 65536)).unwrap();
    assert!(error(&policy.call("validate", b"", NoCluster)).contains("memory"));
}

#[rstest]
#[case::undeclared_capability(
    json!([]), json!(["Node"]), GET_RESOURCE,
    "does not declare the host capability kubernetes/get_resource"
)]
#[case::undeclared_resource(
    json!(["*"]), json!(["Namespace"]), GET_RESOURCE,
    "does not declare the resource v1/Node"
)]
#[case::declared_but_not_offered(
    json!(["*"]), json!(["Node"]), "kubernetes/list_resources_all",
    "does not offer kubewarden/kubernetes/list_resources_all"
)]
#[case::another_namespace(
    json!(["*"]), json!(["Node"]), "oci/v1/verify",
    "does not offer kubewarden/oci/v1/verify"
)]
fn calls_are_refused(#[case] capabilities: Value, #[case] kinds: Value, #[case] operation: &str, #[case] reason: &str) {
    let policy = policy(CALLER, metadata(capabilities, kinds));
    let lookup = node("worker-1", Value::Null).to_string();
    let call = policy.call(operation, lookup.as_bytes(), worker());
    assert!(error(&call).contains(reason), "{call:?}");
    assert!(call.record.lookups.is_empty(), "{call:?}");
}

#[rstest]
#[case::everything("*")]
#[case::a_group("kubernetes/*")]
#[case::by_name(GET_RESOURCE)]
fn calls_are_declared_by_name_or_pattern(#[case] capability: &str) {
    let policy = policy(CALLER, metadata(json!([capability]), json!(["Node"])));
    let lookup = node("worker-1", Value::Null).to_string();
    assert!(policy.call(GET_RESOURCE, lookup.as_bytes(), worker()).result.is_ok());
}

#[test]
fn logging_needs_no_declaration() {
    let policy = policy(CALLER, Metadata::default());
    let call = policy.call("tracing/log", br#"{"level":"info","message":"hello"}"#, NoCluster);
    assert_eq!(text(&call), "");
    assert_eq!(call.record.logs, [json!({ "level": "info", "message": "hello" })]);
}

#[rstest]
#[case::no_masks(Value::Null, json!({ "providerID": "kind://worker-1", "unschedulable": true }))]
#[case::an_empty_list(json!([]), json!({ "providerID": "kind://worker-1", "unschedulable": true }))]
#[case::a_field(json!(["spec"]), json!({ "providerID": "kind://worker-1", "unschedulable": true }))]
#[case::a_field_in_a_field(json!(["spec.providerID"]), json!({ "providerID": "kind://worker-1" }))]
#[case::another_field(json!(["metadata.name"]), Value::Null)]
fn masks_keep_what_they_name_and_all_metadata(#[case] masks: Value, #[case] spec: Value) {
    let call = look_up(&node("worker-1", masks), worker());
    let object: Value = serde_json::from_str(text(&call)).unwrap();
    assert_eq!(object["spec"], spec);
    assert_eq!(object["metadata"]["labels"]["zone"], "a");
    assert_eq!(object["kind"], "Node");
}

#[test]
fn masks_go_through_lists() {
    let call = look_up(&node("worker-1", json!(["status.addresses.address"])), worker());
    let object: Value = serde_json::from_str(text(&call)).unwrap();
    let expected = json!({ "addresses": [{ "address": "10.0.0.11" }, { "address": "worker-1" }] });
    assert_eq!(object["status"], expected);
}

#[test]
fn an_object_that_is_not_there_is_told_in_the_words_of_the_real_host() {
    let call = look_up(&node("worker-9", Value::Null), worker());
    let words = "Cannot find v1/Node named 'worker-9' inside of namespace 'None'";
    assert!(error(&call).contains(words), "{call:?}");
    assert_eq!(call.record.lookups[0].name, "worker-9");
}

#[test]
fn a_closure_plays_a_cluster_in_trouble() {
    let broken = Scripted(|_: &_| Ok("{".to_owned()));
    assert_eq!(text(&look_up(&namespace("production"), broken)), "{");
    let away = Scripted(|_: &_| Err("connection refused".to_owned()));
    assert!(error(&look_up(&namespace("production"), away)).contains("connection refused"));
}

#[test]
fn a_session_answers_as_recorded_and_complains_of_leftovers() {
    let session = Session::parse(SESSION).unwrap();
    let call = look_up(&namespace("production"), session.clone());
    assert_eq!(text(&call), r#"{"kind":"Namespace"}"#);
    let complaint = complaint(&session);
    assert!(complaint.contains("never asked for 1 exchange(s)"), "{complaint}");
    assert!(complaint.contains("Node worker-1"), "{complaint}");
}

#[rstest]
#[case::another_order(node("worker-1", Value::Null))]
#[case::another_name(namespace("development"))]
#[case::other_masks({
    let mut lookup = namespace("production");
    lookup["field_masks"] = Value::Null;
    lookup
})]
#[case::another_cache({
    let mut lookup = namespace("production");
    lookup["disable_cache"] = json!(true);
    lookup
})]
fn a_session_complains_of_another_lookup(#[case] lookup: Value) {
    let session = Session::parse(SESSION).unwrap();
    let call = look_up(&lookup, session.clone());
    assert!(error(&call).contains("the session expects"), "{call:?}");
    assert!(complaint(&session).contains("the session expects"));
}

#[test]
fn a_session_is_over_after_its_last_exchange() {
    let session = Session::parse("[]").unwrap();
    look_up(&namespace("production"), session.clone());
    assert!(complaint(&session).contains("the session is over"));
}

#[test]
fn a_recorded_error_is_an_error_but_no_complaint() {
    let second = SESSION.split_inclusive("- type").skip(2).collect::<String>();
    let session = Session::parse(&format!("- type{second}")).unwrap();
    let call = look_up(&node("worker-1", Value::Null), session.clone());
    assert!(error(&call).contains("the API server is away"), "{call:?}");
    assert!(session.verify().is_ok());
}

#[rstest]
#[case::no_list("a: b")]
#[case::another_request(&SESSION.replace("KubernetesGetResource", "KubernetesListResourceAll"))]
#[case::no_response("- type: Exchange\n  request: '!KubernetesGetResource {}'")]
fn a_file_that_is_no_session_is_an_error(#[case] yaml: &str) {
    assert!(Session::parse(yaml).is_err());
}

#[rstest]
#[case::a_bare_request(json!({ "uid": "1", "object": { "a": 1 } }))]
#[case::an_admission_review(json!({
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": { "uid": "1", "object": { "a": 1 } },
}))]
fn a_mutation_becomes_a_patch(#[case] request: Value) -> Result<()> {
    let policy = answering(r#"{"accepted":true,"mutated_object":{"a":1,"b":2}}"#);
    let evaluation = policy.validate(&request, &json!({}), NoCluster)?;
    let patch = serde_json::to_value(evaluation.patch)?;
    assert_eq!(patch, json!([{ "op": "add", "path": "/b", "value": 2 }]));
    Ok(())
}

#[test]
fn a_mutation_that_changes_nothing_is_no_patch() -> Result<()> {
    let policy = answering(r#"{"accepted":true,"mutated_object":{"a":1}}"#);
    let evaluation = policy.validate(&json!({ "object": { "a": 1 } }), &json!({}), NoCluster)?;
    assert_eq!(evaluation.patch, None);
    Ok(())
}

#[test]
fn only_objects_can_be_mutated() {
    let policy = answering(r#"{"accepted":true,"mutated_object":{}}"#);
    let error = policy.validate(&json!({ "object": null }), &json!({}), NoCluster).unwrap_err();
    assert!(error.to_string().contains("has no object"), "{error}");
}

#[test]
fn a_rejection_is_told_word_for_word() -> Result<()> {
    let policy = answering(r#"{"accepted":false,"message":"not here","code":403}"#);
    let answer = policy.validate(&json!({}), &json!({}), NoCluster)?.answer;
    assert!(!answer.accepted);
    assert_eq!(answer.message.as_deref(), Some("not here"));
    assert_eq!(answer.code, Some(403));
    Ok(())
}

#[test]
fn an_answer_that_is_none_is_an_error() {
    let error = answering("hello").validate(&json!({}), &json!({}), NoCluster).unwrap_err();
    assert!(error.to_string().contains("hello"), "{error}");
}
