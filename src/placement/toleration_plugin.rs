//! The in-tree admission plugin `PodTolerationRestriction`, where its own configuration is given.

use json::{Mismatch, Object, StringMap, Within};

use super::tolerations;
use crate::decision::{Decision, Rejection};
use crate::pod_spec;
use crate::settings::Origin;
use crate::toleration::{Merged, Operation, PluginConfig, PodTolerations, Refusal, admit, has_cpu_or_memory};

/// What the plugin looks at in `pod`.
///
/// # Errors
/// The Pod can't be read.
pub fn tolerations_of(pod: &Object, operation: Operation) -> Result<PodTolerations, Mismatch> {
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

/// Gives `pod` the tolerations that the plugin would, in the namespace `namespace` with these `annotations`.
///
/// # Errors
/// The plugin's own sentence, alone; or that an annotation is malformed.
pub fn write(
    pod: &mut Object,
    tolerations: &PodTolerations,
    namespace: &str,
    annotations: &StringMap,
    config: &PluginConfig,
    decision: &mut Decision,
) -> Result<(), Rejection> {
    let merged = match admit(tolerations, annotations, config) {
        Ok(merged) => merged,
        Err(Refusal::Malformed { annotation, error }) => {
            let origin = Origin::Annotation { key: annotation.to_owned(), namespace: namespace.to_owned() };
            return Err(Rejection::forbidden(format!("{origin} is not a list of tolerations: {error}")));
        }
        Err(conflict @ Refusal::Conflict { .. }) => return Err(Rejection::forbidden(conflict.to_string())),
    };
    if merged.changes_nothing(&tolerations.own) {
        return Ok(());
    }
    replace(pod, &merged).within("object")?;
    let added: Vec<String> = merged.added.iter().map(ToString::to_string).collect();
    if !added.is_empty() {
        decision.audit("tolerations", added.join(","));
    }
    Ok(())
}

/// Keeps those of the Pod's own tolerations that stay, as they came, and appends what was added.
fn replace(pod: &mut Object, merged: &Merged) -> Result<(), Mismatch> {
    let list = pod.object_mut("spec")?.list_mut("tolerations").within("spec")?;
    let mut position = 0;
    let mut kept = merged.kept.iter().peekable();
    list.retain(|_| {
        let stays = kept.next_if(|kept| **kept == position).is_some();
        position += 1;
        stays
    });
    for toleration in &merged.added {
        list.push(Object::from(toleration));
    }
    Ok(())
}

/// Whether the Pod's quality of service is `BestEffort` (`GetPodQOS`): what its status says counts; resources of the Pod as
/// a whole hide those of its containers.
fn is_best_effort(pod: &Object) -> Result<bool, Mismatch> {
    if let Some(status) = pod.object("status")? {
        let class = status.string("qosClass").within("status")?;
        if !class.is_empty() {
            return Ok(class == "BestEffort");
        }
    }
    let Some(spec) = pod.object("spec")? else { return Ok(true) };
    if let Some(resources) = spec.object("resources").within("spec")? {
        return Ok(!has_cpu_or_memory(resources).within("spec.resources")?);
    }
    let of_containers = pod_spec::resources_of_containers(spec, has_cpu_or_memory).within("spec")?;
    Ok(!of_containers.contains(&true))
}
