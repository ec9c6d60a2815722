//! Node metadata: a Pod learns about the node it landed on.
//!
//! - [`source`]: reads what the settings name from a Node.
//! - [`values`]: what is to be written, and its bounds.
//! - [`managed_keys`]: labels and annotations, and which of them the policy writes.
//! - [`changes`]: what becomes of them, and what the requester is told.
//! - [`room`]: whether a Pod has room for what is written.
//! - [`on_create`], [`on_update`], [`on_binding`], [`selected_labels`]: what is done when.
//!
//! The API server copies annotations and labels from a Binding to the Pod, in the write that sets `nodeName`, and
//! validates none of them.

use crate::settings::{Mistake, NodeMetadataBlock, OnLookupFailure, Propagate};

pub mod changes;
pub mod managed_keys;
pub mod on_binding;
pub mod on_create;
pub mod on_update;
pub mod room;
pub mod selected_labels;
pub mod source;
pub mod values;

/// What Pods learn about their node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMetadata {
    /// In order; of two that write the same key the later wins.
    pub propagate: Vec<Propagate>,
    /// What happens when the Node can't be read.
    pub on_lookup_failure: OnLookupFailure,
    /// Whether the keys written belong to the policy alone.
    pub protect: bool,
}

impl NodeMetadata {
    /// Reads `block`.
    ///
    /// # Errors
    /// The first mistake in it.
    pub fn read(block: &NodeMetadataBlock<'_>) -> Result<Self, Mistake> {
        Ok(Self {
            propagate: block.propagate()?,
            on_lookup_failure: block.on_lookup_failure()?,
            protect: block.protect()?,
        })
    }
}
