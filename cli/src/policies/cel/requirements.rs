//! The requirements of a node selector in the settings, in CEL.

use anyhow::{Result, anyhow};
use node_placement_policy::{
    placement::node_affinity::name_of,
    selector::{Operator, parse},
    settings::reference::{self, StandIns},
};

use super::{
    list, map,
    references::{Template, filled_in},
    text,
};

/// A requirement on a label of nodes. Its values are as in the settings, with their references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Required {
    /// The label.
    pub key: String,
    /// As node affinity has it.
    pub operator: Operator,
    /// Without references: sorted, each once.
    pub values: Vec<String>,
}

impl Required {
    /// Reads a node selector. Requirements that say the same are one.
    ///
    /// # Errors
    /// The text is no label selector.
    pub fn read(selector: &str) -> Result<Vec<Self>> {
        let text = reference::with_stand_ins(selector, StandIns::Usual).map_err(|error| anyhow!("{error}"))?;
        let parsed = parse(&text).map_err(|error| anyhow!("{error}"))?;
        let mut all = vec![];
        for requirement in parsed.requirements() {
            let values = requirement.values().iter().map(|value| reference::with_references(selector, value)).collect();
            let required =
                Self { key: requirement.key().to_owned(), operator: requirement.operator().as_set(), values };
            if !all.contains(&required) {
                all.push(required);
            }
        }
        Ok(all)
    }

    /// Returns the name of its operator in node affinity: `In`.
    pub fn operator_name(&self) -> &'static str {
        name_of(self.operator)
    }

    /// Returns whether a value has a reference.
    pub fn has_reference(&self) -> bool {
        self.values.iter().any(|value| reference::is_in(value))
    }

    /// Returns its values, each an expression.
    pub fn values_in_cel(&self) -> Vec<String> {
        self.values.iter().map(|value| filled_in(value)).collect()
    }

    /// Returns it as an expression of node affinity: `{'key': …, 'operator': …, 'values': …}`.
    pub fn in_cel(&self) -> String {
        let mut members = vec![("key", text(&self.key)), ("operator", text(self.operator_name()))];
        if !self.values.is_empty() {
            // Filled in, values may be the same, and in another order.
            let sorts = self.values.len() > 1 && self.has_reference();
            let suffix = if sorts { ".distinct().sort()" } else { "" };
            members.push(("values", list(&self.values_in_cel()) + suffix));
        }
        map(&members)
    }
}

/// Returns all values of these requirements.
pub fn templates(required: &[Required]) -> impl Iterator<Item = Template<'_>> {
    required.iter().flat_map(|required| {
        let is_number = matches!(required.operator, Operator::GreaterThan | Operator::LessThan);
        required.values.iter().map(move |text| Template { text, is_number })
    })
}
