//! What becomes of an object's labels and annotations. With `protect`, managed keys (those that the policy writes) belong
//! to the policy, and what others write to them is undone.

use std::collections::BTreeSet;

use super::propagation::{KINDS, Managed, Propagations};
use crate::decision::{Cause, CauseKind, Decision, Rejection};
use crate::json::{RawObject, ReadError, Text, Within};
use crate::limits::{MOST_ANNOTATIONS, MOST_NAMED, MOST_WRITTEN};
use crate::message::{joined, quote, shorten};
use crate::object_meta::ObjectName;
use crate::review::Review;
use crate::settings::key::TargetKind;
use crate::settings::node_metadata::Target;
use crate::settings::{Setting, SettingPath};

/// What annotations that others write may have, so that what a Binding brings still fits.
const MOST_OF_OTHERS: usize = MOST_ANNOTATIONS - MOST_WRITTEN;

/// The managed keys of `object`, and their values.
///
/// # Errors
/// The metadata can't be read.
pub fn managed<'a>(object: &RawObject<'a>, propagations: &Propagations<'_>) -> Result<Managed<'a>, ReadError> {
    let mut managed = Managed::default();
    let Some(metadata) = object.object("metadata")? else { return Ok(managed) };
    for kind in KINDS {
        let pairs = managed.of_mut(kind);
        let mut take = |key: Text<'a>, value: Text<'a>| {
            if propagations.manages(kind, &key) {
                pairs.insert(key, value);
            }
        };
        metadata.for_each_pair(kind.member(), &mut take).within("metadata")?;
    }
    Ok(managed)
}

/// Changes of managed labels and annotations that are still to be made.
#[derive(Debug)]
pub struct Changes<'a, 'p> {
    propagations: &'p Propagations<'p>,
    /// As they were submitted.
    submitted: Managed<'a>,
    /// As they must be.
    goal: Managed<'a>,
    /// Which of those that were submitted and are not in the goal go.
    removes: bool,
    /// What becomes of them, as it is told to whoever submitted them; nothing, if nobody is told.
    told: Option<String>,
}

impl<'a, 'p> Changes<'a, 'p> {
    /// None yet, to those of `object`.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn new(object: &RawObject<'a>, propagations: &'p Propagations<'p>) -> Result<Self, ReadError> {
        let submitted = managed(object, propagations).within("object")?;
        Ok(Self { propagations, submitted, goal: Managed::default(), removes: false, told: None })
    }

    /// Writes `values` over what stands there, and takes managed keys away that are not among them: only the policy
    /// tells a Pod about its node.
    pub fn set(&mut self, values: Managed<'a>) {
        self.goal = values;
        self.removes = true;
    }

    /// Writes those of `values` whose keys are missing.
    pub fn fill_in(&mut self, values: &Managed<'_>) {
        for kind in KINDS {
            for (key, value) in values.of(kind).iter() {
                if !self.submitted.of(kind).contains_key(key) {
                    self.goal.of_mut(kind).insert(key.into(), value.into());
                }
            }
        }
    }

    /// Gives managed keys the values that they had. A new Pod had none.
    pub fn reset_to_old(&mut self, old: Managed<'a>) {
        self.set(old);
        self.told = Some("your change is undone".to_owned());
    }

    /// Gives managed keys the values that `node` has for them, which others may have forged while nobody looked.
    pub fn reset_to_node(&mut self, values: Managed<'a>, node: &str) {
        self.set(values);
        self.told = Some(format!("they say again what Node {} says", quote(node)));
    }

    /// Whether a managed key is missing that must be there, or has a default.
    pub fn misses_guaranteed_key(&self) -> bool {
        let is_there = |target: &Target| {
            let mut keys = self.submitted.of(target.kind).keys();
            keys.any(|key| target.key.rest(key).is_some())
        };
        !self.propagations.guaranteed().all(is_there)
    }

    /// Whether a managed key was submitted otherwise than it is in `old`.
    pub fn differ_from(&self, old: &Managed<'_>) -> bool {
        self.submitted != *old
    }

    /// Rejects a Pod of a controller that brings a managed label: a controller that selects by it would not find its
    /// Pod without, and create the next, for ever.
    ///
    /// # Errors
    /// Such a label, unless it says what the policy says.
    pub fn reject_label_of_owned(&self, pod: &ObjectName) -> Result<(), Rejection> {
        let Some(key) = self.overwritten(TargetKind::Label).next() else { return Ok(()) };
        let explanation = format!(
            "{pod} brings the label {}, which only the policy writes (nodeMetadata.protect is true), and its controller \
             may select Pods by it; remove the label from the controller's Pod template",
            shorten(key)
        );
        let cause = Cause {
            kind: CauseKind::Metadata,
            setting: Some(SettingPath::NodeMetadata(Setting::Protect)),
            label: Some(key.to_owned()),
            ..Cause::default()
        };
        Err(Rejection::forbidden(cause, explanation))
    }

    /// Puts the changes into the object, and tells the requester what was undone.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn apply(self, review: &mut Review<'a>) -> Result<(), Rejection> {
        self.tell(review);
        for kind in KINDS {
            let goal = self.goal.of(kind);
            let kept = |key: &str, value: &str| match goal.get(key) {
                Some(own) => own == value,
                None => !self.removes || !self.propagations.manages(kind, key),
            };
            let mut written: Vec<(&str, &str)> = self.written(kind).collect();
            if kind == TargetKind::Annotation && !written.is_empty() {
                let size_of_kept = size_of(&review.object, &kept).within("object")?;
                give_up_what_is_too_much(&mut written, size_of_kept, &mut review.decision);
            }
            if written.is_empty() && self.overwritten(kind).next().is_none() {
                continue;
            }
            let metadata = review.object.object_mut("metadata").within("object")?;
            metadata.rewrite(kind.member(), &kept, &mut written.into_iter()).within("object.metadata")?;
            review.is_changed = true;
        }
        Ok(())
    }

    /// The keys that were submitted and are not stored so.
    fn overwritten(&self, kind: TargetKind) -> impl Iterator<Item = &str> {
        let goal = self.goal.of(kind);
        let submitted = self.submitted.of(kind).iter().filter(|_| self.removes);
        submitted.filter(|(key, value)| goal.get(key) != Some(value)).map(|(key, _)| key)
    }

    /// The keys and values that are written, and were not submitted so.
    fn written(&self, kind: TargetKind) -> impl Iterator<Item = (&str, &str)> {
        let submitted = self.submitted.of(kind);
        self.goal.of(kind).iter().filter(|(key, value)| submitted.get(key) != Some(value))
    }

    fn tell(&self, review: &mut Review<'_>) {
        let Some(told) = &self.told else { return };
        let mut keys: Vec<&str> = Vec::new();
        for kind in KINDS {
            let mut own = BTreeSet::new();
            own.extend(self.overwritten(kind).take(MOST_NAMED));
            // Nobody has removed what a new Pod lacks.
            if review.request.is_update() {
                let submitted = self.submitted.of(kind);
                let missing = self.written(kind).map(|(key, _)| key).filter(|key| !submitted.contains_key(key));
                own.extend(missing.take(MOST_NAMED));
            }
            keys.extend(own);
        }
        if !keys.is_empty() {
            review.decision.warn(&format!("only the policy writes these keys, {told}: {}", listed(&keys)));
        }
    }
}

/// Gives up annotations that are to be written, the last first, until all are small enough for the API server.
fn give_up_what_is_too_much(written: &mut Vec<(&str, &str)>, size_of_kept: usize, decision: &mut Decision<'_>) {
    let mut size = size_of_kept + written.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    let mut too_much = Vec::new();
    while let Some((key, value)) = written.pop_if(|_| size > MOST_ANNOTATIONS) {
        size -= key.len() + value.len();
        too_much.push(key);
    }
    if too_much.is_empty() {
        return;
    }
    too_much.reverse();
    decision.warn(&format!(
        "the Pod's annotations would have more than {} KiB, so these are not written: {}",
        MOST_ANNOTATIONS / 1024,
        listed(&too_much)
    ));
}

/// As many of `keys` as a warning has room for.
fn listed(keys: &[&str]) -> String {
    joined(keys.iter().take(MOST_NAMED).map(|key| shorten(key)), ", ")
}

/// Rejects a Pod whose annotations leave too little for what a Binding brings, unless those of the `old` one were as
/// large. Keys that it is sure to overwrite are not counted.
///
/// The API server validates a Pod again at every update, but not when a Binding brings something: a Pod that grows too
/// large by it can't be updated, finalized, or reported by its kubelet any more.
///
/// # Errors
/// Their size; or they can't be read.
pub fn check_annotations(
    propagations: &Propagations<'_>,
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

fn size_of_others(propagations: &Propagations<'_>, pod: &RawObject<'_>) -> Result<usize, ReadError> {
    size_of(pod, &|key, _| !propagations.is_sure_to_overwrite(key))
}

/// How large those annotations of `object` are that count, in bytes of keys and values.
///
/// # Errors
/// They can't be read.
fn size_of(object: &RawObject<'_>, counts: &dyn Fn(&str, &str) -> bool) -> Result<usize, ReadError> {
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
