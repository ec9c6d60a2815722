//! What becomes of an object's labels and annotations. With `protect`, managed keys belong to the policy, and what
//! others write to them is undone.

use super::managed_keys::MOST_ANNOTATIONS;
use super::propagation::Propagations;
use crate::decision::{CauseKind, Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::message::{quote, shorten};
use crate::object_meta::{LabelsAndAnnotations, ObjectName};
use crate::review::Review;
use crate::settings::key::TargetKind;

/// Changes of labels and annotations that are still to be made.
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    /// As they were submitted.
    pub submitted: LabelsAndAnnotations<'a>,
    /// As they must be, where others wrote to managed keys that are protected.
    protected: Option<LabelsAndAnnotations<'a>>,
    /// As they will be stored.
    pub stored: LabelsAndAnnotations<'a>,
    /// The Node that all managed keys were read from anew.
    reset_to: Option<String>,
}

impl<'a> Changes<'a> {
    /// None yet, to those of `object`.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn of(object: &RawObject<'a>) -> Result<Self, ReadError> {
        let submitted = LabelsAndAnnotations::read(object).within("object")?;
        Ok(Self { protected: None, stored: submitted.clone(), submitted, reset_to: None })
    }

    /// Gives managed keys the values that they have in `old`.
    pub fn reset_to_old(&mut self, propagations: &Propagations, old: &LabelsAndAnnotations<'a>) {
        self.stored = self.submitted.clone();
        self.stored.reset_managed(propagations, old);
        self.protected = Some(self.stored.clone());
    }

    /// Gives managed keys the values that `node` has for them, which others may have forged while nobody looked.
    pub fn reset_to_node(&mut self, propagations: &Propagations, values: &LabelsAndAnnotations<'static>, node: &str) {
        self.stored.set_managed(propagations, values);
        self.protected = Some(self.stored.clone());
        self.reset_to = Some(node.to_owned());
    }

    /// Puts the changes into the object, and tells the requester what was undone.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn carry_out(mut self, review: &mut Review<'_>) -> Result<(), Rejection> {
        self.warn_of_what_is_undone(&mut review.decision);
        let too_much = self.stored.make_fit(&self.submitted);
        if !too_much.is_empty() {
            let keys = too_much.iter().map(|key| shorten(key)).collect::<Vec<_>>().join(", ");
            let limit = MOST_ANNOTATIONS / 1024;
            review.decision.warn(&format!(
                "the Pod's annotations would have more than {limit} KiB, so these are not written: {keys}"
            ));
        }
        self.stored.write(&mut review.object, &self.submitted).within("object")?;
        review.is_changed |= self.stored != self.submitted;
        Ok(())
    }

    /// Rejects a Pod of a controller that brings a managed label: a controller that selects by it would not find its
    /// Pod without, and create the next, for ever.
    ///
    /// # Errors
    /// Such a label, unless it says what the policy says.
    pub fn reject_label_of_owned(&self, pod: &ObjectName) -> Result<(), Rejection> {
        let Some(key) = self.undone(TargetKind::Label).next() else { return Ok(()) };
        let explanation = format!(
            "{pod} brings the label {}, which only the policy writes (nodeMetadata.protect is true), and its controller \
             may select Pods by it; remove the label from the controller's Pod template",
            shorten(key)
        );
        let rejection = Rejection::forbidden(CauseKind::Metadata, explanation).by_setting("nodeMetadata.protect");
        Err(rejection.about_label(key))
    }

    fn warn_of_what_is_undone(&self, decision: &mut Decision<'_>) {
        let mut keys: Vec<String> = Vec::new();
        for kind in [TargetKind::Annotation, TargetKind::Label] {
            keys.extend(self.undone(kind).map(shorten));
        }
        if keys.is_empty() {
            return;
        }
        let what = match &self.reset_to {
            Some(node) => format!("they say again what Node {} says", quote(node)),
            None => "your change is undone".to_owned(),
        };
        decision.warn(&format!("only the policy writes these keys, {what}: {}", keys.join(", ")));
    }

    /// The managed keys that were submitted otherwise than they must be, and are not stored so. A key that already has
    /// the policy's value is skipped: this may be its own result, seen again.
    fn undone(&self, kind: TargetKind) -> impl Iterator<Item = &str> {
        let protected = self.protected.iter();
        let differing = protected.flat_map(move |protected| protected.differing(&self.submitted, kind));
        differing.filter(move |key| self.stored.of(kind).get(*key) != self.submitted.of(kind).get(*key))
    }
}
