//! Which namespaces an entry is about, in CEL.

use anyhow::{Result, anyhow};
use node_placement_policy::{
    selector::{Operator, Requirement, parse},
    settings::NamespaceEntry,
};

use super::cel;

/// Whether an entry matches the namespace of the request, by name, by labels, or by both.
///
/// # Errors
/// Its `namespaceSelector` can't be read.
pub fn matches(entry: &NamespaceEntry) -> Result<String> {
    let name = entry.name.iter().filter_map(|pattern| name_matches(pattern));
    let selector =
        parse(entry.namespace_selector.as_deref().unwrap_or_default()).map_err(|error| anyhow!("{error}"))?;
    let labels = selector.requirements().iter().map(label_matches);
    let conditions: Vec<String> = name.chain(labels).collect();
    Ok(if conditions.is_empty() { "true".to_owned() } else { conditions.join(" && ") })
}

/// Nothing, if every name does.
fn name_matches(pattern: &str) -> Option<String> {
    match pattern.strip_suffix('*') {
        Some("") => None,
        Some(beginning) => Some(format!("request.namespace.startsWith({})", cel::text(beginning))),
        None => Some(format!("request.namespace == {}", cel::text(pattern))),
    }
}

/// As `labels.Requirement.Matches` of Kubernetes: `!=` and `notin` select what lacks the label, too.
fn label_matches(requirement: &Requirement) -> String {
    let key = cel::text(requirement.key());
    let values: Vec<String> = requirement.values().iter().map(|value| cel::text(value)).collect();
    let is_there = format!("{key} in variables.labels");
    let value = format!("variables.labels[{key}]");
    match requirement.operator().as_set() {
        Operator::Exists => is_there,
        Operator::DoesNotExist => format!("!({is_there})"),
        Operator::In => format!("{is_there} && {value} in {}", cel::list(&values)),
        Operator::NotIn => format!("!({is_there} && {value} in {})", cel::list(&values)),
        operator => {
            let sign = if operator == Operator::GreaterThan { '>' } else { '<' };
            let bound = requirement.bound().unwrap_or_default();
            format!("{is_there} && {} && int({value}) {sign} {bound}", cel::is_integer(&value))
        }
    }
}
