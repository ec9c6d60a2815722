//! Selectors in the settings that nothing meets, or that nothing meets together.

use super::fields::Fields;
use super::mistake::Mistakes;
use super::namespace_entry::{DEFAULT, REQUIRED};
use super::{Demand, Mistake};
use crate::message::quote;
use crate::selector::{self, Requirement};

/// What is demanded under `name`, if it is there, parses, and does not contradict itself.
pub(super) fn consistent(
    fields: &Fields<'_>,
    name: &'static str,
    demand: Result<Option<Demand>, Mistake>,
    mistakes: &mut Mistakes,
) -> Option<Demand> {
    let demand = mistakes.unless(demand)??;
    if let Some(requirements) = demand.selector.contradiction() {
        mistakes.add(fields.mistake(name, &format!("contradicts itself: {}", nothing_meets(requirements, &[]))));
        return None;
    }
    Some(demand)
}

/// Checks what the entry with these `fields` requires against what holds with it where no annotation is present: its own
/// default, or the cluster's if it has none.
pub(super) fn check_required(
    fields: &Fields<'_>,
    required: &Demand,
    default: Option<&Demand>,
    cluster_default: Option<&Demand>,
    mistakes: &mut Mistakes,
) {
    if let Some(default) = default
        && let Some((own, others)) = default.selector.contradiction_with(&required.selector)
    {
        mistakes.add(fields.mistake(DEFAULT, &format!("contradicts {REQUIRED}: {}", nothing_meets(own, others))));
    }
    if let Some(cluster_default) = cluster_default
        && !fields.has(DEFAULT)
        && let Some((own, others)) = required.selector.contradiction_with(&cluster_default.selector)
    {
        let problem = format!(
            "contradicts {}: {}; if that is not meant to hold here, say {DEFAULT}: \"\"",
            cluster_default.origin,
            nothing_meets(own, others)
        );
        mistakes.add(fields.mistake(REQUIRED, &problem));
    }
}

/// Words for requirements on one label that contradict each other.
fn nothing_meets(own: &[Requirement], others: &[Requirement]) -> String {
    let key = own.first().map(Requirement::key).unwrap_or_default();
    let own = quote(&selector::text(own));
    if others.is_empty() {
        return format!("nothing that label {} can be meets {own}", quote(key));
    }
    format!("nothing that label {} can be meets both {own} and {}", quote(key), quote(&selector::text(others)))
}
