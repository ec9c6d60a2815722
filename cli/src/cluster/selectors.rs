//! LabelSelectors, as requirements that the policy compares with labels.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use node_placement_policy::{
    placement::node_affinity::{name_of, operator_named},
    selector::{Invalid, Operator, Requirement, Selector},
};

/// Returns an expression of a LabelSelector as a requirement; `None` if there is no such operator.
pub fn requirement(expression: &LabelSelectorRequirement) -> Option<Result<Requirement, Invalid>> {
    let LabelSelectorRequirement { key, operator, values } = expression.clone();
    Some(Requirement::new(key, operator_named(&operator)?, values.unwrap_or_default()))
}

/// Returns a requirement as an expression of a LabelSelector; `None` if it compares numbers.
pub fn expression(requirement: &Requirement) -> Option<LabelSelectorRequirement> {
    let values = match requirement.operator().as_set() {
        Operator::GreaterThan | Operator::LessThan => return None,
        Operator::Exists | Operator::DoesNotExist => None,
        _ => Some(requirement.values().to_vec()),
    };
    let operator = name_of(requirement.operator()).to_owned();
    Some(LabelSelectorRequirement { key: requirement.key().to_owned(), operator, values })
}

/// Reads a LabelSelector; `None` if an API server would not store it.
///
/// Upstream: `LabelSelectorAsSelector` of `k8s.io/apimachinery/pkg/apis/meta/v1`.
fn read(selector: &LabelSelector) -> Option<Selector> {
    let pairs = selector.match_labels.iter().flatten();
    let pairs = pairs.map(|(key, value)| Requirement::new(key.clone(), Operator::Equals, vec![value.clone()]).ok());
    let expressions = selector.match_expressions.iter().flatten().map(|expression| requirement(expression)?.ok());
    Some(Selector::new(pairs.chain(expressions).collect::<Option<_>>()?))
}

/// Returns whether labels are selected; `label` returns the value of one. An empty selector selects all.
pub fn selects<'l>(selector: &LabelSelector, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    read(selector).is_some_and(|selector| selector.matches(label))
}

/// Returns whether labels are selected of which only some are known; `None` if that depends on the others.
pub fn selects_as_known<'l>(selector: &LabelSelector, label: impl Fn(&str) -> Option<&'l str>) -> Option<bool> {
    let Some(selector) = read(selector) else { return Some(false) };
    let (known, unknown): (Vec<_>, Vec<_>) = selector.requirements().iter().partition(|own| label(own.key()).is_some());
    if known.iter().any(|own| !own.accepts(label(own.key()))) {
        return Some(false);
    }
    unknown.is_empty().then_some(true)
}
