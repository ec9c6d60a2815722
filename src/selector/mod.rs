//! The language of label selectors: parses, prints and matches them, and finds contradictions. It knows no Kubernetes
//! object.
//!
//! A [`Selector`] is what `k8s.io/apimachinery/pkg/labels` calls a `Selector`: requirements on labels,
//! all of which must hold. There are two ways to write one: [`parse`] reads the whole language,
//! [`parse_pairs`] the `key=value` list that the in-tree `PodNodeSelector` plugin understands. Every
//! `Selector` is valid.

mod parse;
pub mod syntax;
mod values;

use std::collections::BTreeSet;
use std::fmt;

use crate::limits::SHORT_LIST;
use crate::message::joined;

pub use parse::{parse, parse_pairs, read_pairs};
pub use values::PossibleValues;

/// Requirements on labels, all of which must hold, sorted by key as in Kubernetes. Without requirements,
/// everything is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

impl Selector {
    /// Returns a selector of all `requirements`.
    pub fn new(requirements: Vec<Requirement>) -> Self {
        if requirements.is_sorted_by(|before, after| before.key() <= after.key()) {
            return Self { requirements };
        }
        let sorted = sorted_positions(requirements.len(), &|one, other| {
            requirements.get(one).map(Requirement::key) <= requirements.get(other).map(Requirement::key)
        });
        let mut requirements: Vec<Option<Requirement>> = requirements.into_iter().map(Some).collect();
        let requirements = sorted.into_iter().filter_map(|position| requirements.get_mut(position)?.take()).collect();
        Self { requirements }
    }

    /// Returns whether everything is selected.
    pub const fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns the requirements, by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Returns whether labels are selected (`labels.Selector.Matches`). `label` returns the value of a label.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.first_unmet(label).is_none()
    }

    /// Returns the first requirement that labels don't meet. `label` returns the value of a label.
    pub fn first_unmet<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| !requirement.accepts(label(requirement.key())))
    }

    /// Returns the requirements, by key, without copying them.
    pub fn into_requirements(self) -> Vec<Requirement> {
        self.requirements
    }

    /// Returns the requirements, grouped by label.
    pub fn by_label(&self) -> impl Iterator<Item = &[Requirement]> {
        self.requirements.chunk_by(|before, after| before.key() == after.key())
    }

    /// Returns the selector without repeated requirements.
    pub fn without_repeats(self) -> Self {
        let mut is_new = are_new(&self.requirements.iter().collect::<Vec<_>>()).into_iter();
        let requirements = self.requirements.into_iter().filter(|_| is_new.next() == Some(true)).collect();
        Self { requirements }
    }

    /// Returns the number of values of all requirements.
    pub fn count_values(&self) -> usize {
        self.requirements.iter().map(|requirement| requirement.values.len()).sum()
    }

    /// Returns the requirements on `key`.
    pub fn on(&self, key: &str) -> &[Requirement] {
        let from = self.requirements.partition_point(|requirement| requirement.key() < key);
        let rest = self.requirements.get(from..).unwrap_or_default();
        let count = rest.iter().take_while(|requirement| requirement.key() == key).count();
        rest.get(..count).unwrap_or_default()
    }
}

/// The relation between the label and the values of a [`Requirement`] (`selection.Operator`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// `k`: the label is there.
    Exists,
    /// `!k`: the label is not there.
    DoesNotExist,
    /// `k=v`
    Equals,
    /// `k==v`
    DoubleEquals,
    /// `k!=v`: the label has another value, or is not there.
    NotEquals,
    /// `k in (v,w)`
    In,
    /// `k notin (v,w)`: the label has another value, or is not there.
    NotIn,
    /// `k>5`: the label is an integer, and greater.
    GreaterThan,
    /// `k<5`: the label is an integer, and less.
    LessThan,
}

/// A requirement on one label, which is valid (`labels.NewRequirement`).
///
/// ```
/// use node_placement_policy::selector::{Operator, Requirement};
///
/// let requirement = Requirement::new("zone".to_owned(), Operator::NotIn, vec!["b".to_owned()]).unwrap();
/// assert!(requirement.accepts(Some("a")) && requirement.accepts(None) && !requirement.accepts(Some("b")));
/// assert_eq!(requirement.to_string(), "zone notin (b)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, each once.
    values: Vec<String>,
}

/// The reason that something is not a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The key is invalid. Holds what is expected.
    Key(&'static str),
    /// One of the values is invalid. Holds the value, and what is expected.
    Value(String, &'static str),
    /// The number of values is wrong. Holds what is expected.
    Count(&'static str),
}

impl Requirement {
    /// Returns a requirement of these parts, as `labels.NewRequirement` checks them.
    ///
    /// # Errors
    /// The first part that is invalid.
    pub fn new(key: String, operator: Operator, mut values: Vec<String>) -> Result<Self, Invalid> {
        use Operator::{DoesNotExist, DoubleEquals, Equals, Exists, GreaterThan, In, LessThan, NotEquals, NotIn};
        syntax::label_key(&key).map_err(Invalid::Key)?;
        match (operator, values.len()) {
            (In | NotIn, 1..)
            | (Equals | DoubleEquals | NotEquals | GreaterThan | LessThan, 1)
            | (Exists | DoesNotExist, 0) => {}
            (In | NotIn, _) => return Err(Invalid::Count("at least one value")),
            (Exists | DoesNotExist, _) => return Err(Invalid::Count("no value")),
            _ => return Err(Invalid::Count("one value")),
        }
        for value in &values {
            if matches!(operator, GreaterThan | LessThan) && value.parse::<i64>().is_err() {
                return Err(Invalid::Value(value.clone(), "an integer of 64 bits"));
            }
            syntax::label_value(value).map_err(|expected| Invalid::Value(value.clone(), expected))?;
        }
        if values.len() > 1 {
            // A set of texts is in the module anyway; code that sorts a list of them would be a hundredth of it.
            let mut sorted = BTreeSet::new();
            sorted.extend(values);
            values = sorted.into_iter().collect();
        }
        Ok(Self { key, operator, values })
    }

    /// Returns `key=value`, both already checked.
    fn pair(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), operator: Operator::Equals, values: vec![value.to_owned()] }
    }

    /// Returns the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns how the label and the values relate.
    pub const fn operator(&self) -> Operator {
        self.operator
    }

    /// Returns the values, sorted, each once.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Returns whether a label with this value, or none, meets the requirement (`Requirement.Matches`).
    pub fn accepts(&self, value: Option<&str>) -> bool {
        match self.operator {
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Equals | Operator::DoubleEquals | Operator::In => value.is_some_and(|value| self.has(value)),
            Operator::NotEquals | Operator::NotIn => !value.is_some_and(|value| self.has(value)),
            Operator::GreaterThan => self.compares(value, |label, bound| label > bound),
            Operator::LessThan => self.compares(value, |label, bound| label < bound),
        }
    }

    /// Returns the size of its key and values, in bytes.
    pub fn text_length(&self) -> usize {
        self.key.len() + self.values.iter().map(String::len).sum::<usize>()
    }

    /// Returns the value that the label must have, if the requirement is *simple*: `k=v`, `k==v`, `k in (v)`.
    pub fn only_value(&self) -> Option<&str> {
        match (self.operator, self.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => Some(value),
            _ => None,
        }
    }

    /// Returns the integer that the label must be above or below. Returns `None` for other operators.
    pub fn bound(&self) -> Option<i64> {
        match (self.operator, self.values.as_slice()) {
            (Operator::GreaterThan | Operator::LessThan, [bound]) => bound.parse().ok(),
            _ => None,
        }
    }

    /// Returns whether both mean the same: `k!=v` is `k notin (v)`. (`==` compares the spelling too.)
    pub fn same_as(&self, other: &Self) -> bool {
        // Compares the key last: it is often known to be the same.
        self.operator.as_set() == other.operator.as_set() && self.values == other.values && self.key == other.key
    }

    /// Returns a text that is equal for requirements that [mean the same](Self::same_as), and only for them.
    pub fn identity(&self) -> String {
        let same = Self { key: self.key.clone(), operator: self.operator.as_set(), values: self.values.clone() };
        same.to_string()
    }

    fn has(&self, value: &str) -> bool {
        self.values.binary_search_by(|listed| listed.as_str().cmp(value)).is_ok()
    }

    fn compares(&self, value: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let label = value.and_then(|value| value.parse().ok());
        matches!((label, self.bound()), (Some(label), Some(bound)) if holds(label, bound))
    }
}

impl Operator {
    /// Returns the operator for sets with the same meaning.
    pub const fn as_set(self) -> Self {
        match self {
            Self::Equals | Self::DoubleEquals => Self::In,
            Self::NotEquals => Self::NotIn,
            other => other,
        }
    }
}

/// Returns the positions of `count` elements in order. `is_before` tells whether the element at a position stays before
/// that at a later one. The standard library's sorting would be a hundredth of the module for each type of elements.
pub fn sorted_positions(count: usize, is_before: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut sorted: Vec<usize> = Vec::with_capacity(count);
    for position in 0..count {
        sorted.insert(sorted.partition_point(|other| is_before(*other, position)), position);
    }
    sorted
}

/// Returns for each of `requirements` whether none before means the same.
pub fn are_new(requirements: &[&Requirement]) -> Vec<bool> {
    if let ..=SHORT_LIST = requirements.len() {
        let is_new = |(position, requirement): (usize, &&Requirement)| {
            !requirements.iter().take(position).any(|earlier| earlier.same_as(requirement))
        };
        return requirements.iter().enumerate().map(is_new).collect();
    }
    let mut identities = BTreeSet::new();
    requirements.iter().map(|requirement| identities.insert(requirement.identity())).collect()
}

/// Returns `requirements` as a selector's text.
pub fn text(requirements: &[Requirement]) -> String {
    joined(requirements, ",")
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

/// A whitelist: the values that a selector allows, and requirements that are always allowed. An empty selector allows
/// nothing.
///
/// ```
/// use node_placement_policy::selector::{Whitelist, parse};
///
/// let whitelist = Whitelist::new(parse("zone in (a, b), disk").unwrap(), Vec::new());
/// assert!(whitelist.allows_value("zone", "a") && whitelist.allows_value("disk", "ssd"));
/// assert!(!whitelist.allows_value("zone", "c") && !whitelist.allows_value("pool", "blue"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whitelist {
    selector: Selector,
    /// The requirements that are always allowed.
    required: Selector,
}

impl Whitelist {
    /// Returns the whitelist of `selector`. Requirements that are `required` are always allowed.
    pub fn new(selector: Selector, required: Vec<Requirement>) -> Self {
        Self { selector, required: Selector::new(required) }
    }

    /// Returns the whitelist as a selector.
    pub const fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Returns whether only the required requirements are allowed.
    pub const fn is_empty(&self) -> bool {
        self.selector.is_empty()
    }

    /// Returns whether `key=value` is allowed: it is required, or the selector has requirements on the key, which all accept
    /// the value.
    ///
    /// Upstream: `isSubset` of the `PodNodeSelector` plugin, for sets.
    pub fn allows_value(&self, key: &str, value: &str) -> bool {
        self.requires_value(key, value) || self.selects_value(key, value)
    }

    /// Returns whether a node-affinity expression is allowed.
    ///
    /// A whitelist has sets of values. An expression that can select other values is allowed only if the whitelist has the
    /// same requirement, or allows every value of the key.
    pub fn allows(&self, expression: &Requirement) -> bool {
        let key = expression.key();
        if self.requires(expression) || self.selector.on(key).iter().any(|allowed| allowed.same_as(expression)) {
            return true;
        }
        match expression.operator().as_set() {
            Operator::In => self.all_on(key, |own| expression.values().iter().all(|value| own.accepts(Some(value)))),
            Operator::DoesNotExist => false,
            _ => self.allows_any_value(key),
        }
    }

    /// Returns the most comparisons that it takes to check one value of `key`.
    pub fn comparisons_on(&self, key: &str) -> usize {
        let all = self.selector.on(key).iter().chain(self.required.on(key));
        all.map(|listed| 1 + listed.values.len().checked_ilog2().unwrap_or_default() as usize).sum()
    }

    /// Returns whether every value of `key` is allowed: all requirements on it are a bare key.
    pub fn allows_any_value(&self, key: &str) -> bool {
        self.all_on(key, |requirement| requirement.operator() == Operator::Exists)
    }

    /// Returns whether the whitelist requires the same.
    pub fn requires(&self, requirement: &Requirement) -> bool {
        self.required.on(requirement.key()).iter().any(|required| required.same_as(requirement))
    }

    /// Returns whether the whitelist requires `key=value`.
    pub fn requires_value(&self, key: &str, value: &str) -> bool {
        self.required.on(key).iter().any(|required| required.only_value() == Some(value))
    }

    fn selects_value(&self, key: &str, value: &str) -> bool {
        self.all_on(key, |requirement| requirement.accepts(Some(value)))
    }

    /// Returns whether there are requirements on `key`, and all of them meet a condition.
    fn all_on(&self, key: &str, holds: impl Fn(&Requirement) -> bool) -> bool {
        let requirements = self.selector.on(key);
        !requirements.is_empty() && requirements.iter().all(holds)
    }
}
