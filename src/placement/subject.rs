//! The Pod, or the template of Pods, whose placement is decided.

use std::cell::OnceCell;

use super::node_affinity::{Excess, NODE_SELECTOR};
use crate::cluster::{Lookups, Scheduling};
use crate::decision::{CauseKind, Rejection};
use crate::json::{Pairs, RawObject, ReadError, Within};
use crate::limits::MOST_COMPARISONS;
use crate::object_meta::ObjectName;
use crate::request::User;
use crate::settings::{OnRuntimeClasses, Placement};

/// A Pod, or the template of Pods, whose placement is decided.
pub struct PodSubject<'p, 'a> {
    /// Its name in messages.
    pub name: &'p ObjectName,
    /// Whether it is a template.
    pub is_template: bool,
    /// The path of its PodSpec in the object.
    pub path: &'p str,
    /// Its PodSpec.
    pub spec: &'p RawObject<'a>,
    /// The requester, or `None` for any Pod of a namespace.
    pub user: Option<&'p User>,
    /// Whether it is made by the DaemonSet controller, or is the template that this makes Pods from.
    pub is_of_daemon_set: bool,
    /// Its RuntimeClass.
    pub runtime_class: RuntimeClass<'p>,
}

impl<'a> PodSubject<'_, 'a> {
    /// Returns its nodeSelector.
    ///
    /// # Errors
    /// It can't be read.
    pub fn node_selector(&self) -> Result<Pairs<'a>, ReadError> {
        Ok(self.spec.get(NODE_SELECTOR).within(self.path).within("object")?.unwrap_or_default())
    }

    /// Returns the node that it names, or an empty text.
    ///
    /// # Errors
    /// The spec can't be read.
    pub fn node_name(&self) -> Result<String, ReadError> {
        self.spec.string("nodeName").within(self.path).within("object")
    }

    /// Returns whether the audit scanner sent it. It runs already, and a scheduler has chosen its node.
    pub fn is_scanned(&self) -> bool {
        self.user == Some(&User::AuditScanner)
    }

    /// Returns whether it is a Pod that the DaemonSet controller made, which pins its Pods to their nodes by
    /// `matchFields`.
    pub const fn is_pinned(&self) -> bool {
        self.is_of_daemon_set && !self.is_template
    }

    /// Rejects it for exceeding a limit in `field` of its PodSpec.
    pub fn too_many(&self, Excess { most, what }: Excess, field: &str) -> Rejection {
        Rejection::too_many(self.name, most, what, &format!("{}.{field}", self.path))
    }

    /// Rejects it for values in `field` of its PodSpec that take too many comparisons.
    pub fn too_much_to_compare(&self, field: &str) -> Rejection {
        let explanation = format!(
            "{} has so many values in {}.{field} that more than {MOST_COMPARISONS} comparisons with those of its \
             namespace are needed; remove some",
            self.name, self.path
        );
        Rejection::forbidden(CauseKind::Limit, explanation)
    }
}

/// The RuntimeClass of a Pod. It is looked up once, when a rule first needs it.
pub struct RuntimeClass<'c> {
    /// Its name. Empty if the Pod has none, or RuntimeClasses are not resolved.
    pub name: String,
    lookups: &'c Lookups<'c>,
    scheduling: OnceCell<Scheduling>,
}

impl<'c> RuntimeClass<'c> {
    /// Returns the RuntimeClass that `spec` names, where `settings` say that it is to be looked up.
    ///
    /// # Errors
    /// The spec can't be read.
    pub fn new(spec: &RawObject<'_>, settings: &Placement, lookups: &'c Lookups<'c>) -> Result<Self, ReadError> {
        let name = match settings.on_runtime_classes {
            OnRuntimeClasses::Resolve => spec.string("runtimeClassName")?,
            OnRuntimeClasses::Ignore => String::new(),
        };
        Ok(Self { name, lookups, scheduling: OnceCell::new() })
    }

    /// Returns the pairs and tolerations that it adds to Pods.
    ///
    /// # Errors
    /// It can't be read.
    pub fn scheduling(&self) -> Result<&Scheduling, Rejection> {
        if let Some(scheduling) = self.scheduling.get() {
            return Ok(scheduling);
        }
        let mut scheduling = Scheduling::default();
        if !self.name.is_empty() {
            scheduling = self.lookups.runtime_class(&self.name)?;
        }
        Ok(self.scheduling.get_or_init(|| scheduling))
    }

    /// Returns whether it adds `key=value`. Returns false if it was not looked up.
    pub fn is_known_to_add(&self, key: &str, value: &str) -> bool {
        self.scheduling.get().is_some_and(|scheduling| scheduling.selects(key, value))
    }
}
