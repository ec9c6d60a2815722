//! The in-tree admission plugin `PodTolerationRestriction`, where its own configuration is given.

use super::annotation;
use super::toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION};
use super::tolerations::{CONFLICT, TOLERATIONS, in_words};
use crate::decision::{CauseKind, Rejection};
use crate::json::{Raw, RawObject, ReadError, StringMap, Within};
use crate::pod_spec;
use crate::review::Review;
use crate::toleration::{
    Merged, PluginConfig, Resources, Toleration, from_annotation, is_allowed, merge, of_memory_pressure,
};

/// What the plugin looks at in a Pod.
#[derive(Clone, Debug)]
pub struct PodTolerations {
    /// Whether the Pod is created, and not updated.
    pub is_created: bool,
    /// Its tolerations.
    pub own: Vec<Toleration>,
    /// Whether its quality of service is `BestEffort`.
    pub is_best_effort: bool,
}

impl PodTolerations {
    /// Those of `pod`.
    ///
    /// # Errors
    /// The Pod can't be read.
    pub fn of(pod: &RawObject<'_>, is_created: bool) -> Result<Self, ReadError> {
        let own = pod.get_at(&["spec", TOLERATIONS])?.unwrap_or_default();
        Ok(Self { is_created, own, is_best_effort: is_best_effort(pod)? })
    }

    /// Whether the annotations of the namespace can make a difference.
    pub const fn depend_on_namespace(&self) -> bool {
        self.is_created || !self.own.is_empty() || !self.is_best_effort
    }
}

/// Gives the Pod the tolerations that the plugin would, in a namespace with these `annotations`.
///
/// # Errors
/// The plugin's own sentence, alone; or that an annotation is malformed.
pub fn write(
    review: &mut Review<'_>,
    pod: &PodTolerations,
    annotations: &StringMap<'_>,
    config: &PluginConfig,
) -> Result<(), Rejection> {
    let merged = admit(pod, &review.request.namespace, annotations, config)?;
    if merged.changes_nothing(&pod.own) {
        return Ok(());
    }
    replace(&mut review.object, &merged).within("object")?;
    review.is_changed = true;
    if !merged.added.is_empty() {
        review.decision.audit("tolerations", in_words(&merged.added));
    }
    Ok(())
}

/// What becomes of the Pod's tolerations, given the `annotations` of its `namespace`.
///
/// The defaults are only read, and only added, at CREATE. The whitelist is only read if the Pod then tolerates
/// anything; it judges everything, whoever wrote it.
///
/// # Errors
/// An annotation that is needed can't be read, or the whitelist does not allow what results.
///
/// Upstream: `Plugin.Admit` and `Plugin.Validate`.
pub fn admit(
    pod: &PodTolerations,
    namespace: &str,
    annotations: &StringMap<'_>,
    config: &PluginConfig,
) -> Result<Merged, Rejection> {
    let mut to_add = Vec::new();
    if pod.is_created {
        to_add = read(DEFAULTS_ANNOTATION, namespace, annotations)?.unwrap_or_else(|| config.default.clone());
    }
    if !pod.is_best_effort {
        to_add.push(of_memory_pressure());
    }
    // With nothing to add upstream merges nothing, and so drops nothing.
    let merged = if to_add.is_empty() { Merged::nothing(&pod.own) } else { merge(&pod.own, &to_add) };
    if merged.all(&pod.own).next().is_none() {
        return Ok(merged);
    }
    let annotated = read(WHITELIST_ANNOTATION, namespace, annotations)?;
    let scope = if annotated.is_some() { "namespace" } else { "cluster" };
    let whitelist = annotated.as_ref().unwrap_or(&config.whitelist);
    if merged.all(&pod.own).all(|toleration| is_allowed(toleration, whitelist)) {
        return Ok(merged);
    }
    Err(Rejection::forbidden(CauseKind::Asks, format!("{CONFLICT} {scope} whitelist")).in_namespace(namespace))
}

/// What the annotation `key` holds, if it is there.
fn read(key: &str, namespace: &str, annotations: &StringMap<'_>) -> Result<Option<Vec<Toleration>>, Rejection> {
    let what = ("a list of tolerations", key);
    let read = annotation::read(what, namespace, annotations, usize::MAX, from_annotation)?;
    Ok(read.map(|(tolerations, _)| tolerations))
}

/// Removes what was not kept, and appends what was added: what is kept stays as it came, with fields that nobody knows.
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

/// Whether the Pod's quality of service is `BestEffort` (`GetPodQOS`): what its status says counts; resources of the
/// Pod as a whole hide those of its containers.
fn is_best_effort(pod: &RawObject<'_>) -> Result<bool, ReadError> {
    let class: String = pod.get_at(&["status", "qosClass"])?.unwrap_or_default();
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
