//! A request while it is decided: what is asked, what has become of the object, and what is decided so far.

use crate::cluster::{Lookups, NodeLookup};
use crate::decision::{CauseKind, Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::limits::LARGEST_OBJECT;
use crate::object_meta::{self, ObjectName};
use crate::request::Request;
use crate::resource::Resource;

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
    /// What is looked up of other objects.
    pub lookups: &'a Lookups<'a>,
    /// What is decided so far.
    pub decision: Decision<'a>,
}

impl<'a> Review<'a> {
    /// Begins to decide `request`, which is about an object of `resource`.
    ///
    /// # Errors
    /// It has no object, or the object's name can't be read.
    pub fn new(mut request: Request<'a>, resource: Resource, lookups: &'a Lookups<'a>) -> Result<Self, ReadError> {
        let object = request.take_object()?;
        // A Binding has the name of its Pod.
        let kind = if resource == Resource::Binding { Resource::Pod } else { resource };
        let name = ObjectName::Object(kind, object_meta::name(&object).within("object")?);
        Ok(Self { request, resource, object, is_changed: false, name, lookups, decision: Decision::default() })
    }

    /// Rejects an object that could not be changed any more, for its size. Asked about what came, before any rule works
    /// on it, and about what becomes of it.
    ///
    /// # Errors
    /// It is too large and, in an update, larger than before. What API servers write about managed fields does not
    /// count for that.
    pub fn check_size(&self) -> Result<(), Rejection> {
        let Some(size) = self.object.size_above(LARGEST_OBJECT) else { return Ok(()) };
        if self.request.is_update()
            && let Some(old_size) = self.request.old_object()?.size_above(0)
            && size - size_of_managed_fields(&self.object)
                <= old_size - size_of_managed_fields(self.request.old_object()?)
        {
            return Ok(());
        }
        Err(self.too_large(0))
    }

    /// Rejects the object for its size, with what else would be added to it, in bytes.
    pub fn too_large(&self, added: usize) -> Rejection {
        let size = self.object.size_above(0).unwrap_or_default() + added;
        let explanation = format!(
            "{} has {} KiB as the API server writes it, and at most {} KiB are allowed: a larger object could not be \
             changed or deleted any more; make it smaller",
            self.name,
            size.div_ceil(1024),
            LARGEST_OBJECT / 1024
        );
        Rejection::forbidden(CauseKind::Limit, explanation)
    }

    /// The decision, with the object if that was changed.
    pub fn into_decision(mut self) -> Decision<'a> {
        self.decision.mutated = Some(self.object).filter(|_| self.is_changed);
        self.decision
    }

    /// Names the `node` that was read in the audit log, if the object was changed.
    pub fn audit_node_of_change(&mut self, node: &NodeLookup<'_>) {
        if let NodeLookup::Found(node) = node
            && self.is_changed
        {
            self.decision.audit("node", node.name.as_str().to_owned());
        }
    }
}

fn size_of_managed_fields(object: &RawObject<'_>) -> usize {
    let Ok(Some(metadata)) = object.object("metadata") else { return 0 };
    // With its key, which stands there and in quotes, a colon and a comma.
    metadata.member("managedFields").map_or(0, |fields| fields.size() + "\"managedFields\":,".len())
}
