//! The three rules that a Pod is held to: conflict, inject, allow.

use super::namespace_selector::{Demanded, NamespaceSelector};
use super::node_affinity::{Expression, Term};
use super::pod_spec::PodSpec;
use crate::decision::Rejection;
use crate::json::Mismatch;
use crate::metadata::Subject;
use crate::object::Object;
use crate::selector::{Allowance, Operator, Requirement};
use crate::settings::{Dialect, OnNodeAffinity, PodNodeSelector};
use crate::text::quote;

/// The in-tree sentence for a Pod that contradicts its namespace.
const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

/// The in-tree sentence for a Pod that asks for more than its namespace allows.
const NOT_ALLOWED: &str = "pod node label selector labels conflict with its namespace whitelist";

/// Rejects a Pod whose nodeSelector has a value that the namespace selector rejects: it matches no node.
///
/// # Errors
/// The conflict.
///
/// Upstream: `labels.Conflicts`, for sets; and for demands that leave each other no value, which would make a Pod
/// conflict with what was injected into it.
pub fn conflict(
    pod: &PodSpec<'_>,
    selector: &NamespaceSelector,
    subject: &Subject<'_>,
    dialect: Dialect,
) -> Result<(), Rejection> {
    for Demanded { requirement, source } in selector.demands() {
        let key = requirement.key();
        if let Some(value) = pod.node_selector.get(key)
            && !requirement.accepts(Some(value))
        {
            return Err(sentence(dialect, CONFLICT, || {
                format!(
                    "the nodeSelector of {subject} asks for {}, but {source} demands {requirement}; {}",
                    pair(key, value),
                    remedy(requirement)
                )
            }));
        }
        if let Some(value) = requirement.only_value()
            && let Some(other) = selector
                .demands()
                .find(|other| other.requirement.key() == key && !other.requirement.accepts(Some(value)))
        {
            return Err(sentence(dialect, CONFLICT, || {
                format!(
                    "no node can be right for {subject}: {source} demands {requirement}, and {} demands {}; change one of them",
                    other.source, other.requirement
                )
            }));
        }
    }
    Ok(())
}

/// Adds the namespace selector to a Pod, and to `spec`, from which it was read. Returns what was missing.
///
/// # Errors
/// `spec` can't be read.
pub fn inject<'a, 's>(
    pod: &mut PodSpec<'a>,
    spec: &mut Object<'a>,
    selector: &'s NamespaceSelector,
) -> Result<Vec<Demanded<'s>>, Mismatch> {
    let mut missing: Vec<Demanded<'s>> = Vec::new();
    for demanded in selector.demands() {
        if !is_stated(pod, demanded.requirement)
            && !missing.iter().any(|other| other.requirement.same_as(demanded.requirement))
        {
            missing.push(demanded);
        }
    }
    let pairs: Vec<(&str, &str)> = missing
        .iter()
        .filter_map(|demanded| Some((demanded.requirement.key(), demanded.requirement.only_value()?)))
        .collect();
    if !pairs.is_empty() {
        pod.add_pairs(spec, pairs.into_iter())?;
    }
    let expressions: Vec<&Requirement> = missing
        .iter()
        .map(|demanded| demanded.requirement)
        .filter(|requirement| requirement.only_value().is_none())
        .collect();
    if !expressions.is_empty() {
        pod.add_expressions(spec, &expressions)?;
    }
    Ok(missing)
}

/// Whether a Pod already demands what `requirement` does, in the place where it would be added.
fn is_stated(pod: &PodSpec<'_>, requirement: &Requirement) -> bool {
    match (requirement.only_value(), &pod.terms) {
        (Some(value), _) => pod.node_selector.get(requirement.key()).is_some_and(|own| own == value),
        (None, None) => false,
        (None, Some(terms)) => terms.iter().all(|term| term.is_empty() || term.states(requirement)),
    }
}

/// Rejects a Pod that asks for more than the whitelist of its namespace allows; `injected` is what it did not ask for.
///
/// # Errors
/// What is not allowed, or a mistake in the settings.
///
/// Upstream: `isSubset` of the `PodNodeSelector` plugin, for sets and node affinity.
pub fn allow(
    pod: &PodSpec<'_>,
    injected: &[Demanded<'_>],
    rules: &PodNodeSelector<'_>,
    subject: &Subject<'_>,
) -> Result<(), Rejection> {
    let Some((allowance, allowed_by)) = rules.allowed()? else { return Ok(()) };
    let forbid = |asked: String, requirement: Option<&Requirement>| {
        sentence(rules.dialect(), NOT_ALLOWED, || {
            let whitelist = format!("{allowed_by} ({})", quote(&allowance.selector().to_string()));
            let added = |demanded: &&Demanded<'_>| {
                requirement.is_some_and(|requirement| requirement.same_as(demanded.requirement))
            };
            match injected.iter().find(added) {
                Some(demanded) => format!(
                    "{} adds {asked} to {subject}, which {whitelist} does not allow; change one of the two, or no Pod of namespace {} can be created",
                    demanded.source,
                    quote(rules.namespace())
                ),
                None => format!(
                    "{subject} asks for {asked}, which {whitelist} does not allow; remove it, or have it allowed"
                ),
            }
        })
    };
    for (key, value) in &pod.node_selector {
        if !allowance.allows_value(key, value) {
            let requirement = Requirement::new(key.to_string(), Operator::Equals, vec![value.to_string()]).ok();
            return Err(forbid(pair(key, value), requirement.as_ref()));
        }
    }
    if rules.on_node_affinity()? == OnNodeAffinity::Ignore {
        return Ok(());
    }
    let terms = pod.terms.iter().flatten();
    match terms.flat_map(|term: &Term<'_>| &term.expressions).find(|expression| !allows(&allowance, expression)) {
        Some(expression) => {
            Err(forbid(format!("node affinity {}", quote(&expression.to_string())), expression.requirement.as_ref()))
        }
        None => Ok(()),
    }
}

fn allows(allowance: &Allowance, expression: &Expression<'_>) -> bool {
    match &expression.requirement {
        Some(requirement) => allowance.allows(requirement),
        // It matches no node; but only where any value goes is it nobody's business.
        None => allowance.allows_any_value(&expression.key),
    }
}

/// The in-tree sentence, which the in-tree dialect leaves alone and the full one explains.
fn sentence(dialect: Dialect, sentence: &str, explanation: impl FnOnce() -> String) -> Rejection {
    match dialect {
        Dialect::InTree => Rejection::forbidden(sentence),
        Dialect::Full => Rejection::forbidden(format!("{sentence}: {}", explanation())),
    }
}

fn pair(key: &str, value: &str) -> String {
    quote(&format!("{key}={value}"))
}

fn remedy(requirement: &Requirement) -> String {
    match requirement.only_value() {
        Some(value) => format!("remove {} from the nodeSelector, or set it to {}", requirement.key(), quote(value)),
        None => format!("remove {} from the nodeSelector, or choose a value that is accepted", requirement.key()),
    }
}
