//! Bindings: what is written onto them, the API server copies to the Pod, in the write that sets its node.

use json::{Object, StringMap};

use super::changes::Changes;
use super::{NodeMetadata, values};
use crate::cluster::{LookupError, Node};
use crate::decision::{Decision, Rejection};
use crate::message::{quote, shorten};
use crate::object_meta::Named;
use crate::selector::syntax;
use crate::settings::{MOST_WRITTEN, TargetKind};

/// Writes what there is to tell about the node over what stands on the Binding `object` of `pod`. Nobody validates a
/// Binding, and what makes a Pod invalid can never be changed again: what others wrote there must be valid, too.
///
/// # Errors
/// The node lacks something required, or could not be read; what others wrote is invalid, or too much.
pub fn write(
    settings: &NodeMetadata,
    object: &mut Object,
    pod: &Named,
    node: Result<&Node, &LookupError>,
    decision: &mut Decision,
) -> Result<(), Rejection> {
    let mut changes = Changes::of(object)?;
    changes.stored.set_managed(settings, &values::required_of(settings, node, decision)?);
    for kind in [TargetKind::Annotation, TargetKind::Label] {
        check_others(kind, changes.submitted.of(kind), changes.stored.of(kind), pod)?;
        check_size(kind, changes.stored.of(kind), pod)?;
    }
    changes.carry_out(object, decision)?;
    Ok(())
}

/// Checks what stays of the labels, or the annotations, that others wrote (`ValidateLabels`, `ValidateAnnotations`).
fn check_others(kind: TargetKind, submitted: &StringMap, stored: &StringMap, pod: &Named) -> Result<(), Rejection> {
    for (key, value) in submitted.iter().filter(|(key, value)| stored.get(key) == Some(*value)) {
        let problem = match kind.check(key) {
            Err(problem) => problem,
            Ok(()) if kind == TargetKind::Annotation => continue,
            Ok(()) => match syntax::label_value(value) {
                Ok(()) => continue,
                Err(expected) => {
                    format!("{} is not a value of label {}, expected {expected}", quote(value), shorten(key))
                }
            },
        };
        return Err(Rejection::forbidden(format!(
            "the Binding of {pod} brings what would make the Pod invalid, so that nobody could change it any more: {problem}; \
             remove it from the Binding"
        )));
    }
    Ok(())
}

/// Checks how much all labels, or all annotations, come to.
fn check_size(kind: TargetKind, stored: &StringMap, pod: &Named) -> Result<(), Rejection> {
    let size: usize = stored.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > MOST_WRITTEN {
        return Err(Rejection::forbidden(format!(
            "the Binding of {pod} brings {} KiB of {}, with what the policy writes, and at most {} KiB are let in: a Pod \
             with too much could never be changed again; remove some from the Binding",
            size.div_ceil(1024),
            kind.member(),
            MOST_WRITTEN / 1024
        )));
    }
    Ok(())
}
