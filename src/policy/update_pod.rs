//! A Pod, or its status, is updated.

use crate::cluster::{Answer, look_up_namespace};
use crate::decision::Rejection;
use crate::json::{StringMap, Within};
use crate::node_metadata::on_update;
use crate::node_metadata::propagation::Propagations;
use crate::placement::pods;
use crate::placement::toleration_plugin::{self, PodTolerations};
use crate::review::Review;
use crate::settings::Settings;
use crate::toleration::PluginConfig;

/// Judges the new Pod, undoes what others did to managed keys, and fills in what is missing.
///
/// # Errors
/// The rejection.
pub fn judge(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    let is_mirror = review.request.is_about_mirror(&review.object)?;
    if !is_mirror {
        review.check_size()?;
    }
    // The in-tree plugins know no exemption for mirror Pods, and neither do their configurations here.
    if let Some(config) = &settings.pod_toleration_restriction_plugin_config {
        restrict_tolerations(review, config)?;
    }
    if is_mirror {
        return Ok(());
    }
    if let Some(placement) = &settings.placement {
        pods::judge_update(review, placement)?;
    }
    if let Some(propagations) = Propagations::of(settings)? {
        on_update::write(&propagations, review)?;
    }
    if review.is_changed { review.check_size() } else { Ok(()) }
}

/// Undoes what somebody did to managed keys by way of the status.
///
/// # Errors
/// The rejection.
pub fn judge_status(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    match Propagations::of(settings)?.filter(|propagations| propagations.protect) {
        Some(propagations) if !review.request.is_about_mirror(&review.object)? => {
            on_update::write_status(&propagations, review)
        }
        _ => Ok(()),
    }
}

fn restrict_tolerations(review: &mut Review<'_>, config: &PluginConfig) -> Result<(), Rejection> {
    let tolerations = PodTolerations::of(&review.object, false).within("object")?;
    let answer = Answer::new();
    let mut annotations = StringMap::new();
    if tolerations.depend_on_namespace() {
        annotations = look_up_namespace(review.cluster, &review.request.namespace, &answer)?.annotations;
    }
    toleration_plugin::write(review, &tolerations, &annotations, config)
}
