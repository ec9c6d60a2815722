//! Reads the extended resources of containers and Nodes, and returns the tolerations for them.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::{NO_SCHEDULE, Toleration};
use crate::json::text::{EachPair, Text};
use crate::limits::MOST_EXTENDED_RESOURCES;
use crate::selector::syntax;

/// `ResourceRequirements`
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Resources {
    /// The resources that the container is guaranteed.
    pub requests: Option<AboveZero>,
    /// The most that it may use.
    pub limits: Option<AboveZero>,
}

/// The names of the extended resources with a quantity above zero, in `requests` or in a Node's `status.allocatable`. At
/// most one more is kept than [may be requested](MOST_EXTENDED_RESOURCES).
#[derive(Clone, Debug, Default)]
pub struct AboveZero {
    /// The names.
    pub extended: BTreeSet<String>,
}

impl<'de> Deserialize<'de> for AboveZero {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut extended = BTreeSet::new();
        deserializer.deserialize_map(EachPair(&mut |name: Text<'de>, quantity: Option<Quantity>| {
            // As in Go, `null` is zero.
            let is_above_zero = quantity.is_some_and(|quantity| quantity.0);
            if is_above_zero && extended.len() <= MOST_EXTENDED_RESOURCES && is_extended(&name) {
                extended.insert(name.to_string());
            }
        }))?;
        Ok(Self { extended })
    }
}

/// Whether a quantity, as in `500m` or `1e3`, is above zero.
struct Quantity(bool);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadQuantity)
    }
}

struct ReadQuantity;

impl Visitor<'_> for ReadQuantity {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity")
    }

    /// Reads a quantity. It is above zero if it has no minus, and a digit other than 0 before its unit or exponent.
    /// Kubernetes rounds small quantities up.
    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        let mut mantissa = text.bytes().take_while(|byte| matches!(byte, b'+' | b'.' | b'0'..=b'9'));
        Ok(Quantity(mantissa.any(|byte| matches!(byte, b'1'..=b'9'))))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
        Ok(Quantity(number > 0))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity(number > 0))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
        Ok(Quantity(number > 0.0))
    }
}

/// The domain of Kubernetes' own resources (`ResourceDefaultNamespacePrefix`).
const NATIVE: &str = "kubernetes.io/";

/// The prefix of resources in quotas (`DefaultResourceRequestsPrefix`).
const IN_QUOTAS: &str = "requests.";

/// Returns whether `name` is that of an extended resource, such as `nvidia.com/gpu` (`IsExtendedResourceName`).
pub fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains(NATIVE)
        && !name.starts_with(IN_QUOTAS)
        && syntax::label_key(&format!("{IN_QUOTAS}{name}")).is_ok()
}

/// Returns the tolerations for a Pod that requests these extended resources, in byte order of their names (admission plugin
/// `ExtendedResourceToleration`).
pub fn tolerations_of_extended(resources: &BTreeSet<String>) -> Vec<Toleration> {
    resources.iter().map(|name| Toleration::exists(name, NO_SCHEDULE)).collect()
}
