//! Conflict: a Pod that contradicts its namespace matches no node.

use super::node_affinity::{NodeSelection, Term, labels_of};
use super::node_rules::{NodeRules, SourcedRequirement};
use super::subject::PodSubject;
use crate::decision::{CauseKind, Rejection};
use crate::json::Pairs;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::ObjectName;
use crate::selector::{Requirement, text};

/// The in-tree sentence for a Pod that contradicts its namespace.
pub(super) const SELECTOR_CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

/// Rejects a Pod whose nodeSelector has a value that its namespace rejects, or whose required node affinity could match
/// a node and, with what its namespace demands, no longer can: it would wait for ever.
///
/// # Errors
/// The conflict.
///
/// Upstream: `labels.Conflicts`, for sets and node affinity.
pub fn validate(
    selection: &NodeSelection<'_>,
    rules: &NodeRules<'_>,
    subject: &PodSubject<'_, '_>,
) -> Result<(), Rejection> {
    for demanded in &rules.requirements {
        let key = demanded.requirement.key();
        if let Some(value) = selection.node_selector.get(key)
            && !demanded.requirement.accepts(Some(value))
        {
            return Err(pair_rejection((key, value), demanded, subject));
        }
    }
    match &selection.terms {
        Some(terms) if !rules.selects_every_node() => {
            validate_terms(terms, &selection.node_selector, rules, subject.name)
        }
        _ => Ok(()),
    }
}

fn pair_rejection(
    (key, value): (&str, &str),
    SourcedRequirement { requirement, source }: &SourcedRequirement<'_>,
    subject: &PodSubject<'_, '_>,
) -> Rejection {
    let (name, class) = (subject.name, quote(&subject.runtime_class.name));
    let is_of_class = subject.runtime_class.is_known_to_bring(key, value);
    let asks =
        format!("asks for {}, but {source} demands {}", quote_pair(key, value), shorten(&requirement.to_string()));
    let explanation = if is_of_class && subject.is_template() {
        // The template does not have the pair itself.
        format!("RuntimeClass {class} of {name} {asks}; choose another RuntimeClass")
    } else if subject.runtime_class.name.is_empty() || subject.is_template() {
        let remedy = match requirement.only_value() {
            Some(value) => format!("set it to {}", quote(value)),
            None => "choose a value that is accepted".to_owned(),
        };
        format!("the nodeSelector of {name} {asks}; remove {} from the nodeSelector, or {remedy}", shorten(key))
    } else {
        // The API server has already merged the pairs of the RuntimeClass into the Pod: nobody can tell whose this is.
        format!(
            "the nodeSelector of {name}, or its RuntimeClass {class}, {asks}; choose another RuntimeClass, or another \
             nodeSelector"
        )
    };
    let kind = if is_of_class { CauseKind::RuntimeClass } else { CauseKind::Asks };
    let rejection = Rejection::with_sentence(kind, SELECTOR_CONFLICT, explanation).demanded_at(*source);
    rejection.about_label(key).demanding(requirement).asking_for(&format_args!("{key}={value}"))
}

/// Terms are ORed, so all that could match must be lost. A term that never could match a node is ignored.
fn validate_terms(
    terms: &[Term],
    node_selector: &Pairs<'_>,
    rules: &NodeRules<'_>,
    name: &ObjectName,
) -> Result<(), Rejection> {
    let (demanded, no_pairs) = (rules.as_one_selector(), Pairs::default());
    let demanded = labels_of(&demanded, &no_pairs);
    let mut first_lost = None;
    for term in terms {
        let Some(asked) = term.selector() else { continue };
        let asked = labels_of(&asked, node_selector);
        if asked.iter().any(|label| label.values.is_empty()) {
            continue;
        }
        let mut lost = asked.iter().filter(|label| {
            let position = demanded.binary_search_by(|demanded| demanded.key.cmp(label.key)).ok();
            position.and_then(|at| demanded.get(at)).is_some_and(|demanded| !label.values.overlaps(&demanded.values))
        });
        match lost.next() {
            None => return Ok(()),
            Some(label) if first_lost.is_none() => first_lost = Some(label.requirements.to_vec()),
            Some(_) => {}
        }
    }
    let Some(lost) = first_lost else { return Ok(()) };
    let (key, asked) = (lost.first().map(Requirement::key).unwrap_or_default(), text(&lost));
    let explanation = format!(
        "the node affinity of {name} asks for {}, but {}, and no node can have both; change or remove that expression",
        quote(&asked),
        rules.demands_on(key)
    );
    let rejection = Rejection::with_sentence(CauseKind::Asks, SELECTOR_CONFLICT, explanation);
    let rejection = rejection.about_label(key).asking_for(&asked);
    Err(match rules.requirements.iter().find(|own| own.requirement.key() == key) {
        Some(SourcedRequirement { requirement, source }) => rejection.demanded_at(*source).demanding(requirement),
        None => rejection,
    })
}
