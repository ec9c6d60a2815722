//! The in-tree admission plugin `PodTolerationRestriction`, where its own configuration is given.

use serde::Deserialize;

use super::tolerations::{self, TOLERATIONS};
use crate::decision::{Decision, Rejection};
use crate::json::{Raw, RawObject, ReadError, StringMap, Within};
use crate::pod_spec;
use crate::settings::Source;
use crate::toleration::{Merged, Operation, PluginConfig, PodTolerations, Refusal, Resources, admit};

/// What the plugin looks at in `pod`.
///
/// # Errors
/// The Pod can't be read.
pub fn tolerations_of(pod: &RawObject<'_>, operation: Operation) -> Result<PodTolerations, ReadError> {
    let own = match pod.object("spec")? {
        Some(spec) => tolerations::read(spec).within("spec")?,
        None => Vec::new(),
    };
    Ok(PodTolerations { operation, own, is_best_effort: is_best_effort(pod)? })
}

/// Whether the annotations of the namespace can make a difference to such a Pod.
pub const fn needs_annotations(tolerations: &PodTolerations) -> bool {
    matches!(tolerations.operation, Operation::Create) || !tolerations.own.is_empty() || !tolerations.is_best_effort
}

/// Gives `pod` the tolerations that the plugin would, in the namespace `namespace` with these `annotations`. Returns
/// whether anything changed.
///
/// # Errors
/// The plugin's own sentence, alone; or that an annotation is malformed.
pub fn write(
    pod: &mut RawObject<'_>,
    tolerations: &PodTolerations,
    namespace: &str,
    annotations: &StringMap<'_>,
    config: &PluginConfig,
    decision: &mut Decision<'_>,
) -> Result<bool, Rejection> {
    let merged = match admit(tolerations, annotations, config) {
        Ok(merged) => merged,
        Err(Refusal::Malformed { annotation, error }) => {
            let source = Source::Annotation { key: annotation, namespace };
            return Err(Rejection::forbidden(format!("{source} is not a list of tolerations: {error}")));
        }
        Err(conflict @ Refusal::Conflict { .. }) => return Err(Rejection::forbidden(conflict.to_string())),
    };
    if merged.changes_nothing(&tolerations.own) {
        return Ok(false);
    }
    replace(pod, &merged).within("object")?;
    let added: Vec<String> = merged.added.iter().map(ToString::to_string).collect();
    if !added.is_empty() {
        decision.audit("tolerations", added.join(","));
    }
    Ok(true)
}

/// Keeps those of the Pod's own tolerations that stay, as they came, and appends what was added.
fn replace(pod: &mut RawObject<'_>, merged: &Merged) -> Result<(), ReadError> {
    let list = pod.object_mut("spec")?.list_mut(TOLERATIONS).within("spec")?;
    let mut position = 0;
    let mut kept = merged.kept.iter().peekable();
    list.retain(|_| {
        let stays = kept.next_if(|kept| **kept == position).is_some();
        position += 1;
        stays
    });
    for toleration in &merged.added {
        list.push(Raw::written(toleration)?);
    }
    Ok(())
}

/// `PodStatus`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    qos_class: Option<String>,
}

/// Whether the Pod's quality of service is `BestEffort` (`GetPodQOS`): what its status says counts; resources of the
/// Pod as a whole hide those of its containers.
fn is_best_effort(pod: &RawObject<'_>) -> Result<bool, ReadError> {
    let status: Option<Status> = pod.get("status")?;
    let class = status.and_then(|status| status.qos_class).unwrap_or_default();
    if !class.is_empty() {
        return Ok(class == "BestEffort");
    }
    let Some(spec) = pod.object("spec")? else { return Ok(true) };
    if let Some(resources) = spec.get::<Resources>("resources").within("spec")? {
        return Ok(!resources.have_cpu_or_memory());
    }
    let of_containers = pod_spec::resources_of_containers(spec).within("spec")?;
    Ok(!of_containers.iter().any(Resources::have_cpu_or_memory))
}
