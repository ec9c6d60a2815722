//! What a `requiredNodeSelector` puts into a Pod, in CEL.

use anyhow::{Result, anyhow};
use node_placement_policy::{
    placement::node_affinity::name_of,
    selector::{Operator, Requirement, parse},
    settings::reference,
};

use super::cel;

/// One requirement of a selector, whose values may refer to labels of the Namespace.
struct Demand {
    key: String,
    operator: Operator,
    /// As they are written, with their references.
    values: Vec<String>,
}

/// Whether the Pod has what a selector demands: a line for each requirement.
///
/// # Errors
/// The selector can't be read.
pub fn is_met(selector: &str) -> Result<String> {
    let met: Vec<String> = demands(selector)?.iter().map(Demand::is_met).collect();
    Ok(met.join(" &&\n"))
}

/// Whether what a selector refers to can be filled in; nothing, if it refers to nothing.
///
/// # Errors
/// The selector can't be read.
pub fn can_be_filled_in(selector: &str) -> Result<Option<String>> {
    let mut labels: Vec<&str> = reference::keys(selector).filter(|key| *key != reference::NAME).collect();
    labels.sort_unstable();
    labels.dedup();
    let mut conditions: Vec<String> = labels.iter().map(|key| format!("{} != ''", cel::namespace_label(key))).collect();
    conditions.extend(demands(selector)?.iter().flat_map(Demand::filled_in_values_fit));
    Ok((!conditions.is_empty()).then(|| conditions.join(" &&\n")))
}

fn demands(selector: &str) -> Result<Vec<Demand>> {
    let text = reference::with_stand_ins(selector).map_err(|error| anyhow!("{error}"))?;
    let parsed = parse(&text).map_err(|error| anyhow!("{error}"))?;
    Ok(parsed.requirements().iter().map(|requirement| Demand::new(requirement, selector)).collect())
}

impl Demand {
    /// A requirement of `selector` with stand-ins for its references.
    fn new(requirement: &Requirement, selector: &str) -> Self {
        let values = requirement.values().iter().map(|value| reference::name_again(selector, value)).collect();
        Self { key: requirement.key().to_owned(), operator: requirement.operator().as_set(), values }
    }

    fn is_met(&self) -> String {
        let values: Vec<String> = self.values.iter().map(|value| cel::filled_in(value)).collect();
        match values.as_slice() {
            [value] if self.operator == Operator::In => self.is_in_node_selector(value),
            [first, ..] if self.operator == Operator::In && self.refers() => {
                // Filled in, they may be one value. That is demanded by the nodeSelector.
                let (pair, set) = (self.is_in_node_selector(first), self.is_in_every_term(&values));
                format!("({}.all(v, v == {first}) ?\n{pair} :\n{set})", cel::list(&values))
            }
            values => self.is_in_every_term(values),
        }
    }

    fn is_in_node_selector(&self, value: &str) -> String {
        let key = cel::text(&self.key);
        format!("{key} in variables.nodeSelector &&\nvariables.nodeSelector[{key}] == {value}")
    }

    fn is_in_every_term(&self, values: &[String]) -> String {
        let key = cel::text(&self.key);
        let mut expression = format!("e.key == {key} && e.operator == '{}'", name_of(self.operator));
        if !matches!(self.operator, Operator::Exists | Operator::DoesNotExist) {
            expression = format!("{expression} && {}", cel::has_exactly("e.values", values));
        }
        format!("variables.terms.all(expressions, expressions.exists(e,\n  {expression}))")
    }

    fn refers(&self) -> bool {
        self.values.iter().any(|value| reference::is_in(value))
    }

    /// What is a label's value stays one, with a text around it, if it does not get too long. For `Gt` and `Lt` it must
    /// be an integer.
    fn filled_in_values_fit(&self) -> Vec<String> {
        let compares = matches!(self.operator, Operator::GreaterThan | Operator::LessThan);
        let referring = self.values.iter().filter(|value| reference::is_in(value));
        let conditions = referring.filter_map(|value| {
            let is_reference_alone =
                reference::keys(value).count() == 1 && value.starts_with("$(") && value.ends_with(')');
            if compares {
                return Some(cel::is_integer(&cel::filled_in(value)));
            }
            (!is_reference_alone).then(|| cel::is_short_enough(&cel::filled_in(value)))
        });
        conditions.collect()
    }
}
