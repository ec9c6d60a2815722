//! What becomes of an object's labels and annotations. With `protect`, managed keys (those that the policy writes) belong
//! to the policy, and what others write to them is undone.

use std::collections::BTreeMap;

use super::propagation::Propagations;
use super::values::Values;
use crate::decision::{CauseKind, Decision, Rejection};
use crate::json::{Pairs, RawObject, ReadError, Text, Within};
use crate::limits::MOST_ANNOTATIONS;
use crate::message::{quote, shorten};
use crate::object_meta::{LabelsAndAnnotations, ObjectName};
use crate::review::Review;
use crate::settings::key::{KeyPattern, TargetKind};

/// Both kinds of keys.
pub const KINDS: [TargetKind; 2] = [TargetKind::Annotation, TargetKind::Label];

/// Changes of labels and annotations that are still to be made.
#[derive(Debug)]
pub struct Changes<'a> {
    /// As they were submitted.
    pub submitted: LabelsAndAnnotations<'a>,
    annotations: Edits<'a>,
    labels: Edits<'a>,
    /// The Node that all managed keys were read from anew.
    reset_to: Option<String>,
}

/// What becomes of keys.
type Edits<'a> = BTreeMap<Text<'a>, Edit<'a>>;

/// What becomes of a key.
#[derive(Debug)]
struct Edit<'a> {
    /// Its value; nothing, if it is removed.
    value: Option<Text<'a>>,
    /// Whether this undoes what somebody else did.
    undoes: bool,
}

impl<'a> Changes<'a> {
    /// None yet, to those of `object`.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn new(object: &RawObject<'a>) -> Result<Self, ReadError> {
        let submitted = LabelsAndAnnotations::read(object).within("object")?;
        Ok(Self { submitted, annotations: Edits::new(), labels: Edits::new(), reset_to: None })
    }

    /// Writes `values` over what stands there, and takes managed keys away that are not among them: only the policy
    /// tells a Pod about its node.
    pub fn set_managed(&mut self, propagations: &Propagations, values: &Values) {
        for kind in KINDS {
            let Self { submitted, annotations, labels, .. } = self;
            let (own, edits) = match kind {
                TargetKind::Annotation => (&submitted.annotations, annotations),
                TargetKind::Label => (&submitted.labels, labels),
            };
            for (key, _) in own.texts() {
                if propagations.manages(kind, key) && !values.of(kind).contains_key(&**key) {
                    edits.entry(key.clone()).or_insert(Edit { value: None, undoes: false });
                }
            }
            for (key, value) in values.of(kind) {
                if own.get(key) == Some(value) {
                    edits.remove(key.as_str());
                } else {
                    let undoes = edits.get(key.as_str()).is_some_and(|edit| edit.undoes);
                    edits.insert(key.as_str().into(), Edit { value: Some(value.as_str().into()), undoes });
                }
            }
        }
    }

    /// Writes those of `values` whose keys are missing.
    pub fn fill_in(&mut self, values: &Values) {
        for kind in KINDS {
            for (key, value) in values.of(kind) {
                if !self.submitted_of(kind).contains_key(key) {
                    let edit = Edit { value: Some(value.as_str().into()), undoes: false };
                    self.edits_mut(kind).insert(key.as_str().into(), edit);
                }
            }
        }
    }

    /// Gives managed keys the values that they have in `old`.
    pub fn reset_to_old(&mut self, propagations: &Propagations, old: &LabelsAndAnnotations<'a>) {
        for kind in KINDS {
            let old = of_kind(old, kind);
            let mut edits = Edits::new();
            for (key, value) in self.submitted_of(kind).texts() {
                if old.get(key) != Some(value) && propagations.manages(kind, key) {
                    edits.insert(key.clone(), Edit { value: None, undoes: true });
                }
            }
            for (key, value) in old.texts() {
                if self.submitted_of(kind).get(key) != Some(value) && propagations.manages(kind, key) {
                    edits.insert(key.clone(), Edit { value: Some(value.clone()), undoes: true });
                }
            }
            *self.edits_mut(kind) = edits;
        }
    }

    /// Gives managed keys the values that `node` has for them, which others may have forged while nobody looked.
    pub fn reset_to_node(&mut self, propagations: &Propagations, values: &Values, node: &str) {
        self.set_managed(propagations, values);
        for edit in self.annotations.values_mut().chain(self.labels.values_mut()) {
            edit.undoes = true;
        }
        self.reset_to = Some(node.to_owned());
    }

    /// Whether a managed key is missing that must be there, or has a default.
    pub fn misses_guaranteed_key(&self, propagations: &Propagations) -> bool {
        propagations.guaranteed().any(|target| match &target.key {
            KeyPattern::Key(key) => !self.submitted_of(target.kind).contains_key(key),
            KeyPattern::Prefix(prefix) => !self.submitted_of(target.kind).keys().any(|key| key.starts_with(prefix)),
        })
    }

    /// Whether a managed key was submitted otherwise than it is in `old`.
    pub fn differs_in_managed(&self, propagations: &Propagations, old: &LabelsAndAnnotations<'_>) -> bool {
        KINDS.into_iter().any(|kind| {
            let (own, old) = (self.submitted_of(kind), of_kind(old, kind));
            let differs =
                |(key, value), other: &Pairs<'_>| other.get(key) != Some(value) && propagations.manages(kind, key);
            own.iter().any(|pair| differs(pair, old)) || old.iter().any(|pair| differs(pair, own))
        })
    }

    /// The keys and values of a kind that others wrote and that stay, and what is written.
    pub fn results(
        &self,
        kind: TargetKind,
    ) -> (impl Iterator<Item = (&str, &str)>, impl Iterator<Item = (&str, &str)>) {
        let edits = self.edits(kind);
        let kept = self.submitted_of(kind).iter().filter(|(key, _)| !edits.contains_key(*key));
        let written = edits.iter().filter_map(|(key, edit)| Some((&**key, &**edit.value.as_ref()?)));
        (kept, written)
    }

    /// Rejects a Pod of a controller that brings a managed label: a controller that selects by it would not find its
    /// Pod without, and create the next, for ever.
    ///
    /// # Errors
    /// Such a label, unless it says what the policy says.
    pub fn reject_label_of_owned(&self, pod: &ObjectName) -> Result<(), Rejection> {
        let Some((key, _)) = self.labels.iter().find(|(_, edit)| edit.undoes) else { return Ok(()) };
        let explanation = format!(
            "{pod} brings the label {}, which only the policy writes (nodeMetadata.protect is true), and its controller \
             may select Pods by it; remove the label from the controller's Pod template",
            shorten(key)
        );
        let rejection = Rejection::forbidden(CauseKind::Metadata, explanation).by_setting("nodeMetadata.protect");
        Err(rejection.about_label(key))
    }

    /// Puts the changes into the object, and tells the requester what was undone.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn apply(mut self, review: &mut Review<'a>) -> Result<(), Rejection> {
        self.warn_of_what_is_undone(&mut review.decision);
        let too_much = self.drop_what_is_too_much();
        if !too_much.is_empty() {
            let limit = MOST_ANNOTATIONS / 1024;
            review.decision.warn(&format!(
                "the Pod's annotations would have more than {limit} KiB, so these are not written: {}",
                listed(too_much.iter().rev())
            ));
        }
        for kind in KINDS {
            let edits = self.edits(kind);
            if edits.is_empty() {
                continue;
            }
            let metadata = review.object.object_mut("metadata").within("object")?;
            let map = metadata.object_mut(kind.member()).within("object.metadata")?;
            map.remove_all(|key| edits.contains_key(key));
            for (key, edit) in edits {
                if let Some(value) = &edit.value {
                    map.push(key.clone(), &**value)?;
                }
            }
            review.is_changed = true;
        }
        Ok(())
    }

    fn warn_of_what_is_undone(&self, decision: &mut Decision<'_>) {
        let edits = self.annotations.iter().chain(&self.labels);
        let keys: Vec<&Text<'a>> = edits.filter(|(_, edit)| edit.undoes).map(|(key, _)| key).collect();
        if keys.is_empty() {
            return;
        }
        let what = match &self.reset_to {
            Some(node) => format!("they say again what Node {} says", quote(node)),
            None => "your change is undone".to_owned(),
        };
        decision.warn(&format!("only the policy writes these keys, {what}: {}", listed(keys.into_iter())));
    }

    /// Gives up annotations that are to be written, the last first, until all are small enough for the API server.
    /// Returns their keys.
    fn drop_what_is_too_much(&mut self) -> Vec<Text<'a>> {
        let (kept, written) = self.results(TargetKind::Annotation);
        let mut size: usize = kept.chain(written).map(|(key, value)| key.len() + value.len()).sum();
        let mut dropped = Vec::new();
        if size <= MOST_ANNOTATIONS {
            return dropped;
        }
        let written = self.annotations.iter().rev().filter_map(|(key, edit)| Some((key, edit.value.as_ref()?)));
        for (key, value) in written {
            if size <= MOST_ANNOTATIONS {
                break;
            }
            size -= key.len() + value.len();
            dropped.push(key.clone());
        }
        for key in &dropped {
            if let Some(edit) = self.annotations.get_mut(&**key) {
                edit.value = None;
            }
        }
        dropped
    }

    fn submitted_of(&self, kind: TargetKind) -> &Pairs<'a> {
        of_kind(&self.submitted, kind)
    }

    const fn edits(&self, kind: TargetKind) -> &Edits<'a> {
        match kind {
            TargetKind::Annotation => &self.annotations,
            TargetKind::Label => &self.labels,
        }
    }

    const fn edits_mut(&mut self, kind: TargetKind) -> &mut Edits<'a> {
        match kind {
            TargetKind::Annotation => &mut self.annotations,
            TargetKind::Label => &mut self.labels,
        }
    }
}

const fn of_kind<'p, 'a>(pairs: &'p LabelsAndAnnotations<'a>, kind: TargetKind) -> &'p Pairs<'a> {
    match kind {
        TargetKind::Annotation => &pairs.annotations,
        TargetKind::Label => &pairs.labels,
    }
}

/// As many of `keys` as a warning has room for.
fn listed<'k, 'a: 'k>(keys: impl Iterator<Item = &'k Text<'a>>) -> String {
    const MOST_LISTED: usize = 20;
    keys.take(MOST_LISTED).map(|key| shorten(key)).collect::<Vec<_>>().join(", ")
}
