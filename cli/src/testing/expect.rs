//! How a case must end, and what is different where it ends otherwise.

use std::collections::BTreeMap;

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
    fn tell(&self, told: &str) -> bool {
        match self {
            Self::One(text) => text == told,
            Self::All(parts) => parts.iter().all(|part| told.contains(part)),
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
        let Answered { invalid, evaluation, not_asked, nodes, bound_pod, .. } = answered;
        let answer = &evaluation.answer;
        let message = invalid.as_ref().or(answer.message.as_ref()).map_or("", String::as_str);
        let mut found = Mismatches::default();
        let is_refused = |start: &String| invalid.as_ref().is_some_and(|message| message.starts_with(start));
        found.check("invalid", &self.invalid, is_refused, invalid.as_deref().unwrap_or("valid settings"));
        found.check("begins", &self.begins, |start| message.starts_with(start), message);
        for part in self.message.iter().flat_map(Parts::texts) {
            found.check("message", &Some(part), |part| message.contains(*part), message);
        }
        for secret in self.conceals.iter().flatten() {
            found.check("conceals", &Some(format!("no {secret:?}")), |_| !message.contains(secret), message);
        }
        if invalid.is_some() {
            return found.0;
        }
        let verdict = match (answer.accepted, not_asked) {
            (true, Some(reason)) => format!("true: the policy is not asked ({reason})"),
            (true, None) => "true".to_owned(),
            (false, _) => format!("false: {message}"),
        };
        found.check("accepted", &self.accepted, |accepted| *accepted == answer.accepted, &verdict);
        found.check("code", &self.code, |code| answer.code == Some(*code), &told(answer.code));
        let logs = Value::from(evaluation.record.logs.clone());
        for entry in self.logs.iter().flatten() {
            let says = |log: &Value| log["message"].as_str().is_some_and(|message| message.contains(entry));
            found.check("logs", &Some(entry), |_| evaluation.record.logs.iter().any(says), &logs.to_string());
        }
        let warnings = answer.warnings.clone().unwrap_or_default();
        let are_said = |parts: &Vec<String>| {
            parts.len() == warnings.len() && warnings.iter().zip(parts).all(|(warning, part)| warning.contains(part))
        };
        found.check("warnings", &self.warnings, are_said, &told(&warnings));
        for part in self.warned.iter().flatten() {
            let is_said = |part: &&String| warnings.iter().any(|warning| warning.contains(*part));
            found.check("warned", &Some(part), is_said, &told(&warnings));
        }
        let lookups: Vec<String> = evaluation.record.lookups.iter().map(Lookup::describe).collect();
        found.check("lookups", &self.lookups, |expected| *expected == lookups, &told(&lookups));
        let annotations = answer.audit_annotations.clone().unwrap_or_default();
        let are_audited = |expected: &BTreeMap<String, Parts>| {
            expected.keys().eq(annotations.keys())
                && annotations.values().zip(expected.values()).all(|(text, parts)| parts.tell(text))
        };
        found.check("audit", &self.audit, are_audited, &told(&annotations));
        let added = gets(evaluation);
        found.check("adds", &self.adds, |expected| sorted(expected) == sorted(&added), &told(&added));
        let patch = json!(evaluation.patch.clone().unwrap_or_default());
        found.check("patch", &self.patch, |expected| json!(expected) == patch, &patch.to_string());
        let nodes = nodes.clone().unwrap_or_default();
        found.check("nodes", &self.nodes, |expected| sorted(expected) == sorted(&nodes), &told(&nodes));
        let environment = stored::environment(bound_pod.as_ref().unwrap_or(&Value::Null));
        let is_environment = |expected: &Map<String, Value>| *expected == environment;
        found.check("environment", &self.environment, is_environment, &told(&environment));
        found.0
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
        found: &str,
    ) {
        if let Some(expected) = expected.as_ref().filter(|expected| !holds(expected)) {
            let found = if found.is_empty() { "nothing" } else { found }.to_owned();
            self.0.push(Mismatch { field, expected: told(expected), found });
        }
    }
}

/// For people: a text as it is, a list of texts with commas, all else as JSON.
fn told(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::Null) => "nothing".to_owned(),
        Ok(Value::String(text)) => text,
        Ok(Value::Array(elements)) if elements.is_empty() => "nothing".to_owned(),
        Ok(Value::Array(elements)) if elements.iter().all(Value::is_string) => {
            elements.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        value => value.unwrap_or_default().to_string(),
    }
}

fn sorted(texts: &[String]) -> Vec<&String> {
    let mut texts: Vec<&String> = texts.iter().collect();
    texts.sort();
    texts
}
