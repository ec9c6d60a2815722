//! A Pod that asks for nothing: what becomes of it shows the rules of its namespace.

use serde_json::{Value, json};

use super::{
    admission::{request, somebody},
    defaults,
    resource::POD,
};

/// What the Pod is called, as far as anybody sees it.
const NAME: &str = "plain-pod";

/// The request with which an ordinary user would create a plain Pod in a namespace.
pub fn creation(namespace: &str) -> Value {
    let mut spec = json!({ "containers": [{ "name": "c", "image": "preview" }] });
    defaults::add_tolerations(&mut spec);
    let pod = json!({
        "kind": POD.kind,
        "apiVersion": "v1",
        "metadata": { "name": NAME, "namespace": namespace },
        "spec": spec,
        "status": {},
    });
    request(POD, pod, somebody())
}
