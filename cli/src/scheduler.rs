//! Where the scheduler would put a Pod: by its node selector, its required node affinity, and the taints of nodes.
//! Resources, and the rest of what a scheduler weighs, are not looked at.

use node_placement_policy::toleration::{self, Taint, Toleration};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::preview::creation::{list_of as list, members, text};

/// Whether a Pod with this `spec` may run on a node, as far as labels and its name decide.
///
/// Upstream: `RequiredNodeAffinity.Match` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
pub fn matches_node(spec: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    if !members(&spec["nodeSelector"]).all(|(key, value)| labels.get(key) == Some(value)) {
        return false;
    }
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    if required.is_null() {
        return true;
    }
    list(&required["nodeSelectorTerms"]).iter().any(|term| term_matches(term, node))
}

/// One of the terms; one that asks for nothing matches nothing.
fn term_matches(term: &Value, node: &Value) -> bool {
    let (expressions, fields) = (list(&term["matchExpressions"]), list(&term["matchFields"]));
    let label = |key: &str| node["metadata"]["labels"][key].as_str();
    let field = |key: &str| node["metadata"]["name"].as_str().filter(|_| key == "metadata.name");
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|expression| accepts(expression, label(text(&expression["key"]))))
        && fields.iter().all(|expression| accepts(expression, field(text(&expression["key"]))))
}

fn accepts(expression: &Value, value: Option<&str>) -> bool {
    let listed = || value.is_some_and(|value| list(&expression["values"]).iter().any(|listed| listed == value));
    let numbers = || -> Option<(i64, i64)> {
        let [bound] = list(&expression["values"]) else { return None };
        Some((value?.parse().ok()?, text(bound).parse().ok()?))
    };
    match text(&expression["operator"]) {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(value, bound)| value > bound),
        "Lt" => numbers().is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

/// The first taint of a node that keeps new Pods away, and that none of the tolerations tolerates.
///
/// Upstream: `FindMatchingUntoleratedTaint` of `k8s.io/component-helpers/scheduling/corev1`.
pub fn untolerated<'n>(tolerations: &Value, taints: &'n Value) -> Option<&'n Value> {
    let tolerations: Vec<Toleration> = list(tolerations).iter().filter_map(read).collect();
    list(taints).iter().find(|taint| toleration::untolerated(&tolerations, &read(taint)).is_some())
}

/// Whether a taint keeps Pods away for as long as it is there, and does not tell a passing condition.
pub fn lasts(taint: &Value) -> bool {
    read(taint).is_some_and(|taint: Taint| taint.keeps_pods_away() && !taint.tells_a_condition())
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}
