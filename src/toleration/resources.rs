//! What a container, or a Pod as a whole, has under `resources`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// `ResourceRequirements`
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Resources {
    requests: Option<AboveZero>,
    limits: Option<AboveZero>,
}

/// The names of the resources of which there is more than zero, among quantities by name: `requests`, or a Node's
/// `status.allocatable`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "BTreeMap<String, Option<Quantity>>")]
pub struct AboveZero(pub BTreeSet<String>);

impl Resources {
    /// The names of the resources of which some is requested.
    pub fn requested(&self) -> impl Iterator<Item = &String> {
        self.requests.iter().flat_map(|requests| &requests.0)
    }

    /// The same in a template of Pods. There a limit is a request too: the API server writes it among the requests of
    /// Pods, and not of templates (`SetDefaults_Pod`).
    pub fn requested_by_template(&self) -> impl Iterator<Item = &String> {
        self.requested().chain(self.limits.iter().flat_map(|limits| &limits.0))
    }

    /// Whether cpu or memory is requested, or limited. A Pod none of whose resources have that is `BestEffort`
    /// (`ComputePodQOS`).
    pub fn have_cpu_or_memory(&self) -> bool {
        self.requested_by_template().any(|name| matches!(name.as_str(), "cpu" | "memory"))
    }
}

impl From<BTreeMap<String, Option<Quantity>>> for AboveZero {
    fn from(quantities: BTreeMap<String, Option<Quantity>>) -> Self {
        let mut names = BTreeSet::new();
        for (name, quantity) in quantities {
            // As in Go, `null` is zero.
            if quantity.is_some_and(|quantity| quantity.0) {
                names.insert(name);
            }
        }
        Self(names)
    }
}

/// Whether a quantity, as in `500m` or `1e3`, is more than nothing.
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

    /// A quantity is more than nothing if it has no minus, and a digit other than 0 before its unit or exponent.
    /// Kubernetes rounds up what is less than it can count.
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
