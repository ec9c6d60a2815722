//! Which rules apply in a namespace: the entry, why other entries do not, and what is required.

use std::fmt::Display;

use anyhow::Result;
use node_placement_policy::settings::{Enforcement, NamespaceEntry};
use serde::Serialize;
use serde_json::Value;

use crate::{
    rules::{Rule, RuleKind, WhyNot, namespace::NamespaceRules},
    webhook::settings_file::SettingsFile,
};

/// What applies in a namespace.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rules {
    /// The path of the entry that applies; null, if none does.
    pub entry: Option<String>,
    /// What that entry is for: `namespaceSelector "tenant=blue"`.
    #[serde(skip)]
    pub entry_for: Option<String>,
    /// The `enforcement` of that entry. With `Warn`, what is required is neither added nor enforced.
    #[serde(skip)]
    pub enforcement: Option<Enforcement>,
    /// The other entries that are about the namespace: those before it, and why they do not apply; and those after it that
    /// would.
    pub passed_over: Vec<PassedOver>,
    /// What is required, in the order in which it is decided.
    pub requirements: Vec<RequirementRow>,
}

/// An entry that does not apply.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PassedOver {
    /// Its path.
    pub entry: String,
    /// Why.
    pub because: String,
    /// What entries have in common that do not apply for the same reason.
    #[serde(skip)]
    pub reason: PassedOverReason,
}

/// Why an entry does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassedOverReason {
    /// It is for namespaces with other names.
    Name,
    /// The Namespace has another value of a label, or no such label.
    Label {
        /// The key.
        key: String,
        /// The value that the Namespace has.
        found: Option<String>,
    },
    /// It is for other Pods of the namespace.
    OtherPods,
    /// The entry at this path comes before.
    EntryAbove(String),
}

/// Something that is required. A node selector has a row for each of its requirements.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Requirement"))]
#[serde(rename_all = "camelCase")]
pub struct RequirementRow {
    /// What it is about.
    #[serde(skip)]
    pub kind: RuleKind,
    /// What, with references filled in.
    pub requirement: String,
    /// Where: the path of a setting, or an annotation.
    pub source: String,
    /// Why it can't be met: requests that need it are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Rules {
    /// Returns those of the namespace of this name for `pod`, which is a Pod or the template of Pods; and the same as
    /// values. Where several policies place Pods, paths begin with the name of theirs.
    ///
    /// # Errors
    /// The settings have a mistake.
    pub fn read(
        files: &[SettingsFile],
        name: &str,
        namespace: &Value,
        pod: Option<&Value>,
    ) -> Result<(Self, Vec<Rule>)> {
        let is_one = files.iter().filter(|file| file.places_pods()).count() == 1;
        let (mut rules, mut all) = (Self::default(), vec![]);
        let of_namespace = NamespaceRules::for_pod(files, name, Some(namespace), pod)?;
        for (file, found) in of_namespace.policies() {
            let at = |path: &dyn Display| match &file.name {
                Some(policy) if !is_one => format!("{policy}: {path}"),
                _ => path.to_string(),
            };
            if let Some(holding) = found.entry().filter(|_| rules.entry.is_none()) {
                rules.entry = Some(at(&holding));
                rules.entry_for = Some(purpose(holding.entry));
                rules.enforcement = Some(holding.entry.enforcement);
            }
            for (other, why_not) in &found.others {
                let (because, reason) = (because(other.entry, why_not), reason(why_not));
                rules.passed_over.push(PassedOver { entry: at(other), because, reason });
            }
            for mut rule in found.rules.iter().cloned() {
                rule.source = at(&rule.source);
                rule.path = rule.path.map(|path| at(&path));
                rules.requirements.extend(lines(&rule));
                all.push(rule);
            }
        }
        Ok((rules, all))
    }
}

/// Returns a line for each requirement of a node selector, or one for a list of tolerations.
fn lines(rule: &Rule) -> Vec<RequirementRow> {
    let mut requirements = rule.requirements();
    if rule.kind != RuleKind::Required || requirements.is_empty() {
        requirements = vec![rule.text.clone()];
    }
    let line = |requirement| RequirementRow {
        kind: rule.kind,
        requirement,
        source: rule.place().to_owned(),
        problem: rule.problem.clone(),
    };
    requirements.into_iter().map(line).collect()
}

/// Returns why an entry does not apply, without its own selectors.
fn reason(why_not: &WhyNot<'_>) -> PassedOverReason {
    match why_not {
        WhyNot::Name => PassedOverReason::Name,
        WhyNot::Label { unmet, found } => PassedOverReason::Label { key: unmet.key().to_owned(), found: found.clone() },
        WhyNot::Labels => PassedOverReason::OtherPods,
        WhyNot::EntryAbove(applying) => PassedOverReason::EntryAbove(applying.to_string()),
    }
}

/// Words why an entry does not apply.
fn because(entry: &NamespaceEntry, why_not: &WhyNot<'_>) -> String {
    let details = match why_not {
        WhyNot::Name => String::new(),
        WhyNot::Label { unmet, found: Some(value) } => {
            format!(", and the Namespace has {}={value}, not {unmet}", unmet.key())
        }
        WhyNot::Label { unmet, found: None } => format!(", and the Namespace has no label {}", unmet.key()),
        WhyNot::Labels => ", which the Pod does not have".to_owned(),
        WhyNot::EntryAbove(holding) => format!(", and would apply, but {holding} comes before"),
    };
    format!("it is for {}{details}", purpose(entry))
}

/// Returns what an entry is for: `name "team-*", namespaceSelector "tenant"`
fn purpose(entry: &NamespaceEntry) -> String {
    let name = entry.name.as_ref().map(|name| format!("name {name:?}"));
    let selector = entry.namespace_selector.as_ref().map(|selector| format!("namespaceSelector {selector:?}"));
    let pods = entry.pod_selector.as_ref().map(|selector| format!("podSelector {selector:?}"));
    name.into_iter().chain(selector).chain(pods).collect::<Vec<_>>().join(", ")
}
