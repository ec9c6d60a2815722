//! A request while it is decided: what is asked, what has become of the object, and what is decided so far.

use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::object_meta::{self, ObjectName};
use crate::request::Request;
use crate::resource::Resource;
use crate::size;

/// A request while it is decided.
pub struct Review<'a> {
    /// What is asked.
    pub request: Request<'a>,
    /// What sort of object it is about.
    pub resource: Resource,
    /// The object, with what was changed.
    pub object: RawObject<'a>,
    /// Whether anything was changed.
    pub is_changed: bool,
    /// What messages call the object.
    pub name: ObjectName,
    /// Where other objects are looked up.
    pub cluster: &'a dyn Cluster,
    /// What is decided so far.
    pub decision: Decision<'a>,
}

impl<'a> Review<'a> {
    /// Begins to decide `request`, which is about an object of `resource`.
    ///
    /// # Errors
    /// It has no object, or the object's name can't be read.
    pub fn of(mut request: Request<'a>, resource: Resource, cluster: &'a dyn Cluster) -> Result<Self, ReadError> {
        let object = request.take_object()?;
        // A Binding has the name of its Pod.
        let kind = if resource == Resource::Binding { Resource::Pod } else { resource };
        let name = ObjectName::Object(kind, object_meta::name(&object).within("object")?);
        Ok(Self { request, resource, object, is_changed: false, name, cluster, decision: Decision::default() })
    }

    /// Rejects an object that could not be changed any more, for its size.
    ///
    /// # Errors
    /// It is too large and, in an update, larger than before.
    pub fn check_size(&self) -> Result<(), Rejection> {
        let old_object = self.request.old_object().ok().filter(|_| self.request.is_update());
        size::check(&self.object, old_object, &self.name)
    }

    /// The decision, with the object if that was changed.
    pub fn into_decision(mut self) -> Decision<'a> {
        self.decision.mutated = Some(self.object).filter(|_| self.is_changed);
        self.decision
    }
}
