//! The block `nodeMetadata`.

use serde::Deserialize;

use super::field_path::FieldPath;
use super::key::{KeyPattern, TargetKind};
use super::setting::SettingsError;
use crate::json::{null_is_default, objects, words};

/// What Pods learn about their node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NodeMetadata"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NodeMetadata {
    /// What is copied, in order; of two entries that write the same key the later wins.
    #[serde(deserialize_with = "objects")]
    pub propagate: Vec<Propagate>,
    /// What happens when the Node can't be read.
    pub on_lookup_failure: OnLookupFailure,
    /// Whether the keys that are written belong to the policy alone.
    #[serde(deserialize_with = "null_is_default")]
    pub protect: bool,
}

/// An entry of `propagate`. It has exactly one of `nodeLabel`, `nodeAnnotation` and `nodeField`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Propagate"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Propagate {
    /// A label of the Node, or a prefix and `*`.
    pub node_label: Option<String>,
    /// An annotation of the Node, or a prefix and `*`.
    pub node_annotation: Option<String>,
    /// The path of a field of the Node.
    pub node_field: Option<String>,
    /// The annotation of the Pod that gets it.
    pub pod_annotation: Option<String>,
    /// The label of the Pod that gets it.
    pub pod_label: Option<String>,
    /// What is written where the Node lacks it.
    pub default: Option<String>,
    /// Whether the Pod is not bound to a Node that lacks it.
    #[serde(deserialize_with = "null_is_default")]
    pub required: bool,
    /// The environment variable that every container has it as.
    pub env: Option<String>,
}

/// The place of a value on a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSource {
    /// A label, or labels with a prefix.
    Label(KeyPattern),
    /// An annotation, or annotations with a prefix.
    Annotation(KeyPattern),
    /// A field.
    Field(FieldPath),
}

/// The place on a Pod that a value is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whether it becomes an annotation or a label.
    pub kind: TargetKind,
    /// The key, or the prefix of the keys.
    pub key: KeyPattern,
}

impl Propagate {
    /// Reads the source of the entry, which is at `position`.
    ///
    /// # Errors
    /// There is no source, there are several, or the path of the field can't be read.
    pub fn source(&self, position: usize) -> Result<NodeSource, SettingsError> {
        match (&self.node_label, &self.node_annotation, &self.node_field) {
            (Some(key), None, None) => Ok(NodeSource::Label(KeyPattern::new(key))),
            (None, Some(key), None) => Ok(NodeSource::Annotation(KeyPattern::new(key))),
            (None, None, Some(path)) => match FieldPath::parse(path) {
                Ok(path) => Ok(NodeSource::Field(path)),
                Err(problem) => Err(SettingsError::new(&format_args!("{}.nodeField", place(position)), problem)),
            },
            (label, annotation, field) => {
                let all = [("nodeLabel", label), ("nodeAnnotation", annotation), ("nodeField", field)];
                let present: Vec<&str> = all.iter().filter(|(_, text)| text.is_some()).map(|(name, _)| *name).collect();
                let found = if present.is_empty() { "none".to_owned() } else { present.join(" and ") };
                let problem = format!("expected exactly one of nodeLabel, nodeAnnotation and nodeField, found {found}");
                Err(SettingsError::new(&place(position), problem))
            }
        }
    }

    /// Returns the targets of the entry, at least one. If it names none, the target is the annotation with the key of
    /// its `source`.
    ///
    /// # Errors
    /// It names no target, and the source is a field, which has no key.
    pub fn targets(&self, source: &NodeSource, position: usize) -> Result<Vec<Target>, SettingsError> {
        let mut targets = Vec::with_capacity(2);
        for (kind, key) in [(TargetKind::Annotation, &self.pod_annotation), (TargetKind::Label, &self.pod_label)] {
            targets.extend(key.as_ref().map(|key| Target { kind, key: KeyPattern::new(key) }));
        }
        if !targets.is_empty() {
            return Ok(targets);
        }
        match source {
            NodeSource::Label(key) | NodeSource::Annotation(key) => {
                Ok(vec![Target { kind: TargetKind::Annotation, key: key.clone() }])
            }
            NodeSource::Field(_) => {
                let problem = "a nodeField needs a podAnnotation or a podLabel to be written to";
                Err(SettingsError::new(&place(position), problem))
            }
        }
    }
}

impl NodeSource {
    pub(super) const fn is_prefix(&self) -> bool {
        match self {
            Self::Label(key) | Self::Annotation(key) => key.is_prefix(),
            Self::Field(_) => false,
        }
    }
}

/// Returns the path of an entry of `propagate`.
pub(crate) fn place(position: usize) -> String {
    format!("nodeMetadata.propagate[{position}]")
}

words! {
    /// What happens when the Node that metadata comes from can't be read.
    OnLookupFailure {
        /// Rejected; the scheduler tries again.
        #[default]
        Reject,
        /// Accepted with a warning; only defaults are written.
        Ignore,
    }
}
