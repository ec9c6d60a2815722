//! The cluster, as far as the policy looks at it: one Namespace, one Node.

use std::collections::BTreeSet;

use json::{Mismatch, Object, Outline, StringMap};
use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::{Namespace, Node};

use crate::decision::Decision;
use crate::text::{first_line, mentions, quote};

/// The host's words for a resource that does not exist.
const NOT_FOUND: &str = "Cannot find v1/";

/// What can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `v1/Namespace`
    Namespace,
    /// `v1/Node`
    Node,
}

impl Kind {
    /// `v1` of all kinds here.
    pub const API_VERSION: &'static str = Node::API_VERSION;

    /// As Kubernetes spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => Namespace::KIND,
            Self::Node => Node::KIND,
        }
    }
}

/// Reads objects of the cluster, which have no namespace.
pub trait Cluster {
    /// The object's JSON text, of which the fields named by `masks` are needed.
    ///
    /// # Errors
    /// The host's words.
    fn get(&self, kind: Kind, name: &str, masks: &BTreeSet<String>) -> Result<String, String>;

    /// Takes note of a look-up that failed.
    fn note(&self, failure: &str);
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
    kind: Kind,
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
    let mut masks = BTreeSet::new();
    masks.insert(ANNOTATIONS.to_owned());
    look_up(cluster, Kind::Namespace, name, &masks)
}

/// Looks a Node up, for the fields that `masks` name.
///
/// # Errors
/// There is none, or it can't be read.
pub fn look_up_node(cluster: &impl Cluster, name: &str, masks: &BTreeSet<String>) -> Result<Answer, LookupError> {
    look_up(cluster, Kind::Node, name, masks)
}

fn look_up(cluster: &impl Cluster, kind: Kind, name: &str, masks: &BTreeSet<String>) -> Result<Answer, LookupError> {
    let answer = cluster.get(kind, name, masks).map_err(|error| {
        let reason = first_line(&error);
        let message = format!("{} {} can't be read: {reason}", kind.name(), quote(name));
        cluster.note(&message);
        if mentions(reason, NOT_FOUND) { LookupError::NotFound(message) } else { LookupError::Failed(message) }
    })?;
    Ok(Answer { kind, name: name.to_owned(), text: answer })
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
            let what = format!("{} {}", self.kind.name(), quote(&self.name));
            let message = format!("{what} can't be read: the host's answer is malformed: {mismatch}");
            cluster.note(&message);
            LookupError::Failed(message)
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
