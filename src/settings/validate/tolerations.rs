//! Checks tolerations.

use super::mistakes::Mistakes;
use crate::message::quote;
use crate::settings::{EntryAt, NamespaceEntry, reference};
use crate::toleration::{Operator, Toleration};

/// Checks what the API server would refuse in a Pod.
pub fn check(path: &str, tolerations: &[Toleration], mistakes: &mut Mistakes) {
    for (position, toleration) in tolerations.iter().enumerate() {
        for invalid in toleration.check() {
            let problem = format!("expected {}, found {}", invalid.expected, invalid.found);
            mistakes.add(&format_args!("{path}[{position}].{}", invalid.field), problem);
        }
    }
}

/// Checks those of an entry.
pub fn check_entry(at: EntryAt<'_>, cluster_defaults: &[Toleration], mistakes: &mut Mistakes) {
    let NamespaceEntry { default_tolerations, allowed_tolerations, forbidden_tolerations, .. } = at.entry;
    let lists = [
        ("defaultTolerations", default_tolerations),
        ("allowedTolerations", allowed_tolerations),
        ("forbiddenTolerations", forbidden_tolerations),
    ];
    for (field, list) in lists {
        for (position, toleration) in list.iter().flatten().enumerate() {
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
    for invalid in filled.check() {
        let problem = format!("expected {}, found {}", invalid.expected, invalid.found);
        mistakes.add(&format_args!("{path}.{}", invalid.field), reference::name_again(text, &problem));
    }
}

const KEY_ALONE: &str = "a key alone forbids only the empty value; add operator: Exists to forbid every value, or \
                         operator: Equal if only that one is meant";

fn is_key_alone(toleration: &Toleration) -> bool {
    !toleration.key.is_empty() && toleration.operator == Operator::Omitted && toleration.value.is_empty()
}
