//! Which rules hold in a namespace: the entry, why other entries do not, and what is demanded.

use std::fmt::Display;

use anyhow::Result;
use node_placement_policy::settings::{Enforcement, NamespaceEntry};
use serde::Serialize;
use serde_json::Value;

use crate::{
    rules::{Rule, RuleKind, WhyNot, namespace::NamespaceRules},
    webhook::settings_file::SettingsFile,
};

/// What holds in a namespace.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rules {
    /// The path of the entry that holds, if one does.
    pub entry: Option<String>,
    /// What that entry is for: `namespaceSelector "tenant=blue"`.
    #[serde(skip)]
    pub entry_for: Option<String>,
    /// The `enforcement` of that entry. With `Warn`, what is demanded is neither added nor enforced.
    #[serde(skip)]
    pub enforcement: Option<Enforcement>,
    /// The other entries that say something about the namespace: those before it, and why they do not hold; and those
    /// after it that would.
    pub passed_over: Vec<PassedOver>,
    /// What is demanded, in the order in which it is decided.
    pub demands: Vec<DemandRow>,
}

/// An entry that does not hold.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PassedOver {
    /// Its path.
    pub entry: String,
    /// Why.
    pub because: String,
}

/// Something that is demanded. A node selector is one demand for each of its requirements.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Demand"))]
#[serde(rename_all = "camelCase")]
pub struct DemandRow {
    /// What it is about.
    #[serde(skip)]
    pub kind: RuleKind,
    /// What, with references filled in.
    pub requirement: String,
    /// Where: the path of a setting, or an annotation.
    pub source: String,
    /// Why it can't be met, and whatever depends on it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Rules {
    /// Returns those of the namespace of this name for `pod`, which is a Pod or the template of Pods; and those
    /// as they were read. Where several policies place Pods, paths begin with the name of theirs.
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
                rules.passed_over.push(PassedOver { entry: at(other), because: reason(other.entry, why_not) });
            }
            for mut rule in found.rules.iter().cloned() {
                rule.source = at(&rule.source);
                rule.path = rule.path.map(|path| at(&path));
                rules.demands.extend(lines(&rule));
                all.push(rule);
            }
        }
        Ok((rules, all))
    }
}

/// Returns a line for each requirement of a node selector, or one for a list of tolerations.
fn lines(rule: &Rule) -> Vec<DemandRow> {
    let mut requirements = rule.requirements();
    if rule.kind != RuleKind::Required || requirements.is_empty() {
        requirements = vec![rule.text.clone()];
    }
    let line = |requirement| DemandRow {
        kind: rule.kind,
        requirement,
        source: rule.path.as_ref().unwrap_or(&rule.source).clone(),
        problem: rule.problem.clone(),
    };
    requirements.into_iter().map(line).collect()
}

/// Returns why an entry does not hold.
fn reason(entry: &NamespaceEntry, why_not: &WhyNot<'_>) -> String {
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
