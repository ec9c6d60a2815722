//! The cluster, as far as the policy looks at it: one Namespace, one Node.

use json::{Mismatch, Object, Outline, ParseError, StringMap, Within};
use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::{Namespace as V1Namespace, Node as V1Node};

use crate::field_masks::FieldMasks;
use crate::message::{first_line, mentions, quote, shorten};
use crate::selector::syntax;

/// The API version of all that is looked up.
pub const API_VERSION: &str = V1Node::API_VERSION;

/// The kind of a Namespace, as Kubernetes spells it.
pub const NAMESPACE: &str = V1Namespace::KIND;

/// The kind of a Node, as Kubernetes spells it.
pub const NODE: &str = V1Node::KIND;

/// The host's words for a resource that does not exist.
const NOT_FOUND: &str = "Cannot find v1/";

/// What of a looked-up object is taken apart while it is read.
const LOOKED_UP: Outline = Outline::Object(&[("metadata", METADATA)]);
const METADATA: Outline = Outline::Object(&[("labels", Outline::FLAT), ("annotations", Outline::FLAT)]);

/// Reads objects of the cluster, which have no namespace.
///
/// The host pastes a name into the URL of the API server. So nothing is looked up but what can be a name.
pub trait Cluster {
    /// The JSON text of a Namespace, of which the fields named by `masks` are needed.
    ///
    /// # Errors
    /// The host's words.
    fn namespace(&self, name: &NamespaceName, masks: &FieldMasks) -> Result<String, String>;

    /// The JSON text of a Node, of which the fields named by `masks` are needed.
    ///
    /// # Errors
    /// The host's words.
    fn node(&self, name: &NodeName, masks: &FieldMasks) -> Result<String, String>;

    /// Logs that a look-up failed.
    fn log_failure(&self, failure: &str);
}

/// A name that a Node can have: an RFC 1123 subdomain (`ValidateNodeName`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName(String);

impl NodeName {
    /// `name` as the name of a Node; nothing, if no Node can have it.
    pub fn new(name: &str) -> Option<Self> {
        if syntax::is_subdomain(name) { Some(Self(name.to_owned())) } else { None }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name that a Namespace can have: an RFC 1123 label (`ValidateNamespaceName`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceName(String);

impl NamespaceName {
    /// `name` as the name of a Namespace; nothing, if no Namespace can have it.
    pub fn new(name: &str) -> Option<Self> {
        if syntax::is_dns_label(name) { Some(Self(name.to_owned())) } else { None }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why an object could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// There is none. With one line that says so.
    NotFound(String),
    /// Something failed. With one line that says what, and names the object.
    Failed(String),
}

impl LookupError {
    /// One line, naming the object.
    pub fn message(&self) -> &str {
        match self {
            Self::NotFound(message) | Self::Failed(message) => message,
        }
    }
}

/// A Node that was looked up.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// As much of it as was asked for.
    pub object: Object,
    /// Its labels, if they were asked for.
    pub labels: StringMap,
    /// Its annotations, if they were asked for.
    pub annotations: StringMap,
}

/// The labels and annotations of a Namespace that was looked up.
#[derive(Clone, Debug, Default)]
pub struct Namespace {
    /// Its annotations.
    pub annotations: StringMap,
    /// Its labels.
    pub labels: StringMap,
}

/// Looks a Node up, for the fields that `masks` name.
///
/// # Errors
/// There is none, or it can't be read.
pub fn look_up_node(cluster: &impl Cluster, name: NodeName, masks: &FieldMasks) -> Result<Node, LookupError> {
    let text = match cluster.node(&name, masks) {
        Ok(text) => text,
        Err(error) => return Err(failure(cluster, NODE, name.as_str(), first_line(&error))),
    };
    match read(text, masks) {
        Ok((object, labels, annotations)) => Ok(Node { name, object, labels, annotations }),
        Err(error) => Err(malformed(cluster, NODE, name.as_str(), &error)),
    }
}

/// Looks a Namespace up, for the fields that `masks` name.
///
/// # Errors
/// There is none, or it can't be read; no Namespace can have this name.
pub fn look_up_namespace(cluster: &impl Cluster, name: &str, masks: &FieldMasks) -> Result<Namespace, LookupError> {
    let Some(possible) = NamespaceName::new(name) else {
        return Err(failure(cluster, NAMESPACE, name, "no Namespace can have this name"));
    };
    let text = match cluster.namespace(&possible, masks) {
        Ok(text) => text,
        Err(error) => return Err(failure(cluster, NAMESPACE, name, first_line(&error))),
    };
    match read(text, masks) {
        Ok((_, labels, annotations)) => Ok(Namespace { annotations, labels }),
        Err(error) => Err(malformed(cluster, NAMESPACE, name, &error)),
    }
}

/// What the host answered, with its labels and annotations, as far as they were asked for.
fn read(text: String, masks: &FieldMasks) -> Result<(Object, StringMap, StringMap), ParseError> {
    let object = Object::parse(text, &LOOKED_UP)?;
    let Some(metadata) = object.object("metadata")? else {
        return Err(Mismatch::new("an object", "nothing").within("metadata").into());
    };
    let labels = strings(metadata, "labels", masks.ask_for(FieldMasks::LABELS)).within("metadata")?;
    let annotations = strings(metadata, "annotations", masks.ask_for(FieldMasks::ANNOTATIONS)).within("metadata")?;
    Ok((object, labels, annotations))
}

/// The strings under `key` of `metadata`, or none. The host sends all metadata, asked for or not: what nobody will look at
/// only has to be what it must be.
fn strings(metadata: &Object, key: &str, are_asked_for: bool) -> Result<StringMap, Mismatch> {
    if !are_asked_for && metadata.holds_strings(key) {
        return Ok(StringMap::new());
    }
    metadata.string_map(key)
}

fn malformed(cluster: &impl Cluster, kind: &str, name: &str, error: &ParseError) -> LookupError {
    failure(cluster, kind, name, &format!("the host's answer is malformed: {error}"))
}

/// A look-up that failed for `reason`, one line. It is logged too.
fn failure(cluster: &impl Cluster, kind: &str, name: &str, reason: &str) -> LookupError {
    let message = format!("{kind} {} can't be read: {}", quote(name), shorten(reason));
    cluster.log_failure(&message);
    if mentions(reason, NOT_FOUND) { LookupError::NotFound(message) } else { LookupError::Failed(message) }
}
