//! The three rules that a Pod is held to: conflict, inject, allow.

use std::collections::BTreeSet;

use json::{Mismatch, Object};

use super::namespace_selector::{Demanded, NamespaceSelector};
use super::node_affinity::{Expression, Term, expression_json};
use super::pod_spec::PodSpec;
use crate::decision::Rejection;
use crate::metadata::Subject;
use crate::selector::{Allowance, Operator, Requirement};
use crate::settings::{Dialect, OnNodeAffinity, PodNodeSelector};
use crate::size;
use crate::text::{quote, shorten};

/// The most that is added to a Pod's node affinity, in bytes: with more no object is let in.
const MOST_ADDED: usize = size::LARGEST;

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
                    "the nodeSelector of {subject} asks for {}, but {source} demands {}; {}",
                    pair(key, value),
                    shorten(&requirement.to_string()),
                    remedy(requirement)
                )
            }));
        }
    }
    for (key, value, source) in selector.pairs() {
        if let Some(other) = selector.on(key).find(|other| !other.requirement.accepts(Some(value))) {
            return Err(sentence(dialect, CONFLICT, || {
                format!(
                    "no node can be right for {subject}: {source} demands {}, and {} demands {}; change one of them",
                    pair(key, value),
                    other.source,
                    shorten(&other.requirement.to_string())
                )
            }));
        }
    }
    Ok(())
}

/// Adds the namespace selector to a Pod, and to `spec`, which was read from `path`. Returns what was missing.
///
/// # Errors
/// `spec` can't be read, or would become too large.
pub fn inject<'a, 's>(
    pod: &mut PodSpec<'a>,
    spec: &mut Object<'a>,
    path: &str,
    selector: &'s NamespaceSelector,
    subject: &Subject<'_>,
) -> Result<Vec<Demanded<'s>>, Rejection> {
    let mut seen = BTreeSet::new();
    let (mut missing, mut expressions): (Vec<Demanded<'s>>, Vec<Demanded<'s>>) = (Vec::new(), Vec::new());
    for demanded in selector.demands().filter(|demanded| seen.insert(demanded.requirement.identity())) {
        match demanded.requirement.only_value() {
            None => expressions.push(demanded),
            Some(value) if pod.node_selector.get(demanded.requirement.key()).is_some_and(|own| own == value) => {}
            Some(_) => missing.push(demanded),
        }
    }
    let within = |mismatch: Mismatch| mismatch.within(path);
    pod.add_pairs(spec, &missing).map_err(within)?;
    if !expressions.is_empty() {
        let terms = pod.terms.as_ref().map_or(1, Vec::len);
        let added: Vec<String> = expressions.iter().map(|demanded| expression_json(demanded.requirement)).collect();
        if added.iter().map(String::len).sum::<usize>().saturating_mul(terms) > MOST_ADDED {
            return Err(Rejection::forbidden(format!(
                "{subject} has {terms} terms of node affinity, to each of which {} expressions of its namespace would be added, \
                 more than can be stored; shorten one of the two",
                expressions.len()
            )));
        }
        missing.extend(pod.add_expressions(spec, &expressions, &added).map_err(within)?);
    }
    Ok(missing)
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
    for (key, value) in pod.node_selector.iter() {
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
    let key = shorten(requirement.key());
    match requirement.only_value() {
        Some(value) => format!("remove {key} from the nodeSelector, or set it to {}", quote(value)),
        None => format!("remove {key} from the nodeSelector, or choose a value that is accepted"),
    }
}
