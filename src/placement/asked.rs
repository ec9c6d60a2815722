//! Whether it can matter to a Pod what holds for its namespace.

use json::{Mismatch, Object, Within};

use super::node_selection::NodeSelection;
use super::tolerations;
use crate::settings::{Mistake, NamespaceEntry, OnExtendedResources, Placement};
use crate::toleration::AddedTo;

/// A PodSpec, and where in the request it stands.
#[derive(Clone, Copy, Debug)]
pub struct SpecAt<'s> {
    /// The PodSpec.
    pub spec: &'s Object,
    /// Its path.
    pub path: &'s str,
}

/// Whether a Pod asks for anything that a whitelist could be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// For certain nodes, by its nodeSelector, its node affinity, or the name of one.
    nodes: bool,
    /// To tolerate anything but what the cluster adds to every Pod.
    tolerations: bool,
}

impl Asked {
    /// What a PodSpec asks for; without one, nothing is judged by a whitelist.
    ///
    /// # Errors
    /// It can't be read.
    pub fn by(spec: Option<SpecAt<'_>>) -> Result<Self, Mismatch> {
        let Some(SpecAt { spec, path }) = spec else { return Ok(Self { nodes: false, tolerations: false }) };
        let names_node = !spec.string("nodeName").within(path)?.is_empty();
        let selection = NodeSelection::read(spec).within(path)?;
        let tolerations = tolerations::read(spec).within(path)?;
        Ok(Self {
            nodes: names_node || selection != NodeSelection::default(),
            // A node may have taints that what is added must tolerate.
            tolerations: names_node || !tolerations.iter().all(|toleration| AddedTo::AnyPod.has(toleration)),
        })
    }

    /// Whether it makes a difference which of `entries`, if any, holds for the Pod's namespace.
    ///
    /// # Errors
    /// A mistake in the settings.
    pub fn depends_on_one_of(self, entries: &[NamespaceEntry<'_>], settings: &Placement<'_>) -> Result<bool, Mistake> {
        let adds_tolerations = settings.on_extended_resources()? == OnExtendedResources::Tolerate;
        let adds_selector = settings.cluster_default()?.is_some_and(|demand| !demand.selector.is_empty());
        Ok(entries.iter().any(|entry| {
            entry.adds_anything()
                || (entry.limits_nodes() && (self.nodes || adds_selector))
                || (entry.judges_tolerations() && (self.tolerations || adds_tolerations))
        }))
    }
}
