//! The in-tree admission plugin `PodNodeSelector`, where its own configuration is given: its parser, its sentences, its
//! order.

use super::conflict::CONFLICT;
use super::node_selection::NODE_SELECTOR;
use super::references::read_annotation;
use super::subject::SPEC;
use super::whitelist::NOT_ALLOWED;
use crate::decision::{CauseKind, Rejection};
use crate::json::{Pairs, Within};
use crate::review::Review;
use crate::selector::{Requirement, Selector, parse_pairs, text};
use crate::settings::placement::IN_TREE_ANNOTATION;
use crate::settings::{PodNodeSelectorPluginConfig, SettingsError, Source};

/// The key of the configuration that holds what is added to Pods of namespaces without an annotation.
const CLUSTER_DEFAULT: &str = "clusterDefaultNodeSelector";

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
    let of_config = |key| config.get(key).and_then(Option::as_deref);
    let what = ("a node selector", IN_TREE_ANNOTATION);
    let annotated = read_annotation(what, namespace, annotations, usize::MAX, parse_pairs)?;
    let (demanded, source) = if let Some(annotated) = annotated {
        annotated
    } else {
        let source = Source::PluginConfig(CLUSTER_DEFAULT);
        (parse(source, of_config(CLUSTER_DEFAULT))?, source)
    };
    let pairs: Option<Pairs<'_>> = review.object.get_at(&["spec", NODE_SELECTOR]).within("object")?;
    let pairs = pairs.unwrap_or_default();
    let mut added: Vec<Requirement> = Vec::new();
    for requirement in demanded.requirements() {
        let Some(value) = requirement.only_value() else { continue };
        match pairs.get(requirement.key()) {
            Some(own) if own != value => {
                let rejection = Rejection::with_sentence(CauseKind::Asks, CONFLICT, "").demanded_at(source);
                let rejection = rejection.in_namespace(namespace).about_label(requirement.key()).demanding(requirement);
                return Err(rejection.asking_for(&format_args!("{}={}", requirement.key(), own)));
            }
            Some(_) => {}
            None => added.push(requirement.clone()),
        }
    }
    let allowing = Source::PluginConfig(namespace);
    let whitelist = parse(allowing, of_config(namespace))?;
    let added_pairs = added.iter().filter_map(|requirement| Some((requirement.key(), requirement.only_value()?)));
    let mut refused = pairs.iter().chain(added_pairs).filter(|(key, value)| !is_allowed(&whitelist, key, value));
    if !whitelist.is_empty()
        && let Some((key, value)) = refused.next()
    {
        let rejection = Rejection::with_sentence(CauseKind::Asks, NOT_ALLOWED, "").demanded_at(allowing);
        let rejection = rejection.in_namespace(namespace).about_label(key).demanding(&whitelist);
        return Err(rejection.asking_for(&format_args!("{key}={value}")));
    }
    if !added.is_empty() {
        let spec = review.object.object_mut("spec").within("object")?;
        let mut pairs = added.iter().filter_map(|requirement| Some((requirement.key(), requirement.only_value()?)));
        spec.rewrite(NODE_SELECTOR, &|_, _| true, &mut pairs).within(SPEC)?;
        review.is_changed = true;
        review.decision.audit("node-selector", text(&added));
        review.decision.audit("node-selector-source", source.to_string());
    }
    Ok(())
}

fn is_allowed(whitelist: &Selector, key: &str, value: &str) -> bool {
    whitelist.on(key).iter().any(|requirement| requirement.accepts(Some(value)))
}

fn parse(source: Source<'_>, text: Option<&str>) -> Result<Selector, SettingsError> {
    parse_pairs(text.unwrap_or_default()).map_err(|error| SettingsError::new(&source, error.to_string()))
}
