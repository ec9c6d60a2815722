//! What the tests of the core share: a cluster made of JSON, and the recorded answers of Kubernetes.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use node_placement_policy::cluster::{Cluster, Kind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The lines of a file in `e2e-tests/fixtures/vectors`.
pub fn vectors<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e-tests/fixtures/vectors").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A cluster of one Namespace and any Nodes, which counts what it is asked.
#[derive(Default)]
pub struct TestCluster {
    pub namespace: Option<Value>,
    pub nodes: Vec<Value>,
    /// Makes every look-up fail so.
    pub failure: Option<String>,
    pub asked: RefCell<Vec<(String, Vec<String>)>>,
}

impl TestCluster {
    pub fn with_annotations(annotations: Value) -> Self {
        Self { namespace: Some(json!({"metadata": {"annotations": annotations}})), ..Self::default() }
    }

    pub fn with_node(mut self, name: &str, labels: Value) -> Self {
        self.nodes.push(json!({"metadata": {"name": name, "labels": labels}}));
        self
    }

    /// What was asked since the last time, as `Node node-a`.
    pub fn asked(&self) -> Vec<String> {
        self.asked.take().into_iter().map(|(what, _)| what).collect()
    }
}

impl Cluster for TestCluster {
    fn get(&self, kind: Kind, name: &str, masks: &BTreeSet<String>) -> Result<String, String> {
        let masks = masks.iter().cloned().collect();
        self.asked.borrow_mut().push((format!("{} {name}", kind.name()), masks));
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let found = match kind {
            Kind::Namespace => self.namespace.as_ref(),
            Kind::Node => self.nodes.iter().find(|node| node["metadata"]["name"] == name),
        };
        let not_found = || format!("Cannot find v1/{} named '{name}' inside of namespace 'None'", kind.name());
        found.map(Value::to_string).ok_or_else(not_found)
    }

    fn note(&self, _failure: &str) {}
}

/// The policy's answer, read back.
#[derive(Debug)]
pub struct Answer(pub Value);

impl Answer {
    pub fn accepted(&self) -> bool {
        self.0["accepted"] == true
    }

    pub fn code(&self) -> u64 {
        self.0["code"].as_u64().unwrap_or_default()
    }

    pub fn message(&self) -> &str {
        self.0["message"].as_str().unwrap_or_default()
    }

    pub fn mutated(&self) -> Option<&Value> {
        self.0.get("mutated_object")
    }

    pub fn warnings(&self) -> Vec<&str> {
        self.0["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

pub fn validate(request: &Value, settings: &Value, cluster: &TestCluster) -> Answer {
    let payload = json!({"request": request, "settings": settings}).to_string();
    validate_text(&payload, cluster)
}

pub fn validate_text(payload: &str, cluster: &TestCluster) -> Answer {
    let (answer, _) = node_placement_policy::validate(payload.as_bytes(), cluster);
    Answer(serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}")))
}

/// A request in the core group about `object`, in namespace `team-a`.
pub fn request(resource: &str, operation: &str, object: Value) -> Value {
    request_in("", resource, operation, object)
}

pub fn request_in(group: &str, resource: &str, operation: &str, object: Value) -> Value {
    json!({
        "resource": {"group": group, "version": "v1", "resource": resource},
        "operation": operation,
        "namespace": "team-a",
        "userInfo": {"username": "somebody"},
        "object": object,
    })
}
