//! Extended resources: what their names look like, and the toleration for each. Which Pods get it is decided in
//! `placement::tolerations`.

use std::collections::BTreeSet;

use super::{Effect, Toleration};
use crate::selector::syntax;

/// What stands anywhere in the names of Kubernetes' own resources (`ResourceDefaultNamespacePrefix`).
const NATIVE: &str = "kubernetes.io/";

/// What the names of resources begin with in quotas (`DefaultResourceRequestsPrefix`).
const IN_QUOTAS: &str = "requests.";

/// Whether `name` is that of an extended resource, such as `nvidia.com/gpu` (`IsExtendedResourceName`).
pub fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains(NATIVE)
        && !name.starts_with(IN_QUOTAS)
        && syntax::label_key(&format!("{IN_QUOTAS}{name}")).is_ok()
}

/// The tolerations that a Pod needs which requests the resources `names`: one for each that is extended, once, in byte
/// order of the names (the admission plugin `ExtendedResourceToleration`).
pub fn tolerations_of_extended<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Vec<Toleration> {
    let mut extended = BTreeSet::new();
    for name in names {
        if is_extended(name.as_ref()) {
            extended.insert(name.as_ref().to_owned());
        }
    }
    extended.iter().map(|name| Toleration::exists(name, Effect::NoSchedule)).collect()
}
