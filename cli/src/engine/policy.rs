//! A policy, what it says to one request, and to its settings.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context, Result, anyhow, bail};
use json_patch::Patch;
use node_placement_policy::{
    cluster::Cluster,
    settings::{self, Settings},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::host::{Engine, Host, Native, Record};
#[cfg(feature = "module")]
use super::interpreter::Interpreted;
use crate::{
    cluster::manifests::{Identity, Manifests},
    input::json::{WrongType, all_wrong},
};

/// A policy, whatever runs it.
pub struct Policy(Box<dyn Engine>);

/// The result of one call into a policy.
#[derive(Debug)]
pub struct Call {
    /// The bytes the policy answered with, or the error of the call.
    pub result: Result<Vec<u8>, String>,
    /// The host calls that it made.
    pub record: Record,
}

impl Call {
    /// Makes an evaluation with what `host` has recorded meanwhile.
    pub fn new(result: Result<Vec<u8>>, host: &Host) -> Self {
        Self { result: result.map_err(|error| format!("{error:#}")), record: host.record().clone() }
    }
}

impl Policy {
    /// Returns a policy that `engine` runs.
    pub fn new(engine: impl Engine + 'static) -> Self {
        Self(Box::new(engine))
    }

    /// Returns the policy's crate, as it is linked here.
    pub fn native() -> Self {
        Self::new(Native)
    }

    /// Returns a module of the policy, in WebAssembly's binary format, by an interpreter.
    ///
    /// # Errors
    /// It is no module, or none that a waPC host can run.
    #[cfg(feature = "module")]
    pub fn interpreted(module: &[u8]) -> Result<Self> {
        Ok(Self::new(Interpreted::load(module)?))
    }

    /// Calls one operation of a fresh instance, whose look-ups reach `cluster`.
    pub fn call(&self, operation: &str, payload: &[u8], cluster: impl Cluster + Send + Sync + 'static) -> Call {
        let host = Arc::new(Host::new(cluster));
        let result = self.0.call(operation, payload, host.clone());
        Call::new(result, &host)
    }

    /// Evaluates a request: a bare one, or a whole AdmissionReview.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn validate(
        &self,
        request: &Value,
        settings: &Value,
        cluster: impl Cluster + Send + Sync + 'static,
    ) -> Result<Evaluation> {
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
        parse_answer(&self.call("validate_settings", settings.to_string().as_bytes(), Manifests::default()))
    }
}

/// Returns what is wrong with settings: all unknown fields and wrong types; if there are none, all other mistakes.
pub fn mistakes(settings: &Value) -> Vec<WrongType> {
    let wrong = |settings: &Value| Some(WrongType::from(Settings::read(Some(&settings.to_string())).err()?.error()));
    let (unreadable, _) = all_wrong(settings, wrong);
    if !unreadable.is_empty() {
        return unreadable;
    }
    let mistakes = settings::mistakes(&settings.to_string());
    mistakes.iter().map(|mistake| WrongType::from(mistake.error())).collect()
}

/// The answer of a policy to a request, word for word.
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
    /// Returns why it is a rejection: `403: …`
    pub fn reason(&self) -> String {
        let code = self.code.map(|code| format!("{code}: ")).unwrap_or_default();
        format!("{code}{}", self.message.as_deref().unwrap_or("(no message)"))
    }
}

/// The answer of a policy to its settings.
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
    /// The host calls that it made.
    pub record: Record,
}

impl Evaluation {
    /// Returns the objects that the policy looked up.
    pub fn looked_up(&self) -> impl Iterator<Item = Identity> {
        self.record.lookups.iter().map(Identity::from)
    }

    /// Adds what the next policy answers.
    pub fn add(&mut self, next: Self) {
        let (answer, record) = (&mut self.answer, &mut self.record);
        (answer.accepted, answer.message, answer.code) = (next.answer.accepted, next.answer.message, next.answer.code);
        answer.mutated_object = next.answer.mutated_object.or(answer.mutated_object.take());
        answer.audit_annotations.get_or_insert_default().extend(next.answer.audit_annotations.unwrap_or_default());
        answer.warnings.get_or_insert_default().extend(next.answer.warnings.unwrap_or_default());
        if let Some(mut patch) = next.patch {
            self.patch.get_or_insert_default().0.append(&mut patch.0);
        }
        record.cause = next.record.cause;
        record.lookups.extend(next.record.lookups);
        record.logs.extend(next.record.logs);
    }
}

/// Returns the request within an AdmissionReview; anything else is taken for the request itself.
pub fn admission_request(document: &Value) -> &Value {
    if document["kind"] == "AdmissionReview" { &document["request"] } else { document }
}

/// Returns what the host hands to `validate`.
pub fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    format!(r#"{{"request":{request},"settings":{settings}}}"#).into_bytes()
}

fn parse_answer<T: DeserializeOwned>(call: &Call) -> Result<T> {
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
