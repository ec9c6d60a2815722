//! What the twin adds to the Pods of an entry, in CEL.

use anyhow::Result;
use node_placement_policy::{settings::NamespaceEntry, toleration::Toleration};

use crate::policies::cel::{
    list, map,
    references::{Template, can_be_filled_in, filled_in},
    requirements::{Required, templates},
    text,
};

/// The list of an entry for which nothing is added.
pub const NOTHING: &str = "[]";

/// Returns what the entry requires of nodes, as a list of expressions of node affinity. It is empty if nothing `is_added`
/// or, in a namespace, if a reference can't be filled in.
///
/// # Errors
/// The `requiredNodeSelector` is no label selector.
pub fn required(entry: &NamespaceEntry, is_added: bool) -> Result<String> {
    let Some(selector) = entry.required_node_selector.as_ref().filter(|_| is_added) else {
        return Ok(NOTHING.to_owned());
    };
    let required = Required::read(selector)?;
    let all = list(&required.iter().map(Required::in_cel).collect::<Vec<_>>());
    // References that differ may become the same.
    let can_repeat = required.iter().any(Required::has_reference) && required.len() > 1;
    let all = if can_repeat { format!("{all}.distinct()") } else { all };
    Ok(only_if(can_be_filled_in(templates(&required)), all))
}

/// Returns the `defaultTolerations` of the entry as a list. It is empty under the same conditions.
///
/// # Errors
/// The `requiredNodeSelector` is no label selector.
pub fn tolerations(entry: &NamespaceEntry, is_added: bool) -> Result<String> {
    let defaults = entry.default_tolerations.as_deref().unwrap_or_default();
    if defaults.is_empty() || !is_added {
        return Ok(NOTHING.to_owned());
    }
    let required = Required::read(entry.required_node_selector.as_deref().unwrap_or_default())?;
    let values = defaults.iter().map(|own| Template { text: &own.value, is_number: false });
    let all = list(&defaults.iter().map(toleration).collect::<Vec<_>>());
    Ok(only_if(can_be_filled_in(templates(&required).chain(values)), all))
}

/// Returns a toleration: `{'key': …, 'operator': …, 'value': …, 'effect': …}`.
fn toleration(toleration: &Toleration) -> String {
    let Toleration { key, operator, value, effect, toleration_seconds } = toleration;
    let texts =
        [("key", text(key)), ("operator", text(operator)), ("value", filled_in(value)), ("effect", text(effect))];
    let mut members: Vec<_> = texts.into_iter().filter(|(_, value)| value != "''").collect();
    members.extend(toleration_seconds.map(|seconds| ("tolerationSeconds", seconds.to_string())));
    map(&members)
}

fn only_if(condition: Option<String>, list: String) -> String {
    match condition {
        Some(condition) => format!("{condition} ?\n{list} : {NOTHING}"),
        None => list,
    }
}
