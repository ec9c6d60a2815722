//! How Pods that a taint keeps away could tolerate it, and whether they should.

use node_placement_policy::{
    placement::{
        entry::MatchedEntry,
        mode::Mode,
        severity::Severity,
        toleration_rules::{DEFAULTS_ANNOTATION, TolerationList, TolerationRules, WHITELIST_ANNOTATION},
    },
    settings::Source,
    toleration::{EQUAL, Taint, Toleration},
};

/// Nodes with these taints run the control plane.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// What is said of taints of such nodes.
pub const NOT_FOR_WORKLOADS: &str =
    "Nodes of the control plane are not for workloads: change the selector, or label other nodes";

/// What to do about taints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The taints as text. Where every tenant of the entry has its own, with references instead of their values: then
    /// one remedy is for all of them.
    pub taints: Vec<String>,
    /// Whether it is for all tenants of the entry.
    pub is_for_all: bool,
    /// What to do.
    pub text: String,
    /// The path of the setting to change, if it is one.
    pub setting: Option<String>,
}

impl Remedy {
    /// Makes a remedy for the Pods of one namespace.
    pub fn new(taints: &[Taint], text: String, setting: Option<String>) -> Self {
        Self { taints: taints.iter().map(ToString::to_string).collect(), is_for_all: false, text, setting }
    }
}

/// Returns what to do about taints that keep the Pods of a namespace away. `entry` names the entry that holds there.
pub fn remedy(placement: &MatchedEntry<'_>, entry: &str, taints: &[Taint]) -> Remedy {
    let remedy = |text: String, field: Option<&str>| {
        let setting = placement.entry.zip(field).map(|(at, field)| format!("{at}.{field}"));
        Remedy::new(taints, text, setting)
    };
    let wanted: Vec<Toleration> = taints.iter().filter(|taint| !is_control_plane(taint)).map(toleration).collect();
    if wanted.is_empty() {
        return remedy(NOT_FOR_WORKLOADS.to_owned(), None);
    }
    let rules = TolerationRules::new(placement, Mode::Create).unwrap_or_default();
    if placement.severity() == Severity::Report && covers_all(&rules.defaults_of_settings, &wanted) {
        let text = format!("{entry} has this toleration, but only warns, and adds nothing: enforce it");
        return remedy(text, Some("enforcement"));
    }
    if let Some(forbidden) = wanted.iter().find(|wanted| rules.prohibition_of(wanted).is_some()) {
        let text = format!(
            "The forbiddenTolerations of {entry} forbid to tolerate {forbidden}: change these, or what the Pods ask of \
             nodes"
        );
        return remedy(text, Some("forbiddenTolerations"));
    }
    if rules.defaults.as_ref().is_some_and(is_annotation) {
        let (text, is_refused) = to_the_annotation(placement, entry, &rules, &wanted);
        return remedy(text, is_refused.then_some("allowedTolerations"));
    }
    let field = Some("defaultTolerations");
    if placement.entry.is_none_or(|at| at.entry.references().next().is_none()) {
        return remedy(adding(placement, entry, &wanted), field);
    }
    match with_references(placement, &wanted) {
        Some(added) => {
            let taints = added.iter().map(ToString::to_string).collect();
            Remedy { taints, is_for_all: true, ..remedy(adding(placement, entry, &added), field) }
        }
        None => {
            let text = format!(
                "In {entry}, defaultTolerations would let all its tenants tolerate that: if they may, add it there; \
                 else give Namespace {} an entry of its own above it",
                placement.namespace
            );
            remedy(text, field)
        }
    }
}

/// Returns how to add tolerations to the annotation that replaces those of the entry, and whether the entry must allow them
/// first: what an annotation adds is validated.
fn to_the_annotation(
    placement: &MatchedEntry<'_>,
    entry: &str,
    rules: &TolerationRules<'_>,
    wanted: &[Toleration],
) -> (String, bool) {
    let (annotations, lists): (Vec<_>, Vec<_>) = rules.allowed.iter().partition(|list| is_annotation(list));
    let is_refused = !lists.iter().all(|list| covers_all(&list.tolerations, wanted));
    let mut text = format!(
        "If these Pods may run there, add {} to the annotation {DEFAULTS_ANNOTATION} of Namespace {}, which replaces \
         defaultTolerations",
        as_text(wanted),
        placement.namespace
    );
    if is_refused {
        text += &format!(", and to the allowedTolerations of {entry}");
    }
    if !annotations.is_empty() {
        text += &format!(", and to its annotation {WHITELIST_ANNOTATION}");
    }
    (text, is_refused)
}

/// Returns how to add tolerations to those of the entry.
fn adding(placement: &MatchedEntry<'_>, entry: &str, added: &[Toleration]) -> String {
    let own = placement.entry.and_then(|at| at.entry.default_tolerations.as_deref());
    let cluster_default = placement.settings.cluster_default_tolerations.as_deref().unwrap_or_default();
    let repeats = if own.is_none() && !cluster_default.is_empty() {
        ", which repeats clusterDefaultTolerations, since an entry's own list replaces them"
    } else {
        ""
    };
    let all = as_text(&[own.unwrap_or(cluster_default), added].concat());
    format!("If these Pods may run there, give {entry} defaultTolerations: [{all}]{repeats}")
}

/// Returns whether it keeps nodes for the control plane.
pub fn is_control_plane(taint: &Taint) -> bool {
    CONTROL_PLANE.contains(&taint.key.as_str())
}

fn is_annotation(list: &TolerationList<'_>) -> bool {
    matches!(list.source, Source::Annotation { .. })
}

fn covers_all(list: &[Toleration], wanted: &[Toleration]) -> bool {
    wanted.iter().all(|wanted| list.iter().any(|own| own.covers(wanted)))
}

fn toleration(taint: &Taint) -> Toleration {
    let Taint { key, value, effect } = taint.clone();
    if value.is_empty() {
        return Toleration::exists(&key, &effect);
    }
    Toleration { key, operator: EQUAL.to_owned(), value, effect, toleration_seconds: None }
}

/// Returns `wanted` with references to the labels of the Namespace whose values they have; nothing, if one has none of them.
fn with_references(placement: &MatchedEntry<'_>, wanted: &[Toleration]) -> Option<Vec<Toleration>> {
    let referring = |wanted: &Toleration| {
        let is_value = |key: &&str| placement.metadata.labels.get(key) == Some(&wanted.value);
        let mut keys = placement.entry?.entry.references().filter(|_| !wanted.value.is_empty());
        Some(Toleration { value: format!("$({})", keys.find(is_value)?), ..wanted.clone() })
    };
    wanted.iter().map(referring).collect()
}

/// Returns `{"key":"team","operator":"Equal","value":"blue","effect":"NoSchedule"}`, which is YAML as well.
fn as_text(tolerations: &[Toleration]) -> String {
    let texts: Vec<String> = tolerations.iter().filter_map(|it| serde_json::to_string(it).ok()).collect();
    texts.join(", ")
}
