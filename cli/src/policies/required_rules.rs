//! The table of what each feature needs of the policy that has it. `policy` writes by it, `check` checks by it, and a test
//! compares the table in `docs/operating.md` with it.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    SettingsFile,
    input::{
        settings::{is_set, is_set_to, read, read_namespaces},
        yaml,
    },
    webhook::{policy_spec::ContextAwareResource, resource::group_of},
};

/// The features, in the order of the table. That it can be read is a test, which compares it with the documentation's.
pub static FEATURES: LazyLock<Vec<Feature>> = LazyLock::new(|| yaml::built_in(include_str!("required_rules.yml")));

/// A row of the table, which says what its fields mean.
///
/// ```
/// use cli::policies::required_rules::Feature;
/// use serde_json::json;
///
/// let settings = json!({ "placement": { "onBindings": "Verify" } });
/// let (setting, bindings) = Feature::in_settings(&settings).last().unwrap();
/// assert_eq!(setting, "placement.onBindings");
/// assert_eq!(bindings.essential(), Some(("", "pods/binding", "CREATE")));
/// ```
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Feature {
    pub settings: Vec<Setting>,
    #[serde(default)]
    pub details: Vec<String>,
    pub rules: Vec<Rule>,
    #[serde(default)]
    pub looks_up: Vec<ContextAwareResource>,
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

/// Requests that must reach the policy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub resources: Vec<String>,
    pub operations: Vec<String>,
    pub essential: Option<String>,
}

/// A request as rules have it: API group, resource, operation.
pub type Request = (&'static str, &'static str, &'static str);

/// An update that something depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Update {
    /// An update of a Pod that is not bound.
    Unbound,
    /// An update of a bound Pod that adds a toleration.
    Tolerations,
    /// Any update of a bound Pod.
    Bound,
    /// An update of a bound Pod that is being deleted, if its managed labels or annotations change.
    ManagedKeys,
    /// An update of a workload that changes its Pod template.
    Template,
    /// An update of a workload that changes its selector. Only that of a ReplicationController can change.
    Selector,
    /// An update of a Namespace that changes its labels or annotations.
    LabelsOrAnnotations,
}

impl Setting {
    fn is_in_effect(&self, settings: &Value) -> bool {
        let block = self.path.split_once('.').map_or(self.path.as_str(), |(block, _)| block);
        match (&self.is, &self.unless) {
            (Some(choice), _) => is_set_to(settings, &self.path, choice),
            (None, Some(choice)) => is_set(settings, block) && !is_set_to(settings, &self.path, choice),
            (None, None) => is_set(settings, &self.path),
        }
    }
}

impl Feature {
    /// Returns the features that settings have, each with the path of the setting that switches it on.
    pub fn in_settings(settings: &Value) -> impl Iterator<Item = (&'static str, &'static Self)> {
        FEATURES.iter().filter_map(|feature| Some((feature.setting_in(settings)?, feature)))
    }

    /// Returns the features that the policy in a file is responsible for: one whose rules are about Nodes alone guards
    /// these, beside one that places Pods.
    pub fn in_file(file: &SettingsFile) -> impl Iterator<Item = (&'static str, &'static Self)> {
        let guards_nodes = file.is_about_nodes();
        Self::in_settings(&file.settings).filter(move |(_, feature)| !guards_nodes || feature.is_about_nodes())
    }

    /// Returns the path of the setting that switches it on, if the settings have it.
    pub fn setting_in(&self, settings: &Value) -> Option<&str> {
        self.settings.iter().find(|setting| setting.is_in_effect(settings)).map(|setting| setting.path.as_str())
    }

    /// Returns the request without which it does nothing at all.
    pub fn essential(&'static self) -> Option<Request> {
        self.rules.iter().find_map(|rule| {
            let resource = rule.resources.first()?.as_str();
            Some((group_of(resource), resource, rule.essential.as_deref()?))
        })
    }

    /// Returns each resource with each operation.
    pub fn requests(&'static self) -> impl Iterator<Item = Request> {
        let operations = |rule: &'static Rule, resource: &'static String| {
            rule.operations.iter().map(|operation| (group_of(resource), resource.as_str(), operation.as_str()))
        };
        self.rules.iter().flat_map(move |rule| rule.resources.iter().flat_map(move |it| operations(rule, it)))
    }

    /// Returns the kinds that it looks up with these settings.
    pub fn look_ups(&self, settings: &Value) -> impl Iterator<Item = &ContextAwareResource> {
        let places_without_namespaces = read(settings).placement.is_some_and(|placement| !read_namespaces(&placement));
        self.looks_up.iter().filter(move |it| it.kind != "Namespace" || !places_without_namespaces)
    }

    /// Returns the resources for which rules send updates.
    pub fn updated(&'static self) -> impl Iterator<Item = &'static str> {
        self.requests().filter(|(.., operation)| *operation == "UPDATE").map(|(_, resource, _)| resource)
    }

    /// Returns the settings about Nodes, by their names in a block such as `placement`.
    pub fn fields_about_nodes(block: &str) -> impl Iterator<Item = &'static str> {
        let features = FEATURES.iter().filter(|feature| feature.is_about_nodes());
        let paths = features.flat_map(|feature| feature.settings.iter().map(|it| &it.path).chain(&feature.details));
        paths.filter_map(move |path| path.strip_prefix(block)?.strip_prefix('.'))
    }

    /// Returns whether it is about Nodes, and not about Pods.
    pub fn is_about_nodes(&'static self) -> bool {
        self.requests().all(|(_, resource, _)| resource.starts_with("nodes"))
    }
}
