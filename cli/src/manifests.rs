use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    fmt,
    path::Path,
    sync::{Arc, OnceLock},
};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use crate::{
    cluster::{Cluster, Lookup},
    document::read_objects,
};

/// A cluster written down: the objects of some manifests. Of several with the same identity, the first is there.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    objects: Arc<Vec<Manifest>>,
    places: Arc<HashMap<Identity, usize>>,
    repeated: Arc<Vec<Identity>>,
}

/// What tells an object from all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// As it is written: `v1`, `apps/v1`.
    pub api_version: String,
    pub kind: String,
    /// Nothing for objects of the whole cluster.
    pub namespace: Option<String>,
    pub name: String,
}

/// An object: a text, which is parsed when somebody looks it up, and then stays so.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub identity: Identity,
    text: Box<RawValue>,
    parsed: OnceLock<Value>,
}

impl Manifests {
    /// Reads a JSON or YAML file, or all such files of a folder. A `List`, as `kubectl get -o yaml`
    /// prints it, stands for its items.
    pub fn load(path: &Path) -> Result<Self> {
        let mut objects = vec![];
        for (index, text) in read_objects(path)?.into_iter().enumerate() {
            objects.push(Manifest::read(text).with_context(|| format!("{}: object {}", path.display(), index + 1))?);
        }
        Ok(Self::of(objects))
    }

    /// Of the texts of objects.
    ///
    /// # Errors
    /// One is no Kubernetes object.
    pub fn read(objects: Vec<Box<RawValue>>) -> Result<Self> {
        Ok(Self::of(objects.into_iter().map(Manifest::read).collect::<Result<_>>()?))
    }

    /// With more objects.
    ///
    /// # Errors
    /// One is no Kubernetes object.
    pub fn with(&self, more: impl IntoIterator<Item = Value>) -> Result<Self> {
        let mut objects = self.objects.to_vec();
        for object in more {
            objects.push(Manifest::read(to_raw_value(&object)?)?);
        }
        Ok(Self::of(objects))
    }

    /// In the order in which they were read.
    pub fn objects(&self) -> &[Manifest] {
        &self.objects
    }

    /// The objects that were left out, since one with the same identity came before.
    pub fn repeated(&self) -> &[Identity] {
        &self.repeated
    }

    pub fn find(&self, identity: &Identity) -> Option<&Value> {
        self.places.get(identity).and_then(|place| self.objects.get(*place)).map(Manifest::kept)
    }

    pub fn namespace(&self, name: &str) -> Option<&Value> {
        self.of_the_cluster("Namespace", name)
    }

    pub fn node(&self, name: &str) -> Option<&Value> {
        self.of_the_cluster("Node", name)
    }

    /// All Nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &Value> {
        let is_node = |object: &&Manifest| object.identity.kind == "Node" && object.identity.api_version == "v1";
        self.objects.iter().filter(is_node).map(Manifest::kept)
    }

    /// The namespace and the node of each Pod that runs.
    pub fn running_pods(&self) -> impl Iterator<Item = (String, String)> {
        #[derive(Deserialize)]
        struct Pod {
            spec: Option<Spec>,
            status: Option<Status>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Spec {
            node_name: Option<String>,
        }
        #[derive(Deserialize)]
        struct Status {
            phase: Option<String>,
        }
        let pods = self.objects.iter().filter(|object| object.identity.kind == "Pod");
        pods.filter_map(|object| {
            let pod: Pod = serde_json::from_str(object.text.get()).ok()?;
            let phase = pod.status.and_then(|status| status.phase).unwrap_or_default();
            let node = pod.spec.and_then(|spec| spec.node_name)?;
            let runs = !["Succeeded", "Failed"].contains(&phase.as_str());
            runs.then(|| (object.identity.namespace.clone().unwrap_or_default(), node))
        })
    }

    /// All Namespaces.
    pub fn namespaces(&self) -> impl Iterator<Item = &Value> {
        let is_namespace =
            |object: &&Manifest| object.identity.kind == "Namespace" && object.identity.api_version == "v1";
        self.objects.iter().filter(is_namespace).map(Manifest::kept)
    }

    fn of_the_cluster(&self, kind: &str, name: &str) -> Option<&Value> {
        let (api_version, kind) = ("v1".to_owned(), kind.to_owned());
        self.find(&Identity { api_version, kind, namespace: None, name: name.to_owned() })
    }

    /// Whether a look-up of the policy finds something.
    pub fn has(&self, lookup: &Lookup) -> bool {
        self.places.contains_key(&Identity::from(lookup))
    }

    fn of(manifests: Vec<Manifest>) -> Self {
        let mut objects = Vec::with_capacity(manifests.len());
        let mut places = HashMap::with_capacity(manifests.len());
        let mut repeated = vec![];
        for manifest in manifests {
            match places.entry(manifest.identity.clone()) {
                Entry::Occupied(_) => repeated.push(manifest.identity),
                Entry::Vacant(place) => {
                    place.insert(objects.len());
                    objects.push(manifest);
                }
            }
        }
        Self { objects: Arc::new(objects), places: Arc::new(places), repeated: Arc::new(repeated) }
    }
}

impl FromIterator<Value> for Manifests {
    /// # Panics
    /// If one is no Kubernetes object.
    fn from_iter<I: IntoIterator<Item = Value>>(objects: I) -> Self {
        let manifest = |object: Value| {
            let text = RawValue::from_string(object.to_string()).expect("JSON");
            Manifest::read(text).unwrap_or_else(|error| panic!("{error:#}: {object}"))
        };
        Self::of(objects.into_iter().map(manifest).collect())
    }
}

impl Manifest {
    fn read(text: Box<RawValue>) -> Result<Self> {
        let identity = Identity::read(&text)?;
        Ok(Self { identity, text, parsed: OnceLock::new() })
    }

    /// Parses the object. What is asked about once need not stay.
    pub fn parse(&self) -> Value {
        serde_json::from_str(self.text.get()).unwrap_or_default()
    }

    /// The object, parsed at most once.
    fn kept(&self) -> &Value {
        self.parsed.get_or_init(|| self.parse())
    }
}

impl Identity {
    fn read(text: &RawValue) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Object {
            api_version: Option<String>,
            kind: Option<String>,
            metadata: Option<Metadata>,
        }
        #[derive(Deserialize)]
        struct Metadata {
            name: Option<String>,
            namespace: Option<String>,
        }
        let object: Object = serde_json::from_str(text.get())?;
        let Metadata { name, namespace } = object.metadata.unwrap_or(Metadata { name: None, namespace: None });
        let called = name.clone().unwrap_or_default();
        let (Some(api_version), Some(kind), Some(name)) = (object.api_version, object.kind, name) else {
            bail!("expected Kubernetes objects with apiVersion, kind and metadata.name (metadata.name is {called:?})");
        };
        Ok(Self { api_version, kind, namespace, name })
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

impl From<&Lookup> for Identity {
    fn from(lookup: &Lookup) -> Self {
        let Lookup { api_version, kind, name, namespace, .. } = lookup.clone();
        Self { api_version, kind, namespace, name }
    }
}

impl Cluster for Manifests {
    /// Says the same as the real host where there is no such object: policies recognise the words.
    fn get(&mut self, lookup: &Lookup) -> Result<String> {
        let Lookup { api_version, kind, name, namespace, .. } = lookup;
        let object = self.find(&Identity::from(lookup)).ok_or_else(|| {
            anyhow!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
        })?;
        Ok(match &lookup.field_masks {
            Some(masks) => pruned(object, &FieldMask::new(masks)).to_string(),
            None => object.to_string(),
        })
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

/// The object without what the real host prunes: what identifies it and all of `metadata` stay.
fn pruned(object: &Value, mask: &FieldMask) -> Value {
    let always = ["apiVersion", "kind", "metadata"];
    let Some(fields) = object.as_object().filter(|_| !mask.0.is_empty()) else {
        return object.clone();
    };
    let kept = fields.iter().filter_map(|(name, value)| match always.contains(&name.as_str()) {
        true => Some((name.clone(), value.clone())),
        false => kept(name, value, mask),
    });
    Value::Object(kept.collect())
}

/// Masks know nothing of lists: they go through to the items.
fn pruned_below(value: &Value, mask: &FieldMask) -> Value {
    match value {
        _ if mask.0.is_empty() => value.clone(),
        Value::Object(fields) => {
            Value::Object(fields.iter().filter_map(|(name, value)| kept(name, value, mask)).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| pruned_below(item, mask)).collect(),
        scalar => scalar.clone(),
    }
}

fn kept(name: &str, value: &Value, mask: &FieldMask) -> Option<(String, Value)> {
    let below = mask.0.get(name)?;
    Some((name.to_owned(), pruned_below(value, below)))
}
