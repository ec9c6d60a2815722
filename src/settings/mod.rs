//! Settings: what the administrator wrote, as types that can't be wrong.
//!
//! The host sends the settings with every request. A request reads only the part that it needs, so a block is kept as
//! an [`Object`] until somebody asks; [`mistakes`] reads all of it, once, before the policy serves.

mod choice;
mod field_path;
mod key;
mod mistake;
mod node_metadata;
mod placement;
mod validate;

use json::{Object, Outline};

pub use choice::{OnBindings, OnDaemonSets, OnLookupFailure, OnNamespaces, OnNodeAffinity, OnNodeName, OnWorkloads};
pub use field_path::{FieldPath, Step};
pub use key::{KeyPattern, TargetKind};
pub use mistake::Mistake;
pub use node_metadata::{Fallback, NodeMetadata, Propagate, Source};
pub use placement::{Demand, Dialect, PodNodeSelector};
pub use validate::mistakes;

/// The settings, as they were written.
#[derive(Clone, Debug, Default)]
pub struct Settings<'a>(Object<'a>);

impl<'a> Settings<'a> {
    /// What of the settings is cut while the request is read.
    pub const OUTLINE: Outline = Outline::Object(&[
        (placement::BLOCK, Outline::Object(&[(placement::NAMESPACES, Outline::ListBy(placement::NAME))])),
        (node_metadata::BLOCK, Outline::Object(&[(node_metadata::PROPAGATE, Outline::List)])),
    ]);

    /// The settings in `object`.
    pub const fn of(object: Object<'a>) -> Self {
        Self(object)
    }

    /// What the settings say about placement in `namespace`; nothing, without a placement block.
    ///
    /// # Errors
    /// A mistake in what decides about this namespace; mistakes elsewhere do not matter.
    pub fn placement(&self, namespace: &str) -> Result<Option<PodNodeSelector<'a>>, Mistake> {
        match (self.block(placement::BLOCK)?, self.block(placement::PLUGIN_BLOCK)?) {
            (None, None) => Ok(None),
            (Some(block), None) => PodNodeSelector::full(block, namespace).map(Some),
            (None, Some(block)) => Ok(Some(PodNodeSelector::in_tree(block, namespace))),
            (Some(_), Some(_)) => Err(placement::both_blocks()),
        }
    }

    /// What the settings say about node metadata; nothing, without that block.
    ///
    /// # Errors
    /// The first mistake in the block.
    pub fn node_metadata(&self) -> Result<Option<NodeMetadata>, Mistake> {
        let mut mistakes = Vec::new();
        let read = self.block(node_metadata::BLOCK)?.map(|block| NodeMetadata::read(&block, &mut mistakes));
        mistakes.into_iter().next().map_or(Ok(read), Err)
    }

    /// Whether the settings say anything about node metadata.
    pub fn has_node_metadata(&self) -> bool {
        self.0.get(node_metadata::BLOCK).is_some()
    }

    /// Whether managed keys belong to the policy alone.
    ///
    /// # Errors
    /// A mistake in just this.
    pub fn protects(&self) -> Result<bool, Mistake> {
        self.block(node_metadata::BLOCK)?.map_or(Ok(false), |block| NodeMetadata::protects(&block))
    }

    fn block(&self, name: &str) -> Result<Option<Object<'a>>, Mistake> {
        self.0.object(name).map_err(|mismatch| Mistake::of(&"", mismatch))
    }
}
