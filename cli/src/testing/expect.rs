//! How a case must end, and what is different where it ends otherwise.

use std::{collections::BTreeMap, iter::zip};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Evaluation, Lookup, input::json::text, output::changes::gets, stored};

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a text, or a list of texts")]
pub enum Parts {
    One(String),
    All(Vec<String>),
}

impl Parts {
    fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::All(texts) => texts,
        }
    }

    /// Whether a text is the one, or has all parts.
    fn fit(&self, found: &str) -> bool {
        match self {
            Self::One(text) => text == found,
            Self::All(parts) => parts.iter().all(|part| found.contains(part)),
        }
    }
}

/// What came of a request.
#[derive(Debug, Default)]
pub struct Answered {
    /// Why the settings are refused, if they are; nothing is asked then.
    pub invalid: Option<String>,
    pub request: Value,
    pub evaluation: Evaluation,
    /// Why no policy is asked, if none is.
    pub not_asked: Option<String>,
    /// The names of the nodes that its Pods may run on, if the case expects some, or none.
    pub nodes: Option<Vec<String>>,
    /// The Pod as it is stored once the Binding is carried out.
    pub bound_pod: Option<Value>,
}

/// Something that ended otherwise than expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The field of `expect`.
    pub field: &'static str,
    pub expected: String,
    pub found: String,
}

impl Expect {
    /// Whether a part of the message is empty, which every message has.
    pub(super) fn has_empty_message(&self) -> bool {
        let texts = self.message.as_ref().map(Parts::texts);
        texts.is_some_and(|texts| texts.is_empty() || texts.iter().any(String::is_empty))
    }

    /// How an answer differs.
    pub fn compare(&self, answered: &Answered) -> Vec<Mismatch> {
        let Answered { invalid, evaluation, not_asked, nodes, bound_pod, .. } = answered;
        let Evaluation { answer, patch, record } = evaluation;
        let message = invalid.as_ref().or(answer.message.as_ref()).map_or("", String::as_str);
        let mut mismatches = Mismatches::default();
        let begins = |start: &String| invalid.as_ref().is_some_and(|message| message.starts_with(start));
        mismatches.check("invalid", &self.invalid, begins, invalid.as_deref().unwrap_or("valid settings"));
        mismatches.check("begins", &self.begins, |start| message.starts_with(start), message);
        let parts = self.message.iter().flat_map(Parts::texts);
        mismatches.check_each("message", parts, |part| message.contains(part), message);
        for secret in self.conceals.iter().flatten() {
            mismatches.check("conceals", &Some(format!("no {secret:?}")), |_| !message.contains(secret), message);
        }
        if invalid.is_some() {
            return mismatches.0;
        }
        let verdict = match (answer.accepted, not_asked) {
            (true, Some(reason)) => format!("true: the policy is not asked ({reason})"),
            (true, None) => "true".to_owned(),
            (false, _) => format!("false: {message}"),
        };
        mismatches.check("accepted", &self.accepted, |expected| *expected == answer.accepted, verdict);
        mismatches.check("code", &self.code, |expected| Some(*expected) == answer.code, answer.code);
        let is_logged = |part: &str| record.logs.iter().any(|log| text(&log["message"]).contains(part));
        mismatches.check_each("logs", self.logs.iter().flatten(), is_logged, &record.logs);
        let warnings = answer.warnings.clone().unwrap_or_default();
        let are_warnings = |parts: &Vec<String>| {
            parts.len() == warnings.len() && zip(&warnings, parts).all(|(warning, part)| warning.contains(part))
        };
        mismatches.check("warnings", &self.warnings, are_warnings, &warnings);
        let is_warned = |part: &str| warnings.iter().any(|warning| warning.contains(part));
        mismatches.check_each("warned", self.warned.iter().flatten(), is_warned, &warnings);
        let lookups: Vec<String> = record.lookups.iter().map(Lookup::describe).collect();
        mismatches.check("lookups", &self.lookups, |expected| *expected == lookups, &lookups);
        let audited = answer.audit_annotations.clone().unwrap_or_default();
        let are_audited = |expected: &BTreeMap<String, Parts>| {
            expected.keys().eq(audited.keys())
                && zip(audited.values(), expected.values()).all(|(it, parts)| parts.fit(it))
        };
        mismatches.check("audit", &self.audit, are_audited, &audited);
        mismatches.check_list("adds", &self.adds, &gets(evaluation));
        let patch = json!(patch.clone().unwrap_or_default());
        mismatches.check("patch", &self.patch, |expected| json!(expected) == patch, &patch);
        mismatches.check_list("nodes", &self.nodes, nodes.as_deref().unwrap_or_default());
        let environment = stored::environment(bound_pod.as_ref().unwrap_or(&Value::Null));
        mismatches.check("environment", &self.environment, |expected| *expected == environment, &environment);
        mismatches.0
    }
}

#[derive(Default)]
struct Mismatches(Vec<Mismatch>);

impl Mismatches {
    /// Checks a field, if it is named.
    fn check<T: Serialize>(
        &mut self,
        field: &'static str,
        expected: &Option<T>,
        holds: impl Fn(&T) -> bool,
        found: impl Serialize,
    ) {
        if let Some(expected) = expected.as_ref().filter(|expected| !holds(expected)) {
            self.0.push(Mismatch { field, expected: as_text(expected), found: as_text(found) });
        }
    }

    /// Checks each part of a text, or of texts.
    fn check_each<'p>(
        &mut self,
        field: &'static str,
        parts: impl Iterator<Item = &'p String>,
        holds: impl Fn(&str) -> bool,
        found: impl Serialize,
    ) {
        parts.for_each(|part| self.check(field, &Some(part), |part| holds(part), &found));
    }

    /// Checks a list, whose order does not matter.
    fn check_list(&mut self, field: &'static str, expected: &Option<Vec<String>>, found: &[String]) {
        let sorted = |texts: &[String]| {
            let mut texts = texts.to_vec();
            texts.sort();
            texts
        };
        self.check(field, expected, |expected| sorted(expected) == sorted(found), found);
    }
}

/// For people: a text as it is, a list of texts with commas, all else as JSON.
fn as_text(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    match &value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) if text.is_empty() => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(elements) if elements.is_empty() => "nothing".to_owned(),
        Value::Array(elements) if elements.iter().all(Value::is_string) => {
            elements.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        _ => value.to_string(),
    }
}
