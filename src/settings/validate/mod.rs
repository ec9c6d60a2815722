//! Finds all mistakes in the settings, except those that their types find.
//!
//! - `in_placement`: mistakes in the block `placement`. `labels` has those of two lists of labels in it.
//! - `in_node_metadata`: mistakes in the block `nodeMetadata`.
//! - `selectors`: reads selectors, with stand-ins in place of references.
//! - `amounts`: settings that add too much to every Pod.

use std::fmt::Display;

use super::{NODE_METADATA, NODE_SELECTOR_PLUGIN, PLACEMENT, Settings, SettingsError};
use crate::selector::parse_pairs;

mod amounts;
mod in_node_metadata;
mod in_placement;
mod labels;
mod selectors;

pub use in_placement::first_not_allowed;
pub use selectors::SettingSelector;

/// Finds all mistakes in `text`, the settings as JSON. If it can't be read into the types of the settings, the result is
/// the first mistake.
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
        mistakes.add(&"", &format_args!("{PLACEMENT} and {NODE_SELECTOR_PLUGIN} exclude each other; keep one of them"));
    }
    if settings.placement.is_none() && node_selector_plugin.is_none() && settings.node_metadata.is_none() {
        let blocks = [PLACEMENT, NODE_SELECTOR_PLUGIN, NODE_METADATA];
        mistakes.add(&"", &format_args!("expected at least one of {}", blocks.join(", ")));
    }
    if let Some(placement) = &settings.placement {
        let propagate = settings.node_metadata.as_ref().map(|node_metadata| node_metadata.propagate.as_slice());
        in_placement::check(placement, propagate.unwrap_or_default(), &mut mistakes);
    }
    for (namespace, text) in node_selector_plugin.iter().flatten() {
        let pairs = parse_pairs(text.as_deref().unwrap_or_default());
        mistakes.check(&format_args!("{NODE_SELECTOR_PLUGIN}.{namespace}"), pairs);
    }
    if let Some(node_metadata) = &settings.node_metadata {
        in_node_metadata::check(node_metadata, &mut mistakes);
    }
    mistakes
}

/// The mistakes that were found.
#[derive(Debug, Default)]
pub struct Mistakes(pub Vec<SettingsError>);

impl Mistakes {
    /// Records a problem at `path`.
    #[cold]
    #[inline(never)]
    pub fn add(&mut self, path: &dyn Display, problem: &dyn Display) {
        self.0.push(SettingsError::new(path, problem.to_string()));
    }

    /// Records the problem at `path`, if there is one.
    pub fn add_if_some(&mut self, path: &dyn Display, problem: Option<String>) {
        if let Some(problem) = problem {
            self.add(path, &problem);
        }
    }

    /// Returns the value, or records the problem at `path` and returns `None`.
    pub fn check<T>(&mut self, path: &dyn Display, checked: Result<T, impl Display>) -> Option<T> {
        checked.map_err(|problem| self.add(path, &problem)).ok()
    }

    /// Returns the value, or records the mistake and returns `None`.
    pub fn ok_or_record<T>(&mut self, read: Result<T, SettingsError>) -> Option<T> {
        read.map_err(|mistake| self.0.push(mistake)).ok()
    }
}
