//! Writes in CEL what the twin adds to the Pods of an entry.

use anyhow::Result;
use node_placement_policy::{
    settings::{Enforcement, NamespaceEntry, OnDefaultConflict, Placement},
    toleration::Toleration,
};

use crate::policies::cel::{
    list, map,
    references::{Template, can_be_filled_in, filled_in},
    requirements::{Required, templates},
    text,
};

/// The list of an entry for which nothing is added.
pub const NOTHING: &str = "[]";

/// The additions to the Pods of an entry: lists in CEL.
#[derive(Debug)]
pub struct Additions {
    /// The requirements on nodes, as expressions of node affinity.
    pub required: String,
    /// The [default that yields](yielding_default), as such expressions.
    pub default: String,
    /// Tolerations.
    pub tolerations: String,
}

impl Additions {
    /// Returns those of an entry.
    ///
    /// # Errors
    /// A node selector is no label selector.
    pub fn of_entry(placement: &Placement, entry: &NamespaceEntry) -> Result<Self> {
        if entry.enforcement == Enforcement::Warn {
            let [required, default, tolerations] = [(); 3].map(|()| NOTHING.to_owned());
            return Ok(Self { required, default, tolerations });
        }
        Ok(Self {
            required: required(entry.required_node_selector.as_deref())?,
            default: required(yielding_default(placement, entry))?,
            tolerations: tolerations(entry)?,
        })
    }
}

/// Returns what a node selector requires of nodes, as a list of expressions of node affinity. It is empty if there is no
/// selector or, in a namespace, if a reference can't be filled in.
///
/// # Errors
/// The text is no label selector.
fn required(selector: Option<&str>) -> Result<String> {
    let required = Required::read(selector.unwrap_or_default())?;
    let all = list(&required.iter().map(Required::in_cel).collect::<Vec<_>>());
    // References that differ may become the same.
    let can_repeat = required.iter().any(Required::has_reference) && required.len() > 1;
    let all = if can_repeat { format!("{all}.distinct()") } else { all };
    Ok(only_if(can_be_filled_in(templates(&required)), all))
}

/// Returns the default node selector that is added together with the `requiredNodeSelector` of an entry: one that yields.
/// Without it, the policy would take what the twin added for the choice of the Pod, and leave the default out.
pub fn yielding_default<'p>(placement: &'p Placement, entry: &'p NamespaceEntry) -> Option<&'p str> {
    let yields = placement.on_default_conflict == OnDefaultConflict::Yield;
    if !yields || entry.enforcement == Enforcement::Warn || entry.required_node_selector.is_none() {
        return None;
    }
    entry.default_node_selector.as_deref().or(placement.cluster_default_node_selector.as_deref())
}

/// Returns the `defaultTolerations` of an entry as a list. It is empty under the same conditions, and if a number
/// [can't be written](are_writable).
///
/// # Errors
/// The `requiredNodeSelector` is no label selector.
fn tolerations(entry: &NamespaceEntry) -> Result<String> {
    let defaults = entry.default_tolerations.as_deref().unwrap_or_default();
    if defaults.is_empty() || !are_writable(defaults) {
        return Ok(NOTHING.to_owned());
    }
    let required = Required::read(entry.required_node_selector.as_deref().unwrap_or_default())?;
    let values = defaults.iter().map(|own| Template { text: &own.value, is_number: false });
    let all = list(&defaults.iter().map(toleration).collect::<Vec<_>>());
    Ok(only_if(can_be_filled_in(templates(&required).chain(values)), all))
}

/// The largest `tolerationSeconds` of a JSON patch: an API server makes a text of a number that JSON can't hold exactly.
pub const MOST_SECONDS: u64 = (1 << 53) - 1;

/// Returns whether a JSON patch can have all `tolerationSeconds` of a list.
pub fn are_writable(tolerations: &[Toleration]) -> bool {
    tolerations.iter().filter_map(|own| own.toleration_seconds).all(|seconds| seconds.unsigned_abs() <= MOST_SECONDS)
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
