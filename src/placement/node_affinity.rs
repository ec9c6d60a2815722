//! Required node affinity: reading it, writing it, and matching it as the scheduler does.

use std::borrow::Cow;
use std::collections::BTreeSet;

use json::{Json, Mismatch, Object, StringMap, encode};

use crate::selector::{Operator, Requirement};

const EXPRESSIONS: &str = "matchExpressions";
const FIELDS: &str = "matchFields";

/// The only field of a Node that a term can match.
const NODE_NAME_FIELD: &str = "metadata.name";

/// One of the ORed terms of required node affinity (`NodeSelectorTerm`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Term<'a> {
    /// On labels; all must hold.
    pub expressions: Vec<Expression<'a>>,
    /// On fields; all must hold.
    fields: Vec<Expression<'a>>,
}

/// One of the ANDed expressions of a term (`NodeSelectorRequirement`).
#[derive(Clone, Debug, PartialEq)]
pub struct Expression<'a> {
    /// The label or field.
    pub key: Cow<'a, str>,
    /// As it was written; perhaps none that exists.
    pub operator: Cow<'a, str>,
    values: Vec<Cow<'a, str>>,
    /// What it demands of a label; nothing, if it is invalid, and matches no node.
    pub requirement: Option<Requirement>,
}

impl<'a> Term<'a> {
    /// Reads `term`.
    pub fn read(term: &Object<'a>) -> Result<Self, Mismatch> {
        let read = |key| -> Result<Vec<Expression<'a>>, Mismatch> {
            let list = term.read(key, Json::objects)?.unwrap_or_default();
            let expressions = list.iter().enumerate().map(|(at, expression)| {
                Expression::read(expression).map_err(|mismatch| mismatch.within(&format!("{key}[{at}]")))
            });
            expressions.collect()
        };
        Ok(Self { expressions: read(EXPRESSIONS)?, fields: read(FIELDS)? })
    }

    /// Whether the term has neither expressions nor fields, and so matches no node.
    pub const fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.fields.is_empty()
    }

    /// Whether a node with this name and these labels matches.
    ///
    /// Upstream: `nodeSelectorTerm.match` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
    pub fn matches(&self, node: &str, labels: &StringMap<'_>) -> bool {
        let on_label = |expression: &Expression<'_>| {
            let value = labels.get(&expression.key);
            expression.requirement.as_ref().is_some_and(|requirement| requirement.accepts(value))
        };
        let on_field = |expression: &Expression<'_>| {
            let value = if expression.key == NODE_NAME_FIELD { node } else { "" };
            match (expression.operator.as_ref(), expression.values.as_slice()) {
                ("In", [only]) => node.is_empty() || only == value,
                ("NotIn", [only]) => node.is_empty() || only != value,
                _ => false,
            }
        };
        !self.is_empty() && self.expressions.iter().all(on_label) && self.fields.iter().all(on_field)
    }

    /// What the expressions on labels among `keys` say, each as the [identity](Requirement::identity) of its requirement.
    pub fn stated(&self, keys: &StringMap<'_>) -> BTreeSet<String> {
        let mut stated = BTreeSet::new();
        for requirement in self.expressions.iter().filter_map(|expression| expression.requirement.as_ref()) {
            if keys.contains_key(requirement.key()) {
                stated.insert(requirement.identity());
            }
        }
        stated
    }

    /// Adds requirements, each with its text, to the term and to `object`, from which it was read.
    pub fn add(&mut self, object: &mut Object<'a>, added: &[(&Requirement, &str)]) {
        let mut list = match object.get(EXPRESSIONS).and_then(|list| list.text().strip_suffix(']')) {
            Some(start) if !self.expressions.is_empty() => format!("{start},"),
            _ => "[".to_owned(),
        };
        for (at, (requirement, text)) in added.iter().enumerate() {
            if at > 0 {
                list.push(',');
            }
            list.push_str(text);
            self.expressions.push(Expression::of(requirement));
        }
        list.push(']');
        object.set(EXPRESSIONS, list);
    }
}

impl<'a> Expression<'a> {
    fn read(expression: &Object<'a>) -> Result<Self, Mismatch> {
        let key = expression.string("key")?;
        let operator = expression.string("operator")?;
        let values = expression.read("values", Json::strings)?.unwrap_or_default();
        let requirement = operator_of(&operator).and_then(|operator| {
            let values = values.iter().map(|value| value.clone().into_owned()).collect();
            Requirement::new(key.clone().into_owned(), operator, values).ok()
        });
        Ok(Self { key, operator, values, requirement })
    }

    fn of(requirement: &Requirement) -> Self {
        Self {
            key: Cow::Owned(requirement.key().to_owned()),
            operator: Cow::Borrowed(name_of(requirement.operator())),
            values: requirement.values().iter().map(|value| Cow::Owned(value.clone())).collect(),
            requirement: Some(requirement.clone()),
        }
    }
}

impl std::fmt::Display for Expression<'_> {
    /// As in a selector, or its parts if it is none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.requirement {
            Some(requirement) => requirement.fmt(f),
            None => write!(f, "{} {} ({})", self.key, self.operator, self.values.join(",")),
        }
    }
}

/// `NodeSelectorOperator` has fewer operators than a selector, and other names.
const fn name_of(operator: Operator) -> &'static str {
    match operator.as_set() {
        Operator::In | Operator::Equals | Operator::DoubleEquals => "In",
        Operator::NotIn | Operator::NotEquals => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::GreaterThan => "Gt",
        Operator::LessThan => "Lt",
    }
}

fn operator_of(name: &str) -> Option<Operator> {
    match name {
        "In" => Some(Operator::In),
        "NotIn" => Some(Operator::NotIn),
        "Exists" => Some(Operator::Exists),
        "DoesNotExist" => Some(Operator::DoesNotExist),
        "Gt" => Some(Operator::GreaterThan),
        "Lt" => Some(Operator::LessThan),
        _ => None,
    }
}

/// `requirement` as a node-affinity expression.
pub fn expression_json(requirement: &Requirement) -> String {
    let key = encode(requirement.key());
    let operator = name_of(requirement.operator());
    let values: Vec<String> = requirement.values().iter().map(|value| encode(value)).collect();
    if values.is_empty() {
        format!(r#"{{"key":{key},"operator":"{operator}"}}"#)
    } else {
        format!(r#"{{"key":{key},"operator":"{operator}","values":[{}]}}"#, values.join(","))
    }
}
