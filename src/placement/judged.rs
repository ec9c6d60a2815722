//! What is judged: a Pod, or the template of Pods.

use crate::cluster::Scheduling;
use crate::json::{RawObject, ReadError};
use crate::object_meta::ObjectName;
use crate::request::Request;
use crate::toleration::AddedTo;

/// What no RuntimeClass brings.
pub static NO_CLASS: Scheduling = Scheduling { node_selector: None, tolerations: None };

/// The path of a Pod's spec in the request.
pub const SPEC: &str = "object.spec";

/// What is judged: a Pod, or the template of Pods.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'j> {
    /// What messages call it.
    pub name: &'j ObjectName,
    /// Where its PodSpec stands.
    pub path: &'j str,
    /// What the cluster adds to the tolerations of such Pods by itself.
    pub added_to: AddedTo,
    /// Whether the DaemonSet controller pinned it to its node, by `matchFields`.
    pub is_pinned: bool,
    /// What its RuntimeClass brings, as far as it was looked up.
    pub class: &'j Scheduling,
    /// The name of its RuntimeClass, where those are resolved.
    pub class_name: &'j str,
}

impl<'j> Judged<'j> {
    /// A Pod that `request` is about.
    ///
    /// # Errors
    /// Who made it can't be read.
    pub fn pod(pod: &RawObject<'_>, name: &'j ObjectName, request: &Request<'_>) -> Result<Self, ReadError> {
        // Only that controller pins Pods to a node.
        let is_pinned = request.is_about_pod_of_daemon_set(pod)?;
        let added_to = if is_pinned { AddedTo::DaemonSetPod } else { AddedTo::AnyPod };
        Ok(Self { name, path: SPEC, added_to, is_pinned, class: &NO_CLASS, class_name: "" })
    }

    /// Whether it is a template.
    pub const fn is_template(&self) -> bool {
        matches!(self.name, ObjectName::TemplateOf(..))
    }
}
