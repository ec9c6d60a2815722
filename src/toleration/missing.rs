//! What of the tolerations that a Pod should have it lacks.

use super::Toleration;

/// Those of `wanted` that must be appended to `own`, in order: all that nothing [covers](Toleration::covers) by then,
/// neither one of its own nor one that was appended before.
pub fn missing(own: &[Toleration], wanted: Vec<Toleration>) -> Vec<Toleration> {
    let mut missing: Vec<Toleration> = Vec::new();
    for toleration in wanted {
        if !own.iter().chain(&missing).any(|covering| covering.covers(&toleration)) {
            missing.push(toleration);
        }
    }
    missing
}
