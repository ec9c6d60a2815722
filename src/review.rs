//! The state of a request while it is decided: the request, the object with its changes, and the decision so far.

use std::ops::Deref;

use crate::cluster::{Lookups, NodeLookup};
use crate::decision::{CauseKind, Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::limits::LARGEST_OBJECT;
use crate::object_meta::{self, ObjectName};
use crate::request::Request;
use crate::resource::Resource;

/// The state of a request while it is decided.
pub struct Review<'a> {
    /// The request.
    pub request: Request<'a>,
    /// The resource of the object.
    pub resource: Resource,
    /// The object, with the changes so far.
    pub object: ReviewedObject<'a>,
    /// The name of the object in messages.
    pub name: ObjectName,
    /// Looks up other objects.
    pub lookups: &'a Lookups<'a>,
    /// The decision so far.
    pub decision: Decision<'a>,
}

/// The object of a request. It remembers whether it was changed.
pub struct ReviewedObject<'a> {
    object: RawObject<'a>,
    is_changed: bool,
}

impl<'a> ReviewedObject<'a> {
    /// Returns the object, to be changed.
    pub const fn change(&mut self) -> &mut RawObject<'a> {
        self.is_changed = true;
        &mut self.object
    }

    /// Returns whether it was changed.
    pub const fn is_changed(&self) -> bool {
        self.is_changed
    }
}

impl<'a> Deref for ReviewedObject<'a> {
    type Target = RawObject<'a>;

    fn deref(&self) -> &RawObject<'a> {
        &self.object
    }
}

impl<'a> Review<'a> {
    /// Starts the review of `request`, which is about an object of `resource`.
    ///
    /// # Errors
    /// It has no object, or the object's name can't be read.
    pub fn new(mut request: Request<'a>, resource: Resource, lookups: &'a Lookups<'a>) -> Result<Self, ReadError> {
        let object = request.take_object()?;
        // A Binding has the name of its Pod.
        let kind = if resource == Resource::Binding { Resource::Pod } else { resource };
        let name = ObjectName::Object(kind, object_meta::name(&object).within("object")?);
        let object = ReviewedObject { object, is_changed: false };
        Ok(Self { request, resource, object, name, lookups, decision: Decision::default() })
    }

    /// Rejects an object that is so large that it could not be changed any more. This is called before the rules run,
    /// and again after they changed the object.
    ///
    /// # Errors
    /// It is too large and, in an update, larger than before. Managed fields, which API servers write, do not count in
    /// this comparison.
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

    /// Rejects the object for its size. `added` is the number of bytes that would be added to it.
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

    /// Returns the decision, with the object if it was changed.
    pub fn into_decision(mut self) -> Decision<'a> {
        let ReviewedObject { object, is_changed } = self.object;
        self.decision.mutated = Some(object).filter(|_| is_changed);
        self.decision
    }

    /// Adds the name of the `node` that was read to the audit annotations, if the object was changed.
    pub fn audit_node_of_change(&mut self, node: &NodeLookup<'_>) {
        if let NodeLookup::Found(node) = node
            && self.object.is_changed
        {
            self.decision.audit("node", node.name.as_str());
        }
    }
}

fn size_of_managed_fields(object: &RawObject<'_>) -> usize {
    let Ok(Some(metadata)) = object.object("metadata") else { return 0 };
    // Counts the key too, with its quotes, a colon and a comma.
    metadata.member("managedFields").map_or(0, |fields| fields.size() + "\"managedFields\":,".len())
}
