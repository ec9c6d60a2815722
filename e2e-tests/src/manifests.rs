use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use crate::{
    cluster::{Cluster, Lookup},
    document::read_documents,
};

/// A cluster written down: the Nodes and Namespaces (or whatever else) of some manifests.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    objects: Arc<Vec<Value>>,
}

impl Manifests {
    /// Reads a JSON or YAML file, or all such files of a folder. A `List`, as `kubectl get -o yaml`
    /// prints it, stands for its items.
    pub fn load(path: &Path) -> Result<Self> {
        let mut objects = vec![];
        for file in manifest_files(path)? {
            for document in read_documents(&file)? {
                objects.extend(items(document).with_context(|| file.display().to_string())?);
            }
        }
        Ok(Self { objects: Arc::new(objects) })
    }

    fn find(&self, lookup: &Lookup) -> Option<&Value> {
        self.objects.iter().find(|object| {
            object["apiVersion"] == lookup.api_version.as_str()
                && object["kind"] == lookup.kind.as_str()
                && object["metadata"]["name"] == lookup.name.as_str()
                && object["metadata"]["namespace"].as_str() == lookup.namespace.as_deref()
        })
    }
}

impl FromIterator<Value> for Manifests {
    fn from_iter<I: IntoIterator<Item = Value>>(objects: I) -> Self {
        Self { objects: Arc::new(objects.into_iter().collect()) }
    }
}

impl Cluster for Manifests {
    /// Says the same as the real host where there is no such object: policies recognise the words.
    fn get(&mut self, lookup: &Lookup) -> Result<String> {
        let Lookup { api_version, kind, name, namespace, .. } = lookup;
        let mut object = self.find(lookup).cloned().ok_or_else(|| {
            anyhow!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
        })?;
        if let Some(masks) = &lookup.field_masks {
            prune(&mut object, &FieldMask::new(masks));
        }
        Ok(object.to_string())
    }
}

fn manifest_files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = vec![];
    for entry in fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))? {
        let file = entry?.path();
        if file.extension().is_some_and(|it| it == "json" || it == "yaml" || it == "yml") {
            files.push(file);
        }
    }
    files.sort();
    match files.is_empty() {
        true => bail!("{}: expected manifests (*.yml, *.yaml, *.json), found none", path.display()),
        false => Ok(files),
    }
}

fn items(mut document: Value) -> Result<Vec<Value>> {
    if let Some(Value::Array(items)) = document.get_mut("items").map(Value::take) {
        return items.into_iter().map(named).collect();
    }
    Ok(vec![named(document)?])
}

fn named(object: Value) -> Result<Value> {
    let is_object =
        object["apiVersion"].is_string() && object["kind"].is_string() && object["metadata"]["name"].is_string();
    match is_object {
        true => Ok(object),
        false => bail!("expected Kubernetes objects with apiVersion, kind and metadata.name"),
    }
}

/// The paths of a look-up's field masks, as a tree. A leaf keeps all that is below it.
#[derive(Default)]
struct FieldMask<'a>(BTreeMap<&'a str, FieldMask<'a>>);

impl<'a> FieldMask<'a> {
    fn new(paths: impl IntoIterator<Item = &'a String>) -> Self {
        let mut root = Self::default();
        for path in paths {
            path.split('.').fold(&mut root, |mask, step| mask.0.entry(step).or_default());
        }
        root
    }
}

/// Prunes an object as the real host does: what identifies it and all of `metadata` stay.
fn prune(object: &mut Value, mask: &FieldMask) {
    let always = ["apiVersion", "kind", "metadata"];
    let Some(fields) = object.as_object_mut().filter(|_| !mask.0.is_empty()) else {
        return;
    };
    fields.retain(|name, value| always.contains(&name.as_str()) || keep(name, value, mask));
}

/// Masks know nothing of lists: they go through to the items.
fn prune_below(value: &mut Value, mask: &FieldMask) {
    match value {
        _ if mask.0.is_empty() => {}
        Value::Object(fields) => fields.retain(|name, value| keep(name, value, mask)),
        Value::Array(items) => items.iter_mut().for_each(|item| prune_below(item, mask)),
        _ => {}
    }
}

fn keep(name: &str, value: &mut Value, mask: &FieldMask) -> bool {
    let Some(below) = mask.0.get(name) else {
        return false;
    };
    prune_below(value, below);
    true
}
