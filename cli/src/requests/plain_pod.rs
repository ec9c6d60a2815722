//! A Pod that asks for nothing: what becomes of it shows the rules of its namespace.

use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use super::{
    admission::{request, somebody},
    defaults,
};

/// What the Pod is called, as far as anybody sees it.
pub const NAME: &str = "plain-pod";

/// The request with which an ordinary user would create a plain Pod in a namespace.
pub fn creation(namespace: &str) -> Value {
    let mut spec = json!({ "containers": [{ "name": "c", "image": "preview" }] });
    defaults::add_tolerations(&mut spec);
    let pod = json!({
        "kind": Resource::Pod.kind(),
        "apiVersion": "v1",
        "metadata": { "name": NAME, "namespace": namespace },
        "spec": spec,
        "status": {},
    });
    request(Resource::Pod, pod, somebody())
}
