//! What holds in a namespace, and who says so. The policy decides it for each request, and does not tell; this says it for
//! people.

use node_placement_policy::{
    decision::Rejection,
    json::StringMap,
    object_meta::LabelsAndAnnotations,
    placement::{
        holding_entry::HoldingEntry,
        sourced::TolerationList,
        toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION},
    },
    settings::{
        Enforcement, NamespaceEntry, Placement, PodNodeSelectorPluginConfig, Settings, Source,
        placement::IN_TREE_ANNOTATION, reference::NAME, source::EntryAt,
    },
    toleration::Toleration,
};
use serde::Serialize;
use serde_json::Value;

use crate::input::json::{members, text};
use crate::{
    engine::native::{Selector, parse_selector},
    input::settings::entries,
};

/// What holds in a namespace.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceRules {
    /// The entries up to the one that holds, and why each holds or not.
    pub entries: Vec<EntryOutcome>,
    /// What nodes must have, in the order in which it is decided.
    pub demands: Vec<Demand>,
    /// What else is said about Pods of the namespace.
    pub rules: Vec<Demand>,
}

/// Whether an entry of `placement.namespaces` holds.
#[derive(Debug, Serialize)]
pub struct EntryOutcome {
    pub position: usize,
    /// `name "team-*"`
    pub about: String,
    pub holds: bool,
    /// Why it does not.
    pub because: Option<String>,
}

/// Something that is demanded.
#[derive(Debug, Serialize)]
pub struct Demand {
    /// What it is about: `nodeSelector`, `allowedNodeSelector`.
    pub kind: &'static str,
    /// As it is meant: with references filled in.
    pub text: String,
    /// Who says so.
    pub origin: String,
    /// What keeps it from being met, in the policy's words: a reference to a label that the Namespace does not have.
    pub problem: Option<String>,
    /// Whether an entry of the settings says so.
    #[serde(skip)]
    pub is_of_entry: bool,
}

/// What placement says about a namespace, its Namespace's labels and annotations being known.
pub fn namespace_rules(settings: &Settings, name: &str, namespace: &Value) -> NamespaceRules {
    let found = metadata(name, namespace);
    let Some(placement) = &settings.placement else {
        let config = settings.pod_node_selector_plugin_config.as_ref();
        let demands = config.and_then(|config| plugin(config, name, &found)).into_iter().collect();
        return NamespaceRules { demands, ..NamespaceRules::default() };
    };
    let entries = outcomes(placement, name, &found);
    let position = entries.iter().find(|entry| entry.holds).map(|entry| entry.position);
    let entry = position.map(|position| EntryAt { position, entry: &placement.namespaces[position] });
    let holding = HoldingEntry { settings: placement, namespace: name, entry, found, ignores_unresolved: false };
    let rules = Rules(&holding);
    NamespaceRules { demands: rules.demands(), rules: rules.rules(), entries }
}

/// The position of the entry that holds for a namespace.
pub fn holding_entry(settings: &Settings, name: &str, namespace: &Value) -> Option<usize> {
    let found = metadata(name, namespace);
    entries(settings).iter().position(|entry| mismatch(entry, name, &found).is_none())
}

/// What is known of a Namespace: its name, if nobody has looked it up.
fn metadata(name: &str, namespace: &Value) -> LabelsAndAnnotations<'static> {
    let strings = |field: &str| -> StringMap<'static> {
        members(&namespace["metadata"][field]).map(|(key, value)| (key.as_str().into(), text(value).into())).collect()
    };
    let mut labels = strings("labels");
    labels.entry(NAME.into()).or_insert_with(|| name.into());
    LabelsAndAnnotations { labels, annotations: strings("annotations") }
}

fn outcomes(placement: &Placement, name: &str, found: &LabelsAndAnnotations<'_>) -> Vec<EntryOutcome> {
    let mut outcomes = vec![];
    for (position, entry) in placement.namespaces.iter().enumerate() {
        let because = mismatch(entry, name, found);
        let holds = because.is_none();
        outcomes.push(EntryOutcome { position, about: about(entry), holds, because });
        if holds {
            break;
        }
    }
    outcomes
}

/// Why an entry does not hold, if so.
fn mismatch(entry: &NamespaceEntry, name: &str, found: &LabelsAndAnnotations<'_>) -> Option<String> {
    if !entry.name_fits(name) {
        return Some(format!("{name:?} is not {:?}", entry.name.as_deref().unwrap_or_default()));
    }
    let selector = match parse_selector(entry.namespace_selector.as_deref()?) {
        Ok(selector) => selector,
        Err(error) => return Some(error),
    };
    let label = |key: &str| found.labels.get(key).map(|value| &**value);
    let unmet = selector.requirements().iter().find(|requirement| !requirement.accepts(label(requirement.key())))?;
    Some(match label(unmet.key()) {
        Some(value) => format!("the Namespace has {}={value}, not {unmet}", unmet.key()),
        None => format!("the Namespace has no label {}", unmet.key()),
    })
}

/// The in-tree plugin's own configuration.
fn plugin(config: &PodNodeSelectorPluginConfig, name: &str, found: &LabelsAndAnnotations<'_>) -> Option<Demand> {
    let default = "clusterDefaultNodeSelector";
    annotated(IN_TREE_ANNOTATION, "nodeSelector", name, found).or_else(|| {
        let text = config.get(default)?.clone().filter(|text| !text.is_empty())?;
        Some(Demand::new("nodeSelector", text, Source::PluginConfig(default)))
    })
}

fn annotated(key: &str, kind: &'static str, namespace: &str, found: &LabelsAndAnnotations<'_>) -> Option<Demand> {
    let text = found.annotations.get(key)?.to_string();
    Some(Demand::new(kind, text, Source::Annotation { key, namespace }))
}

/// Reads the entry that holds, with its references filled in.
struct Rules<'h>(&'h HoldingEntry<'h>);

impl<'h> Rules<'h> {
    fn demands(&self) -> Vec<Demand> {
        let HoldingEntry { settings, entry, .. } = self.0;
        let selector = |text, field| self.selector("nodeSelector", text, field);
        let required = entry.and_then(|at| selector(&at.entry.required_node_selector, "requiredNodeSelector"));
        let annotated: Vec<Demand> =
            settings.namespace_annotations.0.iter().filter_map(|key| self.annotated(key, "nodeSelector")).collect();
        if !annotated.is_empty() {
            return required.into_iter().chain(annotated).collect();
        }
        let default = entry.and_then(|at| selector(&at.entry.default_node_selector, "defaultNodeSelector"));
        let of_cluster = || {
            let field = "clusterDefaultNodeSelector";
            let text = settings.cluster_default_node_selector.clone()?;
            Some(Demand::new("nodeSelector", text, Source::Placement(field)))
        };
        required.into_iter().chain(default.or_else(of_cluster)).collect()
    }

    fn rules(&self) -> Vec<Demand> {
        let HoldingEntry { settings, entry, .. } = self.0;
        let honors = settings.honors_toleration_annotations();
        let annotated = |key, kind| self.annotated(key, kind).filter(|_| honors);
        let mut rules = vec![];
        if let Some(EntryAt { entry, .. }) = entry {
            rules.extend(self.selector("allowedNodeSelector", &entry.allowed_node_selector, "allowedNodeSelector"));
            for preferred in &entry.preferred_node_selector {
                let field = "preferredNodeSelector";
                let demand = self.selector(field, &Some(preferred.selector.clone()), field);
                rules.extend(
                    demand.map(|demand| Demand {
                        text: format!("{} (weight {})", demand.text, preferred.weight),
                        ..demand
                    }),
                );
            }
        }
        let of_entry = |field, list: fn(&NamespaceEntry) -> &Option<Vec<Toleration>>| {
            let at = (*entry)?;
            self.tolerations(field, list(at.entry), Source::Entry(at, field))
        };
        let of_cluster = || {
            let list = &settings.cluster_default_tolerations;
            self.tolerations("defaultTolerations", list, Source::Placement("clusterDefaultTolerations"))
        };
        rules.extend(
            annotated(DEFAULTS_ANNOTATION, "defaultTolerations")
                .or_else(|| of_entry("defaultTolerations", |entry| &entry.default_tolerations))
                .or_else(of_cluster),
        );
        rules.extend(of_entry("allowedTolerations", |entry| &entry.allowed_tolerations));
        rules.extend(annotated(WHITELIST_ANNOTATION, "allowedTolerations"));
        rules.extend(of_entry("forbiddenTolerations", |entry| &entry.forbidden_tolerations));
        if let Some(at) = entry.filter(|at| at.entry.enforcement == Enforcement::Warn) {
            rules.push(Demand::new("enforcement", "Warn".to_owned(), Source::Entry(at, "enforcement")));
        }
        rules
    }

    fn annotated(&self, key: &str, kind: &'static str) -> Option<Demand> {
        annotated(key, kind, self.0.namespace, &self.0.found)
    }

    /// A selector of the entry.
    fn selector(&self, kind: &'static str, text: &Option<String>, field: &'static str) -> Option<Demand> {
        let (text, source) = (text.as_deref()?, Source::Entry(self.0.entry?, field));
        let filled = self
            .0
            .selector(Some(text), source)
            .map(|filled| filled.map(|filled| filled.selector.to_string()).unwrap_or_default());
        Some(Demand::filled(kind, text.to_owned(), filled, source))
    }

    fn tolerations(&self, kind: &'static str, list: &'h Option<Vec<Toleration>>, source: Source<'h>) -> Option<Demand> {
        let in_words = |list: &[Toleration]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let filled = self.0.tolerations(list, source, Vec::new())?;
        let TolerationList { tolerations, unresolved, .. } = filled;
        let filled = unresolved.map_or_else(|| Ok(in_words(&tolerations)), Err);
        Some(Demand::filled(kind, in_words(list.as_ref()?), filled, source))
    }
}

impl Demand {
    fn new(kind: &'static str, text: String, source: Source<'_>) -> Self {
        let is_of_entry = matches!(source, Source::Entry(..));
        Self { kind, text, origin: source.to_string(), problem: None, is_of_entry }
    }

    /// As it is written, where the references can't be filled in.
    fn filled(kind: &'static str, written: String, filled: Result<String, Rejection>, source: Source<'_>) -> Self {
        match filled {
            Ok(text) => Self::new(kind, text, source),
            Err(rejection) => Self { problem: Some(rejection.message()), ..Self::new(kind, written, source) },
        }
    }

    /// As a selector, if it is one.
    pub fn selector(&self) -> Option<Selector> {
        if self.problem.is_some() { None } else { parse_selector(&self.text).ok() }
    }
}

/// `name "team-*", namespaceSelector "tenant"`
pub fn about(entry: &NamespaceEntry) -> String {
    let name = entry.name.iter().map(|name| format!("name {name:?}"));
    let selector = entry.namespace_selector.iter().map(|selector| format!("namespaceSelector {selector:?}"));
    name.chain(selector).collect::<Vec<_>>().join(", ")
}
