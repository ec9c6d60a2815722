use std::{fmt, sync::Arc};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use crate::{
    Call, Cluster, GetResourceRequest, InstructionCounter, Policy, Scripted,
    cost::{
        KB,
        objects::{namespace, node},
    },
    payload,
};

/// A question to a policy, and the cluster to ask.
pub struct Case {
    pub family: Family,
    /// How much there is of what the family varies.
    pub size: usize,
    /// Whether the policy has to change the object.
    pub mutates: bool,
    operation: &'static str,
    payload: Vec<u8>,
    namespace: Arc<str>,
    node: Arc<str>,
}

/// Cases that differ in one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Injected,
    Unchanged,
    /// With injection, and with two variables for every container. The typed twin does not know how.
    Environment,
    Bindings,
    Nodes,
    Deployment,
    Namespace,
    /// What no job is about.
    Untouched,
    Settings,
    SettingsValidation,
    /// What somebody may write to make the policy slow. The typed twin is left out.
    Growth(&'static str),
}

impl Family {
    pub const fn is_growth(self) -> bool {
        matches!(self, Self::Growth(_))
    }

    /// Whether the typed twin takes part.
    pub const fn has_twin(self) -> bool {
        !matches!(self, Self::Growth(_) | Self::Environment)
    }
}

impl Case {
    pub fn validate(family: Family, size: usize, request: &Value, settings: &Value) -> Self {
        Self::of(family, size, "validate", payload(request, settings))
    }

    pub fn validate_settings(size: usize, settings: &Value) -> Self {
        let case = Self::of(Family::SettingsValidation, size, "validate_settings", settings.to_string().into_bytes());
        case.unchanged()
    }

    fn of(family: Family, size: usize, operation: &'static str, payload: Vec<u8>) -> Self {
        let (namespace, node) = (namespace().to_string().into(), node(2 * KB).to_string().into());
        Self { family, size, mutates: true, operation, payload, namespace, node }
    }

    /// Nothing is to be changed.
    pub fn unchanged(self) -> Self {
        Self { mutates: false, ..self }
    }

    /// With another Node to be looked up.
    pub fn on(self, node: &Value) -> Self {
        Self { node: node.to_string().into(), ..self }
    }

    /// One evaluation, in a fresh instance.
    pub fn evaluate(&self, policy: &Policy) -> Call {
        policy.call(self.operation, &self.payload, self.cluster())
    }

    /// One evaluation, in a fresh instance, and how many instructions it took.
    pub fn count(&self, counter: &InstructionCounter) -> (Call, u64) {
        counter.call(self.operation, &self.payload, self.cluster())
    }

    fn cluster(&self) -> impl Cluster + Send + Sync + use<> {
        let (node, namespace) = (self.node.clone(), self.namespace.clone());
        Scripted(move |lookup: &GetResourceRequest| match lookup.kind.as_str() {
            "Node" => Ok(node.to_string()),
            _ => Ok(namespace.to_string()),
        })
    }

    /// Fails if the policy did not do what is asked of it: who answers wrongly is easily fast.
    pub fn check(&self, call: &Call, mutates: bool) -> Result<()> {
        let bytes = call.result.as_ref().map_err(|error| anyhow!("{self}: {error}"))?;
        let answer: Value = serde_json::from_slice(bytes).with_context(|| self.to_string())?;
        let said_yes = answer["accepted"] == true || answer["valid"] == true;
        ensure!(said_yes && answer["mutated_object"].is_null() != mutates, "{self}: {answer}");
        Ok(())
    }

    /// The request with its settings, as the host hands them over.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The request with its settings, and what the look-ups of a call answered.
    pub fn bytes_read(&self, lookups: &[GetResourceRequest]) -> usize {
        let answers = lookups.iter().map(|lookup| match lookup.kind.as_str() {
            "Node" => self.node.len(),
            _ => self.namespace.len(),
        });
        self.payload.len().saturating_add(answers.sum())
    }
}

/// Its name, everywhere: in tables, and as criterion's folder.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size;
        match self.family {
            Family::Injected => write!(f, "Pod CREATE, injection, {}", kilobytes(size)),
            Family::Unchanged => write!(f, "Pod CREATE, no change, {}", kilobytes(size)),
            Family::Environment => write!(f, "Pod CREATE, injection and 2 variables, {}", kilobytes(size)),
            Family::Bindings => write!(f, "Binding, {}", count(size, "entry", "entries")),
            Family::Nodes => write!(f, "Binding, 3 entries, Node of {}", kilobytes(size)),
            Family::Deployment => write!(f, "Deployment"),
            Family::Namespace => write!(f, "Namespace"),
            Family::Untouched => write!(f, "Request that no setting covers"),
            Family::Settings => write!(f, "Pod CREATE, settings with {}", namespaces(size)),
            Family::SettingsValidation => write!(f, "validate_settings, {}", namespaces(size)),
            Family::Growth(what) => write!(f, "{size} {what}"),
        }
    }
}

fn namespaces(size: usize) -> String {
    count(size, "namespace", "namespaces")
}

fn count(size: usize, one: &str, many: &str) -> String {
    format!("{size} {}", if size == 1 { one } else { many })
}

/// Of the sizes that cases have.
pub fn kilobytes(bytes: usize) -> String {
    format!("{} KB", bytes / KB)
}
