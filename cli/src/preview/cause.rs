use serde::Serialize;

/// Something to do, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Advice {
    /// What people read.
    pub text: String,
    /// What programs read.
    pub cause: Cause,
}

/// The cause that a person must change. Fields that say nothing about it are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// What sort of cause it is.
    pub kind: CauseKind,
    /// The path of the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The namespace, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The key of the label, of nodes or of the namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The taint or toleration, as `key[=value][:Effect]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taint: Option<String>,
    /// What the policy demands, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demanded: Option<String>,
    /// What is asked for instead, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The names of the nodes that it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub nodes: Vec<String>,
}

/// The sorts of causes, in the order in which people should look at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum CauseKind {
    /// The cluster's objects lack something; or a condition can't be evaluated here.
    #[default]
    Lacks,
    /// A namespace lacks the label that an entry refers to or selects by.
    MissingLabel,
    /// An entry above takes a namespace that this one is for.
    EntryAbove,
    /// An annotation of the namespace is malformed, or contradicts what holds there.
    Annotation,
    /// No node has the label that is demanded.
    NoSuchLabel,
    /// The nodes that match have a taint that the Pod does not tolerate.
    Taint,
    /// An object asks for what the namespace's rules do not allow.
    Asks,
    /// A RuntimeClass adds what they do not allow.
    RuntimeClass,
    /// A Pod names its node.
    NodeName,
    /// A bound on sizes or counts is passed.
    Limit,
    /// It is about the metadata of nodes.
    Metadata,
    /// A DaemonSet would leave nodes.
    LeavesNodes,
    /// Nodes that only one tenant's selector names have no taint.
    NoTaint,
}
