//! Conflict: a Pod that contradicts its namespace matches no node.

use json::StringMap;

use super::demands::{Demanded, NamespaceDemands};
use super::node_affinity::Term;
use super::node_selection::NodeSelection;
use crate::decision::Rejection;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::Named;
use crate::selector::{PossibleValues, Requirement, Selector, text};
use crate::settings::Mode;
use crate::size;

/// The in-tree sentence for a Pod that contradicts its namespace.
const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

/// Rejects a Pod whose nodeSelector has a value that its namespace rejects, or whose required node affinity could match
/// a node and, with what its namespace demands, no longer can: it would wait for ever.
///
/// # Errors
/// The conflict.
///
/// Upstream: `labels.Conflicts`, for sets and node affinity.
pub fn reject(selection: &NodeSelection, demands: &NamespaceDemands<'_>, named: &Named) -> Result<(), Rejection> {
    reject_pairs(selection, demands, named)?;
    match &selection.terms {
        // The in-tree plugin looks at the nodeSelector only.
        Some(terms) if demands.settings.mode == Mode::Placement => reject_terms(terms, selection, demands, named),
        _ => Ok(()),
    }
}

fn reject_pairs(selection: &NodeSelection, demands: &NamespaceDemands<'_>, named: &Named) -> Result<(), Rejection> {
    for Demanded { requirement, origin } in demands.requirements() {
        let key = requirement.key();
        if let Some(value) = selection.node_selector.get(key)
            && !requirement.accepts(Some(value))
        {
            return Err(in_tree_sentence(demands.settings.mode, CONFLICT, || {
                format!(
                    "the nodeSelector of {named} asks for {}, but {origin} demands {}; {}",
                    quote_pair(key, value),
                    shorten(&requirement.to_string()),
                    remedy(requirement)
                )
            }));
        }
    }
    Ok(())
}

/// Terms are ORed, so all that could match must be lost. One that never could is not the namespace's doing.
fn reject_terms(
    terms: &[Term],
    selection: &NodeSelection,
    demands: &NamespaceDemands<'_>,
    named: &Named,
) -> Result<(), Rejection> {
    let demanded = demands.as_one_selector();
    let demanded = labels_of(&demanded);
    if demanded.is_empty() {
        return Ok(());
    }
    reject_too_many(terms, &demanded, named)?;
    let mut first_lost = None;
    for term in terms {
        let Some(asked) = term.selector() else { continue };
        match fate(&asked, &selection.node_selector, &demanded) {
            Fate::Kept => return Ok(()),
            Fate::Lost(requirements) if first_lost.is_none() => first_lost = Some(requirements.to_vec()),
            Fate::Never | Fate::Lost(_) => {}
        }
    }
    let Some(lost) = first_lost else { return Ok(()) };
    Err(in_tree_sentence(demands.settings.mode, CONFLICT, || {
        format!(
            "the node affinity of {named} asks for {}, but {}, and no node can have both; change or remove that expression",
            quote(&text(&lost)),
            demands.in_words(lost.first().map(Requirement::key).unwrap_or_default())
        )
    }))
}

/// Every term is compared with every value that is demanded; and each would be written into it.
fn reject_too_many(terms: &[Term], demanded: &[Label<'_>], named: &Named) -> Result<(), Rejection> {
    /// The least that a value takes in a list: `"a",`
    const LEAST: usize = 4;
    let lists = demanded.iter().map(|label| label.values.listed()).filter(|listed| *listed > 1);
    let values: usize = lists.sum();
    if values.saturating_mul(terms.len()) <= size::LARGEST / LEAST {
        return Ok(());
    }
    Err(Rejection::forbidden(format!(
        "{named} has {} terms of node affinity, in each of which {values} values that its namespace demands would have to \
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
enum Fate<'t> {
    /// It never could match a node.
    Never,
    /// It still can.
    Kept,
    /// It no longer can, for what it says of this label.
    Lost(&'t [Requirement]),
}

fn fate<'t>(asked: &'t Selector, node_selector: &'t StringMap, demanded: &[Label<'_>]) -> Fate<'t> {
    let mut lost = None;
    for Label { key, requirements, mut values } in labels_of(asked) {
        if let Some(value) = node_selector.get(key) {
            values.narrow_to(value);
        }
        if values.is_empty() {
            return Fate::Never;
        }
        let demanded = demanded.binary_search_by(|label| label.key.cmp(key)).ok().and_then(|at| demanded.get(at));
        if lost.is_none() && demanded.is_some_and(|label| !values.overlaps(&label.values)) {
            lost = Some(requirements);
        }
    }
    lost.map_or(Fate::Kept, Fate::Lost)
}

/// The in-tree sentence, which stands alone where the policy is the in-tree plugin, and is explained otherwise.
pub(super) fn in_tree_sentence(mode: Mode, sentence: &str, explanation: impl FnOnce() -> String) -> Rejection {
    match mode {
        Mode::Plugin => Rejection::with_sentence(sentence, String::new()),
        Mode::Placement => Rejection::with_sentence(sentence, explanation()),
    }
}

fn remedy(requirement: &Requirement) -> String {
    let key = shorten(requirement.key());
    match requirement.only_value() {
        Some(value) => format!("remove {key} from the nodeSelector, or set it to {}", quote(value)),
        None => format!("remove {key} from the nodeSelector, or choose a value that is accepted"),
    }
}
