//! Selectors as text, the way `labels.Selector.String` writes them.

use std::fmt;

use super::{Operator, Requirement, Selector};

/// `requirements` as a selector's text.
pub fn text(requirements: &[Requirement]) -> String {
    let texts: Vec<String> = requirements.iter().map(ToString::to_string).collect();
    texts.join(",")
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(&self.requirements))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, between, after) = match self.operator() {
            Operator::Exists => ("", "", ""),
            Operator::DoesNotExist => ("!", "", ""),
            Operator::Equals => ("", "=", ""),
            Operator::DoubleEquals => ("", "==", ""),
            Operator::NotEquals => ("", "!=", ""),
            Operator::GreaterThan => ("", ">", ""),
            Operator::LessThan => ("", "<", ""),
            Operator::In => ("", " in (", ")"),
            Operator::NotIn => ("", " notin (", ")"),
        };
        write!(f, "{before}{}{between}{}{after}", self.key(), self.values().join(","))
    }
}
