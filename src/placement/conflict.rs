//! Rejects Pods that contradict the required node labels of their namespace.

use super::node_affinity::{NodeSelection, REQUIRED_AFFINITY, Term, labels_of};
use super::node_rules::{RequiredNodes, SourcedRequirement};
use super::subject::PodSubject;
use crate::decision::{CauseKind, Rejection};
use crate::json::Pairs;
use crate::limits::MOST_COMPARISONS;
use crate::message::{quote, quote_pair, shorten};
use crate::selector::{Requirement, text};

/// The in-tree sentence for a Pod that contradicts its namespace.
pub(super) const SELECTOR_CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

/// Rejects a Pod that could match a node, and no longer can with the requirements of its namespace: by a value in its
/// nodeSelector, or by its required node affinity. It would wait for ever.
///
/// # Errors
/// The conflict.
///
/// Upstream: `labels.Conflicts`, for sets and node affinity.
pub fn validate(
    selection: &NodeSelection<'_>,
    required: &RequiredNodes<'_>,
    subject: &PodSubject<'_, '_>,
) -> Result<(), Rejection> {
    for sourced in &required.requirements {
        let key = sourced.requirement.key();
        if let Some(value) = selection.node_selector.get(key)
            && !sourced.requirement.accepts(Some(value))
        {
            return Err(pair_rejection((key, value), sourced, subject));
        }
    }
    match &selection.terms {
        Some(terms) if !required.is_empty() => validate_terms(terms, &selection.node_selector, required, subject),
        _ => Ok(()),
    }
}

fn pair_rejection(
    (key, value): (&str, &str),
    sourced: &SourcedRequirement<'_>,
    subject: &PodSubject<'_, '_>,
) -> Rejection {
    let SourcedRequirement { requirement, source } = sourced;
    let (name, class) = (subject.name, quote(&subject.runtime_class.name));
    let is_of_class = subject.runtime_class.is_known_to_add(key, value);
    let problem =
        format!("requests {}, but {source} requires {}", quote_pair(key, value), shorten(&requirement.to_string()));
    let explanation = if is_of_class && subject.is_template {
        // The template does not have the pair itself.
        format!("RuntimeClass {class} of {name} {problem}; choose another RuntimeClass")
    } else if subject.runtime_class.name.is_empty() || subject.is_template {
        let remedy = match requirement.only_value() {
            Some(value) => format!("set it to {}", quote(value)),
            None => "choose a value that is accepted".to_owned(),
        };
        format!("the nodeSelector of {name} {problem}; remove {} from the nodeSelector, or {remedy}", shorten(key))
    } else {
        // The API server has merged the pairs of the RuntimeClass into the Pod, so this pair may be from either.
        format!(
            "the nodeSelector of {name}, or its RuntimeClass {class}, {problem}; choose another RuntimeClass, or another \
             nodeSelector"
        )
    };
    let kind = if is_of_class { CauseKind::RuntimeClass } else { CauseKind::Requests };
    let cause = sourced.cause(kind).requested(&format_args!("{key}={value}"));
    Rejection::with_sentence(SELECTOR_CONFLICT, cause, explanation)
}

/// Rejects a Pod if all of its terms that could match a node are lost. Terms are ORed, and one that never could match
/// is ignored.
fn validate_terms(
    terms: &[Term],
    node_selector: &Pairs<'_>,
    required: &RequiredNodes<'_>,
    subject: &PodSubject<'_, '_>,
) -> Result<(), Rejection> {
    let (selector, no_pairs) = (required.as_one_selector(), Pairs::default());
    let fence = labels_of(&selector, &no_pairs);
    let (mut first_lost, mut comparisons) = (None, 0);
    for term in terms {
        if comparisons > MOST_COMPARISONS {
            return Err(subject.too_much_to_compare(&REQUIRED_AFFINITY.join(".")));
        }
        let Some(selected) = term.selector() else { continue };
        let selected = labels_of(&selected, node_selector);
        if selected.iter().any(|label| label.values.is_empty()) {
            continue;
        }
        let mut lost = selected.iter().filter(|label| {
            let position = fence.binary_search_by(|fenced| fenced.key.cmp(label.key)).ok();
            let fenced = position.and_then(|position| fence.get(position));
            fenced.is_some_and(|fenced| !label.values.overlaps(&fenced.values, &mut comparisons))
        });
        match lost.next() {
            None => return Ok(()),
            Some(label) if first_lost.is_none() => first_lost = Some(label.requirements.to_vec()),
            Some(_) => {}
        }
    }
    let Some(lost) = first_lost else { return Ok(()) };
    let (key, requested) = (lost.first().map(Requirement::key).unwrap_or_default(), text(&lost));
    let explanation = format!(
        "the node affinity of {} requests {}, but {}, and no node can have both; change or remove that expression",
        subject.name,
        quote(&requested),
        required.describe(key)
    );
    let Some(first) = required.on(key).into_iter().next() else { return Ok(()) };
    let cause = first.cause(CauseKind::Requests).requested(&requested);
    Err(Rejection::with_sentence(SELECTOR_CONFLICT, cause, explanation))
}
