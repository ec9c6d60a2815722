//! Ways out of what a preview advises on: values, from which the text is worded. A test follows each of them.

use std::fmt;

use node_placement_policy::{
    placement::toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION},
    toleration::Toleration,
};
use serde_json::json;

use crate::cluster::Gap;

/// What a person does about a cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WayOut {
    /// The text says all.
    #[default]
    Said,
    /// Give a Namespace a label.
    LabelNamespace {
        /// Its name.
        namespace: String,
        /// The key of the label.
        label: String,
        /// Its value, if only one will do.
        value: Option<String>,
    },
    /// Fix an annotation of a Namespace, or remove it.
    FixAnnotation {
        /// Its name.
        namespace: String,
        /// The key of the annotation.
        annotation: String,
    },
    /// Use another RuntimeClass.
    UseAnotherClass,
    /// Give an entry an empty default.
    NoDefault {
        /// The entry, with its path.
        entry: String,
        /// Its position.
        position: usize,
    },
    /// Add an entry with an empty default for a namespace that has none.
    OwnEntryWithoutDefault {
        /// The namespace.
        namespace: String,
    },
    /// Add what settings require to the whitelist that does not allow it.
    Allow {
        /// What is required, or added.
        requested: String,
        /// The path of the whitelist.
        setting: String,
    },
    /// Remove something from the object, or from its template.
    Remove {
        /// What it requests.
        requested: String,
        /// The path of the whitelist that could allow it instead.
        whitelist: Option<String>,
    },
    /// Add something to the template of a DaemonSet, which the policy does not change.
    AddToTemplate {
        /// What is added: text for people.
        what: String,
        /// Tolerations among it.
        tolerations: Vec<Toleration>,
        /// The owner that writes the template.
        owner: Option<String>,
        /// Whether the policy could add it instead.
        or_inject: bool,
    },
    /// Give an entry default tolerations.
    Tolerate {
        /// The entry, with its path.
        entry: String,
        /// The whole list.
        tolerations: Vec<Toleration>,
        /// Whether the list begins with those of the cluster's default.
        repeats: bool,
    },
    /// Add tolerations to the annotation that replaces those of the entry.
    Annotate {
        /// The namespace.
        namespace: String,
        /// What is added.
        tolerations: Vec<Toleration>,
        /// The entry whose whitelist must allow them, too.
        entry: Option<String>,
        /// Whether its annotation with a whitelist must allow them, too.
        is_whitelisted: bool,
    },
    /// Enforce an entry that has the tolerations, and only warns.
    Enforce {
        /// The entry, with its path.
        entry: String,
    },
    /// Change what an entry forbids.
    Unforbid {
        /// The entry, with its path.
        entry: String,
        /// What it forbids.
        toleration: String,
    },
    /// Give a namespace of a shared entry an entry of its own.
    OwnEntry {
        /// The entry, with its path.
        entry: String,
        /// The namespace.
        namespace: String,
    },
    /// Add tolerations to the Pods: the plugin's configuration adds none.
    TolerateInPods,
    /// Change the selector: only nodes of the control plane match.
    AvoidControlPlane,
    /// Tolerate taints without an end.
    TolerateForGood,
    /// Label nodes, or correct the selector.
    LabelNodes {
        /// What their labels must meet.
        labels: String,
        /// The value that is meant, perhaps.
        similar: Option<String>,
    },
    /// Change a selector that excludes labels.
    ChangeSelector,
    /// Change one of several requirements that no node can meet together.
    ChangeOne,
    /// Provide what the cluster as given lacks.
    Provide(Gap),
    /// Name another node, or none.
    NameAnotherNode,
    /// Fix the node affinity.
    FixAffinity,
    /// Make room.
    MakeRoom(&'static str),
    /// Put an entry without rules above that of a namespace.
    ExemptDaemonSet {
        /// The namespace.
        namespace: String,
        /// The entry, with its path.
        entry: String,
    },
    /// Accept that a DaemonSet leaves nodes.
    AcceptLeaving,
    /// Give Pods back their tolerations, or accept what they lose.
    Recreate,
    /// Write the metadata that the nodes lack.
    LabelNodesWithMetadata,
}

impl WayOut {
    /// Returns what the text ends with, if there is something to say.
    pub fn sentence(&self) -> String {
        match self.to_string() {
            text if text.is_empty() => text,
            text => format!(". {text}"),
        }
    }
}

impl fmt::Display for WayOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said | Self::Provide(_) => Ok(()),
            Self::LabelNamespace { namespace, label, value } => {
                let value = value.as_deref().unwrap_or("VALUE");
                write!(f, "Label it: kubectl label namespace {namespace} {label}={value}")
            }
            Self::FixAnnotation { namespace, annotation } => {
                write!(f, "Fix the annotation, or remove it: kubectl annotate namespace {namespace} {annotation}-")
            }
            Self::UseAnotherClass => f.write_str("Use another RuntimeClass"),
            Self::NoDefault { entry, .. } => write!(f, "Give {entry} defaultNodeSelector: \"\""),
            Self::OwnEntryWithoutDefault { namespace } => {
                let entry = json!({ "name": namespace, "defaultNodeSelector": "" });
                write!(f, "Give the namespace an entry of its own in placement.namespaces: {entry}")
            }
            Self::Allow { requested, setting } => write!(f, "Let {setting} allow {requested}, too"),
            Self::Remove { requested, whitelist: None } => write!(f, "Remove {requested} from it"),
            Self::Remove { requested, whitelist: Some(path) } => {
                write!(f, "Remove {requested} from it, or let {path} allow it, too")
            }
            Self::AddToTemplate { what, owner: Some(owner), .. } => {
                write!(f, "Add {what} to the settings of {owner}, which writes its template")
            }
            Self::AddToTemplate { what, or_inject: true, .. } => {
                write!(f, "Add {what} to its template, or set placement.onDaemonSets to Inject")
            }
            Self::AddToTemplate { what, .. } => write!(f, "Add {what} to its template"),
            Self::LabelNodes { similar: Some(similar), .. } => {
                write!(f, "Did you mean {similar}? Correct the selector, or label nodes")
            }
            Self::LabelNodes { labels, similar: None } => {
                write!(f, "Correct the selector, or label nodes so that they have {labels}")
            }
            Self::ChangeOne => f.write_str("They contradict each other: change one of them"),
            Self::MakeRoom(text) => f.write_str(text),
            Self::ExemptDaemonSet { namespace, entry } => write!(
                f,
                "If it must run there, put an entry for {namespace} above {entry}, with a podSelector for its Pods, \
                 defaultNodeSelector: \"\" and no other rules: these may then use every node"
            ),
            Self::AcceptLeaving => f.write_str(
                "If it may leave them, pass --accept LeavesNodes; if it serves all nodes, move it to a namespace without a \
                 fence",
            ),
            Self::Recreate => f.write_str("Enforce the policy, then delete it or restart its workload"),
            Self::LabelNodesWithMetadata => f.write_str("Add what these nodes lack"),
            _ => self.fmt_other(f),
        }
    }
}

impl WayOut {
    fn fmt_other(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tolerate { entry, tolerations, repeats } => {
                let repeats = match repeats {
                    true => ", which repeats clusterDefaultTolerations, since an entry's own list replaces them",
                    false => "",
                };
                let list = as_json(tolerations);
                write!(f, "If these Pods may run there, give {entry} defaultTolerations: [{list}]{repeats}")
            }
            Self::Annotate { namespace, tolerations, entry, is_whitelisted } => {
                write!(
                    f,
                    "If these Pods may run there, add {} to the annotation {DEFAULTS_ANNOTATION} of Namespace {namespace}, \
                     which replaces defaultTolerations",
                    as_json(tolerations)
                )?;
                if let Some(entry) = entry {
                    write!(f, ", and to the allowedTolerations of {entry}")?;
                }
                if *is_whitelisted {
                    write!(f, ", and to its annotation {WHITELIST_ANNOTATION}")?;
                }
                Ok(())
            }
            Self::Enforce { entry } => {
                write!(f, "{entry} has this toleration, but only warns, and adds nothing: enforce it")
            }
            Self::Unforbid { entry, toleration } => write!(
                f,
                "The forbiddenTolerations of {entry} forbid to tolerate {toleration}: change these, or what the Pods \
                 request of nodes"
            ),
            Self::OwnEntry { entry, namespace } => write!(
                f,
                "In {entry}, defaultTolerations would let all its tenants tolerate that: if they may, add it there; else \
                 give Namespace {namespace} an entry of its own above it"
            ),
            Self::TolerateInPods => {
                f.write_str("podNodeSelectorPluginConfig adds no tolerations: add them to the Pods, or use placement")
            }
            Self::AvoidControlPlane => f.write_str(
                "Nodes of the control plane are not for workloads: change the selector, or label other nodes",
            ),
            Self::NameAnotherNode => f.write_str("Name another node, or none"),
            Self::FixAffinity => f.write_str("Fix its nodeAffinity"),
            Self::ChangeSelector => f.write_str("Change the selector"),
            Self::TolerateForGood => f.write_str("Tolerate it without tolerationSeconds"),
            _ => Ok(()),
        }
    }
}

/// Returns `{"key":"team","operator":"Equal","value":"blue","effect":"NoSchedule"}`, which is YAML as well.
fn as_json(tolerations: &[Toleration]) -> String {
    let texts: Vec<String> = tolerations.iter().filter_map(|it| serde_json::to_string(it).ok()).collect();
    texts.join(", ")
}
