//! Resources of containers and Nodes: which are there at all, which are extended resources, and the toleration for each.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Effect, Toleration};
use crate::json::Text;
use crate::limits::MOST_EXTENDED_RESOURCES;
use crate::message::quote;
use crate::selector::syntax;

/// `ResourceRequirements`
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Resources {
    /// What a container is sure to have.
    pub requests: Option<AboveZero>,
    /// What it may have at most.
    pub limits: Option<AboveZero>,
}

/// The names of the extended resources of which there is more than zero, among quantities by name: `requests`, or a
/// Node's `status.allocatable`. No more of them are kept than [may be requested](MOST_EXTENDED_RESOURCES), and one.
#[derive(Clone, Debug, Default)]
pub struct AboveZero {
    /// The names.
    pub extended: Vec<String>,
}

impl<'de> Deserialize<'de> for AboveZero {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadAboveZero)
    }
}

struct ReadAboveZero;

impl<'de> Visitor<'de> for ReadAboveZero {
    type Value = AboveZero;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AboveZero, A::Error> {
        let mut extended = Vec::new();
        while let Some((name, quantity)) = map.next_entry::<Text<'de>, &RawValue>()? {
            let Some(is_above_zero) = is_above_zero(quantity) else {
                return Err(Error::custom(format_args!("expected a quantity of {}, found none", quote(&name))));
            };
            if is_above_zero && extended.len() <= MOST_EXTENDED_RESOURCES && is_extended(&name) {
                extended.push(name.to_string());
            }
        }
        Ok(AboveZero { extended })
    }
}

/// Whether a quantity, as in `"500m"` or `1e3`, is more than nothing: it has no minus, and a digit other than 0 before its
/// unit or exponent. Kubernetes rounds up what is less than it can count; `null` is zero, as in Go. Nothing, if it is none.
fn is_above_zero(quantity: &RawValue) -> Option<bool> {
    let text = quantity.get();
    if text.starts_with(['[', '{', 't', 'f']) {
        return None;
    }
    let mut digits = text.trim_start_matches('"').bytes().take_while(|byte| matches!(byte, b'+' | b'.' | b'0'..=b'9'));
    Some(digits.any(|byte| matches!(byte, b'1'..=b'9')))
}

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

/// The tolerations that a Pod needs which requests these extended resources, in byte order of their names (the admission
/// plugin `ExtendedResourceToleration`).
pub fn tolerations_of_extended(resources: &BTreeSet<String>) -> Vec<Toleration> {
    resources.iter().map(|name| Toleration::exists(name, Effect::NoSchedule)).collect()
}
