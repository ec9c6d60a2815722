use serde_json::Value;

use crate::{Deployment, settings_file::NODE_METADATA};

/// The blocks of the settings, by their names.
const PLACEMENT: &str = "placement";
const PLUGIN_CONFIGS: [&str; 2] = ["podNodeSelectorPluginConfig", "podTolerationRestrictionPluginConfig"];

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
    let kinds = [("Namespace", needs.namespaces), ("Node", needs.nodes)];
    let missing = kinds.into_iter().filter(|(kind, needed)| *needed && !deployment.may_look_up(kind));
    let mut lacks = Lacks {
        context_aware_resources: missing
            .map(|(kind, _)| {
                format!("spec.contextAwareResources: lacks apiVersion v1, kind {kind}, which the settings need")
            })
            .collect(),
        rules: vec![],
    };
    for Sent { group, resource, operations, reason } in needs.sent {
        let missing = operations.iter().copied().filter(|operation| !deployment.sends(group, resource, operation));
        let missing: Vec<&str> = missing.collect();
        if !missing.is_empty() {
            let (missing, group) = (missing.join(", "), if group.is_empty() { "\"\"" } else { group });
            lacks.rules.push(format!("spec.rules: no {missing} of {resource} (apiGroup {group}): {reason}"));
        }
    }
    lacks
}

/// What must reach the policy, or else `reason`.
struct Sent {
    group: &'static str,
    resource: &'static str,
    operations: &'static [&'static str],
    reason: &'static str,
}

#[derive(Default)]
struct Needs {
    namespaces: bool,
    nodes: bool,
    sent: Vec<Sent>,
}

impl Needs {
    fn of(settings: &Value) -> Self {
        let mut needs = Self::default();
        if let Some(placement) = settings.get(PLACEMENT).filter(|block| !block.is_null()) {
            needs.add_placement(placement);
        }
        for block in PLUGIN_CONFIGS.into_iter().filter(|block| settings.get(block).is_some_and(|it| !it.is_null())) {
            needs.namespaces = true;
            needs.send("", "pods", &["CREATE"], "Pods are not placed");
            if block.contains("Toleration") {
                needs.send("", "pods", &["UPDATE"], "tolerations that are added later are not checked");
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
        self.namespaces |= !has_no_annotations
            || entries().any(|entry| entry.get("namespaceSelector").is_some())
            || chosen("onTolerationAnnotations", "Ignore") == "Honor";
        self.nodes |= chosen("onNodeName", "Verify") == "Verify" || chosen("onBindings", "Ignore") == "Verify";
        self.send("", "pods", &["CREATE"], "Pods are not placed");
        self.send("", "pods", &["UPDATE"], "what changes in a Pod that waits is not checked");
        if chosen("onWorkloads", "Reject") != "Ignore" {
            for (group, resource) in WORKLOADS {
                self.send(group, resource, BOTH, "their Pods are rejected, and nobody is told before");
            }
        }
        if chosen("onDaemonSets", "Inject") != "Ignore" {
            let reason = "its controller plans Pods for nodes where they may not run";
            self.send("apps", "daemonsets", BOTH, reason);
        }
        if chosen("onNamespaces", "Reject") != "Ignore" {
            self.send("", "namespaces", BOTH, "wrong annotations are found when Pods are created");
        }
        if chosen("onBindings", "Ignore") == "Verify" {
            self.send_bindings("Bindings are not held to the node selector");
        }
        let on_nodes = chosen("onNodes", "Ignore");
        if on_nodes != "Ignore" {
            let reason = "kubelets may label their Node as they like";
            self.send("", "nodes", if on_nodes == "Reject" { BOTH } else { &["UPDATE"] }, reason);
            self.send("", "nodes/status", &["UPDATE"], reason);
        }
    }

    fn add_node_metadata(&mut self, metadata: &Value) {
        let protects = metadata["protect"] == true;
        let entries = || metadata["propagate"].as_array().into_iter().flatten();
        let fills_in = entries().any(|entry| entry.get("default").is_some() || entry["required"] == true);
        self.nodes = true;
        self.send_bindings("Pods that are bound so learn nothing of their node");
        self.send("", "pods", &["CREATE"], "Pods that name their node learn nothing of it");
        if protects || fills_in {
            self.send("", "pods", &["UPDATE"], "what is missing or changed is not mended");
        }
    }

    fn send_bindings(&mut self, reason: &'static str) {
        self.send("", "pods/binding", &["CREATE"], reason);
        self.send("", "bindings", &["CREATE"], reason);
    }

    fn send(
        &mut self,
        group: &'static str,
        resource: &'static str,
        operations: &'static [&'static str],
        reason: &'static str,
    ) {
        self.sent.push(Sent { group, resource, operations, reason });
    }
}
