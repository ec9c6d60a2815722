//! Conflict: a Pod that contradicts its namespace matches no node.

use super::namespace_rules::{NamespaceRules, SourcedRequirement};
use super::node_affinity::Term;
use super::node_selection::NodeSelection;
use crate::decision::Rejection;
use crate::json::StringMap;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::ObjectName;
use crate::selector::{PossibleValues, Requirement, Selector, text};
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
pub fn reject(selection: &NodeSelection<'_>, rules: &NamespaceRules<'_>, name: &ObjectName) -> Result<(), Rejection> {
    reject_pairs(selection, rules, name)?;
    match &selection.terms {
        Some(terms) => reject_terms(terms, selection, rules, name),
        None => Ok(()),
    }
}

fn reject_pairs(selection: &NodeSelection<'_>, rules: &NamespaceRules<'_>, name: &ObjectName) -> Result<(), Rejection> {
    for SourcedRequirement { requirement, source } in rules.requirements() {
        let key = requirement.key();
        let Some(value) = selection.node_selector.get(key) else { continue };
        if !requirement.accepts(Some(value)) {
            let explanation = format!(
                "the nodeSelector of {name} asks for {}, but {source} demands {}; {}",
                quote_pair(key, value),
                shorten(&requirement.to_string()),
                remedy(requirement)
            );
            return Err(Rejection::with_sentence(CONFLICT, explanation));
        }
    }
    Ok(())
}

/// Terms are ORed, so all that could match must be lost. One that never could is not the namespace's doing.
fn reject_terms(
    terms: &[Term],
    selection: &NodeSelection<'_>,
    rules: &NamespaceRules<'_>,
    name: &ObjectName,
) -> Result<(), Rejection> {
    let demanded = rules.as_one_selector();
    let demanded = labels_of(&demanded);
    if demanded.is_empty() {
        return Ok(());
    }
    reject_too_many(terms, &demanded, name)?;
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
    let explanation = format!(
        "the node affinity of {name} asks for {}, but {}, and no node can have both; change or remove that expression",
        quote(&text(&lost)),
        rules.in_words(lost.first().map(Requirement::key).unwrap_or_default())
    );
    Err(Rejection::with_sentence(CONFLICT, explanation))
}

/// Every term is compared with every value that is demanded; and each would be written into it.
fn reject_too_many(terms: &[Term], demanded: &[Label<'_>], name: &ObjectName) -> Result<(), Rejection> {
    /// The least that a value takes in a list: `"a",`
    const LEAST: usize = 4;
    let lists = demanded.iter().map(|label| label.values.listed()).filter(|listed| *listed > 1);
    let values: usize = lists.sum();
    if values.saturating_mul(terms.len()) <= LARGEST_OBJECT / LEAST {
        return Ok(());
    }
    Err(Rejection::forbidden(format!(
        "{name} has {} terms of node affinity, in each of which {values} values that its namespace demands would have to \
         stand, more than can be stored; shorten one of the two",
        terms.len()
    )))
}

/// What a selector says of one label.
struct Label<'s> {
    key: &'s str,
    requirements: &'s [Requirement],
    values: PossibleValues<'s>,
}

/// What `selector` says, by key.
fn labels_of(selector: &Selector) -> Vec<Label<'_>> {
    let mut labels = Vec::new();
    for requirements in selector.by_label() {
        let key = requirements.first().map(Requirement::key).unwrap_or_default();
        labels.push(Label { key, requirements, values: PossibleValues::of(requirements) });
    }
    labels
}

/// What becomes of a term where its namespace demands something.
enum TermOutcome<'t> {
    /// It never could match a node.
    Never,
    /// It still can.
    Kept,
    /// It no longer can, for what it says of this label.
    Lost(&'t [Requirement]),
}

fn outcome_for<'t>(asked: &'t Selector, node_selector: &'t StringMap<'_>, demanded: &[Label<'_>]) -> TermOutcome<'t> {
    let mut lost = None;
    for Label { key, requirements, mut values } in labels_of(asked) {
        if let Some(value) = node_selector.get(key) {
            values.narrow_to(value);
        }
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

fn remedy(requirement: &Requirement) -> String {
    let key = shorten(requirement.key());
    match requirement.only_value() {
        Some(value) => format!("remove {key} from the nodeSelector, or set it to {}", quote(value)),
        None => format!("remove {key} from the nodeSelector, or choose a value that is accepted"),
    }
}
