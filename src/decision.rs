//! What the policy answers: accept, mutate or reject, with warnings and audit annotations.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::json::{RawObject, ReadError};
use crate::limits::MOST_WARNINGS;
use crate::message;
use crate::object_meta::ObjectName;
use crate::settings::{SettingPath, SettingsError, Source};

/// How much it matters what is logged. It is written as the host spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// A look-up failed, or a request would be rejected if an entry was enforced.
    Warning,
    /// A request was rejected.
    Info,
    /// Something would be added if an entry was enforced.
    Debug,
}

/// The answer to a request that was not rejected; the default accepts it as it is.
#[derive(Debug, Default)]
pub struct Decision<'a> {
    /// The object, where it is to change.
    pub mutated: Option<RawObject<'a>>,
    warnings: Vec<String>,
    audit_annotations: BTreeMap<&'static str, String>,
    /// Whether the audit log is told even if nothing changes.
    is_audited: bool,
    /// What is logged.
    pub log: Vec<(LogLevel, String)>,
    /// Why it would be rejected, if its entry was enforced.
    pub cause: Option<Cause>,
}

/// The answer to a request that must not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection(Box<Reasons>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Reasons {
    /// 403 what the rules forbid, 400 what can't be read, 500 a look-up or a setting that failed.
    code: u16,
    /// The sentence of Kubernetes' in-tree plugin, if one rejects the same.
    sentence: Option<String>,
    /// What is wrong, and what to do about it; empty, if the sentence stands alone.
    explanation: String,
    cause: Cause,
}

/// Why something was rejected, or would be, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// The sort of cause.
    pub kind: CauseKind,
    /// The setting that requires it.
    pub setting: Option<SettingPath>,
    /// The key of the Namespace's annotation that requires it.
    pub annotation: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The key of the label, of nodes or of the Namespace.
    pub label: Option<String>,
    /// The toleration or taint, as `key[=value][:Effect]`.
    pub taint: Option<String>,
    /// What was required: `pool=blue`.
    pub required: Option<String>,
    /// What was requested: `pool=red`.
    pub requested: Option<String>,
    /// What only the log says. Tenants read messages, those of Bindings too, as events.
    pub detail: Option<String>,
}

/// The sorts of [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CauseKind {
    /// An object requests what a node selector, a whitelist or a forbidden toleration does not allow.
    Requests,
    /// A setting refers to a label that the Namespace lacks, or whose value does not fit there.
    MissingLabel,
    /// An annotation of the Namespace is malformed.
    Annotation,
    /// The RuntimeClass of the Pod contains what is not allowed.
    RuntimeClass,
    /// The Pod names a node, or is bound to one, that it must not use.
    NodeName,
    /// A list, a text or an object is larger than its limit.
    Limit,
    /// Node metadata lacks a value, or somebody else wrote what the policy alone writes.
    Metadata,
    /// Two settings contradict each other, or a setting and an annotation, or two annotations.
    Contradiction,
    /// The request, the settings, or the answer of a look-up can't be read.
    #[default]
    Unreadable,
}

/// The answer as the host reads it. Strings, numbers and texts that were read can always be written; and the host
/// rejects what says nothing.
#[derive(Default, Serialize)]
struct Answer<'d> {
    accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutated_object: Option<&'d RawObject<'d>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_annotations: Option<&'d BTreeMap<&'static str, String>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'d [String],
}

impl Decision<'_> {
    /// Tells the requester about something, in one line.
    pub fn warn(&mut self, warning: &str) {
        self.warnings.push(message::warning(warning));
    }

    /// Tells the requester of what was not rejected, and could have been: what is wrong, and first of all that.
    pub fn warn_instead(&mut self, rejection: &Rejection) {
        self.warn(rejection.reason());
    }

    /// Lets pass what would be rejected if its entry was enforced, and tells so.
    pub fn would_reject(&mut self, rejection: &Rejection) {
        self.warn(&format!("would be rejected: {}", rejection.reason()));
        self.log.push((LogLevel::Warning, format!("would be rejected: {}", rejection.for_log())));
        self.audit("would-reject", &rejection.message());
        self.cause = Some(rejection.cause().clone());
        self.is_audited = true;
    }

    /// Leaves away what would be `added` if its entry was enforced, and tells so.
    pub fn would_add(&mut self, added: &str) {
        self.warn(&format!("would get {added}"));
        self.log.push((LogLevel::Debug, format!("would get {added}")));
        self.audit("would-add", &message::rejection(added));
        self.is_audited = true;
    }

    /// Tells the audit log about a change.
    pub fn audit(&mut self, key: &'static str, value: &str) {
        self.audit_annotations.insert(key, message::escaped(value));
    }

    /// Returns the answer as the host reads it. The last warning counts those that are left out.
    pub fn to_json(&mut self) -> Vec<u8> {
        let warnings = self.warnings.len();
        if warnings > MOST_WARNINGS {
            self.warnings.truncate(MOST_WARNINGS - 1);
            self.warnings.push(format!("{} more warnings", warnings - self.warnings.len()));
        }
        // Of what was only validated, the API server's own entry tells enough.
        let is_audited = self.is_audited || self.mutated.is_some();
        let audit_annotations = is_audited.then_some(&self.audit_annotations);
        let answer = Answer {
            accepted: true,
            mutated_object: self.mutated.as_ref(),
            audit_annotations: audit_annotations.filter(|annotations| !annotations.is_empty()),
            warnings: &self.warnings,
            ..Answer::default()
        };
        serde_json::to_vec(&answer).unwrap_or_default()
    }
}

impl Rejection {
    /// Returns the rejection of what the rules forbid.
    pub fn forbidden(cause: impl Into<Cause>, explanation: impl Into<String>) -> Self {
        Self::new(403, cause.into(), None, explanation.into())
    }

    /// Returns the rejection of what the rules forbid, and an in-tree plugin of Kubernetes rejects with this `sentence`.
    pub fn with_sentence(sentence: impl Into<String>, cause: Cause, explanation: impl Into<String>) -> Self {
        Self::new(403, cause, Some(sentence.into()), explanation.into())
    }

    /// Returns the rejection of the object `name` for a list in `field` that has more than `most` of something.
    pub fn too_many(name: &ObjectName, most: usize, what: &str, field: &str) -> Self {
        // The path of a request's object is the path of the object itself for whoever wrote it.
        let field = field.strip_prefix("object.").unwrap_or(field);
        let explanation =
            format!("{name} has more than {most} {what} in {field}, with what is added to it; remove some");
        Self::forbidden(CauseKind::Limit, explanation)
    }

    /// Returns the rejection of a request that can't be read.
    pub fn bad_request(explanation: impl Into<String>) -> Self {
        Self::new(400, CauseKind::Unreadable.into(), None, explanation.into())
    }

    /// Returns the rejection after something failed that the policy needs.
    pub fn internal(explanation: impl Into<String>) -> Self {
        Self::new(500, CauseKind::Unreadable.into(), None, explanation.into())
    }

    fn new(code: u16, cause: Cause, sentence: Option<String>, explanation: String) -> Self {
        Self(Box::new(Reasons { code, sentence, explanation, cause }))
    }

    /// Returns why, as data.
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Names the namespace in the cause.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.0.cause.namespace = Some(namespace.to_owned());
        self
    }

    /// Returns the sentence and the explanation, of at most 1,024 characters; never empty.
    pub fn message(&self) -> String {
        let reason = self.reason();
        match &self.0.sentence {
            Some(sentence) if sentence != reason => message::rejection(&format!("{sentence}: {reason}")),
            _ => message::rejection(reason),
        }
    }

    /// Returns what is wrong, and what to do about it, without the in-tree sentence; that, if it stands alone.
    fn reason(&self) -> &str {
        match &self.0.sentence {
            Some(sentence) if self.0.explanation.is_empty() => sentence,
            _ => &self.0.explanation,
        }
    }

    /// Returns whether a setting refers to a label that the Namespace lacks. The setting may not be needed.
    pub fn is_unresolved(&self) -> bool {
        self.0.cause.kind == CauseKind::MissingLabel
    }

    /// Returns what is logged.
    pub fn for_log(&self) -> String {
        match &self.0.cause.detail {
            Some(detail) => format!("{} ({detail})", self.message()),
            None => self.message(),
        }
    }

    /// Returns whether the rules forbid it: nothing failed, and the request can be read.
    pub fn is_forbidden(&self) -> bool {
        self.0.code == 403
    }

    /// Returns whether it is the request that can't be read.
    pub fn is_bad_request(&self) -> bool {
        self.0.code == 400
    }

    /// Returns the answer as the host reads it.
    pub fn to_json(&self) -> Vec<u8> {
        let answer = Answer { code: Some(self.0.code), message: Some(self.message()), ..Answer::default() };
        serde_json::to_vec(&answer).unwrap_or_default()
    }
}

impl Cause {
    /// Returns a cause of this kind, which is required at `source`.
    pub fn at(kind: CauseKind, source: Source<'_>) -> Self {
        Self { kind, setting: source.setting(), annotation: source.annotation(), ..Self::default() }
    }
}

impl From<CauseKind> for Cause {
    fn from(kind: CauseKind) -> Self {
        Self { kind, ..Self::default() }
    }
}

impl From<ReadError> for Rejection {
    fn from(error: ReadError) -> Self {
        Self::bad_request(format!("the request can't be read: {error}"))
    }
}

impl From<SettingsError> for Rejection {
    fn from(error: SettingsError) -> Self {
        Self::internal(format!("the policy's settings have a mistake: {error}"))
    }
}
