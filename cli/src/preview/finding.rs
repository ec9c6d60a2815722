//! What the policy says to one request, in the words of the report.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Evaluation;
use crate::input::json::{members, text};

/// How a request ended, as the sum counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Unchanged,
    Changed,
    Rejected,
    /// Something is not in CLUSTER that the answer depends on.
    Unknown,
}

/// Something to report of an object. What is worst comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    Rejected {
        code: u16,
        reason: String,
        cause: Cause,
    },
    /// A Pod that runs where a new one would not.
    Misplaced {
        reason: String,
    },
    /// A Pod that no node would take, wherever it runs now.
    Waits {
        reason: String,
    },
    /// What an entry with `enforcement: Warn` would do, in words.
    WouldBe {
        what: String,
    },
    Warned {
        warning: String,
    },
    /// What an object would get, in words.
    Changed {
        gets: Vec<String>,
    },
}

/// What is behind a rejection, as far as that is another thing than what the object itself asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    Object,
    /// What the Pod's RuntimeClass adds to it.
    RuntimeClass {
        name: String,
        adds: String,
        /// Whether the policy looks at the RuntimeClasses of workloads.
        resolves: bool,
    },
    /// A default, which `onDefaultConflict: Yield` would give up. What would be rejected then nevertheless, and by which
    /// field.
    Default {
        still: Option<String>,
    },
}

impl Cause {
    /// The RuntimeClass that is behind it, if one is.
    pub fn runtime_class(&self) -> Option<&str> {
        match self {
            Self::RuntimeClass { name, .. } => Some(name),
            Self::Object | Self::Default { .. } => None,
        }
    }
}

impl Verdict {
    pub fn of(evaluation: &Evaluation) -> Self {
        match (evaluation.answer.accepted, &evaluation.patch) {
            (false, _) => Self::Rejected,
            (true, Some(_)) => Self::Changed,
            (true, None) => Self::Unchanged,
        }
    }
}

impl Finding {
    /// In words that are the same for all objects that differ in nothing but their name, and for the workload that they
    /// come from.
    pub fn without_name(self, kind: &str, name: &str) -> Self {
        let template = format!("the Pod template of {kind} \"…\"");
        let hide = |text: String| text.replace(&format!("\"{name}\""), "\"…\"").replace(&template, "Pod \"…\"");
        match self {
            Self::Rejected { code, reason, cause } => Self::Rejected { code, reason: hide(reason), cause },
            Self::Misplaced { reason } => Self::Misplaced { reason: hide(reason) },
            Self::WouldBe { what } => Self::WouldBe { what: hide(what) },
            waits @ Self::Waits { .. } => waits,
            Self::Warned { warning } => Self::Warned { warning: hide(warning) },
            changed @ Self::Changed { .. } => changed,
        }
    }
}

/// What an answer comes to where nothing is enforced yet.
pub fn would_be(evaluation: &Evaluation) -> Vec<Finding> {
    let findings = findings(evaluation).into_iter().filter_map(|finding| match finding {
        Finding::Rejected { code, reason, .. } => Some(format!("would be rejected: {code}: {reason}")),
        Finding::Changed { gets } => Some(format!("would get {}", gets.join("; "))),
        _ => None,
    });
    findings.map(|what| Finding::WouldBe { what }).collect()
}

/// The field of the settings that a message names, `placement.namespaces[1].requiredNodeSelector`; else an annotation of
/// a namespace.
pub fn field(message: &str) -> Option<&str> {
    let mut words = message.split([' ', ';', ',']);
    let is_field = |word: &&str| ["placement.", "podNodeSelectorPluginConfig."].iter().any(|it| word.starts_with(it));
    words.find(is_field).or_else(|| {
        let (_, key) = message.split_once(ANNOTATION)?;
        let (key, _) = key.split_once(" of namespace ")?;
        let start = message.find(ANNOTATION)?;
        message.get(start..start + ANNOTATION.len() + key.len())
    })
}

const ANNOTATION: &str = "annotation ";

/// Everything to report of an answer.
pub fn findings(evaluation: &Evaluation) -> Vec<Finding> {
    let answer = &evaluation.answer;
    if !answer.accepted {
        let reason = answer.message.clone().unwrap_or_else(|| "(no message)".to_owned());
        return vec![Finding::Rejected { code: answer.code.unwrap_or_default(), reason, cause: Cause::Object }];
    }
    let warnings = answer.warnings.iter().flatten();
    let mut findings: Vec<_> = warnings.map(|warning| Finding::Warned { warning: warning.clone() }).collect();
    let gets = gets(evaluation);
    if !gets.is_empty() {
        findings.push(Finding::Changed { gets });
    }
    findings
}

/// The node selector that is added, as the policy itself tells it to the audit log.
pub fn added_node_selector(evaluation: &Evaluation) -> Option<String> {
    audited(evaluation, "node-selector").cloned()
}

fn audited<'e>(evaluation: &'e Evaluation, key: &str) -> Option<&'e String> {
    evaluation.answer.audit_annotations.as_ref()?.get(key)
}

/// What is added, as the policy itself tells it to the audit log; the rest from the patch.
pub fn gets(evaluation: &Evaluation) -> Vec<String> {
    let selector = added_node_selector(evaluation);
    let tolerations = audited(evaluation, "tolerations").map(|added| format!("toleration {added}"));
    let told = |path: &str| {
        selector.is_some() && (path.contains("/spec/nodeSelector") || path.contains("/spec/affinity"))
            || tolerations.is_some() && path.contains("/spec/tolerations")
    };
    let mut others = BTreeSet::new();
    for change in evaluation.patch.iter().flat_map(|patch| patch.iter()) {
        let change = serde_json::to_value(change).unwrap_or_default();
        if !told(text(&change["path"])) {
            others.extend(words(&change));
        }
    }
    selector.into_iter().chain(tolerations).chain(others).collect()
}

/// One operation of a JSON patch in words.
fn words(change: &Value) -> Vec<String> {
    let path = text(&change["path"]);
    let verb = if change["op"] == "remove" { "no " } else { "" };
    for (kind, what) in [("annotations", "annotation"), ("labels", "label")] {
        let Some(rest) = path.strip_prefix("/metadata/").and_then(|path| path.strip_prefix(kind)) else { continue };
        return match rest.strip_prefix('/') {
            Some(key) => vec![format!("{verb}{what} {}", key.replace("~1", "/").replace("~0", "~"))],
            None if change["op"] == "remove" => vec![format!("no {kind}")],
            None => members(&change["value"]).map(|(key, _)| format!("{what} {key}")).collect(),
        };
    }
    if path.contains("ontainers/") && path.contains("/env") {
        return vec!["environment variables".to_owned()];
    }
    vec![format!("{verb}{path}")]
}
