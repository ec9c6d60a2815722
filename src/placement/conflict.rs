//! Conflict: a Pod that contradicts its namespace matches no node.

use super::node_affinity::{Term, values_beside};
use super::node_rules::NodeRules;
use super::node_selection::NodeSelection;
use super::references::SourcedRequirement;
use super::subject::PodSubject;
use crate::decision::{CauseKind, Rejection};
use crate::json::Pairs;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::ObjectName;
use crate::selector::{PossibleValues, Requirement, Selector, text};

/// The in-tree sentence for a Pod that contradicts its namespace.
pub(super) const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

/// Rejects a Pod whose nodeSelector has a value that its namespace rejects, or whose required node affinity could match
/// a node and, with what its namespace demands, no longer can: it would wait for ever.
///
/// # Errors
/// The conflict.
///
/// Upstream: `labels.Conflicts`, for sets and node affinity.
pub fn reject(
    selection: &NodeSelection<'_>,
    rules: &NodeRules<'_>,
    subject: &PodSubject<'_, '_>,
) -> Result<(), Rejection> {
    reject_pairs(&selection.node_selector, rules, subject)?;
    match &selection.terms {
        Some(terms) => reject_terms(terms, selection, rules, subject.name),
        None => Ok(()),
    }
}

fn reject_pairs(
    node_selector: &Pairs<'_>,
    rules: &NodeRules<'_>,
    subject: &PodSubject<'_, '_>,
) -> Result<(), Rejection> {
    for demanded in rules.requirements() {
        let SourcedRequirement { requirement, source } = demanded;
        let key = requirement.key();
        let Some(value) = node_selector.get(key) else { continue };
        if requirement.accepts(Some(value)) {
            continue;
        }
        let is_of_class = subject.runtime_class.is_known_to_bring(key, value);
        let kind = if is_of_class { CauseKind::RuntimeClass } else { CauseKind::Asks };
        let explanation = explain_pair((key, value), demanded, is_of_class, subject);
        let rejection = Rejection::with_sentence(kind, CONFLICT, explanation).demanded_at(source);
        let rejection = rejection.in_namespace(rules.namespace).about_label(key).demanding(requirement);
        return Err(rejection.asking_for(&format_args!("{key}={value}")));
    }
    Ok(())
}

fn explain_pair(
    (key, value): (&str, &str),
    SourcedRequirement { requirement, source }: SourcedRequirement<'_>,
    is_of_class: bool,
    subject: &PodSubject<'_, '_>,
) -> String {
    let (name, class) = (subject.name, subject.runtime_class.name.as_str());
    let asked = quote_pair(key, value);
    let demands = format!("but {source} demands {}", shorten(&requirement.to_string()));
    if is_of_class && subject.is_template() {
        // The template does not have the pair itself.
        return format!(
            "RuntimeClass {} of {name} asks for {asked}, {demands}; choose another RuntimeClass",
            quote(class)
        );
    }
    let remedy = match requirement.only_value() {
        Some(value) => format!("remove {} from the nodeSelector, or set it to {}", shorten(key), quote(value)),
        None => format!("remove {} from the nodeSelector, or choose a value that is accepted", shorten(key)),
    };
    if class.is_empty() || subject.is_template() {
        return format!("the nodeSelector of {name} asks for {asked}, {demands}; {remedy}");
    }
    // The API server has already merged the pairs of the RuntimeClass into the Pod: nobody can tell whose this is.
    format!(
        "the nodeSelector of {name}, or its RuntimeClass {}, asks for {asked}, {demands}; choose another RuntimeClass, or \
         another nodeSelector",
        quote(class)
    )
}

/// Terms are ORed, so all that could match must be lost. A term that never could match a node is ignored.
fn reject_terms(
    terms: &[Term],
    selection: &NodeSelection<'_>,
    rules: &NodeRules<'_>,
    name: &ObjectName,
) -> Result<(), Rejection> {
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
        rules.demands_on(key)
    );
    let rejection = Rejection::with_sentence(CauseKind::Asks, CONFLICT, explanation).in_namespace(rules.namespace);
    let rejection = rejection.about_label(key).asking_for(&text(&lost));
    Err(match rules.requirements().find(|demanded| demanded.requirement.key() == key) {
        Some(SourcedRequirement { requirement, source }) => rejection.demanded_at(source).demanding(requirement),
        None => rejection,
    })
}

/// What a selector says of one label.
struct Label<'s> {
    key: &'s str,
    /// What nothing of that excludes.
    values: PossibleValues<'s>,
}

/// What `selector` says, by key.
fn labels_of(selector: &Selector) -> Vec<Label<'_>> {
    let mut labels = Vec::new();
    for requirements in selector.by_label() {
        let key = requirements.first().map(Requirement::key).unwrap_or_default();
        labels.push(Label { key, values: PossibleValues::of(requirements) });
    }
    labels
}

/// What becomes of a term of node affinity where its namespace demands something.
enum TermOutcome<'t> {
    /// It never could match a node.
    Never,
    /// It still can.
    Kept,
    /// It no longer can: what it says of this label conflicts with what is required.
    Lost(&'t [Requirement]),
}

/// What becomes of a term that asks for `asked` beside this nodeSelector.
fn outcome_for<'t>(asked: &'t Selector, node_selector: &'t Pairs<'_>, demanded: &[Label<'_>]) -> TermOutcome<'t> {
    let mut lost = None;
    for requirements in asked.by_label() {
        let key = requirements.first().map(Requirement::key).unwrap_or_default();
        let values = values_beside(node_selector, key, requirements);
        if values.is_empty() {
            return TermOutcome::Never;
        }
        let demanded = demanded.binary_search_by(|label| label.key.cmp(key)).ok().and_then(|at| demanded.get(at));
        if lost.is_none() && demanded.is_some_and(|label| !values.overlaps(&label.values)) {
            lost = Some(requirements);
        }
    }
    lost.map_or(TermOutcome::Kept, TermOutcome::Lost)
}
