//! Settings: what the administrator wrote, as types that can't be wrong.
//!
//! The host sends the settings with every request, and a request reads only the part that it needs: a mistake elsewhere
//! does not matter to it. So each block is a type whose functions read one setting each, and all know where it stands.
//! [`mistakes`] asks for all of them, once, before the policy serves; what it did not ask for is an unknown field.

mod choice;
mod field_path;
mod fields;
mod key;
mod mistake;
mod node_metadata_block;
mod placement_block;
mod validate;
mod validate_node_metadata;

use json::{Object, Outline};

pub use choice::{OnBindings, OnDaemonSets, OnLookupFailure, OnNamespaces, OnNodeAffinity, OnNodeName, OnWorkloads};
pub use field_path::{FieldPath, Step};
pub use fields::Place;
pub use key::{KeyPattern, TargetKind};
pub use mistake::Mistake;
pub use node_metadata_block::{Fallback, NodeMetadataBlock, Propagate, Source, Target};
pub use placement_block::{Demand, Mode, NamespaceEntry, Origin, Placement};
pub use validate::mistakes;

use fields::Fields;

/// The settings, as they were written.
#[derive(Clone, Debug, Default)]
pub struct Settings(Object);

impl Settings {
    /// What of the settings is taken apart while the request is read.
    pub const OUTLINE: Outline = Outline::Object(&[
        (placement_block::BLOCK, placement_block::OUTLINE),
        (placement_block::PLUGIN_BLOCK, Outline::FLAT),
        (node_metadata_block::BLOCK, node_metadata_block::OUTLINE),
    ]);

    /// The settings in `object`.
    pub const fn of(object: Object) -> Self {
        Self(object)
    }

    /// What the settings say about placement; nothing, without such a block.
    ///
    /// # Errors
    /// The block can't be read; mistakes in it matter only to those who read them.
    pub fn placement(&self) -> Result<Option<Placement<'_>>, Mistake> {
        let whole = Fields::whole(&self.0);
        match (whole.block(placement_block::BLOCK)?, whole.block(placement_block::PLUGIN_BLOCK)?) {
            (None, None) => Ok(None),
            (Some(fields), None) => Ok(Some(Placement::new(Mode::Placement, fields))),
            (None, Some(fields)) => Ok(Some(Placement::new(Mode::Plugin, fields))),
            (Some(_), Some(_)) => Err(placement_block::both_blocks()),
        }
    }

    /// What the settings say about node metadata; nothing, without that block.
    ///
    /// # Errors
    /// The block can't be read; mistakes in it matter only to those who read them.
    pub fn node_metadata(&self) -> Result<Option<NodeMetadataBlock<'_>>, Mistake> {
        Ok(Fields::whole(&self.0).block(node_metadata_block::BLOCK)?.map(NodeMetadataBlock::new))
    }
}
