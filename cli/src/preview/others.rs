//! What something else adds to the Pods of a workload: an admission plugin of a cloud, or another webhook. Its newest Pod
//! tells, compared with its template; and what was added once will be added again.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::core::v1::{Container, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Toleration},
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use node_placement_policy::{
    placement::{mode::Mode, toleration_rules::TolerationRules},
    resource::Resource,
    selector::{Requirement, parse, text},
    settings::key::TargetKind,
    toleration as tolerations,
};
use serde_json::{Value, json};

use super::rulebook::Rulebook;
use crate::{
    cluster::{
        Cluster, Pod, Workload,
        controllers::{Controller, is_by_controller},
    },
    input::{json::part, settings::entries},
    lists::listed,
    places::term::{Term, requirement},
    verdict::Others,
};

/// The keys of tolerations that the API server adds to Pods.
const OF_THE_API_SERVER: [&str; 3] =
    ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/memory-pressure"];

/// What settings add to the Pods of a namespace.
#[derive(Default)]
struct Added {
    /// What they require of labels of nodes.
    requirements: Vec<Requirement>,
    tolerations: Vec<tolerations::Toleration>,
    /// Whether every extended resource is tolerated that a Pod requests.
    extended_resources: bool,
    /// The labels of Pods by which entries select.
    selected_labels: BTreeSet<String>,
}

impl Added {
    fn by(rulebook: &Rulebook<'_>, namespace: &str) -> Self {
        let placement = rulebook.rules(namespace).placement();
        let rules = placement.and_then(|matched| TolerationRules::new(matched, Mode::Create).ok());
        let lists = rules.iter().filter_map(|rules| rules.defaults.as_ref());
        let entries = rulebook.files.iter().flat_map(|file| entries(&file.typed));
        let selectors = entries.filter_map(|entry| parse(entry.pod_selector.as_deref()?).ok());
        let keys = selectors.flat_map(|selector| selector.into_requirements());
        let keys = keys.map(|one| one.key().to_owned());
        let managed = &rulebook.deployment.managed;
        Self {
            selected_labels: keys.filter(|key| !managed.has(TargetKind::Label, key)).collect(),
            requirements: rulebook.required(namespace),
            tolerations: lists.flat_map(|list| list.tolerations.iter().cloned()).collect(),
            extended_resources: rules.as_ref().is_some_and(|rules| rules.tolerate_extended_resources),
        }
    }

    fn has_key(&self, key: &str) -> bool {
        let mut keys = self.requirements.iter().map(Requirement::key);
        keys.any(|own| own == key) || self.tolerations.iter().any(|own| own.key == key)
    }
}

/// Returns what something else adds to the Pods of a workload, and the same in words; `old` are the settings that hold now.
/// What the settings that are previewed add as well makes no difference.
pub fn added_by_others(
    workload: &Workload,
    now: &Rulebook<'_>,
    old: Option<&Rulebook<'_>>,
    cluster: &Cluster,
) -> (Others, Option<String>) {
    let namespace = workload.namespace();
    let (now, old) = (Added::by(now, namespace), old.map(|old| Added::by(old, namespace)).unwrap_or_default());
    let others = found(workload, &now, &old, cluster);
    let words = in_words(&others, &now);
    (others, words)
}

fn found(workload: &Workload, now: &Added, old: &Added, cluster: &Cluster) -> Others {
    // Without all of its revisions, it is not known from which template its Pods were created.
    let is_known = workload.revisions.iter().all(|revision| revision.template.is_ok());
    let pods = workload.pods.iter().filter(|pod| !pod.is_manifest && pod.finished.is_none());
    let Some(newest) = pods.max_by_key(|pod| pod.created).filter(|_| is_known) else { return Others::default() };
    let template = &workload.template.spec;
    let class = template.runtime_class_name.as_ref().and_then(|name| cluster.classes.get(name));
    let class = class.and_then(|class| class.scheduling.clone()).unwrap_or_default();
    let (later, mut others) = (Later::of(newest), Others::default());
    let own = [&template.node_selector, &class.node_selector];
    for (key, value) in newest.spec.node_selector.iter().flatten() {
        let is_own = own.iter().any(|own| own.as_ref().is_some_and(|own| own.get(key) == Some(value)));
        let is_added = now.requirements.iter().any(|own| own.key() == key && own.only_value() == Some(value));
        let is_later = later.wrote(&["f:spec", "f:nodeSelector", &format!("f:{key}")]);
        if !is_own && !is_added && !is_later && !old.has_key(key) {
            others.node_selector.insert(key.clone(), value.clone());
        }
    }
    if !later.wrote(&["f:spec", "f:affinity"]) {
        others.terms = terms_of_others(workload, &newest.spec, now, old);
    }
    others.node_name =
        newest.node.as_ref().filter(|_| newest.names_node && template.node_name.is_none()).map(ToString::to_string);
    others.resources = extended_resources(&newest.spec);
    let own = extended_resources(template);
    others.resources.retain(|it| !own.contains(it));
    for key in now.selected_labels.union(&old.selected_labels) {
        let is_own = workload.template.labels.get(key) == newest.labels.get(key) || is_by_controller(key);
        if let Some(value) = newest.labels.get(key).filter(|_| !is_own)
            && !later.wrote(&["f:metadata", "f:labels", &format!("f:{key}")])
        {
            others.labels.insert(key.clone(), value.clone());
        }
    }
    if later.wrote(&["f:spec", "f:tolerations"]) {
        return others;
    }
    let controller = Controller::of_kind(workload.resource.kind());
    let mut known: Vec<Toleration> =
        [&template.tolerations, &class.tolerations].into_iter().flatten().flatten().cloned().collect();
    for own in controller.iter().flat_map(|it| it.tolerations.iter().chain(&it.tolerations_on_host_network)) {
        known.extend(part(own, "").ok());
    }
    for toleration in newest.spec.tolerations.iter().flatten() {
        if !known.contains(toleration) && !is_explained(toleration, &newest.spec, now, old) {
            others.tolerations.push(json!(toleration));
        }
    }
    others
}

fn terms(spec: &PodSpec) -> &[NodeSelectorTerm] {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref());
    required.map(|required: &NodeSelector| required.node_selector_terms.as_slice()).unwrap_or_default()
}

/// Returns the terms of a Pod's required node affinity without what the controller and the settings add; none, if these are
/// those of the template.
fn terms_of_others(workload: &Workload, spec: &PodSpec, now: &Added, old: &Added) -> Vec<NodeSelectorTerm> {
    let own = terms(&workload.template.spec);
    let is_own = |expression: &NodeSelectorRequirement| {
        own.iter().any(|term| term.match_expressions.iter().flatten().any(|own| own == expression))
    };
    let is_added = |expression: &NodeSelectorRequirement| {
        let read = requirement(expression);
        old.has_key(&expression.key)
            || read.is_some_and(|read| now.requirements.iter().any(|required| required.same_as(&read)))
    };
    let mut others = vec![];
    for term in terms(spec) {
        let expressions = term.match_expressions.iter().flatten();
        let expressions: Vec<_> = expressions.filter(|it| is_own(it) || !is_added(it)).cloned().collect();
        let is_daemon_set = workload.resource == Resource::DaemonSet;
        let fields = term.match_fields.clone().filter(|fields| !is_daemon_set && !fields.is_empty());
        if expressions.is_empty() && fields.is_none() {
            return vec![];
        }
        let expressions = Some(expressions).filter(|all| !all.is_empty());
        others.push(NodeSelectorTerm { match_expressions: expressions, match_fields: fields });
    }
    let is_same = |(one, other): (&NodeSelectorTerm, &NodeSelectorTerm)| {
        one.match_expressions.iter().flatten().eq(other.match_expressions.iter().flatten())
            && one.match_fields.iter().flatten().eq(other.match_fields.iter().flatten())
    };
    if others.len() == own.len() && others.iter().zip(own).all(is_same) { vec![] } else { others }
}

/// Returns the extended resources that the containers of a Pod request: the container, the resource and the quantity.
fn extended_resources(spec: &PodSpec) -> Vec<(String, String, String)> {
    let mut found = vec![];
    for Container { name, resources, .. } in spec.containers.iter().chain(spec.init_containers.iter().flatten()) {
        let lists = resources.iter().flat_map(|own| own.limits.iter().chain(&own.requests));
        let all: BTreeMap<&String, &Quantity> = lists.flatten().collect();
        let extended = all.into_iter().filter(|(key, _)| key.contains('/') && !key.contains("kubernetes.io/"));
        found.extend(extended.map(|(key, quantity)| (name.clone(), key.clone(), quantity.0.clone())));
    }
    found
}

fn is_explained(toleration: &Toleration, spec: &PodSpec, now: &Added, old: &Added) -> bool {
    let key = toleration.key.as_deref().unwrap_or_default();
    let requests = |key: &str| {
        let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
        let mut resources = containers.filter_map(|container| container.resources.as_ref());
        resources.any(|own| [&own.limits, &own.requests].into_iter().flatten().any(|list| list.contains_key(key)))
    };
    OF_THE_API_SERVER.contains(&key)
        || old.has_key(key)
        || (old.extended_resources || now.extended_resources) && requests(key)
        || now.tolerations.contains(&toleration.clone().into())
}

/// What managed fields say was written after the creation of a Pod.
struct Later(Vec<Value>);

impl Later {
    fn of(pod: &Pod) -> Self {
        let metadata: ObjectMeta = part(&pod.json.parse()["metadata"], "metadata.").unwrap_or_default();
        let created = metadata.creation_timestamp;
        let entries = metadata.managed_fields.into_iter().flatten();
        let later = entries.filter(|entry| entry.time.is_some() && entry.time != created);
        Self(later.filter_map(|entry| Some(entry.fields_v1?.0)).collect())
    }

    fn wrote(&self, path: &[&str]) -> bool {
        self.0.iter().any(|fields| path.iter().try_fold(fields, |found, step| found.get(step)).is_some())
    }
}

/// Words what something else adds: `something else adds the toleration nvidia.com/gpu:NoSchedule`; nothing, if it adds
/// nothing. What the settings that are previewed name may be of earlier ones.
fn in_words(others: &Others, now: &Added) -> Option<String> {
    let own = others.node_selector.keys().map(String::as_str);
    let mut own = own.chain(others.tolerations.iter().filter_map(|toleration| toleration["key"].as_str()));
    let earlier = match own.any(|key| now.has_key(key)) {
        true => "; if earlier settings of this policy added it, pass them with --old",
        false => "",
    };
    let mut all: Vec<String> = vec![];
    all.extend(others.labels.iter().map(|(key, value)| format!("the label {key}={value}")));
    all.extend(others.node_selector.iter().map(|(key, value)| format!("the node selector {key}={value}")));
    let terms = Term::all(&NodeSelector { node_selector_terms: others.terms.clone() });
    let terms: Vec<String> = terms.iter().map(|term| text(&term.labels)).collect();
    all.extend((!others.terms.is_empty()).then(|| format!("the node affinity {}", terms.join(" or "))));
    let tolerations = others.tolerations.iter().filter_map(|it| part(it, "").ok());
    all.extend(tolerations.map(|it: Toleration| format!("the toleration {}", tolerations::Toleration::from(it))));
    all.extend(others.node_name.iter().map(|node| format!("the node name {node}")));
    all.extend(others.resources.iter().map(|(_, resource, quantity)| format!("{quantity} {resource}")));
    (!all.is_empty()).then(|| format!("something else adds {} to its Pods{earlier}", listed(&all)))
}
