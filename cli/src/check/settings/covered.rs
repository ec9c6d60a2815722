//! Entries that never hold, or hardly ever, since an earlier one takes their namespaces. One that has a name alone is a
//! mistake, which the policy finds itself.

use node_placement_policy::selector::{Requirement, Selector};

use super::entry::{Entry, entries};
use crate::check::finding::Finding;
use node_placement_policy::settings::Placement;

/// One for each entry that an earlier one takes its namespaces from.
pub fn find(placement: &Placement) -> Vec<Finding> {
    let entries = entries(placement);
    let find = |(place, later): (usize, &Entry<'_>)| {
        entries.iter().take(place).find_map(|earlier| {
            let text = takes(earlier, later)?;
            Some(Finding::new(later.path(), text))
        })
    };
    entries.iter().enumerate().filter_map(find).collect()
}

/// What an earlier entry takes from a later one.
fn takes(earlier: &Entry<'_>, later: &Entry<'_>) -> Option<String> {
    if !earlier.covers_names_of(later) || ask_for_other_values(&earlier.selector, &later.selector) {
        return None;
    }
    let is_all = later.selector.implies(&earlier.selector);
    let most = if is_all { None } else { Some(met_by_most(&earlier.selector, &later.selector)?) };
    let before = format!("{}, {}, comes before and takes all of its namespaces", earlier.named(), earlier.path());
    Some(match most {
        None => format!("{} never holds: {before}; move it up", later.named()),
        Some(most) => format!("{} hardly ever holds: {before} that meet {most}; move it up", later.named()),
    })
}

/// Whether one label must have different values: most entries of long lists are told apart by that, and it is quick to see.
fn ask_for_other_values(one: &Selector, other: &Selector) -> bool {
    let differs = |requirement: &Requirement| {
        let own = requirement.only_value();
        other
            .on(requirement.key())
            .iter()
            .filter_map(Requirement::only_value)
            .any(|value| own.is_some_and(|own| own != value))
    };
    one.requirements().iter().any(differs)
}

/// What `earlier` asks beyond `later`, if a Namespace meets that which does not have the labels at all, as most do not.
/// Of a narrow entry before a general one, this is meant.
fn met_by_most(earlier: &Selector, later: &Selector) -> Option<Selector> {
    if earlier.implies(later) {
        return None;
    }
    let is_implied = |requirement: &Requirement| later.implies(&Selector::new(vec![requirement.clone()]));
    let is_met_by_most =
        |requirement: &Requirement| requirement.accepts(None) && later.on(requirement.key()).is_empty();
    let beyond: Vec<Requirement> =
        earlier.requirements().iter().filter(|requirement| !is_implied(requirement)).cloned().collect();
    beyond.iter().all(is_met_by_most).then(|| Selector::new(beyond))
}
