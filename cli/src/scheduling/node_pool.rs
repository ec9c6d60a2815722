//! Karpenter's NodePools: nodes that are created as soon as a Pod needs them.

use std::{collections::BTreeMap, sync::LazyLock};

use anyhow::{Context, Result};
use k8s_openapi::{
    ClusterResourceScope, Resource,
    api::core::v1,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use node_placement_policy::{placement::node_affinity::Term, selector::Requirement, toleration::Taint};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    constraints::{Constraints, Exclusion},
    label_values::LabelValues,
    node::taint,
    resources::Amount,
};
use crate::requests::pod::CREATED;

/// The label with which Karpenter says of which NodePool a Node is.
pub const NODE_POOL_LABEL: &str = "karpenter.sh/nodepool";

/// A label that every node has.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// The labels that NodePools can give. That they can be read is a test.
static WELL_KNOWN: LazyLock<BTreeMap<String, Vec<String>>> =
    LazyLock::new(|| yaml_serde::from_str(include_str!("well_known_labels.yml")).unwrap_or_default());

/// Those of them that every node has.
fn labels_of_every_node() -> &'static [String] {
    WELL_KNOWN.get("every").map_or(&[], Vec::as_slice)
}

/// An object of `karpenter.sh/v1`, as far as scheduling looks at it.
#[derive(Clone, Debug, Deserialize)]
pub struct NodePoolObject {
    metadata: ObjectMeta,
    spec: NodePoolSpec,
    status: Option<NodePoolStatus>,
}

#[derive(Clone, Debug, Deserialize)]
struct NodePoolSpec {
    template: NodeClaimTemplate,
    /// Of a static NodePool, how many nodes it has.
    replicas: Option<i64>,
    limits: Option<BTreeMap<String, Quantity>>,
}

#[derive(Clone, Debug, Deserialize)]
struct NodePoolStatus {
    conditions: Option<Vec<v1::NodeCondition>>,
}

#[derive(Clone, Debug, Deserialize)]
struct NodeClaimTemplate {
    #[serde(default)]
    metadata: ObjectMeta,
    spec: NodeClaimSpec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeClaimSpec {
    node_class_ref: Option<NodeClassReference>,
    requirements: Option<Vec<NodePoolRequirement>>,
    taints: Option<Vec<v1::Taint>>,
}

#[derive(Clone, Debug, Deserialize)]
struct NodeClassReference {
    group: String,
}

/// As in node affinity.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodePoolRequirement {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
    /// How many values must be left for a node that is created.
    min_values: Option<usize>,
}

impl Resource for NodePoolObject {
    const API_VERSION: &'static str = "karpenter.sh/v1";
    const GROUP: &'static str = "karpenter.sh";
    const KIND: &'static str = "NodePool";
    const VERSION: &'static str = "v1";
    const URL_PATH_SEGMENT: &'static str = "nodepools";
    type Scope = ClusterResourceScope;
}

impl NodePoolObject {
    /// Why Karpenter creates no nodes of it, if so: `is being deleted`.
    ///
    /// Upstream: `NewScheduler` of `sigs.k8s.io/karpenter/pkg/controllers/provisioning`.
    pub fn obstacle(&self) -> Option<String> {
        if self.metadata.deletion_timestamp.is_some() {
            return Some("is being deleted".to_owned());
        }
        if self.spec.replicas == Some(0) {
            return Some("has no replicas".to_owned());
        }
        let conditions = self.status.iter().flat_map(|status| &status.conditions).flatten();
        // In a file there may be none.
        if conditions.clone().any(|condition| condition.type_ == "Ready" && condition.status != "True") {
            return Some("is not ready".to_owned());
        }
        // Of a resource that only some Pods request, such as GPUs, the others need none.
        let limits = self.spec.limits.iter().flatten();
        let mut limits = limits.filter(|(resource, _)| !resource.contains('/') && !resource.starts_with("hugepages-"));
        let (resource, _) = limits.find(|(_, limit)| Amount::from(*limit) == Amount::default())?;
        Some(format!("has a limit of 0 for {resource}"))
    }
}

/// A NodePool.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePool {
    /// Its name.
    pub name: String,
    /// What it says of labels: its template's, its requirements, and its own name.
    pub labels: BTreeMap<String, LabelValues>,
    /// Of labels, how many values must be left when a Pod has chosen.
    min_values: BTreeMap<String, usize>,
    /// Of a static NodePool, how many nodes it has, whatever Pods there are.
    pub replicas: Option<usize>,
    /// The API group of its NodeClass, which is that of its provider.
    provider: Option<String>,
    /// The annotations that its nodes have.
    annotations: BTreeMap<String, String>,
    /// The taints that keep Pods away from its nodes. Karpenter treats all of them as lasting; startup taints are not
    /// included.
    pub taints: Vec<Taint>,
}

impl NodePool {
    /// Reads a NodePool.
    ///
    /// # Errors
    /// A requirement has an operator that Karpenter does not have, or values that don't fit it.
    pub fn read(object: NodePoolObject) -> Result<Self> {
        let NodeClaimTemplate { metadata, spec } = object.spec.template;
        let name = object.metadata.name.unwrap_or_default();
        let mut labels = BTreeMap::from([(NODE_POOL_LABEL.to_owned(), LabelValues::one(&name))]);
        for (key, value) in metadata.labels.iter().flatten() {
            narrow(&mut labels, key, &LabelValues::one(value));
        }
        let mut min_values: BTreeMap<String, usize> = BTreeMap::new();
        for (position, requirement) in spec.requirements.iter().flatten().enumerate() {
            let NodePoolRequirement { key, operator, values, min_values: least } = requirement;
            let most = min_values.entry(normalized(key).to_owned()).or_default();
            *most = least.unwrap_or_default().max(*most);
            let values = LabelValues::read(operator, values.as_deref().unwrap_or_default()).with_context(|| {
                format!(
                    "NodePool {name}: spec.template.spec.requirements[{position}]: expected an operator of Karpenter \
                     with values that fit it; found {operator:?}"
                )
            })?;
            narrow(&mut labels, key, &values);
        }
        let taints = spec.taints.into_iter().flatten().map(taint);
        let mut taints: Vec<Taint> = taints.filter(Taint::keeps_pods_away).collect();
        taints.sort_by_key(ToString::to_string);
        let annotations = metadata.annotations.unwrap_or_default();
        let provider = spec.node_class_ref.map(|class| class.group);
        let replicas = object.spec.replicas.and_then(|replicas| replicas.try_into().ok());
        Ok(Self { name, labels, min_values, replicas, provider, annotations, taints })
    }

    /// A node that Karpenter would create for the Pod.
    pub fn node_for(&self, pod: &Constraints) -> Value {
        let mut labels = self.labels_for(pod);
        labels.insert(HOSTNAME.to_owned(), CREATED.to_owned());
        let metadata = json!({ "name": CREATED, "labels": labels, "annotations": self.annotations });
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {} })
    }

    /// The labels that the node may have instead, and that do not meet one of these requirements.
    pub fn labels_against<'r>(
        &self,
        pod: &Constraints,
        requirements: impl Iterator<Item = &'r Requirement>,
    ) -> Vec<(&'r str, String)> {
        let values = self.values_for(pod);
        let against = |requirement: &'r Requirement| {
            let key = requirement.key();
            Some((key, values.get(normalized(key))?.value_against(requirement)?))
        };
        requirements.filter_map(against).collect()
    }

    /// Its labels: of each some value that both allow. A label that it may lack is left out.
    fn labels_for(&self, pod: &Constraints) -> BTreeMap<String, String> {
        let values = self.values_for(pod).into_iter();
        values.filter_map(|(key, values)| Some((key, values.some_value()?))).collect()
    }

    /// Which values both allow of each label that the node has for certain.
    fn values_for(&self, pod: &Constraints) -> Requirements {
        let selector = requirements_of_selector(pod);
        let with_terms = pod.terms.iter().flatten().filter_map(|term| with_term(&selector, term));
        let possible = with_terms.into_iter().find(|required| self.excluded_by_label(required, pod).is_none());
        let required = possible.unwrap_or(selector);
        let values = |key: &String| {
            let both = [self.labels.get(key), required.get(key)].into_iter().flatten();
            let may_lack = both.clone().all(LabelValues::allows_absence) && !labels_of_every_node().contains(key);
            (!may_lack).then(|| (key.clone(), both.fold(LabelValues::any(), |all, values| all.and(values))))
        };
        self.labels.keys().chain(required.keys()).chain(labels_of_every_node()).filter_map(values).collect()
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
        if pod.node_name.is_some() || !pod.is_of_daemon_set && pod.terms.iter().flatten().any(names_nodes) {
            return Some(Exclusion::Name);
        }
        let selector = requirements_of_selector(pod);
        self.excluded_by_label(&selector, pod)
            .or_else(|| self.excluded_by_terms(&selector, pod))
            .or_else(|| pod.excluded_by_taints(&self.taints))
    }

    fn excluded_by_terms(&self, selector: &Requirements, pod: &Constraints) -> Option<Exclusion> {
        let excluded = |term: &Term| match with_term(selector, term) {
            _ if !term.fields.is_empty() => Some(Exclusion::Name),
            Some(required) => self.excluded_by_label(&required, pod),
            None => Some(Exclusion::MatchesNothing),
        };
        let terms = pod.terms.as_ref()?.iter().filter(|term| !term.is_empty());
        let exclusions: Vec<Exclusion> = terms.map(excluded).collect::<Option<_>>()?;
        let first = exclusions.into_iter().find(|exclusion| *exclusion != Exclusion::MatchesNothing);
        Some(first.unwrap_or(Exclusion::MatchesNothing))
    }

    fn excluded_by_label(&self, required: &Requirements, pod: &Constraints) -> Option<Exclusion> {
        let (key, values) = required.iter().find(|(key, values)| !self.can_have(key, values))?;
        let has = self.labels.get(key).map(|own| match self.min_values.get(key) {
            Some(least) if *least > 0 => format!("{} with minValues {least}", own.describe(key)),
            _ => own.describe(key),
        });
        Some(pod.excluded_by_label(key, values.describe(key), has))
    }

    /// Whether a node of it can have what is required of a label.
    fn can_have(&self, key: &str, required: &LabelValues) -> bool {
        if self.replicas.is_some() {
            // Its nodes are made without regard to Pods: whatever values they have must do.
            let own = self.labels.get(key);
            return own.map_or(required.allows_absence() && !self.may_give(key), |own| own.and(required) == *own);
        }
        // Upstream: `SatisfiesMinValues` of `sigs.k8s.io/karpenter/pkg/cloudprovider`.
        let least = self.min_values.get(key).copied().unwrap_or_default();
        match self.labels.get(key) {
            Some(own) if own.and(required).listed().is_some_and(|values| values < least) => false,
            Some(own) => own.agrees_with(required),
            None => required.allows_absence() || self.may_give(key) && required.allows_value(),
        }
    }

    /// Whether its nodes can have a label of which it says nothing: one that is well known, and of no other provider.
    fn may_give(&self, key: &str) -> bool {
        let is_of_it = |group: &str| !group.contains('.') || self.provider.as_ref().is_none_or(|own| own == group);
        WELL_KNOWN.iter().any(|(group, keys)| is_of_it(group) && keys.iter().any(|it| it == key))
    }
}

/// Whether a term is about single nodes. Karpenter ignores a Pod with such a term, whatever its others are.
///
/// Upstream: `validateNodeSelectorTerm` of `sigs.k8s.io/karpenter/pkg/controllers/provisioning`.
fn names_nodes(term: &Term) -> bool {
    !term.fields.is_empty() || term.expressions.iter().any(|expression| expression.key == HOSTNAME)
}

/// What a Pod requires of labels, by their normalized keys.
type Requirements = BTreeMap<String, LabelValues>;

fn requirements_of_selector(pod: &Constraints) -> Requirements {
    let mut required = Requirements::new();
    for (key, value) in &pod.node_selector {
        narrow(&mut required, key, &LabelValues::one(value));
    }
    required
}

/// With what a term requires; nothing, if it matches no node: an expression is invalid, or contradicts another.
fn with_term(selector: &Requirements, term: &Term) -> Option<Requirements> {
    let mut required = selector.clone();
    for expression in &term.expressions {
        let values = LabelValues::from_requirement(expression.requirement.as_ref()?)?;
        if required.get(normalized(&expression.key)).is_some_and(|other| !other.agrees_with(&values)) {
            return None;
        }
        narrow(&mut required, &expression.key, &values);
    }
    Some(required)
}

fn narrow(labels: &mut Requirements, key: &str, values: &LabelValues) {
    let key = normalized(key);
    let both = labels.get(key).map_or_else(|| values.clone(), |other| other.and(values));
    labels.insert(key.to_owned(), both);
}

/// The key that Karpenter takes another for, in NodePools as in Pods.
///
/// Upstream: `NormalizedLabels` of `sigs.k8s.io/karpenter/pkg/apis/v1`, and what the provider for AWS adds to it.
fn normalized(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" | "topology.ebs.csi.aws.com/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        "beta.kubernetes.io/arch" => "kubernetes.io/arch",
        "beta.kubernetes.io/os" => "kubernetes.io/os",
        "beta.kubernetes.io/instance-type" => "node.kubernetes.io/instance-type",
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::Manifests;

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
        NodePool::read(serde_json::from_value(object).unwrap()).unwrap()
    }

    fn pod(mut spec: Value) -> Constraints {
        if spec["tolerations"].is_null() {
            spec["tolerations"] = json!([{ "key": "team", "operator": "Exists" }]);
        }
        Constraints::read(&spec, &Manifests::default()).unwrap()
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
    #[case::a_label_by_its_older_name(selecting("failure-domain.beta.kubernetes.io/zone", "a"))]
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
    #[case::another_zone_by_its_older_name(
        requiring(json!([expression("failure-domain.beta.kubernetes.io/zone", "In", &["c"])])),
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
    #[case::a_label_that_only_looks_like_one_of_the_provider(
        selecting("karpenter.k8s.aws/team", "blue"),
        "the NodePool has no label karpenter.k8s.aws/team, the Pod needs karpenter.k8s.aws/team=blue"
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
        "the Pod's required node affinity matches no node"
    )]
    #[case::a_term_against_itself(
        {
            let of = |value| json!({ "key": "premium", "operator": "In", "values": [value] });
            requiring(json!([{ "matchExpressions": [of("acme"), of("other")] }]))
        },
        "the Pod's required node affinity matches no node"
    )]
    #[case::no_term(requiring(json!([])), "the Pod's required node affinity matches no node")]
    #[case::a_node_by_name(json!({ "nodeName": "one" }), "the Pod names nodes, and Karpenter creates none for such Pods")]
    #[case::its_taint(json!({ "tolerations": [] }), "the NodePool has the taint team=blue:NoSchedule, which the Pod does not tolerate")]
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
    fn a_node_that_would_be_created_has_what_both_allow() {
        let mut spec = requiring(json!([expression("topology.kubernetes.io/zone", "NotIn", &["a"])]));
        spec["nodeSelector"] = json!({ "karpenter.sh/capacity-type": "spot" });
        let labels = blue().labels_for(&pod(spec));
        let expected = [("team", "blue"), ("topology.kubernetes.io/zone", "b"), ("karpenter.sh/capacity-type", "spot")];
        for (key, value) in expected {
            assert_eq!(labels.get(key).map(String::as_str), Some(value), "{labels:?}");
        }
        assert!(labels.contains_key("kubernetes.io/arch") && labels.contains_key("example.com/cpu"), "{labels:?}");
        assert!(!labels.contains_key("example.com/spot") && !labels.contains_key("example.com/rack"), "{labels:?}");
    }

    #[rstest]
    #[case::a_plain_one(json!({}), None)]
    #[case::ready(json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } }), None)]
    #[case::being_deleted(
        json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }),
        Some("is being deleted")
    )]
    #[case::static_without_replicas(
        json!({ "spec": { "replicas": 0, "template": { "spec": {} } } }),
        Some("has no replicas")
    )]
    #[case::static_with_replicas(json!({ "spec": { "replicas": 2, "template": { "spec": {} } } }), None)]
    #[case::not_ready(
        json!({ "status": { "conditions": [{ "type": "Ready", "status": "Unknown" }] } }),
        Some("is not ready")
    )]
    #[case::a_limit(
        json!({ "spec": { "limits": { "cpu": 0, "memory": "1Gi" }, "template": { "spec": {} } } }),
        Some("has a limit of 0 for cpu")
    )]
    #[case::a_limit_of_what_few_request(
        json!({ "spec": { "limits": { "nvidia.com/gpu": 0, "hugepages-2Mi": 0 }, "template": { "spec": {} } } }),
        None
    )]
    fn some_node_pools_create_no_nodes(#[case] more: Value, #[case] obstacle: Option<&str>) {
        let mut object = json!({ "metadata": {}, "spec": { "template": { "spec": {} } } });
        for (key, value) in more.as_object().unwrap() {
            object[key] = value.clone();
        }
        let object: NodePoolObject = serde_json::from_value(object).unwrap();
        assert_eq!(object.obstacle().as_deref(), obstacle);
    }

    #[test]
    fn an_operator_that_karpenter_does_not_have_is_an_error() {
        let requirements = json!([{ "key": "a", "operator": "Between", "values": ["1"] }]);
        let spec = json!({ "template": { "spec": { "requirements": requirements } } });
        let object = serde_json::from_value(json!({ "metadata": { "name": "odd" }, "spec": spec })).unwrap();
        let error = NodePool::read(object).unwrap_err().to_string();
        assert!(error.starts_with("NodePool odd: spec.template.spec.requirements[0]: expected"), "{error}");
    }
}
