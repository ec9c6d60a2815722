//! Which entry of `placement.namespaces` applies to a Pod, in CEL.

use anyhow::{Context, Result, anyhow};
use node_placement_policy::{
    selector::{Operator, Requirement, parse},
    settings::{NamespaceEntry, Placement},
};

use super::{is_integer, list, long_list, short_enough, text};
use crate::input::settings::entries_at;

/// Returns whether each entry matches: by the name of the namespace, by its labels, by those of the Pod, or by several.
///
/// # Errors
/// A `namespaceSelector` or `podSelector` is no label selector, or all together are too long.
pub fn matches(placement: &Placement) -> Result<String> {
    let matches = entries_at(placement).map(|at| entry_matches(at.entry).with_context(|| at.to_string()));
    short_enough(long_list(&matches.collect::<Result<Vec<_>>>()?))
}

/// Returns the position of the first entry that matches, else -1. This is no chain of `?` and `:`, of which parsers
/// follow only so many.
pub fn first_match(count: usize) -> String {
    let positions: Vec<String> = (0..count).map(|position| position.to_string()).collect();
    format!("({}.filter(i, variables.entryMatches[i]) + [-1])[0]", list(&positions))
}

/// Returns the element for the entry that applies, of a list with an element for each entry; else an empty list.
///
/// # Errors
/// The expression is too long.
pub fn of_entry(lists: &[String]) -> Result<String> {
    short_enough(format!("variables.entry == -1 ? [] : {}[variables.entry]", long_list(lists)))
}

fn entry_matches(entry: &NamespaceEntry) -> Result<String> {
    let mut conditions = vec![];
    if let Some(pattern) = entry.name.as_deref().filter(|name| *name != "*") {
        conditions.push(match pattern.strip_suffix('*') {
            Some(beginning) => format!("request.namespace.startsWith({})", text(beginning)),
            None => format!("request.namespace == {}", text(pattern)),
        });
    }
    conditions.extend(selects(entry.namespace_selector.as_deref(), "variables.labels")?);
    conditions.extend(selects(entry.pod_selector.as_deref(), "variables.podLabels")?);
    Ok(if conditions.is_empty() { "true".to_owned() } else { conditions.join(" && ") })
}

/// Returns a condition on these labels for each requirement of the selector.
fn selects(selector: Option<&str>, labels: &str) -> Result<Vec<String>> {
    let selector = parse(selector.unwrap_or_default()).map_err(|error| anyhow!("{error}"))?;
    Ok(selector.requirements().iter().map(|requirement| is_met(requirement, labels)).collect())
}

/// Returns an expression as `labels.Requirement.Matches` of Kubernetes: `!=` and `notin` select what lacks the label, too.
fn is_met(requirement: &Requirement, labels: &str) -> String {
    let key = text(requirement.key());
    let values: Vec<String> = requirement.values().iter().map(|value| text(value)).collect();
    let is_there = format!("{key} in {labels}");
    let value = format!("{labels}[{key}]");
    match requirement.operator().as_set() {
        Operator::Exists => is_there,
        Operator::DoesNotExist => format!("!({is_there})"),
        Operator::In => format!("{is_there} && {value} in {}", list(&values)),
        Operator::NotIn => format!("!({is_there} && {value} in {})", list(&values)),
        operator => {
            let sign = if operator == Operator::GreaterThan { '>' } else { '<' };
            let bound = requirement.bound().unwrap_or_default();
            format!("{is_there} && {} && int({value}) {sign} {bound}", is_integer(&value))
        }
    }
}
