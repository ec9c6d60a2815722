//! Karpenter's NodePools: nodes that are there as soon as a Pod needs them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use k8s_openapi::{
    ClusterResourceScope, Metadata, Resource, api::core::v1, apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use node_placement_policy::{placement::node_affinity::Term, toleration::Taint};
use serde::Deserialize;

use super::{
    constraints::Constraints,
    exclusion::{Exclusion, LabelExclusion},
    label_values::LabelValues,
    node::{split, taint},
};

/// The label with which Karpenter says of which NodePool a Node is.
pub const NODE_POOL_LABEL: &str = "karpenter.sh/nodepool";

/// Labels that every NodePool can give, whether it names them or not.
///
/// Upstream: `WellKnownLabels` of `sigs.k8s.io/karpenter/pkg/apis/v1`.
const WELL_KNOWN: [&str; 8] = [
    NODE_POOL_LABEL,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "karpenter.sh/capacity-type",
    "node.kubernetes.io/windows-build",
];

/// What the well-known labels of Karpenter's providers begin with.
const WELL_KNOWN_PREFIXES: [&str; 4] =
    ["karpenter.k8s.aws/", "topology.k8s.aws/", "karpenter.azure.com/", "karpenter.k8s.gcp/"];

/// An object of `karpenter.sh/v1`, as far as scheduling looks at it.
#[derive(Clone, Debug, Deserialize)]
pub struct NodePoolObject {
    metadata: ObjectMeta,
    spec: NodePoolSpec,
}

#[derive(Clone, Debug, Deserialize)]
struct NodePoolSpec {
    template: NodeClaimTemplate,
}

#[derive(Clone, Debug, Deserialize)]
struct NodeClaimTemplate {
    #[serde(default)]
    metadata: ObjectMeta,
    spec: NodeClaimSpec,
}

#[derive(Clone, Debug, Deserialize)]
struct NodeClaimSpec {
    #[serde(default)]
    requirements: Option<Vec<NodePoolRequirement>>,
    #[serde(default)]
    taints: Option<Vec<v1::Taint>>,
}

/// As in node affinity; `minValues` excludes no Pod.
#[derive(Clone, Debug, Deserialize)]
struct NodePoolRequirement {
    key: String,
    operator: String,
    #[serde(default)]
    values: Option<Vec<String>>,
}

impl Resource for NodePoolObject {
    const API_VERSION: &'static str = "karpenter.sh/v1";
    const GROUP: &'static str = "karpenter.sh";
    const KIND: &'static str = "NodePool";
    const VERSION: &'static str = "v1";
    const URL_PATH_SEGMENT: &'static str = "nodepools";
    type Scope = ClusterResourceScope;
}

impl Metadata for NodePoolObject {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// A NodePool.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePool {
    /// Its name.
    pub name: String,
    /// What it says of labels: its template's, its requirements, and its own name.
    pub labels: BTreeMap<String, LabelValues>,
    /// The lasting taints that its nodes have. Startup taints pass, and Karpenter does not count them.
    pub lasting_taints: Vec<Taint>,
}

impl NodePool {
    /// Reads a NodePool.
    ///
    /// # Errors
    /// A requirement has an operator that Karpenter does not have, or values that don't fit it.
    pub fn read(object: &NodePoolObject) -> Result<Self> {
        let NodePoolObject { metadata, spec: NodePoolSpec { template } } = object;
        let name = metadata.name.clone().unwrap_or_default();
        let mut labels = BTreeMap::from([(NODE_POOL_LABEL.to_owned(), LabelValues::one(&name))]);
        for (key, value) in template.metadata.labels.iter().flatten() {
            add(&mut labels, key, LabelValues::one(value));
        }
        for (position, requirement) in template.spec.requirements.iter().flatten().enumerate() {
            let NodePoolRequirement { key, operator, values } = requirement;
            let values = LabelValues::read(operator, values.as_deref().unwrap_or_default()).with_context(|| {
                format!(
                    "NodePool {name}: spec.template.spec.requirements[{position}]: expected an operator of Karpenter \
                     with values that fit it; found {operator:?}"
                )
            })?;
            add(&mut labels, key, values);
        }
        let (lasting_taints, _) = split(template.spec.taints.iter().flatten().map(taint));
        Ok(Self { name, labels, lasting_taints })
    }

    /// The labels of which its nodes have one value.
    pub fn known_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().filter_map(|(key, values)| Some((key.as_str(), values.only_value()?)))
    }

    /// The first thing that keeps Karpenter from creating a node for the Pod: labels, then taints.
    ///
    /// Upstream: `Requirements.Compatible` and `Taints.ToleratesPod` of `sigs.k8s.io/karpenter/pkg/scheduling`. The terms
    /// of node affinity are tried one after the other.
    pub fn excludes(&self, pod: &Constraints) -> Option<Exclusion> {
        if pod.node_name.is_some() {
            return Some(Exclusion::Name);
        }
        let pairs: BTreeMap<&str, LabelValues> =
            pod.node_selector.iter().map(|(key, value)| (key.as_str(), LabelValues::one(value))).collect();
        self.excluded_by_label(&pairs, pod).or_else(|| self.excluded_by_terms(&pairs, pod)).or_else(|| {
            let taint = pod.untolerated(&self.lasting_taints)?;
            Some(Exclusion::Taint(taint.clone()))
        })
    }

    fn excluded_by_terms(&self, pairs: &BTreeMap<&str, LabelValues>, pod: &Constraints) -> Option<Exclusion> {
        let mut first = Exclusion::MatchesNothing;
        for term in pod.terms.as_ref()?.iter().filter(|term| !term.is_empty()) {
            match self.excluded_by_term(term, pairs, pod) {
                None => return None,
                Some(exclusion) if first == Exclusion::MatchesNothing => first = exclusion,
                Some(_) => {}
            }
        }
        Some(first)
    }

    fn excluded_by_term(
        &self,
        term: &Term,
        pairs: &BTreeMap<&str, LabelValues>,
        pod: &Constraints,
    ) -> Option<Exclusion> {
        // It names a node, which is there already.
        if term.first_field().is_some() {
            return Some(Exclusion::Name);
        }
        let mut asked = pairs.clone();
        for expression in &term.expressions {
            let values = expression.requirement.as_ref().and_then(LabelValues::of);
            // An invalid expression matches no node.
            let Some(values) = values else { return Some(Exclusion::MatchesNothing) };
            let both = asked.get(expression.key.as_str()).map_or_else(|| values.clone(), |other| other.and(&values));
            asked.insert(expression.key.as_str(), both);
        }
        self.excluded_by_label(&asked, pod)
    }

    fn excluded_by_label(&self, asked: &BTreeMap<&str, LabelValues>, pod: &Constraints) -> Option<Exclusion> {
        let (key, values) = asked.iter().find(|(key, values)| !self.can_have(key, values))?;
        Some(pod.label_exclusion(LabelExclusion {
            key: (*key).to_owned(),
            needs: values.describe(key),
            has: self.labels.get(*key).map(|own| own.describe(key)),
        }))
    }

    /// Whether a node of it can have what is asked of a label.
    fn can_have(&self, key: &str, asked: &LabelValues) -> bool {
        match self.labels.get(key) {
            Some(own) => own.and(asked).allows_value() || own.allows_absence() && asked.allows_absence(),
            None => asked.allows_absence() || is_well_known(key) && asked.allows_value(),
        }
    }
}

fn is_well_known(key: &str) -> bool {
    WELL_KNOWN.contains(&key) || WELL_KNOWN_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

fn add(labels: &mut BTreeMap<String, LabelValues>, key: &str, values: LabelValues) {
    let both = labels.get(key).map_or_else(|| values.clone(), |other| other.and(&values));
    labels.insert(key.to_owned(), both);
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// Of zones a and b, with arm64 excluded, tainted, for the team blue.
    fn blue() -> NodePool {
        let object = json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": { "name": "blue" },
            "spec": { "template": {
                "metadata": { "labels": { "team": "blue" } },
                "spec": {
                    "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
                    "requirements": [
                        { "key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"] },
                        { "key": "kubernetes.io/arch", "operator": "NotIn", "values": ["arm64"] },
                        { "key": "example.com/cpu", "operator": "Gt", "values": ["4"] },
                        { "key": "example.com/spot", "operator": "DoesNotExist" },
                    ],
                    "taints": [{ "key": "team", "value": "blue", "effect": "NoSchedule" }],
                    "startupTaints": [{ "key": "starting", "effect": "NoSchedule" }],
                },
            } },
        });
        NodePool::read(&serde_json::from_value(object).unwrap()).unwrap()
    }

    fn pod(mut spec: Value) -> Constraints {
        if spec["tolerations"].is_null() {
            spec["tolerations"] = json!([{ "key": "team", "operator": "Exists" }]);
        }
        Constraints::read(&spec, None).unwrap()
    }

    fn selecting(key: &str, value: &str) -> Value {
        json!({ "nodeSelector": { key: value } })
    }

    fn requiring(terms: Value) -> Value {
        let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } });
        json!({ "affinity": { "nodeAffinity": required } })
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
        json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] })
    }

    #[rstest]
    #[case::nothing_asked(json!({}))]
    #[case::its_label(selecting("team", "blue"))]
    #[case::its_name(selecting("karpenter.sh/nodepool", "blue"))]
    #[case::one_of_its_zones(selecting("topology.kubernetes.io/zone", "b"))]
    #[case::what_it_does_not_exclude(selecting("kubernetes.io/arch", "amd64"))]
    #[case::a_well_known_label(selecting("karpenter.sh/capacity-type", "spot"))]
    #[case::a_label_of_the_provider(selecting("karpenter.k8s.aws/instance-family", "m7i"))]
    #[case::in_its_range(selecting("example.com/cpu", "5"))]
    #[case::a_label_that_must_not_be_there(requiring(json!([expression("premium", "DoesNotExist", &[])])))]
    #[case::values_that_must_not_be_there(requiring(json!([expression("premium", "NotIn", &["acme"])])))]
    #[case::what_it_excludes_too(requiring(json!([expression("example.com/spot", "DoesNotExist", &[])])))]
    #[case::the_second_term(
        requiring(json!([expression("team", "In", &["red"]), expression("team", "In", &["blue"])]))
    )]
    fn a_node_pool_creates_a_node_for_a_pod(#[case] spec: Value) {
        assert_eq!(blue().excludes(&pod(spec)), None);
    }

    #[rstest]
    #[case::another_value(selecting("team", "red"), "the NodePool has team=blue, the Pod needs team=red")]
    #[case::another_name(
        selecting("karpenter.sh/nodepool", "red"),
        "the NodePool has karpenter.sh/nodepool=blue, the Pod needs karpenter.sh/nodepool=red"
    )]
    #[case::another_zone(
        selecting("topology.kubernetes.io/zone", "c"),
        "the NodePool has topology.kubernetes.io/zone in (a,b), the Pod needs topology.kubernetes.io/zone=c"
    )]
    #[case::what_it_excludes(
        selecting("kubernetes.io/arch", "arm64"),
        "the NodePool has kubernetes.io/arch notin (arm64), the Pod needs kubernetes.io/arch=arm64"
    )]
    #[case::an_unknown_label(
        selecting("premium", "acme"),
        "the NodePool has no label premium, the Pod needs premium=acme"
    )]
    #[case::a_hostname(
        selecting("kubernetes.io/hostname", "one"),
        "the NodePool has no label kubernetes.io/hostname, the Pod needs kubernetes.io/hostname=one"
    )]
    #[case::any_value_of_an_unknown_label(
        requiring(json!([expression("premium", "Exists", &[])])),
        "the NodePool has no label premium, the Pod needs premium with any value"
    )]
    #[case::below_its_range(
        selecting("example.com/cpu", "4"),
        "the NodePool has example.com/cpu at least 5, the Pod needs example.com/cpu=4"
    )]
    #[case::a_term_against_the_selector(
        {
            let mut spec = requiring(json!([expression("team", "NotIn", &["blue"])]));
            spec["nodeSelector"] = json!({ "team": "blue" });
            spec
        },
        "the NodePool has team=blue, the Pod needs team absent"
    )]
    #[case::no_term(requiring(json!([])), "the Pod's required node affinity matches no node")]
    #[case::a_node_by_name(json!({ "nodeName": "one" }), "the Pod names another NodePool")]
    #[case::its_taint(json!({ "tolerations": [] }), "the NodePool has the taint team=blue:NoSchedule")]
    fn a_node_pool_creates_none_and_says_why(#[case] spec: Value, #[case] expected: &str) {
        let mut spec = spec;
        if spec["tolerations"] == json!([]) {
            spec["tolerations"] = json!([{ "key": "other", "operator": "Exists" }]);
        }
        assert_eq!(blue().excludes(&pod(spec)).unwrap().describe("NodePool"), expected);
    }

    #[test]
    fn its_known_labels_are_those_of_one_value() {
        let blue = blue();
        let known: Vec<_> = blue.known_labels().collect();
        assert_eq!(known, [("karpenter.sh/nodepool", "blue"), ("team", "blue")]);
    }

    #[test]
    fn an_operator_that_karpenter_does_not_have_is_an_error() {
        let requirements = json!([{ "key": "a", "operator": "Between", "values": ["1"] }]);
        let spec = json!({ "template": { "spec": { "requirements": requirements } } });
        let object = serde_json::from_value(json!({ "metadata": { "name": "odd" }, "spec": spec })).unwrap();
        let error = NodePool::read(&object).unwrap_err().to_string();
        assert!(error.starts_with("NodePool odd: spec.template.spec.requirements[0]: expected"), "{error}");
    }
}
