//! Manifests that count as applied: planned labels, taints and namespaces.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value};

use super::manifests::{Identity, Manifests};
use crate::input::{
    documents::{Files, read_documents},
    json::{list_of, text},
};

/// Lists whose elements are merged by their names, as `kubectl apply` does.
const MERGED_BY_NAME: [&str; 4] = ["containers", "initContainers", "env", "volumes"];

/// Returns a cluster to which `manifests` are applied, and where a list loses elements by that. An object that exists is
/// merged with its manifest (RFC 7386); another one is added.
///
/// # Errors
/// A manifest is no Kubernetes object.
pub fn apply(cluster: &Manifests, manifests: Vec<Value>) -> Result<(Manifests, Vec<String>)> {
    let (mut cluster, mut lost) = (cluster.clone(), vec![]);
    for manifest in manifests {
        let identity = Identity::of(&manifest)?;
        let mut object = cluster.find(&identity).cloned().unwrap_or_default();
        merge(&mut object, manifest, &identity.to_string(), &mut lost);
        cluster = cluster.replaced(vec![object])?;
    }
    Ok((cluster, lost))
}

/// Reads the manifests of files and folders. Files of folders that hold no Kubernetes object are passed over.
///
/// # Errors
/// A file can't be read, or has something that is no Kubernetes object.
pub fn read<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<Vec<Value>> {
    let mut manifests = vec![];
    for path in paths {
        for file in Files::find(path)?.manifests {
            let documents = read_documents(&file)?;
            let holds_objects = documents.iter().any(|document| Identity::of(document).is_ok());
            if holds_objects || !path.is_dir() {
                manifests.extend(documents);
            }
        }
    }
    Ok(manifests)
}

/// Merges a patch into a value, which is called `path`.
fn merge(value: &mut Value, patch: Value, path: &str, lost: &mut Vec<String>) {
    match patch {
        Value::Object(members) => {
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            for (name, member) in members {
                let path = format!("{path}.{name}");
                if member.is_null() {
                    value.as_object_mut().map(|own| own.remove(&name));
                } else if MERGED_BY_NAME.contains(&name.as_str()) {
                    merge_by_name(&mut value[&name], member, &path, lost);
                } else {
                    merge(&mut value[&name], member, &path, lost);
                }
            }
        }
        Value::Array(elements) => {
            let losses = list_of(value).iter().filter(|own| !elements.contains(own)).count();
            if losses > 0 {
                lost.push(format!("{path} loses {losses} of {}", list_of(value).len()));
            }
            *value = Value::Array(elements);
        }
        patch => *value = patch,
    }
}

fn merge_by_name(list: &mut Value, patch: Value, path: &str, lost: &mut Vec<String>) {
    let Value::Array(elements) = patch else { return merge(list, patch, path, lost) };
    let mut merged = list_of(list).to_vec();
    for element in elements {
        let name = text(&element["name"]).to_owned();
        match merged.iter_mut().find(|own| own["name"] == name.as_str()) {
            Some(own) => merge(own, element, &format!("{path}[{name}]"), lost),
            None => merged.push(element),
        }
    }
    *list = Value::Array(merged);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(rest: &Value) -> Value {
        let mut node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" } });
        json_patch::merge(&mut node, rest);
        node
    }

    #[test]
    fn what_exists_is_merged_and_another_object_is_added() {
        let cluster = Manifests::from_iter([node(&json!({
            "metadata": { "labels": { "a": "1", "b": "1", "c": "1" } },
            "spec": { "taints": [{ "key": "old" }], "unschedulable": true },
        }))]);
        let planned = vec![
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": { "name": "n1", "labels": { "b": "2", "c": null } }, "spec": { "taints": [{ "key": "new" }] },
            }),
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "later" } }),
        ];
        let (cluster, lost) = apply(&cluster, planned).unwrap();
        let found = cluster.node("n1").unwrap();
        assert_eq!(found["metadata"]["labels"], json!({ "a": "1", "b": "2" }));
        assert_eq!(found["spec"], json!({ "taints": [{ "key": "new" }], "unschedulable": true }));
        assert_eq!(lost, ["Node n1.spec.taints loses 1 of 1"]);
        assert!(cluster.namespace("later").is_some());
    }

    #[test]
    fn containers_are_merged_by_name_and_null_removes() {
        let mut pod = json!({ "containers": [{ "name": "a", "image": "1", "env": [{ "name": "X", "value": "1" }] }] });
        let patch =
            json!({ "containers": [{ "name": "a", "image": null, "env": [{ "name": "Y" }] }, { "name": "b" }] });
        merge(&mut pod, patch, "", &mut vec![]);
        let container = json!({ "name": "a", "env": [{ "name": "X", "value": "1" }, { "name": "Y" }] });
        assert_eq!(pod, json!({ "containers": [container, { "name": "b" }] }));
    }
}
