//! Namespaces that no entry is for: where others are fenced, their Pods run anywhere.

use std::collections::{BTreeMap, BTreeSet};

use node_placement_policy::{
    selector::Selector,
    settings::{Placement, reference},
};

use super::entry::{Entry, entries};
use crate::check::finding::Finding;

/// So many kinds of namespaces are tried. Settings that ask for more labels and values are not judged.
const MOST_KINDS: usize = 10_000;

/// A value that nobody writes.
const ANOTHER: &str = "another-value-4711";

/// Namespaces that no entry is for, where an entry has a fence.
pub fn find(placement: &Placement) -> Option<Finding> {
    let entries = entries(placement);
    let fence = entries.iter().find_map(Entry::fence)?;
    // It holds for the rest.
    if placement.cluster_default_node_selector.as_deref().is_some_and(|text| !text.is_empty()) {
        return None;
    }
    let is_for_any_name = |entry: &&Entry<'_>| entry.written.name.as_deref().is_none_or(|name| name == "*");
    let selectors: Vec<&Selector> = entries.iter().filter(is_for_any_name).map(|entry| &entry.selector).collect();
    let namespaces = not_selected(&selectors)?;
    let keys: BTreeSet<&str> = fence.requirements().iter().map(|requirement| requirement.key()).collect();
    let without: Vec<String> = keys.into_iter().map(|key| format!("!{key}")).collect();
    let text = format!(
        "{namespaces} have no entry, so their Pods may run on the nodes of others; add a last entry for the rest, such as \
         {{name: \"*\", requiredNodeSelector: \"{}\"}}",
        without.join(",")
    );
    Some(Finding::new("placement.namespaces", text))
}

/// Namespaces that none of the selectors selects, in words. Every kind that they can tell apart is tried: each label that
/// they name with each value that they name, with another one, and without it.
fn not_selected(selectors: &[&Selector]) -> Option<String> {
    let mut values: BTreeMap<&str, BTreeSet<Option<String>>> = BTreeMap::new();
    for requirement in selectors.iter().flat_map(|selector| selector.requirements()) {
        let values = values.entry(requirement.key()).or_default();
        if requirement.key() != reference::NAME {
            values.insert(None);
        }
        values.insert(Some(ANOTHER.to_owned()));
        values.extend(requirement.values().iter().cloned().map(Some));
        let bounds = requirement.bound().into_iter().flat_map(|bound| [bound.checked_sub(1), bound.checked_add(1)]);
        values.extend(bounds.flatten().map(|bound| Some(bound.to_string())));
    }
    let kinds = values.values().try_fold(1_usize, |product, values| product.checked_mul(values.len()))?;
    if kinds > MOST_KINDS {
        return None;
    }
    (0..kinds).find_map(|kind| {
        let labels = labels_of(kind, &values);
        let is_selected = selectors.iter().any(|selector| selector.matches(|key| labels.get(key).copied().flatten()));
        (!is_selected).then(|| in_words(&labels))
    })
}

/// The labels of the namespace of this number.
fn labels_of<'v>(
    mut kind: usize,
    values: &'v BTreeMap<&'v str, BTreeSet<Option<String>>>,
) -> BTreeMap<&'v str, Option<&'v str>> {
    let mut labels = BTreeMap::new();
    for (key, values) in values {
        let value = values.iter().nth(kind.checked_rem(values.len()).unwrap_or_default());
        kind = kind.checked_div(values.len()).unwrap_or_default();
        labels.insert(*key, value.and_then(Option::as_deref));
    }
    labels
}

fn in_words(labels: &BTreeMap<&str, Option<&str>>) -> String {
    let words: Vec<String> = labels
        .iter()
        .map(|(key, value)| match value {
            None => format!("without {key}"),
            Some(ANOTHER) => format!("with another value of {key}"),
            Some(value) => format!("with {key}={value}"),
        })
        .collect();
    match words.is_empty() {
        true => "other namespaces".to_owned(),
        false => format!("namespaces {}", words.join(", ")),
    }
}
