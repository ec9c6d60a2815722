//! Conflict: a Pod that contradicts its namespace matches no node.

use super::judged::Judged;
use super::node_affinity::{Expression, Term};
use super::node_rules::NodeRules;
use super::node_selection::NodeSelection;
use super::sourced::SourcedRequirement;
use super::term_outcome::{TermOutcome, labels_of, outcome_for};
use crate::decision::{CauseKind, Rejection};
use crate::json::Raw;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::ObjectName;
use crate::selector::{Requirement, text};
use crate::size::LARGEST_OBJECT;

/// The in-tree sentence for a Pod that contradicts its namespace.
pub(super) const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

/// Rejects a Pod whose nodeSelector has a value that its namespace rejects, or whose required node affinity could match
/// a node and, with what its namespace demands, no longer can: it would wait for ever.
///
/// # Errors
/// The conflict.
///
/// Upstream: `labels.Conflicts`, for sets and node affinity.
pub fn reject(selection: &NodeSelection<'_>, rules: &NodeRules<'_>, judged: &Judged<'_>) -> Result<(), Rejection> {
    reject_pairs(selection, rules, judged)?;
    match &selection.terms {
        Some(terms) => reject_terms(terms, selection, rules, judged.name),
        None => Ok(()),
    }
}

fn reject_pairs(selection: &NodeSelection<'_>, rules: &NodeRules<'_>, judged: &Judged<'_>) -> Result<(), Rejection> {
    let Judged { name, class_name, .. } = judged;
    for SourcedRequirement { requirement, source } in rules.requirements() {
        let key = requirement.key();
        let Some(value) = selection.node_selector.get(key) else { continue };
        if !requirement.accepts(Some(value)) {
            // The API server has already merged the RuntimeClass's pairs into the Pod.
            let class = match class_name.as_str() {
                "" => String::new(),
                class => format!(", or its RuntimeClass {},", quote(class)),
            };
            let explanation = format!(
                "the nodeSelector of {name}{class} asks for {}, but {source} demands {}; {}",
                quote_pair(key, value),
                shorten(&requirement.to_string()),
                remedy(requirement)
            );
            let kind = if judged.brings_by_class(key, value) { CauseKind::RuntimeClass } else { CauseKind::Asks };
            let rejection = Rejection::with_sentence(kind, CONFLICT, explanation).demanded_at(source);
            let rejection = rejection.in_namespace(rules.namespace).about_label(key).demanding(requirement);
            return Err(rejection.asking_for(&format_args!("{key}={}", &**value)));
        }
    }
    Ok(())
}

/// Terms are ORed, so all that could match must be lost. A term that never could match a node is ignored.
fn reject_terms(
    terms: &[Term],
    selection: &NodeSelection<'_>,
    rules: &NodeRules<'_>,
    name: &ObjectName,
) -> Result<(), Rejection> {
    reject_too_many(terms, rules, name)?;
    let demanded = rules.as_one_selector();
    let demanded = labels_of(&demanded);
    if demanded.is_empty() {
        return Ok(());
    }
    let mut first_lost = None;
    for term in terms {
        let Some(asked) = term.selector() else { continue };
        match outcome_for(&asked, &selection.node_selector, &demanded) {
            TermOutcome::Kept => return Ok(()),
            TermOutcome::Lost(requirements) if first_lost.is_none() => first_lost = Some(requirements.to_vec()),
            TermOutcome::Never | TermOutcome::Lost(_) => {}
        }
    }
    let Some(lost) = first_lost else { return Ok(()) };
    let key = lost.first().map(Requirement::key).unwrap_or_default();
    let explanation = format!(
        "the node affinity of {name} asks for {}, but {}, and no node can have both; change or remove that expression",
        quote(&text(&lost)),
        rules.in_words(key)
    );
    let rejection = Rejection::with_sentence(CauseKind::Asks, CONFLICT, explanation).in_namespace(rules.namespace);
    let rejection = rejection.about_label(key).asking_for(&text(&lost));
    Err(match rules.requirements().find(|demanded| demanded.requirement.key() == key) {
        Some(SourcedRequirement { requirement, source }) => rejection.demanded_at(source).demanding(requirement),
        None => rejection,
    })
}

/// Every term is compared with every value that is demanded, and each would be written into it. Together, they can
/// exceed the limit of what is stored.
fn reject_too_many(terms: &[Term], rules: &NodeRules<'_>, name: &ObjectName) -> Result<(), Rejection> {
    let (mut length, mut count) = (0_usize, 0);
    for SourcedRequirement { requirement, .. } in rules.requirements().chain(rules.partial()) {
        if requirement.only_value().is_none() {
            length += Raw::written(&Expression::of(requirement))?.longest_text();
            count += 1;
        }
    }
    if length.saturating_mul(terms.len()) <= LARGEST_OBJECT {
        return Ok(());
    }
    let explanation = format!(
        "{name} has {} terms of node affinity, to each of which {count} expressions of its namespace would be added, more \
         than can be stored; shorten one of the two",
        terms.len()
    );
    Err(Rejection::forbidden(CauseKind::Limit, explanation).in_namespace(rules.namespace))
}

fn remedy(requirement: &Requirement) -> String {
    let key = shorten(requirement.key());
    match requirement.only_value() {
        Some(value) => format!("remove {key} from the nodeSelector, or set it to {}", quote(value)),
        None => format!("remove {key} from the nodeSelector, or choose a value that is accepted"),
    }
}
