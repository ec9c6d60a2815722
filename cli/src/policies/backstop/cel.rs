//! What settings demand, in CEL, the language of a ValidatingAdmissionPolicy's expressions: which namespaces an entry
//! matches, and whether a Pod has what its `requiredNodeSelector` puts into Pods.

use std::{borrow::Cow, collections::BTreeSet, convert::Infallible};

use anyhow::{Result, anyhow};
use node_placement_policy::{
    placement::node_affinity::name_of,
    selector::{Operator, Requirement, parse},
    settings::{NamespaceEntry, reference},
};

const LONGEST_LABEL_VALUE: usize = 63;

/// A text: `'blue'`.
fn text(text: &str) -> String {
    format!("'{}'", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('\'', r"\'")
}

/// A list of expressions: `['a', 'b']`.
pub fn list(expressions: &[String]) -> String {
    format!("[{}]", expressions.join(", "))
}

/// The position of the first of `count` elements that holds in a list, else -1. Not a chain of `?` and `:`, of which parsers
/// follow only so many.
pub fn first_that_holds(name: &str, count: usize) -> String {
    let positions: Vec<String> = (0..count).map(|position| position.to_string()).collect();
    format!("({}.filter(i, {name}[i]) + [-1])[0]", list(&positions))
}

/// A text with its references filled in: `team-$(tenant)` is `'team-' + variables.labels[?'tenant'].orValue('')`.
pub fn filled_in(template: &str) -> String {
    if !reference::is_in(template) {
        return text(template);
    }
    let splice = |key: &str| Ok::<_, Infallible>(Cow::Owned(format!("' + {} + '", namespace_label(key))));
    let template = escaped(template);
    let Ok(spliced) = reference::fill_in(&template, splice);
    // Nothing stands before the first reference, after the last, or between two.
    let spliced = format!("'{spliced}'").replace(" + ''", "");
    spliced.strip_prefix("'' + ").map_or(spliced.clone(), str::to_owned)
}

/// The value of a label of the Namespace; empty, if it lacks the label.
fn namespace_label(key: &str) -> String {
    match key {
        reference::NAME => "request.namespace".to_owned(),
        key => format!("variables.labels[?{}].orValue('')", text(key)),
    }
}

/// Whether a text is an integer, of at most 18 digits beside leading zeros: any such fits into CEL's 64 bits.
fn is_integer(expression: &str) -> String {
    format!("{expression}.matches('^0*[0-9]{{1,18}}$')")
}

/// Whether an entry matches the namespace of the request, by name, by labels, or by both.
///
/// # Errors
/// Its `namespaceSelector` is no label selector.
pub fn entry_matches(entry: &NamespaceEntry) -> Result<String> {
    let selector = parse(entry.namespace_selector.as_deref().unwrap_or_default());
    let mut conditions = vec![];
    if let Some(pattern) = entry.name.as_deref().filter(|name| *name != "*") {
        conditions.push(match pattern.strip_suffix('*') {
            Some(beginning) => format!("request.namespace.startsWith({})", text(beginning)),
            None => format!("request.namespace == {}", text(pattern)),
        });
    }
    conditions.extend(selector.map_err(|error| anyhow!("{error}"))?.requirements().iter().map(label_matches));
    Ok(if conditions.is_empty() { "true".to_owned() } else { conditions.join(" && ") })
}

/// As `labels.Requirement.Matches` of Kubernetes: `!=` and `notin` select what lacks the label, too.
fn label_matches(requirement: &Requirement) -> String {
    let key = text(requirement.key());
    let values: Vec<String> = requirement.values().iter().map(|value| text(value)).collect();
    let is_there = format!("{key} in variables.labels");
    let value = format!("variables.labels[{key}]");
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

/// Whether the Pod has what a `requiredNodeSelector` demands: a line for each requirement.
///
/// # Errors
/// The text is no label selector.
pub fn has_demanded(selector: &str) -> Result<String> {
    let requirements = requirements(selector)?;
    let met = requirements.iter().map(|(requirement, values)| has_required(requirement, values));
    Ok(met.collect::<Vec<_>>().join(" &&\n"))
}

/// The requirements of a selector, each with its values as they are in the settings, with their references.
fn requirements(selector: &str) -> Result<Vec<(Requirement, Vec<String>)>> {
    let text = reference::with_stand_ins(selector).map_err(|error| anyhow!("{error}"))?;
    let parsed = parse(&text).map_err(|error| anyhow!("{error}"))?;
    let with_values = |requirement: &Requirement| {
        let values = requirement.values().iter().map(|value| reference::name_again(selector, value));
        (requirement.clone(), values.collect())
    };
    Ok(parsed.requirements().iter().map(with_values).collect())
}

fn has_required(requirement: &Requirement, templates: &[String]) -> String {
    let (key, operator) = (text(requirement.key()), requirement.operator().as_set());
    let values: Vec<String> = templates.iter().map(|value| filled_in(value)).collect();
    let in_node_selector =
        |value: &str| format!("{key} in variables.nodeSelector &&\nvariables.nodeSelector[{key}] == {value}");
    let has_values =
        if values.is_empty() { String::new() } else { format!(" && {}", has_exactly("e.values", &values)) };
    let in_every_term = format!(
        "variables.terms.all(expressions, expressions.exists(e,\n  e.key == {key} && e.operator == '{}'{has_values}))",
        name_of(operator)
    );
    match values.as_slice() {
        [value] if operator == Operator::In => in_node_selector(value),
        // Filled in, they may be one value. That is demanded by the nodeSelector.
        [first, ..] if operator == Operator::In && templates.iter().any(|value| reference::is_in(value)) => {
            format!("({}.all(v, v == {first}) ?\n{} :\n{in_every_term})", list(&values), in_node_selector(first))
        }
        _ => in_every_term,
    }
}

/// Whether a list has these elements and no others, in whatever order, and however often.
fn has_exactly(name: &str, elements: &[String]) -> String {
    match elements {
        [only] => format!("{only} in {name} && {name}.all(v, v == {only})"),
        all => {
            let all = list(all);
            format!("{all}.all(v, v in {name}) && {name}.all(v, v in {all})")
        }
    }
}

/// Whether the references of a selector can be filled in; nothing, if it has none.
///
/// # Errors
/// The text is no label selector.
pub fn can_be_filled_in(selector: &str) -> Result<Option<String>> {
    let labels: BTreeSet<&str> = reference::keys(selector).filter(|key| *key != reference::NAME).collect();
    let mut conditions: Vec<String> = labels.into_iter().map(|key| format!("{} != ''", namespace_label(key))).collect();
    for (requirement, templates) in requirements(selector)? {
        let compares = matches!(requirement.operator(), Operator::GreaterThan | Operator::LessThan);
        for value in templates.iter().filter(|value| reference::is_in(value)).map(|value| filled_in(value)) {
            let is_spliced = value.contains(" + ");
            let value = if is_spliced { format!("({value})") } else { value };
            if compares {
                conditions.push(is_integer(&value));
            } else if is_spliced {
                // The value of a label stays one, unless the text around it makes it too long.
                conditions.push(format!("{value}.size() <= {LONGEST_LABEL_VALUE}"));
            }
        }
    }
    Ok((!conditions.is_empty()).then(|| conditions.join(" &&\n")))
}
