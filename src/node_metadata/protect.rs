//! Managed keys belong to the policy: what others write to them is undone.

use json::{Mismatch, Object};

use super::Marks;
use super::plan::Plan;
use super::room::LARGEST;
use crate::decision::{Decision, Rejection};
use crate::metadata::{Metadata, Subject};
use crate::settings::{NodeMetadata, TargetKind};
use crate::text::{quote, shorten};

/// What becomes of an object's labels and annotations.
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    /// As they were submitted.
    submitted: Marks<'a>,
    /// With managed keys as they were before the request, if they are protected.
    undone: Marks<'a>,
    /// As they will be stored.
    pub stored: Marks<'a>,
    /// The Node that all managed keys were read from anew.
    healed_by: Option<String>,
}

impl<'a> Changes<'a> {
    /// None yet, to those of `metadata`.
    pub fn of(metadata: &Metadata<'a>) -> Result<Self, Mismatch> {
        let submitted = Marks::read(metadata)?;
        Ok(Self { undone: submitted.clone(), stored: submitted.clone(), submitted, healed_by: None })
    }

    /// Gives managed keys the values that they have in `old`.
    pub fn undo(&mut self, settings: &NodeMetadata, old: &Marks<'a>) {
        self.undone.restore(settings, old);
        self.stored = self.undone.clone();
    }

    /// Gives managed keys the values that the Node has for them, which others may have forged while nobody looked.
    pub fn heal(&mut self, settings: &NodeMetadata, plan: &Plan, node: &str) {
        self.stored.overwrite(settings, plan);
        self.undone = self.stored.clone();
        self.healed_by = Some(node.to_owned());
    }

    /// As it was submitted.
    pub const fn submitted(&self) -> &Marks<'a> {
        &self.submitted
    }

    /// Puts the changes into `object`, of which `metadata` was read, and tells the requester what was undone.
    pub fn carry_out(
        &mut self,
        mut metadata: Metadata<'a>,
        object: &mut Object<'a>,
        decision: &mut Decision<'_>,
    ) -> Result<(), Rejection> {
        self.warn(decision);
        let too_much = self.stored.make_fit(&self.submitted);
        if !too_much.is_empty() {
            let keys = too_much.iter().map(|key| shorten(key)).collect::<Vec<_>>().join(", ");
            let limit = LARGEST / 1024;
            decision.warn(&format!(
                "the Pod's annotations would have more than {limit} KiB, so these are not written: {keys}"
            ));
        }
        self.stored.store(&self.submitted, &mut metadata)?;
        object.set_object("metadata", metadata.0);
        Ok(())
    }

    /// Tells the requester which of their changes to managed keys were undone.
    fn warn(&self, decision: &mut Decision<'_>) {
        let kinds = [TargetKind::Annotation, TargetKind::Label];
        let undone: Vec<&str> = kinds.into_iter().flat_map(|kind| self.meddled(kind)).collect();
        if undone.is_empty() {
            return;
        }
        let keys = undone.iter().map(|key| shorten(key)).collect::<Vec<_>>().join(", ");
        let what = match &self.healed_by {
            Some(node) => format!("they say again what Node {} says", quote(node)),
            None => "your change is undone".to_owned(),
        };
        decision.warn(&format!("only the policy writes these keys, {what}: {keys}"));
    }

    /// Rejects a Pod of a controller that brings a managed label: a controller that selects by it would not find its
    /// Pod without, and create the next, for ever.
    ///
    /// # Errors
    /// Such a label, unless it says what the policy says.
    pub fn reject_owned(&self, pod: &Subject<'_>) -> Result<(), Rejection> {
        self.meddled(TargetKind::Label).next().map_or(Ok(()), |key| {
            Err(Rejection::forbidden(format!(
                "{pod} brings the label {}, which only the policy writes (nodeMetadata.protect is true), and its \
                 controller may select Pods by it; remove the label from the controller's Pod template",
                shorten(key)
            )))
        })
    }

    /// The managed keys that were submitted otherwise than they were before, and are not stored so. A key that the policy
    /// would write the same is nobody's forgery: this may be its own result, seen again.
    fn meddled(&self, kind: TargetKind) -> impl Iterator<Item = &str> {
        let undone = self.undone.differing(&self.submitted, kind);
        undone.filter(move |key| self.stored.get(kind, key) != self.submitted.get(kind, key))
    }
}
