//! Whether it can matter to a Pod what holds for its namespace.

use json::{Object, Within};

use super::node_selection::NodeSelection;
use super::possible_demands::PossibleDemands;
use super::tolerations;
use crate::decision::Rejection;
use crate::settings::{NamespaceEntry, OnExtendedResources};
use crate::toleration::AddedTo;

/// A PodSpec, and where in the request it stands.
#[derive(Clone, Copy, Debug)]
pub struct SpecAt<'s> {
    /// The PodSpec.
    pub spec: &'s Object,
    /// Its path.
    pub path: &'s str,
}

/// Whether there is anything that a whitelist could be about: in what a Pod asks for, and in what is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Certain nodes, by nodeSelector, node affinity, or the name of one.
    nodes: bool,
    /// Tolerations other than those that the cluster adds to every Pod.
    tolerations: bool,
}

impl Asked {
    /// What a PodSpec asks for, and what may be added to it that no entry says: by the settings for the whole cluster, and
    /// by the annotations of the Namespace. Without a PodSpec, as in a Binding, it may tolerate whatever is allowed.
    ///
    /// # Errors
    /// It can't be read, or the settings have a mistake.
    pub fn by(spec: Option<SpecAt<'_>>, possible: &PossibleDemands<'_>) -> Result<Self, Rejection> {
        let Some(SpecAt { spec, path }) = spec else { return Ok(Self { nodes: false, tolerations: true }) };
        let names_node = !spec.string("nodeName").within(path)?.is_empty();
        let selection = NodeSelection::read(spec).within(path)?;
        let tolerations = tolerations::read(spec).within(path)?;
        let settings = possible.settings;
        let adds_selector = !possible.annotations.is_empty()
            || settings.cluster_default()?.is_some_and(|demand| !demand.selector.is_empty());
        let adds_tolerations = possible.honors_toleration_annotations()?
            || settings.on_extended_resources()? == OnExtendedResources::Tolerate;
        Ok(Self {
            nodes: names_node || adds_selector || selection != NodeSelection::default(),
            // A node may have taints that what is added must tolerate.
            tolerations: names_node
                || adds_tolerations
                || !tolerations.iter().all(|toleration| AddedTo::AnyPod.has(toleration)),
        })
    }

    /// Whether it makes a difference which of `entries`, if any, holds for the Pod's namespace.
    pub fn depends_on_one_of(self, entries: &[NamespaceEntry<'_>]) -> bool {
        entries.iter().any(|entry| {
            entry.adds_anything()
                || (entry.limits_nodes() && self.nodes)
                || (entry.judges_tolerations() && self.tolerations)
        })
    }
}
