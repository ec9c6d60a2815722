//! A workload, from whose template Pods are made, is created or updated.

use crate::decision::Rejection;
use crate::node_metadata::propagation::Propagations;
use crate::node_metadata::selected_labels;
use crate::placement::workloads;
use crate::review::Review;
use crate::settings::Settings;

/// Judges the workload, and completes the template of a DaemonSet.
///
/// # Errors
/// The rejection.
pub fn judge(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    review.check_size()?;
    if let Some(propagations) = Propagations::of(settings)? {
        selected_labels::reject_managed(&propagations, review)?;
    }
    if let Some(placement) = &settings.placement {
        workloads::admit(review, placement)?;
    }
    if review.is_changed { review.check_size() } else { Ok(()) }
}
