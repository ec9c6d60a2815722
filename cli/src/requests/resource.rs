//! What the policy is asked about, by the names that rules and manifests have for it.

use anyhow::{Result, bail};
/// The API server gives every Namespace its name as a label.
pub use node_placement_policy::settings::reference::NAME as NAMESPACE_NAME;
use node_placement_policy::{placement::node_affinity, resource::Resource as Known};
use serde_json::Value;

/// A kind that the policy is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    pub group: &'static str,
    pub kind: &'static str,
    /// With the subresource, as rules have it: `pods/binding`.
    pub name: &'static str,
}

/// A Pod.
pub const POD: Resource = Resource { group: "", kind: "Pod", name: "pods" };
/// What binds a Pod to a node.
pub const BINDING: Resource = Resource { group: "", kind: "Binding", name: "pods/binding" };
/// A Namespace.
pub const NAMESPACE: Resource = Resource { group: "", kind: "Namespace", name: "namespaces" };
/// A Node.
pub const NODE: Resource = Resource { group: "", kind: "Node", name: "nodes" };

/// The field of a `nodeAffinity` that nodes must meet.
pub const REQUIRED_AFFINITY: &str = node_affinity::REQUIRED_AFFINITY[2];

/// Those that the policy has rules for.
fn all() -> impl Iterator<Item = Resource> {
    Known::all().map(|known| {
        // The API server's own name for it; `bindings` is that of the older endpoint.
        let name = if known == Known::Binding { BINDING.name } else { known.plural() };
        Resource { group: known.group(), kind: known.kind(), name }
    })
}

impl Resource {
    /// The resource of an object that is in clusters; none, if the policy has no business with it.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let group = api_version.strip_suffix("/v1").or((api_version == "v1").then_some(""))?;
        let mut listed = all().filter(|resource| ![BINDING, NODE].contains(resource));
        listed.find(|resource| (resource.group, resource.kind) == (group, kind))
    }

    /// The path of the Pod template in objects of this kind, if they have one.
    pub fn template(self) -> Option<&'static [&'static str]> {
        Known::named(self.group, self.kind).filter(|known| known.has_template()).map(Known::template)
    }

    /// The resource of a manifest that somebody asks about; none, if the policy has no business with it.
    ///
    /// # Errors
    /// The policy knows another version of it.
    pub fn of_manifest(api_version: &str, kind: &str) -> Result<Option<Self>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = all().find(|resource| (resource.group, resource.kind) == (group, kind));
        if resource.is_some() && version != "v1" {
            let expected = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
            bail!("apiVersion: expected {expected:?} for a {kind}, found {api_version:?}");
        }
        Ok(resource)
    }
}

/// What a request asks about, as rules have it: the API group, and the resource with its subresource.
///
/// The audit scanner puts the kind where the resource belongs, and `kwctl scaffold` a placeholder. There the kind
/// decides, as it does for the policy.
pub fn requested(request: &Value) -> (&str, String) {
    let text = |pointer| request.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, plural) = (text("/resource/group"), text("/resource/resource"));
    let is_known = plural == "bindings" || all().any(|resource| (resource.group, resource.name) == (group, plural));
    let kind = (text("/kind/group"), text("/kind/kind"));
    if let Some(resource) = all().find(|resource| !is_known && (resource.group, resource.kind) == kind) {
        return (resource.group, resource.name.to_owned());
    }
    match text("/subResource") {
        "" => (group, plural.to_owned()),
        sub_resource => (group, format!("{plural}/{sub_resource}")),
    }
}

/// The API group of a resource, by its name: that of `deployments` is `apps`.
pub fn group_of(resource: &str) -> &'static str {
    all().find(|known| known.name == resource).map_or("", |known| known.group)
}
