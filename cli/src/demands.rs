//! What holds in a namespace, and where that is demanded. The policy's own code decides it, as for a request.

use std::collections::BTreeMap;

use node_placement_policy::{
    decision::Rejection,
    json::Pairs,
    object_meta::LabelsAndAnnotations,
    placement::{
        entry::{MatchedEntry, unmet},
        in_tree,
        toleration_rules::{DEFAULTS_ANNOTATION, TolerationList, TolerationRules, WHITELIST_ANNOTATION},
    },
    selector::{Requirement, Selector},
    settings::{
        EntryAt, Placement, PodNodeSelectorPluginConfig, PreferredNodeSelector, Settings, SettingsError, Source,
        reference,
    },
    toleration::Toleration,
};

/// What holds in a namespace.
///
/// ```
/// use std::collections::BTreeMap;
/// use cli::demands::Demands;
/// use node_placement_policy::settings::Settings;
///
/// let text = r#"{"placement": {"namespaces": [{"namespaceSelector": "tenant", "requiredNodeSelector": "pool=$(tenant)"}]}}"#;
/// let settings = Settings::read(Some(text)).unwrap();
/// let labels = BTreeMap::from([("tenant".to_owned(), "blue".to_owned())]);
/// let found = Demands::of(&settings, "team-a", &labels, &BTreeMap::new()).unwrap();
/// assert_eq!(found.entry.map(|at| at.position), Some(0));
/// let demand = &found.demands[0];
/// assert_eq!((demand.text.as_str(), demand.source.path().as_str()),
///     ("pool=blue", "placement.namespaces[0].requiredNodeSelector"));
/// ```
#[derive(Debug, Default)]
pub struct Demands<'s> {
    /// The entry of `placement.namespaces` that holds, if one does.
    pub entry: Option<EntryAt<'s>>,
    /// The entries before it, and why none of them holds.
    pub passed_over: Vec<(EntryAt<'s>, Mismatch)>,
    /// All that is demanded: of nodes first, in the order in which it is decided, then what is allowed and preferred,
    /// then of tolerations.
    pub demands: Vec<Demand<'s>>,
}

/// Why an entry does not hold for a namespace.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// Its name is another one.
    Name,
    /// The Namespace does not have what the namespaceSelector asks for.
    Label {
        /// What is asked for, first of all.
        asked: Requirement,
        /// The value of that label, if the Namespace has it.
        found: Option<String>,
    },
}

/// Something that is demanded in a namespace.
#[derive(Debug)]
pub struct Demand<'s> {
    /// What it is about.
    pub kind: DemandKind,
    /// As text: with references filled in; as it is written, if that can't be done.
    pub text: String,
    /// Where it is demanded.
    pub source: Source<'s>,
    /// The selector, if it is one; empty, if it can't be read.
    pub selector: Selector,
    /// Why nobody knows what is demanded, if so: then what depends on it is rejected.
    pub problem: Option<Rejection>,
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

impl<'s> Demands<'s> {
    /// What holds in the namespace of this name, whose Namespace has these labels and annotations.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn of(
        settings: &'s Settings,
        namespace: &'s str,
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
    ) -> Result<Self, SettingsError> {
        let mut found = LabelsAndAnnotations { labels: pairs(labels), annotations: pairs(annotations) };
        // The API server sets it.
        if !found.labels.contains_key(reference::NAME) {
            found.labels.insert(reference::NAME.into(), namespace.into());
        }
        match (&settings.placement, &settings.pod_node_selector_plugin_config) {
            (Some(placement), _) => Self::of_placement(placement, namespace, found),
            (None, Some(config)) => Ok(Self::of_plugin(config, namespace, &found.annotations)),
            (None, None) => Ok(Self::default()),
        }
    }

    fn of_placement(
        settings: &'s Placement,
        namespace: &'s str,
        found: LabelsAndAnnotations<'s>,
    ) -> Result<Self, SettingsError> {
        let mut explanation = Self::default();
        for (position, entry) in settings.namespaces.iter().enumerate() {
            let at = EntryAt { position, entry };
            let mismatch = if !entry.name_fits(namespace) {
                Mismatch::Name
            } else if let Some(asked) = unmet(at, &found)? {
                let found = found.labels.get(asked.key()).map(str::to_owned);
                Mismatch::Label { asked, found }
            } else {
                explanation.entry = Some(at);
                break;
            };
            explanation.passed_over.push((at, mismatch));
        }
        let entry = explanation.entry;
        let matched = MatchedEntry::new(settings, namespace, entry, found);
        explanation.add_node_selectors(&matched);
        explanation.add_tolerations(&matched);
        Ok(explanation)
    }

    fn add_node_selectors(&mut self, matched: &MatchedEntry<'s>) {
        for (source, text) in matched.node_selectors() {
            self.add_selector(DemandKind::Required, source, text, matched.selector(source, text));
        }
        let Some(at) = matched.entry else { return };
        if let Some(text) = &at.entry.allowed_node_selector {
            let source = Source::Entry(at, "allowedNodeSelector");
            self.add_selector(DemandKind::AllowedNodeSelector, source, text, matched.selector(source, text));
        }
        for PreferredNodeSelector { weight, selector } in &at.entry.preferred_node_selector {
            let source = Source::Entry(at, "preferredNodeSelector");
            self.add_selector(DemandKind::Added, source, selector, matched.selector(source, selector));
            if let Some(added) = self.demands.last_mut() {
                added.text = format!("{} (weight {weight})", added.text);
            }
        }
    }

    fn add_selector(&mut self, kind: DemandKind, source: Source<'s>, written: &str, read: Result<Selector, Rejection>) {
        let (selector, problem) = match read {
            Ok(selector) => (selector, None),
            Err(problem) => (Selector::default(), Some(problem)),
        };
        let text = if problem.is_some() { written.to_owned() } else { selector.to_string() };
        self.demands.push(Demand { kind, text, source, selector, problem });
    }

    fn add_tolerations(&mut self, matched: &MatchedEntry<'s>) {
        match TolerationRules::new(matched) {
            Ok(TolerationRules { defaults, allowed, forbidden, .. }) => {
                let added = defaults.into_iter().map(|list| (DemandKind::Added, list));
                let allowed = allowed.into_iter().map(|list| (DemandKind::AllowedTolerations, list));
                let forbidden = forbidden.into_iter().map(|list| (DemandKind::ForbiddenTolerations, list));
                for (kind, TolerationList { tolerations, source, unresolved: problem }) in
                    added.chain(allowed).chain(forbidden)
                {
                    let text = if problem.is_some() { written_at(source, matched) } else { as_text(&tolerations) };
                    self.demands.push(Demand { kind, text, source, selector: Selector::default(), problem });
                }
            }
            // A malformed annotation, or a default that is forbidden, stands in the way of reading the others.
            Err(problem) => {
                let namespace = matched.namespace;
                let (kind, source) = match (problem.cause().annotation.as_deref(), matched.entry) {
                    (Some(WHITELIST_ANNOTATION), _) => {
                        (DemandKind::AllowedTolerations, Source::Annotation { key: WHITELIST_ANNOTATION, namespace })
                    }
                    (None, Some(at)) => (DemandKind::ForbiddenTolerations, Source::Entry(at, "forbiddenTolerations")),
                    _ => (DemandKind::Added, Source::Annotation { key: DEFAULTS_ANNOTATION, namespace }),
                };
                let (text, selector) = (written_at(source, matched), Selector::default());
                self.demands.push(Demand { kind, text, source, selector, problem: Some(problem) });
            }
        }
    }

    /// The in-tree plugin's own configuration.
    fn of_plugin(config: &'s PodNodeSelectorPluginConfig, namespace: &'s str, annotations: &Pairs<'_>) -> Self {
        let mut explanation = Self::default();
        let demanded = in_tree::demanded(config, namespace, annotations);
        let allowed = in_tree::configured(config, namespace);
        for (kind, (source, text)) in [(DemandKind::Required, demanded), (DemandKind::AllowedNodeSelector, allowed)] {
            if !text.is_empty() || matches!(source, Source::Annotation { .. }) {
                explanation.add_selector(kind, source, text, in_tree::read(source, text));
            }
        }
        explanation
    }
}

/// The tolerations at `source`, as they are written.
fn written_at(source: Source<'_>, matched: &MatchedEntry<'_>) -> String {
    match source {
        Source::Annotation { key, .. } => matched.found.annotations.get(key).unwrap_or_default().to_owned(),
        Source::Entry(at, field) => {
            let list = at.entry.toleration_lists().find(|(own, _)| *own == field);
            list.map(|(_, list)| as_text(list)).unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn as_text(tolerations: &[Toleration]) -> String {
    tolerations.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn pairs(map: &BTreeMap<String, String>) -> Pairs<'static> {
    map.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
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
        let labels = BTreeMap::from([("tenant".to_owned(), "blue".to_owned())]);
        let found = Demands::of(&settings, "team-a", &labels, &BTreeMap::new()).unwrap();
        let told: Vec<_> =
            found.demands.iter().map(|own| (own.kind, own.text.as_str(), own.problem.is_some())).collect();
        let expected = [
            (DemandKind::AllowedNodeSelector, "pool", false),
            (DemandKind::ForbiddenTolerations, "dedicated=$(tenant)", true),
        ];
        assert_eq!(told, expected);
    }
}
