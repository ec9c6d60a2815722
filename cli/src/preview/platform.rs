//! What a cluster needs to run Pods, and a policy can stop: namespaces to exempt.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    advice::{AdviceList, Cause, CauseKind},
    outcome::Outcome,
    rulebook::Rulebook,
};
use crate::{
    cluster::{manifests::Manifests, pod_template::template},
    input::json::{list_of, text},
    lists::listed,
    webhook::{delivery::covers_namespace, settings_file::SettingsFile},
};

/// Something that a cluster needs before it can run other Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Karpenter,
    ClusterAutoscaler,
    Network,
    Storage,
    Certificates,
}

/// Parts of the names and images of those that are told by these.
const KNOWN: [(Role, &[&str]); 4] = [
    (Role::ClusterAutoscaler, &["cluster-autoscaler"]),
    (Role::Karpenter, &["karpenter"]),
    (Role::Storage, &["provisioner", "csi-controller"]),
    (Role::Certificates, &["cert-manager-webhook"]),
];

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Karpenter => "Karpenter",
            Self::ClusterAutoscaler => "Cluster Autoscaler",
            Self::Network => "the network",
            Self::Storage => "a storage provisioner",
            Self::Certificates => "the webhook of cert-manager",
        }
    }

    /// Returns what a workload is to the cluster, if it needs it.
    fn of(object: &Value) -> Option<Self> {
        let template = template(object)?;
        if object["kind"] == "DaemonSet" && is_network(&template["spec"]) {
            return Some(Self::Network);
        }
        let images = list_of(&template["spec"]["containers"]).iter().map(|container| text(&container["image"]));
        let mut names: Vec<&str> = images.map(repository).collect();
        names.push(text(&object["metadata"]["name"]));
        let is_one = |parts: &[&str]| parts.iter().any(|part| names.iter().any(|name| name.contains(part)));
        KNOWN.iter().find(|(_, parts)| is_one(parts)).map(|(role, _)| *role)
    }
}

/// Returns an image without its registry, tag and digest.
fn repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    let path = image.split_once('/').map_or(image, |(_, path)| path);
    path.rsplit_once(':').map_or(path, |(path, _)| path)
}

/// Returns whether Pods run before there is a network, on every node.
fn is_network(spec: &Value) -> bool {
    let tolerates_all = |it: &Value| it["operator"] == "Exists" && text(&it["key"]).is_empty();
    spec["hostNetwork"] == true
        && spec["priorityClassName"] == "system-node-critical"
        && list_of(&spec["tolerations"]).iter().any(|it| tolerates_all(it) && text(&it["effect"]).is_empty())
}

/// Adds the namespaces of what the cluster needs to run Pods, if a policy that stops requests while it is out of reach
/// covers them.
pub fn advise_on_exemptions(round: &Rulebook<'_>, cluster: &Manifests, to_do: &mut AdviceList) {
    let mut needed: BTreeMap<String, Role> = BTreeMap::new();
    for manifest in cluster.objects() {
        let kind = manifest.identity.kind.as_str();
        if !matches!(kind, "Deployment" | "DaemonSet" | "StatefulSet") {
            continue;
        }
        let (Some(namespace), Some(role)) = (&manifest.identity.namespace, Role::of(&manifest.parse())) else {
            continue;
        };
        needed.entry(namespace.clone()).or_insert(role);
    }
    needed.retain(|name, _| round.files.iter().any(|file| stops_requests_of(file, name, cluster.namespace(name))));
    if needed.is_empty() {
        return;
    }
    let names: Vec<&String> = needed.keys().collect();
    let line = json!({ "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": names });
    let each: Vec<String> = needed.iter().map(|(name, role)| format!("{name} ({})", role.name())).collect();
    let sentence = format!(
        "What the cluster needs to run Pods is covered with failurePolicy: Fail, and could not start while no policy-server \
         answers: {}. Exempt it: add {line} to spec.namespaceSelector.matchExpressions",
        listed(&each)
    );
    let cause = Cause::new(CauseKind::Exempt, Some("spec.namespaceSelector".to_owned()));
    let namespace = (names.len() == 1).then(|| names.first().map(ToString::to_string)).flatten();
    to_do.add_alone(Outcome::Changed, sentence, Cause { namespace, ..cause });
}

/// Returns whether requests in a namespace fail while nothing answers for this policy.
fn stops_requests_of(file: &SettingsFile, name: &str, namespace: Option<&Value>) -> bool {
    let fails = |policy: &crate::PolicySpec| policy.failure_policy.as_deref() != Some("Ignore");
    let covers = |policy: &crate::PolicySpec| covers_namespace(policy, name, namespace) != Some(false);
    file.places_pods() && file.policy.as_ref().is_some_and(|policy| fails(policy) && covers(policy))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn workload(kind: &str, name: &str, spec: Value) -> Value {
        let template = json!({ "spec": spec });
        json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name }, "spec": { "template": template } })
    }

    #[rstest]
    #[case::by_its_name("Deployment", "karpenter", json!({}), Some(Role::Karpenter))]
    #[case::by_its_image(
        "Deployment",
        "controller",
        json!({ "containers": [{ "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0" }] }),
        Some(Role::ClusterAutoscaler)
    )]
    #[case::not_by_its_registry(
        "Deployment",
        "web",
        json!({ "containers": [{ "image": "karpenter.example.com/team/web:karpenter" }] }),
        None
    )]
    #[case::a_network(
        "DaemonSet",
        "cilium",
        json!({
            "hostNetwork": true, "priorityClassName": "system-node-critical", "tolerations": [{ "operator": "Exists" }]
        }),
        Some(Role::Network)
    )]
    #[case::another_agent(
        "DaemonSet",
        "logs",
        json!({ "hostNetwork": true, "tolerations": [{ "operator": "Exists" }] }),
        None
    )]
    #[case::storage("Deployment", "local-path-provisioner", json!({}), Some(Role::Storage))]
    #[case::certificates("Deployment", "cert-manager-webhook", json!({}), Some(Role::Certificates))]
    #[case::a_controller("Deployment", "cert-manager", json!({}), None)]
    fn what_a_cluster_needs_is_known_by_name_image_or_shape(
        #[case] kind: &str,
        #[case] name: &str,
        #[case] spec: Value,
        #[case] role: Option<Role>,
    ) {
        assert_eq!(Role::of(&workload(kind, name, spec)), role);
    }
}
