//! How a case must end, and what is different where it ends otherwise.

use std::{collections::BTreeMap, fmt::Display};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Evaluation, Lookup, output::changes::gets, stored};

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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
}

/// A request that was answered.
#[derive(Debug)]
pub struct Answered {
    pub request: Value,
    pub evaluation: Evaluation,
    /// Why no policy is asked, if none is.
    pub not_asked: Option<String>,
    /// The names of the nodes that its Pods may run on; none if nobody expects any.
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
    pub(super) fn has_empty_text(&self) -> bool {
        self.message
            .as_ref()
            .is_some_and(|parts| parts.texts().is_empty() || parts.texts().iter().any(String::is_empty))
    }

    /// How an answer differs.
    pub fn compare(&self, answered: &Answered) -> Vec<Mismatch> {
        let Answered { evaluation, not_asked, nodes, bound_pod, .. } = answered;
        let answer = &evaluation.answer;
        let message = answer.message.as_deref().unwrap_or_default();
        let mut found = Mismatches::default();
        if let Some(start) = &self.invalid {
            found.differ("invalid", format!("settings that are refused: {start}"), "valid settings");
        }
        let verdict = match (answer.accepted, not_asked) {
            (true, Some(reason)) => format!("true: the policy is not asked ({reason})"),
            (true, None) => "true".to_owned(),
            (false, _) => format!("false: {message}"),
        };
        found.check("accepted", self.accepted, |accepted| *accepted == answer.accepted, verdict);
        let code = answer.code.map_or("none".to_owned(), |code| code.to_string());
        found.check("code", self.code, |code| answer.code == Some(*code), code);
        self.compare_message(message, &mut found);
        for entry in self.logs.iter().flatten() {
            let says = |log: &Value| log["message"].as_str().unwrap_or_default().contains(entry);
            if !evaluation.record.logs.iter().any(says) {
                found.differ("logs", entry, Value::from(evaluation.record.logs.clone()));
            }
        }
        let warnings = answer.warnings.clone().unwrap_or_default();
        if let Some(expected) = &self.warnings {
            let are_said = warnings.len() == expected.len()
                && warnings.iter().zip(expected).all(|(warning, part)| warning.contains(part));
            found.check_that(are_said, "warnings", json!(expected), json!(warnings));
        }
        for part in self.warned.iter().flatten() {
            let is_said = warnings.iter().any(|warning| warning.contains(part));
            found.check_that(is_said, "warned", part, json!(warnings));
        }
        if let Some(expected) = &self.lookups {
            let made: Vec<String> = evaluation.record.lookups.iter().map(Lookup::describe).collect();
            found.check_that(made == *expected, "lookups", json!(expected), json!(made));
        }
        if let Some(expected) = &self.audit {
            let annotations = answer.audit_annotations.clone().unwrap_or_default();
            let says = |(key, parts): (&String, &Parts)| match (annotations.get(key), parts) {
                (Some(text), Parts::One(whole)) => text == whole,
                (Some(text), Parts::All(parts)) => parts.iter().all(|part| text.contains(part)),
                (None, _) => false,
            };
            let is_audited = annotations.len() == expected.len() && expected.iter().all(says);
            let told: Map<String, Value> =
                expected.iter().map(|(key, parts)| (key.clone(), parts.texts().join(" … ").into())).collect();
            found.check_that(is_audited, "audit", Value::Object(told), json!(annotations));
        }
        if let Some(expected) = &self.adds {
            let added = gets(evaluation);
            found.check_that(sorted(&added) == sorted(expected), "adds", listed(expected), listed(&added));
        }
        if let Some(expected) = &self.patch {
            let patch = json!(evaluation.patch.clone().unwrap_or_default());
            found.check_that(patch == json!(expected), "patch", json!(expected), patch);
        }
        if let (Some(expected), Some(nodes)) = (&self.nodes, nodes) {
            found.check_that(sorted(nodes) == sorted(expected), "nodes", listed(expected), listed(nodes));
        }
        if let Some(expected) = &self.environment {
            let environment = stored::environment(bound_pod.as_ref().unwrap_or(&Value::Null));
            found.check_that(environment == *expected, "environment", json!(expected), json!(environment));
        }
        found.0
    }

    /// How the message differs with which settings are refused.
    pub fn compare_refusal(&self, message: &str) -> Vec<Mismatch> {
        let mut found = Mismatches::default();
        found.check("invalid", self.invalid.as_ref(), |start| message.starts_with(start.as_str()), message);
        self.compare_message(message, &mut found);
        found.0
    }

    fn compare_message(&self, message: &str, found: &mut Mismatches) {
        found.check("begins", self.begins.as_ref(), |start| message.starts_with(start.as_str()), message);
        for part in self.message.iter().flat_map(Parts::texts) {
            found.check_that(message.contains(part), "message", part, message);
        }
        for secret in self.conceals.iter().flatten() {
            found.check_that(!message.contains(secret), "conceals", format!("no {secret:?}"), message);
        }
    }
}

#[derive(Default)]
struct Mismatches(Vec<Mismatch>);

impl Mismatches {
    fn differ(&mut self, field: &'static str, expected: impl Display, found: impl Display) {
        let found = found.to_string();
        let found = if found.is_empty() { "nothing".to_owned() } else { found };
        self.0.push(Mismatch { field, expected: expected.to_string(), found });
    }

    fn check_that(&mut self, holds: bool, field: &'static str, expected: impl Display, found: impl Display) {
        if !holds {
            self.differ(field, expected, found);
        }
    }

    /// Checks a field, if it is named.
    fn check<T: Display>(
        &mut self,
        field: &'static str,
        expected: Option<T>,
        holds: impl Fn(&T) -> bool,
        found: impl Display,
    ) {
        if let Some(expected) = expected {
            self.check_that(holds(&expected), field, expected, found);
        }
    }
}

fn sorted(texts: &[String]) -> Vec<&String> {
    let mut texts: Vec<&String> = texts.iter().collect();
    texts.sort();
    texts
}

fn listed(texts: &[String]) -> String {
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
}
