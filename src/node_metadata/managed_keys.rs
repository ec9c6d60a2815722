//! The labels and annotations of an object, and those of them that the policy writes: the *managed keys*.

use std::collections::BTreeSet;

use super::propagation::Propagations;
use crate::json::{RawObject, ReadError, StringMap, Within};
use crate::object_meta::LabelsAndAnnotations;
use crate::settings::key::{KeyPattern, TargetKind};

/// What the annotations of an object may have in all, in bytes of keys and values (`TotalAnnotationSizeLimitB`).
pub const MOST_ANNOTATIONS: usize = 256 * 1024;

const KINDS: [TargetKind; 2] = [TargetKind::Annotation, TargetKind::Label];

impl<'a> LabelsAndAnnotations<'a> {
    /// Those of one kind.
    pub const fn of(&self, kind: TargetKind) -> &StringMap<'a> {
        match kind {
            TargetKind::Annotation => &self.annotations,
            TargetKind::Label => &self.labels,
        }
    }

    /// Writes `values` over what stands here, and takes managed keys away that are not among them: only the policy
    /// tells a Pod about its node.
    pub fn set_managed(&mut self, propagations: &Propagations, values: &LabelsAndAnnotations<'a>) {
        for kind in KINDS {
            let own = self.of_mut(kind);
            own.retain(|key, _| !propagations.manage(kind, key));
            own.extend(values.of(kind).clone());
        }
    }

    /// Writes those of `values` whose keys are missing here.
    pub fn fill_in(&mut self, values: &LabelsAndAnnotations<'a>) {
        for kind in KINDS {
            for (key, value) in values.of(kind) {
                self.of_mut(kind).entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    /// Gives the managed keys the values that `old` has for them.
    pub fn reset_managed(&mut self, propagations: &Propagations, old: &Self) {
        let mut managed = old.clone();
        for kind in KINDS {
            managed.of_mut(kind).retain(|key, _| propagations.manage(kind, key));
        }
        self.set_managed(propagations, &managed);
    }

    /// Whether a managed key is missing that must be there, or has a default.
    pub fn misses_guaranteed_key(&self, propagations: &Propagations) -> bool {
        propagations.guaranteed().any(|target| match &target.key {
            KeyPattern::Key(key) => !self.of(target.kind).contains_key(key.as_str()),
            KeyPattern::Prefix(prefix) => !self.of(target.kind).keys().any(|key| key.starts_with(prefix)),
        })
    }

    /// Whether a managed key has another value in `other`, or is only in one of the two.
    pub fn differs_in_managed(&self, propagations: &Propagations, other: &Self) -> bool {
        KINDS.into_iter().any(|kind| self.differing(other, kind).any(|key| propagations.manage(kind, key)))
    }

    /// The keys of a kind whose value here is not that in `other`, or that only one of them has.
    pub fn differing<'k>(&'k self, other: &'k Self, kind: TargetKind) -> impl Iterator<Item = &'k str> {
        let (own, theirs) = (self.of(kind), other.of(kind));
        let changed = own.iter().filter(|(key, value)| theirs.get(&***key) != Some(*value));
        let gone = theirs.iter().filter(|(key, _)| !own.contains_key(&***key));
        changed.chain(gone).map(|(key, _)| &**key)
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
        self.annotations.retain(|key, _| !removed.contains(&**key));
        removed
    }

    /// Puts these into `object`, from which `before` was read.
    ///
    /// # Errors
    /// The metadata can't be read.
    pub fn write(&self, object: &mut RawObject<'_>, before: &Self) -> Result<(), ReadError> {
        for kind in KINDS {
            if self.of(kind) != before.of(kind) {
                object.object_mut("metadata")?.set(kind.member(), self.of(kind)).within("metadata")?;
            }
        }
        Ok(())
    }

    /// The same, to be changed.
    pub const fn of_mut(&mut self, kind: TargetKind) -> &mut StringMap<'a> {
        match kind {
            TargetKind::Annotation => &mut self.annotations,
            TargetKind::Label => &mut self.labels,
        }
    }
}
