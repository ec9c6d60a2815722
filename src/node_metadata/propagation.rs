//! What the settings want to be copied, ready to be used; and which keys are managed.

use std::collections::BTreeSet;

use crate::cluster::{ANNOTATIONS, FieldMasks, LABELS};
use crate::json::Pairs;
use crate::settings::field_path::FieldPath;
use crate::settings::key::{KeyPattern, TargetKind, prefix_of};
use crate::settings::node_metadata::{NodeSource, Target};
use crate::settings::{NodeMetadata, Propagate, Settings, SettingsError};

/// What Pods learn about their node.
#[derive(Clone, Debug)]
pub struct Propagations<'s> {
    /// What the settings say.
    pub settings: &'s NodeMetadata,
    /// In order; of two that write the same key the later wins.
    pub entries: Vec<Propagation<'s>>,
    /// What is written: keys, and prefixes with their slash.
    targets: ByKind<BTreeSet<String>>,
}

/// Managed keys of an object, those that the policy writes, and their values.
pub type Managed<'a> = ByKind<Pairs<'a>>;

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
pub struct Propagation<'s> {
    /// The entry of the settings.
    pub entry: &'s Propagate,
    /// Where it stands on the Node.
    pub source: NodeSource,
    /// Where it goes on the Pod: at least one place. All are prefixes if the source is one, and none otherwise.
    pub targets: Vec<Target>,
}

impl<'s> Propagations<'s> {
    /// What `settings` say, if they say anything.
    ///
    /// # Errors
    /// An entry has no source, or a field by no path. Keys are not checked again: what is written is.
    pub fn of(settings: &'s Settings) -> Result<Option<Self>, SettingsError> {
        let Some(settings) = &settings.node_metadata else { return Ok(None) };
        let mut entries = Vec::with_capacity(settings.propagate.len());
        for (position, entry) in settings.propagate.iter().enumerate() {
            let source = entry.source(position)?;
            let targets = entry.targets(&source, position)?;
            entries.push(Propagation { entry, source, targets });
        }
        let mut targets: ByKind<BTreeSet<String>> = ByKind::default();
        for target in entries.iter().flat_map(|entry| &entry.targets) {
            targets.of_mut(target.kind).insert(target.key.text().to_owned());
        }
        Ok(Some(Self { settings, entries, targets }))
    }

    /// The host's field masks for what is read of a Node.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::default();
        for entry in &self.entries {
            masks.extend(match &entry.source {
                NodeSource::Label(_) => vec![LABELS.to_owned()],
                NodeSource::Annotation(_) => vec![ANNOTATIONS.to_owned()],
                NodeSource::Field(path) => path.masks(),
            });
        }
        masks
    }

    /// The field of the Node that each entry reads, if it reads one.
    pub fn fields(&self) -> Vec<Option<&FieldPath>> {
        let fields = self.entries.iter().map(|own| match &own.source {
            NodeSource::Field(path) => Some(path),
            NodeSource::Label(_) | NodeSource::Annotation(_) => None,
        });
        fields.collect()
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
        if self.settings.protect {
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
        let guaranteed = self.entries.iter().filter(|own| own.entry.required || own.entry.default.is_some());
        guaranteed.flat_map(|own| &own.targets)
    }

    /// How much all defaults come to, in bytes of keys and values.
    pub fn size_of_defaults(&self) -> usize {
        self.entries.iter().flat_map(|own| own.targets.iter().map(|target| own.size_of_default(target))).sum()
    }
}

impl Propagation<'_> {
    /// How much its default comes to at `target`, in bytes of key and value.
    pub fn size_of_default(&self, target: &Target) -> usize {
        self.entry.default.as_ref().map_or(0, |default| target.key.text().len() + default.len())
    }
}
