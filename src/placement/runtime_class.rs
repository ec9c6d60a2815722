//! RuntimeClasses: the API server merges what they bring into Pods before it asks, so that it looks like the Pod's own.

use std::cell::OnceCell;

use crate::cluster::{Cluster, Scheduling, look_up_runtime_class};
use crate::decision::Rejection;
use crate::json::{RawObject, ReadError};
use crate::settings::{OnRuntimeClasses, Placement};

/// The RuntimeClass of a Pod. It is looked up once, and not before a rule asks what it brings.
pub struct RuntimeClass<'c> {
    /// Its name; empty, if the Pod has none, or RuntimeClasses are not resolved.
    pub name: String,
    cluster: &'c dyn Cluster,
    scheduling: OnceCell<Scheduling>,
}

impl<'c> RuntimeClass<'c> {
    /// The RuntimeClass that `spec` names, where `settings` say that it is to be looked up.
    ///
    /// # Errors
    /// The spec can't be read.
    pub fn of(spec: &RawObject<'_>, settings: &Placement, cluster: &'c dyn Cluster) -> Result<Self, ReadError> {
        let name = match settings.on_runtime_classes {
            OnRuntimeClasses::Resolve => spec.string("runtimeClassName")?,
            OnRuntimeClasses::Ignore => String::new(),
        };
        Ok(Self { name, cluster, scheduling: OnceCell::new() })
    }

    /// What it brings to Pods.
    ///
    /// # Errors
    /// It can't be read.
    pub fn scheduling(&self) -> Result<&Scheduling, Rejection> {
        if let Some(scheduling) = self.scheduling.get() {
            return Ok(scheduling);
        }
        let mut scheduling = Scheduling::default();
        if !self.name.is_empty() {
            scheduling = look_up_runtime_class(self.cluster, &self.name)?;
        }
        Ok(self.scheduling.get_or_init(|| scheduling))
    }

    /// Whether it brings the pair `key=value`, as far as some rule has asked for it.
    pub fn is_known_to_bring(&self, key: &str, value: &str) -> bool {
        self.scheduling.get().is_some_and(|scheduling| scheduling.selects(key, value))
    }
}

impl std::fmt::Debug for RuntimeClass<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RuntimeClass {:?}", self.name)
    }
}
