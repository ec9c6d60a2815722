//! Writes onto Bindings. The API server copies their labels and annotations to the Pod when it sets the node.

use super::changes::{Goal, ManagedKeys};
use super::propagation::{KINDS, Managed, Propagations};
use super::values;
use crate::cluster::NodeLookup;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::json::{Text, Within};
use crate::limits::MOST_WRITTEN;
use crate::message::{quote, shorten};
use crate::review::Review;
use crate::selector::syntax;
use crate::settings::key::TargetKind;

/// Writes the values of the `node` onto the Binding, over what others wrote there. Other labels and annotations of the
/// Binding must be valid: the API server does not validate them, and an invalid Pod can never be changed again.
///
/// # Errors
/// The node lacks something required, the node could not be read, or what others wrote is invalid or too large.
pub fn write(propagations: &Propagations<'_>, review: &mut Review<'_>, node: &NodeLookup<'_>) -> Result<(), Rejection> {
    let keys = ManagedKeys::new(&review.object, Managed::default(), propagations)?;
    let Some(values) = values::required_of(propagations, node, &mut review.decision)? else { return Ok(()) };
    for kind in KINDS {
        check(kind, propagations, &values, review)?;
    }
    keys.store(&Goal::values(values, false), review)?;
    review.audit_node_of_change(node);
    Ok(())
}

/// Checks the labels, or the annotations, of the Binding that others wrote (`ValidateLabels`, `ValidateAnnotations`).
fn check(
    kind: TargetKind,
    propagations: &Propagations<'_>,
    values: &Managed<'_>,
    review: &Review<'_>,
) -> Result<(), Rejection> {
    let pod = &review.name;
    let mut size: usize = values.of(kind).iter().map(|(key, value)| key.len() + value.len()).sum();
    let mut problem = None;
    let mut add = |key: Text<'_>, value: Text<'_>| {
        // Managed keys are overwritten or removed.
        if propagations.manages(kind, &key) {
            return;
        }
        size += key.len() + value.len();
        if problem.is_none()
            && let Err(invalid) = check_one(kind, &key, &value)
        {
            problem = Some((key.to_string(), invalid));
        }
    };
    if let Some(metadata) = review.object.object("metadata").within("object")? {
        metadata.for_each_pair(kind.member(), &mut add).within("object.metadata")?;
    }
    if let Some((key, problem)) = problem {
        let explanation = format!(
            "the Binding of {pod} would make the Pod invalid, so that it could not be changed any more: {problem}; remove \
             it from the Binding"
        );
        let cause = Cause::new(CauseKind::Metadata);
        let cause = if kind == TargetKind::Label { cause.label(&key) } else { cause };
        return Err(Rejection::forbidden(cause, explanation));
    }
    if size > MOST_WRITTEN {
        let explanation = format!(
            "the Binding of {pod} has {} KiB of {}, with those that the policy adds, and at most {} KiB are allowed: \
             otherwise the Pod could not be changed any more; remove some from the Binding",
            size.div_ceil(1024),
            kind.member(),
            MOST_WRITTEN / 1024
        );
        return Err(Rejection::forbidden(CauseKind::Metadata, explanation));
    }
    Ok(())
}

fn check_one(kind: TargetKind, key: &str, value: &str) -> Result<(), String> {
    kind.check(key)?;
    if kind.is_for_kubelets(key) {
        return Err(format!("annotation {} is for kubelets to write", shorten(key)));
    }
    if kind.validates_value_of(key) {
        return Err(format!("the API server validates the value of annotation {}", shorten(key)));
    }
    match (kind, syntax::label_value(value)) {
        (TargetKind::Label, Err(expected)) => {
            Err(format!("{} is not a value of label {}, expected {expected}", quote(value), shorten(key)))
        }
        _ => Ok(()),
    }
}
