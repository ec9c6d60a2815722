//! What a Pod asks of the node that it runs on, and what keeps it away from a node or a NodePool.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use k8s_openapi::api::{core::v1, node::v1::RuntimeClass};
use node_placement_policy::{
    placement::node_affinity::{NodeSelection, Term},
    resource::Resource,
    toleration::{NO_EXECUTE, Taint, Toleration, untolerated},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::node::Node;
use crate::{
    input::{json::text, manifests::Manifests},
    lists::listed,
    requests::{plugins::runtime_class, resource::REQUIRED_AFFINITY},
};

/// What of a Pod decides on which nodes it may run: `nodeName`, `nodeSelector`, required node affinity, tolerations.
///
/// Resources are not part of it: see [`super::resources`]. Nor is the rest of what a scheduler weighs: other Pods,
/// volumes, ports.
///
/// ```
/// use cli::{Manifests, scheduling::{constraints::Constraints, node::Node}};
/// use serde_json::json;
///
/// let node = Node { labels: [("pool".to_owned(), "red".to_owned())].into(), ..Node::default() };
/// let pod = Constraints::read(&json!({ "nodeSelector": { "pool": "blue" } }), &Manifests::default()).unwrap();
/// let exclusion = pod.excluded_from(&node).unwrap();
/// assert_eq!(exclusion.describe("node"), "the node has pool=red, the Pod needs pool=blue");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    /// `spec.nodeName`, if it is not empty.
    pub node_name: Option<String>,
    /// `spec.nodeSelector`.
    pub node_selector: BTreeMap<String, String>,
    /// The terms of required node affinity, of which one must match; nothing, if there is no such affinity.
    pub terms: Option<Vec<Term>>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// Whether it is a Pod of a DaemonSet. Karpenter creates no nodes for such Pods: they run on those for others.
    pub is_of_daemon_set: bool,
    runtime_class: Option<RuntimeClass>,
}

impl Constraints {
    /// Reads those of `spec`, a PodSpec into which the API server has merged its RuntimeClass, which is looked up in
    /// `cluster`.
    ///
    /// # Errors
    /// A field has a type that no PodSpec has, or the RuntimeClass is none.
    pub fn read(spec: &Value, cluster: &Manifests) -> Result<Self> {
        let selection = json!({ "nodeSelector": spec["nodeSelector"], "affinity": spec["affinity"] }).to_string();
        let NodeSelection { node_selector, terms } =
            NodeSelection::parse(&selection).map_err(|error| anyhow!("spec.{error}"))?;
        let tolerations: Option<Vec<v1::Toleration>> =
            Deserialize::deserialize(&spec["tolerations"]).context("spec.tolerations")?;
        Ok(Self {
            node_name: Some(text(&spec["nodeName"]).to_owned()).filter(|name| !name.is_empty()),
            node_selector: node_selector.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            terms,
            tolerations: tolerations.into_iter().flatten().map(Toleration::from).collect(),
            is_of_daemon_set: false,
            runtime_class: runtime_class(spec, cluster)?,
        })
    }

    /// Those of a Pod that a workload of this `kind` makes.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn of_kind(kind: &str, spec: &Value, cluster: &Manifests) -> Result<Self> {
        Ok(Self { is_of_daemon_set: kind == Resource::DaemonSet.kind(), ..Self::read(spec, cluster)? })
    }

    /// A text that is the same for Pods that ask for the same, by which their [`Constraints`] need be read and compared
    /// only once.
    pub fn identity(spec: &Value) -> String {
        let affinity = &spec["affinity"]["nodeAffinity"][REQUIRED_AFFINITY];
        let class = &spec["runtimeClassName"];
        json!([spec["nodeName"], spec["nodeSelector"], affinity, spec["tolerations"], class]).to_string()
    }

    /// The keys of the labels that it names.
    pub fn label_keys(&self) -> impl Iterator<Item = &str> {
        let expressions = self.terms.iter().flatten().flat_map(|term| &term.expressions);
        self.node_selector.keys().map(String::as_str).chain(expressions.map(|expression| expression.key.as_str()))
    }

    /// The names of the nodes that it names.
    pub fn node_names(&self) -> impl Iterator<Item = &str> {
        self.node_name.as_deref().into_iter().chain(self.terms.iter().flatten().flat_map(Term::node_names))
    }

    /// The first thing that excludes the Pod from `node`, in this order: the node's name, labels, lasting taints.
    ///
    /// Upstream: the scheduler's plugins NodeName, NodeAffinity, and TaintToleration.
    pub fn excluded_from(&self, node: &Node) -> Option<Exclusion> {
        if self.node_name.as_ref().is_some_and(|name| *name != node.name) {
            return Some(Exclusion::Name);
        }
        self.excluded_by_labels(node).or_else(|| self.excluded_by_taints(&node.lasting_taints))
    }

    /// Whether a passing taint keeps the Pod away from `node` for now.
    pub fn waits_for(&self, node: &Node) -> bool {
        let counted = node.passing_taints.iter().filter(|taint| self.counts(taint));
        untolerated(&self.tolerations, counted).is_some()
    }

    /// Those of `lasting` taints that the Pod does not tolerate for good: of `NoExecute`, the first toleration that
    /// fits counts, and where that has seconds, the Pod is evicted after them.
    ///
    /// Upstream: `getMinTolerationTime` of `k8s.io/kubernetes/pkg/controller/tainteviction`.
    pub fn excluded_by_taints(&self, lasting: &[Taint]) -> Option<Exclusion> {
        let mut for_a_time = true;
        let mut taints = vec![];
        for taint in lasting.iter().filter(|taint| self.counts(taint)) {
            let toleration = self.tolerations.iter().find(|toleration| toleration.tolerates(taint));
            let ends = |by: &Toleration| taint.effect == NO_EXECUTE && by.toleration_seconds.is_some();
            if toleration.is_none_or(ends) {
                for_a_time &= toleration.is_some();
                taints.push(taint.clone());
            }
        }
        (!taints.is_empty()).then_some(Exclusion::Taints { taints, for_a_time })
    }

    /// Whether a taint keeps the Pod away unless it is tolerated. A Pod that names its node itself passes the scheduler
    /// by, and only the kubelet looks at it, for `NoExecute`.
    fn counts(&self, taint: &Taint) -> bool {
        self.node_name.is_none() || taint.effect == NO_EXECUTE
    }

    /// What excludes the Pod where something else than it needs is there: its own label, or that of its RuntimeClass.
    pub fn excluded_by_label(&self, key: &str, needs: String, has: Option<String>) -> Exclusion {
        let asks = |class: &&RuntimeClass| {
            let selector = class.scheduling.as_ref().and_then(|scheduling| scheduling.node_selector.as_ref());
            let value = selector.and_then(|selector| selector.get(key));
            value.is_some_and(|value| needs == format!("{key}={value}"))
        };
        let class = self.runtime_class.as_ref().filter(asks).and_then(|class| class.metadata.name.clone());
        Exclusion::Label(LabelExclusion { key: key.to_owned(), needs, has, class })
    }

    fn excluded_by_labels(&self, node: &Node) -> Option<Exclusion> {
        let label = |key: &str| node.labels.get(key).map(String::as_str);
        let excluded =
            |key: &str, needs| self.excluded_by_label(key, needs, label(key).map(|value| format!("{key}={value}")));
        if let Some((key, value)) = self.node_selector.iter().find(|(key, value)| label(key) != Some(value)) {
            return Some(excluded(key, format!("{key}={value}")));
        }
        let terms = self.terms.as_ref()?;
        if terms.iter().any(|term| term.matches(&node.name, label)) {
            return None;
        }
        let Some(term) = terms.iter().find(|term| !term.is_empty()) else { return Some(Exclusion::MatchesNothing) };
        let unmet = term.first_unmet(label);
        Some(unmet.map_or(Exclusion::Name, |expression| excluded(&expression.key, expression.to_string())))
    }
}

/// The first thing that excludes a Pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Exclusion {
    /// The Pod names another node, by `spec.nodeName` or by the field `metadata.name`.
    Name,
    /// A label.
    Label(LabelExclusion),
    /// Lasting taints that the Pod does not tolerate for good.
    Taints {
        /// All of them.
        taints: Vec<Taint>,
        /// Whether it tolerates each for some seconds, after which it is evicted.
        for_a_time: bool,
    },
    /// The Pod's required node affinity matches no node at all: it has no term, or only empty or invalid ones.
    MatchesNothing,
}

/// A label that a node or a NodePool lacks, or has with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelExclusion {
    /// Its key.
    pub key: String,
    /// What the Pod needs, as a selector: `pool=blue`.
    pub needs: String,
    /// What there is instead, likewise: of a node `pool=red`, of a NodePool perhaps `pool in (a,b)`. Nothing, if there is
    /// no such label.
    pub has: Option<String>,
    /// The RuntimeClass that asks for it, if the Pod does not itself.
    pub class: Option<String>,
}

impl Exclusion {
    /// In words, of a `node` or a `NodePool`: `the node has pool=red, the Pod needs pool=blue`.
    pub fn describe(&self, target: &str) -> String {
        match self {
            Self::Name if target == "NodePool" => {
                "the Pod names nodes, and Karpenter creates none for such Pods".to_owned()
            }
            Self::Name => format!("the Pod names another {target}"),
            Self::Label(LabelExclusion { key, needs, has, class }) => {
                let has = has.clone().unwrap_or_else(|| format!("no label {key}"));
                let who = class.as_ref().map_or("the Pod".to_owned(), |class| format!("the RuntimeClass {class}"));
                format!("the {target} has {has}, {who} needs {needs}")
            }
            Self::Taints { taints, for_a_time } => {
                let texts: Vec<String> = taints.iter().map(ToString::to_string).collect();
                let noun = if taints.len() == 1 { "taint" } else { "taints" };
                let tolerated = if *for_a_time { "tolerates for some seconds only" } else { "does not tolerate" };
                format!("the {target} has the {noun} {}, which the Pod {tolerated}", listed(&texts))
            }
            Self::MatchesNothing => "the Pod's required node affinity matches no node".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn node() -> Node {
        let taint =
            |key: &str, effect: &str| Taint { key: key.to_owned(), value: String::new(), effect: effect.to_owned() };
        Node {
            name: "one".to_owned(),
            labels: BTreeMap::from([("pool".to_owned(), "red".to_owned())]),
            lasting_taints: vec![taint("gpu", "NoSchedule")],
            passing_taints: vec![taint("node.kubernetes.io/not-ready", "NoExecute")],
            ..Node::default()
        }
    }

    fn required(terms: Value) -> Value {
        let required = json!({ REQUIRED_AFFINITY: { "nodeSelectorTerms": terms } });
        json!({ "affinity": { "nodeAffinity": required } })
    }

    #[rstest]
    #[case::another_name(json!({ "nodeName": "two" }), "the Pod names another node")]
    #[case::a_value(
        json!({ "nodeSelector": { "pool": "blue" } }),
        "the node has pool=red, the Pod needs pool=blue"
    )]
    #[case::a_label(
        json!({ "nodeSelector": { "disk": "ssd" } }),
        "the node has no label disk, the Pod needs disk=ssd"
    )]
    #[case::an_expression(
        required(json!([{ "matchExpressions": [{ "key": "pool", "operator": "NotIn", "values": ["red", "pink"] }] }])),
        "the node has pool=red, the Pod needs pool notin (pink,red)"
    )]
    #[case::a_field(
        required(json!([{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["two"] }] }])),
        "the Pod names another node"
    )]
    #[case::no_term(required(json!([])), "the Pod's required node affinity matches no node")]
    #[case::the_first_of_two_terms(
        required(json!([
            { "matchExpressions": [{ "key": "pool", "operator": "In", "values": ["blue"] }] },
            { "matchExpressions": [{ "key": "disk", "operator": "Exists" }] },
        ])),
        "the node has pool=red, the Pod needs pool in (blue)"
    )]
    #[case::a_taint(json!({ "nodeSelector": { "pool": "red" } }), "the node has the taint gpu:NoSchedule, which the Pod does not tolerate")]
    fn the_first_thing_that_excludes_a_pod_is_told(#[case] spec: Value, #[case] expected: &str) {
        let pod = Constraints::read(&spec, &Manifests::default()).unwrap();
        assert_eq!(pod.excluded_from(&node()).unwrap().describe("node"), expected);
    }

    #[rstest]
    #[case::for_good(&[None], None)]
    #[case::for_a_time(&[Some(60)], Some("the node has the taint team:NoExecute, which the Pod tolerates for some seconds only"))]
    #[case::the_first_counts(&[None, Some(60)], None)]
    #[case::the_second_does_not(
        &[Some(60), None],
        Some("the node has the taint team:NoExecute, which the Pod tolerates for some seconds only")
    )]
    #[case::not_at_all(
        &[],
        Some("the node has the taints gpu:NoSchedule and team:NoExecute, which the Pod does not tolerate")
    )]
    fn a_pod_that_is_evicted_again_is_not_taken(#[case] seconds: &[Option<i64>], #[case] expected: Option<&str>) {
        let taint =
            |key: &str, effect: &str| Taint { key: key.to_owned(), value: String::new(), effect: effect.to_owned() };
        let taints = [taint("gpu", "NoSchedule"), taint("team", "NoExecute")];
        let tolerations: Vec<Value> = seconds
            .iter()
            .map(|seconds| json!({ "operator": "Exists", "effect": seconds.map(|_| "NoExecute"), "tolerationSeconds": seconds }))
            .chain((!seconds.is_empty()).then(|| json!({ "key": "gpu", "operator": "Exists" })))
            .collect();
        let pod = Constraints::read(&json!({ "tolerations": tolerations }), &Manifests::default()).unwrap();
        assert_eq!(pod.excluded_by_taints(&taints).map(|excluded| excluded.describe("node")).as_deref(), expected);
    }

    #[rstest]
    #[case::all(json!({ "nodeSelector": { "pool": "red" }, "tolerations": [{ "operator": "Exists" }] }), false)]
    #[case::the_lasting_taint(json!({ "tolerations": [{ "key": "gpu", "operator": "Exists" }] }), true)]
    #[case::its_own_name(json!({ "nodeName": "one" }), true)]
    fn a_node_takes_a_pod_whose_demands_it_meets(#[case] spec: Value, #[case] waits: bool) {
        let pod = Constraints::read(&spec, &Manifests::default()).unwrap();
        assert_eq!(pod.excluded_from(&node()), None);
        assert_eq!(pod.waits_for(&node()), waits);
    }

    #[test]
    fn what_the_runtime_class_asks_for_is_told_as_its_own() {
        let cluster = Manifests::from_iter([json!({
            "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": { "name": "kata" }, "handler": "kata",
            "scheduling": { "nodeSelector": { "kata": "yes" } },
        })]);
        let spec = json!({ "runtimeClassName": "kata", "nodeSelector": { "kata": "yes" } });
        let pod = Constraints::read(&spec, &cluster).unwrap();
        let told = "the node has no label kata, the RuntimeClass kata needs kata=yes";
        assert_eq!(pod.excluded_from(&node()).unwrap().describe("node"), told);
    }

    #[test]
    fn what_a_pod_names_is_known() {
        let mut spec = required(json!([
            { "matchExpressions": [{ "key": "pool", "operator": "Exists" }] },
            { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["two"] }] },
        ]));
        spec["nodeSelector"] = json!({ "disk": "ssd" });
        let pod = Constraints::read(&spec, &Manifests::default()).unwrap();
        assert_eq!(pod.label_keys().collect::<Vec<_>>(), ["disk", "pool"]);
        assert_eq!(pod.node_names().collect::<Vec<_>>(), ["two"]);
    }

    #[test]
    fn a_field_of_another_type_is_an_error_that_names_it() {
        let error = Constraints::read(&json!({ "nodeSelector": ["pool"] }), &Manifests::default()).unwrap_err();
        assert!(error.to_string().contains("nodeSelector"), "{error}");
    }
}
