//! The cluster, as far as the policy looks at it: one Namespace, one Node.

use std::collections::BTreeSet;

use json::{Mismatch, Object, Outline, StringMap};
use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::{Namespace, Node};

use crate::decision::Decision;
use crate::selector::syntax;
use crate::text::{first_line, mentions, quote, shorten};

/// The host's words for a resource that does not exist.
const NOT_FOUND: &str = "Cannot find v1/";

/// Reads objects of the cluster, which have no namespace.
///
/// The host pastes a name into the URL of the API server. So nothing is looked up but what can be a name.
pub trait Cluster {
    /// The JSON text of a Namespace, of which the fields named by `masks` are needed.
    ///
    /// # Errors
    /// The host's words.
    fn namespace(&self, name: &NamespaceName, masks: &BTreeSet<String>) -> Result<String, String>;

    /// The JSON text of a Node, of which the fields named by `masks` are needed.
    ///
    /// # Errors
    /// The host's words.
    fn node(&self, name: &NodeName, masks: &BTreeSet<String>) -> Result<String, String>;

    /// Takes note of a look-up that failed.
    fn note(&self, failure: &str);
}

/// The API version of all that is looked up.
pub const API_VERSION: &str = Node::API_VERSION;

/// The kind of a Namespace, as Kubernetes spells it.
pub const NAMESPACE: &str = Namespace::KIND;

/// The kind of a Node, as Kubernetes spells it.
pub const NODE: &str = Node::KIND;

/// A name that a Node can have: an RFC 1123 subdomain (`ValidateNodeName`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName(String);

impl NodeName {
    /// `name` as the name of a Node; nothing, if no Node can have it.
    pub fn new(name: &str) -> Option<Self> {
        syntax::is_subdomain(name).then(|| Self(name.to_owned()))
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
        syntax::is_dns_label(name).then(|| Self(name.to_owned()))
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

/// The text of an object that was looked up.
#[derive(Clone, Debug)]
pub struct Answer {
    kind: &'static str,
    name: String,
    text: String,
}

/// What of an answer is cut in one pass.
const ANSWER: Outline =
    Outline::Object(&[("metadata", Outline::Object(&[("labels", Outline::FLAT), ("annotations", Outline::FLAT)]))]);

/// The field mask for labels.
pub const LABELS: &str = "metadata.labels";

/// The field mask for annotations.
pub const ANNOTATIONS: &str = "metadata.annotations";

/// Looks a Namespace up, for its annotations.
///
/// # Errors
/// There is none, or it can't be read.
pub fn look_up_namespace(cluster: &impl Cluster, name: &str) -> Result<Answer, LookupError> {
    let Some(possible) = NamespaceName::new(name) else {
        return Err(failed(cluster, NAMESPACE, name, "no Namespace can have this name"));
    };
    let mut masks = BTreeSet::new();
    masks.insert(ANNOTATIONS.to_owned());
    answer(cluster, NAMESPACE, name, cluster.namespace(&possible, &masks))
}

/// Looks a Node up, for the fields that `masks` name.
///
/// # Errors
/// There is none, or it can't be read.
pub fn look_up_node(cluster: &impl Cluster, name: &NodeName, masks: &BTreeSet<String>) -> Result<Answer, LookupError> {
    answer(cluster, NODE, name.as_str(), cluster.node(name, masks))
}

fn answer(
    cluster: &impl Cluster,
    kind: &'static str,
    name: &str,
    answer: Result<String, String>,
) -> Result<Answer, LookupError> {
    match answer {
        Ok(text) => Ok(Answer { kind, name: name.to_owned(), text }),
        Err(error) => Err(failed(cluster, kind, name, first_line(&error))),
    }
}

fn failed(cluster: &impl Cluster, kind: &str, name: &str, reason: &str) -> LookupError {
    let message = format!("{kind} {} can't be read: {}", quote(name), shorten(reason));
    cluster.note(&message);
    if mentions(reason, NOT_FOUND) { LookupError::NotFound(message) } else { LookupError::Failed(message) }
}

/// The Node in `answer`, of which the audit log is told.
///
/// # Errors
/// It could not be read.
pub fn found<'n>(
    answer: &'n Result<Answer, LookupError>,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<Found<'n>, LookupError> {
    let node = answer.as_ref().map_err(Clone::clone).and_then(|answer| answer.object(cluster))?;
    decision.annotate("node", node.name.to_owned());
    Ok(node)
}

impl Answer {
    /// The object.
    ///
    /// # Errors
    /// What the host answered is none.
    pub fn object(&self, cluster: &impl Cluster) -> Result<Found<'_>, LookupError> {
        self.read().map_err(|mismatch| {
            let reason = format!("the host's answer is malformed: {mismatch}");
            failed(cluster, self.kind, &self.name, &reason)
        })
    }

    fn read(&self) -> Result<Found<'_>, Mismatch> {
        let root = Object::parse(&self.text, &ANSWER)?;
        let absent = || Mismatch::new("an object", "nothing").within("metadata");
        let metadata = root.object("metadata")?.ok_or_else(absent)?;
        let map = |key| metadata.string_map(key).map_err(|mismatch| mismatch.within("metadata"));
        Ok(Found { name: &self.name, labels: map("labels")?, annotations: map("annotations")?, root })
    }
}

/// An object that was looked up.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its labels.
    pub labels: StringMap<'a>,
    /// Its annotations.
    pub annotations: StringMap<'a>,
    /// All of it.
    pub root: Object<'a>,
}
