//! How Pods that a taint keeps away could tolerate it, and whether they should.

use node_placement_policy::{
    placement::toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION},
    settings::{NamespaceEntry, reference},
    toleration::{EQUAL, EXISTS, Taint, Toleration},
};

use super::namespace_rules::NamespaceRules;

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
    /// For the Pods of one namespace.
    pub fn new(taints: &[Taint], text: String, setting: Option<String>) -> Self {
        Self { taints: taints.iter().map(ToString::to_string).collect(), is_for_all: false, text, setting }
    }
}

/// What to do about taints that keep the Pods of `namespace` away, where `rules` hold. `entry` names the entry;
/// `whitelist` is the namespace's annotation of that name.
pub fn remedy(rules: &NamespaceRules<'_>, namespace: &str, whitelist: &str, entry: &str, taints: &[Taint]) -> Remedy {
    let held = rules.held.first();
    let holding = held.map(|at| at.entry);
    let setting = |field: &str| held.map(|at| format!("{at}.{field}"));
    let wanted: Vec<Toleration> = taints.iter().filter(|taint| !is_control_plane(taint)).map(toleration).collect();
    if wanted.is_empty() {
        return Remedy::new(taints, NOT_FOR_WORKLOADS.to_owned(), None);
    }
    let own = holding.and_then(|entry| entry.default_tolerations.as_deref());
    let known = own.unwrap_or(rules.cluster_default_tolerations);
    let covers = |default: &Toleration, wanted| filled_in(default, rules).is_some_and(|it| it.covers(wanted));
    if rules.warns && wanted.iter().all(|wanted| known.iter().any(|default| covers(default, wanted))) {
        let text = format!("{entry} has this toleration, but only warns, and adds nothing: enforce it");
        return Remedy::new(taints, text, setting("enforcement"));
    }
    if let Some(forbidden) = wanted.iter().find(|wanted| holding.is_some_and(|entry| forbids(entry, rules, wanted))) {
        let text = format!(
            "The forbiddenTolerations of {entry} forbid to tolerate {forbidden}: change these, or what the Pods ask of \
             nodes"
        );
        return Remedy::new(taints, text, setting("forbiddenTolerations"));
    }
    if rules.annotates_tolerations {
        let mut text = format!(
            "If these Pods may run there, add {} to the annotation {DEFAULTS_ANNOTATION} of Namespace {namespace}, \
             which replaces defaultTolerations",
            as_text(&wanted)
        );
        // What an annotation adds is judged.
        let allowed = holding.and_then(|entry| entry.allowed_tolerations.as_ref());
        let is_allowed = |wanted| allowed.is_none_or(|list| list.iter().any(|one| covers(one, wanted)));
        let is_refused = !wanted.iter().all(is_allowed);
        if is_refused {
            text += &format!(", and to the allowedTolerations of {entry}");
        }
        if !matches!(whitelist, "" | "[]" | "null") {
            text += &format!(", and to its annotation {WHITELIST_ANNOTATION}");
        }
        return Remedy::new(taints, text, setting("allowedTolerations").filter(|_| is_refused));
    }
    let setting = setting("defaultTolerations");
    let is_for_all = holding.is_some_and(|entry| entry.references().next().is_some());
    let by_reference = holding.and_then(|entry| with_references(entry, rules, &wanted));
    let Some(added) = (if is_for_all { by_reference } else { Some(wanted) }) else {
        let text = format!(
            "In {entry}, defaultTolerations would let all its tenants tolerate that: if they may, add it there; \
             else give Namespace {namespace} an entry of its own above it"
        );
        return Remedy::new(taints, text, setting);
    };
    let repeats = match own {
        None if !known.is_empty() => {
            ", which repeats clusterDefaultTolerations, since an entry's own list replaces them"
        }
        _ => "",
    };
    let text = format!(
        "If these Pods may run there, give {entry} defaultTolerations: [{}]{repeats}",
        as_text(&[known, &added].concat())
    );
    let remedy = Remedy::new(taints, text, setting);
    if !is_for_all {
        return remedy;
    }
    Remedy { taints: added.iter().map(ToString::to_string).collect(), is_for_all, ..remedy }
}

/// Whether it keeps nodes for the control plane.
pub fn is_control_plane(taint: &Taint) -> bool {
    CONTROL_PLANE.contains(&taint.key.as_str())
}

fn toleration(taint: &Taint) -> Toleration {
    let Taint { key, value, effect } = taint.clone();
    if value.is_empty() {
        return Toleration::exists(&key, &effect);
    }
    Toleration { key, operator: EQUAL.to_owned(), value, effect, toleration_seconds: None }
}

/// Whether an entry forbids a toleration, in a namespace with the labels of `rules`.
fn forbids(entry: &NamespaceEntry, rules: &NamespaceRules<'_>, wanted: &Toleration) -> bool {
    entry.forbidden_tolerations.iter().flatten().any(|forbidden| {
        // It may be meant for every value.
        let of_any_value = || Toleration { operator: EXISTS.to_owned(), ..forbidden.clone() };
        filled_in(forbidden, rules).unwrap_or_else(of_any_value).overlaps(wanted)
    })
}

/// A toleration of the settings with the value that it has in a namespace, if the labels of that give one.
fn filled_in(toleration: &Toleration, rules: &NamespaceRules<'_>) -> Option<Toleration> {
    let value = reference::fill_in(&toleration.value, |key| rules.labels.get(key).map(Into::into).ok_or(())).ok()?;
    Some(Toleration { value: value.into_owned(), ..toleration.clone() })
}

/// `wanted` with references to the labels of the Namespace whose values they have; nothing, if one has none of them.
fn with_references(
    entry: &NamespaceEntry,
    rules: &NamespaceRules<'_>,
    wanted: &[Toleration],
) -> Option<Vec<Toleration>> {
    let referring = |wanted: &Toleration| {
        let is_value = |key: &&str| rules.labels.get(*key).is_some_and(|value| *value == wanted.value);
        let key = entry.references().filter(|_| !wanted.value.is_empty()).find(is_value)?;
        Some(Toleration { value: format!("$({key})"), ..wanted.clone() })
    };
    wanted.iter().map(referring).collect()
}

/// `{"key":"team","operator":"Equal","value":"blue","effect":"NoSchedule"}`, which is YAML as well.
fn as_text(tolerations: &[Toleration]) -> String {
    let told: Vec<String> = tolerations.iter().filter_map(|it| serde_json::to_string(it).ok()).collect();
    told.join(", ")
}
