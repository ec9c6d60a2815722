//! Whether a node is large enough for a Pod; amounts of resources, as Kubernetes writes them.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::{
    api::core::v1::{PodSpec, ResourceRequirements},
    apimachinery::pkg::api::resource::Quantity,
};
use serde_json::Value;

use crate::{input::json::typed, requests::defaults::add_requests};

/// What a Pod requests of each resource, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(pub BTreeMap<String, Amount>);

impl Requests {
    /// Adds up what the containers of `spec`, a PodSpec, request: all that run at the same time; or an init container,
    /// where that is more; with the overhead of the RuntimeClass. What is said for the Pod as a whole counts instead.
    ///
    /// Upstream: `PodRequests` of `k8s.io/component-helpers/resource`.
    ///
    /// # Errors
    /// It is no PodSpec.
    pub fn read(spec: &Value) -> Result<Self> {
        let mut spec = spec.clone();
        add_requests(&mut spec);
        let (spec, _) = typed::<PodSpec>(&spec, "spec.")?;
        let mut total = Self::default();
        for container in &spec.containers {
            total.add(&Self::of(container.resources.as_ref()));
        }
        let (mut sidecars, mut most_at_start) = (Self::default(), Self::default());
        for container in spec.init_containers.iter().flatten() {
            let mut running = Self::of(container.resources.as_ref());
            if container.restart_policy.as_deref() == Some("Always") {
                sidecars.add(&running);
                total.add(&running);
                running = sidecars.clone();
            } else {
                running.add(&sidecars);
            }
            most_at_start.merge(&running, Amount::max);
        }
        total.merge(&most_at_start, Amount::max);
        total.0.extend(Self::of(spec.resources.as_ref()).0);
        total.add(&Self(amounts(spec.overhead.as_ref())));
        total.0.retain(|_, amount| *amount > Amount::default());
        Ok(total)
    }

    /// The first resource of which an empty node with these `allocatable` amounts has too little.
    pub fn lacking(&self, allocatable: &BTreeMap<String, Amount>) -> Option<&str> {
        // A Node in a file may lack `status.allocatable`.
        if allocatable.is_empty() {
            return None;
        }
        let has = |resource| allocatable.get(resource).copied().unwrap_or_default();
        self.0.iter().find(|(resource, amount)| has(*resource) < **amount).map(|(resource, _)| resource.as_str())
    }

    fn of(resources: Option<&ResourceRequirements>) -> Self {
        Self(amounts(resources.and_then(|resources| resources.requests.as_ref())))
    }

    fn add(&mut self, other: &Self) {
        self.merge(other, |one, other| Amount(one.0.saturating_add(other.0)));
    }

    fn merge(&mut self, other: &Self, both: fn(Amount, Amount) -> Amount) {
        for (resource, amount) in &other.0 {
            let own = self.0.entry(resource.clone()).or_default();
            *own = both(*own, *amount);
        }
    }
}

/// The amounts of quantities by the names of their resources.
pub fn amounts(quantities: Option<&BTreeMap<String, Quantity>>) -> BTreeMap<String, Amount> {
    quantities.into_iter().flatten().map(|(resource, quantity)| (resource.clone(), quantity.into())).collect()
}

/// An amount of a resource, in billionths: `n` is the smallest suffix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(i128);

/// The suffixes of quantities, each a thousand times the one before.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The binary suffixes; each is 1024 times the one before.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// No quantity has more: `ParseQuantity` caps what does not fit into 64 bits.
const MOST_DIGITS: usize = 18;

impl Amount {
    /// Reads a quantity such as `500m`, `1.5Gi` or `1e3`, rounded up to billionths; nothing, if it is none.
    ///
    /// Upstream: `ParseQuantity` of `k8s.io/apimachinery/pkg/api/resource`.
    pub fn read(text: &str) -> Option<Self> {
        let end = text.find(|it: char| !it.is_ascii_digit() && !['+', '-', '.'].contains(&it)).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{fraction}");
        if digits.len() > MOST_DIGITS || digits.contains(['+', '-', '.']) {
            return None;
        }
        let (shift, exponent) = scale(suffix)?;
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
        let amount = digits.parse::<i128>().ok()?.checked_mul(1 << shift)?;
        let amount = if exponent < 0 { (amount + power - 1) / power } else { amount.checked_mul(power)? };
        Some(Self(if negative { -amount } else { amount }))
    }
}

/// What a suffix multiplies billionths by: a power of two, and one of ten.
fn scale(suffix: &str) -> Option<(u32, i32)> {
    if let Some(position) = DECIMAL.iter().position(|own| *own == suffix) {
        return Some((0, 3 * i32::try_from(position).ok()?));
    }
    if let Some(position) = BINARY.iter().position(|own| *own == suffix) {
        return Some((10 * (u32::try_from(position).ok()? + 1), 9));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((0, exponent.checked_add(9)?))
}

impl From<&Quantity> for Amount {
    /// An API server stores no text that is no quantity: here it counts as zero.
    fn from(quantity: &Quantity) -> Self {
        Self::read(&quantity.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn container(cpu: &str) -> Value {
        json!({ "name": "c", "resources": { "requests": { "cpu": cpu } } })
    }

    fn sidecar(cpu: &str) -> Value {
        let mut sidecar = container(cpu);
        sidecar["restartPolicy"] = "Always".into();
        sidecar
    }

    #[rstest]
    #[case::containers(json!({ "containers": [container("1"), container("500m")] }), "1500m")]
    #[case::limits(json!({ "containers": [{ "name": "c", "resources": { "limits": { "cpu": 2 } } }] }), "2")]
    #[case::a_larger_init_container(
        json!({ "containers": [container("1")], "initContainers": [container("3")] }),
        "3"
    )]
    #[case::a_sidecar(json!({ "containers": [container("1")], "initContainers": [sidecar("1"), container("3")] }), "4")]
    #[case::a_sidecar_that_starts_later(
        json!({ "containers": [container("1")], "initContainers": [container("3"), sidecar("1")] }),
        "3"
    )]
    #[case::overhead(json!({ "containers": [container("1")], "overhead": { "cpu": "250m" } }), "1250m")]
    #[case::the_pod_as_a_whole(
        json!({ "containers": [container("1")], "resources": { "requests": { "cpu": "5" } } }),
        "5"
    )]
    fn a_pod_requests_what_runs_at_the_same_time(#[case] spec: Value, #[case] cpu: &str) {
        let requests = Requests::read(&spec).unwrap();
        assert_eq!(requests.0.get("cpu").copied(), Amount::read(cpu));
    }

    #[test]
    fn a_node_without_a_resource_is_too_small_for_it() {
        let amount = |text| Amount::read(text).unwrap();
        let allocatable = BTreeMap::from([("cpu".to_owned(), amount("4"))]);
        let requests = |resource: &str, text| Requests(BTreeMap::from([(resource.to_owned(), amount(text))]));
        assert_eq!(requests("cpu", "4").lacking(&allocatable), None);
        assert_eq!(requests("cpu", "4001m").lacking(&allocatable), Some("cpu"));
        assert_eq!(requests("nvidia.com/gpu", "1").lacking(&allocatable), Some("nvidia.com/gpu"));
        assert_eq!(requests("cpu", "9").lacking(&BTreeMap::new()), None, "nobody knows what it has");
    }

    #[rstest]
    #[case::millis("500m", "0.5")]
    #[case::a_fraction("1.5", "1500m")]
    #[case::binary("1Ki", "1024")]
    #[case::a_binary_fraction("0.5Gi", "512Mi")]
    #[case::decimal("1k", "1000")]
    #[case::an_exponent("1e3", "1k")]
    #[case::a_negative_exponent("5e-1", "500m")]
    #[case::exa("1E", "1e18")]
    #[case::signed("+1", "1")]
    fn quantities_are_compared_by_what_they_say(#[case] one: &str, #[case] other: &str) {
        assert_eq!(Amount::read(one).unwrap(), Amount::read(other).unwrap());
    }

    #[rstest]
    #[case::nothing("")]
    #[case::a_suffix_alone("Mi")]
    #[case::a_word("much")]
    #[case::two_suffixes("1mKi")]
    #[case::too_long("99999999999999999999")]
    fn what_is_no_quantity_is_none(#[case] text: &str) {
        assert_eq!(Amount::read(text), None);
    }

    #[test]
    fn amounts_are_ordered() {
        assert!(Amount::read("999m") < Amount::read("1"));
        assert!(Amount::read("1G") < Amount::read("1Gi"));
        assert!(Amount::read("-1") < Amount::read("0"));
    }
}
