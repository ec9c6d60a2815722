//! Settings: what the administrator wrote, read a setting at a time.
//!
//! The host sends the settings with every request, and a request reads only the part that it needs: a mistake elsewhere
//! does not matter to it. So each block is a type whose functions read one setting each, and all know where it stands.
//! [`mistakes`] asks for all of them, once, before the policy serves; what it did not ask for is an unknown field.

mod choice;
mod contradictions;
mod demand;
mod earlier_entries;
mod field_path;
mod fields;
mod key;
mod mistake;
mod name_pattern;
mod namespace_entry;
mod node_metadata_block;
mod placement_block;
mod validate;
mod validate_node_metadata;
mod validate_placement;
mod validate_tolerations;

use json::{Object, Outline, Within};

pub use choice::{
    OnBindings, OnDaemonSets, OnExtendedResources, OnLookupFailure, OnNamespaces, OnNodeAffinity, OnNodeName, OnNodes,
    OnTolerationAnnotations, OnWorkloads,
};
pub use demand::{Demand, Mode, Origin, TolerationList};
pub use field_path::{FieldPath, Step};
pub use fields::Place;
pub use key::{KeyPattern, TargetKind};
pub use mistake::Mistake;
pub use name_pattern::NamePattern;
pub use namespace_entry::NamespaceEntry;
pub use node_metadata_block::{Fallback, MOST_WRITTEN, NodeMetadataBlock, Propagate, Source, Target};
pub use placement_block::{Placement, first_matching};
pub use validate::mistakes;

use crate::toleration::PluginConfig;
use fields::Fields;

const TOLERATION_PLUGIN_BLOCK: &str = "podTolerationRestrictionPluginConfig";

/// The settings, as they were written.
#[derive(Clone, Debug, Default)]
pub struct Settings(Object);

impl Settings {
    /// What of the settings is taken apart while the request is read.
    pub const OUTLINE: Outline = Outline::Object(&[
        (placement_block::BLOCK, placement_block::OUTLINE),
        (placement_block::PLUGIN_BLOCK, Outline::FLAT),
        (TOLERATION_PLUGIN_BLOCK, Outline::FLAT),
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
        if let Some(fields) = whole.block(placement_block::BLOCK)? {
            reject_plugins_beside(&whole)?;
            return Ok(Some(Placement::new(Mode::Placement, fields)));
        }
        let plugin = whole.block(placement_block::PLUGIN_BLOCK)?;
        Ok(plugin.map(|fields| Placement::new(Mode::Plugin, fields)))
    }

    /// The configuration of the in-tree plugin `PodTolerationRestriction`; nothing, without that block.
    ///
    /// # Errors
    /// A mistake in the block.
    pub fn toleration_plugin(&self) -> Result<Option<PluginConfig>, Mistake> {
        let config = match self.0.object(TOLERATION_PLUGIN_BLOCK) {
            Ok(Some(config)) => PluginConfig::read(config).within(TOLERATION_PLUGIN_BLOCK),
            Ok(None) => return Ok(None),
            Err(mismatch) => Err(mismatch),
        };
        config.map(Some).map_err(|mismatch| Mistake::mismatch(&"", mismatch))
    }

    /// What the settings say about node metadata; nothing, without that block.
    ///
    /// # Errors
    /// The block can't be read; mistakes in it matter only to those who read them.
    pub fn node_metadata(&self) -> Result<Option<NodeMetadataBlock<'_>>, Mistake> {
        Ok(Fields::whole(&self.0).block(node_metadata_block::BLOCK)?.map(NodeMetadataBlock::new))
    }
}

/// The block `placement` is the better one, and does all that the plugins do.
fn reject_plugins_beside(whole: &Fields<'_>) -> Result<(), Mistake> {
    for plugin in [placement_block::PLUGIN_BLOCK, TOLERATION_PLUGIN_BLOCK] {
        if whole.has(plugin) {
            let problem = format!("{} and {plugin} exclude each other; keep one of them", placement_block::BLOCK);
            return Err(Mistake::new(&"", &problem));
        }
    }
    Ok(())
}
