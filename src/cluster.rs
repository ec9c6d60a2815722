//! Looks up objects of the cluster: at most one Namespace, one Node and one RuntimeClass for a request. Each is looked up
//! once, with the fields that are needed. `placement::entry` decides whether a Namespace is needed, and `policy` for the
//! in-tree plugin.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::decision::{CauseKind, Rejection};
use crate::json::read::read;
use crate::json::{Bounded, FromObject, Pairs, Raw, ReadError, Within};
use crate::limits::MOST_TAINTS;
use crate::message::{escaped, host_error, quote, quote_pair, shorten};
use crate::object_meta::LabelsAndAnnotations;
use crate::selector::syntax;
use crate::toleration::{self, AboveZero, Taint, Toleration, Tolerations};

pub use crate::decision::LogLevel;

/// The version and the kind of an object.
type Kind = (&'static str, &'static str);

const NAMESPACE: Kind = ("v1", "Namespace");
const NODE: Kind = ("v1", "Node");
const RUNTIME_CLASS: Kind = ("node.k8s.io/v1", "RuntimeClass");

/// The payload of the host call `kubernetes/get_resource`, as Kubewarden's SDK writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetResourceRequest {
    /// The version, as in `node.k8s.io/v1`.
    pub api_version: String,
    /// The kind, as in `Node`.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The namespace of the object, if it has one.
    pub namespace: Option<String>,
    /// Whether the host must not answer from its cache.
    pub disable_cache: bool,
    /// The fields that are needed besides the metadata.
    pub field_masks: Option<BTreeSet<String>>,
}

/// The host calls: reads cluster-scoped objects, and logs.
///
/// The host pastes a name into the URL of the API server. That is why only valid names are looked up.
pub trait Cluster {
    /// Returns the JSON text of the object that `request` names.
    ///
    /// # Errors
    /// The host could not read it. The error has the host's words.
    fn get_resource(&self, request: &GetResourceRequest) -> anyhow::Result<String>;

    /// Logs `message`.
    fn log(&self, level: LogLevel, message: &str);
}

/// Logs `message`, with control characters escaped.
pub fn log(cluster: &dyn Cluster, level: LogLevel, message: &str) {
    cluster.log(level, &escaped(message));
}

/// A name that a Node can have: an RFC 1123 subdomain (`ValidateNodeName`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName(String);

impl NodeName {
    /// Returns `name` as the name of a Node, or `None` if no Node can have it.
    pub fn new(name: &str) -> Option<Self> {
        if syntax::is_subdomain(name) { Some(Self(name.to_owned())) } else { None }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The error of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupError {
    /// One line that names the object.
    pub message: String,
    /// Whether the object does not exist.
    pub is_not_found: bool,
}

impl LookupError {
    /// Rejects a request that names a node which must be checked: with 403 if the node does not exist, with 500 if it
    /// could not be read. `what` begins the message.
    pub fn reject(&self, what: &str) -> Rejection {
        if self.is_not_found {
            return Rejection::forbidden(
                CauseKind::NodeName,
                format!("{what}, which does not exist: {}", self.message),
            );
        }
        Rejection::internal(&self.message)
    }
}

/// Rejects a request that names a node with an invalid name. `what` begins the message. The node is not looked up, because
/// the host pastes the name into the URL of the API server.
pub fn no_such_node(what: &str) -> Rejection {
    let explanation = format!("{what}, which does not exist: no Node can have this name; name an existing node");
    Rejection::forbidden(CauseKind::NodeName, explanation)
}

/// The result of looking up a Node.
#[derive(Clone, Debug)]
pub enum NodeLookup<'t> {
    /// No rule needs the Node.
    NotNeeded,
    /// The Node.
    Found(Node<'t>),
    /// The Node could not be read.
    Failed(LookupError),
}

impl<'t> NodeLookup<'t> {
    /// Returns the Node for a rule about an object that names it. Returns `None` if no rule needs it. `what` begins the
    /// message.
    ///
    /// # Errors
    /// The Node could not be read.
    pub fn required_by(&self, what: &str) -> Result<Option<&Node<'t>>, Rejection> {
        match self {
            Self::NotNeeded => Ok(None),
            Self::Found(node) => Ok(Some(node)),
            Self::Failed(error) => Err(error.reject(what)),
        }
    }
}

/// The Node that an object names. It is looked up once, with all fields that are required by then.
pub struct LazyNode<'t> {
    lookups: &'t Lookups<'t>,
    name: Option<&'t NodeName>,
    masks: FieldMasks,
    node: OnceCell<NodeLookup<'t>>,
}

impl<'t> LazyNode<'t> {
    /// Returns the Node of this `name`, of which no field is required yet. Without a name, there is none.
    pub const fn new(lookups: &'t Lookups<'t>, name: Option<&'t NodeName>) -> Self {
        Self { lookups, name, masks: FieldMasks::new(), node: OnceCell::new() }
    }

    /// Requires fields of the Node.
    pub fn require(&mut self, masks: FieldMasks) {
        self.masks.extend(masks);
    }

    /// Looks up the Node, unless it was looked up before.
    pub fn look_up(&self) -> &NodeLookup<'t> {
        self.node.get_or_init(|| self.lookups.node(self.name, &self.masks))
    }
}

/// Texts that are kept as long as this.
#[derive(Default)]
struct Texts {
    text: OnceCell<String>,
    others: OnceCell<Box<Texts>>,
}

impl Texts {
    /// Keeps `text`, and returns it.
    fn keep(&self, text: String) -> &str {
        match self.text.get() {
            None => self.text.get_or_init(|| text),
            Some(_) => self.others.get_or_init(Box::default).keep(text),
        }
    }
}

/// Looks up objects for one request. Keeps their texts, from which the objects borrow.
pub struct Lookups<'c> {
    cluster: &'c dyn Cluster,
    texts: Texts,
}

impl<'c> Lookups<'c> {
    /// Returns look-ups in `cluster`.
    pub fn new(cluster: &'c dyn Cluster) -> Self {
        Self { cluster, texts: Texts::default() }
    }

    /// Looks up the Node, if there is a `name` and if any field is needed.
    pub fn node<'t>(&'t self, name: Option<&'t NodeName>, masks: &FieldMasks) -> NodeLookup<'t> {
        let Some(name) = name.filter(|_| !masks.is_empty()) else { return NodeLookup::NotNeeded };
        match self.look_up(NODE, name.as_str(), outermost(masks), |text| Node::read(name, text, masks)) {
            Ok(node) => NodeLookup::Found(node),
            Err(error) => NodeLookup::Failed(error),
        }
    }

    /// Looks up the labels and the annotations of a Namespace.
    ///
    /// # Errors
    /// It does not exist, it can't be read, or no Namespace can have this name.
    pub fn namespace(&self, name: &str) -> Result<LabelsAndAnnotations<'_>, Rejection> {
        let mut masks = FieldMasks::new();
        masks.extend([LABELS, ANNOTATIONS].map(str::to_owned));
        let namespace = if syntax::is_dns_label(name) {
            self.look_up(NAMESPACE, name, masks, |text| {
                let FromObject(Object { metadata: FromObject(metadata), .. }) = read(text)?;
                Ok(LabelsAndAnnotations {
                    annotations: metadata.annotations()?,
                    labels: metadata.labels.unwrap_or_default(),
                })
            })
        } else {
            Err(self.failure(NAMESPACE, name, "no Namespace can have this name"))
        };
        namespace.map_err(|error| Rejection::internal(error.message))
    }

    /// Looks up what a RuntimeClass adds to its Pods. A RuntimeClass that does not exist adds nothing: the API server
    /// refuses such Pods.
    ///
    /// # Errors
    /// It can't be read.
    pub fn runtime_class(&self, name: &str) -> Result<Scheduling, Rejection> {
        if !syntax::is_subdomain(name) {
            return Ok(Scheduling::default());
        }
        let mut masks = FieldMasks::new();
        masks.insert("scheduling".to_owned());
        match self.look_up(RUNTIME_CLASS, name, masks, Scheduling::read) {
            Ok(scheduling) => Ok(scheduling),
            Err(error) if error.is_not_found => Ok(Scheduling::default()),
            Err(error) => Err(Rejection::internal(error.message)),
        }
    }

    /// Looks up the object of this kind and name.
    fn look_up<'t, T>(
        &'t self,
        kind: Kind,
        name: &str,
        masks: FieldMasks,
        read: impl FnOnce(&'t str) -> Result<T, ReadError>,
    ) -> Result<T, LookupError> {
        let request = GetResourceRequest {
            api_version: kind.0.to_owned(),
            kind: kind.1.to_owned(),
            name: name.to_owned(),
            namespace: None,
            disable_cache: false,
            field_masks: Some(masks),
        };
        let text = match self.cluster.get_resource(&request) {
            Ok(text) => self.texts.keep(text),
            Err(error) => return Err(self.failure(kind, name, host_error(&error.to_string()))),
        };
        read(text).map_err(|error| {
            let error = self.failure(kind, name, &format!("the host's answer is malformed: {error}"));
            LookupError { is_not_found: false, ..error }
        })
    }

    /// Logs that a look-up failed for a `reason` of one line, and returns the error.
    fn failure(&self, (version, kind): Kind, name: &str, reason: &str) -> LookupError {
        let message = format!("{kind} {} can't be read: {}", quote(name), shorten(reason));
        log(self.cluster, LogLevel::Warning, &message);
        // The host's words for a resource that does not exist.
        LookupError { message, is_not_found: reason.contains(&format!("Cannot find {version}/")) }
    }
}

/// The parts of a Node that the policy reads.
#[derive(Clone, Debug)]
pub struct Node<'t> {
    /// The name.
    pub name: &'t NodeName,
    /// The labels.
    pub labels: Pairs<'t>,
    /// The annotations.
    pub annotations: Pairs<'t>,
    /// The first taints, as many as [are compared](MOST_TAINTS).
    taints: Bounded<Taint>,
    /// The resources in `status.allocatable` that are above zero.
    pub allocatable: AboveZero,
    /// The whole answer of the host.
    pub text: &'t str,
}

/// The node selector and the tolerations that a RuntimeClass adds to its Pods (`Scheduling`).
#[derive(Clone, Debug, Default)]
pub struct Scheduling {
    /// The pairs that are added to their nodeSelector.
    pub node_selector: Pairs<'static>,
    /// The tolerations that are added.
    pub tolerations: Tolerations<'static>,
}

impl Scheduling {
    /// Reads the text of a RuntimeClass.
    fn read(text: &str) -> Result<Self, ReadError> {
        let class: Raw<'_> = read(text)?;
        let class = class.object()?;
        let Some(scheduling) = class.object("scheduling")? else { return Ok(Self::default()) };
        let (tolerations, _) = toleration::read_first(&scheduling, usize::MAX).within("scheduling")?;
        let pairs: Pairs<'_> = scheduling.get("nodeSelector").within("scheduling")?.unwrap_or_default();
        let node_selector = pairs.iter().map(|(key, value)| (key.into(), value.into())).collect();
        Ok(Self { node_selector, tolerations: Tolerations::new(tolerations) })
    }

    /// Returns whether the class adds the pair `key=value`.
    pub fn selects(&self, key: &str, value: &str) -> bool {
        self.node_selector.get(key) == Some(value)
    }

    /// Returns whether the class adds this `toleration`.
    pub fn tolerates_same(&self, toleration: &Toleration) -> bool {
        self.tolerations.has_same(toleration)
    }
}

/// The error that a Node has more taints than are compared.
#[derive(Clone, Copy, Debug)]
pub struct TooManyTaints;

impl fmt::Display for TooManyTaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "has more than {MOST_TAINTS} taints, and no more are compared")
    }
}

impl<'t> Node<'t> {
    /// Returns the taints that keep Pods away, without passing taints.
    ///
    /// # Errors
    /// It has more taints than are compared.
    pub fn lasting_taints(&self) -> Result<impl Iterator<Item = &Taint>, TooManyTaints> {
        if self.taints.has_more {
            return Err(TooManyTaints);
        }
        Ok(self.taints.elements.iter().filter(|taint| taint.is_lasting()))
    }

    /// Returns whether it has more than zero of the resource `name` for Pods.
    pub fn has_resource(&self, name: &str) -> bool {
        self.allocatable.extended.contains(name)
    }

    /// Describes the label `key` of the Node, for the log. A message must not contain it, because tenants must not read
    /// Nodes.
    pub fn label_as_text(&self, key: &str) -> String {
        match self.labels.get(key) {
            Some(value) => format!("the node has {}", quote_pair(key, value)),
            None => format!("the node has no label {}", quote(key)),
        }
    }

    /// Names one of its taints, for the log.
    pub fn taint_as_text(taint: &Taint) -> String {
        format!("the node has the taint {}", quote(&taint.key))
    }

    fn read(name: &'t NodeName, text: &'t str, masks: &FieldMasks) -> Result<Self, ReadError> {
        let FromObject(Object { metadata: FromObject(metadata), spec, status }) = read(text)?;
        let mut annotations = Pairs::default();
        // The host always sends all metadata. Some agents write large annotations.
        if masks.iter().any(|mask| is_within(ANNOTATIONS, mask)) {
            annotations = metadata.annotations()?;
        }
        let taints = spec.and_then(|FromObject(spec)| spec.taints).map_or("[]", RawValue::get);
        let taints: Bounded<FromObject<Taint>> = Bounded::read(taints, MOST_TAINTS).within(TAINTS)?;
        let elements = taints.elements.into_iter().map(|FromObject(taint)| taint).collect();
        let taints = Bounded { elements, has_more: taints.has_more };
        let allocatable = status.and_then(|FromObject(status)| status.allocatable).unwrap_or_default();
        Ok(Self { name, labels: metadata.labels.unwrap_or_default(), annotations, taints, allocatable, text })
    }
}

/// The parts of the host's answer that are read.
#[derive(Deserialize)]
struct Object<'t> {
    #[serde(borrow)]
    metadata: FromObject<ObjectMeta<'t>>,
    #[serde(borrow)]
    spec: Option<FromObject<NodeSpec<'t>>>,
    status: Option<FromObject<NodeStatus>>,
}

#[derive(Deserialize)]
struct ObjectMeta<'t> {
    #[serde(borrow)]
    labels: Option<Pairs<'t>>,
    #[serde(borrow)]
    annotations: Option<&'t RawValue>,
}

impl<'t> ObjectMeta<'t> {
    fn annotations(&self) -> Result<Pairs<'t>, ReadError> {
        let annotations = self.annotations.map(|text| read(text.get())).transpose();
        Ok(annotations.within(ANNOTATIONS)?.unwrap_or_default())
    }
}

#[derive(Deserialize)]
struct NodeSpec<'t> {
    #[serde(borrow)]
    taints: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct NodeStatus {
    allocatable: Option<AboveZero>,
}

/// Paths of the fields of an object that are needed, such as `metadata.labels`.
pub type FieldMasks = BTreeSet<String>;

/// The path of the labels.
pub const LABELS: &str = "metadata.labels";

/// The path of the annotations.
pub const ANNOTATIONS: &str = "metadata.annotations";

/// The path of the taints of a Node.
pub const TAINTS: &str = "spec.taints";

/// The path of the resources that a Node has for Pods.
pub const ALLOCATABLE: &str = "status.allocatable";

/// Removes masks that another mask covers. The host would otherwise return only the inner field.
fn outermost(masks: &FieldMasks) -> FieldMasks {
    let mut outermost = FieldMasks::new();
    for path in masks {
        // Outer paths sort first.
        if !outermost.iter().any(|outer| is_within(path, outer)) {
            outermost.insert(path.clone());
        }
    }
    outermost
}

/// Returns whether the field at `path` is the one at `outer`, or within it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::apart(&["spec.a", "metadata.labels"], &["metadata.labels", "spec.a"])]
    #[case::twice(&["spec.a", "spec.a"], &["spec.a"])]
    #[case::below_one(&["spec", "spec.a"], &["spec"])]
    #[case::above_two(&["spec.a", "spec.b.c", "spec"], &["spec"])]
    #[case::alike(&["spec", "specs.a"], &["spec", "specs.a"])]
    fn none_is_below_another(#[case] added: &[&str], #[case] expected: &[&str]) {
        let masks = added.iter().map(ToString::to_string).collect();
        assert_eq!(outermost(&masks).iter().collect::<Vec<_>>(), expected);
    }

    /// A cluster whose objects all have their name as a label.
    struct Named;

    impl Cluster for Named {
        fn get_resource(&self, request: &GetResourceRequest) -> anyhow::Result<String> {
            Ok(format!(r#"{{"metadata": {{"labels": {{"name": "{}"}}}}}}"#, request.name))
        }

        fn log(&self, _: LogLevel, _: &str) {}
    }

    #[test]
    fn each_look_up_is_answered_with_its_own_object() {
        let lookups = Lookups::new(&Named);
        let names = ["one", "two", "three"];
        let found = names.map(|name| lookups.namespace(name).unwrap());
        assert_eq!(
            found.map(|metadata| metadata.labels.get("name").map(str::to_owned)),
            names.map(|name| Some(name.into()))
        );
    }
}
