//! What the policy answers: accept, mutate or reject, with warnings and audit annotations.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::json::{RawObject, ReadError};
use crate::limits::MOST_WARNINGS;
use crate::message;
use crate::object_meta::ObjectName;
use crate::settings::{SettingsError, Source};

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
    /// How Kubernetes words it, if its in-tree plugins do.
    sentence: Option<String>,
    /// What is wrong, and what to do about it; empty, if the sentence stands alone.
    explanation: String,
    /// What only the log is told: tenants read messages, those of Bindings too, as events.
    detail: Option<String>,
    /// Whether a setting refers to what the Namespace does not have.
    is_unresolved: bool,
    cause: Cause,
}

/// Nobody can ask the module for a cause, and it is a hundredth smaller without.
const KEEPS_CAUSES: bool = !cfg!(all(target_arch = "wasm32", feature = "guest"));

/// Why something was rejected, or would be, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// What sort of cause it is.
    pub kind: CauseKind,
    /// The path of the setting that demands it: `placement.namespaces[0].requiredNodeSelector`.
    pub setting: Option<String>,
    /// The key of the Namespace's annotation that demands it instead.
    pub annotation: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The key of the label, of nodes or of the Namespace, that it is about.
    pub label: Option<String>,
    /// The toleration or taint that it is about, as `key[=value][:Effect]`.
    pub taint: Option<String>,
    /// What was demanded: `pool=blue`.
    pub demanded: Option<String>,
    /// What was asked for: `pool=red`.
    pub asked: Option<String>,
}

/// The sorts of [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CauseKind {
    /// An object asks for what a node selector, a whitelist or a forbidden toleration does not allow.
    Asks,
    /// A setting refers to a label that the Namespace does not have, or whose value does not fit there.
    MissingLabel,
    /// An annotation of the Namespace is malformed, or contradicts something.
    Annotation,
    /// The RuntimeClass of the Pod brings what is not allowed.
    RuntimeClass,
    /// The node that a Pod names, or is bound to, is not one that it may use.
    NodeName,
    /// There is too much of something.
    Limit,
    /// What node metadata needs is lacking, or is for the policy alone to write.
    Metadata,
    /// The settings add a toleration that they forbid.
    Taint,
    /// The request, the settings, or what was looked up can't be read.
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
        self.audit("would-reject", rejection.message());
        if KEEPS_CAUSES {
            self.cause = Some(rejection.cause().clone());
        }
        self.is_audited = true;
    }

    /// Leaves away what would be `added` if its entry was enforced, and tells so.
    pub fn would_add(&mut self, added: &str) {
        self.warn(&format!("would get {added}"));
        self.log.push((LogLevel::Debug, format!("would get {added}")));
        self.audit("would-add", message::rejection(added));
        self.is_audited = true;
    }

    /// Tells the audit log about a change.
    pub fn audit(&mut self, key: &'static str, value: String) {
        self.audit_annotations.insert(key, message::escaped(&value));
    }

    /// The answer as the host reads it. The last warning counts those that are left out.
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
    /// The rules forbid it.
    pub fn forbidden(kind: CauseKind, explanation: impl Into<String>) -> Self {
        Self::new(403, kind, None, explanation.into())
    }

    /// The rules forbid it, and `sentence` is how an in-tree plugin of Kubernetes says so.
    pub fn with_sentence(kind: CauseKind, sentence: impl Into<String>, explanation: impl Into<String>) -> Self {
        Self::new(403, kind, Some(sentence.into()), explanation.into())
    }

    /// A setting refers to a label that the Namespace does not have, or whose value does not fit there.
    pub fn unresolved(explanation: impl Into<String>) -> Self {
        let mut rejection = Self::forbidden(CauseKind::MissingLabel, explanation);
        rejection.0.is_unresolved = true;
        rejection
    }

    /// What has this `name` has more than `most` of something, which stands in `field`.
    pub fn too_many(name: &ObjectName, most: usize, what: &str, field: &str) -> Self {
        // The path of a request's object is the path of the object itself for whoever wrote it.
        let field = field.strip_prefix("object.").unwrap_or(field);
        let explanation =
            format!("{name} has more than {most} {what} in {field}, with what is added to it; remove some");
        Self::forbidden(CauseKind::Limit, explanation)
    }

    /// The request can't be read.
    pub fn bad_request(explanation: impl Into<String>) -> Self {
        Self::new(400, CauseKind::Unreadable, None, explanation.into())
    }

    /// Something that the policy needs failed.
    pub fn internal(explanation: impl Into<String>) -> Self {
        Self::new(500, CauseKind::Unreadable, None, explanation.into())
    }

    fn new(code: u16, kind: CauseKind, sentence: Option<String>, explanation: String) -> Self {
        let cause = Cause { kind, ..Cause::default() };
        Self(Box::new(Reasons { code, sentence, explanation, detail: None, is_unresolved: false, cause }))
    }

    /// Why, as data.
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Adds to the cause what is demanded at `source`.
    pub fn demanded_at(self, source: Source<'_>) -> Self {
        self.because(|cause| match source {
            Source::Annotation { key, namespace } => {
                cause.annotation = Some(key.to_owned());
                cause.namespace = Some(namespace.to_owned());
            }
            setting => cause.setting = Some(setting.path()),
        })
    }

    /// Adds to the cause the setting at this path.
    pub fn by_setting(self, path: &str) -> Self {
        self.because(|cause| cause.setting = Some(path.to_owned()))
    }

    /// Adds to the cause the namespace.
    pub fn in_namespace(self, namespace: &str) -> Self {
        self.because(|cause| cause.namespace = Some(namespace.to_owned()))
    }

    /// Adds to the cause the label `key`.
    pub fn about_label(self, key: &str) -> Self {
        self.because(|cause| cause.label = Some(key.to_owned()))
    }

    /// Adds to the cause the toleration or taint.
    pub fn about_taint(self, taint: &impl ToString) -> Self {
        self.because(|cause| cause.taint = Some(taint.to_string()))
    }

    /// Adds to the cause what was demanded.
    pub fn demanding(self, demanded: &impl ToString) -> Self {
        self.because(|cause| cause.demanded = Some(demanded.to_string()))
    }

    /// Adds to the cause what was asked for.
    pub fn asking_for(self, asked: &impl ToString) -> Self {
        self.because(|cause| cause.asked = Some(asked.to_string()))
    }

    fn because(mut self, tell: impl FnOnce(&mut Cause)) -> Self {
        if KEEPS_CAUSES {
            tell(&mut self.0.cause);
        }
        self
    }

    /// The sentence and the explanation, of at most 1,024 characters; never empty.
    pub fn message(&self) -> String {
        let reason = self.reason();
        match &self.0.sentence {
            Some(sentence) if sentence != reason => message::rejection(&format!("{sentence}: {reason}")),
            _ => message::rejection(reason),
        }
    }

    /// What is wrong, and what to do about it, without the in-tree sentence; that, if it stands alone.
    fn reason(&self) -> &str {
        match &self.0.sentence {
            Some(sentence) if self.0.explanation.is_empty() => sentence,
            _ => &self.0.explanation,
        }
    }

    /// Adds what only the log is told.
    pub fn with_detail(mut self, detail: String) -> Self {
        self.0.detail = Some(detail);
        self
    }

    /// Whether a setting refers to what the Namespace does not have: it may not be needed.
    pub fn is_unresolved(&self) -> bool {
        self.0.is_unresolved
    }

    /// What is logged.
    pub fn for_log(&self) -> String {
        match &self.0.detail {
            Some(detail) => format!("{} ({detail})", self.message()),
            None => self.message(),
        }
    }

    /// Whether the rules forbid it: nothing failed, and the request can be read.
    pub fn is_forbidden(&self) -> bool {
        self.0.code == 403
    }

    /// Whether it is the request that can't be read.
    pub fn is_bad_request(&self) -> bool {
        self.0.code == 400
    }

    /// The answer as the host reads it.
    pub fn to_json(&self) -> Vec<u8> {
        let answer = Answer { code: Some(self.0.code), message: Some(self.message()), ..Answer::default() };
        serde_json::to_vec(&answer).unwrap_or_default()
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
