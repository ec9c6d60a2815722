//! The labels and annotations of an object, and those of them that the policy writes: the *managed keys*.

use std::collections::BTreeSet;

use json::{Mismatch, Object, StringMap};

use super::NodeMetadata;
use super::room::MOST_ANNOTATIONS;
use super::values::NodeValues;
use crate::object_meta;
use crate::settings::{Fallback, KeyPattern, TargetKind};

const KINDS: [TargetKind; 2] = [TargetKind::Annotation, TargetKind::Label];

/// An object's annotations and labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeysAndValues {
    annotations: StringMap,
    labels: StringMap,
}

impl KeysAndValues {
    /// Reads those of `object`.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn read(object: &Object) -> Result<Self, Mismatch> {
        Ok(Self { annotations: object_meta::annotations(object)?, labels: object_meta::labels(object)? })
    }

    /// The annotations.
    pub const fn annotations(&self) -> &StringMap {
        &self.annotations
    }

    /// Those of one kind.
    pub const fn of(&self, kind: TargetKind) -> &StringMap {
        match kind {
            TargetKind::Annotation => &self.annotations,
            TargetKind::Label => &self.labels,
        }
    }

    /// Writes `values` over what stands here, and takes managed keys away that are not among them: only the policy tells a
    /// Pod about its node.
    pub fn set_managed(&mut self, settings: &NodeMetadata, values: &NodeValues) {
        for kind in KINDS {
            self.of_mut(kind).retain(|key, _| !is_managed(settings, kind, key));
        }
        for (kind, key, value) in values.iter() {
            self.of_mut(kind).insert(key, value);
        }
    }

    /// Writes those of `values` whose keys are missing here.
    pub fn fill_in(&mut self, values: &NodeValues) {
        for (kind, key, value) in values.iter() {
            if !self.of(kind).contains_key(key) {
                self.of_mut(kind).insert(key, value);
            }
        }
    }

    /// Gives the managed keys the values that `old` has for them.
    pub fn reset_managed(&mut self, settings: &NodeMetadata, old: &Self) {
        for kind in KINDS {
            let own = self.of_mut(kind);
            own.retain(|key, _| !is_managed(settings, kind, key));
            for (key, value) in old.of(kind).iter() {
                if is_managed(settings, kind, key) {
                    own.insert(key, value);
                }
            }
        }
    }

    /// Whether a managed key is missing that must be there, or has a default.
    pub fn lacks_certain(&self, settings: &NodeMetadata) -> bool {
        let certain = settings.propagate.iter().filter(|entry| entry.fallback != Fallback::Skip);
        certain.flat_map(|entry| &entry.targets).any(|target| match &target.key {
            KeyPattern::Key(key) => !self.of(target.kind).contains_key(key),
            KeyPattern::Prefix(prefix) => !self.of(target.kind).iter().any(|(key, _)| key.starts_with(prefix)),
        })
    }

    /// Whether a managed key has another value in `other`, or is only in one of the two.
    pub fn differs_in_managed(&self, settings: &NodeMetadata, other: &Self) -> bool {
        KINDS.into_iter().any(|kind| self.differing(other, kind).any(|key| is_managed(settings, kind, key)))
    }

    /// The keys of a kind whose value here is not that in `other`, or that only one of them has.
    pub fn differing<'k>(&'k self, other: &'k Self, kind: TargetKind) -> impl Iterator<Item = &'k str> {
        let (own, theirs) = (self.of(kind), other.of(kind));
        let changed = own.iter().filter(|(key, value)| theirs.get(key) != Some(*value));
        let gone = theirs.iter().filter(|(key, _)| !own.contains_key(key));
        changed.chain(gone).map(|(key, _)| key)
    }

    /// Takes annotations away that `before` does not have so, the last first, until all are small enough for the API
    /// server. Returns their keys.
    pub fn make_fit(&mut self, before: &Self) -> BTreeSet<String> {
        let mut size: usize = self.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
        let mut removed = BTreeSet::new();
        if size <= MOST_ANNOTATIONS {
            return removed;
        }
        let mut written: Vec<&str> = self.differing(before, TargetKind::Annotation).collect();
        while size > MOST_ANNOTATIONS
            && let Some(key) = written.pop()
        {
            if let Some(value) = self.annotations.get(key) {
                size -= key.len() + value.len();
                removed.insert(key.to_owned());
            }
        }
        self.annotations.retain(|key, _| !removed.contains(key));
        removed
    }

    /// Puts these into `object`, from which `before` was read.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn write(&self, object: &mut Object, before: &Self) -> Result<(), Mismatch> {
        for kind in KINDS {
            if self.of(kind) != before.of(kind) {
                object.object_mut_at(&["metadata", kind.member()])?.assign(self.of(kind))?;
            }
        }
        Ok(())
    }

    const fn of_mut(&mut self, kind: TargetKind) -> &mut StringMap {
        match kind {
            TargetKind::Annotation => &mut self.annotations,
            TargetKind::Label => &mut self.labels,
        }
    }
}

/// Whether `key` is one that the settings have the policy write.
pub fn is_managed(settings: &NodeMetadata, kind: TargetKind, key: &str) -> bool {
    let mut targets = settings.propagate.iter().flat_map(|entry| &entry.targets);
    targets.any(|target| target.kind == kind && target.key.rest(key).is_some())
}
