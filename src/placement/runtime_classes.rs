//! RuntimeClasses: the API server merges what they bring into Pods before it asks, so that it looks like the Pod's own.

use super::judged::Judged;
use super::rules::Rules;
use crate::cluster::{Cluster, look_up_runtime_class};
use crate::decision::Rejection;

/// What `judge` says; where a whitelist refuses something, what it says when it is known what the RuntimeClass brings.
///
/// # Errors
/// Those of `judge`; the RuntimeClass can't be read.
pub fn judge_with_class<T>(
    judged: &mut Judged<'_>,
    cluster: &dyn Cluster,
    judge: impl Fn(&Judged<'_>) -> Result<T, Rejection>,
) -> Result<T, Rejection> {
    match judge(judged) {
        Err(rejection) if rejection.is_by_whitelist() && !judged.class_name.is_empty() => {
            judged.class = look_up_runtime_class(cluster, &judged.class_name)?;
            judge(judged)
        }
        answer => answer,
    }
}

/// Looks up what the RuntimeClass brings to the Pods of a `template`, which does not have it itself, if anything is
/// demanded.
///
/// # Errors
/// The RuntimeClass can't be read.
pub fn resolve_for(template: &mut Judged<'_>, rules: &Rules<'_>, cluster: &dyn Cluster) -> Result<(), Rejection> {
    let Rules { nodes, tolerations } = rules;
    let is_judged = !nodes.select_every_node() || nodes.whitelist.is_some() || tolerations.judge_anything();
    if is_judged && !template.class_name.is_empty() {
        template.class = look_up_runtime_class(cluster, &template.class_name)?;
    }
    Ok(())
}
