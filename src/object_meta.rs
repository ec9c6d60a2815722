//! What all objects have, `ObjectMeta`: the parts of it that the policy reads.

use std::borrow::Cow;
use std::fmt;

use json::{Mismatch, Object, StringMap, Within};

use crate::message::quote;

/// The annotation of a Pod that stands for one which a kubelet runs from a file (`ConfigMirrorAnnotationKey`).
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The name of `object`, or the beginning of one where the API server will complete it.
///
/// # Errors
/// The metadata can't be read.
pub fn name(object: &Object) -> Result<Cow<'_, str>, Mismatch> {
    let Some(metadata) = object.object("metadata")? else { return Ok(Cow::Borrowed("")) };
    let name = metadata.string("name").within("metadata")?;
    if name.is_empty() { metadata.string("generateName").within("metadata") } else { Ok(name) }
}

/// Whether `object` has the annotation of a mirror Pod. Only a kubelet is believed that it is one.
///
/// # Errors
/// The metadata can't be read.
pub fn is_annotated_as_mirror(object: &Object) -> Result<bool, Mismatch> {
    let Some(annotations) = object.object_at(&["metadata", "annotations"])? else { return Ok(false) };
    Ok(annotations.get(MIRROR).is_some())
}

/// Whether `object` is on its way out.
///
/// # Errors
/// The metadata can't be read.
pub fn is_terminating(object: &Object) -> Result<bool, Mismatch> {
    let Some(metadata) = object.object("metadata")? else { return Ok(false) };
    Ok(metadata.get("deletionTimestamp").is_some())
}

/// The labels of `object`.
///
/// # Errors
/// They can't be read.
pub fn labels(object: &Object) -> Result<StringMap, Mismatch> {
    string_map(object, "labels")
}

/// The annotations of `object`.
///
/// # Errors
/// They can't be read.
pub fn annotations(object: &Object) -> Result<StringMap, Mismatch> {
    string_map(object, "annotations")
}

fn string_map(object: &Object, member: &str) -> Result<StringMap, Mismatch> {
    match object.object("metadata")? {
        Some(metadata) => metadata.string_map(member).within("metadata"),
        None => Ok(StringMap::new()),
    }
}

/// The kind of the object that controls `object`, if one does.
///
/// # Errors
/// The metadata can't be read.
pub fn kind_of_controller(object: &Object) -> Result<Option<Cow<'_, str>>, Mismatch> {
    let Some(metadata) = object.object("metadata")? else { return Ok(None) };
    for owner in metadata.objects("ownerReferences").within("metadata")? {
        if owner.boolean("controller").unwrap_or(false) {
            return Ok(Some(owner.string("kind").unwrap_or_default()));
        }
    }
    Ok(None)
}

/// What a message is about.
#[derive(Clone, Debug)]
pub enum Named {
    /// `Pod "web-0"`
    Pod(String),
    /// `Deployment "web"`
    Workload(&'static str, String),
    /// `the Pod template of Deployment "web"`
    TemplateOf(&'static str, String),
    /// Any Pod of a namespace.
    EveryPod,
}

impl Named {
    /// `object`, a Pod.
    pub fn pod(object: &Object) -> Self {
        Self::Pod(name_if_readable(object))
    }

    /// `object`, of this kind.
    pub fn workload(kind: &'static str, object: &Object) -> Self {
        Self::Workload(kind, name_if_readable(object))
    }

    /// The Pod template of `object`, which is of this kind.
    pub fn template_of(kind: &'static str, object: &Object) -> Self {
        Self::TemplateOf(kind, name_if_readable(object))
    }
}

/// For a message, which an unreadable name must not prevent.
fn name_if_readable(object: &Object) -> String {
    name(object).map(Cow::into_owned).unwrap_or_default()
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(name) => write!(f, "Pod {}", quote(name)),
            Self::Workload(kind, name) => write!(f, "{kind} {}", quote(name)),
            Self::TemplateOf(kind, name) => write!(f, "the Pod template of {kind} {}", quote(name)),
            Self::EveryPod => f.write_str("every Pod"),
        }
    }
}
