//! What the policy answers: accept, mutate or reject, with warnings and audit annotations.

use json::{Mismatch, Object, ParseError};
use serde::Serialize;

use crate::cluster::Node;
use crate::message;
use crate::settings::Mistake;

/// The usual length of an answer without the object, in bytes.
const REST: usize = 512;

/// The answer to a request that was not rejected.
#[derive(Debug, Default)]
pub struct Decision {
    /// The object, where it is to change.
    mutated: Option<Object>,
    warnings: Vec<String>,
    audit_annotations: Vec<(&'static str, String)>,
}

/// The answer to a request that must not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection(Box<Reasons>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Reasons {
    /// 403 what the rules forbid, 400 what can't be read, 500 a look-up or a setting that failed.
    code: u16,
    /// How Kubernetes words it, if its in-tree plugins do.
    sentence: Option<String>,
    /// What is wrong, and what to do about it; empty, if the sentence stands alone.
    explanation: String,
    /// What only the log is told: tenants read messages, those of Bindings too, as events.
    detail: Option<String>,
}

impl Decision {
    /// Accepts the request as it is.
    pub fn accept() -> Self {
        Self::default()
    }

    /// Lets `object` take the place of the request's, if it was changed.
    pub fn mutate(&mut self, object: Object) {
        self.mutated = if object.is_changed() { Some(object) } else { None };
    }

    /// Tells the requester about something, in one line.
    pub fn warn(&mut self, warning: &str) {
        self.warnings.push(message::warning(warning));
    }

    /// Tells the requester of what was not rejected, and could have been: what is wrong, and first of all that.
    pub fn warn_instead(&mut self, rejection: &Rejection) {
        match &rejection.0.sentence {
            Some(sentence) if rejection.0.explanation.is_empty() => self.warn(sentence),
            _ => self.warn(&rejection.0.explanation),
        }
    }

    /// Tells the audit log which Node was read for a change.
    pub fn record_node(&mut self, node: &Node) {
        self.audit("node", node.name.as_str().to_owned());
    }

    /// Tells the audit log about a change.
    pub fn audit(&mut self, key: &'static str, value: String) {
        self.audit_annotations.push((key, value));
    }

    /// The answer as the host reads it.
    pub fn to_json(&self) -> String {
        // Growing it as it is written would take twice the memory, and most of it goes to the object.
        let object = self.mutated.as_ref().map_or(0, Object::text_len);
        let mut out = String::with_capacity(object + REST);
        out.push_str(r#"{"accepted":true"#);
        if let Some(object) = &self.mutated {
            out.push_str(r#","mutated_object":"#);
            object.write(&mut out);
            // Of what was only judged, the API server's own entry tells enough.
            if !self.audit_annotations.is_empty() {
                let mut annotations = Object::new();
                for (key, value) in &self.audit_annotations {
                    annotations.push(key, value.as_str());
                }
                out.push_str(r#","audit_annotations":"#);
                annotations.write(&mut out);
            }
        }
        if !self.warnings.is_empty() {
            push_member(&mut out, "warnings", &self.warnings);
        }
        out.push('}');
        out
    }
}

impl Rejection {
    /// The rules forbid it.
    pub fn forbidden(explanation: impl Into<String>) -> Self {
        Self::new(403, None, explanation.into())
    }

    /// The rules forbid it, and `sentence` is how an in-tree plugin of Kubernetes says so.
    pub fn with_sentence(sentence: impl Into<String>, explanation: impl Into<String>) -> Self {
        Self::new(403, Some(sentence.into()), explanation.into())
    }

    /// The request can't be read.
    pub fn bad_request(explanation: impl Into<String>) -> Self {
        Self::new(400, None, explanation.into())
    }

    /// Something that the policy needs failed.
    pub fn internal(explanation: impl Into<String>) -> Self {
        Self::new(500, None, explanation.into())
    }

    #[cold]
    #[inline(never)]
    fn new(code: u16, sentence: Option<String>, explanation: String) -> Self {
        Self(Box::new(Reasons { code, sentence, explanation, detail: None }))
    }

    /// The sentence and the explanation, of at most 1,024 characters; never empty.
    pub fn message(&self) -> String {
        match &self.0.sentence {
            None => message::rejection(&self.0.explanation),
            Some(sentence) if self.0.explanation.is_empty() => message::rejection(sentence),
            Some(sentence) => message::rejection(&format!("{sentence}: {}", self.0.explanation)),
        }
    }

    /// The same, with what the log is told beside the message.
    pub fn with_detail(mut self, detail: String) -> Self {
        self.0.detail = Some(detail);
        self
    }

    /// What is logged.
    pub fn for_log(&self) -> String {
        match &self.0.detail {
            Some(detail) => format!("{} ({detail})", self.message()),
            None => self.message(),
        }
    }

    /// Whether it is the request that can't be read.
    pub fn is_bad_request(&self) -> bool {
        self.0.code == 400
    }

    /// The answer as the host reads it.
    pub fn to_json(&self) -> String {
        let mut out = String::from(r#"{"accepted":false"#);
        push_member(&mut out, "code", &self.0.code);
        push_member(&mut out, "message", &self.message());
        out.push('}');
        out
    }
}

impl From<Mismatch> for Rejection {
    #[cold]
    #[inline(never)]
    fn from(mismatch: Mismatch) -> Self {
        Self::bad_request(format!("the request can't be read: {mismatch}"))
    }
}

impl From<ParseError> for Rejection {
    #[cold]
    #[inline(never)]
    fn from(error: ParseError) -> Self {
        Self::bad_request(format!("the request can't be read: {error}"))
    }
}

impl From<Mistake> for Rejection {
    #[cold]
    #[inline(never)]
    fn from(mistake: Mistake) -> Self {
        Self::internal(format!("the policy's settings have a mistake: {mistake}"))
    }
}

fn push_member(out: &mut String, name: &str, value: &impl Serialize) {
    // Strings, numbers and lists of strings always serialize.
    if let Ok(json) = serde_json::to_string(value) {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        out.push_str(&json);
    }
}
