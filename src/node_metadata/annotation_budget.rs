//! The budget for annotations. The API server validates a Pod again at every update, but not when a Binding brings
//! something: a Pod that grows too large by it can't be updated, finalized, or reported by its kubelet any more.

use super::propagation::Propagations;
use crate::decision::{CauseKind, Rejection};
use crate::json::{RawObject, ReadError, Text, Within};
use crate::limits::{MOST_ANNOTATIONS, MOST_WRITTEN};
use crate::object_meta::ObjectName;

/// What annotations that others write may have, so that what a Binding brings still fits.
const MOST_OF_OTHERS: usize = MOST_ANNOTATIONS - MOST_WRITTEN;

/// Rejects a Pod whose annotations leave too little for what a Binding brings, unless those of the `old` one were as
/// large. Keys that it is sure to overwrite are not counted.
///
/// # Errors
/// Their size; or they can't be read.
pub fn check(
    propagations: &Propagations,
    pod: &RawObject<'_>,
    old: Option<&RawObject<'_>>,
    name: &ObjectName,
) -> Result<(), Rejection> {
    let size = size_of_others(propagations, pod).within("object")?;
    if size <= MOST_OF_OTHERS {
        return Ok(());
    }
    if let Some(old) = old
        && size <= size_of_others(propagations, old).within("oldObject")?
    {
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

fn size_of_others(propagations: &Propagations, pod: &RawObject<'_>) -> Result<usize, ReadError> {
    size_of(pod, &|key, _| !propagations.is_sure_to_overwrite(key))
}

/// How large those annotations of `object` are that count, in bytes of keys and values.
///
/// # Errors
/// They can't be read.
pub fn size_of(object: &RawObject<'_>, counts: &dyn Fn(&str, &str) -> bool) -> Result<usize, ReadError> {
    let mut size = 0;
    let Some(metadata) = object.object("metadata")? else { return Ok(size) };
    let mut add = |key: Text<'_>, value: Text<'_>| {
        if counts(&key, &value) {
            size += key.len() + value.len();
        }
    };
    metadata.for_each_pair("annotations", &mut add).within("metadata")?;
    Ok(size)
}
