//! What a namespace may demand of its Pods, before anybody has seen the Namespace.

use std::borrow::Cow;

use super::asked::{Asked, SpecAt};
use super::demands::NamespaceDemands;
use crate::cluster::Cluster;
use crate::decision::Rejection;
use crate::field_masks::FieldMasks;
use crate::look_up;
use crate::settings::{Mistake, NamespaceEntry, OnTolerationAnnotations, Placement};

/// As much of what is demanded of the Pods of a namespace as its name tells.
#[derive(Debug)]
pub struct PossibleDemands<'s> {
    /// The settings that hold for all namespaces.
    pub settings: &'s Placement<'s>,
    /// The namespace.
    pub namespace: String,
    /// The entries one of which may hold for it.
    pub candidates: Vec<NamespaceEntry<'s>>,
    /// The keys of the annotations that count.
    pub annotations: Vec<Cow<'s, str>>,
}

impl<'s> PossibleDemands<'s> {
    /// Reads what may hold for `namespace`.
    ///
    /// # Errors
    /// A mistake in the settings.
    pub fn read(settings: &'s Placement<'s>, namespace: &str) -> Result<Self, Mistake> {
        Ok(Self {
            settings,
            namespace: namespace.to_owned(),
            candidates: settings.candidates(namespace)?,
            annotations: settings.annotations()?,
        })
    }

    /// What of the Namespace is needed to tell what holds for a Pod with this `spec`, or for one whose spec is not known:
    /// its annotations, if any of them count; its labels, if the first entry that could be about it is by labels, and it
    /// makes a difference which one is.
    ///
    /// # Errors
    /// The spec can't be read, or the settings have a mistake.
    pub fn field_masks(&self, spec: Option<SpecAt<'_>>) -> Result<FieldMasks, Rejection> {
        let mut masks = FieldMasks::default();
        if !self.annotations.is_empty() || self.honors_toleration_annotations()? {
            masks.add(FieldMasks::ANNOTATIONS);
        }
        if self.candidates.first().is_some_and(NamespaceEntry::needs_labels)
            && Asked::by(spec, self)?.depends_on_one_of(&self.candidates)
        {
            masks.add(FieldMasks::LABELS);
        }
        Ok(masks)
    }

    /// Whether the annotations of namespaces say what Pods tolerate.
    pub fn honors_toleration_annotations(&self) -> Result<bool, Mistake> {
        Ok(self.settings.on_toleration_annotations()? == OnTolerationAnnotations::Honor)
    }

    /// Whether an entry, or an annotation, may say what Pods may or must not tolerate.
    pub fn judge_tolerations(&self) -> Result<bool, Mistake> {
        Ok(self.candidates.iter().any(NamespaceEntry::judges_tolerations) || self.honors_toleration_annotations()?)
    }

    /// What the namespace does demand of a Pod with this `spec`, or of one whose spec is not known. Looks the Namespace up
    /// where it can matter.
    ///
    /// # Errors
    /// The Namespace can't be read; an annotation is malformed; demands contradict each other.
    pub fn look_up(self, spec: Option<SpecAt<'_>>, cluster: &impl Cluster) -> Result<NamespaceDemands<'s>, Rejection> {
        let masks = self.field_masks(spec)?;
        let namespace = look_up::namespace(&self.namespace, &masks, cluster)?;
        NamespaceDemands::of(self, namespace)
    }
}
