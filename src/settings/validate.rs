//! Reads all settings, and finds every mistake in them at once.

use json::{Kind, Object, Outline, Value};

use super::fields::Fields;
use super::mistake::Mistakes;
use super::placement_block::{BLOCK, PLUGIN_BLOCK};
use super::{
    Mistake, Mode, NodeMetadataBlock, Placement, Settings, TOLERATION_PLUGIN_BLOCK, node_metadata_block,
    reject_plugins_beside, validate_node_metadata, validate_placement, validate_tolerations,
};

/// Every mistake in `text`, the settings as JSON; none, if they are valid.
pub fn mistakes(text: &str) -> Vec<Mistake> {
    let mut mistakes = Mistakes::default();
    match Value::parse(text, &Outline::FLAT) {
        Err(error) => mistakes.add(Mistake::new(&"", &format!("the settings are not JSON: {error}"))),
        Ok(value) if value.kind() == Kind::Null => check(&Object::new(), &mut mistakes),
        Ok(value) => match value.object() {
            Ok(settings) => check(settings, &mut mistakes),
            Err(mismatch) => mistakes.add(Mistake::mismatch(&"", mismatch)),
        },
    }
    mistakes.into_vec()
}

fn check(object: &Object, mistakes: &mut Mistakes) {
    let whole = Fields::whole_to_validate(object);
    let blocks = [BLOCK, PLUGIN_BLOCK, TOLERATION_PLUGIN_BLOCK, node_metadata_block::BLOCK];
    let [placement, plugin, toleration_plugin, node_metadata] = blocks.map(|name| whole.block(name));
    whole.reject_unknown(mistakes);
    if !blocks.iter().any(|name| whole.has(name)) {
        let problem = format!("expected at least one of {}", blocks.join(", "));
        mistakes.add(Mistake::new(&"", &problem));
    }
    if whole.has(BLOCK) {
        mistakes.unless(reject_plugins_beside(&whole));
    }
    if let Some(Some(fields)) = mistakes.unless(placement) {
        validate_placement::check(&Placement::new(Mode::Placement, fields), mistakes);
    }
    if let Some(Some(fields)) = mistakes.unless(plugin) {
        validate_placement::check_plugin_config(&Placement::new(Mode::Plugin, fields), mistakes);
    }
    if let Some(Some(fields)) = mistakes.unless(toleration_plugin)
        && let Some(Some(config)) = mistakes.unless(Settings(object.clone()).toleration_plugin())
    {
        validate_tolerations::check_plugin_config(&fields, &config, mistakes);
    }
    if let Some(Some(fields)) = mistakes.unless(node_metadata) {
        validate_node_metadata::check(&NodeMetadataBlock::new(fields), mistakes);
    }
}
