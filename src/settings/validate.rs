//! Finds every mistake that the types of the settings don't find, at once.
//!
//! - `placement`, with `reached`, `node_selectors` and `tolerations` for its entries
//! - `node_metadata`
//! - `selector`: what both an entry and the block say as a selector
//! - `mistakes`: where what they find is collected

mod mistakes;
mod node_metadata;
mod node_selectors;
mod placement;
mod reached;
mod selector;
mod tolerations;

use self::mistakes::Mistakes;
use super::{NODE_METADATA, NODE_SELECTOR_PLUGIN, PLACEMENT, Settings, SettingsError};
use crate::selector::parse_pairs;

/// Every mistake in `text`, the settings as JSON; the first, where it is not of the types of the settings.
pub fn mistakes(text: &str) -> Vec<SettingsError> {
    match Settings::read(Some(text)) {
        Ok(settings) => check(&settings).0,
        Err(error) => vec![error],
    }
}

fn check(settings: &Settings) -> Mistakes {
    let mut mistakes = Mistakes::default();
    let node_selector_plugin = &settings.pod_node_selector_plugin_config;
    if settings.placement.is_some() && node_selector_plugin.is_some() {
        mistakes.add(&"", format!("{PLACEMENT} and {NODE_SELECTOR_PLUGIN} exclude each other; keep one of them"));
    }
    if settings.placement.is_none() && node_selector_plugin.is_none() && settings.node_metadata.is_none() {
        let blocks = [PLACEMENT, NODE_SELECTOR_PLUGIN, NODE_METADATA];
        mistakes.add(&"", format!("expected at least one of {}", blocks.join(", ")));
    }
    if let Some(placement) = &settings.placement {
        placement::check(placement, &mut mistakes);
    }
    for (namespace, text) in node_selector_plugin.iter().flatten() {
        let pairs = parse_pairs(text.as_deref().unwrap_or_default());
        mistakes.check(&format_args!("{NODE_SELECTOR_PLUGIN}.{namespace}"), pairs);
    }
    if let Some(node_metadata) = &settings.node_metadata {
        node_metadata::check(node_metadata, &mut mistakes);
    }
    mistakes
}
