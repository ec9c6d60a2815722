//! The rules of a namespace: which entry applies there, and what is required, added and allowed, each with where that
//! stands. The policy's own code decides it, as for a request.
//!
//! [`namespace`] joins the rules of all policies of a deployment.

pub mod namespace;

use anyhow::{Result, anyhow};
use node_placement_policy::{
    decision::Rejection,
    json::Pairs,
    object_meta::LabelsAndAnnotations,
    placement::{
        entry::{CandidateEntries, MatchedEntry, unmet},
        in_tree,
        mode::Mode,
        resolve::Unresolved,
        toleration_rules::{DEFAULTS_ANNOTATION, TolerationList, TolerationRules, WHITELIST_ANNOTATION},
    },
    selector::{Requirement, Selector},
    settings::{
        EntryAt, Placement, PodNodeSelectorPluginConfig, PreferredNodeSelector, Setting, SettingPath, Settings,
        SettingsError, Source, reference,
    },
    toleration::Toleration,
};
use serde_json::Value;

use crate::input::{
    json::{members, text},
    settings::entries_at,
};

/// The rules that one policy has for the Pods of a namespace.
///
/// ```
/// use cli::rules::PolicyRules;
/// use node_placement_policy::settings::Settings;
/// use serde_json::json;
///
/// let text = r#"{"placement": {"namespaces": [{"namespaceSelector": "tenant", "requiredNodeSelector": "pool=$(tenant)"}]}}"#;
/// let settings = Settings::read(Some(text)).unwrap();
/// let namespace = json!({ "metadata": { "name": "team-a", "labels": { "tenant": "blue" } } });
/// let found = PolicyRules::new(&settings, "team-a", Some(&namespace)).unwrap();
/// assert_eq!(found.entry().map(|at| at.position), Some(0));
/// let rule = &found.rules[0];
/// assert_eq!((rule.text.as_str(), rule.path.as_deref()),
///     ("pool=blue", Some("placement.namespaces[0].requiredNodeSelector")));
/// ```
#[derive(Debug, Default)]
pub struct PolicyRules<'s> {
    /// The entry of `placement.namespaces` that applies, if one does, and the Namespace; `None` without `placement`.
    pub matched: Option<MatchedEntry<'s>>,
    /// The entries before it, and those after it that match, too; and why none of them applies.
    pub others: Vec<(EntryAt<'s>, WhyNot<'s>)>,
    /// All rules: node selectors first, in the order in which they are decided, then what is allowed and preferred, then
    /// tolerations.
    pub rules: Vec<Rule>,
}

/// The reason why an entry does not apply to a namespace.
#[derive(Clone, Debug, PartialEq)]
pub enum WhyNot<'s> {
    /// Its name differs.
    Name,
    /// The Namespace does not meet the namespaceSelector.
    Label {
        /// The first requirement that it does not meet.
        unmet: Requirement,
        /// The value of that label, if the Namespace has it.
        found: Option<String>,
    },
    /// It is for other Pods of the namespace, by its podSelector.
    Labels,
    /// It matches, and this one before it does, too.
    EntryAbove(EntryAt<'s>),
}

/// A node selector or a list of tolerations that applies in a namespace.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it is about.
    pub kind: RuleKind,
    /// Its text, with references filled in; as it is written, if that can't be done.
    pub text: String,
    /// The name of its setting or annotation in messages.
    pub source: String,
    /// The path of its setting; `None` for an annotation.
    pub path: Option<String>,
    /// The setting.
    pub setting: Option<SettingPath>,
    /// The selector, if it is one that can be read.
    pub selector: Option<Selector>,
    /// Why it can't be read. Then requests that depend on it are rejected.
    pub problem: Option<String>,
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Nodes must match it.
    Required,
    /// It is added to Pods: a preference, default tolerations.
    Added,
    /// Pods may request no other labels of nodes.
    AllowedNodeSelector,
    /// Pods may have no other tolerations.
    AllowedTolerations,
    /// Pods must not have these tolerations.
    ForbiddenTolerations,
}

impl Rule {
    fn new(kind: RuleKind, source: Source<'_>, text: String, problem: Option<&Rejection>) -> Self {
        let setting = source.setting();
        let path = setting.as_ref().map(ToString::to_string);
        Self {
            kind,
            text,
            source: source.to_string(),
            path,
            setting,
            selector: None,
            problem: problem.map(Rejection::message),
        }
    }

    /// Returns a node selector: the text at `source`, and what is read from it.
    fn of_nodes(kind: RuleKind, source: Source<'_>, text: &str, read: Result<Selector, Rejection>) -> Self {
        match read {
            Ok(selector) => {
                Self { selector: Some(selector.clone()), ..Self::new(kind, source, selector.to_string(), None) }
            }
            Err(problem) => Self::new(kind, source, text.to_owned(), Some(&problem)),
        }
    }

    /// Returns where it is required: the path of the setting, else the annotation.
    pub fn place(&self) -> &str {
        self.path.as_ref().unwrap_or(&self.source)
    }

    /// Returns its requirements on labels of nodes, one by one, as text.
    pub fn requirements(&self) -> Vec<String> {
        self.selector.iter().flat_map(Selector::requirements).map(ToString::to_string).collect()
    }
}

impl<'s> PolicyRules<'s> {
    /// Returns the rules of the namespace of this name for a Pod without labels; `namespace` is its object, if that is
    /// known.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn new(settings: &'s Settings, name: &'s str, namespace: Option<&Value>) -> Result<Self> {
        Self::for_pod(settings, name, namespace, None)
    }

    /// Returns the rules of the namespace of this name for `pod`, which is a Pod or the template of Pods.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn for_pod(
        settings: &'s Settings,
        name: &'s str,
        namespace: Option<&Value>,
        pod: Option<&Value>,
    ) -> Result<Self> {
        let found = labels_and_annotations(name, namespace);
        match (&settings.placement, &settings.pod_node_selector_plugin_config) {
            (Some(placement), _) => Self::of_placement(placement, name, found, &pairs(pod, "labels")),
            (None, Some(config)) => {
                Ok(Self { rules: in_tree_rules(config, name, &found.annotations), ..Self::default() })
            }
            (None, None) => Ok(Self::default()),
        }
    }

    /// Returns the entry that applies, if one does.
    pub fn entry(&self) -> Option<EntryAt<'s>> {
        self.matched.as_ref()?.entry
    }

    fn of_placement(
        settings: &'s Placement,
        namespace: &'s str,
        found: LabelsAndAnnotations<'s>,
        labels: &Pairs<'_>,
    ) -> Result<Self> {
        let entries = CandidateEntries::new(settings, namespace).find(found).map_err(|error| anyhow!("{error}"))?;
        let matched = entries.for_pod(|| Ok(labels.clone())).map_err(|error| anyhow!("{}", error.message()))?;
        let mut rules = node_rules(&matched);
        rules.extend(toleration_rules(&matched));
        let others = others(&matched).map_err(|error| anyhow!("{error}"))?;
        Ok(Self { others, rules, matched: Some(matched) })
    }
}

fn others<'s>(matched: &MatchedEntry<'s>) -> Result<Vec<(EntryAt<'s>, WhyNot<'s>)>, SettingsError> {
    let mut others = vec![];
    for at in entries_at(matched.settings) {
        let above = matched.entry.filter(|holding| holding.position <= at.position);
        let why_not = match (above, unmet(at, &matched.metadata)?) {
            (Some(holding), None) if holding != at && at.entry.name_fits(matched.namespace) => {
                WhyNot::EntryAbove(holding)
            }
            (Some(_), _) => continue,
            (None, None) if at.entry.name_fits(matched.namespace) => WhyNot::Labels,
            (None, Some(unmet)) if at.entry.name_fits(matched.namespace) => {
                let found = matched.metadata.labels.get(unmet.key()).map(str::to_owned);
                WhyNot::Label { unmet, found }
            }
            (None, _) => WhyNot::Name,
        };
        others.push((at, why_not));
    }
    Ok(others)
}

fn node_rules(matched: &MatchedEntry<'_>) -> Vec<Rule> {
    let rule = |kind, source, text| {
        let read = matched.selector(source, text);
        Rule::of_nodes(kind, source, text, read.and_then(|read| read.map_err(Rejection::from)))
    };
    let mut rules: Vec<Rule> = vec![];
    for (source, text) in matched.node_selectors() {
        rules.push(rule(RuleKind::Required, source, text));
    }
    let Some(at) = matched.entry else { return rules };
    if let Some(text) = &at.entry.allowed_node_selector {
        rules.push(rule(RuleKind::AllowedNodeSelector, Source::Entry(at, Setting::AllowedNodeSelector), text));
    }
    for PreferredNodeSelector { weight, selector } in &at.entry.preferred_node_selector {
        let rule = rule(RuleKind::Added, Source::Entry(at, Setting::PreferredNodeSelector), selector);
        rules.push(Rule { text: format!("{} (weight {weight})", rule.text), ..rule });
    }
    rules
}

fn toleration_rules(matched: &MatchedEntry<'_>) -> Vec<Rule> {
    let rules = match TolerationRules::new(matched, Mode::Create) {
        Ok(rules) => rules,
        Err(problem) => return vec![unreadable_tolerations(matched, &problem)],
    };
    let rule = |kind| {
        move |TolerationList { tolerations, source, unresolved }: &TolerationList<'_>| {
            let text = if unresolved.is_some() { written_at(*source, matched) } else { as_text(tolerations) };
            Rule::new(kind, *source, text, unresolved.as_ref().map(Unresolved::rejection))
        }
    };
    let added = rules.defaults.iter().map(rule(RuleKind::Added));
    let allowed = rules.allowed.iter().map(rule(RuleKind::AllowedTolerations));
    added.chain(allowed).chain(rules.forbidden.iter().map(rule(RuleKind::ForbiddenTolerations))).collect()
}

/// Returns the malformed annotation, or the list that forbids a default: the other lists can't be read then.
fn unreadable_tolerations(matched: &MatchedEntry<'_>, problem: &Rejection) -> Rule {
    let annotation = |key| Source::Annotation { key, namespace: matched.namespace };
    let (kind, source) = match (problem.cause().annotation.as_deref(), matched.entry) {
        (Some(WHITELIST_ANNOTATION), _) => (RuleKind::AllowedTolerations, annotation(WHITELIST_ANNOTATION)),
        (None, Some(at)) => (RuleKind::ForbiddenTolerations, Source::Entry(at, Setting::ForbiddenTolerations)),
        _ => (RuleKind::Added, annotation(DEFAULTS_ANNOTATION)),
    };
    Rule::new(kind, source, written_at(source, matched), Some(problem))
}

/// Returns the rules of the in-tree plugin's own configuration.
fn in_tree_rules(config: &PodNodeSelectorPluginConfig, namespace: &str, annotations: &Pairs<'_>) -> Vec<Rule> {
    let mut rules = vec![];
    for (kind, (source, text)) in [
        (RuleKind::Required, in_tree::required(config, namespace, annotations)),
        (RuleKind::AllowedNodeSelector, in_tree::configured(config, namespace)),
    ] {
        if !text.is_empty() || matches!(source, Source::Annotation { .. }) {
            rules.push(Rule::of_nodes(kind, source, text, in_tree::read(source, text)));
        }
    }
    rules
}

/// Returns the tolerations at `source`, as they are written.
fn written_at(source: Source<'_>, matched: &MatchedEntry<'_>) -> String {
    match source {
        Source::Annotation { key, .. } => matched.metadata.annotations.get(key).unwrap_or_default().to_owned(),
        Source::Entry(at, setting) => {
            let list = at.entry.toleration_lists().find(|(own, _)| *own == setting);
            list.map(|(_, list)| as_text(list)).unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn as_text(tolerations: &[Toleration]) -> String {
    tolerations.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the labels and annotations of the Namespace of this name; `namespace` is its object, if that is known.
pub fn labels_and_annotations(name: &str, namespace: Option<&Value>) -> LabelsAndAnnotations<'static> {
    let mut found =
        LabelsAndAnnotations { labels: pairs(namespace, "labels"), annotations: pairs(namespace, "annotations") };
    // The API server sets it.
    if !found.labels.contains_key(reference::NAME) {
        found.labels.insert(reference::NAME.into(), name.to_owned().into());
    }
    found
}

/// Returns the labels or annotations of a Namespace.
fn pairs(namespace: Option<&Value>, field: &str) -> Pairs<'static> {
    let metadata = namespace.map(|namespace| &namespace["metadata"][field]);
    metadata.into_iter().flat_map(members).map(|(key, value)| (key.as_str().into(), text(value).into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lists can't be read one by one then.
    #[test]
    fn a_default_that_is_forbidden_is_told_with_the_list_that_forbids_it() {
        let text = r#"{"placement": {"namespaces": [{
            "namespaceSelector": "tenant", "allowedNodeSelector": "pool",
            "defaultTolerations": [{"key": "dedicated", "value": "blue"}],
            "forbiddenTolerations": [{"key": "dedicated", "value": "$(tenant)"}]}]}}"#;
        let settings = Settings::read(Some(text)).unwrap();
        let namespace = serde_json::json!({ "metadata": { "labels": { "tenant": "blue" } } });
        let found = PolicyRules::new(&settings, "team-a", Some(&namespace)).unwrap();
        let told: Vec<_> = found.rules.iter().map(|own| (own.kind, own.text.as_str(), own.problem.is_some())).collect();
        let expected = [
            (RuleKind::AllowedNodeSelector, "pool", false),
            (RuleKind::ForbiddenTolerations, "dedicated=$(tenant)", true),
        ];
        assert_eq!(told, expected);
    }
}
