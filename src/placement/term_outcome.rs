//! What becomes of a term of node affinity where something is demanded beside it.

use super::node_affinity::Term;
use crate::json::StringMap;
use crate::selector::{PossibleValues, Requirement, Selector};

/// Whether a term can match a node, beside this nodeSelector: it does not contradict itself.
pub(super) fn can_match(term: &Term, node_selector: &StringMap<'_>) -> bool {
    let Some(asked) = term.selector() else { return false };
    !matches!(outcome_for(&asked, node_selector, &[]), TermOutcome::Never)
}

/// What a selector says of one label.
pub(super) struct Label<'s> {
    key: &'s str,
    requirements: &'s [Requirement],
    /// What nothing of that excludes.
    pub values: PossibleValues<'s>,
}

/// What `selector` says, by key.
pub(super) fn labels_of(selector: &Selector) -> Vec<Label<'_>> {
    let mut labels = Vec::new();
    for requirements in selector.by_label() {
        let key = requirements.first().map(Requirement::key).unwrap_or_default();
        labels.push(Label { key, requirements, values: PossibleValues::of(requirements) });
    }
    labels
}

/// What becomes of a term where its namespace demands something.
pub(super) enum TermOutcome<'t> {
    /// It never could match a node.
    Never,
    /// It still can.
    Kept,
    /// It no longer can: what it says of this label conflicts with what is required.
    Lost(&'t [Requirement]),
}

/// What becomes of a term that asks for `asked` beside this nodeSelector.
pub(super) fn outcome_for<'t>(
    asked: &'t Selector,
    node_selector: &'t StringMap<'_>,
    demanded: &[Label<'_>],
) -> TermOutcome<'t> {
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
