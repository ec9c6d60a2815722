//! What each feature needs of the policy that has it: the one table, by which `policy` writes, `check` checks, and the
//! table in `docs/operating.md` is made.

use serde::Serialize;
use serde_json::Value;

use crate::{
    SettingsFile,
    input::settings::{has, is, read, read_namespaces},
    requests::resource::group_of,
};

/// A row of the table.
#[derive(Debug)]
pub struct Feature {
    /// One of these in effect is enough.
    pub settings: &'static [Setting],
    /// Without these, something that the settings say never happens.
    pub rules: &'static [Rule],
    /// The kinds that are looked up for it. Without them, look-ups fail, and what depends on them is rejected.
    pub looks_up: &'static [Kind],
    /// The updates that conditions must let pass.
    pub updates: &'static [Update],
    /// With `failurePolicy: Ignore` it can be bypassed at will, while all is well.
    pub needs_fail: bool,
    /// What it means where no rule sends what it is about.
    pub otherwise: &'static str,
}

/// When a setting is in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Present(&'static str),
    Is(&'static str, &'static str),
    Unless(&'static str, &'static str),
}

/// What must reach the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub resources: &'static [&'static str],
    pub operations: &'static [&'static str],
    /// The operation on the first resource without which the setting does nothing at all.
    pub essential: Option<&'static str>,
}

/// A request as rules tell it: API group, resource, operation.
pub type Request = (&'static str, &'static str, &'static str);

/// A kind that is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Kind {
    pub name: &'static str,
    pub api_version: &'static str,
}

const NAMESPACE: Kind = Kind { name: "Namespace", api_version: "v1" };
const NODE: Kind = Kind { name: "Node", api_version: "v1" };
const RUNTIME_CLASS: Kind = Kind { name: "RuntimeClass", api_version: "node.k8s.io/v1" };

/// All that a feature can look up.
pub const KINDS: [Kind; 3] = [NAMESPACE, NODE, RUNTIME_CLASS];

/// An update that something depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Update {
    /// Of a Pod that is not bound.
    Unbound,
    /// Of a bound Pod, that adds a toleration.
    Tolerations,
    /// Of a bound Pod, whatever changes.
    Bound,
    /// Of a Pod that is bound and being deleted, that changes its managed labels or annotations.
    ManagedKeys,
    /// Of a workload, that changes its Pod template.
    Template,
    /// Of a workload, that changes its selector. Only that of a ReplicationController can change.
    Selector,
    /// Of a Namespace, that changes its labels or annotations.
    LabelsOrAnnotations,
}

use Setting::{Is, Present, Unless};

const CREATE: &[&str] = &["CREATE"];
const UPDATE: &[&str] = &["UPDATE"];
const BOTH: &[&str] = &["CREATE", "UPDATE"];

const PODS: &[&str] = &["pods"];
const BINDINGS: &[&str] = &["pods/binding", "bindings"];
const SELECTING: &[&str] =
    &["deployments", "replicasets", "statefulsets", "daemonsets", "replicationcontrollers", "jobs", "cronjobs"];
const WORKLOADS: &[&str] =
    &["deployments", "replicasets", "statefulsets", "replicationcontrollers", "podtemplates", "jobs", "cronjobs"];

const fn rule(resources: &'static [&'static str], operations: &'static [&'static str]) -> Rule {
    Rule { resources, operations, essential: None }
}

const fn essential(
    operation: &'static str,
    resources: &'static [&'static str],
    operations: &'static [&'static str],
) -> Rule {
    Rule { resources, operations, essential: Some(operation) }
}

/// What there is to be needed.
pub const FEATURES: &[Feature] = &[
    Feature {
        settings: &[Present("placement")],
        rules: &[essential("CREATE", PODS, BOTH)],
        looks_up: &[NAMESPACE],
        updates: &[Update::Unbound],
        needs_fail: true,
        otherwise: "Pods are not placed, or not checked when they change",
    },
    Feature {
        settings: &[Unless("placement.onWorkloads", "Ignore")],
        rules: &[rule(WORKLOADS, BOTH)],
        looks_up: &[NAMESPACE],
        updates: &[Update::Template],
        needs_fail: true,
        otherwise: "the Pods are rejected, and the workload's author does not see why",
    },
    Feature {
        settings: &[Unless("placement.onDaemonSets", "Ignore")],
        rules: &[rule(&["daemonsets"], BOTH)],
        looks_up: &[NAMESPACE],
        updates: &[Update::Template],
        needs_fail: true,
        otherwise: "the DaemonSet controller creates Pods for nodes where they cannot run",
    },
    Feature {
        settings: &[Unless("placement.onNamespaces", "Ignore")],
        rules: &[rule(&["namespaces"], BOTH)],
        looks_up: &[],
        updates: &[Update::LabelsOrAnnotations],
        needs_fail: true,
        otherwise: "wrong annotations are found when Pods are created",
    },
    Feature {
        settings: &[Unless("placement.onNodeName", "Ignore")],
        rules: &[rule(PODS, CREATE)],
        looks_up: &[NAMESPACE, NODE],
        updates: &[],
        needs_fail: true,
        otherwise: "Pods that name their node are not checked",
    },
    Feature {
        settings: &[Is("placement.onBindings", "Verify")],
        rules: &[essential("CREATE", BINDINGS, CREATE)],
        looks_up: &[NAMESPACE, NODE],
        updates: &[],
        needs_fail: true,
        otherwise: "Bindings are not held to the node selector",
    },
    Feature {
        settings: &[
            Present("placement.clusterDefaultTolerations"),
            Present("placement.namespaces[].defaultTolerations"),
            Is("placement.onExtendedResources", "Tolerate"),
        ],
        rules: &[rule(PODS, CREATE), rule(&["daemonsets"], BOTH)],
        looks_up: &[NAMESPACE],
        updates: &[Update::Template],
        needs_fail: true,
        otherwise: "tolerations are not added",
    },
    Feature {
        settings: &[
            Present("placement.namespaces[].allowedTolerations"),
            Present("placement.namespaces[].forbiddenTolerations"),
            Is("placement.onTolerationAnnotations", "Honor"),
        ],
        rules: &[rule(PODS, BOTH)],
        looks_up: &[NAMESPACE],
        updates: &[Update::Unbound, Update::Tolerations],
        needs_fail: true,
        otherwise: "tolerations are not checked",
    },
    Feature {
        settings: &[Is("placement.onRuntimeClasses", "Resolve")],
        rules: &[rule(PODS, BOTH), rule(WORKLOADS, BOTH), rule(&["daemonsets"], BOTH)],
        looks_up: &[NAMESPACE, RUNTIME_CLASS],
        updates: &[Update::Unbound, Update::Template],
        needs_fail: true,
        otherwise: "RuntimeClasses are not considered",
    },
    Feature {
        settings: &[Is("placement.onNodes", "RejectChanges")],
        rules: &[essential("UPDATE", &["nodes", "nodes/status"], UPDATE)],
        looks_up: &[],
        updates: &[],
        needs_fail: true,
        otherwise: "kubelets may change the labels of their Node",
    },
    Feature {
        settings: &[Is("placement.onNodes", "Reject")],
        rules: &[essential("UPDATE", &["nodes"], BOTH), rule(&["nodes/status"], UPDATE)],
        looks_up: &[],
        updates: &[],
        needs_fail: true,
        otherwise: "kubelets may label their Node as they like",
    },
    Feature {
        settings: &[Present("podNodeSelectorPluginConfig")],
        rules: &[essential("CREATE", PODS, CREATE)],
        looks_up: &[NAMESPACE],
        updates: &[],
        needs_fail: true,
        otherwise: "Pods are not placed",
    },
    Feature {
        settings: &[Present("nodeMetadata")],
        rules: &[rule(PODS, BOTH), essential("CREATE", BINDINGS, CREATE)],
        looks_up: &[NODE],
        updates: &[Update::Unbound],
        needs_fail: false,
        otherwise: "Pods that are bound this way, or set nodeName, get no node metadata",
    },
    Feature {
        settings: &[Present("nodeMetadata.propagate[].default")],
        rules: &[rule(PODS, UPDATE)],
        looks_up: &[NODE],
        updates: &[Update::Bound],
        needs_fail: false,
        otherwise: "what a Pod lacks is not filled in",
    },
    Feature {
        settings: &[Is("nodeMetadata.propagate[].required", "true")],
        rules: &[rule(PODS, UPDATE)],
        looks_up: &[NODE],
        updates: &[Update::Bound],
        needs_fail: true,
        otherwise: "what a Pod lacks is not filled in",
    },
    Feature {
        settings: &[Present("nodeMetadata.propagate[].env")],
        rules: &[essential("CREATE", PODS, CREATE)],
        looks_up: &[],
        updates: &[],
        needs_fail: false,
        otherwise: "no container gets a variable",
    },
    Feature {
        settings: &[Present("nodeMetadata.propagate[].podLabel")],
        rules: &[rule(SELECTING, CREATE), rule(&["replicationcontrollers"], UPDATE)],
        looks_up: &[],
        updates: &[Update::Selector],
        needs_fail: false,
        otherwise: "a workload may select its Pods by a label that its Bindings change",
    },
    Feature {
        settings: &[Is("nodeMetadata.protect", "true")],
        rules: &[rule(PODS, BOTH)],
        looks_up: &[NODE],
        updates: &[Update::Unbound, Update::Bound, Update::ManagedKeys],
        needs_fail: true,
        otherwise: "managed keys can be set by anybody",
    },
];

impl Setting {
    /// Whether the settings have it.
    pub fn holds(self, settings: &Value) -> bool {
        match self {
            Present(path) => has(settings, path),
            Is(path, choice) => is(settings, path, choice),
            Unless(path, choice) => {
                let block = path.split_once('.').map_or(path, |(block, _)| block);
                has(settings, block) && !is(settings, path, choice)
            }
        }
    }

    /// The path of the setting.
    pub const fn path(self) -> &'static str {
        match self {
            Present(path) | Is(path, _) | Unless(path, _) => path,
        }
    }
}

impl Feature {
    /// Those that the settings have.
    pub fn of(settings: &Value) -> impl Iterator<Item = &'static Self> {
        FEATURES.iter().filter(|feature| feature.is_in(settings))
    }

    /// Those that the policy in a file sees to: one whose rules are about Nodes alone guards these, beside one that
    /// places.
    pub fn due(file: &SettingsFile) -> impl Iterator<Item = &'static Self> {
        let guards_nodes = file.is_about_nodes();
        Self::of(&file.settings).filter(move |feature| !guards_nodes || feature.is_about_nodes())
    }

    /// Whether settings have it.
    pub fn is_in(&self, settings: &Value) -> bool {
        self.settings.iter().any(|setting| setting.holds(settings))
    }

    /// Without which it does nothing at all.
    pub fn essential(&self) -> Option<Request> {
        self.rules.iter().find_map(|rule| {
            let resource = rule.resources.first()?;
            Some((group_of(resource), *resource, rule.essential?))
        })
    }

    /// The setting that switches it on, as a path.
    pub fn named(&self, settings: &Value) -> &'static str {
        self.settings.iter().find(|setting| setting.holds(settings)).map_or("", |setting| setting.path())
    }

    /// Each resource with each operation.
    pub fn requests(&self) -> impl Iterator<Item = Request> {
        self.rules.iter().flat_map(|rule| {
            let operations =
                |resource| rule.operations.iter().map(move |operation| (group_of(resource), resource, *operation));
            rule.resources.iter().flat_map(move |resource| operations(*resource))
        })
    }

    /// The kinds that it looks up with these settings.
    pub fn look_ups(&self, settings: &Value) -> impl Iterator<Item = Kind> {
        let places_without_namespaces = read(settings).placement.is_some_and(|placement| !read_namespaces(&placement));
        self.looks_up.iter().copied().filter(move |kind| *kind != NAMESPACE || !places_without_namespaces)
    }

    /// The resources for which rules send updates.
    pub fn updated(&self) -> impl Iterator<Item = &'static str> {
        self.requests().filter(|(.., operation)| *operation == "UPDATE").map(|(_, resource, _)| resource)
    }

    /// Whether it is about Nodes, and not about Pods.
    pub fn is_about_nodes(&self) -> bool {
        self.requests().all(|(_, resource, _)| resource.starts_with("nodes"))
    }
}
