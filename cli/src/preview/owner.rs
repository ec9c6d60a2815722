//! To whom a Pod belongs.

use serde_json::Value;

use super::creation::{controller, text};
use crate::manifests::{Identity, Manifests};

/// What a person would name as the owner of a Pod: the Deployment, not its ReplicaSet; the CronJob, not its Job.
#[derive(Clone, Debug)]
pub struct Owner<'c> {
    pub kind: String,
    pub name: String,
    /// The Pod template, if the owner is known.
    pub template: Option<&'c Value>,
}

impl<'c> Owner<'c> {
    /// The owner of `pod`, with the template of its controller as far as `cluster` has it.
    pub fn of(pod: &Value, cluster: &'c Manifests) -> Option<Self> {
        let reference = controller(pod)?;
        let identity = identity(reference, pod);
        let object = cluster.find(&identity);
        let template = object.map(|object| &object["spec"]["template"]);
        match (identity.kind.as_str(), object.and_then(controller)) {
            ("ReplicaSet", None) => Some(Self::deployment(pod, &identity, template, cluster)),
            ("ReplicaSet" | "Job", Some(above)) => {
                Some(Self { kind: text(&above["kind"]).to_owned(), name: text(&above["name"]).to_owned(), template })
            }
            _ => Some(Self { kind: identity.kind, name: identity.name, template }),
        }
    }

    /// ReplicaSets are seldom asked for, and need not be: their name is that of the Deployment, and the hash of its
    /// template, which the Pod has as a label.
    fn deployment(pod: &Value, replica_set: &Identity, own: Option<&'c Value>, cluster: &'c Manifests) -> Self {
        let hash = text(&pod["metadata"]["labels"]["pod-template-hash"]);
        let name = replica_set.name.strip_suffix(hash).and_then(|name| name.strip_suffix('-'));
        let Some(name) = name.filter(|_| own.is_none() && !hash.is_empty()) else {
            return Self { kind: replica_set.kind.clone(), name: replica_set.name.clone(), template: own };
        };
        let identity = Identity { kind: "Deployment".to_owned(), name: name.to_owned(), ..replica_set.clone() };
        let template = cluster.find(&identity).map(|object| &object["spec"]["template"]);
        Self { kind: identity.kind, name: identity.name, template }
    }
}

fn identity(reference: &Value, pod: &Value) -> Identity {
    Identity {
        api_version: text(&reference["apiVersion"]).to_owned(),
        kind: text(&reference["kind"]).to_owned(),
        // The owner of a mirror Pod is its Node; all others are in the Pod's namespace.
        namespace: pod["metadata"]["namespace"].as_str().filter(|_| reference["kind"] != "Node").map(str::to_owned),
        name: text(&reference["name"]).to_owned(),
    }
}
