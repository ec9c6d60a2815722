//! A policy, what it says to one request, and to its settings.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result, anyhow, bail};
use json_patch::Patch;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

#[cfg(feature = "module")]
use super::interpreter::Interpreted;
use super::{
    call::{Call, Engine, HostCalls, Metadata, Record},
    cluster::{Cluster, NoCluster},
    native::Native,
};

/// A policy, bound by what its metadata declares.
pub struct Policy {
    engine: Box<dyn Engine>,
    metadata: Arc<Metadata>,
}

impl Policy {
    /// A policy that `engine` runs.
    pub fn new(engine: impl Engine, metadata: Metadata) -> Self {
        Self { engine: Box::new(engine), metadata: Arc::new(metadata) }
    }

    /// The policy's crate, as it is linked here.
    pub fn native() -> Self {
        Self::new(Native, Metadata::of_this_policy())
    }

    /// A module of the policy, in WebAssembly's binary format, by an interpreter.
    ///
    /// # Errors
    /// It is no module, or none that a waPC host can run.
    #[cfg(feature = "module")]
    pub fn interpreted(module: &[u8]) -> Result<Self> {
        Ok(Self::new(Interpreted::load(module)?, Metadata::of_this_policy()))
    }

    /// What runs it.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// What it may ask its host for.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Calls one operation of a fresh instance.
    pub fn call(&self, operation: &str, payload: &[u8], cluster: impl Cluster + 'static) -> Call {
        let host_calls = Arc::new(Mutex::new(HostCalls::new(self.metadata.clone(), Box::new(cluster))));
        let result = self.engine.call(operation, payload, host_calls.clone());
        Call::of(result, &host_calls)
    }

    /// Evaluates a request: a bare one, or a whole AdmissionReview. Fails if the policy fails to
    /// answer, or if the cluster complains.
    pub fn validate(&self, request: &Value, settings: &Value, cluster: impl Cluster + 'static) -> Result<Evaluation> {
        let request = admission_request(request);
        let call = self.call("validate", &payload(request, settings), cluster);
        let answer: Answer = parse_answer(&call)?;
        let patch = match &answer.mutated_object {
            Some(mutated) => patch_between(&request["object"], mutated)?,
            None => None,
        };
        Ok(Evaluation { answer, patch, record: call.record })
    }

    /// Asks whether settings are valid.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn validate_settings(&self, settings: &Value) -> Result<SettingsAnswer> {
        parse_answer(&self.call("validate_settings", settings.to_string().as_bytes(), NoCluster))
    }
}

/// What a policy says to a request, word for word.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Answer {
    pub accepted: bool,
    pub message: Option<String>,
    pub code: Option<u16>,
    pub mutated_object: Option<Value>,
    pub audit_annotations: Option<BTreeMap<String, String>>,
    pub warnings: Option<Vec<String>>,
}

impl Answer {
    /// Why it is a rejection: `403: …`
    pub fn reason(&self) -> String {
        let code = self.code.map(|code| format!("{code}: ")).unwrap_or_default();
        format!("{code}{}", self.message.as_deref().unwrap_or("(no message)"))
    }
}

/// What a policy says to its settings.
#[derive(Clone, Debug, Deserialize)]
pub struct SettingsAnswer {
    pub valid: bool,
    pub message: Option<String>,
}

/// One evaluated request.
#[derive(Debug, Default)]
pub struct Evaluation {
    pub answer: Answer,
    /// The JSON patch that the API server would get; none if the answer changes nothing.
    pub patch: Option<Patch>,
    /// What happened meanwhile.
    pub record: Record,
}

/// The request within an AdmissionReview; anything else is taken for the request itself.
pub fn admission_request(document: &Value) -> &Value {
    if document["kind"] == "AdmissionReview" { &document["request"] } else { document }
}

/// What the host hands to `validate`.
pub fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    format!(r#"{{"request":{request},"settings":{settings}}}"#).into_bytes()
}

fn parse_answer<T: DeserializeOwned>(call: &Call) -> Result<T> {
    if let Some(complaint) = &call.complaint {
        bail!("{complaint}");
    }
    let bytes = call.result.as_ref().map_err(|error| anyhow!("the call failed: {error}"))?;
    serde_json::from_slice(bytes).with_context(|| format!("the policy answered {:?}", String::from_utf8_lossy(bytes)))
}

fn patch_between(object: &Value, mutated: &Value) -> Result<Option<Patch>> {
    if object.is_null() {
        bail!("the policy mutates a request that has no object");
    }
    let patch = json_patch::diff(object, mutated);
    Ok((!patch.is_empty()).then_some(patch))
}
