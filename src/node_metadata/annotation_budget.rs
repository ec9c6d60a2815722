//! The budget for annotations. The API server validates a Pod again at every update, but not when a Binding brings
//! something: a Pod that grows too large by it can't be updated, finalized, or reported by its kubelet any more.

use super::propagation::Propagations;
use crate::decision::{CauseKind, Rejection};
use crate::json::Pairs;
use crate::limits::{MOST_ANNOTATIONS, MOST_WRITTEN};
use crate::object_meta::ObjectName;

/// What annotations that others write may have, so that what a Binding brings still fits.
const MOST_OF_OTHERS: usize = MOST_ANNOTATIONS - MOST_WRITTEN;

/// Rejects a Pod whose annotations leave too little for what a Binding brings, unless the `old` ones were as large.
/// Keys that it is sure to overwrite are not counted.
///
/// # Errors
/// Their size.
pub fn check(
    propagations: &Propagations,
    submitted: &Pairs<'_>,
    old: &Pairs<'_>,
    name: &ObjectName,
) -> Result<(), Rejection> {
    let size = size_of_others(propagations, submitted);
    if size <= MOST_OF_OTHERS || size <= size_of_others(propagations, old) {
        return Ok(());
    }
    let explanation = format!(
        "{name} has {} KiB of annotations beside those that its Binding is sure to overwrite, and at most {} KiB leave room \
         for what that brings: {} KiB of the {} KiB that the API server allows; make them smaller",
        size.div_ceil(1024),
        MOST_OF_OTHERS / 1024,
        MOST_WRITTEN / 1024,
        MOST_ANNOTATIONS / 1024
    );
    Err(Rejection::forbidden(CauseKind::Limit, explanation))
}

fn size_of_others(propagations: &Propagations, annotations: &Pairs<'_>) -> usize {
    let others = annotations.iter().filter(|(key, _)| !propagations.is_sure_to_overwrite(key));
    others.map(|(key, value)| key.len() + value.len()).sum()
}
