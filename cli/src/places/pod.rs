//! What a Pod requires of the node that it runs on, and what excludes it from a node.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::{
    core::v1::{NodeSelector, PodSpec},
    node::v1::RuntimeClass,
};
use node_placement_policy::{
    selector::{Operator, PossibleValues, Requirement, Selector},
    toleration::{NO_EXECUTE, Taint, Toleration, untolerated},
};

use super::{
    fit::{Exclusion, Fit, Has, LabelObstacle, Obstacle, Passing, Spec},
    node::Node,
    requests::Requests,
    term::Term,
};

/// The PodSpecs that must fit a node.
///
/// ```
/// use cli::places::{fit::{Fit, Obstacle}, node::Node, pod::{PodNeeds, PodSpecs}};
/// use k8s_openapi::api::core::v1::PodSpec;
///
/// let node = Node { labels: [("pool".to_owned(), "red".to_owned())].into(), ..Node::default() };
/// let spec = PodSpec { node_selector: Some([("pool".to_owned(), "blue".to_owned())].into()), ..PodSpec::default() };
/// let Fit::No(exclusion) = PodNeeds::new(&PodSpecs::of(&spec)).fit(&node, &[].into()) else { panic!() };
/// assert!(matches!(exclusion.what, Obstacle::Label(label) if label.needs[0].to_string() == "pool=blue"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PodSpecs<'p> {
    /// That of the Pod, into which the API server has merged its RuntimeClass.
    pub pod: &'p PodSpec,
    /// That of the template, if a DaemonSet makes the Pod: its controller compares nodes with the template.
    pub template: Option<&'p PodSpec>,
    /// The RuntimeClass that the Pod names.
    pub class: Option<&'p RuntimeClass>,
}

impl<'p> PodSpecs<'p> {
    /// Returns those of a Pod that no DaemonSet makes, without a RuntimeClass.
    pub const fn of(pod: &'p PodSpec) -> Self {
        Self { pod, template: None, class: None }
    }
}

/// What a Pod requires of nodes. Two Pods that require the same are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodNeeds {
    /// Of a DaemonSet's template first, then of the Pod itself.
    specs: Vec<SpecNeeds>,
    /// What it requests.
    pub requests: Requests,
}

/// What one PodSpec requires of nodes: `nodeName`, `nodeSelector`, required node affinity, tolerations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpecNeeds {
    by: Spec,
    /// `spec.nodeName`, if it is not empty.
    pub node_name: Option<String>,
    /// `spec.nodeSelector`.
    pub node_selector: Vec<Requirement>,
    /// The terms of required node affinity that can match a node; one must. `None` if there is no such affinity.
    pub terms: Option<Vec<Term>>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// Whether a DaemonSet makes the Pod. Karpenter creates no nodes for such Pods: they run on those for others.
    pub is_of_daemon_set: bool,
    /// The name of the RuntimeClass, and its nodeSelector.
    class: Option<(String, BTreeMap<String, String>)>,
}

impl PodNeeds {
    /// Reads what these PodSpecs require.
    pub fn new(specs: &PodSpecs<'_>) -> Self {
        let PodSpecs { pod, template, class } = specs;
        let is_of_daemon_set = template.is_some();
        let mut own = SpecNeeds::new(Spec::Pod, pod, *class, is_of_daemon_set);
        if is_of_daemon_set {
            own.forget_its_node();
        }
        let of_template = template.map(|spec| SpecNeeds::new(Spec::Template, spec, *class, true));
        Self { specs: of_template.into_iter().chain([own]).collect(), requests: Requests::new(pod) }
    }

    /// Returns what its PodSpecs require, in the order in which they are compared.
    pub fn specs(&self) -> &[SpecNeeds] {
        &self.specs
    }

    /// Returns what the Pod itself requires.
    pub fn own(&self) -> Option<&SpecNeeds> {
        self.specs.last()
    }

    /// Returns the keys of the labels that it names.
    pub fn label_keys(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().flat_map(SpecNeeds::requirements).map(Requirement::key)
    }

    /// Returns the names of the nodes that it names.
    pub fn node_names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().flat_map(SpecNeeds::node_names)
    }

    /// Returns all that the labels of a node must meet: the nodeSelector, and the first term of the node affinity that does not
    /// contradict it. `None` if no node can have such labels.
    pub fn labels_that_would_do(&self) -> Option<Selector> {
        let mut possible = vec![Selector::default()];
        for SpecNeeds { node_selector, terms, .. } in &self.specs {
            let terms: Vec<&[Requirement]> = match terms {
                Some(terms) => terms.iter().map(|term| term.labels.as_slice()).collect(),
                None => vec![&[]],
            };
            let all = possible.iter().flat_map(|own| terms.iter().map(move |term| [own.requirements(), term].concat()));
            let all = all.map(|own| Selector::new([own.as_slice(), node_selector].concat()).without_repeats());
            let can_be_met = |selector: &Selector| selector.by_label().all(|own| !PossibleValues::of(own).is_empty());
            possible = all.filter(can_be_met).collect();
        }
        possible.into_iter().next()
    }

    /// Returns whether two Pods require the same labels and names of nodes, whatever they tolerate and request.
    pub fn selects_nodes_as(&self, other: &Self) -> bool {
        let key = |needs: &SpecNeeds| (needs.node_name.clone(), needs.node_selector.clone(), needs.terms.clone());
        self.specs.iter().map(key).eq(other.specs.iter().map(key))
    }

    /// Returns what remains without these requirements on labels.
    #[must_use]
    pub fn without(&self, requirements: &[Requirement]) -> Self {
        let is_kept = |own: &Requirement| !requirements.iter().any(|other| other.same_as(own));
        let mut remaining = self.clone();
        for spec in &mut remaining.specs {
            spec.node_selector.retain(is_kept);
            spec.terms.iter_mut().flatten().for_each(|term| term.labels.retain(is_kept));
            spec.forget_terms_that_match_all();
        }
        remaining
    }

    /// Returns whether it lacks a toleration that another has.
    pub fn lacks_toleration_of(&self, other: &Self) -> bool {
        let mut pairs = self.specs.iter().zip(&other.specs);
        pairs.any(|(own, other)| other.tolerations.iter().any(|toleration| !own.tolerations.contains(toleration)))
    }

    /// Returns whether a node can run it; `devices` are extended resources that DeviceClasses name.
    ///
    /// Upstream: the scheduler's plugins NodeName, NodeAffinity, TaintToleration, NodeUnschedulable, and
    /// NodeResourcesFit.
    pub fn fit(&self, node: &Node, devices: &BTreeSet<String>) -> Fit {
        if let Some(exclusion) = self.excluded_from(node) {
            return Fit::No(exclusion);
        }
        let lacking = self.requests.lacking(&node.allocatable, devices);
        if !lacking.is_empty() {
            return Fit::TooSmall(lacking);
        }
        match self.waits_for(node) {
            taints if taints.is_empty() => Fit::Now,
            taints => Fit::NotNow(Passing { taints }),
        }
    }

    /// Returns the first thing that excludes the Pod from a node, in this order: the node's name, labels, lasting taints.
    pub fn excluded_from(&self, node: &Node) -> Option<Exclusion> {
        self.specs.iter().find_map(|spec| spec.excluded_from(node))
    }

    /// Returns the passing taints that keep the Pod away from a node for now.
    pub fn waits_for(&self, node: &Node) -> Vec<Taint> {
        let keeps_away = |taint: &&Taint| {
            self.specs.iter().any(|spec| spec.counts(taint) && untolerated(&spec.tolerations, [*taint]).is_some())
        };
        node.passing_taints.iter().filter(keeps_away).cloned().collect()
    }
}

impl SpecNeeds {
    fn new(by: Spec, spec: &PodSpec, class: Option<&RuntimeClass>, is_of_daemon_set: bool) -> Self {
        let pairs = spec.node_selector.iter().flatten();
        let read = pairs.map(|(key, value)| Requirement::new(key.clone(), Operator::Equals, vec![value.clone()]));
        let read: Result<Vec<Requirement>, _> = read.collect();
        let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let required = affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref());
        let terms = required.map(|required: &NodeSelector| Term::all(required));
        let tolerations = spec.tolerations.iter().flatten().cloned();
        Self {
            by,
            node_name: spec.node_name.clone().filter(|name| !name.is_empty()),
            // No node has a label that is not valid.
            terms: if read.is_err() { Some(vec![]) } else { terms },
            node_selector: read.unwrap_or_default(),
            tolerations: tolerations.map(Toleration::from).collect(),
            is_of_daemon_set,
            class: class.map(|class| {
                let scheduling = class.scheduling.clone().unwrap_or_default();
                (class.metadata.name.clone().unwrap_or_default(), scheduling.node_selector.unwrap_or_default())
            }),
        }
    }

    /// Forgets the node that the DaemonSet controller names in each term, since it makes a Pod for each node.
    fn forget_its_node(&mut self) {
        let Some(terms) = &mut self.terms else { return };
        terms.iter_mut().for_each(|term| term.names.clear());
        self.forget_terms_that_match_all();
    }

    /// Forgets all terms if one of them requires nothing any more.
    fn forget_terms_that_match_all(&mut self) {
        if self.terms.iter().flatten().any(|term| term.labels.is_empty() && term.names.is_empty()) {
            self.terms = None;
        }
    }

    fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        self.node_selector.iter().chain(self.terms.iter().flatten().flat_map(|term| &term.labels))
    }

    fn node_names(&self) -> impl Iterator<Item = &str> {
        let names = self.terms.iter().flatten().flat_map(|term| &term.names);
        self.node_name.as_deref().into_iter().chain(names.map(|rule| rule.name()))
    }

    fn excluded_from(&self, node: &Node) -> Option<Exclusion> {
        if self.node_name.as_ref().is_some_and(|name| *name != node.name) {
            return Some(self.excluded(Obstacle::Name));
        }
        self.excluded_by_labels(node).or_else(|| self.excluded_by_taints(&node.lasting_taints))
    }

    fn excluded_by_labels(&self, node: &Node) -> Option<Exclusion> {
        let is_unmet = |requirement: &&Requirement| !requirement.accepts(node.label(requirement.key()));
        let has = |key| node.label(key).map_or(Has::Nothing, |value| Has::Value(value.to_owned()));
        if let Some(unmet) = self.node_selector.iter().find(is_unmet) {
            return Some(self.excluded_by_label(vec![unmet.clone()], has(unmet.key()), false));
        }
        let terms = self.terms.as_ref()?;
        if terms.iter().any(|term| term.matches(node)) {
            return None;
        }
        let Some(first) = terms.first() else { return Some(self.excluded(Obstacle::MatchesNothing)) };
        Some(match first.first_unmet(node) {
            Some(unmet) => self.excluded_by_label(vec![unmet.clone()], has(unmet.key()), true),
            None => self.excluded(Obstacle::Name),
        })
    }

    /// Returns the `lasting` taints that the Pod does not tolerate for good. Of `NoExecute`, the first toleration that
    /// matches counts. If that has seconds, the Pod is evicted after them.
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
        (!taints.is_empty()).then(|| self.excluded(Obstacle::Taints { taints, for_a_time }))
    }

    /// Returns whether a taint keeps the Pod away unless it is tolerated. No scheduler sees a Pod that names its node, and
    /// the kubelet looks only at `NoExecute`.
    fn counts(&self, taint: &Taint) -> bool {
        self.node_name.is_none() || taint.effect == NO_EXECUTE
    }

    /// Returns an exclusion by a label that the nodeSelector, or else a term of the affinity, needs.
    pub fn excluded_by_label(&self, needs: Vec<Requirement>, has: Has, is_of_term: bool) -> Exclusion {
        let is_of_class = |key: &str, value: &str| {
            needs.iter().any(|requirement| requirement.key() == key && requirement.only_value() == Some(value))
        };
        let class = self.class.as_ref().filter(|(_, pairs)| pairs.iter().any(|(key, value)| is_of_class(key, value)));
        let by = class.map_or_else(|| self.by.clone(), |(name, _)| Spec::RuntimeClass(name.clone()));
        let terms = self.terms.as_ref().filter(|_| is_of_term).map_or(0, Vec::len);
        Exclusion { by, what: Obstacle::Label(LabelObstacle { needs, has, terms }) }
    }

    /// Returns an exclusion by something that is not a label.
    pub fn excluded(&self, what: Obstacle) -> Exclusion {
        Exclusion { by: self.by.clone(), what }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use k8s_openapi::api::core::v1;

    use super::*;
    use crate::{webhook::resource::REQUIRED_AFFINITY, words::exclusion};

    fn pod(mut spec: Value) -> PodNeeds {
        spec["containers"] = json!([]);
        PodNeeds::new(&PodSpecs::of(&serde_json::from_value(spec).unwrap()))
    }

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
    fn the_first_thing_that_excludes_a_pod_is_named(#[case] spec: Value, #[case] expected: &str) {
        assert_eq!(exclusion(&pod(spec).excluded_from(&node()).unwrap(), "node"), expected);
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
    fn a_pod_that_is_evicted_again_is_excluded(#[case] seconds: &[Option<i64>], #[case] expected: Option<&str>) {
        let taint =
            |key: &str, effect: &str| Taint { key: key.to_owned(), value: String::new(), effect: effect.to_owned() };
        let taints = [taint("gpu", "NoSchedule"), taint("team", "NoExecute")];
        let tolerations: Vec<Value> = seconds
            .iter()
            .map(|seconds| json!({ "operator": "Exists", "effect": seconds.map(|_| "NoExecute"), "tolerationSeconds": seconds }))
            .chain((!seconds.is_empty()).then(|| json!({ "key": "gpu", "operator": "Exists" })))
            .collect();
        let pod = pod(json!({ "tolerations": tolerations }));
        let excluded = pod.own().unwrap().excluded_by_taints(&taints);
        assert_eq!(excluded.map(|excluded| exclusion(&excluded, "node")).as_deref(), expected);
    }

    #[rstest]
    #[case::all(json!({ "nodeSelector": { "pool": "red" }, "tolerations": [{ "operator": "Exists" }] }), false)]
    #[case::the_lasting_taint(json!({ "tolerations": [{ "key": "gpu", "operator": "Exists" }] }), true)]
    #[case::its_own_name(json!({ "nodeName": "one" }), true)]
    fn a_node_accepts_a_pod_whose_needs_it_meets(#[case] spec: Value, #[case] waits: bool) {
        let pod = pod(spec);
        assert_eq!(pod.excluded_from(&node()), None);
        assert_eq!(pod.waits_for(&node()).is_empty(), !waits);
    }

    #[test]
    fn what_a_pod_names_is_known() {
        let mut spec = required(json!([
            { "matchExpressions": [{ "key": "pool", "operator": "Exists" }] },
            { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["two"] }] },
        ]));
        spec["nodeSelector"] = json!({ "disk": "ssd" });
        let pod = pod(spec);
        assert_eq!(pod.label_keys().collect::<Vec<_>>(), ["disk", "pool"]);
        assert_eq!(pod.node_names().collect::<Vec<_>>(), ["two"]);
    }

    #[rstest]
    #[case::no_resources(json!({}), "99", "now")]
    #[case::enough(json!({ "allocatable": { "cpu": "4", "pods": "9" } }), "4", "now")]
    #[case::too_small(json!({ "allocatable": { "cpu": "4", "pods": "9" } }), "5", "cpu: 5 of 4")]
    #[case::capacity_alone(json!({ "capacity": { "cpu": "4", "pods": "9" } }), "5", "cpu: 5 of 4")]
    #[case::no_pods(json!({ "allocatable": { "cpu": "4" } }), "1", "pods: 1 of 0")]
    fn a_node_is_large_enough_or_not(#[case] status: Value, #[case] cpu: &str, #[case] expected: &str) {
        let node: v1::Node = serde_json::from_value(json!({ "metadata": { "name": "n" }, "status": status })).unwrap();
        let resources = json!({ "requests": { "cpu": cpu } });
        let spec = json!({ "containers": [{ "name": "c", "resources": resources }] });
        let pod = PodNeeds::new(&PodSpecs::of(&serde_json::from_value(spec).unwrap()));
        let found = match pod.fit(&Node::from(&node), &BTreeSet::new()) {
            Fit::Now => "now".to_owned(),
            Fit::TooSmall(lacking) => {
                format!("{}: {} of {}", lacking[0].resource, lacking[0].requested, lacking[0].largest)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_cordoned_node_accepts_a_pod_later() {
        let node: v1::Node =
            serde_json::from_value(json!({ "metadata": { "name": "n" }, "spec": { "unschedulable": true } })).unwrap();
        let fit = |spec| pod(spec).fit(&Node::from(&node), &BTreeSet::new());
        assert!(matches!(fit(json!({})), Fit::NotNow(Passing { taints }) if taints[0].key.ends_with("unschedulable")));
        assert_eq!(fit(json!({ "tolerations": [{ "operator": "Exists" }] })), Fit::Now);
    }

    #[test]
    fn a_daemon_sets_controller_looks_at_the_template() {
        let of_node = json!([{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["two"] }] }]);
        let mut spec = required(of_node);
        spec["containers"] = json!([]);
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        let template = json!({ "containers": [], "nodeSelector": { "pool": "blue" } });
        let template: PodSpec = serde_json::from_value(template).unwrap();
        let specs = PodSpecs { pod: &spec, template: Some(&template), class: None };
        let exclusion = PodNeeds::new(&specs).excluded_from(&node()).unwrap();
        assert_eq!(exclusion.by, Spec::Template);
        let no_selector = PodSpec::default();
        let specs = PodSpecs { template: Some(&no_selector), ..specs };
        let untainted = Node { lasting_taints: vec![], ..node() };
        assert_eq!(PodNeeds::new(&specs).excluded_from(&untainted), None, "it makes one for each node");
    }

    #[test]
    fn a_runtime_class_is_blamed_for_its_label() {
        let spec = json!({ "containers": [], "nodeSelector": { "kata": "yes", "pool": "red" } });
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        let class = json!({ "metadata": { "name": "kata" }, "handler": "kata", "scheduling": { "nodeSelector": { "kata": "yes" } } });
        let class: RuntimeClass = serde_json::from_value(class).unwrap();
        let specs = PodSpecs { class: Some(&class), ..PodSpecs::of(&spec) };
        let excluded = PodNeeds::new(&specs).excluded_from(&node()).unwrap();
        assert_eq!(exclusion(&excluded, "node"), "the node has no label kata, the RuntimeClass kata needs kata=yes");
    }
}
