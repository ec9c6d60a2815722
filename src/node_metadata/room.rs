//! Room for annotations. The API server validates a Pod again at every update, but not when a Binding brings something:
//! a Pod that grows too large by it can't be updated, finalized, or reported by its kubelet any more.

use json::{Mismatch, Object, StringMap, Within};

use super::NodeMetadata;
use super::managed_keys::{KeysAndValues, is_managed};
use crate::decision::Rejection;
use crate::object_meta::Named;
use crate::settings::{Fallback, KeyPattern, MOST_WRITTEN, TargetKind};

/// What the annotations of an object may have in all, in bytes of keys and values (`TotalAnnotationSizeLimitB`).
pub const MOST_ANNOTATIONS: usize = 256 * 1024;

/// What annotations that others write may have, so that what a Binding brings still fits.
const MOST_OF_OTHERS: usize = MOST_ANNOTATIONS - MOST_WRITTEN;

/// Whether the annotations of `object` may be so large that they leave too little room. Their text tells most.
pub fn may_lack(object: &Object) -> Result<bool, Mismatch> {
    let Some(metadata) = object.object("metadata").within("object")? else { return Ok(false) };
    Ok(metadata.get("annotations").is_some_and(|annotations| annotations.text_len() > MOST_OF_OTHERS))
}

/// Rejects a Pod whose annotations leave too little room for what a Binding brings. Keys that it is sure to overwrite are
/// not counted.
///
/// # Errors
/// Their size.
pub fn check(settings: &NodeMetadata, submitted: &KeysAndValues, named: &Named) -> Result<(), Rejection> {
    let size = size_of_others(settings, submitted.annotations());
    if size <= MOST_OF_OTHERS {
        return Ok(());
    }
    Err(Rejection::forbidden(format!(
        "{named} has {} KiB of annotations beside those that its Binding is sure to overwrite, and at most {} KiB leave room \
         for what that brings: {} KiB of the {} KiB that the API server allows; make them smaller",
        size.div_ceil(1024),
        MOST_OF_OTHERS / 1024,
        MOST_WRITTEN / 1024,
        MOST_ANNOTATIONS / 1024
    )))
}

/// Whether the `submitted` annotations are larger than those in `old`, counted the same.
pub fn grew(settings: &NodeMetadata, submitted: &KeysAndValues, old: &KeysAndValues) -> bool {
    size_of_others(settings, submitted.annotations()) > size_of_others(settings, old.annotations())
}

fn size_of_others(settings: &NodeMetadata, annotations: &StringMap) -> usize {
    let others = annotations.iter().filter(|(key, _)| !is_overwritten(settings, key));
    others.map(|(key, value)| key.len() + value.len()).sum()
}

/// Whether a Binding is sure to overwrite the annotation `key`. With `protect` no managed key comes so far; otherwise a
/// Node may lack what an entry reads of it, or have only other keys of a prefix.
fn is_overwritten(settings: &NodeMetadata, key: &str) -> bool {
    if settings.protect {
        return is_managed(settings, TargetKind::Annotation, key);
    }
    let certain = settings.propagate.iter().filter(|entry| entry.fallback != Fallback::Skip);
    certain.flat_map(|entry| &entry.targets).any(|target| {
        target.kind == TargetKind::Annotation && matches!(&target.key, KeyPattern::Key(own) if own == key)
    })
}
