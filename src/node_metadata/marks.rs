//! The labels and annotations of an object, and how a plan changes them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use json::{Mismatch, StringMap};

use super::plan::Plan;
use super::room::LARGEST;
use crate::metadata::Metadata;
use crate::settings::{Fallback, KeyPattern, NodeMetadata, TargetKind};

/// The members of `metadata` that hold the keys of each kind.
const MEMBERS: [(TargetKind, &str); 2] = [(TargetKind::Annotation, "annotations"), (TargetKind::Label, "labels")];

/// An object's annotations and labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks<'a> {
    annotations: StringMap<'a>,
    labels: StringMap<'a>,
}

impl<'a> Marks<'a> {
    /// Reads those of `metadata`.
    pub fn read(metadata: &Metadata<'a>) -> Result<Self, Mismatch> {
        let map =
            |member| metadata.0.string_map(member).map_err(|mismatch: Mismatch| mismatch.within("object.metadata"));
        let [(_, annotations), (_, labels)] = MEMBERS;
        Ok(Self { annotations: map(annotations)?, labels: map(labels)? })
    }

    /// Writes `plan` over what stands here, and takes managed keys away that are not in it: only the policy tells a Pod
    /// about its node.
    pub fn overwrite(&mut self, settings: &NodeMetadata, plan: &Plan) {
        self.restore(settings, &Marks::default());
        for (kind, key, value) in plan.marks.iter() {
            self.set(kind, key.to_owned(), value.to_owned());
        }
    }

    /// Writes what `plan` has and is missing here.
    pub fn fill_in(&mut self, plan: &Plan) {
        for (kind, key, value) in plan.marks.iter() {
            if self.get(kind, key).is_none() {
                self.set(kind, key.to_owned(), value.to_owned());
            }
        }
    }

    /// Whether a managed key is missing that must be there, or has a default.
    pub fn lack(&self, settings: &NodeMetadata) -> bool {
        let sure = settings.propagate.iter().filter(|entry| entry.fallback != Fallback::Skip);
        sure.flat_map(|entry| &entry.targets).any(|(kind, pattern)| match pattern {
            KeyPattern::Key(key) => !self.of(*kind).contains_key(key),
            KeyPattern::Prefix(_) => !self.of(*kind).iter().any(|(key, _)| pattern.rest(key).is_some()),
        })
    }

    /// Gives the managed keys the values that `old` has for them.
    pub fn restore(&mut self, settings: &NodeMetadata, old: &Marks<'a>) {
        for (kind, _) in MEMBERS {
            let managed = |key: &str| is_managed(settings, kind, key);
            let restored = old.of(kind).iter().filter(|(key, _)| managed(key));
            let map = self.of_mut(kind);
            map.retain(|key| !managed(key));
            map.extend(restored.map(|(key, value)| (Cow::Owned(key.to_owned()), Cow::Owned(value.to_owned()))));
        }
    }

    /// The keys of a kind whose value in `self` is not that in `other`, or that only one of them has.
    pub fn differing<'m>(&'m self, other: &'m Self, kind: TargetKind) -> impl Iterator<Item = &'m str> {
        let (own, theirs) = (self.of(kind), other.of(kind));
        let changed = own.iter().filter(|(key, value)| theirs.get(key) != Some(*value));
        let gone = theirs.iter().filter(|(key, _)| !own.contains_key(key));
        changed.chain(gone).map(|(key, _)| key)
    }

    /// The annotations.
    pub const fn annotations(&self) -> &StringMap<'a> {
        &self.annotations
    }

    /// Whether a managed key has another value in `other`, or is only in one of them.
    pub fn differs_in_managed(&self, settings: &NodeMetadata, other: &Self) -> bool {
        MEMBERS.into_iter().any(|(kind, _)| self.differing(other, kind).any(|key| is_managed(settings, kind, key)))
    }

    /// Takes annotations away that `before` does not have so, the last first, until all are small enough for the API
    /// server. Returns their keys.
    pub fn make_fit(&mut self, before: &Self) -> BTreeSet<String> {
        let mut size: usize = self.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
        let mut removed = BTreeSet::new();
        let mut written: Vec<&str> = self.differing(before, TargetKind::Annotation).collect();
        while size > LARGEST
            && let Some(key) = written.pop()
        {
            if let Some(value) = self.annotations.get(key) {
                size -= key.len() + value.len();
                removed.insert(key.to_owned());
            }
        }
        if !removed.is_empty() {
            self.annotations.retain(|key| !removed.contains(key));
        }
        removed
    }

    /// The value of `key`.
    pub fn get(&self, kind: TargetKind, key: &str) -> Option<&str> {
        self.of(kind).get(key)
    }

    /// Gives `key` this value.
    pub fn set(&mut self, kind: TargetKind, key: String, value: String) {
        self.of_mut(kind).insert(Cow::Owned(key), Cow::Owned(value));
    }

    fn iter(&self) -> impl Iterator<Item = (TargetKind, &str, &str)> {
        MEMBERS.into_iter().flat_map(|(kind, _)| self.of(kind).iter().map(move |(key, value)| (kind, key, value)))
    }

    /// Puts these marks into `metadata`, where `before` stood.
    pub fn store(&self, before: &Self, metadata: &mut Metadata<'a>) -> Result<(), Mismatch> {
        for (kind, member) in MEMBERS {
            let mut object = metadata.0.object(member)?.unwrap_or_default();
            object.assign(before.of(kind), self.of(kind));
            metadata.0.set_object(member, object);
        }
        Ok(())
    }

    const fn of(&self, kind: TargetKind) -> &StringMap<'a> {
        match kind {
            TargetKind::Annotation => &self.annotations,
            TargetKind::Label => &self.labels,
        }
    }

    const fn of_mut(&mut self, kind: TargetKind) -> &mut StringMap<'a> {
        match kind {
            TargetKind::Annotation => &mut self.annotations,
            TargetKind::Label => &mut self.labels,
        }
    }
}

/// Whether `key` is one that the settings have the policy write: a *managed key*.
pub fn is_managed(settings: &NodeMetadata, kind: TargetKind, key: &str) -> bool {
    let mut targets = settings.propagate.iter().flat_map(|entry| &entry.targets);
    targets.any(|(own, pattern)| *own == kind && pattern.rest(key).is_some())
}
