//! Whether a policy's own rules, selectors and conditions let a request through to it.

use serde_json::{Value, json};

use super::resource::{NAMESPACE, requested};
use crate::input::{match_conditions::Passage, policy_spec::PolicySpec};

/// The API server gives every Namespace its name as a label.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// What becomes of a request before the policy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The policy is asked.
    Sent,
    /// It is not, and why: `no rule of the policy has pods UPDATE`.
    KeptAway(String),
    /// Nobody can tell here, and why: a condition that can't be evaluated, a Namespace whose labels are not known.
    Unknown(String),
}

impl Delivery {
    /// Why the policy is not asked, if that is certain.
    pub fn kept_away(self) -> Option<String> {
        match self {
            Self::KeptAway(reason) => Some(reason),
            Self::Sent | Self::Unknown(_) => None,
        }
    }

    /// Why nobody can tell, if so.
    pub fn unknown(self) -> Option<String> {
        match self {
            Self::Unknown(reason) => Some(reason),
            Self::Sent | Self::KeptAway(_) => None,
        }
    }
}

/// What becomes of `request` on its way to a policy that is deployed as `policy` says; `namespace` is the Namespace that
/// it is about, if it is known. Of one that is not, the name is.
///
/// Upstream: `ShouldCallHook` of `k8s.io/apiserver/pkg/admission/plugin/webhook/generic`.
pub fn delivery(policy: &PolicySpec, request: &Value, namespace: Option<&Value>) -> Delivery {
    let (group, resource) = requested(request);
    let operation = request["operation"].as_str().unwrap_or_default();
    if !policy.sends((group, &resource, operation)) {
        return Delivery::KeptAway(format!("no rule of the policy has {resource} {operation}"));
    }
    let is_selected = selects_namespace(policy, request, namespace);
    if is_selected == Some(false) {
        return Delivery::KeptAway("the policy's namespaceSelector leaves the namespace out".to_owned());
    }
    if !selects_object(policy, request) {
        return Delivery::KeptAway("the policy's objectSelector leaves the object out".to_owned());
    }
    match policy.match_conditions.evaluate(request) {
        Passage::KeptAway(name) => Delivery::KeptAway(format!("the policy's matchCondition {name} leaves it out")),
        Passage::Unknown(name, reason) => Delivery::Unknown(format!("{name}: {reason}")),
        Passage::Passes if is_selected.is_none() => Delivery::Unknown(
            "the policy's namespaceSelector, and the labels of the namespace are not known".to_owned(),
        ),
        Passage::Passes => Delivery::Sent,
    }
}

fn selects_object(policy: &PolicySpec, request: &Value) -> bool {
    let selects = |object: &Value| policy.object_selector.matches(&object["metadata"]["labels"]);
    selects(&request["object"]) || !request["oldObject"].is_null() && selects(&request["oldObject"])
}

/// Whether the namespaceSelector selects the namespace; nothing, if that depends on labels that are not known.
fn selects_namespace(policy: &PolicySpec, request: &Value, namespace: Option<&Value>) -> Option<bool> {
    // Nodes have none.
    let Some(name) = request["namespace"].as_str().filter(|name| !name.is_empty()) else { return Some(true) };
    let namespace = if requested(request).1 == NAMESPACE.name { Some(&request["object"]) } else { namespace };
    let labels = namespace.map(|namespace| &namespace["metadata"]["labels"]).filter(|labels| labels.is_object());
    let mut labels = labels.cloned().unwrap_or_else(|| json!({}));
    labels[NAMESPACE_NAME] = name.into();
    let selector = &policy.namespace_selector;
    match namespace {
        Some(_) => Some(selector.matches(&labels)),
        None if !selector.may_match(&labels) => Some(false),
        None if selector.names_only(NAMESPACE_NAME) => Some(true),
        None => None,
    }
}
