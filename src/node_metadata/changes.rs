//! Changes the managed labels and annotations of an object. With `protect`, they belong to the policy, and changes by
//! others are undone.

use std::collections::BTreeSet;

use super::propagation::{KINDS, Managed, Propagations};
use crate::decision::{Cause, CauseKind, Decision, Rejection};
use crate::json::{Pairs, Raw, RawObject, ReadError, Text, Within};
use crate::limits::{LARGEST_OBJECT, MOST_ANNOTATIONS, MOST_NAMED, MOST_WRITTEN};
use crate::message::{joined, quote, shorten};
use crate::object_meta::ObjectName;
use crate::review::Review;
use crate::settings::key::TargetKind;
use crate::settings::node_metadata_block::Target;
use crate::settings::{Setting, SettingPath};

/// The largest size of annotations of others that leaves room for what a Binding adds, in bytes.
const MOST_OF_OTHERS: usize = MOST_ANNOTATIONS - MOST_WRITTEN;

/// Reads the managed keys of `object`, and their values.
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

/// The managed keys of an object, and their values.
#[derive(Debug)]
pub struct ManagedKeys<'a, 'p> {
    propagations: &'p Propagations<'p>,
    /// The keys and values before the request. A new object has none.
    old: Managed<'a>,
    /// The submitted keys and values.
    submitted: Managed<'a>,
}

/// The managed keys and values that are to be stored.
#[derive(Debug)]
pub struct Goal<'a> {
    stored: Stored<'a>,
    /// Further keys and values, which are added unless the object becomes too large.
    optional: Managed<'a>,
    /// The end of the warning about undone changes, if the requester is to be warned.
    warning: Option<String>,
}

#[derive(Debug)]
enum Stored<'a> {
    /// The submitted keys and values.
    Submitted,
    /// The keys and values from before the request.
    Old,
    /// These keys and values.
    Values(Managed<'a>),
}

/// The end of the warning about changes of the requester.
const UNDONE: &str = "your change is undone";

impl<'a> Goal<'a> {
    /// Undoes the request's changes to managed keys. Those of a new Pod are removed.
    pub fn old() -> Self {
        Self { stored: Stored::Old, optional: Managed::default(), warning: Some(UNDONE.to_owned()) }
    }

    /// Sets the managed keys to `values`, and removes all others. With `warns`, the requester is warned of changes that
    /// are undone.
    pub fn values(values: Managed<'a>, warns: bool) -> Self {
        let warning = warns.then(|| UNDONE.to_owned());
        Self { stored: Stored::Values(values), optional: Managed::default(), warning }
    }
}

impl<'a, 'p> ManagedKeys<'a, 'p> {
    /// Reads the managed keys of `object`. `old` are those before the request.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn new(
        object: &RawObject<'a>,
        old: Managed<'a>,
        propagations: &'p Propagations<'p>,
    ) -> Result<Self, ReadError> {
        let submitted = managed(object, propagations).within("object")?;
        Ok(Self { propagations, old, submitted })
    }

    /// Keeps the submitted keys, and adds those of `values` that are missing.
    pub fn filled_in(&self, values: &Managed<'_>) -> Goal<'a> {
        let mut optional = Managed::default();
        for kind in KINDS {
            let submitted = self.submitted.of(kind);
            let missing = values.of(kind).iter().filter(|(key, _)| !submitted.contains_key(key));
            *optional.of_mut(kind) = missing.map(|(key, value)| (key.into(), value.into())).collect();
        }
        Goal { stored: Stored::Submitted, optional, warning: None }
    }

    /// Sets all managed keys to the `values` of `node`: others may have forged them while the policy was away. Keys that
    /// were missing before the request are added only if the object has room.
    pub fn corrected(&self, values: &Managed<'_>, node: &str) -> Goal<'a> {
        let (mut stored, mut optional) = (Managed::default(), Managed::default());
        for kind in KINDS {
            let (submitted, old) = (self.submitted.of(kind), self.old.of(kind));
            for (key, value) in values.of(kind).iter() {
                let was_missing = !submitted.contains_key(key) && !old.contains_key(key);
                let pairs = if was_missing { &mut optional } else { &mut stored };
                pairs.of_mut(kind).insert(key.into(), value.into());
            }
        }
        let warning = Some(format!("they are set to the values of Node {}", quote(node)));
        Goal { stored: Stored::Values(stored), optional, warning }
    }

    /// Returns whether a managed key of an entry with `default` or `required` is missing.
    pub fn lacks_guaranteed_key(&self) -> bool {
        let is_there = |target: &Target| {
            let mut keys = self.submitted.of(target.kind).keys();
            keys.any(|key| target.key.rest(key).is_some())
        };
        !self.propagations.guaranteed().all(is_there)
    }

    /// Returns whether the request changes a managed key.
    pub fn are_changed(&self) -> bool {
        self.submitted != self.old
    }

    /// Rejects a Pod of a controller that has a managed label. The label would be removed, and a controller that selects
    /// by it would not find its Pod, and would create Pods forever.
    ///
    /// # Errors
    /// There is such a label, with another value than the policy writes.
    pub fn reject_label_of_owned(&self, goal: &Goal<'_>, pod: &ObjectName) -> Result<(), Rejection> {
        let Some((key, _)) = self.overwritten(goal, TargetKind::Label).next() else { return Ok(()) };
        let explanation = format!(
            "{pod} has the label {}, which only the policy may set (nodeMetadata.protect is true), and its controller \
             might select Pods by it; remove the label from the controller's Pod template",
            shorten(key)
        );
        let setting = SettingPath::NodeMetadata(Setting::Protect);
        let cause = Cause::new(CauseKind::Metadata).setting(setting).label(key);
        Err(Rejection::forbidden(cause, explanation))
    }

    /// Changes the object so that it has the keys of `goal`, and warns the requester of changes that are undone.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn store(&self, goal: &Goal<'a>, review: &mut Review<'a>) -> Result<(), Rejection> {
        self.warn(goal, review);
        let adds_optional = self.has_room_for_optional(goal, review).within("object")?;
        for kind in KINDS {
            let kept = |key: &str, value: &str| match self.stored(goal, kind).map(|stored| stored.get(key)) {
                Some(Some(stored)) => stored == value,
                Some(None) => !self.propagations.manages(kind, key),
                None => true,
            };
            let mut written: Vec<(&str, &str)> = self.written(goal, kind).collect();
            written.extend(goal.optional.of(kind).iter().filter(|_| adds_optional));
            if kind == TargetKind::Annotation && !written.is_empty() {
                let size_of_kept = size_of(&review.object, &kept).within("object")?;
                drop_excess_annotations(&mut written, size_of_kept, &mut review.decision);
            }
            if written.is_empty() && self.overwritten(goal, kind).next().is_none() {
                continue;
            }
            let metadata = review.object.change().object_mut("metadata").within("object")?;
            metadata.rewrite(kind.member(), &kept, &mut written.into_iter()).within("object.metadata")?;
        }
        Ok(())
    }

    /// Returns whether the object stays small enough with the optional keys, and warns if it does not. What the policy
    /// adds by itself never rejects an update.
    fn has_room_for_optional(&self, goal: &Goal<'_>, review: &mut Review<'a>) -> Result<bool, ReadError> {
        let optional: Vec<&str> = KINDS.iter().flat_map(|kind| goal.optional.of(*kind).keys()).collect();
        if optional.is_empty() {
            return Ok(true);
        }
        let mut limit = LARGEST_OBJECT;
        for kind in KINDS {
            let metadata = review.object.object("metadata")?;
            let has_member = metadata.is_some_and(|metadata| metadata.member(kind.member()).is_some());
            let added = self.written(goal, kind).chain(goal.optional.of(kind).iter());
            limit += json_size(&mut self.overwritten(goal, kind));
            let size_of_member = if has_member { 0 } else { r#""":{},"#.len() + kind.member().len() };
            limit = limit.saturating_sub(json_size(&mut added.into_iter()) + size_of_member);
        }
        let has_room = review.object.size_above(limit).is_none();
        if !has_room {
            review.decision.warn(&not_written("Pod", LARGEST_OBJECT, &optional));
        }
        Ok(has_room)
    }

    /// Returns the managed labels or annotations to be stored, or `None` for the submitted ones.
    const fn stored<'g>(&'g self, goal: &'g Goal<'_>, kind: TargetKind) -> Option<&'g Pairs<'g>> {
        match &goal.stored {
            Stored::Submitted => None,
            Stored::Old => Some(self.old.of(kind)),
            Stored::Values(values) => Some(values.of(kind)),
        }
    }

    /// Returns the submitted keys that are removed or get another value, with the submitted values.
    fn overwritten<'g>(&'g self, goal: &'g Goal<'_>, kind: TargetKind) -> impl Iterator<Item = (&'g str, &'g str)> {
        let stored = self.stored(goal, kind);
        let submitted = self.submitted.of(kind).iter();
        submitted.filter(move |(key, value)| stored.is_some_and(|stored| stored.get(key) != Some(value)))
    }

    /// Returns the keys that are added or get another value, with their values.
    fn written<'g>(&'g self, goal: &'g Goal<'_>, kind: TargetKind) -> impl Iterator<Item = (&'g str, &'g str)> {
        let submitted = self.submitted.of(kind);
        let stored = self.stored(goal, kind).into_iter().flat_map(Pairs::iter);
        stored.filter(|(key, value)| submitted.get(key) != Some(value))
    }

    /// Warns about the keys that the request changed and that are changed again.
    fn warn(&self, goal: &Goal<'_>, review: &mut Review<'_>) {
        let Some(warning) = &goal.warning else { return };
        let mut keys: Vec<&str> = Vec::new();
        for kind in KINDS {
            let (submitted, old) = (self.submitted.of(kind), self.old.of(kind));
            let changed = |(key, _): &(&str, &str)| submitted.get(key) != old.get(key);
            let mut undone = BTreeSet::new();
            undone.extend(self.overwritten(goal, kind).filter(changed).map(|(key, _)| key).take(MOST_NAMED));
            undone.extend(self.written(goal, kind).filter(changed).map(|(key, _)| key).take(MOST_NAMED));
            keys.extend(undone);
        }
        if !keys.is_empty() {
            review.decision.warn(&format!("only the policy may set these keys, {warning}: {}", listed(&keys)));
        }
    }
}

/// Returns the size of `pairs` as the API server writes them.
fn json_size(pairs: &mut dyn Iterator<Item = (&str, &str)>) -> usize {
    let size = |text: &str| Raw::written(text).map_or(0, |text| text.size());
    pairs.map(|(key, value)| size(key) + size(value) + ":,".len()).sum()
}

/// Removes annotations from those to be written, the last first, until the API server accepts their size.
fn drop_excess_annotations(written: &mut Vec<(&str, &str)>, size_of_kept: usize, decision: &mut Decision<'_>) {
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
    decision.warn(&not_written("Pod's annotations", MOST_ANNOTATIONS, &too_much));
}

/// Returns the warning that `keys` would make something larger than `most` bytes.
fn not_written(what: &str, most: usize, keys: &[&str]) -> String {
    format!("the {what} would have more than {} KiB, so these are not written: {}", most / 1024, listed(keys))
}

/// Lists as many of `keys` as a warning has room for.
fn listed(keys: &[&str]) -> String {
    joined(keys.iter().take(MOST_NAMED).map(|key| shorten(key)), ", ")
}

/// Rejects a Pod whose annotations leave too little room for what a Binding adds, unless those of the `old` Pod were as
/// large. Keys that a Binding always overwrites do not count.
///
/// The API server validates a Pod at every update, but not when a Binding adds annotations. If they are too large then,
/// nobody can update or finalize the Pod, and its kubelet can't report its status.
///
/// # Errors
/// The annotations are too large, or can't be read.
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
        "{name} has {} KiB of annotations; at most {} KiB are allowed, so that the {} KiB that can be added when it is \
         bound fit into the API server's limit of {} KiB; make them smaller",
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

/// Returns the size of the annotations of `object` that count, in bytes of keys and values.
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
