//! What is judged: a Pod, or the template of Pods.

use crate::cluster::Scheduling;
use crate::json::{RawObject, ReadError, Within};
use crate::object_meta::ObjectName;
use crate::request::Requester;
use crate::settings::{OnRuntimeClasses, Placement};

/// The path of a Pod's spec in the request.
pub const SPEC: &str = "object.spec";

/// What is judged: a Pod, or the template of Pods.
#[derive(Clone, Debug)]
pub struct Judged<'j> {
    /// What messages call it.
    pub name: &'j ObjectName,
    /// Where its PodSpec stands.
    pub path: &'j str,
    /// Its PodSpec.
    pub spec: &'j RawObject<'j>,
    /// Who asks for it.
    pub requester: &'j Requester,
    /// Whether it is made by the DaemonSet controller, or is the template that this makes Pods from.
    pub is_of_daemon_set: bool,
    /// The name of its RuntimeClass, where those are resolved; empty otherwise.
    pub class_name: String,
    /// What its RuntimeClass brings, as far as it was looked up.
    pub class: Scheduling,
}

impl<'j> Judged<'j> {
    /// What `requester` asks for, with this `spec`, which stands at `path`, and the RuntimeClass `class_name`.
    pub fn new(
        name: &'j ObjectName,
        (path, spec): (&'j str, &'j RawObject<'j>),
        requester: &'j Requester,
        class_name: String,
    ) -> Self {
        let class = Scheduling::default();
        Self { name, path, spec, requester, is_of_daemon_set: false, class_name, class }
    }

    /// The node that it names; empty, if it names none.
    ///
    /// # Errors
    /// The spec can't be read.
    pub fn node_name(&self) -> Result<String, ReadError> {
        self.spec.string("nodeName").within(self.path)
    }

    /// Whether its RuntimeClass, as far as it was looked up, brings `key=value`.
    pub fn brings_by_class(&self, key: &str, value: &str) -> bool {
        self.class.node_selector.get(key).is_some_and(|own| own == value)
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

/// The RuntimeClass that `spec` names, where it is to be looked up; empty otherwise.
///
/// # Errors
/// The spec can't be read.
pub fn class_name(spec: &RawObject<'_>, settings: &Placement) -> Result<String, ReadError> {
    match settings.on_runtime_classes {
        OnRuntimeClasses::Resolve => spec.string("runtimeClassName"),
        OnRuntimeClasses::Ignore => Ok(String::new()),
    }
}
