//! What each feature needs of the policy that has it: the one table, by which `policy` writes, `check` checks, and the
//! table in `docs/operating.md` is made.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    SettingsFile,
    input::settings::{has, is, read, read_namespaces},
    requests::resource::group_of,
};

/// What there is to be needed. That the table can be read is a test, which compares it with the documentation's.
pub static FEATURES: LazyLock<Vec<Feature>> =
    LazyLock::new(|| yaml_serde::from_str(include_str!("required_rules.yml")).unwrap_or_default());

/// A row of the table, which says what its fields mean.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Feature {
    pub settings: Vec<Setting>,
    pub rules: Vec<Rule>,
    #[serde(default)]
    pub looks_up: Vec<Kind>,
    #[serde(default)]
    pub updates: Vec<Update>,
    #[serde(default)]
    pub needs_fail: bool,
    pub otherwise: String,
}

/// A setting that is in effect if it is there, is a word, or is any other than a word.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub path: String,
    pub is: Option<String>,
    pub unless: Option<String>,
}

/// What must reach the policy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub resources: Vec<String>,
    pub operations: Vec<String>,
    pub essential: Option<String>,
}

/// A request as rules tell it: API group, resource, operation.
pub type Request = (&'static str, &'static str, &'static str);

/// A kind that is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Kind {
    Namespace,
    Node,
    RuntimeClass,
}

impl Kind {
    /// As policies have it: `v1`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Namespace | Self::Node => "v1",
            Self::RuntimeClass => "node.k8s.io/v1",
        }
    }
}

/// An update that something depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Update {
    /// Of a Pod that is not bound.
    Unbound,
    /// Of a bound Pod, that adds a toleration.
    Tolerations,
    /// Of a bound Pod, whatever changes.
    Bound,
    /// Of a Pod that is bound and being deleted, that changes its managed labels or annotations.
    ManagedKeys,
    /// Of a workload, that changes its Pod template.
    Template,
    /// Of a workload, that changes its selector. Only that of a ReplicationController can change.
    Selector,
    /// Of a Namespace, that changes its labels or annotations.
    LabelsOrAnnotations,
}

impl Setting {
    /// Whether the settings have it.
    fn holds(&self, settings: &Value) -> bool {
        let block = self.path.split_once('.').map_or(self.path.as_str(), |(block, _)| block);
        match (&self.is, &self.unless) {
            (Some(choice), _) => is(settings, &self.path, choice),
            (None, Some(choice)) => has(settings, block) && !is(settings, &self.path, choice),
            (None, None) => has(settings, &self.path),
        }
    }
}

impl Feature {
    /// Those that the settings have.
    pub fn of(settings: &Value) -> impl Iterator<Item = &'static Self> {
        FEATURES.iter().filter(|feature| feature.is_in(settings))
    }

    /// Those that the policy in a file sees to: one whose rules are about Nodes alone guards these, beside one that
    /// places.
    pub fn due(file: &SettingsFile) -> impl Iterator<Item = &'static Self> {
        let guards_nodes = file.is_about_nodes();
        Self::of(&file.settings).filter(move |feature| !guards_nodes || feature.is_about_nodes())
    }

    /// Whether settings have it.
    pub fn is_in(&self, settings: &Value) -> bool {
        self.settings.iter().any(|setting| setting.holds(settings))
    }

    /// Without which it does nothing at all.
    pub fn essential(&'static self) -> Option<Request> {
        self.rules.iter().find_map(|rule| {
            let resource = rule.resources.first()?.as_str();
            Some((group_of(resource), resource, rule.essential.as_deref()?))
        })
    }

    /// The setting that switches it on, as a path.
    pub fn named(&'static self, settings: &Value) -> &'static str {
        self.settings.iter().find(|setting| setting.holds(settings)).map_or("", |setting| &setting.path)
    }

    /// Each resource with each operation.
    pub fn requests(&'static self) -> impl Iterator<Item = Request> {
        self.rules.iter().flat_map(|rule| {
            rule.resources.iter().flat_map(|resource| {
                rule.operations.iter().map(|operation| (group_of(resource), resource.as_str(), operation.as_str()))
            })
        })
    }

    /// The kinds that it looks up with these settings.
    pub fn look_ups(&self, settings: &Value) -> impl Iterator<Item = Kind> {
        let places_without_namespaces = read(settings).placement.is_some_and(|placement| !read_namespaces(&placement));
        self.looks_up.iter().copied().filter(move |kind| *kind != Kind::Namespace || !places_without_namespaces)
    }

    /// The resources for which rules send updates.
    pub fn updated(&'static self) -> impl Iterator<Item = &'static str> {
        self.requests().filter(|(.., operation)| *operation == "UPDATE").map(|(_, resource, _)| resource)
    }

    /// Whether it is about Nodes, and not about Pods.
    pub fn is_about_nodes(&'static self) -> bool {
        self.requests().all(|(_, resource, _)| resource.starts_with("nodes"))
    }
}
