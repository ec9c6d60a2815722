//! The node selector and the required node affinity of a Pod. Reads them, matches nodes as the scheduler does, and writes
//! terms.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::json::read::read;
use crate::json::{Pairs, Raw, RawObject, ReadError, Within};
use crate::limits::{MOST_EXPRESSIONS, MOST_TERMS};
use crate::message::quote;
use crate::selector::{Operator, PossibleValues, Requirement, Selector};
use crate::settings::OnNodeAffinity;

/// The member of a PodSpec that holds the pairs.
pub const NODE_SELECTOR: &str = "nodeSelector";

/// The path of required node affinity in a PodSpec.
pub const REQUIRED_AFFINITY: [&str; 3] = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

/// The label that has the name of a node as its value. `matchFields` select by that name, too.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// The member of required node affinity that holds its terms.
pub const TERMS: &str = "nodeSelectorTerms";

/// The nodes that a Pod selects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSelection<'a> {
    /// `nodeSelector`
    pub node_selector: Pairs<'a>,
    /// The terms of required node affinity, one of which must match. `None` if there is none, or if it was not read.
    pub terms: Option<Vec<Term>>,
}

/// A limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The limit.
    pub most: usize,
    /// The things that are counted, as in `terms`.
    pub what: &'static str,
}

impl<'a> NodeSelection<'a> {
    /// Reads the selection of `spec`, the JSON text of a PodSpec.
    ///
    /// ```
    /// use node_placement_policy::placement::node_affinity::NodeSelection;
    ///
    /// let selection = NodeSelection::parse(r#"{"nodeSelector": {"pool": "blue"}}"#).unwrap();
    /// assert!(selection.matches_node("node-a", |key| if key == "pool" { Some("blue") } else { None }));
    /// assert!(!selection.matches_node("node-b", |_| None));
    /// ```
    ///
    /// # Errors
    /// It can't be read, or there is more of it than the policy reads.
    pub fn parse(spec: &'a str) -> Result<Self, ReadError> {
        let spec: Raw<'a> = read(spec)?;
        let spec = spec.object()?;
        let node_selector = spec.get(NODE_SELECTOR)?.unwrap_or_default();
        match read_terms(&spec)? {
            Ok(terms) => Ok(Self { node_selector, terms }),
            Err(Excess { most, what }) => {
                Err(ReadError::new(format!("more than {most} {what}")).within(&REQUIRED_AFFINITY.join(".")))
            }
        }
    }

    /// Returns the pairs, expressions and fields. Omits node affinity if `on_node_affinity` is `Ignore`.
    pub fn requested(&self, on_node_affinity: OnNodeAffinity) -> impl Iterator<Item = Requested<'_>> {
        let pairs = self.node_selector.iter().map(|(key, value)| Requested::Pair(key, value));
        let terms = self.terms.as_ref().filter(|_| on_node_affinity == OnNodeAffinity::Check);
        let expressions = terms.into_iter().flatten().flat_map(|term| &term.expressions).map(Requested::Expression);
        let fields = terms.into_iter().flatten().flat_map(|term| &term.fields).map(Requested::Field);
        pairs.chain(expressions).chain(fields)
    }

    /// Adds those of `pairs` to the nodeSelector whose keys it lacks.
    pub fn add_missing(&mut self, pairs: &Pairs<'_>) {
        for (key, value) in pairs.iter() {
            if !self.node_selector.contains_key(key) {
                self.node_selector.insert(key.into(), value.into());
            }
        }
    }

    /// Returns whether the Pod selects a node with this name. `label` returns the value of a label of the node.
    ///
    /// Upstream: `RequiredNodeAffinity.Match` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
    pub fn matches_node<'l>(&self, node: &str, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.node_selector.iter().all(|(key, value)| label(key) == Some(value))
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node, &label)))
    }
}

/// A pair, expression or field that selects nodes.
#[derive(Clone, Copy, Debug)]
pub enum Requested<'s> {
    /// A pair of its nodeSelector.
    Pair(&'s str, &'s str),
    /// An expression of its required node affinity on a label.
    Expression(&'s Expression),
    /// An expression of its required node affinity on a field.
    Field(&'s Expression),
}

impl Requested<'_> {
    /// Returns the label or field.
    pub fn key(&self) -> &str {
        match self {
            Self::Pair(key, _) => key,
            Self::Expression(expression) | Self::Field(expression) => &expression.key,
        }
    }

    /// Returns the number of its values plus one.
    pub const fn size(&self) -> usize {
        match self {
            Self::Pair(..) => 1,
            Self::Expression(expression) | Self::Field(expression) => expression.size(),
        }
    }

    /// Returns whether it means the same as `requirement`.
    pub fn is_same_as(&self, requirement: &Requirement) -> bool {
        match self {
            Self::Pair(key, value) => requirement.key() == *key && requirement.only_value() == Some(value),
            Self::Expression(expression) => expression.means(requirement),
            Self::Field(_) => false,
        }
    }

    /// Returns its name in messages.
    pub fn name(&self) -> String {
        let kind = match self {
            Self::Pair(..) => "",
            Self::Expression(_) => "node affinity ",
            Self::Field(_) => "node affinity by matchFields ",
        };
        format!("{kind}{}", quote(&self.to_string()))
    }
}

impl fmt::Display for Requested<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair(key, value) => write!(f, "{key}={value}"),
            Self::Expression(expression) => expression.fmt(f),
            Self::Field(expression) => f.write_str(&expression.parts()),
        }
    }
}

/// Reads the terms of required node affinity in `spec`, a PodSpec. Returns `None` if it has no such affinity, or the limit
/// that they exceed.
///
/// # Errors
/// They can't be read.
pub fn read_terms(spec: &RawObject<'_>) -> Result<Result<Option<Vec<Term>>, Excess>, ReadError> {
    let Some(required) = spec.object_at(&REQUIRED_AFFINITY)? else { return Ok(Ok(None)) };
    let read = read_list(&required, TERMS, Term::read).within(&REQUIRED_AFFINITY.join("."))?;
    Ok(read.map(|(terms, _)| Some(terms)))
}

/// Reads the list `key` of a Pod's affinity. `read` reads an element, and adds the number of its expressions and values to
/// the number that is given. Returns the elements and that number, or the limit that they exceed.
///
/// # Errors
/// They can't be read.
pub fn read_list<T>(
    affinity: &RawObject<'_>,
    key: &str,
    read: fn(&str, &mut usize) -> Result<T, ReadError>,
) -> Result<Result<(Vec<T>, usize), Excess>, ReadError> {
    let list = affinity.first::<&RawValue>(key, MOST_TERMS)?;
    let (mut all, mut size, count) = (Vec::new(), 0, list.count());
    for (position, element) in list.elements.into_iter().enumerate() {
        if let Err(excess) = check_amount(count, size) {
            return Ok(Err(excess));
        }
        all.push(read(element.get(), &mut size).at(position).within(key)?);
    }
    Ok(check_amount(count, size).map(|()| (all, size)))
}

/// Checks that there are not too many terms, with `size` expressions and values in all.
///
/// # Errors
/// The limit that is exceeded.
pub const fn check_amount(terms: usize, size: usize) -> Result<(), Excess> {
    match (terms, size) {
        (..=MOST_TERMS, ..=MOST_EXPRESSIONS) => Ok(()),
        (..=MOST_TERMS, _) => Err(Excess { most: MOST_EXPRESSIONS, what: "expressions and values" }),
        _ => Err(Excess { most: MOST_TERMS, what: "terms" }),
    }
}

/// The member of a term that holds its expressions on labels.
const EXPRESSIONS: &str = "matchExpressions";
const FIELDS: &str = "matchFields";

/// The only field of a Node that a term can match.
const NODE_NAME_FIELD: &str = "metadata.name";

/// One of the ORed terms of required node affinity (`NodeSelectorTerm`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Term {
    /// The expressions on labels, all of which must match. Those that were added come last.
    pub expressions: Vec<Expression>,
    /// The expressions on fields, all of which must match.
    pub fields: Vec<Expression>,
}

/// One of the ANDed expressions of a term (`NodeSelectorRequirement`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expression {
    /// The label or field.
    pub key: String,
    /// The operator as written, which may be unknown.
    operator: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
    /// The requirement on the label. `None` if the expression is invalid: it matches no node.
    #[serde(skip)]
    pub requirement: Option<Requirement>,
    /// Whether the policy adds it.
    #[serde(skip)]
    is_added: bool,
}

impl Term {
    /// Reads the `text` of a term, and adds the number of its expressions and values to `size`. Stops above
    /// [`MOST_EXPRESSIONS`]. `null` is a term that matches no node.
    ///
    /// # Errors
    /// It is no term.
    pub fn read(text: &str, size: &mut usize) -> Result<Self, ReadError> {
        let term: Raw<'_> = read(text)?;
        if term.is_null() {
            return Ok(Self::default());
        }
        let term = term.object()?;
        let expressions = Expression::read_all(&term, EXPRESSIONS, size)?;
        let fields = Expression::read_all(&term, FIELDS, size)?;
        Ok(Self { expressions, fields })
    }

    /// Returns a term with these requirements.
    pub fn from_requirements<'r>(requirements: impl IntoIterator<Item = &'r Requirement>) -> Self {
        let expressions = requirements.into_iter().map(Expression::from_requirement).collect();
        Self { expressions, ..Self::default() }
    }

    /// Returns whether one of its expressions means the same as `requirement`.
    pub fn states(&self, requirement: &Requirement) -> bool {
        self.expressions.iter().any(|expression| expression.means(requirement))
    }

    /// Adds `requirement` to its expressions.
    pub fn add(&mut self, requirement: &Requirement) {
        self.expressions.push(Expression::from_requirement(requirement));
    }

    /// Appends the added expressions to `term`, from which this was read.
    ///
    /// # Errors
    /// `term` has no list of expressions.
    pub fn write_added(&self, term: &mut RawObject<'_>) -> Result<(), ReadError> {
        let list = term.list_mut(EXPRESSIONS)?;
        for expression in self.expressions.iter().filter(|expression| expression.is_added) {
            list.push(Raw::written(expression)?);
        }
        Ok(())
    }

    /// Returns whether expressions were added to it.
    pub fn is_added_to(&self) -> bool {
        self.expressions.last().is_some_and(|expression| expression.is_added)
    }

    /// Returns whether the term has neither expressions nor fields, and so matches no node.
    pub const fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.fields.is_empty()
    }

    /// Returns the number of its expressions and values.
    pub fn size(&self) -> usize {
        self.expressions.iter().chain(&self.fields).map(Expression::size).sum()
    }

    /// Returns the first expression that labels don't meet. `label` returns the value of a label.
    pub fn first_unmet<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> Option<&Expression> {
        self.expressions.iter().find(|Expression { requirement, key, .. }| {
            !requirement.as_ref().is_some_and(|requirement| requirement.accepts(label(key)))
        })
    }

    /// Returns whether a node with this name matches. `label` returns the value of a label of the node.
    ///
    /// Upstream: `nodeSelectorTerm.match` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
    pub fn matches<'l>(&self, node: &str, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        !self.is_empty()
            && self.first_unmet(label).is_none()
            && self.fields.iter().all(|field| field.matches_field(node))
    }

    /// Returns the expressions on labels as a selector, or `None` if the term matches no node.
    pub fn selector(&self) -> Option<Selector> {
        if self.is_empty() {
            return None;
        }
        let requirements = self.expressions.iter().map(|expression| expression.requirement.clone());
        requirements.collect::<Option<_>>().map(Selector::new)
    }

    /// Returns whether the term can match a node together with this nodeSelector: they don't contradict each other.
    pub fn can_match(&self, node_selector: &Pairs<'_>) -> bool {
        let Some(selector) = self.selector() else { return false };
        labels_of(&selector, node_selector).iter().all(|label| !label.values.is_empty())
    }

    /// Returns the [identities](Requirement::identity) of its valid expressions.
    pub fn stated(&self) -> BTreeSet<String> {
        // Collecting a set would sort a list first, and code that sorts is a hundredth of the module.
        let mut stated = BTreeSet::new();
        stated
            .extend(self.expressions.iter().filter_map(|expression| Some(expression.requirement.as_ref()?.identity())));
        stated
    }
}

impl Expression {
    fn read_all(term: &RawObject<'_>, member: &str, size: &mut usize) -> Result<Vec<Self>, ReadError> {
        let list = term.first::<&RawValue>(member, MOST_EXPRESSIONS)?;
        let mut expressions = Vec::new();
        if list.has_more {
            *size += MOST_EXPRESSIONS;
        }
        for (position, element) in list.elements.into_iter().enumerate() {
            expressions.push(Self::read(element.get(), size).at(position).within(member)?);
            if *size > MOST_EXPRESSIONS {
                break;
            }
        }
        Ok(expressions)
    }

    fn read(text: &str, size: &mut usize) -> Result<Self, ReadError> {
        let expression: Raw<'_> = read(text)?;
        let expression = expression.object()?;
        let (key, operator) = (expression.string("key")?, expression.string("operator")?);
        let values = expression.first("values", MOST_EXPRESSIONS)?;
        *size += 1 + values.count();
        let values = values.elements;
        let known = operator_named(&operator);
        let requirement = known.and_then(|known| Requirement::new(key.clone(), known, values.clone()).ok());
        Ok(Self { key, operator, values, requirement, is_added: false })
    }

    /// Converts a requirement into an expression that is added.
    fn from_requirement(requirement: &Requirement) -> Self {
        Self {
            key: requirement.key().to_owned(),
            operator: name_of(requirement.operator()).to_owned(),
            values: requirement.values().to_owned(),
            requirement: Some(requirement.clone()),
            is_added: true,
        }
    }

    /// Returns whether it means the same as `requirement`.
    fn means(&self, requirement: &Requirement) -> bool {
        self.requirement.as_ref().is_some_and(|meant| meant.same_as(requirement))
    }

    /// Returns the number of its values plus one.
    pub const fn size(&self) -> usize {
        1 + self.values.len()
    }

    /// Returns its parts as they were written.
    pub fn parts(&self) -> String {
        format!("{} {} ({})", self.key, self.operator, self.values.join(","))
    }

    /// Returns whether a node with this name matches, as an expression on a field. The scheduler compares no field of a
    /// node without a name (`nodeSelectorTerm.match`).
    fn matches_field(&self, node: &str) -> bool {
        let value = if self.key == NODE_NAME_FIELD { node } else { "" };
        match (operator_named(&self.operator), self.values.as_slice()) {
            (Some(Operator::In), [only]) => node.is_empty() || only == value,
            (Some(Operator::NotIn), [only]) => node.is_empty() || only != value,
            _ => false,
        }
    }
}

/// The requirements on one label.
#[derive(Debug)]
pub struct Label<'s> {
    /// Its key.
    pub key: &'s str,
    /// The requirements.
    pub requirements: &'s [Requirement],
    /// The values that meet all of them.
    pub values: PossibleValues<'s>,
}

/// Groups the requirements of `selector` by label, and narrows their values to those of the nodeSelector.
pub fn labels_of<'s>(selector: &'s Selector, node_selector: &'s Pairs<'_>) -> Vec<Label<'s>> {
    let mut labels = Vec::new();
    for requirements in selector.by_label() {
        let key = requirements.first().map(Requirement::key).unwrap_or_default();
        let mut values = PossibleValues::of(requirements);
        if let Some(value) = node_selector.get(key) {
            values.narrow_to(value);
        }
        labels.push(Label { key, requirements, values });
    }
    labels
}

impl fmt::Display for Expression {
    /// Writes it as in a selector, or its parts if it is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.requirement {
            Some(requirement) => requirement.fmt(f),
            None => f.write_str(&self.parts()),
        }
    }
}

/// The operators of node affinity (`NodeSelectorOperator`). A selector has synonyms for some of them.
const OPERATORS: [(Operator, &str); 6] = [
    (Operator::In, "In"),
    (Operator::NotIn, "NotIn"),
    (Operator::Exists, "Exists"),
    (Operator::DoesNotExist, "DoesNotExist"),
    (Operator::GreaterThan, "Gt"),
    (Operator::LessThan, "Lt"),
];

/// Returns the name of an operator in node affinity, and in a `LabelSelector`.
pub fn name_of(operator: Operator) -> &'static str {
    let known = OPERATORS.iter().find(|(known, _)| *known == operator.as_set());
    known.map(|(_, name)| *name).unwrap_or_default()
}

/// Returns the operator of this name.
pub fn operator_named(name: &str) -> Option<Operator> {
    OPERATORS.iter().find(|(_, known)| *known == name).map(|(operator, _)| *operator)
}
