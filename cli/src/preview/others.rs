//! What something else adds to the Pods of a workload: an admission plugin of a cloud, or another webhook. Its newest Pod
//! tells, compared with its template; and what was added once will be added again.

use k8s_openapi::{
    api::core::v1::{PodSpec, Toleration},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use node_placement_policy::{
    placement::{mode::Mode, toleration_rules::TolerationRules},
    selector::Requirement,
    toleration as tolerations,
};
use serde_json::json;

use super::rulebook::Rulebook;
use crate::{
    cluster::{Cluster, Pod, Workload, controllers::Controller},
    input::json::part,
    lists::listed,
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
}

impl Added {
    fn by(rulebook: &Rulebook<'_>, namespace: &str) -> Self {
        let placement = rulebook.rules(namespace).placement();
        let rules = placement.and_then(|matched| TolerationRules::new(matched, Mode::Create).ok());
        let lists = rules.iter().filter_map(|rules| rules.defaults.as_ref());
        Self {
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
    let mut others = Others::default();
    let own = [&template.node_selector, &class.node_selector];
    for (key, value) in newest.spec.node_selector.iter().flatten() {
        let is_own = own.iter().any(|own| own.as_ref().is_some_and(|own| own.get(key) == Some(value)));
        let is_added = now.requirements.iter().any(|own| own.key() == key && own.only_value() == Some(value));
        if !is_own && !is_added && !old.has_key(key) {
            others.node_selector.insert(key.clone(), value.clone());
        }
    }
    if was_written_later(newest) {
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

/// Returns whether managed fields say that somebody wrote tolerations after the creation of a Pod.
fn was_written_later(pod: &Pod) -> bool {
    let metadata: ObjectMeta = part(&pod.json.parse()["metadata"], "metadata.").unwrap_or_default();
    let created = metadata.creation_timestamp.as_ref();
    let mut entries = metadata.managed_fields.iter().flatten();
    entries.any(|entry| {
        let writes = entry.fields_v1.as_ref().is_some_and(|fields| fields.0["f:spec"].get("f:tolerations").is_some());
        writes && entry.time.is_some() && entry.time.as_ref() != created
    })
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
    let pairs = others.node_selector.iter().map(|(key, value)| format!("the node selector {key}={value}"));
    let tolerations = others.tolerations.iter().filter_map(|it| part(it, "").ok());
    let tolerations = tolerations.map(|it: Toleration| format!("the toleration {}", tolerations::Toleration::from(it)));
    let all: Vec<String> = pairs.chain(tolerations).collect();
    (!all.is_empty()).then(|| format!("something else adds {} to its Pods{earlier}", listed(&all)))
}
