use serde_json::Value;

use crate::{
    Deployment,
    settings_file::{NODE_METADATA, PLACEMENT, PLUGIN_CONFIGS},
};

const CREATE: &[&str] = &["CREATE"];
const UPDATE: &[&str] = &["UPDATE"];
const BOTH: &[&str] = &["CREATE", "UPDATE"];

const WORKLOADS: [(&str, &str); 7] = [
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
    ("", "replicationcontrollers"),
    ("", "podtemplates"),
];

/// What selects its Pods by their labels. Only a ReplicationController can change its selector.
const SELECTING: [(&str, &str, &[&str]); 7] = [
    ("apps", "deployments", CREATE),
    ("apps", "replicasets", CREATE),
    ("apps", "statefulsets", CREATE),
    ("apps", "daemonsets", CREATE),
    ("batch", "jobs", CREATE),
    ("batch", "cronjobs", CREATE),
    ("", "replicationcontrollers", BOTH),
];

/// What settings need of the policy that has them, and it lacks: a line for each.
#[derive(Debug, Default)]
pub struct Lacks {
    /// Without these, look-ups fail, and what depends on them is rejected.
    pub context_aware_resources: Vec<String>,
    /// Without these, something that the settings say never happens. There can be a reason for that.
    pub rules: Vec<String>,
}

/// Holds a deployment to what its settings need.
pub fn lacks(settings: &Value, deployment: &Deployment) -> Lacks {
    let needs = Needs::of(settings);
    Lacks {
        context_aware_resources: needs.missing_look_ups(deployment),
        rules: needs.sent.iter().filter_map(|sent| sent.missing_from(deployment)).collect(),
    }
}

/// What must reach the policy, or else `reason`.
struct Sent {
    group: &'static str,
    resource: &'static str,
    operations: &'static [&'static str],
    reason: &'static str,
    /// The kinds that are looked up for it.
    looks_up: LookUps,
}

type LookUps = &'static [&'static str];

const NOTHING: LookUps = &[];
const NAMESPACE: LookUps = &["Namespace"];
const NODE: LookUps = &["Node"];
const NAMESPACE_AND_NODE: LookUps = &["Namespace", "Node"];

#[derive(Default)]
struct Needs {
    sent: Vec<Sent>,
}

impl Sent {
    /// Which operations no rule sends, and what that means.
    fn missing_from(&self, deployment: &Deployment) -> Option<String> {
        let Self { group, resource, reason, .. } = self;
        let operations = self.operations.iter().copied();
        let missing: Vec<&str> = operations.filter(|operation| !deployment.sends(group, resource, operation)).collect();
        if missing.is_empty() {
            return None;
        }
        let (missing, group) = (missing.join(", "), if group.is_empty() { "\"\"" } else { group });
        Some(format!("spec.rules: no {missing} of {resource} (apiGroup {group}): {reason}"))
    }

    fn reaches(&self, deployment: &Deployment) -> bool {
        self.operations.iter().any(|operation| deployment.sends(self.group, self.resource, operation))
    }
}

impl Needs {
    fn of(settings: &Value) -> Self {
        let mut needs = Self::default();
        if let Some(placement) = settings.get(PLACEMENT).filter(|block| !block.is_null()) {
            needs.add_placement(placement);
        }
        for block in PLUGIN_CONFIGS.into_iter().filter(|block| settings.get(block).is_some_and(|it| !it.is_null())) {
            needs.send("", "pods", CREATE, "Pods are not placed", NAMESPACE);
            if block.contains("Toleration") {
                needs.send("", "pods", UPDATE, "tolerations that are added later are not checked", NAMESPACE);
            }
        }
        if let Some(metadata) = settings.get(NODE_METADATA).filter(|block| !block.is_null()) {
            needs.add_node_metadata(metadata);
        }
        needs
    }

    fn add_placement(&mut self, placement: &Value) {
        let chosen = |setting: &str, default: &'static str| -> String {
            placement.get(setting).and_then(Value::as_str).unwrap_or(default).to_owned()
        };
        let entries = || placement["namespaces"].as_array().into_iter().flatten();
        let has_no_annotations = placement["namespaceAnnotations"].as_array().is_some_and(Vec::is_empty);
        let reads_namespaces = !has_no_annotations
            || entries().any(|entry| entry.get("namespaceSelector").is_some())
            || chosen("onTolerationAnnotations", "Ignore") == "Honor";
        let (namespace, both) = if reads_namespaces { (NAMESPACE, NAMESPACE_AND_NODE) } else { (NOTHING, NODE) };
        let created = if chosen("onNodeName", "Verify") != "Ignore" { both } else { namespace };
        self.send("", "pods", CREATE, "Pods are not placed", created);
        self.send("", "pods", UPDATE, "what changes in a Pod that waits is not checked", namespace);
        if chosen("onWorkloads", "Reject") != "Ignore" {
            for (group, resource) in WORKLOADS {
                self.send(group, resource, BOTH, "their Pods are rejected, and nobody is told before", namespace);
            }
        }
        if chosen("onDaemonSets", "Inject") != "Ignore" {
            let reason = "its controller plans Pods for nodes where they may not run";
            self.send("apps", "daemonsets", BOTH, reason, namespace);
        }
        // Namespaces and Nodes are judged by what is in their requests.
        if chosen("onNamespaces", "Reject") != "Ignore" {
            self.send("", "namespaces", BOTH, "wrong annotations are found when Pods are created", NOTHING);
        }
        if chosen("onBindings", "Ignore") == "Verify" {
            self.send_bindings("Bindings are not held to the node selector", both);
        }
        let on_nodes = chosen("onNodes", "Ignore");
        if on_nodes != "Ignore" {
            let reason = "kubelets may label their Node as they like";
            self.send("", "nodes", if on_nodes == "Reject" { BOTH } else { UPDATE }, reason, NOTHING);
            self.send("", "nodes/status", UPDATE, reason, NOTHING);
        }
    }

    fn add_node_metadata(&mut self, metadata: &Value) {
        let protects = metadata["protect"] == true;
        let entries = || metadata["propagate"].as_array().into_iter().flatten();
        let fills_in = entries().any(|entry| entry.get("default").is_some() || entry["required"] == true);
        self.send_bindings("Pods that are bound so learn nothing of their node", NODE);
        let unsent = match entries().any(|entry| !entry["env"].is_null()) {
            true => "no container gets a variable, and Pods that name their node learn nothing of it",
            false => "Pods that name their node learn nothing of it",
        };
        self.send("", "pods", CREATE, unsent, NODE);
        if protects || fills_in {
            self.send("", "pods", UPDATE, "what is missing or changed is not mended", NODE);
        }
        if entries().any(|entry| !entry["podLabel"].is_null()) {
            for (group, resource, operations) in SELECTING {
                let reason = "one that selects its Pods by a podLabel makes Pods for ever";
                self.send(group, resource, operations, reason, NOTHING);
            }
        }
    }

    fn send_bindings(&mut self, reason: &'static str, looks_up: LookUps) {
        self.send("", "pods/binding", CREATE, reason, looks_up);
        self.send("", "bindings", CREATE, reason, looks_up);
    }

    fn send(
        &mut self,
        group: &'static str,
        resource: &'static str,
        operations: &'static [&'static str],
        reason: &'static str,
        looks_up: LookUps,
    ) {
        self.sent.push(Sent { group, resource, operations, reason, looks_up });
    }

    /// What the requests that the rules send make the policy look up, and it may not.
    fn missing_look_ups(&self, deployment: &Deployment) -> Vec<String> {
        let mut missing = vec![];
        for kind in ["Namespace", "Node"].into_iter().filter(|kind| !deployment.may_look_up(kind)) {
            let mut needing = self.sent.iter().filter(|sent| sent.looks_up.contains(&kind));
            let Some(Sent { resource, .. }) = needing.find(|sent| sent.reaches(deployment)) else { continue };
            missing.push(format!(
                "spec.contextAwareResources: lacks apiVersion v1, kind {kind}, which the settings need for {resource}"
            ));
        }
        missing
    }
}
