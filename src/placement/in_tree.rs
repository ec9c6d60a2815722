//! The in-tree admission plugin `PodNodeSelector`, for its own configuration: its parser, its sentences, its order.

use super::conflict::SELECTOR_CONFLICT;
use super::node_affinity::NODE_SELECTOR;
use super::requests::NOT_ALLOWED;
use super::resolve::read_annotation;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::json::{Pairs, Within};
use crate::object_meta::SPEC;
use crate::review::Review;
use crate::selector::{Selector, Whitelist, parse_pairs, read_pairs};
use crate::settings::placement_block::{CLUSTER_DEFAULT_NODE_SELECTOR, IN_TREE_ANNOTATION};
use crate::settings::{PodNodeSelectorPluginConfig, SettingsError, Source};

/// Returns the text of the selector that is added to Pods of `namespace`: its annotation, or the default of the
/// configuration.
pub fn required<'s, 't>(
    config: &'t PodNodeSelectorPluginConfig,
    namespace: &'s str,
    annotations: &'t Pairs<'_>,
) -> (Source<'s>, &'t str) {
    match annotations.get(IN_TREE_ANNOTATION) {
        Some(text) => (Source::Annotation { key: IN_TREE_ANNOTATION, namespace }, text),
        None => configured(config, CLUSTER_DEFAULT_NODE_SELECTOR),
    }
}

/// Returns the text of the selector under `key`, or an empty one. Under the name of a namespace, that is its whitelist.
pub fn configured<'s, 't>(config: &'t PodNodeSelectorPluginConfig, key: &'s str) -> (Source<'s>, &'t str) {
    (Source::PluginConfig(key), config.get(key).and_then(Option::as_deref).unwrap_or_default())
}

/// Reads the selector `text` of `source`.
///
/// # Errors
/// It is malformed.
pub fn read(source: Source<'_>, text: &str) -> Result<Selector, Rejection> {
    parse(source, text, parse_pairs)
}

fn parse<'t, T>(
    source: Source<'_>,
    text: &'t str,
    parse: impl FnOnce(&'t str) -> Result<T, String>,
) -> Result<T, Rejection> {
    match source {
        Source::Annotation { .. } => read_annotation("a node selector", source, text, usize::MAX, parse),
        _ => Ok(parse(text).map_err(|error| SettingsError::new(&source, error))?),
    }
}

/// Gives the Pod the pairs that the plugin would, in a namespace with these `annotations`. An annotation may have 50,000
/// pairs: they stay pieces of its text.
///
/// # Errors
/// The plugin's own sentence, alone; or that an annotation is malformed.
///
/// Upstream: `Admit` and `Validate` of the plugin.
pub fn admit(
    review: &mut Review<'_>,
    annotations: &Pairs<'_>,
    config: &PodNodeSelectorPluginConfig,
) -> Result<(), Rejection> {
    let namespace = &*review.request.namespace;
    let (source, text) = required(config, namespace, annotations);
    let required = parse(source, text, read_pairs)?;
    let selected: Option<Pairs<'_>> = review.object.get_at(&["spec", NODE_SELECTOR]).within("object")?;
    let selected = selected.unwrap_or_default();
    for (key, value) in &required {
        if let Some(other) = selected.get(key).filter(|other| other != value) {
            let required = format!("{key}={value}");
            return Err(rejection(SELECTOR_CONFLICT, source, namespace, (key, other), &required));
        }
    }
    let mut added = required.iter().map(|(key, value)| (*key, *value)).filter(|(key, _)| !selected.contains_key(key));
    let (allowing, allowed) = configured(config, namespace);
    let whitelist = Whitelist::new(read(allowing, allowed)?, Vec::new());
    let mut all = selected.iter().chain(added.clone());
    if !whitelist.is_empty()
        && let Some(pair) = all.find(|(key, value)| !whitelist.allows_value(key, value))
    {
        let allowed = whitelist.selector().to_string();
        return Err(rejection(NOT_ALLOWED, allowing, namespace, pair, &allowed));
    }
    if added.clone().next().is_none() {
        return Ok(());
    }
    let mut text = String::new();
    for (key, value) in added.clone() {
        let comma = if text.is_empty() { "" } else { "," };
        text.extend([comma, key, "=", value]);
    }
    review.decision.audit("node-selector", &text);
    review.decision.audit("node-selector-source", &source.to_string());
    let spec = review.object.change().object_mut("spec").within("object")?;
    spec.rewrite(NODE_SELECTOR, &|_, _| true, &mut added).within(SPEC).within("object")?;
    Ok(())
}

/// Returns the plugin's own rejection of a `pair` of the Pod.
fn rejection(
    sentence: &str,
    source: Source<'_>,
    namespace: &str,
    (key, value): (&str, &str),
    required: &str,
) -> Rejection {
    let cause = Cause::new(CauseKind::Requests).at(source).label(key).required(&required);
    let cause = cause.requested(&format_args!("{key}={value}"));
    Rejection::with_sentence(sentence, cause, "").in_namespace(namespace)
}
