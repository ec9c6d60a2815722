//! What a namespace prefers of nodes: added to its Pods, and never judged.

use std::collections::BTreeSet;

use super::holding_entry::HoldingEntry;
use super::judged::Judged;
use super::node_affinity::Term;
use crate::decision::{Decision, Rejection};
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::selector::{Requirement, Selector};
use crate::settings::Source;

const AFFINITY: [&str; 2] = ["affinity", "nodeAffinity"];
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Nodes that a Pod is to prefer.
#[derive(Clone, Debug)]
pub struct Preference {
    /// From 1 to 100.
    weight: i64,
    /// Which nodes.
    pub selector: Selector,
}

/// What the entry prefers and the Pod does not. What can't be resolved is
/// left out, with a warning.
///
/// # Errors
/// The Pod's preferences can't be read, or the settings have a mistake.
pub fn missing(
    judged: &Judged<'_>,
    holding: &HoldingEntry<'_>,
    decision: &mut Decision<'_>,
) -> Result<Vec<Preference>, Rejection> {
    let Some(at) = holding.entry.filter(|at| !at.entry.preferred_node_selector.is_empty()) else {
        return Ok(Vec::new());
    };
    let own = read(judged.spec).within(judged.path)?;
    let mut missing: Vec<Preference> = Vec::new();
    for preferred in &at.entry.preferred_node_selector {
        let source = Source::Entry(at, "preferredNodeSelector");
        let selector = match holding.selector(Some(&preferred.selector), source) {
            Ok(selector) => selector.map(|own| own.selector).unwrap_or_default(),
            Err(rejection) if rejection.is_unresolved() => {
                decision.warn_instead(&rejection);
                continue;
            }
            Err(rejection) => return Err(rejection),
        };
        let identity = (preferred.weight, identities(&selector));
        let is_added = missing.iter().any(|own| (own.weight, identities(&own.selector)) == identity);
        if !own.contains(&identity) && !is_added {
            missing.push(Preference { weight: preferred.weight, selector });
        }
    }
    Ok(missing)
}

/// Writes `preferences` into `spec`.
///
/// # Errors
/// It can't be read.
pub fn write(preferences: &[Preference], spec: &mut RawObject<'_>) -> Result<(), ReadError> {
    if preferences.is_empty() {
        return Ok(());
    }
    let list = spec.object_mut_at(&AFFINITY)?.list_mut(PREFERRED)?;
    for Preference { weight, selector } in preferences {
        let mut preferred = RawObject::default();
        preferred.set("weight", weight)?;
        Term::of(selector.requirements()).write_added(preferred.object_mut("preference")?)?;
        list.push(Raw::Object(preferred));
    }
    Ok(())
}

/// The weights of the Pod's own preferences, and what their expressions say. Those by fields, and invalid ones, are
/// none that an entry could have.
fn read(spec: &RawObject<'_>) -> Result<Vec<(i64, BTreeSet<String>)>, ReadError> {
    let Some(affinity) = spec.object_at(&AFFINITY)? else { return Ok(Vec::new()) };
    let preferred: Vec<Raw<'_>> = affinity.get(PREFERRED).within(&AFFINITY.join("."))?.unwrap_or_default();
    let mut own = Vec::new();
    for (position, preferred) in preferred.iter().enumerate() {
        own.extend(read_term(preferred).at(position).within(PREFERRED).within(&AFFINITY.join("."))?);
    }
    Ok(own)
}

/// Reads `preferred` (`PreferredSchedulingTerm`).
fn read_term(preferred: &Raw<'_>) -> Result<Option<(i64, BTreeSet<String>)>, ReadError> {
    let preferred = preferred.object()?;
    let weight: Option<i64> = preferred.get("weight")?;
    let Some(term) = preferred.member("preference") else { return Ok(None) };
    let term = Term::read(term).within("preference")?;
    Ok(match (weight, term.selector(), term.first_field()) {
        (Some(weight), Some(selector), None) => Some((weight, identities(&selector))),
        _ => None,
    })
}

fn identities(selector: &Selector) -> BTreeSet<String> {
    let mut identities = BTreeSet::new();
    identities.extend(selector.requirements().iter().map(Requirement::identity));
    identities
}
