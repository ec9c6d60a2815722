//! Managed keys belong to the policy: what others write to them is undone.

use super::Marks;
use crate::decision::{Decision, Rejection};
use crate::metadata::Subject;
use crate::settings::TargetKind;

/// What becomes of an object's labels and annotations where managed keys are protected.
#[derive(Clone, Debug)]
pub struct Protected<'a> {
    /// As they were submitted.
    pub submitted: Marks<'a>,
    /// With managed keys as they were before the request.
    pub restored: Marks<'a>,
    /// As they will be stored.
    pub stored: Marks<'a>,
}

impl Protected<'_> {
    /// Tells the requester which of their changes to managed keys were undone.
    pub fn warn(&self, decision: &mut Decision<'_>) {
        let kinds = [TargetKind::Annotation, TargetKind::Label];
        let undone: Vec<&str> = kinds.into_iter().flat_map(|kind| self.undone(kind)).collect();
        if !undone.is_empty() {
            decision.warn(&format!("only the policy writes these keys, your change is undone: {}", undone.join(", ")));
        }
    }

    /// Rejects a Pod of a controller that brings a managed label: a controller that selects by it would not find its
    /// Pod without, and create the next, for ever.
    ///
    /// # Errors
    /// Such a label, unless it says what the policy says.
    pub fn reject_owned(&self, pod: &Subject<'_>) -> Result<(), Rejection> {
        self.undone(TargetKind::Label).next().map_or(Ok(()), |key| {
            Err(Rejection::forbidden(format!(
                "{pod} brings the label {key}, which only the policy writes (nodeMetadata.protect is true), and its \
                 controller may select Pods by it; remove the label from the controller's Pod template"
            )))
        })
    }

    /// The managed keys that were submitted otherwise than they were before, and are not stored so. A key that the policy
    /// would write the same is nobody's forgery: this may be its own result, seen again.
    fn undone(&self, kind: TargetKind) -> impl Iterator<Item = &str> {
        let meddled = self.restored.differing(&self.submitted, kind);
        meddled.filter(move |key| self.stored.get(kind, key) != self.submitted.get(kind, key))
    }
}
