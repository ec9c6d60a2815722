//! What the policy is asked about, by the names that rules and manifests have for it.

use anyhow::{Result, bail};
use node_placement_policy::resource as policy_resource;
use serde_json::Value;

/// A kind that the policy is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    pub group: &'static str,
    pub kind: &'static str,
    /// With the subresource, as rules have it: `pods/binding`.
    pub name: &'static str,
}

pub const POD: Resource = Resource { group: "", kind: "Pod", name: "pods" };
pub const BINDING: Resource = Resource { group: "", kind: "Binding", name: "pods/binding" };
pub const NAMESPACE: Resource = Resource { group: "", kind: "Namespace", name: "namespaces" };
pub const NODE: Resource = Resource { group: "", kind: "Node", name: "nodes" };

/// Those of a cluster that is previewed.
const RESOURCES: [Resource; 10] = [
    POD,
    NAMESPACE,
    Resource { group: "apps", kind: "Deployment", name: "deployments" },
    Resource { group: "apps", kind: "ReplicaSet", name: "replicasets" },
    Resource { group: "apps", kind: "StatefulSet", name: "statefulsets" },
    Resource { group: "apps", kind: "DaemonSet", name: "daemonsets" },
    Resource { group: "batch", kind: "Job", name: "jobs" },
    Resource { group: "batch", kind: "CronJob", name: "cronjobs" },
    Resource { group: "", kind: "ReplicationController", name: "replicationcontrollers" },
    Resource { group: "", kind: "PodTemplate", name: "podtemplates" },
];

impl Resource {
    /// The resource of an object; none, if the policy has no business with it.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let group = api_version.strip_suffix("/v1").or((api_version == "v1").then_some(""))?;
        RESOURCES.into_iter().find(|resource| (resource.group, resource.kind) == (group, kind))
    }

    /// The path of the Pod template in objects of this kind, if they have one.
    pub fn template(self) -> Option<&'static [&'static str]> {
        let has_none = [POD, BINDING, NAMESPACE, NODE].contains(&self);
        policy_resource::Resource::named(self.group, self.kind)
            .filter(|_| !has_none)
            .map(policy_resource::Resource::template)
    }

    /// The resource of a manifest that somebody asks about; none, if the policy has no business with it.
    ///
    /// # Errors
    /// The policy knows another version of it.
    pub fn of_manifest(api_version: &str, kind: &str) -> Result<Option<Self>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let mut known = RESOURCES.into_iter().chain([BINDING, NODE]);
        let resource = known.find(|resource| (resource.group, resource.kind) == (group, kind));
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
    let known = || RESOURCES.into_iter().chain([BINDING, NODE]);
    let is_known = plural == "bindings" || known().any(|resource| (resource.group, resource.name) == (group, plural));
    let kind = (text("/kind/group"), text("/kind/kind"));
    if let Some(resource) = known().find(|resource| !is_known && (resource.group, resource.kind) == kind) {
        return (resource.group, resource.name.to_owned());
    }
    match text("/subResource") {
        "" => (group, plural.to_owned()),
        sub_resource => (group, format!("{plural}/{sub_resource}")),
    }
}

/// The API group of a resource, by its name: that of `deployments` is `apps`.
pub fn group_of(resource: &str) -> &'static str {
    RESOURCES.into_iter().find(|known| known.name == resource).map_or("", |known| known.group)
}
