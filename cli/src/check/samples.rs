//! Six requests that a policy's `matchConditions` must let through, where its settings are about them.

use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use crate::{
    Manifests,
    policies::required_rules::Request as RuleRequest,
    webhook::{
        defaults::push,
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

/// Returns further requests of ordinary users, each with the rule that sends it, and what follows if it is kept away.
pub fn others(namespace: &str) -> [(RuleRequest, Request, &'static str); 2] {
    let mut change = Sample::Pod.request(namespace);
    change.json["operation"] = "UPDATE".into();
    change.json["oldObject"] = change.json["object"].clone();
    push(&mut change.json["object"]["spec"], "tolerations", json!({ "operator": "Exists" }));
    let mut daemon_set = Sample::Deployment.request(namespace).json;
    daemon_set["object"]["kind"] = "DaemonSet".into();
    let daemon_set = Request::creation(Resource::DaemonSet, daemon_set["object"].clone(), Requester::Somebody);
    [
        (
            ("", "pods", "UPDATE"),
            change,
            "excludes changes of Pods that wait for a node, to which users can then add tolerations and node selectors; let \
             UPDATE of pods pass unless the Pod has a node",
        ),
        (
            ("apps", "daemonsets", "CREATE"),
            daemon_set,
            "excludes CREATE of daemonsets, whose templates then lack what their Pods get: these wait on other nodes, and \
             can get past a whitelist; remove the condition",
        ),
    ]
}

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
