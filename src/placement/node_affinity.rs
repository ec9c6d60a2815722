//! Node affinity: reading a term, writing it, and matching it as the scheduler does.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::json::read::read;
use crate::json::{Pairs, Raw, RawObject, ReadError, Within};
use crate::limits::MOST_EXPRESSIONS;
use crate::selector::{Operator, PossibleValues, Requirement, Selector};

/// The member of a term that holds its expressions on labels.
pub const EXPRESSIONS: &str = "matchExpressions";
const FIELDS: &str = "matchFields";

/// The only field of a Node that a term can match.
const NODE_NAME_FIELD: &str = "metadata.name";

/// One of the ORed terms of required node affinity (`NodeSelectorTerm`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Term {
    /// On labels; all must hold.
    pub expressions: Vec<Expression>,
    /// How many of them it was read with.
    read: usize,
    /// On fields; all must hold.
    fields: Vec<Expression>,
}

/// One of the ANDed expressions of a term (`NodeSelectorRequirement`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expression {
    /// The label or field.
    pub key: String,
    /// As it was written; perhaps none that exists.
    operator: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
    /// What it demands of a label; nothing, if it is invalid, and matches no node.
    #[serde(skip)]
    pub requirement: Option<Requirement>,
}

impl Term {
    /// Reads the `text` of a term, and adds the number of its expressions and values to `size`. Where that is more than
    /// [`MOST_EXPRESSIONS`], what is read is not complete.
    ///
    /// # Errors
    /// It is no term.
    pub fn read(text: &str, size: &mut usize) -> Result<Self, ReadError> {
        let term: Raw<'_> = read(text)?;
        let term = term.object()?;
        let expressions = Expression::read_all(&term, EXPRESSIONS, size)?;
        let fields = Expression::read_all(&term, FIELDS, size)?;
        Ok(Self { read: expressions.len(), expressions, fields })
    }

    /// One that has nothing but these requirements.
    pub fn of<'r>(requirements: impl IntoIterator<Item = &'r Requirement>) -> Self {
        let mut term = Self::default();
        for requirement in requirements {
            term.add(requirement);
        }
        term
    }

    /// Adds `requirement` to its expressions.
    pub fn add(&mut self, requirement: &Requirement) {
        self.expressions.push(Expression::of(requirement));
    }

    /// Writes what was added to it into `term`, which it was read from.
    ///
    /// # Errors
    /// `term` is none.
    pub fn write_added(&self, term: &mut RawObject<'_>) -> Result<(), ReadError> {
        let list = term.list_mut(EXPRESSIONS)?;
        for expression in self.expressions.iter().skip(self.read) {
            list.push(Raw::written(expression)?);
        }
        Ok(())
    }

    /// Whether anything was added to it.
    pub const fn is_added_to(&self) -> bool {
        self.expressions.len() > self.read
    }

    /// Whether the term has neither expressions nor fields, and so matches no node.
    pub const fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.fields.is_empty()
    }

    /// How many expressions and values it has.
    pub fn size(&self) -> usize {
        self.expressions.iter().chain(&self.fields).map(|expression| 1 + expression.values.len()).sum()
    }

    /// Whether an expression is about the label `key`.
    pub fn chooses(&self, key: &str) -> bool {
        self.expressions.iter().any(|expression| expression.key == key)
    }

    /// What it demands of fields of the node, first of all.
    pub fn first_field(&self) -> Option<&Expression> {
        self.fields.first()
    }

    /// Whether a node with this name, of which `label` tells the labels, matches.
    ///
    /// Upstream: `nodeSelectorTerm.match` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
    pub fn matches<'l>(&self, node: &str, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        !self.is_empty()
            && self.expressions.iter().all(|expression| expression.accepts(label(&expression.key)))
            && self.fields.iter().all(|field| field.matches_field(node))
    }

    /// What the expressions on labels say together; nothing, if the term matches no node, whatever its name and labels.
    pub fn selector(&self) -> Option<Selector> {
        if self.is_empty() {
            return None;
        }
        let requirements: Option<Vec<Requirement>> =
            self.expressions.iter().map(|expression| expression.requirement.clone()).collect();
        requirements.map(Selector::new)
    }

    /// Whether the term can match a node, beside this nodeSelector: it does not contradict itself.
    pub fn can_match(&self, node_selector: &Pairs<'_>) -> bool {
        let Some(asked) = self.selector() else { return false };
        asked.by_label().all(|requirements| {
            let key = requirements.first().map(Requirement::key).unwrap_or_default();
            !values_beside(node_selector, key, requirements).is_empty()
        })
    }

    /// What its valid expressions say, each as the [identity](Requirement::identity) of its requirement.
    pub fn stated(&self) -> BTreeSet<String> {
        let mut stated = BTreeSet::new();
        stated.extend(self.expressions.iter().filter_map(|own| Some(own.requirement.as_ref()?.identity())));
        stated
    }
}

impl Expression {
    fn read_all(term: &RawObject<'_>, member: &str, size: &mut usize) -> Result<Vec<Self>, ReadError> {
        let list = term.first(member, MOST_EXPRESSIONS)?;
        let mut expressions = Vec::new();
        if list.has_more {
            *size += MOST_EXPRESSIONS;
        }
        for (position, text) in list.elements.into_iter().enumerate() {
            let expression: Raw<'_> = read(text.get()).at(position).within(member)?;
            let expression = expression.object().at(position).within(member)?;
            expressions.push(Self::read(&expression, size).at(position).within(member)?);
            if *size > MOST_EXPRESSIONS {
                break;
            }
        }
        Ok(expressions)
    }

    fn read(expression: &RawObject<'_>, size: &mut usize) -> Result<Self, ReadError> {
        let (key, operator) = (expression.string("key")?, expression.string("operator")?);
        let list = expression.first("values", MOST_EXPRESSIONS)?;
        *size += 1 + list.elements.len() + usize::from(list.has_more);
        let mut values = Vec::with_capacity(list.elements.len());
        for (position, value) in list.elements.into_iter().enumerate() {
            values.push(read::<String>(value.get()).at(position).within("values")?);
        }
        let known = operator_named(&operator);
        let requirement = known.and_then(|known| Requirement::new(key.clone(), known, values.clone()).ok());
        Ok(Self { key, operator, values, requirement })
    }

    /// What `requirement` demands, as node affinity has it.
    fn of(requirement: &Requirement) -> Self {
        Self {
            key: requirement.key().to_owned(),
            operator: name_of(requirement.operator()).to_owned(),
            values: requirement.values().to_owned(),
            requirement: Some(requirement.clone()),
        }
    }

    fn accepts(&self, value: Option<&str>) -> bool {
        self.requirement.as_ref().is_some_and(|requirement| requirement.accepts(value))
    }

    /// As it was written.
    pub fn parts(&self) -> String {
        format!("{} {} ({})", self.key, self.operator, self.values.join(","))
    }

    fn matches_field(&self, node: &str) -> bool {
        let value = if self.key == NODE_NAME_FIELD { node } else { "" };
        match (self.operator.as_str(), self.values.as_slice()) {
            ("In", [only]) => node.is_empty() || only == value,
            ("NotIn", [only]) => node.is_empty() || only != value,
            _ => false,
        }
    }
}
/// The values of the label `key` that neither these `requirements` nor the nodeSelector exclude.
pub(super) fn values_beside<'r>(
    node_selector: &'r Pairs<'_>,
    key: &str,
    requirements: &'r [Requirement],
) -> PossibleValues<'r> {
    let mut values = PossibleValues::of(requirements);
    if let Some(value) = node_selector.get(key) {
        values.narrow_to(value);
    }
    values
}

impl fmt::Display for Expression {
    /// As in a selector, or its parts if it is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.requirement {
            Some(requirement) => requirement.fmt(f),
            None => f.write_str(&self.parts()),
        }
    }
}

/// The operators of node affinity (`NodeSelectorOperator`). A selector has more, which are other words for these.
const OPERATORS: [(Operator, &str); 6] = [
    (Operator::In, "In"),
    (Operator::NotIn, "NotIn"),
    (Operator::Exists, "Exists"),
    (Operator::DoesNotExist, "DoesNotExist"),
    (Operator::GreaterThan, "Gt"),
    (Operator::LessThan, "Lt"),
];

fn name_of(operator: Operator) -> &'static str {
    let known = OPERATORS.iter().find(|(own, _)| *own == operator.as_set());
    known.map(|(_, name)| *name).unwrap_or_default()
}

fn operator_named(name: &str) -> Option<Operator> {
    OPERATORS.iter().find(|(_, own)| *own == name).map(|(operator, _)| *operator)
}
