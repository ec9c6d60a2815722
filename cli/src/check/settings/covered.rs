//! Entries that never hold, or hardly ever, since an earlier one takes their namespaces. One that has a name alone is a
//! mistake, which the policy finds itself.

use node_placement_policy::selector::{Requirement, Selector};

use super::entry::{Entry, entries};
use crate::check::finding::Finding;
use node_placement_policy::settings::Placement;

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
    if !earlier.covers_names_of(later) {
        return None;
    }
    let before = format!("{}, {}, comes before and takes all of its namespaces", earlier.named(), earlier.path());
    if later.selector.implies(&earlier.selector) {
        return Some(format!("{} never holds: {before}; move it up", later.named()));
    }
    let most = met_by_most(&earlier.selector, &later.selector)?;
    Some(format!("{} hardly ever holds: {before} that meet {most}; move it up", later.named()))
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
