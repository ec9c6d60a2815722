//! What the policy answers: accept, mutate or reject, with warnings and audit annotations.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Serialize;

use crate::json::{RawObject, ReadError};
use crate::limits::MOST_WARNINGS;
use crate::message;
use crate::object_meta::ObjectName;
use crate::settings::{SettingPath, SettingsError, Source};

/// The level of a log line, as the host spells it.
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

/// The answer to a request that was not rejected. The default accepts it unchanged.
#[derive(Debug, Default)]
pub struct Decision<'a> {
    /// The changed object.
    pub mutated: Option<RawObject<'a>>,
    warnings: Vec<String>,
    audit_annotations: BTreeMap<&'static str, String>,
    /// Whether audit annotations are sent although nothing changed.
    is_audited: bool,
    /// The log lines, each with its level.
    pub log: Vec<(LogLevel, String)>,
    /// The cause for which the request would be rejected if its entry was enforced.
    pub cause: Option<Cause>,
}

/// The answer to a request that is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection(Box<Reasons>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Reasons {
    status: Status,
    /// The sentence of Kubernetes' in-tree plugin, if one rejects the same.
    sentence: Option<String>,
    /// The problem, and what to do about it. Empty if the sentence stands alone.
    explanation: String,
    cause: Cause,
}

/// The reason for a rejection, as HTTP knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The rules forbid the request.
    Forbidden,
    /// The request can't be read.
    BadRequest,
    /// A look-up failed, or the settings have a mistake.
    Internal,
}

impl Status {
    /// Returns the status code.
    const fn code(self) -> u16 {
        match self {
            Self::Forbidden => 403,
            Self::BadRequest => 400,
            Self::Internal => 500,
        }
    }
}

/// The cause of a rejection, or of one that is only reported, as data.
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
    /// The requirement, as in `pool=blue`.
    pub required: Option<String>,
    /// The request, as in `pool=red`.
    pub requested: Option<String>,
    /// Details of the Node, for the log only: tenants read messages.
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

/// The answer as the host reads it. Writing it can't fail. If it did, the host would reject the empty answer.
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
    /// Adds a warning of one line.
    pub fn warn(&mut self, warning: &str) {
        self.warnings.push(message::warning(warning));
    }

    /// Warns with the reason of `rejection`.
    pub fn warn_instead(&mut self, rejection: &Rejection) {
        self.warn(rejection.reason());
    }

    /// Accepts a request that an enforced entry would reject: warns, logs, and adds an audit annotation.
    pub fn would_reject(&mut self, rejection: &Rejection) {
        self.warn(&format!("would be rejected: {}", rejection.reason()));
        self.log.push((LogLevel::Warning, format!("would be rejected: {}", rejection.for_log())));
        self.audit("would-reject", &rejection.message());
        self.cause = Some(rejection.cause().clone());
        self.is_audited = true;
    }

    /// Reports what an enforced entry would add, without adding it.
    pub fn would_add(&mut self, added: &str) {
        self.warn(&format!("would get {added}"));
        self.log.push((LogLevel::Debug, format!("would get {added}")));
        self.audit("would-add", &message::rejection(added));
        self.is_audited = true;
    }

    /// Adds an audit annotation.
    pub fn audit(&mut self, key: &'static str, value: &str) {
        self.audit_annotations.insert(key, message::escaped(value));
    }

    /// Returns the answer as the host reads it. The last warning counts those that are omitted.
    pub fn to_json(&mut self) -> Vec<u8> {
        let warnings = self.warnings.len();
        if warnings > MOST_WARNINGS {
            self.warnings.truncate(MOST_WARNINGS - 1);
            self.warnings.push(format!("{} more warnings", warnings - self.warnings.len()));
        }
        // Without a change, the API server's own audit entry is enough.
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
        Self::new(Status::Forbidden, cause.into(), None, explanation.into())
    }

    /// Returns the rejection of what the rules forbid, and an in-tree plugin of Kubernetes rejects with this `sentence`.
    pub fn with_sentence(sentence: impl Into<String>, cause: Cause, explanation: impl Into<String>) -> Self {
        Self::new(Status::Forbidden, cause, Some(sentence.into()), explanation.into())
    }

    /// Returns the rejection of the object `name` for a list in its `field` that has more than `most` of something.
    pub fn too_many(name: &ObjectName, most: usize, what: &str, field: &str) -> Self {
        let explanation =
            format!("{name} has more than {most} {what} in {field}, with what is added to it; remove some");
        Self::forbidden(CauseKind::Limit, explanation)
    }

    /// Returns the rejection of a request that can't be read.
    pub fn bad_request(explanation: impl Into<String>) -> Self {
        Self::new(Status::BadRequest, CauseKind::Unreadable.into(), None, explanation.into())
    }

    /// Returns the rejection after something failed that the policy needs.
    pub fn internal(explanation: impl Into<String>) -> Self {
        Self::new(Status::Internal, CauseKind::Unreadable.into(), None, explanation.into())
    }

    #[cold]
    #[inline(never)]
    fn new(status: Status, cause: Cause, sentence: Option<String>, explanation: String) -> Self {
        Self(Box::new(Reasons { status, sentence, explanation, cause }))
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

    /// Returns the explanation, or the in-tree sentence if there is none.
    fn reason(&self) -> &str {
        match &self.0.sentence {
            Some(sentence) if self.0.explanation.is_empty() => sentence,
            _ => &self.0.explanation,
        }
    }

    /// Returns what is logged.
    pub fn for_log(&self) -> String {
        match &self.0.cause.detail {
            Some(detail) => format!("{} ({detail})", self.message()),
            None => self.message(),
        }
    }

    /// Returns the status.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// Returns the answer as the host reads it.
    pub fn to_json(&self) -> Vec<u8> {
        let answer = Answer { code: Some(self.0.status.code()), message: Some(self.message()), ..Answer::default() };
        serde_json::to_vec(&answer).unwrap_or_default()
    }
}

impl Cause {
    /// Returns a cause of this kind. The following functions add the rest.
    pub fn new(kind: CauseKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Adds the setting, or the annotation, that requires it.
    pub fn at(mut self, source: Source<'_>) -> Self {
        match source.setting() {
            Some(setting) => self.setting = Some(setting),
            None => self.annotation = source.annotation(),
        }
        self
    }

    /// Adds the annotation that contradicts a setting. Other sources are not added.
    pub fn at_annotation(self, source: Option<Source<'_>>) -> Self {
        match source {
            Some(source) if source.is_annotation() => self.at(source),
            _ => self,
        }
    }

    /// Adds the setting that requires it.
    pub fn setting(mut self, setting: SettingPath) -> Self {
        self.setting = Some(setting);
        self
    }

    /// Adds the key of the label.
    pub fn label(mut self, key: &str) -> Self {
        self.label = Some(key.to_owned());
        self
    }

    /// Adds the toleration or taint.
    pub fn taint(mut self, taint: &dyn Display) -> Self {
        self.taint = Some(taint.to_string());
        self
    }

    /// Adds what was required.
    pub fn required(mut self, required: &dyn Display) -> Self {
        self.required = Some(required.to_string());
        self
    }

    /// Adds what was requested.
    pub fn requested(mut self, requested: &dyn Display) -> Self {
        self.requested = Some(requested.to_string());
        self
    }

    /// Adds details of the Node.
    pub fn detail(mut self, detail: String) -> Self {
        self.detail = Some(detail);
        self
    }
}

impl From<CauseKind> for Cause {
    fn from(kind: CauseKind) -> Self {
        Self::new(kind)
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
