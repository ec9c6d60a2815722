//! The in-tree admission plugin `PodNodeSelector`, where its own configuration is given: its parser, its sentences, its
//! order.

use super::conflict::SELECTOR_CONFLICT;
use super::entry::read_annotation;
use super::node_affinity::NODE_SELECTOR;
use super::subject::SPEC;
use super::whitelist::NOT_ALLOWED;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::json::{Pairs, Within};
use crate::message::joined;
use crate::review::Review;
use crate::selector::{Selector, Whitelist, parse_pairs};
use crate::settings::placement::{CLUSTER_DEFAULT_NODE_SELECTOR, IN_TREE_ANNOTATION};
use crate::settings::{PodNodeSelectorPluginConfig, SettingsError, Source};

/// What is added to Pods of `namespace`, as it is written: its annotation, or what the configuration has as default.
pub fn demanded<'s, 't>(
    config: &'t PodNodeSelectorPluginConfig,
    namespace: &'s str,
    annotations: &'t Pairs<'_>,
) -> (Source<'s>, &'t str) {
    match annotations.get(IN_TREE_ANNOTATION) {
        Some(text) => (Source::Annotation { key: IN_TREE_ANNOTATION, namespace }, text),
        None => configured(config, CLUSTER_DEFAULT_NODE_SELECTOR),
    }
}

/// What the configuration has under `key`, as it is written; empty, if that is nothing. Under the name of a namespace
/// it has what Pods there may ask for.
pub fn configured<'s, 't>(config: &'t PodNodeSelectorPluginConfig, key: &'s str) -> (Source<'s>, &'t str) {
    (Source::PluginConfig(key), config.get(key).and_then(Option::as_deref).unwrap_or_default())
}

/// Reads the selector `text`, which stands at `source`.
///
/// # Errors
/// It is malformed.
pub fn read(source: Source<'_>, text: &str) -> Result<Selector, Rejection> {
    match source {
        Source::Annotation { .. } => read_annotation("a node selector", source, text, usize::MAX, parse_pairs),
        _ => Ok(parse_pairs(text).map_err(|error| SettingsError::new(&source, error))?),
    }
}

/// Gives the Pod the pairs that the plugin would, in a namespace with these `annotations`.
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
    let reject = |sentence: &str, source: Source<'_>, (key, value): (&str, &str), required: String| {
        let cause = Cause {
            kind: CauseKind::Requests,
            setting: source.setting(),
            annotation: source.annotation(),
            namespace: Some(namespace.to_owned()),
            label: Some(key.to_owned()),
            required: Some(required),
            requested: Some(format!("{key}={value}")),
            ..Cause::default()
        };
        Err(Rejection::with_sentence(sentence, cause, ""))
    };
    let (source, text) = demanded(config, namespace, annotations);
    let demanded = read(source, text)?;
    let pairs: Option<Pairs<'_>> = review.object.get_at(&["spec", NODE_SELECTOR]).within("object")?;
    let pairs = pairs.unwrap_or_default();
    let mut added = Vec::new();
    for requirement in demanded.requirements() {
        let (key, value) = (requirement.key(), requirement.only_value().unwrap_or_default());
        match pairs.get(key) {
            Some(own) if own != value => {
                return reject(SELECTOR_CONFLICT, source, (key, own), requirement.to_string());
            }
            Some(_) => {}
            None => added.push((key, value)),
        }
    }
    let (allowing, text) = configured(config, namespace);
    let whitelist = Whitelist::new(read(allowing, text)?, Vec::new());
    let mut all = pairs.iter().chain(added.iter().copied());
    if !whitelist.is_empty()
        && let Some(pair) = all.find(|(key, value)| !whitelist.allows_value(key, value))
    {
        return reject(NOT_ALLOWED, allowing, pair, whitelist.selector().to_string());
    }
    if !added.is_empty() {
        let spec = review.object.object_mut("spec").within("object")?;
        spec.rewrite(NODE_SELECTOR, &|_, _| true, &mut added.iter().copied()).within(SPEC)?;
        review.is_changed = true;
        let added = joined(added.iter().map(|(key, value)| format!("{key}={value}")), ",");
        review.decision.audit("node-selector", added);
        review.decision.audit("node-selector-source", source.to_string());
    }
    Ok(())
}
