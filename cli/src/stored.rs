//! What the API server makes of a Binding, and the kubelet of the Pod then.

use serde_json::{Map, Value};

/// The Pod as it is stored after the binding: the API server copies the Binding's annotations and labels over the Pod's,
/// in the write that sets the node.
pub fn bound(pod: &Value, binding: &Value) -> Value {
    let mut stored = pod.clone();
    for kind in ["annotations", "labels"] {
        for (key, value) in binding["metadata"][kind].as_object().into_iter().flatten() {
            stored["metadata"][kind][key] = value.clone();
        }
    }
    stored["spec"]["nodeName"] = binding["target"]["name"].clone();
    stored
}

/// The environment of the Pod's containers, with the downward API's fields resolved as a kubelet does.
pub fn environment(pod: &Value) -> Map<String, Value> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let variables = containers.flat_map(|container| container["env"].as_array().into_iter().flatten());
    variables
        .map(|variable| {
            let name = variable["name"].as_str().unwrap_or_default().to_owned();
            let path = variable.pointer("/valueFrom/fieldRef/fieldPath").and_then(Value::as_str);
            (name, path.map_or_else(|| variable["value"].clone(), |path| field(pod, path)))
        })
        .collect()
}

/// `metadata.annotations['example.com/zone']`, `spec.nodeName`; a key that is missing is empty.
fn field(pod: &Value, path: &str) -> Value {
    let (path, key) = match path.split_once("['") {
        Some((path, key)) => (path, Some(key.trim_end_matches("']"))),
        None => (path, None),
    };
    let value = path.split('.').chain(key).fold(pod, |value, step| &value[step]);
    if value.is_null() { Value::from("") } else { value.clone() }
}
