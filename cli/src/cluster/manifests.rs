//! The objects of a cluster, as they were read: each is its JSON text, which is parsed or typed on demand.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use anyhow::{Context, Result, anyhow, bail};
use k8s_openapi::Resource;
use node_placement_policy::{
    cluster::{Cluster, GetResourceRequest, LogLevel},
    settings::reference,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::Kind;
use crate::input::{
    documents::{Files, Objects, read_objects, read_text},
    json::{WrongType, deserialize, fill_nulls, list_of, may_have_nulls, remove},
    yaml::{self, Position},
};

/// The objects of a cluster. Of several with the same identity, the first counts.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    objects: Arc<Vec<Arc<Manifest>>>,
    positions: Arc<HashMap<Identity, usize>>,
    /// The objects that were left out, since one with the same identity came before.
    pub duplicates: Arc<Vec<Identity>>,
    /// The duplicates that differ from the first.
    pub conflicting_duplicates: Arc<Vec<Identity>>,
    /// The files of folders that were not read, since they are neither JSON nor YAML.
    pub unread: Arc<Vec<PathBuf>>,
    /// The files of folders that hold no Kubernetes object: `kustomization.yaml`, `values.yaml`.
    pub passed_over: Arc<Vec<PathBuf>>,
    /// The keys that stand twice in one mapping, each with its file and position. The last one counts.
    pub repeated: Arc<Vec<String>>,
    /// The kinds that the cluster did not list, and why.
    pub unlisted: Arc<Vec<Unlisted>>,
    /// Whether there may be other objects, of which nothing is known.
    pub is_partial: bool,
}

/// A kind that kubectl must not list, or an object that it does not find.
#[derive(Clone, Debug)]
pub struct Unlisted {
    /// The kind.
    pub kind: Kind,
    /// The name that kubectl has for the kind.
    pub resource: String,
    /// Whether there is none, in contrast to one that must not be read.
    pub is_not_found: bool,
    /// The message of kubectl.
    pub reason: String,
}

/// Answers the look-ups of the policy.
impl Cluster for Manifests {
    /// Returns the real host's words where there is no such object: the policy recognizes them.
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String> {
        let GetResourceRequest { api_version, kind, name, namespace, field_masks, .. } = request;
        let identity = Identity::from(request);
        match self.manifest(&identity) {
            Some(manifest) => Ok(manifest.with_parts_of(field_masks.as_ref())?),
            None if self.is_partial => bail!("there is no cluster to look up {identity} in"),
            None => bail!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'"),
        }
    }

    fn log(&self, _: LogLevel, _: &str) {}
}

/// The fields of workloads' statuses that an outcome may depend on.
const COUNTS_AND_REVISIONS: [&str; 6] =
    ["replicas", "updatedReplicas", "currentNumberScheduled", "active", "currentRevision", "updateRevision"];

/// The identity of an object: no two objects of a cluster have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// As it is written: `v1`, `apps/v1`.
    pub api_version: String,
    pub kind: String,
    /// `None` for objects of the whole cluster.
    pub namespace: Option<String>,
    pub name: String,
}

/// An object: a JSON text, and its value once it was looked up.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub identity: Identity,
    text: Box<RawValue>,
    parsed: OnceLock<Value>,
    origin: Option<Origin>,
}

/// The file of an object, and its place there.
#[derive(Clone, Debug)]
struct Origin {
    file: Arc<Path>,
    /// Its number among the objects of the file, from zero.
    number: usize,
}

/// In larger files, positions are not looked up.
const MOST_BYTES: usize = 8 * 1024 * 1024;

impl Origin {
    /// Adds to an error where its object and field stand: `cluster.yml:12:5: object 3: …`.
    fn locate(&self, error: anyhow::Error) -> anyhow::Error {
        let path = error.downcast_ref::<WrongType>().map(|wrong| wrong.path.as_str()).unwrap_or_default();
        let position = self.position(path).map(|position| format!(":{position}")).unwrap_or_default();
        error.context(format!("{}{position}: object {}", self.file.display(), self.number + 1))
    }

    fn position(&self, path: &str) -> Option<Position> {
        // The standard input is read already.
        let text = if self.file.as_os_str() == "-" { None } else { read_text(&self.file).ok() };
        let documents = yaml::read(&text.filter(|text| text.len() < MOST_BYTES)?).documents;
        documents.get(self.number)?.position(path)
    }
}

impl Manifests {
    /// Returns no objects, for inputs without a cluster.
    pub fn partial() -> Self {
        Self { is_partial: true, ..Self::default() }
    }

    /// Reads a file or a folder, as [`Manifests::load_all`] does.
    ///
    /// # Errors
    /// A file can't be read, or has something that is no Kubernetes object.
    pub fn load(path: &Path) -> Result<Self> {
        Self::load_all([path])
    }

    /// Reads files, and all JSON and YAML files of folders and of the folders in them. A `List`, as `kubectl get -o yaml`
    /// prints it, stands for its items. Files of folders that hold no Kubernetes object are passed over.
    ///
    /// # Errors
    /// A file can't be read, or has something that is no Kubernetes object.
    pub fn load_all<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<Self> {
        let (mut objects, mut unread, mut passed_over, mut repeated) = (vec![], vec![], vec![], vec![]);
        for path in paths {
            let files = Files::find(path)?;
            unread.extend(files.others);
            for file in files.manifests {
                let Objects { texts, repeated: keys } = read_objects(&file)?;
                if path.is_dir() && !texts.iter().any(|text| Identity::read(text).is_ok()) {
                    passed_over.push(file);
                    continue;
                }
                repeated.extend(keys.iter().map(|key| format!("{}:{}: {}", file.display(), key.position, key.path)));
                let file: Arc<Path> = file.into();
                for (number, text) in texts.into_iter().enumerate() {
                    let origin = Origin { file: file.clone(), number };
                    let read = Manifest::read(text).map_err(|error| origin.locate(error))?;
                    objects.push(Arc::new(Manifest { origin: Some(origin), ..read }));
                }
            }
        }
        Ok(Self {
            unread: Arc::new(unread),
            passed_over: Arc::new(passed_over),
            repeated: Arc::new(repeated),
            ..Self::new(objects)
        })
    }

    /// Reads objects from their texts.
    ///
    /// # Errors
    /// One is no Kubernetes object.
    pub fn read(objects: Vec<Box<RawValue>>) -> Result<Self> {
        let read = |text| Manifest::read(text).map(Arc::new);
        Ok(Self::new(objects.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// Returns these objects with the kinds that the cluster did not list.
    #[must_use]
    pub fn lacking(self, unlisted: Vec<Unlisted>) -> Self {
        Self { unlisted: Arc::new(unlisted), ..self }
    }

    /// Returns these objects with more.
    ///
    /// # Errors
    /// One is no Kubernetes object.
    pub fn with(&self, more: impl IntoIterator<Item = Value>) -> Result<Self> {
        let mut objects: Vec<Arc<Manifest>> = self.objects.to_vec();
        for object in more {
            objects.push(Arc::new(Manifest::read(to_raw_value(&object)?)?));
        }
        Ok(Self { is_partial: self.is_partial, ..Self::new(objects) })
    }

    /// Returns these objects with others in the place of those with the same identity, or added to them.
    ///
    /// # Errors
    /// One is no Kubernetes object.
    pub fn replaced(&self, objects: Vec<Value>) -> Result<Self> {
        let mut all: Vec<Arc<Manifest>> = self.objects.to_vec();
        for object in objects {
            let manifest = Arc::new(Manifest::read(to_raw_value(&object)?)?);
            match self.positions.get(&manifest.identity).and_then(|position| all.get_mut(*position)) {
                Some(own) => *own = manifest,
                None => all.push(manifest),
            }
        }
        let Self { objects, positions, .. } = Self::new(all);
        Ok(Self { objects, positions, ..self.clone() })
    }

    /// Returns the objects in the order in which they were read.
    pub fn objects(&self) -> &[Arc<Manifest>] {
        &self.objects
    }

    /// Returns an object as JSON, if it is there.
    pub fn find(&self, identity: &Identity) -> Option<&Value> {
        self.manifest(identity).map(Manifest::object)
    }

    /// Returns an object, if it is there.
    pub fn manifest(&self, identity: &Identity) -> Option<&Manifest> {
        self.positions.get(identity).and_then(|position| self.objects.get(*position)).map(Arc::as_ref)
    }

    /// Returns a Namespace as JSON, if it is there.
    pub fn namespace(&self, name: &str) -> Option<&Value> {
        self.find(&Identity::new("v1", "Namespace", None, name))
    }

    /// Returns a Node as JSON, if it is there.
    pub fn node(&self, name: &str) -> Option<&Value> {
        self.find(&Identity::new("v1", "Node", None, name))
    }

    /// Returns all Namespaces.
    pub fn namespaces(&self) -> impl Iterator<Item = &Value> {
        self.of_kind("v1", "Namespace").map(|manifest| manifest.object())
    }

    /// Returns all objects of a kind, typed.
    ///
    /// # Errors
    /// Of each, whether it is no object of its kind: where, and what was expected.
    pub fn all<T: Resource + DeserializeOwned>(&self) -> impl Iterator<Item = Result<T>> {
        self.of_kind(T::API_VERSION, T::KIND).map(|manifest| manifest.typed())
    }

    /// Returns all objects of a kind.
    pub fn of_kind<'m>(&'m self, api_version: &'m str, kind: &'m str) -> impl Iterator<Item = &'m Arc<Manifest>> {
        let is_of_kind = move |identity: &Identity| identity.kind == kind && identity.api_version == api_version;
        self.objects.iter().filter(move |object| is_of_kind(&object.identity))
    }

    fn new(manifests: Vec<Arc<Manifest>>) -> Self {
        let mut objects: Vec<Arc<Manifest>> = vec![];
        let mut positions: HashMap<Identity, usize> = HashMap::new();
        let (mut duplicates, mut conflicting_duplicates) = (vec![], vec![]);
        for manifest in manifests {
            match positions.entry(manifest.identity.clone()) {
                Entry::Occupied(position) => {
                    if objects.get(*position.get()).is_some_and(|first| first.contradicts(&manifest)) {
                        conflicting_duplicates.push(manifest.identity.clone());
                    }
                    duplicates.push(manifest.identity.clone());
                }
                Entry::Vacant(position) => {
                    position.insert(objects.len());
                    objects.push(manifest);
                }
            }
        }
        Self {
            objects: Arc::new(objects),
            positions: Arc::new(positions),
            duplicates: Arc::new(duplicates),
            conflicting_duplicates: Arc::new(conflicting_duplicates),
            ..Self::default()
        }
    }
}

impl FromIterator<Value> for Manifests {
    /// # Panics
    /// If one is no Kubernetes object.
    fn from_iter<I: IntoIterator<Item = Value>>(objects: I) -> Self {
        Self::default().with(objects).unwrap_or_else(|error| panic!("{error:#}"))
    }
}

impl Manifest {
    fn read(mut text: Box<RawValue>) -> Result<Self> {
        let identity = Identity::read(&text)?;
        if identity.kind == "Namespace" && identity.api_version == "v1" {
            text = with_label_of_the_name(&text, &identity.name)?;
        }
        if is_nested_too_deeply(text.get()) {
            bail!(
                "{identity}: expected an object of at most {DEEPEST} levels; Kubernetes and Kubewarden take no deeper one"
            );
        }
        if may_have_nulls(text.get()) {
            let mut object: Value = serde_json::from_str(text.get())?;
            fill_nulls(&mut object);
            text = to_raw_value(&object)?;
        }
        Ok(Self { identity, text, parsed: OnceLock::new(), origin: None })
    }

    /// Returns the object, typed.
    ///
    /// # Errors
    /// A field does not fit the type: its path, what was expected, and what was found.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T> {
        let typed = deserialize(&*self.text, "").with_context(|| self.identity.to_string());
        match &self.origin {
            Some(origin) => typed.map_err(|error| origin.locate(error)),
            None => typed,
        }
    }

    /// Returns whether another object of the same identity differs in more than what the API server counts and reports.
    fn contradicts(&self, other: &Self) -> bool {
        let content = |manifest: &Self| {
            let mut object = manifest.parse();
            object["status"] = status_that_counts(&object["status"]);
            remove(&mut object["metadata"], &["resourceVersion", "generation", "managedFields"]);
            object
        };
        content(self) != content(other)
    }

    /// Returns the object with its metadata, and those of its other parts in which one of `fields` is, such as
    /// `spec.taints`. No fields are all of it.
    fn with_parts_of(&self, fields: Option<&BTreeSet<String>>) -> serde_json::Result<String> {
        let Some(fields) = fields.filter(|fields| !fields.is_empty()) else { return Ok(self.text.get().to_owned()) };
        let mut parts: BTreeMap<String, &RawValue> = serde_json::from_str(self.text.get())?;
        let mut wanted = BTreeSet::from(["apiVersion", "kind", "metadata"]);
        wanted.extend(fields.iter().filter_map(|path| path.split('.').next()));
        parts.retain(|name, _| wanted.contains(name.as_str()));
        serde_json::to_string(&parts)
    }

    /// Parses the object. What is asked about once need not stay.
    pub fn parse(&self) -> Value {
        serde_json::from_str(self.text.get()).unwrap_or_default()
    }

    /// Returns the object, parsed at most once.
    fn object(&self) -> &Value {
        self.parsed.get_or_init(|| self.parse())
    }
}

/// Returns what an outcome may depend on of a status: whether the object has ended or goes, and how many Pods of which
/// revision a workload has.
fn status_that_counts(status: &Value) -> Value {
    let ends = |it: &Value| matches!(it["type"].as_str(), Some("Complete" | "Failed")) && it["status"] == "True";
    let has_ended = list_of(&status["conditions"]).iter().any(ends);
    let phase = status["phase"].as_str().filter(|phase| ["Succeeded", "Failed", "Terminating"].contains(phase));
    let counts = COUNTS_AND_REVISIONS.map(|field| &status[field]);
    json!([has_ended, phase, counts])
}

/// Returns a Namespace with the label that the API server always gives it: a manifest may lack it.
fn with_label_of_the_name(namespace: &RawValue, name: &str) -> Result<Box<RawValue>> {
    let mut object: Value = serde_json::from_str(namespace.get())?;
    let labels = &mut object["metadata"]["labels"];
    if labels.is_null() || labels.is_object() {
        labels[reference::NAME] = name.into();
    }
    Ok(to_raw_value(&object)?)
}

impl Identity {
    /// Makes the identity of an object of `kind`; without a namespace, of the whole cluster.
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// Returns the API group, which is empty for `v1`.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the identity of an object.
    ///
    /// # Errors
    /// It is no Kubernetes object.
    pub fn of(object: &Value) -> Result<Self> {
        Self::read(&to_raw_value(object)?)
    }

    fn read(text: &RawValue) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Object {
            api_version: Option<String>,
            kind: Option<String>,
            metadata: Option<Metadata>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            name: Option<String>,
            /// The beginning of the name that `kubectl create` gives it.
            generate_name: Option<String>,
            namespace: Option<String>,
        }
        // It would be read as the fields of one.
        let found = match text.get().chars().next() {
            Some('{') => None,
            Some('[') => Some("a list"),
            Some('"') => Some("a text"),
            _ => Some("something else"),
        };
        if let Some(found) = found {
            bail!("expected a Kubernetes object, as kubectl get -o yaml prints it; found {found}");
        }
        let object: Object = deserialize(text, "").context("expected a Kubernetes object")?;
        let Metadata { name, generate_name, namespace } = object.metadata.unwrap_or_default();
        let missing = |field: &str| {
            anyhow!("expected a Kubernetes object with apiVersion, kind and metadata.name; {field} is missing")
        };
        Ok(Self {
            api_version: object.api_version.ok_or_else(|| missing("apiVersion"))?,
            kind: object.kind.ok_or_else(|| missing("kind"))?,
            name: name.or(generate_name).ok_or_else(|| missing("metadata.name"))?,
            namespace,
        })
    }
}

/// Returns the identity of the object that the policy looks up.
impl From<&GetResourceRequest> for Identity {
    fn from(request: &GetResourceRequest) -> Self {
        let GetResourceRequest { api_version, kind, name, namespace, .. } = request;
        Self::new(api_version, kind, namespace.as_deref(), name)
    }
}

/// For people: `Node worker-1`, `Deployment team-a/web`.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// The most levels that Kubewarden's host and `serde_json` can read, less those of the request around an object.
const DEEPEST: usize = 120;

/// Returns whether a JSON text has more levels of lists and objects.
fn is_nested_too_deeply(json: &str) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => depth += 1,
            b'}' | b']' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1;

    use super::*;

    fn read(text: &str) -> Result<Manifests> {
        Manifests::read(vec![RawValue::from_string(text.to_owned())?])
    }

    #[test]
    fn an_object_is_typed_when_it_is_asked_for() -> Result<()> {
        let text =
            r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"unschedulable": true}}"#;
        let cluster = read(text)?;
        let nodes: Vec<v1::Node> = cluster.all().collect::<Result<_>>()?;
        assert_eq!(nodes.len(), 1);
        let node = |name| Identity::new("v1", "Node", None, name);
        let found = cluster.manifest(&node("n")).map(Manifest::typed::<v1::Node>).transpose()?;
        assert_eq!(found, nodes.first().cloned());
        assert!(cluster.manifest(&node("other")).is_none());
        Ok(())
    }

    #[test]
    fn an_object_of_a_wrong_type_is_named_with_its_path() -> Result<()> {
        let text =
            r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": 1}]}}"#;
        let error = format!("{:#}", read(text)?.all::<v1::Node>().next().unwrap().unwrap_err());
        assert!(error.starts_with("Node n: spec.taints[0].key: expected a text; found integer `1`"), "{error}");
        Ok(())
    }

    #[test]
    fn an_object_that_is_nested_too_deeply_is_named() {
        let deep = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            format!(
                r#"{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "n", "x": "[[\\\"[["}}, "spec": {open}{close}}}"#
            )
        };
        assert!(read(&deep(100)).is_ok());
        let error = read(&deep(200)).unwrap_err().to_string();
        assert!(error.starts_with("Node n: expected an object of at most 120 levels"), "{error}");
    }
}
