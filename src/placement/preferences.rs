//! What a namespace prefers of nodes: added to its Pods, and never judged.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::holding_entry::HoldingEntry;
use super::node_affinity::{expression_of, operator_named};
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

/// What the entry prefers and the Pod with this `spec`, which stands at `path`, does not. What can't be resolved is
/// left out, with a warning.
///
/// # Errors
/// The Pod's preferences can't be read, or the settings have a mistake.
pub fn missing(
    spec: &RawObject<'_>,
    path: &str,
    holding: &HoldingEntry<'_>,
    decision: &mut Decision<'_>,
) -> Result<Vec<Preference>, Rejection> {
    let Some(at) = holding.entry.filter(|at| !at.entry.preferred_node_selector.is_empty()) else {
        return Ok(Vec::new());
    };
    let own = read(spec).within(path)?;
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
        let identity = (preferred.weight, identities(selector.requirements().iter().collect()));
        let is_added = missing
            .iter()
            .any(|own| (own.weight, identities(own.selector.requirements().iter().collect())) == identity);
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
        let expressions: Result<Vec<Raw<'_>>, ReadError> = selector.requirements().iter().map(expression_of).collect();
        let preference = WrittenPreference { match_expressions: expressions? };
        list.push(Raw::written(&WrittenTerm { weight: *weight, preference })?);
    }
    Ok(())
}

/// `PreferredSchedulingTerm`, to be written.
#[derive(Serialize)]
struct WrittenTerm<'a> {
    weight: i64,
    preference: WrittenPreference<'a>,
}

/// `NodeSelectorTerm`, to be written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenPreference<'a> {
    match_expressions: Vec<Raw<'a>>,
}

/// `PreferredSchedulingTerm`
#[derive(Deserialize)]
struct Term {
    weight: Option<i64>,
    preference: Option<Terms>,
}

/// `NodeSelectorTerm`
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Terms {
    match_expressions: Option<Vec<Expression>>,
    match_fields: Option<Vec<serde::de::IgnoredAny>>,
}

/// `NodeSelectorRequirement`
#[derive(Default, Deserialize)]
#[serde(default)]
struct Expression {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
}

/// The weights of the Pod's own preferences, and what their expressions say.
fn read(spec: &RawObject<'_>) -> Result<Vec<(i64, BTreeSet<String>)>, ReadError> {
    let Some(affinity) = spec.object_at(&AFFINITY)? else { return Ok(Vec::new()) };
    let terms: Vec<Term> = affinity.get(PREFERRED).within("nodeAffinity").within("affinity")?.unwrap_or_default();
    let mut own = Vec::new();
    for Term { weight, preference } in terms {
        let Terms { match_expressions, match_fields } = preference.unwrap_or_default();
        let mut requirements = Vec::new();
        for Expression { key, operator, values } in match_expressions.unwrap_or_default() {
            let operator = operator_named(&operator);
            requirements
                .push(operator.and_then(|operator| Requirement::new(key, operator, values.unwrap_or_default()).ok()));
        }
        let is_by_labels = match_fields.is_none_or(|fields| fields.is_empty());
        let requirements: Option<Vec<Requirement>> = requirements.into_iter().collect();
        if let (Some(weight), Some(requirements), true) = (weight, requirements, is_by_labels) {
            own.push((weight, identities(requirements.iter().collect())));
        }
    }
    Ok(own)
}

fn identities(requirements: Vec<&Requirement>) -> BTreeSet<String> {
    let mut identities = BTreeSet::new();
    for requirement in requirements {
        identities.insert(requirement.identity());
    }
    identities
}
