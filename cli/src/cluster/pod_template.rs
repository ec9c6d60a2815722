//! Pods and Pod templates in objects of any kind, as JSON.

use anyhow::Result;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use node_placement_policy::{request::MIRROR, resource::Resource};
use serde_json::Value;

use super::{controllers::is_by_controller, kind::resource_of};
use crate::input::json::{members, text, typed};

/// Returns the path of the Pod template in objects of a resource, if they have one.
pub fn template_path(resource: Resource) -> Option<&'static [&'static str]> {
    resource.has_template().then(|| resource.template())
}

/// Returns the JSON pointer to the PodSpec in objects of a resource, if they have one.
pub fn pod_spec_pointer(resource: Resource) -> Option<String> {
    let path = if resource == Resource::Pod { &[] } else { template_path(resource)? };
    Some(path.iter().chain(&["spec"]).map(|step| format!("/{step}")).collect())
}

/// Returns the Pod template of an object, wherever its kind has it.
pub fn template(object: &Value) -> Option<&Value> {
    let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]))?;
    let template = template_path(resource)?.iter().fold(object, |found, step| &found[*step]);
    template.is_object().then_some(template)
}

/// Returns whether a ReplicaSet or a Job makes other Pods than its owner would make now: from an older template.
pub fn makes_other_pods(owner: &Value, part: &Value) -> bool {
    let (Some(current), Some(of_part)) = (template(owner), template(part)) else { return false };
    let differ = |field: &str| {
        let [one, other] = [current, of_part].map(|template| {
            members(&template["metadata"][field]).filter(|(key, _)| !is_by_controller(key)).collect::<Vec<_>>()
        });
        one != other
    };
    current["spec"] != of_part["spec"] || differ("labels") || differ("annotations")
}

/// Returns whether a Pod stands for what a kubelet runs by itself.
pub fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"].get(MIRROR).is_some()
}

/// Returns whether a Pod has run to its end. It still names its node.
pub fn is_finished(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// Checks the types of the fields of a Pod, or of the Pod template of an object.
///
/// # Errors
/// A field has a wrong type: its path, what was expected, and what was found.
pub fn check_types(object: &Value) -> Result<()> {
    let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]));
    let path: String = resource.and_then(template_path).into_iter().flatten().map(|step| format!("{step}.")).collect();
    typed::<PodTemplateSpec>(template(object).unwrap_or(object), &path).map(drop)
}
