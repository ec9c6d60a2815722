//! How a case must end, and what is different where it ends otherwise.

use std::{collections::BTreeMap, iter::zip};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Answer, Evaluation, GetResourceRequest, Identity,
    engine::additions::additions,
    input::json::{list_of, members, text},
};

// A new field needs: what it is compared with, in `CaseAnswer::by_field`; in `unmet`, how it is compared, unless all of it
// must be equal; its name in `COMPARED_WITHOUT_REQUEST`, if it is about mistakes in the settings; a row in docs/tool.md,
// and the field in docs/testing.schema.json, which a test in e2e-tests writes.
/// How a case must end. What is not named is not checked.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Whether the request is let in.
    pub accepted: Option<bool>,
    /// The HTTP status of a rejection, such as 403.
    pub code: Option<u16>,
    /// What the message of a rejection says, somewhere: a text, or several.
    pub message: Option<Parts>,
    /// How the message begins.
    pub begins: Option<String>,
    /// What the message must not say.
    pub conceals: Option<Vec<String>>,
    /// All warnings, in order: a part of each.
    pub warnings: Option<Vec<String>>,
    /// What the warnings say, somewhere.
    pub warned: Option<Vec<String>>,
    /// All that is added, as `try` prints it; empty if nothing may be.
    pub adds: Option<Vec<String>>,
    /// The whole JSON patch; empty if nothing may change.
    pub patch: Option<Vec<Value>>,
    /// All nodes of the cluster that its Pods may run on, in any order; empty if there must be none.
    pub nodes: Option<Vec<String>>,
    /// All audit annotations: the whole text of each, or a list of its parts.
    pub audit: Option<BTreeMap<String, Parts>>,
    /// All look-ups, in order, as in `Node worker-1 (metadata.labels)`.
    pub lookups: Option<Vec<String>>,
    /// What is logged, somewhere.
    pub logs: Option<Vec<String>>,
    /// The environment of the containers of the bound Pod (`pod`).
    pub environment: Option<Map<String, Value>>,
    /// How the first mistake in the settings begins. Nothing is asked then.
    pub invalid: Option<String>,
}

/// A text, or several.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a text, or a list of texts")]
pub enum Parts {
    One(String),
    All(Vec<String>),
}

/// What came of a request.
#[derive(Debug, Default)]
pub struct CaseAnswer {
    /// Why the settings are refused, if they are; nothing is asked then.
    pub invalid: Option<String>,
    pub request: Value,
    pub evaluation: Evaluation,
    /// The answer that rejects the Pods of a workload, if the workload is accepted and they are not.
    pub pods_rejection: Option<Answer>,
    /// Why no policy is asked, if none is.
    pub not_asked: Option<String>,
    /// The names of the nodes that its Pods may run on, if the case expects some, or none.
    pub nodes: Option<Vec<String>>,
    /// The Pod as it is stored once the Binding is carried out.
    pub bound_pod: Option<Value>,
    /// The environment of the containers of the bound Pod: on each of the nodes that can run it.
    pub environments: Vec<Value>,
}

/// Something that ended otherwise than expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The field of `expect`.
    pub field: String,
    pub expected: String,
    pub found: String,
}

/// What is compared even if the settings have a mistake, with which no request is sent.
const COMPARED_WITHOUT_REQUEST: [&str; 4] = ["begins", "conceals", "invalid", "message"];

/// The fields that say whether a refusal is expected.
const ABOUT_REFUSALS: [&str; 4] = ["accepted", "begins", "code", "message"];

/// Returns how an answer differs from what is expected: fields of an [`Expect`].
pub fn compare(expected: &Map<String, Value>, answer: &CaseAnswer) -> Vec<Mismatch> {
    let found = answer.by_field();
    let mut mismatches: Vec<Mismatch> = answer.unexpected_refusal(expected).into_iter().collect();
    for (field, expected) in expected {
        let is_compared = answer.invalid.is_none() || COMPARED_WITHOUT_REQUEST.contains(&field.as_str());
        let is_other = |found: &&Value| field == "environment" && *found != expected;
        let found = answer.environments.iter().find(is_other).unwrap_or(&found[field]);
        if let Some(expected) = unmet(field, expected, found).filter(|_| is_compared) {
            mismatches.push(Mismatch { field: field.clone(), expected, found: as_text(found) });
        }
    }
    mismatches
}

impl CaseAnswer {
    /// Returns the answer that decides: that to the Pods of a workload, if these are rejected.
    pub fn decisive(&self) -> &Answer {
        self.pods_rejection.as_ref().unwrap_or(&self.evaluation.answer)
    }

    /// Reports a refusal that the case does not expect.
    fn unexpected_refusal(&self, expected: &Map<String, Value>) -> Option<Mismatch> {
        let is_expected = ABOUT_REFUSALS.iter().any(|field| expected.contains_key(*field));
        if self.invalid.is_some() || self.decisive().accepted || is_expected {
            return None;
        }
        let found = text(&self.by_field()["accepted"]).to_owned();
        Some(Mismatch { field: "accepted".to_owned(), expected: "true".to_owned(), found })
    }

    /// Returns what is compared with each field of `expect`.
    fn by_field(&self) -> Value {
        let Evaluation { answer, patch, record } = &self.evaluation;
        let decisive = self.decisive();
        let message = self.invalid.as_ref().or(decisive.message.as_ref());
        let accepted = match (decisive.accepted, &self.not_asked) {
            (true, Some(reason)) => format!("true: the policy is not asked ({reason})"),
            (true, None) => "true".to_owned(),
            (false, _) => format!("false: {}", message.map_or("", String::as_str)),
        };
        json!({
            "accepted": accepted,
            "adds": additions(&self.evaluation),
            "audit": answer.audit_annotations.clone().unwrap_or_default(),
            "begins": message,
            "code": decisive.code,
            "conceals": message,
            "environment": self.environments.first().cloned().unwrap_or_else(|| json!({})),
            "invalid": self.invalid,
            "logs": record.logs.iter().map(|log| &log["message"]).collect::<Vec<_>>(),
            "lookups": record.lookups.iter().map(with_fields).collect::<Vec<_>>(),
            "message": message,
            "nodes": self.nodes,
            "patch": patch.clone().unwrap_or_default(),
            "warned": answer.warnings,
            "warnings": answer.warnings,
        })
    }
}

/// Returns `Node worker-1 (metadata.labels)`: a look-up, with the fields that it requests.
fn with_fields(lookup: &GetResourceRequest) -> String {
    let fields: Vec<&str> = lookup.field_masks.iter().flatten().map(String::as_str).collect();
    format!("{} ({})", Identity::from(lookup), fields.join(", "))
}

/// Returns what is expected of a field, and not found.
fn unmet(field: &str, expected: &Value, found: &Value) -> Option<String> {
    let has = |part: &str| match found {
        Value::Array(texts) => texts.iter().any(|it| text(it).contains(part)),
        _ => text(found).contains(part),
    };
    let is_met = match field {
        "logs" | "message" | "warned" => {
            let unmet: Vec<&str> = parts(expected).into_iter().filter(|part| !has(part)).collect();
            return (!unmet.is_empty()).then(|| unmet.join(", "));
        }
        "conceals" => {
            let unmet = parts(expected).into_iter().find(|part| has(part));
            return unmet.map(|secret| format!("no {secret:?}"));
        }
        "accepted" => text(found).starts_with(&expected.to_string()),
        "begins" | "invalid" => found.as_str().is_some_and(|found| found.starts_with(text(expected))),
        "adds" | "nodes" => sorted(expected) == sorted(found),
        "audit" => {
            let is_met = |(key, text): (&String, &Value)| match text {
                Value::Array(_) => unmet("message", text, &found[key]).is_none(),
                _ => *text == found[key],
            };
            members(expected).count() == members(found).count() && members(expected).all(is_met)
        }
        "warnings" => {
            let (parts, warnings) = (list_of(expected), list_of(found));
            parts.len() == warnings.len() && zip(parts, warnings).all(|(part, it)| text(it).contains(text(part)))
        }
        _ => expected == found,
    };
    (!is_met).then(|| as_text(expected))
}

/// Returns a text, or several.
pub(super) fn parts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(texts) => texts.iter().map(text).collect(),
        _ => vec![text(value)],
    }
}

/// Returns a list, whose order does not matter.
fn sorted(list: &Value) -> Vec<&str> {
    let mut texts: Vec<&str> = list_of(list).iter().map(text).collect();
    texts.sort_unstable();
    texts
}

/// Words a value: a text as it is, a list of texts with commas, all else as JSON.
fn as_text(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(elements) if elements.is_empty() => "nothing".to_owned(),
        Value::Array(elements) if !elements.iter().all(Value::is_string) => value.to_string(),
        Value::String(_) | Value::Array(_) => parts(value).join(", "),
        _ => value.to_string(),
    }
}
