//! What the settings want to be copied, ready to be used; and which keys are managed.

use std::collections::BTreeSet;

use crate::cluster::{ANNOTATIONS, FieldMasks, LABELS};
use crate::settings::field_path::FieldPath;
use crate::settings::key::{KeyPattern, TargetKind, prefix_of};
use crate::settings::node_metadata::{NodeSource, Target};
use crate::settings::{NodeMetadata, OnLookupFailure, Propagate, Settings, SettingsError};

/// What Pods learn about their node.
#[derive(Clone, Debug)]
pub struct Propagations {
    /// In order; of two that write the same key the later wins.
    pub entries: Vec<Propagation>,
    /// What happens when the Node can't be read.
    pub on_lookup_failure: OnLookupFailure,
    /// Whether the keys written belong to the policy alone.
    pub protect: bool,
    /// What is written: keys, and prefixes with their slash.
    targets: ByKind<BTreeSet<String>>,
}

/// Both kinds of keys.
pub const KINDS: [TargetKind; 2] = [TargetKind::Annotation, TargetKind::Label];

/// One thing about annotations, and the same about labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByKind<T> {
    annotations: T,
    labels: T,
}

impl<T> ByKind<T> {
    /// The one about `kind`.
    pub const fn of(&self, kind: TargetKind) -> &T {
        match kind {
            TargetKind::Annotation => &self.annotations,
            TargetKind::Label => &self.labels,
        }
    }

    /// The one about `kind`, to be changed.
    pub const fn of_mut(&mut self, kind: TargetKind) -> &mut T {
        match kind {
            TargetKind::Annotation => &mut self.annotations,
            TargetKind::Label => &mut self.labels,
        }
    }
}

/// One thing that Pods learn.
#[derive(Clone, Debug)]
pub struct Propagation {
    /// Where it stands on the Node.
    pub source: NodeSource,
    /// Where it goes on the Pod: at least one place. All are prefixes if the source is one, and none otherwise.
    pub targets: Vec<Target>,
    /// What happens where the Node lacks it.
    pub fallback: Fallback,
    /// The environment variable that every container has it as.
    pub env: Option<String>,
}

/// What happens where the Node lacks the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Nothing is written.
    Skip,
    /// This is written.
    Default(String),
    /// The request is rejected.
    Required,
}

impl Propagations {
    /// What `settings` say, if they say anything.
    ///
    /// # Errors
    /// An entry has no source, or a field by no path. Keys are not checked again: what is written is.
    pub fn of(settings: &Settings) -> Result<Option<Self>, SettingsError> {
        let Some(NodeMetadata { propagate, on_lookup_failure, protect }) = &settings.node_metadata else {
            return Ok(None);
        };
        let mut entries = Vec::with_capacity(propagate.len());
        for (position, entry) in propagate.iter().enumerate() {
            entries.push(Propagation::of(entry, position)?);
        }
        let mut targets: ByKind<BTreeSet<String>> = ByKind::default();
        for target in entries.iter().flat_map(|entry| &entry.targets) {
            targets.of_mut(target.kind).insert(target.key.text().to_owned());
        }
        Ok(Some(Self { entries, on_lookup_failure: *on_lookup_failure, protect: *protect, targets }))
    }

    /// The host's field masks for what is read of a Node.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::default();
        for entry in &self.entries {
            match &entry.source {
                NodeSource::Label(_) => masks.push(LABELS.to_owned()),
                NodeSource::Annotation(_) => masks.push(ANNOTATIONS.to_owned()),
                NodeSource::Field(path) => masks.extend(path.masks()),
            }
        }
        masks
    }

    /// The fields of the Node that are read, in the order of their entries.
    pub fn fields(&self) -> Vec<&FieldPath> {
        let mut fields = Vec::new();
        for entry in &self.entries {
            if let NodeSource::Field(path) = &entry.source {
                fields.push(path);
            }
        }
        fields
    }

    /// Whether `key` is one that the policy writes.
    pub fn manages(&self, kind: TargetKind, key: &str) -> bool {
        self.names(kind, key) || prefix_of(key).is_some_and(|prefix| self.targets.of(kind).contains(prefix))
    }

    /// Whether an entry names `key` itself: then it alone says what is written there, not one with `*`.
    pub fn names(&self, kind: TargetKind, key: &str) -> bool {
        !key.ends_with('/') && self.targets.of(kind).contains(key)
    }

    /// Whether a Binding is sure to overwrite the annotation `key`. With `protect` no managed key comes so far;
    /// otherwise a Node may lack what an entry reads of it, or have only other keys of a prefix.
    pub fn is_sure_to_overwrite(&self, key: &str) -> bool {
        if self.protect {
            return self.manages(TargetKind::Annotation, key);
        }
        if !self.names(TargetKind::Annotation, key) {
            return false;
        }
        let mut guaranteed = self.guaranteed().filter(|target| target.kind == TargetKind::Annotation);
        guaranteed.any(|target| matches!(&target.key, KeyPattern::Key(own) if own == key))
    }

    /// The targets that are written whatever the Node has, or the request is rejected.
    pub fn guaranteed(&self) -> impl Iterator<Item = &Target> {
        let guaranteed = self.entries.iter().filter(|entry| entry.fallback != Fallback::Skip);
        guaranteed.flat_map(|entry| &entry.targets)
    }

    /// How much all defaults come to, in bytes of keys and values.
    pub fn size_of_defaults(&self) -> usize {
        let targets = self.entries.iter().flat_map(|entry| entry.targets.iter().map(move |target| (entry, target)));
        targets.map(|(entry, target)| entry.size_of_default(target)).sum()
    }
}

impl Propagation {
    fn of(entry: &Propagate, position: usize) -> Result<Self, SettingsError> {
        let source = entry.source(position)?;
        let targets = entry.targets(&source, position)?;
        let fallback = match &entry.default {
            Some(default) => Fallback::Default(default.clone()),
            None if entry.required => Fallback::Required,
            None => Fallback::Skip,
        };
        Ok(Self { source, targets, fallback, env: entry.env.clone() })
    }

    /// How much its default comes to at `target`, in bytes of key and value.
    pub fn size_of_default(&self, target: &Target) -> usize {
        match &self.fallback {
            Fallback::Default(default) => target.key.text().len() + default.len(),
            Fallback::Skip | Fallback::Required => 0,
        }
    }
}
