//! Whether a Pod has what `requiredNodeSelector` requires, in CEL.

use node_placement_policy::selector::Operator;

use crate::policies::cel::{list, requirements::Required, text};

/// Returns whether the Pod has all of it: a line for each requirement.
pub fn has_all(required: &[Required]) -> String {
    required.iter().map(has).collect::<Vec<_>>().join(" &&\n")
}

fn has(required: &Required) -> String {
    let (key, values) = (text(&required.key), required.values_in_cel());
    let in_node_selector =
        |value: &str| format!("{key} in variables.nodeSelector &&\nvariables.nodeSelector[{key}] == {value}");
    match values.as_slice() {
        [value] if required.operator == Operator::In => in_node_selector(value),
        // Filled in, they may be one value. That is required by the nodeSelector.
        [first, ..] if required.operator == Operator::In && required.has_reference() => {
            let (all, in_terms) = (list(&values), in_every_term(required));
            format!("({all}.all(v, v == {first}) ?\n{} :\n{in_terms})", in_node_selector(first))
        }
        _ => in_every_term(required),
    }
}

fn in_every_term(required: &Required) -> String {
    let (key, values) = (text(&required.key), required.values_in_cel());
    let has_values =
        if values.is_empty() { String::new() } else { format!(" && {}", has_exactly("e.values", &values)) };
    format!(
        "variables.terms.all(expressions, expressions.exists(e,\n  e.key == {key} && e.operator == '{}'{has_values}))",
        required.operator_name()
    )
}

/// Returns whether a list has these elements and no others, in whatever order, and however often.
fn has_exactly(name: &str, elements: &[String]) -> String {
    match elements {
        [only] => format!("{only} in {name} && {name}.all(v, v == {only})"),
        all => {
            let all = list(all);
            format!("{all}.all(v, v in {name}) && {name}.all(v, v in {all})")
        }
    }
}
