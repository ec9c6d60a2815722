//! Reads the metadata of objects (`ObjectMeta`), and names objects in messages.

use std::fmt;

use serde::Deserialize;

use crate::json::{FromObject, Pairs, RawObject, ReadError, Text, Within};
use crate::message::quote;
use crate::resource::Resource;

/// The member of a Pod, and of a Pod template, that holds its PodSpec.
pub const SPEC: &str = "spec";

/// The members of a PodSpec that list the containers of a new Pod.
pub const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Reads the name of `object`, or its `generateName`.
///
/// # Errors
/// The metadata can't be read.
pub fn name(object: &RawObject<'_>) -> Result<String, ReadError> {
    let name: String = object.get_at(&["metadata", "name"])?.unwrap_or_default();
    if name.is_empty() { Ok(object.get_at(&["metadata", "generateName"])?.unwrap_or_default()) } else { Ok(name) }
}

/// Reads the node that `pod` names. It is empty if the Pod names none.
///
/// # Errors
/// The spec can't be read.
pub fn node_name(pod: &RawObject<'_>) -> Result<String, ReadError> {
    Ok(pod.get_at(&["spec", "nodeName"])?.unwrap_or_default())
}

/// The labels and the annotations of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelsAndAnnotations<'a> {
    /// The labels.
    pub labels: Pairs<'a>,
    /// The annotations.
    pub annotations: Pairs<'a>,
}

impl<'a> LabelsAndAnnotations<'a> {
    /// Reads the labels and the annotations of `object`.
    ///
    /// # Errors
    /// They can't be read.
    pub fn read(object: &RawObject<'a>) -> Result<Self, ReadError> {
        Ok(Self { annotations: annotations(object)?, labels: labels(object)? })
    }
}

/// Reads the labels of `object`.
///
/// # Errors
/// They can't be read.
pub fn labels<'a>(object: &RawObject<'a>) -> Result<Pairs<'a>, ReadError> {
    Ok(object.get_at(&["metadata", "labels"])?.unwrap_or_default())
}

/// Reads the annotations of `object`.
///
/// # Errors
/// They can't be read.
pub fn annotations<'a>(object: &RawObject<'a>) -> Result<Pairs<'a>, ReadError> {
    Ok(object.get_at(&["metadata", "annotations"])?.unwrap_or_default())
}

/// Reads the kind of the object that controls `object`, if one does.
///
/// # Errors
/// The metadata can't be read.
pub fn kind_of_controller(object: &RawObject<'_>) -> Result<Option<String>, ReadError> {
    let mut kind = None;
    let Some(metadata) = object.object("metadata")? else { return Ok(kind) };
    let mut take = |FromObject(owner): FromObject<OwnerReference<'_>>| {
        if owner.controller == Some(true) && kind.is_none() {
            kind = Some(owner.kind.unwrap_or_default().to_string());
        }
    };
    metadata.for_each("ownerReferences", &mut take).within("metadata")?;
    Ok(kind)
}

/// `OwnerReference`
#[derive(Deserialize)]
struct OwnerReference<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    controller: Option<bool>,
}

/// The name of an object in a message.
#[derive(Clone, Debug)]
pub enum ObjectName {
    /// `Deployment "web"`
    Object(Resource, String),
    /// `the Pod template of Deployment "web"`
    TemplateOf(Resource, String),
    /// Any Pod of a namespace.
    EveryPod,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(kind, name) => write!(f, "{kind:?} {}", quote(name)),
            Self::TemplateOf(kind, name) => write!(f, "the Pod template of {kind:?} {}", quote(name)),
            Self::EveryPod => f.write_str("every Pod"),
        }
    }
}
