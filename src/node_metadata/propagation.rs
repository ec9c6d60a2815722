//! Reads the entries of `propagate`, and says which keys are managed.

use std::collections::BTreeSet;

use crate::cluster::{ANNOTATIONS, FieldMasks, LABELS};
use crate::json::Pairs;
use crate::settings::field_path::FieldPath;
use crate::settings::key::{KeyPattern, TargetKind, prefix_of};
use crate::settings::node_metadata_block::{NodeSource, Target};
use crate::settings::{NodeMetadata, Propagate, Settings, SettingsError};

/// The entries of `propagate`, ready to be used.
#[derive(Clone, Debug)]
pub struct Propagations<'s> {
    /// The settings.
    pub settings: &'s NodeMetadata,
    /// The entries, in order. If two write the same key, the later one wins.
    pub entries: Vec<Propagation<'s>>,
    /// The managed keys, and the managed prefixes with their slash.
    targets: ByKind<BTreeSet<String>>,
}

/// The managed keys of an object, and their values.
pub type Managed<'a> = ByKind<Pairs<'a>>;

/// Both kinds of keys.
pub const KINDS: [TargetKind; 2] = [TargetKind::Annotation, TargetKind::Label];

/// A pair of values: one for annotations, one for labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByKind<T> {
    annotations: T,
    labels: T,
}

impl<T> ByKind<T> {
    /// Returns the value for `kind`.
    pub const fn of(&self, kind: TargetKind) -> &T {
        match kind {
            TargetKind::Annotation => &self.annotations,
            TargetKind::Label => &self.labels,
        }
    }

    /// Returns the value for `kind`, to be changed.
    pub const fn of_mut(&mut self, kind: TargetKind) -> &mut T {
        match kind {
            TargetKind::Annotation => &mut self.annotations,
            TargetKind::Label => &mut self.labels,
        }
    }
}

/// An entry of `propagate`, ready to be used.
#[derive(Clone, Debug)]
pub struct Propagation<'s> {
    /// The entry of the settings.
    pub entry: &'s Propagate,
    /// The place of the value on the Node.
    pub source: NodeSource,
    /// The places on the Pod that the value is written to, at least one. If the source is a prefix, all of them are.
    pub targets: Vec<Target>,
}

impl<'s> Propagations<'s> {
    /// Reads the entries of `settings`. Returns `None` if they have no `nodeMetadata`.
    ///
    /// # Errors
    /// An entry has no source, or a field path that can't be read. Keys are not checked here, but when they are written.
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

    /// Returns the host's field masks for the sources.
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

    /// Returns the field of the Node for each entry, or `None` for labels and annotations.
    pub fn fields(&self) -> Vec<Option<&FieldPath>> {
        let fields = self.entries.iter().map(|propagation| match &propagation.source {
            NodeSource::Field(path) => Some(path),
            NodeSource::Label(_) | NodeSource::Annotation(_) => None,
        });
        fields.collect()
    }

    /// Returns whether `key` is managed.
    pub fn manages(&self, kind: TargetKind, key: &str) -> bool {
        self.names(kind, key) || prefix_of(key).is_some_and(|prefix| self.targets.of(kind).contains(prefix))
    }

    /// Returns whether an entry names `key` itself. Then no entry with `*` writes it.
    pub fn names(&self, kind: TargetKind, key: &str) -> bool {
        !key.ends_with('/') && self.targets.of(kind).contains(key)
    }

    /// Returns whether a Binding always overwrites the annotation `key`. With `protect`, that is every managed key. Without,
    /// only those of entries with `default` or `required`.
    pub fn is_sure_to_overwrite(&self, key: &str) -> bool {
        if self.settings.protect {
            return self.manages(TargetKind::Annotation, key);
        }
        if !self.names(TargetKind::Annotation, key) {
            return false;
        }
        let mut guaranteed = self.guaranteed().filter(|target| target.kind == TargetKind::Annotation);
        guaranteed.any(|target| matches!(&target.key, KeyPattern::Key(target) if target == key))
    }

    /// Returns the targets that are always written, or the request is rejected.
    pub fn guaranteed(&self) -> impl Iterator<Item = &Target> {
        let guaranteed =
            self.entries.iter().filter(|Propagation { entry, .. }| entry.required || entry.default.is_some());
        guaranteed.flat_map(|propagation| &propagation.targets)
    }

    /// Returns the size of all defaults, in bytes of keys and values.
    pub fn size_of_defaults(&self) -> usize {
        self.entries
            .iter()
            .map(|entry| entry.targets.iter().map(|target| entry.size_of_default(target)).sum::<usize>())
            .sum()
    }
}

impl Propagation<'_> {
    /// Returns the size of the default at `target`, in bytes of key and value.
    pub fn size_of_default(&self, target: &Target) -> usize {
        self.entry.default.as_ref().map_or(0, |default| target.key.text().len() + default.len())
    }
}
