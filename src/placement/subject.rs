//! Whose placement is decided: a Pod, or the template of Pods.

use super::runtime_class::RuntimeClass;
use crate::json::{Pairs, RawObject, ReadError, Within};
use crate::object_meta::ObjectName;
use crate::request::User;

/// The path of a Pod's spec in the request.
pub const SPEC: &str = "object.spec";

/// A Pod, or the template of Pods, whose placement is decided.
#[derive(Debug)]
pub struct PodSubject<'p, 'a> {
    /// What messages call it.
    pub name: &'p ObjectName,
    /// Where its PodSpec stands.
    pub path: &'p str,
    /// Its PodSpec.
    pub spec: &'p RawObject<'a>,
    /// Who asks for it.
    pub user: &'p User,
    /// Whether it is made by the DaemonSet controller, or is the template that this makes Pods from.
    pub is_of_daemon_set: bool,
    /// Its RuntimeClass.
    pub runtime_class: RuntimeClass<'p>,
}

impl PodSubject<'_, '_> {
    /// The node that it names; empty, if it names none.
    ///
    /// # Errors
    /// The spec can't be read.
    pub fn node_name(&self) -> Result<String, ReadError> {
        self.spec.string("nodeName").within(self.path)
    }

    /// Whether it is a template.
    pub const fn is_template(&self) -> bool {
        matches!(self.name, ObjectName::TemplateOf(..))
    }

    /// Whether it is a Pod that the DaemonSet controller made, which pins its Pods to their nodes by `matchFields`.
    pub const fn is_pinned(&self) -> bool {
        self.is_of_daemon_set && !self.is_template()
    }
}

impl<'a> PodSubject<'_, 'a> {
    /// Its nodeSelector.
    ///
    /// # Errors
    /// It can't be read.
    pub fn node_selector(&self) -> Result<Pairs<'a>, ReadError> {
        Ok(self.spec.get("nodeSelector").within(self.path)?.unwrap_or_default())
    }
}
