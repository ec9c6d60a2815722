//! A Pod is created.

use crate::cluster::{Answer, NodeLookup, NodeName, look_up_namespace, look_up_node, no_such_node};
use crate::decision::Rejection;
use crate::field_masks::FieldMasks;
use crate::json::Within;
use crate::message::quote;
use crate::node_metadata::propagation::Propagations;
use crate::node_metadata::{env, on_create};
use crate::placement::toleration_plugin::{self, PodTolerations};
use crate::placement::{node_selector_plugin, pods};
use crate::pod_spec;
use crate::review::Review;
use crate::settings::Settings;

/// Judges and completes the Pod.
///
/// # Errors
/// The rejection.
pub fn judge(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    // The in-tree plugins know no exemption for mirror Pods, and neither do their configurations here.
    if review.request.is_about_mirror(&review.object)? {
        return run_plugins(review, settings);
    }
    review.check_size()?;
    let node_name = pod_spec::node_name(&review.object).within("object")?;
    let node = NodeName::new(&node_name);
    if node.is_none() && !node_name.is_empty() {
        return Err(no_such_node(&format!("{} names node {}", review.name, quote(&node_name))));
    }

    run_plugins(review, settings)?;
    let propagations = Propagations::of(settings)?;
    let (cluster, answer) = (review.cluster, Answer::new());
    // The Node is looked up once, for what placement and node metadata need of it.
    let look_up = |mut masks: FieldMasks| {
        masks.extend(&propagations.as_ref().map(Propagations::field_masks).unwrap_or_default());
        look_up_node(cluster, node.as_ref(), &masks, &answer)
    };
    let node = match &settings.placement {
        Some(placement) => pods::place(review, placement, look_up)?,
        None => look_up(FieldMasks::default()),
    };
    if let Some(propagations) = &propagations {
        on_create::write(propagations, review, &node)?;
        env::add(propagations, review).within("object")?;
    }
    if !review.is_changed {
        return Ok(());
    }
    if let NodeLookup::Found(node) = &node {
        review.decision.audit("node", node.name.as_str().to_owned());
    }
    review.check_size()
}

/// Gives the Pod what the in-tree plugins would, where their configurations are given.
fn run_plugins(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    let node_selectors = &settings.pod_node_selector_plugin_config;
    let tolerations = &settings.pod_toleration_restriction_plugin_config;
    if node_selectors.is_none() && tolerations.is_none() {
        return Ok(());
    }
    let answer = Answer::new();
    let annotations = look_up_namespace(review.cluster, &review.request.namespace, &answer)?.annotations;
    if let Some(config) = node_selectors {
        node_selector_plugin::write(review, &annotations, config)?;
    }
    if let Some(config) = tolerations {
        let tolerations = PodTolerations::of(&review.object, true).within("object")?;
        toleration_plugin::write(review, &tolerations, &annotations, config)?;
    }
    Ok(())
}
