//! What all objects have, `ObjectMeta`: the parts of it that the policy reads.

use std::fmt;

use crate::json::{Raw, RawObject, ReadError, StringMap, Within};
use crate::message::quote;

/// The annotation of a Pod that stands for one which a kubelet runs from a file (`ConfigMirrorAnnotationKey`).
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The name of `object`, or the beginning of one where the API server will complete it.
///
/// # Errors
/// The metadata can't be read.
pub fn name(object: &RawObject<'_>) -> Result<String, ReadError> {
    let Some(metadata) = object.object("metadata")? else { return Ok(String::new()) };
    let name = metadata.string("name").within("metadata")?;
    if name.is_empty() { metadata.string("generateName").within("metadata") } else { Ok(name) }
}

/// Whether `object` has the annotation of a mirror Pod. Only a kubelet is believed that it is one.
///
/// # Errors
/// The annotations can't be read.
pub fn is_annotated_as_mirror(object: &RawObject<'_>) -> Result<bool, ReadError> {
    Ok(annotations(object)?.contains_key(MIRROR))
}

/// Whether `object` is on its way out.
///
/// # Errors
/// The metadata can't be read.
pub fn is_terminating(object: &RawObject<'_>) -> Result<bool, ReadError> {
    let Some(metadata) = object.object("metadata")? else { return Ok(false) };
    Ok(metadata.member("deletionTimestamp").is_some())
}

/// The labels of `object`.
///
/// # Errors
/// They can't be read.
pub fn labels<'a>(object: &RawObject<'a>) -> Result<StringMap<'a>, ReadError> {
    string_map(object, "labels")
}

/// The annotations of `object`.
///
/// # Errors
/// They can't be read.
pub fn annotations<'a>(object: &RawObject<'a>) -> Result<StringMap<'a>, ReadError> {
    string_map(object, "annotations")
}

fn string_map<'a>(object: &RawObject<'a>, member: &str) -> Result<StringMap<'a>, ReadError> {
    match object.object("metadata")? {
        Some(metadata) => Ok(metadata.get(member).within("metadata")?.unwrap_or_default()),
        None => Ok(StringMap::new()),
    }
}

/// The kind of the object that controls `object`, if one does.
///
/// # Errors
/// The metadata can't be read.
pub fn kind_of_controller(object: &RawObject<'_>) -> Result<Option<String>, ReadError> {
    let Some(metadata) = object.object("metadata")? else { return Ok(None) };
    for (position, owner) in metadata.elements("ownerReferences").within("metadata")?.iter().enumerate() {
        if let Some(kind) = kind_if_controller(owner).at(position).within("ownerReferences").within("metadata")? {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

fn kind_if_controller(owner: &Raw<'_>) -> Result<Option<String>, ReadError> {
    let owner = owner.object()?;
    let is_controller: Option<bool> = owner.get("controller")?;
    let kind = owner.string("kind")?;
    Ok(if is_controller == Some(true) { Some(kind) } else { None })
}

/// What a message calls the object that it is about.
#[derive(Clone, Debug)]
pub enum ObjectName {
    /// `Pod "web-0"`
    Pod(String),
    /// `Deployment "web"`
    Workload(&'static str, String),
    /// `the Pod template of Deployment "web"`
    TemplateOf(&'static str, String),
    /// Any Pod of a namespace.
    EveryPod,
}

impl ObjectName {
    /// `object`, a Pod.
    pub fn pod(object: &RawObject<'_>) -> Self {
        Self::Pod(name_if_readable(object))
    }

    /// `object`, of this kind.
    pub fn workload(kind: &'static str, object: &RawObject<'_>) -> Self {
        Self::Workload(kind, name_if_readable(object))
    }

    /// The Pod template of `object`, which is of this kind.
    pub fn template_of(kind: &'static str, object: &RawObject<'_>) -> Self {
        Self::TemplateOf(kind, name_if_readable(object))
    }
}

/// For a message, which an unreadable name must not prevent.
fn name_if_readable(object: &RawObject<'_>) -> String {
    name(object).unwrap_or_default()
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(name) => write!(f, "Pod {}", quote(name)),
            Self::Workload(kind, name) => write!(f, "{kind} {}", quote(name)),
            Self::TemplateOf(kind, name) => write!(f, "the Pod template of {kind} {}", quote(name)),
            Self::EveryPod => f.write_str("every Pod"),
        }
    }
}
