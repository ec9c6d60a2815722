//! What holds in a namespace, and where that is demanded. The policy's own code decides it, as for a request.

use anyhow::{Result, anyhow};
use node_placement_policy::{
    decision::Rejection,
    json::Pairs,
    object_meta::LabelsAndAnnotations,
    placement::{
        entry::{CandidateEntries, MatchedEntry, unmet},
        in_tree,
        rules::Mode,
        toleration_rules::{DEFAULTS_ANNOTATION, TolerationList, TolerationRules, WHITELIST_ANNOTATION},
    },
    selector::{Requirement, Selector},
    settings::{
        EntryAt, Placement, PodNodeSelectorPluginConfig, PreferredNodeSelector, Setting, Settings, SettingsError,
        Source, reference,
    },
    toleration::Toleration,
};
use serde_json::Value;

use crate::{
    input::{
        json::{members, text},
        settings::entries_at,
    },
    webhook::{delivery::delivery, pods::plain_pod_request, settings_file::SettingsFile},
};

/// What one policy holds a namespace to.
///
/// ```
/// use cli::demands::Demands;
/// use node_placement_policy::settings::Settings;
/// use serde_json::json;
///
/// let text = r#"{"placement": {"namespaces": [{"namespaceSelector": "tenant", "requiredNodeSelector": "pool=$(tenant)"}]}}"#;
/// let settings = Settings::read(Some(text)).unwrap();
/// let namespace = json!({ "metadata": { "name": "team-a", "labels": { "tenant": "blue" } } });
/// let found = Demands::new(&settings, "team-a", Some(&namespace)).unwrap();
/// assert_eq!(found.entry().map(|at| at.position), Some(0));
/// let demand = &found.demands[0];
/// assert_eq!((demand.text.as_str(), demand.path.as_deref()),
///     ("pool=blue", Some("placement.namespaces[0].requiredNodeSelector")));
/// ```
#[derive(Debug, Default)]
pub struct Demands<'s> {
    /// The entry of `placement.namespaces` that holds, if one does, and the Namespace; nothing without `placement`.
    pub matched: Option<MatchedEntry<'s>>,
    /// The entries before it, and those after it that match, too; and why none of them holds.
    pub others: Vec<(EntryAt<'s>, WhyNot<'s>)>,
    /// All that is demanded: of nodes first, in the order in which it is decided, then what is allowed and preferred,
    /// then of tolerations.
    pub demands: Vec<Demand>,
}

/// Why an entry does not hold for a namespace.
#[derive(Clone, Debug, PartialEq)]
pub enum WhyNot<'s> {
    /// Its name is another one.
    Name,
    /// The Namespace does not have what the namespaceSelector asks for.
    Label {
        /// What is asked for, first of all.
        asked: Requirement,
        /// The value of that label, if the Namespace has it.
        found: Option<String>,
    },
    /// It is for other Pods of the namespace, by its podSelector.
    Labels,
    /// It matches, and this one before it does, too.
    EntryAbove(EntryAt<'s>),
}

/// Something that is demanded in a namespace.
#[derive(Clone, Debug)]
pub struct Demand {
    /// What it is about.
    pub kind: DemandKind,
    /// As text: with references filled in; as it is written, if that can't be done.
    pub text: String,
    /// As messages name where it is demanded.
    pub source: String,
    /// The path of the setting; nothing for an annotation.
    pub path: Option<String>,
    /// The selector, if it is one that can be read.
    pub selector: Option<Selector>,
    /// Why nobody knows what is demanded, if so: then what depends on it is rejected.
    pub problem: Option<String>,
}

/// What a demand is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemandKind {
    /// What nodes must have.
    Required,
    /// What is added to Pods: preferences, default tolerations.
    Added,
    /// All the labels of nodes that Pods may ask for.
    AllowedNodeSelector,
    /// All that Pods may tolerate.
    AllowedTolerations,
    /// What Pods must not tolerate.
    ForbiddenTolerations,
}

impl Demand {
    fn new(kind: DemandKind, source: Source<'_>, text: String, problem: Option<&Rejection>) -> Self {
        let path = source.setting().map(|path| path.to_string());
        Self { kind, text, source: source.to_string(), path, selector: None, problem: problem.map(Rejection::message) }
    }

    /// Returns a node selector: the text at `source`, and what is read from it.
    fn of_nodes(kind: DemandKind, source: Source<'_>, text: &str, read: Result<Selector, Rejection>) -> Self {
        match read {
            Ok(selector) => {
                Self { selector: Some(selector.clone()), ..Self::new(kind, source, selector.to_string(), None) }
            }
            Err(problem) => Self::new(kind, source, text.to_owned(), Some(&problem)),
        }
    }

    /// Returns its requirements on labels of nodes, one by one, as text.
    pub fn requirements(&self) -> Vec<String> {
        self.selector.iter().flat_map(Selector::requirements).map(ToString::to_string).collect()
    }
}

impl<'s> Demands<'s> {
    /// Returns what holds in the namespace of this name, for a Pod without labels; `namespace` is its object, if that is
    /// known.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn new(settings: &'s Settings, name: &'s str, namespace: Option<&Value>) -> Result<Self> {
        Self::for_pod(settings, name, namespace, None)
    }

    /// Returns what holds for `pod`, which is a Pod or the template of Pods, in the namespace of this name.
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
                Ok(Self { demands: in_tree_demands(config, name, &found.annotations), ..Self::default() })
            }
            (None, None) => Ok(Self::default()),
        }
    }

    /// Returns the entry that holds, if one does.
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
        let mut demands = node_demands(&matched);
        demands.extend(toleration_demands(&matched));
        let others = others(&matched).map_err(|error| anyhow!("{error}"))?;
        Ok(Self { others, demands, matched: Some(matched) })
    }
}

fn others<'s>(matched: &MatchedEntry<'s>) -> Result<Vec<(EntryAt<'s>, WhyNot<'s>)>, SettingsError> {
    let mut others = vec![];
    for at in entries_at(matched.settings) {
        let above = matched.entry.filter(|holding| holding.position <= at.position);
        let why_not = match (above, unmet(at, &matched.found)?) {
            (Some(holding), None) if holding != at && at.entry.name_fits(matched.namespace) => {
                WhyNot::EntryAbove(holding)
            }
            (Some(_), _) => continue,
            (None, None) if at.entry.name_fits(matched.namespace) => WhyNot::Labels,
            (None, Some(asked)) if at.entry.name_fits(matched.namespace) => {
                let found = matched.found.labels.get(asked.key()).map(str::to_owned);
                WhyNot::Label { asked, found }
            }
            (None, _) => WhyNot::Name,
        };
        others.push((at, why_not));
    }
    Ok(others)
}

fn node_demands(matched: &MatchedEntry<'_>) -> Vec<Demand> {
    let demand = |kind, source, text| Demand::of_nodes(kind, source, text, matched.selector(source, text));
    let required =
        matched.node_selectors().into_iter().map(|(source, text)| demand(DemandKind::Required, source, text));
    let mut demands: Vec<Demand> = required.collect();
    let Some(at) = matched.entry else { return demands };
    let source = Source::Entry(at, Setting::AllowedNodeSelector);
    let allowed = at.entry.allowed_node_selector.iter();
    demands.extend(allowed.map(|text| demand(DemandKind::AllowedNodeSelector, source, text)));
    let source = Source::Entry(at, Setting::PreferredNodeSelector);
    for PreferredNodeSelector { weight, selector } in &at.entry.preferred_node_selector {
        let demand = demand(DemandKind::Added, source, selector);
        demands.push(Demand { text: format!("{} (weight {weight})", demand.text), ..demand });
    }
    demands
}

fn toleration_demands(matched: &MatchedEntry<'_>) -> Vec<Demand> {
    let rules = match TolerationRules::new(matched, Mode::Create) {
        Ok(rules) => rules,
        Err(problem) => return vec![unreadable_tolerations(matched, &problem)],
    };
    let demand = |kind| {
        move |TolerationList { tolerations, source, unresolved }: &TolerationList<'_>| {
            let text = if unresolved.is_some() { written_at(*source, matched) } else { as_text(tolerations) };
            Demand::new(kind, *source, text, unresolved.as_ref())
        }
    };
    let added = rules.defaults.iter().map(demand(DemandKind::Added));
    let allowed = rules.allowed.iter().map(demand(DemandKind::AllowedTolerations));
    added.chain(allowed).chain(rules.forbidden.iter().map(demand(DemandKind::ForbiddenTolerations))).collect()
}

/// Returns a malformed annotation, or a default that is forbidden, stands in the way of reading the other lists.
fn unreadable_tolerations(matched: &MatchedEntry<'_>, problem: &Rejection) -> Demand {
    let annotation = |key| Source::Annotation { key, namespace: matched.namespace };
    let (kind, source) = match (problem.cause().annotation.as_deref(), matched.entry) {
        (Some(WHITELIST_ANNOTATION), _) => (DemandKind::AllowedTolerations, annotation(WHITELIST_ANNOTATION)),
        (None, Some(at)) => (DemandKind::ForbiddenTolerations, Source::Entry(at, Setting::ForbiddenTolerations)),
        _ => (DemandKind::Added, annotation(DEFAULTS_ANNOTATION)),
    };
    Demand::new(kind, source, written_at(source, matched), Some(problem))
}

/// Returns what the in-tree plugin's own configuration demands.
fn in_tree_demands(config: &PodNodeSelectorPluginConfig, namespace: &str, annotations: &Pairs<'_>) -> Vec<Demand> {
    let demanded = (DemandKind::Required, in_tree::required(config, namespace, annotations));
    let allowed = (DemandKind::AllowedNodeSelector, in_tree::configured(config, namespace));
    let all = [demanded, allowed].into_iter();
    let all = all.filter(|(_, (source, text))| !text.is_empty() || matches!(source, Source::Annotation { .. }));
    all.map(|(kind, (source, text))| Demand::of_nodes(kind, source, text, in_tree::read(source, text))).collect()
}

/// Returns the policies that place Pods and are asked about those of a namespace; all that place, if none is asked.
pub fn asked_about<'f>(files: &'f [SettingsFile], name: &str, namespace: Option<&Value>) -> Vec<&'f SettingsFile> {
    let placing: Vec<&SettingsFile> = files.iter().filter(|file| file.places_pods()).collect();
    let pod = plain_pod_request(name);
    let is_asked = |file: &&SettingsFile| {
        file.policy.as_ref().is_none_or(|policy| delivery(policy, &pod, namespace).kept_away().is_none())
    };
    let asked: Vec<&SettingsFile> = placing.iter().copied().filter(is_asked).collect();
    if asked.is_empty() { placing } else { asked }
}

/// Returns the tolerations at `source`, as they are written.
fn written_at(source: Source<'_>, matched: &MatchedEntry<'_>) -> String {
    match source {
        Source::Annotation { key, .. } => matched.found.annotations.get(key).unwrap_or_default().to_owned(),
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
        let found = Demands::new(&settings, "team-a", Some(&namespace)).unwrap();
        let told: Vec<_> =
            found.demands.iter().map(|own| (own.kind, own.text.as_str(), own.problem.is_some())).collect();
        let expected = [
            (DemandKind::AllowedNodeSelector, "pool", false),
            (DemandKind::ForbiddenTolerations, "dedicated=$(tenant)", true),
        ];
        assert_eq!(told, expected);
    }
}
