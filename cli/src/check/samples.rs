//! Six requests that a policy's `matchConditions` must let through, where its settings are about them.

use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use crate::{
    Manifests,
    policies::required_rules::Request as RuleRequest,
    webhook::{
        pods::binding_request,
        request::{Request, Requester},
    },
};

/// A request as most clusters have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sample {
    /// An ordinary user creates a Pod.
    Pod,
    /// An ordinary user creates a Pod that names its node.
    PodThatNamesItsNode,
    /// An ordinary user creates a Deployment.
    Deployment,
    /// An ordinary user creates a Namespace.
    Namespace,
    /// The scheduler binds a Pod.
    Binding,
    /// A kubelet changes a label of its Node.
    Node,
}

const NODE: &str = "node-a";

impl Sample {
    pub const ALL: [Self; 6] =
        [Self::Pod, Self::PodThatNamesItsNode, Self::Deployment, Self::Namespace, Self::Binding, Self::Node];

    /// Returns the request as rules have it.
    pub const fn rule(self) -> RuleRequest {
        match self {
            Self::Pod | Self::PodThatNamesItsNode => ("", "pods", "CREATE"),
            Self::Deployment => ("apps", "deployments", "CREATE"),
            Self::Namespace => ("", "namespaces", "CREATE"),
            Self::Binding => ("", "pods/binding", "CREATE"),
            Self::Node => ("", "nodes", "UPDATE"),
        }
    }

    /// Returns `CREATE of pods that name their node`.
    pub fn title(self) -> String {
        let (_, resource, operation) = self.rule();
        let more = if self == Self::PodThatNamesItsNode { " that name their node" } else { "" };
        format!("{operation} of {resource}{more}")
    }

    /// Returns the request as an API server sends it, in a namespace of this name.
    pub fn request(self, namespace: &str) -> Request {
        let metadata = json!({ "name": "sample", "namespace": namespace });
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        let created = |resource: Resource, more: Value| {
            let mut object = json!({ "apiVersion": resource.api_version(), "kind": resource.kind(), "status": {} });
            json_patch::merge(&mut object, &more);
            // Who sends it is known here: nobody special.
            Request::new(Request::creation(resource, object, Requester::Somebody).json)
        };
        match self {
            Self::Pod => created(Resource::Pod, json!({ "metadata": metadata, "spec": spec })),
            Self::PodThatNamesItsNode => {
                let pod =
                    json!({ "metadata": metadata, "spec": { "nodeName": NODE, "containers": spec["containers"] } });
                created(Resource::Pod, pod)
            }
            Self::Deployment => {
                let template = json!({ "metadata": { "labels": { "app": "sample" } }, "spec": spec });
                let spec = json!({ "selector": { "matchLabels": { "app": "sample" } }, "template": template });
                created(Resource::Deployment, json!({ "metadata": metadata, "spec": spec }))
            }
            Self::Namespace => created(Resource::Namespace, json!({ "metadata": { "name": namespace }, "spec": {} })),
            Self::Binding => Request::recorded(binding_request(namespace, "sample", NODE, &Manifests::default()).json),
            Self::Node => {
                let node = |value: &str| {
                    let metadata = json!({ "name": NODE, "labels": { "pool": value } });
                    json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {} })
                };
                let mut request = Request::creation(Resource::Node, node("new"), Requester::Kubelet(NODE));
                request.json["operation"] = "UPDATE".into();
                request.json["oldObject"] = node("old");
                request
            }
        }
    }
}
