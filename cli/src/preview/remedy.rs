//! How Pods that a taint keeps away could tolerate it, and whether they should.

use node_placement_policy::{
    placement::{
        entry::MatchedEntry,
        mode::Mode,
        severity::Severity,
        toleration_rules::{TolerationList, TolerationRules},
    },
    settings::Source,
    toleration::{EQUAL, Taint, Toleration},
};

use super::way_out::WayOut;

/// Nodes with these taints run the control plane.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// What to do about taints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The taints as text. Where every tenant of the entry has its own, with references instead of their values: then
    /// one remedy is for all of them.
    pub taints: Vec<String>,
    /// Whether it is for all tenants of the entry.
    pub is_for_all: bool,
    /// What to do.
    pub way_out: WayOut,
    /// The path of the setting to change, if it is one.
    pub setting: Option<String>,
}

impl Remedy {
    /// Makes a remedy for the Pods of one namespace.
    pub fn new(taints: &[Taint], way_out: WayOut, setting: Option<String>) -> Self {
        Self { taints: taints.iter().map(ToString::to_string).collect(), is_for_all: false, way_out, setting }
    }
}

/// Returns what to do about taints that keep the Pods of a namespace away. `entry` names the entry that holds there.
pub fn remedy(placement: &MatchedEntry<'_>, entry: &str, taints: &[Taint]) -> Remedy {
    let remedy = |way_out: WayOut, field: Option<&str>| {
        let setting = placement.entry.zip(field).map(|(at, field)| format!("{at}.{field}"));
        Remedy::new(taints, way_out, setting)
    };
    let wanted: Vec<Toleration> = taints.iter().filter(|taint| !is_control_plane(taint)).map(toleration).collect();
    if wanted.is_empty() {
        return remedy(WayOut::AvoidControlPlane, None);
    }
    let entry = entry.to_owned();
    let rules = TolerationRules::new(placement, Mode::Create).unwrap_or_default();
    if placement.severity() == Severity::Report && covers_all(&rules.defaults_of_settings, &wanted) {
        return remedy(WayOut::Enforce { entry }, Some("enforcement"));
    }
    if let Some(forbidden) = wanted.iter().find(|wanted| rules.prohibition_of(wanted).is_some()) {
        return remedy(WayOut::Unforbid { entry, toleration: forbidden.to_string() }, Some("forbiddenTolerations"));
    }
    if rules.defaults.as_ref().is_some_and(is_annotation) {
        let way_out = to_the_annotation(placement, entry, &rules, &wanted);
        let is_refused = matches!(way_out, WayOut::Annotate { entry: Some(_), .. });
        return remedy(way_out, is_refused.then_some("allowedTolerations"));
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
        None => remedy(WayOut::OwnEntry { entry, namespace: placement.namespace.to_owned() }, field),
    }
}

/// Returns the tolerations that are added to Pods.
pub fn default_tolerations(placement: &MatchedEntry<'_>) -> Vec<Toleration> {
    let rules = TolerationRules::new(placement, Mode::Create).unwrap_or_default();
    rules.defaults.map(|list| list.tolerations.to_vec()).unwrap_or_default()
}

/// Returns how to add tolerations to the annotation that replaces those of the entry. What an annotation adds is validated:
/// the entry may have to allow them first.
fn to_the_annotation(
    placement: &MatchedEntry<'_>,
    entry: String,
    rules: &TolerationRules<'_>,
    wanted: &[Toleration],
) -> WayOut {
    let (annotations, lists): (Vec<_>, Vec<_>) = rules.allowed.iter().partition(|list| is_annotation(list));
    let is_allowed = lists.iter().all(|list| covers_all(&list.tolerations, wanted));
    WayOut::Annotate {
        namespace: placement.namespace.to_owned(),
        tolerations: wanted.to_vec(),
        entry: (!is_allowed).then_some(entry),
        is_whitelisted: !annotations.is_empty(),
    }
}

/// Returns how to add tolerations to those of the entry.
fn adding(placement: &MatchedEntry<'_>, entry: String, added: &[Toleration]) -> WayOut {
    let own = placement.entry.and_then(|at| at.entry.default_tolerations.as_deref());
    let cluster_default = placement.settings.cluster_default_tolerations.as_deref().unwrap_or_default();
    let repeats = own.is_none() && !cluster_default.is_empty();
    WayOut::Tolerate { entry, tolerations: [own.unwrap_or(cluster_default), added].concat(), repeats }
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

/// Returns the toleration of a taint.
pub fn toleration(taint: &Taint) -> Toleration {
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
