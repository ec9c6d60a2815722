//! What holds in a namespace, and where that is demanded, for people who ask. It is found as for a request.

use std::collections::BTreeMap;

use super::entry::{MatchedEntry, unmet};
use super::references::TolerationList;
use super::references::read_annotation;
use super::toleration_rules::{DEFAULTS_ANNOTATION, TolerationRules, WHITELIST_ANNOTATION};
use crate::decision::Rejection;
use crate::json::Pairs;
use crate::object_meta::LabelsAndAnnotations;
use crate::selector::{self, Requirement, Selector};
use crate::settings::placement::IN_TREE_ANNOTATION;
use crate::settings::{EntryAt, Placement, PodNodeSelectorPluginConfig, Settings, SettingsError, Source, reference};
use crate::toleration::Toleration;

/// What holds in a namespace.
///
/// ```
/// use std::collections::BTreeMap;
/// use node_placement_policy::placement::explanation::Explanation;
/// use node_placement_policy::settings::Settings;
///
/// let text = r#"{"placement": {"namespaces": [{"namespaceSelector": "tenant", "requiredNodeSelector": "pool=$(tenant)"}]}}"#;
/// let settings = Settings::read(Some(text)).unwrap();
/// let labels = BTreeMap::from([("tenant".to_owned(), "blue".to_owned())]);
/// let explanation = Explanation::of(&settings, "team-a", &labels, &BTreeMap::new()).unwrap();
/// assert_eq!(explanation.entry().map(|at| at.position), Some(0));
/// let demand = &explanation.demands[0];
/// assert_eq!((demand.text.as_str(), demand.source.path().as_str()),
///     ("pool=blue", "placement.namespaces[0].requiredNodeSelector"));
/// ```
#[derive(Debug)]
pub struct Explanation<'s> {
    /// The entries of `placement.namespaces` in order, up to the one that holds, and why each but that one does not.
    pub entries: Vec<EntryOutcome<'s>>,
    /// All that is demanded: of nodes first, in the order in which it is decided, then what is allowed and preferred,
    /// then of tolerations.
    pub demands: Vec<Demand<'s>>,
}

/// Whether an entry holds for a namespace.
#[derive(Debug)]
pub struct EntryOutcome<'s> {
    /// The entry.
    pub at: EntryAt<'s>,
    /// Why it does not hold; nothing, if it does.
    pub mismatch: Option<Mismatch>,
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
    /// What sort of demand it is.
    pub kind: DemandKind,
    /// As text: with references filled in; as it is written, if that can't be done.
    pub text: String,
    /// Where it is demanded.
    pub source: Source<'s>,
    /// What is demanded; or why nobody knows it, and what depends on it is rejected.
    pub value: Result<DemandValue, Rejection>,
}

/// The sorts of [`Demand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemandKind {
    /// What nodes must have.
    NodeSelector,
    /// What Pods may ask for.
    AllowedNodeSelector,
    /// What Pods prefer, with this weight.
    PreferredNodeSelector(i64),
    /// What is added to the tolerations of Pods.
    DefaultTolerations,
    /// What Pods may tolerate.
    AllowedTolerations,
    /// What Pods must not tolerate.
    ForbiddenTolerations,
}

/// What a [`Demand`] is.
#[derive(Clone, Debug, PartialEq)]
pub enum DemandValue {
    /// A node selector.
    Selector(Selector),
    /// Tolerations.
    Tolerations(Vec<Toleration>),
}

impl<'s> Explanation<'s> {
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
        let mut found = LabelsAndAnnotations { labels: strings(labels), annotations: strings(annotations) };
        // The API server sets it.
        if !found.labels.contains_key(reference::NAME) {
            found.labels.insert(reference::NAME.into(), namespace.into());
        }
        match (&settings.placement, &settings.pod_node_selector_plugin_config) {
            (Some(placement), _) => Self::of_placement(placement, namespace, found),
            (None, Some(config)) => Ok(Self::of_plugin(config, namespace, &found)),
            (None, None) => Ok(Self { entries: Vec::new(), demands: Vec::new() }),
        }
    }

    /// The entry that holds, if one does.
    pub fn entry(&self) -> Option<EntryAt<'s>> {
        self.entries.iter().find(|outcome| outcome.mismatch.is_none()).map(|outcome| outcome.at)
    }

    fn of_placement(
        settings: &'s Placement,
        namespace: &'s str,
        found: LabelsAndAnnotations<'s>,
    ) -> Result<Self, SettingsError> {
        let mut explanation = Self { entries: Vec::new(), demands: Vec::new() };
        for (position, entry) in settings.namespaces.iter().enumerate() {
            let at = EntryAt { position, entry };
            let mismatch = mismatch(at, namespace, &found)?;
            let holds = mismatch.is_none();
            explanation.entries.push(EntryOutcome { at, mismatch });
            if holds {
                break;
            }
        }
        let entry = explanation.entry();
        let matched = MatchedEntry { settings, namespace, entry, found, ignores_unresolved: false, has_name: true };
        explanation.add_node_selectors(&matched);
        explanation.add_tolerations(&matched);
        Ok(explanation)
    }

    fn add_node_selectors(&mut self, matched: &MatchedEntry<'s>) {
        for source in matched.node_selector_sources() {
            let written = matched.text_at(source).unwrap_or_default();
            self.add_selector(DemandKind::NodeSelector, written, source, matched);
        }
        let Some(at) = matched.entry else { return };
        if let Some(text) = &at.entry.allowed_node_selector {
            let source = Source::Entry(at, "allowedNodeSelector");
            self.add_selector(DemandKind::AllowedNodeSelector, text, source, matched);
        }
        for preferred in &at.entry.preferred_node_selector {
            let kind = DemandKind::PreferredNodeSelector(preferred.weight);
            self.add_selector(kind, &preferred.selector, Source::Entry(at, "preferredNodeSelector"), matched);
        }
    }

    fn add_selector(&mut self, kind: DemandKind, written: &str, source: Source<'s>, matched: &MatchedEntry<'s>) {
        let read = match source {
            Source::Annotation { .. } => matched.selector_at(source),
            _ => matched.selector(Some(written), source),
        };
        let value = read.map(|read| read.map(|own| own.selector).unwrap_or_default());
        let text = value.as_ref().map_or_else(|_| written.to_owned(), ToString::to_string);
        self.demands.push(Demand { kind, text, source, value: value.map(DemandValue::Selector) });
    }

    fn add_tolerations(&mut self, matched: &MatchedEntry<'s>) {
        let rules = match TolerationRules::of(matched) {
            Ok(rules) => rules,
            Err(rejection) => return self.demands.extend(Demand::of_rejection(rejection, matched)),
        };
        self.demands.extend(rules.defaults.map(|list| Demand::of(DemandKind::DefaultTolerations, list)));
        for list in rules.allowed {
            self.demands.push(Demand::of(DemandKind::AllowedTolerations, list));
        }
        self.demands.extend(rules.forbidden.map(|list| Demand::of(DemandKind::ForbiddenTolerations, list)));
    }

    /// The in-tree plugin's own configuration.
    fn of_plugin(
        config: &'s PodNodeSelectorPluginConfig,
        namespace: &'s str,
        found: &LabelsAndAnnotations<'_>,
    ) -> Self {
        const DEFAULT: &str = "clusterDefaultNodeSelector";
        let mut demands = Vec::new();
        let of_config = |key: &'s str, kind| {
            let text = config.get(key)?.as_deref().filter(|text| !text.is_empty())?;
            let source = Source::PluginConfig(key);
            let parsed = selector::parse_pairs(text);
            let value = parsed.map_err(|error| SettingsError::new(&source, error.to_string()).into());
            Some(Demand { kind, text: text.to_owned(), source, value: value.map(DemandValue::Selector) })
        };
        let what = ("a node selector", IN_TREE_ANNOTATION);
        let parse = selector::parse_pairs;
        match read_annotation(what, namespace, &found.annotations, usize::MAX, parse).transpose() {
            None => demands.extend(of_config(DEFAULT, DemandKind::NodeSelector)),
            Some(read) => {
                let source = Source::Annotation { key: IN_TREE_ANNOTATION, namespace };
                let text = found.annotations.get(IN_TREE_ANNOTATION).unwrap_or_default().to_owned();
                let value = read.map(|(selector, _)| DemandValue::Selector(selector));
                demands.push(Demand { kind: DemandKind::NodeSelector, text, source, value });
            }
        }
        demands.extend(of_config(namespace, DemandKind::AllowedNodeSelector));
        Self { entries: Vec::new(), demands }
    }
}

impl<'s> Demand<'s> {
    fn of(kind: DemandKind, list: TolerationList<'s>) -> Self {
        let TolerationList { tolerations, source, unresolved } = list;
        let Some(rejection) = unresolved else {
            let value = Ok(DemandValue::Tolerations(tolerations.to_vec()));
            return Self { kind, text: as_text(&tolerations), source, value };
        };
        let mut text = String::new();
        if let Source::Entry(at, field) = source {
            let written = at.entry.toleration_lists().find(|(own, _)| *own == field);
            text = written.map(|(_, list)| as_text(list)).unwrap_or_default();
        }
        Self { kind, text, source, value: Err(rejection) }
    }

    /// What stands in the way of reading the others: a malformed annotation, or a default that is forbidden.
    fn of_rejection(rejection: Rejection, matched: &MatchedEntry<'s>) -> Option<Self> {
        let namespace = matched.namespace;
        let (kind, source) = match rejection.cause().annotation.as_deref() {
            Some(WHITELIST_ANNOTATION) => {
                (DemandKind::AllowedTolerations, Source::Annotation { key: WHITELIST_ANNOTATION, namespace })
            }
            Some(_) => (DemandKind::DefaultTolerations, Source::Annotation { key: DEFAULTS_ANNOTATION, namespace }),
            None => (DemandKind::ForbiddenTolerations, Source::Entry(matched.entry?, "forbiddenTolerations")),
        };
        let text = matched.text_at(source).unwrap_or_default().to_owned();
        Some(Self { kind, text, source, value: Err(rejection) })
    }
}

fn as_text(tolerations: &[Toleration]) -> String {
    tolerations.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn mismatch(
    at: EntryAt<'_>,
    namespace: &str,
    found: &LabelsAndAnnotations<'_>,
) -> Result<Option<Mismatch>, SettingsError> {
    if !at.entry.name_fits(namespace) {
        return Ok(Some(Mismatch::Name));
    }
    Ok(unmet(at, found)?.map(|asked| {
        let found = found.labels.get(asked.key()).map(str::to_owned);
        Mismatch::Label { asked, found }
    }))
}

fn strings(map: &BTreeMap<String, String>) -> Pairs<'static> {
    map.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}
