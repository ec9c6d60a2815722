//! Room for annotations. The API server validates a Pod again at every update, but not when a Binding brings something:
//! a Pod that grows too large by it can't be updated, finalized, or reported by its kubelet any more.

use json::{Mismatch, Object, StringMap};

use super::plan::MOST;
use super::{Marks, is_managed};
use crate::decision::Rejection;
use crate::metadata::{Metadata, Subject};
use crate::settings::{NodeMetadata, TargetKind};

/// What the annotations of an object may have in all, in bytes of keys and values (`TotalAnnotationSizeLimitB`).
pub const LARGEST: usize = 256 * 1024;

/// What annotations that others write may have, so that what a Binding brings still fits.
const LARGEST_OF_OTHERS: usize = LARGEST - MOST;

/// Whether the annotations of `object` may be so large that they leave too little room. Their text tells most.
pub fn may_lack(object: &Object<'_>) -> Result<bool, Mismatch> {
    Ok(Metadata::of(object)?
        .0
        .get("annotations")
        .is_some_and(|annotations| annotations.text().len() > LARGEST_OF_OTHERS))
}

/// Rejects a Pod whose annotations, managed keys not counted, leave too little room for what a Binding brings.
///
/// # Errors
/// Their size.
pub fn check(settings: &NodeMetadata, marks: &Marks<'_>, subject: &Subject<'_>) -> Result<(), Rejection> {
    let size = size_of_others(settings, marks.annotations());
    if size <= LARGEST_OF_OTHERS {
        return Ok(());
    }
    Err(Rejection::forbidden(format!(
        "{subject} has {} KiB of annotations beside those that the policy writes, and at most {} KiB leave room for what its \
         Binding brings: {} KiB of the {} KiB that the API server allows; make them smaller",
        size.div_ceil(1024),
        LARGEST_OF_OTHERS / 1024,
        MOST / 1024,
        LARGEST / 1024
    )))
}

/// Whether the annotations in `marks` are larger than those in `old`, managed keys not counted.
pub fn grew(settings: &NodeMetadata, marks: &Marks<'_>, old: &Marks<'_>) -> bool {
    size_of_others(settings, marks.annotations()) > size_of_others(settings, old.annotations())
}

fn size_of_others(settings: &NodeMetadata, annotations: &StringMap<'_>) -> usize {
    let others = annotations.iter().filter(|(key, _)| !is_managed(settings, TargetKind::Annotation, key));
    others.map(|(key, value)| key.len() + value.len()).sum()
}
