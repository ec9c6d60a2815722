//! The resources that the policy has rules for, by the names that webhook rules and manifests have for them.

use anyhow::{Result, bail};
/// The API server gives every Namespace its name as a label.
pub use node_placement_policy::settings::reference::NAME as NAMESPACE_NAME;
use node_placement_policy::{placement::node_affinity, resource::Resource};
use serde_json::Value;

/// The field of a `nodeAffinity` that nodes must meet.
pub const REQUIRED_AFFINITY: &str = node_affinity::REQUIRED_AFFINITY[2];

/// Returns the resource of a manifest; `None` if the policy has no rules for it.
///
/// # Errors
/// The policy knows another version of it.
pub fn resource_of_manifest(api_version: &str, kind: &str) -> Result<Option<Resource>> {
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = Resource::all().find(|resource| (resource.group(), resource.kind()) == (group, kind));
    match resource.map(Resource::api_version) {
        Some(expected) if expected != api_version => {
            bail!("apiVersion: expected {expected:?} for a {kind}, found {api_version:?}")
        }
        _ => Ok(resource),
    }
}

/// Returns the name that webhook rules have for a resource that is created. For Bindings, `bindings` is the older
/// endpoint.
pub fn name_in_rules(resource: Resource) -> &'static str {
    if resource == Resource::Binding { "pods/binding" } else { resource.plural() }
}

/// Returns what a request asks about, as rules have it: the API group, and the resource with its subresource.
///
/// The audit scanner puts the kind where the resource belongs, and `kwctl scaffold` a placeholder. There the kind
/// decides, as it does for the policy.
pub fn requested(request: &Value) -> (&str, String) {
    let text = |pointer| request.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, plural) = (text("/resource/group"), text("/resource/resource"));
    let is_known = Resource::all().any(|resource| (resource.group(), resource.plural()) == (group, plural));
    let kind = (text("/kind/group"), text("/kind/kind"));
    if let Some(resource) = Resource::all().find(|it| !is_known && (it.group(), it.kind()) == kind) {
        return (resource.group(), name_in_rules(resource).to_owned());
    }
    match text("/subResource") {
        "" => (group, plural.to_owned()),
        sub_resource => (group, format!("{plural}/{sub_resource}")),
    }
}

/// Returns the API group of a resource, by its name: that of `deployments` is `apps`.
pub fn group_of(resource: &str) -> &'static str {
    Resource::all().find(|known| known.plural() == resource).map_or("", Resource::group)
}
