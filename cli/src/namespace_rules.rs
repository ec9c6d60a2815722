//! What holds in a namespace, and who says so. The policy decides it for each request, and does not tell; this says it for
//! people.

use std::collections::BTreeMap;

use node_placement_policy::{
    placement::explanation::{Demand as Demanded, DemandKind, Explanation, Mismatch},
    settings::{Enforcement, NamespaceEntry, Settings, Source},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    engine::native::{Selector, parse_selector},
    input::json::{members, text},
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
    let (labels, annotations) = (strings(namespace, "labels"), strings(namespace, "annotations"));
    let Ok(explanation) = Explanation::of(settings, name, &labels, &annotations) else {
        return NamespaceRules::default();
    };
    let entry = explanation.entry();
    let entries = explanation.entries.iter().map(|outcome| EntryOutcome {
        position: outcome.at.position,
        about: about(outcome.at.entry),
        holds: outcome.mismatch.is_none(),
        because: outcome.mismatch.as_ref().map(|mismatch| because(mismatch, name, outcome.at.entry)),
    });
    let entries = entries.collect();
    let (demands, rules): (Vec<_>, Vec<_>) =
        explanation.demands.into_iter().partition(|demanded| demanded.kind == DemandKind::NodeSelector);
    let mut rules: Vec<Demand> = rules.into_iter().map(Demand::of).collect();
    if let Some(at) = entry.filter(|at| at.entry.enforcement == Enforcement::Warn) {
        let origin = Source::Entry(at, "enforcement").to_string();
        rules.push(Demand { kind: "enforcement", text: "Warn".to_owned(), origin, problem: None, is_of_entry: true });
    }
    NamespaceRules { entries, demands: demands.into_iter().map(Demand::of).collect(), rules }
}

/// The position of the entry that holds for a namespace.
pub fn holding_entry(settings: &Settings, name: &str, namespace: &Value) -> Option<usize> {
    let (labels, annotations) = (strings(namespace, "labels"), strings(namespace, "annotations"));
    let explanation = Explanation::of(settings, name, &labels, &annotations).ok()?;
    explanation.entry().map(|at| at.position)
}

/// What is known of a Namespace.
fn strings(namespace: &Value, field: &str) -> BTreeMap<String, String> {
    members(&namespace["metadata"][field]).map(|(key, value)| (key.clone(), text(value).to_owned())).collect()
}

/// Why an entry does not hold.
fn because(mismatch: &Mismatch, name: &str, entry: &NamespaceEntry) -> String {
    match mismatch {
        Mismatch::Name => format!("{name:?} is not {:?}", entry.name.as_deref().unwrap_or_default()),
        Mismatch::Label { asked, found: Some(value) } => {
            format!("the Namespace has {}={value}, not {asked}", asked.key())
        }
        Mismatch::Label { asked, found: None } => format!("the Namespace has no label {}", asked.key()),
    }
}

impl Demand {
    fn of(demanded: Demanded<'_>) -> Self {
        let weight = match demanded.kind {
            DemandKind::PreferredNodeSelector(weight) => format!(" (weight {weight})"),
            _ => String::new(),
        };
        let kind = match demanded.kind {
            DemandKind::NodeSelector => "nodeSelector",
            DemandKind::AllowedNodeSelector => "allowedNodeSelector",
            DemandKind::PreferredNodeSelector(_) => "preferredNodeSelector",
            DemandKind::DefaultTolerations => "defaultTolerations",
            DemandKind::AllowedTolerations => "allowedTolerations",
            DemandKind::ForbiddenTolerations => "forbiddenTolerations",
        };
        let is_of_entry = matches!(demanded.source, Source::Entry(..));
        let problem = demanded.value.err().map(|rejection| rejection.message());
        let text = format!("{}{weight}", demanded.text);
        Self { kind, text, origin: demanded.source.to_string(), problem, is_of_entry }
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
