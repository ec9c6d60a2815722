//! What all objects have: `metadata`.

use std::borrow::Cow;
use std::fmt;

use json::{Json, Mismatch, Object};

use crate::text::quote;

/// The annotation of a Pod that stands for one which a kubelet runs from a file (`ConfigMirrorAnnotationKey`).
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The `metadata` of the request's object.
#[derive(Clone, Debug, Default)]
pub struct Metadata<'a>(pub Object<'a>);

impl<'a> Metadata<'a> {
    /// The metadata of `object`; absent is empty.
    pub fn of(object: &Object<'a>) -> Result<Self, Mismatch> {
        let metadata = object.object("metadata").map_err(|mismatch| mismatch.within("object"))?;
        Ok(Self(metadata.unwrap_or_default()))
    }

    /// The name, or the beginning of one where the API server will complete it.
    pub fn name(&self) -> Result<Cow<'a, str>, Mismatch> {
        let name = self.0.string("name").map_err(within)?;
        if name.is_empty() { self.0.string("generateName").map_err(within) } else { Ok(name) }
    }

    /// Whether this is a Pod that stands for one which a kubelet already runs.
    pub fn is_mirror(&self) -> Result<bool, Mismatch> {
        let annotations = self.0.object("annotations").map_err(within)?;
        Ok(annotations.is_some_and(|annotations| annotations.get(MIRROR).is_some()))
    }

    /// Whether the object is on its way out.
    pub fn is_terminating(&self) -> bool {
        self.0.get("deletionTimestamp").is_some()
    }

    /// Whether another object controls this one.
    pub fn has_controller(&self) -> Result<bool, Mismatch> {
        let owners = self.0.read("ownerReferences", Json::objects).map_err(within)?;
        let controls = |owner: &Object<'_>| owner.read("controller", Json::boolean).ok().flatten() == Some(true);
        Ok(owners.iter().flatten().any(controls))
    }
}

fn within(mismatch: Mismatch) -> Mismatch {
    mismatch.within("object.metadata")
}

/// Whom a message is about. The name is read only if there is a message.
#[derive(Clone, Debug)]
pub enum Subject<'a> {
    /// `Pod "web-0"`
    Pod(Object<'a>),
    /// `the Pod template of Deployment "web"`
    TemplateOf(&'static str, Object<'a>),
    /// `Deployment "web"`
    Workload(&'static str, Object<'a>),
    /// Any Pod of a namespace.
    EveryPod,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |object| quote(&Metadata::of(object).and_then(|metadata| metadata.name()).unwrap_or_default());
        match self {
            Self::Pod(object) => write!(f, "Pod {}", name(object)),
            Self::TemplateOf(kind, object) => write!(f, "the Pod template of {kind} {}", name(object)),
            Self::Workload(kind, object) => write!(f, "{kind} {}", name(object)),
            Self::EveryPod => f.write_str("every Pod"),
        }
    }
}
