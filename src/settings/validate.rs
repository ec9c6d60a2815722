//! Finds every mistake that the types of the settings don't find, at once.

use super::mistakes::Mistakes;
use super::{
    NODE_METADATA, NODE_SELECTOR_PLUGIN, PLACEMENT, Settings, SettingsError, TOLERATION_PLUGIN, validate_node_metadata,
    validate_placement,
};
use crate::selector;
use crate::toleration::PluginConfig;

/// Every mistake in `text`, the settings as JSON; the first, where it is not of the types of the settings.
pub fn mistakes(text: &str) -> Vec<SettingsError> {
    match Settings::read(Some(text)) {
        Ok(settings) => check(&settings).0,
        Err(error) => vec![error],
    }
}

fn check(settings: &Settings) -> Mistakes {
    let mut mistakes = Mistakes::default();
    let Settings {
        placement,
        pod_node_selector_plugin_config: node_selector_plugin,
        pod_toleration_restriction_plugin_config: toleration_plugin,
        node_metadata,
    } = settings;
    let plugins =
        [(NODE_SELECTOR_PLUGIN, node_selector_plugin.is_some()), (TOLERATION_PLUGIN, toleration_plugin.is_some())];
    let plugin = plugins.iter().find(|(_, is_there)| *is_there);
    match (placement, plugin) {
        (Some(_), Some((plugin, _))) => {
            mistakes.add(&"", format!("{PLACEMENT} and {plugin} exclude each other; keep one of them"));
        }
        (None, None) if node_metadata.is_none() => {
            let blocks = [PLACEMENT, NODE_SELECTOR_PLUGIN, TOLERATION_PLUGIN, NODE_METADATA];
            mistakes.add(&"", format!("expected at least one of {}", blocks.join(", ")));
        }
        _ => {}
    }
    if let Some(placement) = placement {
        validate_placement::check(placement, &mut mistakes);
    }
    for (namespace, text) in node_selector_plugin.iter().flatten() {
        if let Some(text) = text
            && let Err(error) = selector::parse_pairs(text)
        {
            mistakes.add(&format_args!("{NODE_SELECTOR_PLUGIN}.{namespace}"), error.to_string());
        }
    }
    if let Some(PluginConfig { default, whitelist }) = toleration_plugin {
        validate_placement::check_tolerations(&format!("{TOLERATION_PLUGIN}.default"), default, &mut mistakes);
        validate_placement::check_tolerations(&format!("{TOLERATION_PLUGIN}.whitelist"), whitelist, &mut mistakes);
    }
    if let Some(node_metadata) = node_metadata {
        validate_node_metadata::check(node_metadata, &mut mistakes);
    }
    mistakes
}
