//! Karpenter's NodePools: nodes that are created as soon as a Pod needs them.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    rc::Rc,
    sync::LazyLock,
};

use anyhow::{Context, Result};
use node_placement_policy::{
    placement::node_affinity::operator_named,
    selector::{Operator, PossibleValues, Requirement},
    toleration::Taint,
};
use serde_json::{Value, json};

use super::{
    amount::Amount,
    fit::{Fit, Has, Obstacle, Unevaluated},
    node::taint,
    pod::{PodNeeds, SpecNeeds},
    term::Term,
};
use crate::{
    cluster::{
        self,
        node_pool::{NodeClaimTemplate, NodePoolRequirement},
    },
    webhook::pods::CREATED,
};

/// The label by which Karpenter marks the Nodes of a NodePool.
pub const NODE_POOL_LABEL: &str = "karpenter.sh/nodepool";

/// A label that every node has.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Who gives a well-known label, by its key.
static WELL_KNOWN: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("well_known_labels.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' ')).map(|(giver, key)| (key, giver)).collect()
});

/// The labels of which no other values exist.
const ALL_VALUES: [(&str, &[&str]); 3] = [
    ("kubernetes.io/arch", &["amd64", "arm64"]),
    ("kubernetes.io/os", &["linux", "windows"]),
    ("karpenter.sh/capacity-type", &["on-demand", "reserved", "spot"]),
];

/// The values of labels that Nodes have and NodePools name, by key.
pub type KnownValues = BTreeMap<String, BTreeSet<String>>;

/// Why no new Pods run on a Node, or on nodes that a NodePool would create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It is being deleted.
    BeingDeleted,
    /// It has no replicas.
    NoReplicas,
    /// It is not ready.
    NotReady,
    /// It has a limit of 0 for this resource.
    Limit(String),
}

/// Returns why Karpenter creates no nodes of a NodePool.
///
/// Upstream: `NewScheduler` of `sigs.k8s.io/karpenter/pkg/controllers/provisioning`.
pub fn left_out(node_pool: &cluster::NodePool) -> Option<LeftOut> {
    let cluster::NodePool { metadata, spec, status } = node_pool;
    if metadata.deletion_timestamp.is_some() {
        return Some(LeftOut::BeingDeleted);
    }
    if spec.replicas == Some(0) {
        return Some(LeftOut::NoReplicas);
    }
    let conditions = status.iter().flat_map(|status| &status.conditions).flatten();
    // In a file there may be none.
    if conditions.clone().any(|condition| condition.type_ == "Ready" && condition.status != "True") {
        return Some(LeftOut::NotReady);
    }
    // Of a resource that only some Pods request, such as GPUs, the others need none.
    let limits = spec.limits.iter().flatten();
    let mut limits = limits.filter(|(resource, _)| !resource.contains('/') && !resource.starts_with("hugepages-"));
    let (resource, _) = limits.find(|(_, limit)| Amount::from(*limit) == Amount::default())?;
    Some(LeftOut::Limit(resource.clone()))
}

/// A NodePool.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePool {
    /// Its name.
    pub name: String,
    /// What it says of labels: its template's, its requirements, and its own name.
    labels: BTreeMap<String, LabelRule>,
    /// Of a static NodePool, how many nodes it has, whatever Pods there are.
    pub replicas: Option<usize>,
    /// The API group of its NodeClass, which is that of its provider.
    provider: Option<String>,
    /// The annotations that its nodes have.
    annotations: BTreeMap<String, String>,
    /// The taints that keep Pods away from its nodes. Karpenter treats all of them as lasting; startup taints are not
    /// included.
    pub taints: Vec<Taint>,
    /// The values of labels that are known to exist.
    known: Rc<KnownValues>,
}

/// What a NodePool says of one label.
#[derive(Clone, Debug, Default, PartialEq)]
struct LabelRule {
    /// What its values must meet.
    requirements: Vec<Requirement>,
    /// How many values must remain when a Pod has chosen.
    min_values: usize,
    /// Whether it says more by an operator that is not evaluated.
    is_unevaluated: bool,
}

/// What a Pod requires of labels, by their normalized keys.
type Required = BTreeMap<String, Vec<Requirement>>;

impl NodePool {
    /// Reads a NodePool.
    ///
    /// # Errors
    /// A requirement has an operator that Karpenter does not have, or values that do not match it.
    pub fn read(object: &cluster::NodePool) -> Result<Self> {
        let NodeClaimTemplate { metadata, spec } = &object.spec.template;
        let name = object.metadata.name.clone().unwrap_or_default();
        let mut labels: BTreeMap<String, LabelRule> = BTreeMap::new();
        let own_name = [(&NODE_POOL_LABEL.to_owned(), &name)];
        for (key, value) in metadata.labels.iter().flatten().chain(own_name) {
            let equals = requirement(key, Operator::Equals, vec![value.clone()]);
            let equals = equals.with_context(|| format!("NodePool {name}: spec.template.metadata.labels: {key}"))?;
            labels.entry(normalized(key).to_owned()).or_default().requirements.push(equals);
        }
        for (position, own) in spec.requirements.iter().flatten().enumerate() {
            let rule = labels.entry(normalized(&own.key).to_owned()).or_default();
            rule.add(own).with_context(|| format!("NodePool {name}: spec.template.spec.requirements[{position}]"))?;
        }
        let taints = spec.taints.iter().flatten().map(taint);
        let mut taints: Vec<Taint> = taints.filter(Taint::keeps_pods_away).collect();
        taints.sort_by_key(ToString::to_string);
        let annotations = metadata.annotations.clone().unwrap_or_default();
        let provider = spec.node_class_ref.as_ref().map(|class| class.group.clone());
        let replicas = object.spec.replicas.and_then(|replicas| replicas.try_into().ok());
        Ok(Self { name, labels, replicas, provider, annotations, taints, known: Rc::default() })
    }

    /// Returns the same NodePool in a cluster where these values of labels are known to exist.
    pub fn knowing(self, known: &Rc<KnownValues>) -> Self {
        Self { known: known.clone(), ..self }
    }

    /// Returns the labels with the values that it names.
    pub fn named_values(&self) -> impl Iterator<Item = (&str, &str)> {
        let rules = self.labels.iter();
        rules
            .flat_map(|(key, rule)| listed(&rule.requirements).into_iter().flatten().map(|value| (key.as_str(), value)))
    }

    /// Returns the labels of which its nodes have one value.
    pub fn known_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().filter_map(|(key, rule)| match listed(&rule.requirements)?.as_slice() {
            [only] if !rule.is_unevaluated => Some((key.as_str(), *only)),
            _ => None,
        })
    }

    /// Returns the values that a label of its nodes can have; `None` if they are not listed.
    pub fn values_of(&self, key: &str) -> Option<Vec<&str>> {
        listed(&self.labels.get(normalized(key))?.requirements)
    }

    /// Returns whether a node of it may have the labels that a term requires, which need not be a Pod's.
    pub fn can_meet(&self, term: &Term) -> bool {
        let mut needs = required(&term.labels).into_iter();
        needs.all(|(key, needs)| self.can_have(&key, &needs) != Some(false))
    }

    /// Returns whether Karpenter would create a node for the Pod, of whatever size it needs.
    ///
    /// Upstream: `Requirements.Compatible` and `Taints.ToleratesPod` of `sigs.k8s.io/karpenter/pkg/scheduling`.
    pub fn fit(&self, pod: &PodNeeds) -> Fit {
        let mut fit = Fit::Now;
        for spec in pod.specs() {
            match self.fit_spec(spec) {
                Fit::No(exclusion) => return Fit::No(exclusion),
                Fit::Unknown(why) if fit == Fit::Now => fit = Fit::Unknown(why),
                _ => {}
            }
        }
        fit
    }

    fn fit_spec(&self, spec: &SpecNeeds) -> Fit {
        let mut terms = spec.terms.iter().flatten();
        if spec.node_name.is_some() || !spec.is_of_daemon_set && terms.any(names_nodes) {
            return Fit::No(spec.excluded(Obstacle::Name));
        }
        let by_labels = self.fit_selector(spec);
        match spec.excluded_by_taints(&self.taints) {
            Some(exclusion) if !matches!(by_labels, Fit::No(_)) => Fit::No(exclusion),
            _ => by_labels,
        }
    }

    /// Tries the terms of node affinity one after the other.
    fn fit_selector(&self, spec: &SpecNeeds) -> Fit {
        let selector = required(&spec.node_selector);
        let by_selector = self.fit_labels(&selector, spec, false);
        let Some(terms) = spec.terms.as_ref().filter(|_| !matches!(by_selector, Fit::No(_))) else {
            return by_selector;
        };
        let mut worst = Fit::No(spec.excluded(Obstacle::MatchesNothing));
        for term in terms {
            let fit = match with_term(&selector, term) {
                _ if !term.names.is_empty() => Fit::No(spec.excluded(Obstacle::Name)),
                Some(required) => self.fit_labels(&required, spec, true),
                None => continue,
            };
            match (&fit, &worst) {
                (Fit::Now, _) => return fit,
                (Fit::Unknown(_), Fit::No(_)) => worst = fit,
                (Fit::No(_), Fit::No(known)) if known.what == Obstacle::MatchesNothing => worst = fit,
                _ => {}
            }
        }
        worst
    }

    fn fit_labels(&self, required: &Required, spec: &SpecNeeds, is_of_term: bool) -> Fit {
        let mut fit = Fit::Now;
        for (key, needs) in required {
            match self.can_have(key, needs) {
                Some(true) => {}
                Some(false) => {
                    return Fit::No(spec.excluded_by_label(needs.clone(), self.has(key), is_of_term));
                }
                None => fit = Fit::Unknown(self.unevaluated(key, needs)),
            }
        }
        fit
    }

    fn has(&self, key: &str) -> Has {
        match self.labels.get(key) {
            Some(LabelRule { requirements, min_values, .. }) => {
                Has::Values { requirements: requirements.clone(), min_values: *min_values }
            }
            None => match all_values(key) {
                Some(all) => Has::Values { requirements: vec![all], min_values: 0 },
                None => Has::Nothing,
            },
        }
    }

    fn unevaluated(&self, key: &str, needs: &[Requirement]) -> Unevaluated {
        let node_pool = self.name.clone();
        match self.labels.get(key) {
            Some(rule) if rule.is_unevaluated => Unevaluated::Operator { node_pool, key: key.to_owned() },
            _ => Unevaluated::Value { node_pool, needs: needs.to_vec() },
        }
    }

    /// Returns whether a node of it can have what is required of a label; `None` if that could not be evaluated.
    fn can_have(&self, key: &str, needs: &[Requirement]) -> Option<bool> {
        let rule = self.labels.get(key);
        if rule.is_some_and(|rule| rule.is_unevaluated) {
            return None;
        }
        let (may_be_absent, possible) = (accept(needs, None), PossibleValues::of(needs));
        if rule.is_none() && !self.may_give(key) {
            return Some(may_be_absent);
        }
        let own = self.requirements_on(key);
        if self.replicas.is_some() {
            // Its nodes are created without regard to Pods: whatever values they have must be accepted.
            return Some(rule.is_some() && PossibleValues::of(&own).is_within(&possible));
        }
        if !PossibleValues::of(&own).overlaps(&possible, &mut 0) {
            return Some(false);
        }
        let both = [own.as_slice(), needs].concat();
        if let Some(values) = listed(&both) {
            let least = rule.map_or(0, |rule| rule.min_values);
            // Upstream: `SatisfiesMinValues` of `sigs.k8s.io/karpenter/pkg/cloudprovider`.
            if values.len() < least {
                return Some(false);
            }
        }
        let is_named = listed(&own).is_some() || accept(&both, None);
        if is_named || !WELL_KNOWN.contains_key(key) || self.known_values(key).any(|value| accept(&both, Some(value))) {
            return Some(true);
        }
        // Some other value than those that are excluded exists.
        let excludes = |needs: &Requirement| needs.operator().as_set() == Operator::NotIn;
        needs.iter().all(|needs| excludes(needs) || needs.operator() == Operator::Exists).then_some(true)
    }

    /// Returns what holds for a label of all its nodes: what the NodePool says, and what is true of every node.
    fn requirements_on(&self, key: &str) -> Vec<Requirement> {
        let mut all = self.labels.get(key).map(|rule| rule.requirements.clone()).unwrap_or_default();
        all.extend(all_values(key));
        if is_of_every_node(key) {
            all.extend(requirement(key, Operator::Exists, vec![]));
        }
        all
    }

    fn known_values(&self, key: &str) -> impl Iterator<Item = &str> {
        self.known.get(key).into_iter().flatten().map(String::as_str)
    }

    /// Returns whether its nodes can have a label of which it says nothing: a well-known one, of no other provider.
    fn may_give(&self, key: &str) -> bool {
        let is_own = |giver: &&str| !giver.contains('.') || self.provider.as_ref().is_none_or(|own| own == giver);
        WELL_KNOWN.get(key).is_some_and(is_own)
    }

    /// Returns a node that Karpenter would create for the Pod.
    pub fn node_for(&self, pod: &SpecNeeds) -> Value {
        let mut labels = self.labels_for(pod);
        labels.insert(HOSTNAME.to_owned(), CREATED.to_owned());
        let metadata = json!({ "name": CREATED, "labels": labels, "annotations": self.annotations });
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {} })
    }

    /// Returns labels that the node may have instead, each with a value that does not meet one of these requirements.
    pub fn labels_against<'r>(
        &self,
        pod: &SpecNeeds,
        requirements: impl Iterator<Item = &'r Requirement>,
    ) -> Vec<(&'r str, String)> {
        let certain = self.certain_labels(pod);
        let mut against = vec![];
        for requirement in requirements {
            let key = normalized(requirement.key());
            let Some(own) = certain.get(key) else { continue };
            let is_against = |value: &&str| accept(own, Some(value)) && !requirement.accepts(Some(value));
            let given = requirement.values().iter().map(String::as_str);
            let known = given.chain(own.iter().flat_map(Requirement::values).map(String::as_str));
            let known = known.chain(self.known_values(key)).find(is_against).map(str::to_owned);
            let value =
                known.or_else(|| other_value(own, requirement.values()).filter(|value| is_against(&value.as_str())));
            against.extend(value.map(|value| (requirement.key(), value)));
        }
        against
    }

    /// Returns its labels: of each some value that both allow. A label that it may lack is omitted.
    fn labels_for(&self, pod: &SpecNeeds) -> BTreeMap<String, String> {
        let mut labels = BTreeMap::new();
        for (key, requirements) in self.certain_labels(pod) {
            let named = listed(&requirements).into_iter().flatten().chain(self.known_values(&key));
            let named = named.into_iter().find(|value| accept(&requirements, Some(value))).map(str::to_owned);
            let value = named.or_else(|| other_value(&requirements, &[]));
            labels.extend(value.map(|value| (key, value)));
        }
        labels
    }

    /// Returns what the NodePool and the Pod require of each label that the node has for certain.
    fn certain_labels(&self, pod: &SpecNeeds) -> Required {
        let selector = required(&pod.node_selector);
        let with_terms = pod.terms.iter().flatten().filter_map(|term| with_term(&selector, term));
        let mut possible = with_terms.filter(|it| !matches!(self.fit_labels(it, pod, true), Fit::No(_)));
        let needs = possible.next().unwrap_or_else(|| selector.clone());
        let of_every_node = WELL_KNOWN.keys().map(|key| (*key).to_owned()).filter(|key| is_of_every_node(key));
        let keys: BTreeSet<String> = self.labels.keys().chain(needs.keys()).cloned().chain(of_every_node).collect();
        let mut certain = Required::new();
        for key in keys {
            let mut both = self.requirements_on(&key);
            both.extend(needs.get(&key).into_iter().flatten().cloned());
            if !accept(&both, None) {
                certain.insert(key, both);
            }
        }
        certain
    }
}

impl LabelRule {
    fn add(&mut self, own: &NodePoolRequirement) -> Result<()> {
        self.min_values = self.min_values.max(own.min_values.unwrap_or_default());
        if matches!(own.operator.as_str(), "Gt" | "Lt" | "Gte" | "Lte") {
            self.is_unevaluated = true;
            return Ok(());
        }
        let values = own.values.clone().unwrap_or_default();
        let operator = match operator_named(&own.operator) {
            Some(Operator::In) if values.len() == 1 => Some(Operator::Equals),
            operator => operator,
        };
        let read = operator.and_then(|operator| requirement(&own.key, operator, values));
        self.requirements.push(read.with_context(|| {
            format!("expected an operator of Karpenter with values that match it; found {:?}", own.operator)
        })?);
        Ok(())
    }
}

/// Returns whether a term is about single nodes. Karpenter ignores a Pod with such a term, whatever its others are.
///
/// Upstream: `validateNodeSelectorTerm` of `sigs.k8s.io/karpenter/pkg/controllers/provisioning`.
fn names_nodes(term: &Term) -> bool {
    !term.names.is_empty() || term.labels.iter().any(|requirement| requirement.key() == HOSTNAME)
}

/// Sorts requirements by their normalized keys.
fn required(requirements: &[Requirement]) -> Required {
    let mut required = Required::new();
    for own in requirements {
        let normalized = requirement(own.key(), own.operator(), own.values().to_vec());
        required.entry(self::normalized(own.key()).to_owned()).or_default().extend(normalized);
    }
    required
}

/// Adds what a term requires; `None` if nothing meets all of it.
fn with_term(selector: &Required, term: &Term) -> Option<Required> {
    let mut all = selector.clone();
    for (key, requirements) in required(&term.labels) {
        let both = all.entry(key).or_default();
        both.extend(requirements);
        if PossibleValues::of(&*both).is_empty() {
            return None;
        }
    }
    Some(all)
}

/// Returns a requirement on a normalized key.
fn requirement(key: &str, operator: Operator, values: Vec<String>) -> Option<Requirement> {
    Requirement::new(normalized(key).to_owned(), operator, values).ok()
}

/// Returns the requirement that a label has a value that exists, where all are known.
fn all_values(key: &str) -> Option<Requirement> {
    let (_, values) = ALL_VALUES.iter().find(|(own, _)| *own == key)?;
    requirement(key, Operator::In, values.iter().map(|value| (*value).to_owned()).collect())
}

fn is_of_every_node(key: &str) -> bool {
    WELL_KNOWN.get(key) == Some(&"every")
}

/// Returns whether a label with this value, or without one, meets all of these requirements.
fn accept(requirements: &[Requirement], value: Option<&str>) -> bool {
    requirements.iter().all(|requirement| requirement.accepts(value))
}

/// Returns the values that meet all of these requirements on one label; `None` if they are not listed.
fn listed(requirements: &[Requirement]) -> Option<Vec<&str>> {
    let lists = |requirement: &&Requirement| requirement.operator().as_set() == Operator::In;
    let list = requirements.iter().find(lists)?.values().iter().map(String::as_str);
    Some(list.filter(|value| accept(requirements, Some(value))).collect())
}

/// Returns a value that meets all of these requirements, and that neither they nor `others` name.
fn other_value(requirements: &[Requirement], others: &[String]) -> Option<String> {
    let bound = requirements.iter().find_map(|one| Some((one.operator(), one.bound()?)));
    let candidate = |step: i64| match bound {
        Some((Operator::LessThan, bound)) => bound.checked_sub(step + 1),
        Some((_, bound)) => bound.checked_add(step + 1),
        None => Some(step),
    };
    let excluded = requirements.iter().map(|one| one.values().len()).sum::<usize>() + others.len();
    let steps = iter::successors(Some(0), |step| Some(step + 1)).take(excluded + 1);
    let mut values = steps.filter_map(candidate).map(|value| value.to_string());
    values.find(|value| accept(requirements, Some(value)) && !others.contains(value))
}

/// Returns the key that Karpenter reads an older key as, in NodePools as in Pods.
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
    use crate::{
        places::pod::{PodNeeds, PodSpecs},
        words::{exclusion, unevaluated},
    };

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
                        { "key": "example.com/size", "operator": "NotIn", "values": ["small"] },
                        { "key": "example.com/spot", "operator": "DoesNotExist" },
                    ],
                    "taints": [{ "key": "team", "value": "blue", "effect": "NoSchedule" }],
                    "startupTaints": [{ "key": "starting", "effect": "NoSchedule" }],
                },
            } },
        });
        let known = [
            ("karpenter.k8s.aws/instance-family", "m7i"),
            ("karpenter.k8s.aws/instance-cpu", "64"),
            ("topology.kubernetes.io/zone", "b"),
        ];
        let known = known.map(|(key, value)| (key.to_owned(), BTreeSet::from([value.to_owned()])));
        NodePool::read(&serde_json::from_value(object).unwrap()).unwrap().knowing(&Rc::new(known.into()))
    }

    fn pod(mut spec: Value) -> PodNeeds {
        if spec["tolerations"].is_null() {
            spec["tolerations"] = json!([{ "key": "team", "operator": "Exists" }]);
        }
        spec["containers"] = json!([]);
        PodNeeds::new(&PodSpecs::of(&serde_json::from_value(spec).unwrap()))
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
    #[case::a_value_of_its_own_label_that_nothing_has_yet(selecting("example.com/size", "large"))]
    #[case::some_other_value_of_a_well_known_label(
        requiring(json!([expression("node.kubernetes.io/instance-type", "NotIn", &["m7i.large"])]))
    )]
    #[case::a_label_by_its_older_name(selecting("failure-domain.beta.kubernetes.io/zone", "a"))]
    #[case::a_label_that_must_not_be_there(requiring(json!([expression("premium", "DoesNotExist", &[])])))]
    #[case::values_that_must_not_be_there(requiring(json!([expression("premium", "NotIn", &["acme"])])))]
    #[case::what_it_excludes_too(requiring(json!([expression("example.com/spot", "DoesNotExist", &[])])))]
    #[case::the_second_term(
        requiring(json!([expression("team", "In", &["red"]), expression("team", "In", &["blue"])]))
    )]
    fn a_node_pool_creates_a_node_for_a_pod(#[case] spec: Value) {
        assert_eq!(blue().fit(&pod(spec)), Fit::Now);
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
        "the NodePool has topology.kubernetes.io/zone in (a,b), the Pod needs topology.kubernetes.io/zone in (c)"
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
        "the NodePool has no label premium, the Pod needs premium"
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
        let Fit::No(found) = blue().fit(&pod(spec)) else { panic!("not excluded") };
        assert_eq!(exclusion(&found, "NodePool"), expected);
    }

    #[rstest]
    #[case::an_operator_that_is_not_evaluated(
        selecting("example.com/cpu", "8"),
        "the NodePool blue has an operator for example.com/cpu that is not evaluated here"
    )]
    #[case::a_region_that_nothing_has(
        selecting("topology.kubernetes.io/region", "eu-1a"),
        "no Node has topology.kubernetes.io/region=eu-1a, and no NodePool names it"
    )]
    #[case::a_greater_number_than_any(
        requiring(json!([expression("karpenter.k8s.aws/instance-cpu", "Gt", &["64"])])),
        "no Node has karpenter.k8s.aws/instance-cpu>64, and no NodePool names it"
    )]
    #[case::in_the_second_term(
        requiring(json!([
            expression("team", "In", &["red"]),
            expression("topology.kubernetes.io/region", "In", &["eu-1a"]),
        ])),
        "no Node has topology.kubernetes.io/region in (eu-1a), and no NodePool names it"
    )]
    fn what_karpenter_can_create_could_not_be_evaluated(#[case] spec: Value, #[case] expected: &str) {
        let Fit::Unknown(found) = blue().fit(&pod(spec)) else { panic!("evaluated") };
        assert_eq!(unevaluated(&found), expected);
    }

    #[rstest]
    #[case::an_architecture("kubernetes.io/arch", "s390x", "the NodePool has kubernetes.io/arch notin (arm64)")]
    #[case::an_operating_system("kubernetes.io/os", "plan9", "the NodePool has kubernetes.io/os in (linux,windows)")]
    #[case::a_capacity_type(
        "karpenter.sh/capacity-type",
        "free",
        "the NodePool has karpenter.sh/capacity-type in (on-demand,reserved,spot)"
    )]
    fn values_that_do_not_exist_are_never_given(#[case] key: &str, #[case] value: &str, #[case] has: &str) {
        let Fit::No(found) = blue().fit(&pod(selecting(key, value))) else { panic!("not excluded") };
        assert_eq!(exclusion(&found, "NodePool"), format!("{has}, the Pod needs {key}={value}"));
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
        let labels = blue().labels_for(pod(spec).own().unwrap());
        let expected = [("team", "blue"), ("topology.kubernetes.io/zone", "b"), ("karpenter.sh/capacity-type", "spot")];
        for (key, value) in expected {
            assert_eq!(labels.get(key).map(String::as_str), Some(value), "{labels:?}");
        }
        assert!(labels.contains_key("kubernetes.io/arch"), "{labels:?}");
        assert!(!labels.contains_key("example.com/spot") && !labels.contains_key("example.com/rack"), "{labels:?}");
    }

    #[rstest]
    #[case::a_plain_one(json!({}), None)]
    #[case::ready(json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } }), None)]
    #[case::being_deleted(
        json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }),
        Some(LeftOut::BeingDeleted)
    )]
    #[case::static_without_replicas(
        json!({ "spec": { "replicas": 0, "template": { "spec": {} } } }),
        Some(LeftOut::NoReplicas)
    )]
    #[case::static_with_replicas(json!({ "spec": { "replicas": 2, "template": { "spec": {} } } }), None)]
    #[case::not_ready(
        json!({ "status": { "conditions": [{ "type": "Ready", "status": "Unknown" }] } }),
        Some(LeftOut::NotReady)
    )]
    #[case::a_limit(
        json!({ "spec": { "limits": { "cpu": 0, "memory": "1Gi" }, "template": { "spec": {} } } }),
        Some(LeftOut::Limit("cpu".to_owned()))
    )]
    #[case::a_limit_of_what_few_request(
        json!({ "spec": { "limits": { "nvidia.com/gpu": 0, "hugepages-2Mi": 0 }, "template": { "spec": {} } } }),
        None
    )]
    fn some_node_pools_create_no_nodes(#[case] more: Value, #[case] left_out: Option<LeftOut>) {
        let mut object = json!({ "metadata": {}, "spec": { "template": { "spec": {} } } });
        for (key, value) in more.as_object().unwrap() {
            object[key] = value.clone();
        }
        assert_eq!(super::left_out(&serde_json::from_value(object).unwrap()), left_out);
    }

    #[test]
    fn an_operator_that_karpenter_does_not_have_is_an_error() {
        let requirements = json!([{ "key": "a", "operator": "Between", "values": ["1"] }]);
        let spec = json!({ "template": { "spec": { "requirements": requirements } } });
        let object = serde_json::from_value(json!({ "metadata": { "name": "odd" }, "spec": spec })).unwrap();
        let error = format!("{:#}", NodePool::read(&object).unwrap_err());
        assert!(error.starts_with("NodePool odd: spec.template.spec.requirements[0]: expected"), "{error}");
    }
}
