//! Lists what the policy does and the [backstop](super::backstop) or the [twin](super::twin) does not, for the comments at
//! their tops.

use node_placement_policy::settings::{
    Enforcement, NamespaceEntry, OnDefaultConflict, OnExtendedResources, Placement, Setting,
};

use super::{
    in_process::InProcess,
    twin::additions::{MOST_SECONDS, are_writable, yielding_default},
};
use crate::{input::settings::entries_at, wrap};

const WIDTH: usize = 118;

/// Returns what the backstop does not check, as lines of a comment.
pub fn by_backstop(placement: &Placement) -> Vec<String> {
    let unfenced = entries_where(placement, |entry| entry.required_node_selector.is_none());
    let forbidden = entries_where(placement, |entry| !entry.forbidden_node_labels.is_empty());
    let matches_all = |entry: &NamespaceEntry| entry.name.as_deref() == Some("*") && entry.matches_by_name_alone();
    as_lines([
        annotated_selectors(placement),
        when(placement.cluster_default_node_selector.is_some(), "placement.clusterDefaultNodeSelector"),
        setting(placement, Setting::DefaultNodeSelector),
        setting(placement, Setting::AllowedNodeSelector),
        forbidden.map(|entries| format!("forbiddenNodeLabels of {entries}")),
        when(placement.cluster_default_tolerations.is_some(), "placement.clusterDefaultTolerations"),
        setting(placement, Setting::DefaultTolerations),
        setting(placement, Setting::AllowedTolerations),
        setting(placement, Setting::ForbiddenTolerations),
        annotated_tolerations(placement),
        extended_resources(placement),
        unfenced.map(|entries| format!("Pods of {entries}, without a requiredNodeSelector")),
        when(!placement.namespaces.iter().any(matches_all), "Pods that no entry matches"),
    ])
}

/// Returns what the twin does not add, as lines of a comment.
pub fn by_twin(in_process: &InProcess) -> Vec<String> {
    let placement = &in_process.placement;
    let is_added = |entry: &NamespaceEntry| yielding_default(placement, entry).is_some();
    let defaults = entries_where(placement, |entry| entry.default_node_selector.is_some() && !is_added(entry));
    let preferred = entries_where(placement, |entry| !entry.preferred_node_selector.is_empty());
    let warns = |entry: &NamespaceEntry| entry.enforcement == Enforcement::Warn;
    let unwritable = |entry: &NamespaceEntry| !are_writable(entry.default_tolerations.as_deref().unwrap_or_default());
    as_lines([
        annotated_selectors(placement),
        cluster_default(placement),
        defaults.map(|entries| format!("{} of {entries}", Setting::DefaultNodeSelector)),
        preferred.map(|entries| format!("preferredNodeSelector of {entries}")),
        when(placement.cluster_default_tolerations.is_some(), "placement.clusterDefaultTolerations"),
        annotated_tolerations(placement),
        extended_resources(placement),
        when(in_process.has_node_metadata, "what nodeMetadata adds"),
        entries_where(placement, warns).map(|entries| format!("anything of {entries}, with enforcement: Warn")),
        entries_where(placement, unwritable).map(|entries| {
            format!("defaultTolerations of {entries}: a patch can't have tolerationSeconds of more than {MOST_SECONDS}")
        }),
    ])
}

fn cluster_default(placement: &Placement) -> Option<String> {
    placement.cluster_default_node_selector.as_ref()?;
    let where_missing = match placement.on_default_conflict {
        OnDefaultConflict::Reject => "",
        OnDefaultConflict::Yield => ", where no requiredNodeSelector is added",
    };
    Some(format!("placement.clusterDefaultNodeSelector{where_missing}"))
}

fn as_lines(items: impl IntoIterator<Item = Option<String>>) -> Vec<String> {
    items.into_iter().flatten().flat_map(|item| wrap(&format!("- {item}"), WIDTH)).collect()
}

fn when(is_set: bool, text: &str) -> Option<String> {
    is_set.then(|| text.to_owned())
}

fn annotated_selectors(placement: &Placement) -> Option<String> {
    let has_any = !placement.namespace_annotations.0.is_empty();
    when(has_any, "node selectors in annotations of namespaces (placement.namespaceAnnotations)")
}

fn annotated_tolerations(placement: &Placement) -> Option<String> {
    let honors = placement.honors_toleration_annotations();
    when(honors, "tolerations in annotations of namespaces (placement.onTolerationAnnotations)")
}

fn extended_resources(placement: &Placement) -> Option<String> {
    when(placement.on_extended_resources == OnExtendedResources::Tolerate, "placement.onExtendedResources")
}

/// Returns the setting and the entries that have it.
fn setting(placement: &Placement, setting: Setting) -> Option<String> {
    let has_it = |entry: &NamespaceEntry| {
        let selectors = entry.node_selectors().map(|(own, _)| own);
        selectors.chain(entry.toleration_lists().map(|(own, _)| own)).any(|own| own == setting)
    };
    entries_where(placement, has_it).map(|entries| format!("{setting} of {entries}"))
}

/// Returns the entries for which something holds: `placement.namespaces[0, 3]`.
fn entries_where(placement: &Placement, holds: impl Fn(&NamespaceEntry) -> bool) -> Option<String> {
    let entries = entries_at(placement).filter(|at| holds(at.entry));
    let positions: Vec<String> = entries.map(|at| at.position.to_string()).collect();
    (!positions.is_empty()).then(|| format!("placement.namespaces[{}]", positions.join(", ")))
}
