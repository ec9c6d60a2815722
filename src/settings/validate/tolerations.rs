//! Checks tolerations.

use super::Mistakes;
use crate::message::quote;
use crate::settings::{EntryAt, NamespaceEntry, reference};
use crate::toleration::{Operator, Toleration};

/// Checks what the API server would refuse in a Pod.
pub fn check(path: &str, tolerations: &[Toleration], mistakes: &mut Mistakes) {
    for (position, toleration) in tolerations.iter().enumerate() {
        for mistake in toleration.check() {
            mistakes.add(&format_args!("{path}[{position}].{}", mistake.path()), mistake.problem());
        }
    }
}

/// Checks those of an entry.
pub fn check_entry(at: EntryAt<'_>, cluster_defaults: &[Toleration], mistakes: &mut Mistakes) {
    let NamespaceEntry { default_tolerations, forbidden_tolerations, .. } = at.entry;
    for (field, list) in at.entry.toleration_lists() {
        for (position, toleration) in list.iter().enumerate() {
            check_with_references(&format!("{at}.{field}[{position}]"), toleration, mistakes);
        }
    }
    let Some(forbidden) = forbidden_tolerations else { return };
    let path = format!("{at}.forbiddenTolerations");
    for (position, toleration) in forbidden.iter().enumerate() {
        if is_key_alone(toleration) {
            mistakes.add(&format_args!("{path}[{position}]"), KEY_ALONE);
        }
    }
    let defaults = default_tolerations.as_deref().unwrap_or(cluster_defaults);
    let own = format!("{at}.defaultTolerations");
    let source = if default_tolerations.is_some() { &own } else { "placement.clusterDefaultTolerations" };
    // A default that something forbidden overlaps would have every Pod rejected.
    for default in defaults {
        if let Some(forbidding) = forbidden.iter().find(|forbidding| forbidding.overlaps(default)) {
            let problem = format!(
                "forbids {}, which {source} adds to Pods: {} overlaps it; change one of the two",
                quote(&default.to_string()),
                quote(&forbidding.to_string())
            );
            mistakes.add(&path, problem);
        }
    }
}

/// Checks one whose value may have references.
fn check_with_references(path: &str, toleration: &Toleration, mistakes: &mut Mistakes) {
    let text = &toleration.value;
    let value = mistakes.check(&format_args!("{path}.value"), reference::with_stand_ins(text)).unwrap_or_default();
    let filled = Toleration { value: value.into_owned(), ..toleration.clone() };
    for mistake in filled.check() {
        mistakes.add(&format_args!("{path}.{}", mistake.path()), reference::name_again(text, mistake.problem()));
    }
}

const KEY_ALONE: &str = "a key alone forbids only the empty value; add operator: Exists to forbid every value, or \
                         operator: Equal if only that one is meant";

fn is_key_alone(toleration: &Toleration) -> bool {
    !toleration.key.is_empty() && toleration.operator == Operator::Omitted && toleration.value.is_empty()
}
