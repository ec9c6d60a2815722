//! What the tests of the core share: a cluster made of JSON, and the recorded answers of Kubernetes.
#![allow(clippy::needless_pass_by_value, reason = "they read better so")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

use std::path::Path;

use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The lines of a file in `e2e-tests/fixtures/vectors`.
pub fn vectors<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e-tests/fixtures/vectors").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A cluster of one Namespace.
#[derive(Default)]
pub struct TestCluster {
    namespace: Value,
}

impl TestCluster {
    pub fn with_annotations(annotations: Value) -> Self {
        Self { namespace: json!({"metadata": {"annotations": annotations}}) }
    }
}

impl Cluster for TestCluster {
    fn get_resource(&self, request: &GetResourceRequest) -> anyhow::Result<String> {
        match request.kind.as_str() {
            "Namespace" => Ok(self.namespace.to_string()),
            kind => anyhow::bail!("Cannot find v1/{kind} named '{}' inside of namespace 'None'", request.name),
        }
    }

    fn log(&self, _level: LogLevel, _message: &str) {}
}

/// The policy's answer, read back.
#[derive(Debug)]
pub struct Answer(Value);

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
}

pub fn validate(request: &Value, settings: &Value, cluster: &TestCluster) -> Answer {
    answer(json!({"request": request, "settings": settings}).to_string().as_bytes(), cluster)
}

pub fn answer(payload: &[u8], cluster: &TestCluster) -> Answer {
    let answer = node_placement_policy::validate(payload, cluster);
    Answer(serde_json::from_slice(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}")))
}

/// A request in the core group about `object`, in namespace `team-a`.
pub fn request(resource: &str, operation: &str, object: Value) -> Value {
    json!({
        "resource": {"group": "", "version": "v1", "resource": resource},
        "operation": operation,
        "namespace": "team-a",
        "userInfo": {"username": "somebody"},
        "object": object,
    })
}
