//! Whether a policy's own rules, selectors and conditions let a request through to it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use node_placement_policy::resource::Resource;
use serde_json::Value;

use super::{
    conditions::{Passage, evaluate},
    policy_spec::PolicySpec,
    request::Request,
    resource::{NAMESPACE_NAME, requested},
};
use crate::cluster::{
    Gap, Kind,
    selectors::{selects, selects_as_known},
};

/// Whether a request is sent to a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The policy is asked.
    Sent,
    /// The policy is not asked.
    KeptAway(KeptAway),
    /// Whether it is asked could not be evaluated.
    Unknown(Gap),
}

/// The reason why a request is not sent to the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptAway {
    /// No rule has this resource with this operation.
    Rules { resource: String, operation: String },
    /// The namespaceSelector leaves the namespace out.
    NamespaceSelector,
    /// The objectSelector leaves the object out.
    ObjectSelector,
    /// The matchCondition of this name is false.
    Condition(String),
}

impl std::fmt::Display for KeptAway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rules { resource, operation } => write!(f, "no rule of the policy has {resource} {operation}"),
            Self::NamespaceSelector => f.write_str("the policy's namespaceSelector leaves the namespace out"),
            Self::ObjectSelector => f.write_str("the policy's objectSelector leaves the object out"),
            Self::Condition(name) => write!(f, "the policy's matchCondition {name} leaves it out"),
        }
    }
}

impl Delivery {
    /// Returns what keeps the request away, if that is certain.
    pub fn kept_away(self) -> Option<KeptAway> {
        match self {
            Self::KeptAway(by) => Some(by),
            Self::Sent | Self::Unknown(_) => None,
        }
    }
}

/// Returns what becomes of `request` on its way to a policy that is deployed as `policy` says; `namespace` is the Namespace
/// that it is about, if the cluster has it. Of one that it lacks, the name is known.
///
/// Upstream: `ShouldCallHook` of `k8s.io/apiserver/pkg/admission/plugin/webhook/generic`.
pub fn delivery(policy: &PolicySpec, request: &Request, namespace: Option<&Value>) -> Delivery {
    let (group, resource) = requested(&request.json);
    let operation = request.json["operation"].as_str().unwrap_or_default();
    if !policy.sends((group, &resource, operation)) {
        return Delivery::KeptAway(KeptAway::Rules { resource, operation: operation.to_owned() });
    }
    let is_selected = selects_namespace(policy, request, namespace);
    if is_selected == Some(false) {
        return Delivery::KeptAway(KeptAway::NamespaceSelector);
    }
    if !selects_object(policy, &request.json) {
        return Delivery::KeptAway(KeptAway::ObjectSelector);
    }
    let lacks_namespace = || match request.namespace() {
        Some(name) if namespace.is_none() => Some(Gap::Object(Kind::Of(Resource::Namespace), name.to_owned())),
        _ => None,
    };
    match passage(policy, request) {
        Passage::KeptAway(name) => Delivery::KeptAway(KeptAway::Condition(name)),
        Passage::Fails(name, reason) => {
            let then = match policy.failure_policy.as_deref() {
                Some("Ignore") => "does not ask the policy, by failurePolicy: Ignore",
                _ => "refuses the request, by failurePolicy: Fail, even with mode: monitor",
            };
            Delivery::Unknown(Gap::Condition(format!(
                "the matchCondition {name} raises an error ({reason}); an API server where it does {then}"
            )))
        }
        Passage::Unknown(name, reason) => {
            Delivery::Unknown(lacks_namespace().unwrap_or_else(|| Gap::Delivery(format!("{name}: {reason}"))))
        }
        Passage::Passes if is_selected.is_none() => {
            let labels = "the policy's namespaceSelector, and the labels of the namespace are not known";
            Delivery::Unknown(lacks_namespace().unwrap_or_else(|| Gap::Delivery(labels.to_owned())))
        }
        Passage::Passes => Delivery::Sent,
    }
}

fn passage(policy: &PolicySpec, request: &Request) -> Passage {
    if policy.match_conditions.is_empty() {
        return Passage::Passes;
    }
    evaluate(&policy.match_conditions, &request.clone().with_defaults())
}

fn selects_object(policy: &PolicySpec, request: &Value) -> bool {
    let is_selected =
        |object: &Value| selects(&policy.object_selector, |key| object["metadata"]["labels"][key].as_str());
    is_selected(&request["object"]) || !request["oldObject"].is_null() && is_selected(&request["oldObject"])
}

/// Returns whether the namespaceSelector selects the namespace; `None` if that depends on labels that are not known.
fn selects_namespace(policy: &PolicySpec, request: &Request, namespace: Option<&Value>) -> Option<bool> {
    // Nodes have none.
    let Some(name) = request.namespace() else { return Some(true) };
    let is_about_namespace = requested(&request.json).1 == Resource::Namespace.plural();
    let namespace = if is_about_namespace { Some(&request.json["object"]) } else { namespace };
    covers_namespace(policy, name, namespace)
}

/// Returns whether the namespaceSelector selects the namespace of this name; `None` if that depends on labels that are not
/// known.
pub fn covers_namespace(policy: &PolicySpec, name: &str, namespace: Option<&Value>) -> Option<bool> {
    // Kubewarden drops `matchLabels`. Upstream: `policy_subreconciler_webhook.go` of its controller.
    let covered = LabelSelector { match_labels: None, ..policy.namespace_selector.clone() };
    let label = |key: &str| match key {
        NAMESPACE_NAME => Some(name),
        key => namespace?["metadata"]["labels"][key].as_str(),
    };
    if namespace.is_none() { selects_as_known(&covered, label) } else { Some(selects(&covered, label)) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn policy(spec: Value) -> PolicySpec {
        let mut spec = spec;
        spec["rules"] = json!([{
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"],
        }]);
        PolicySpec::read(&spec).unwrap()
    }

    fn request(resource: &str) -> Request {
        Request::recorded(json!({
            "operation": "CREATE",
            "resource": { "group": "", "version": "v1", "resource": resource },
            "namespace": "team-a",
            "object": { "metadata": { "name": "web", "labels": { "app": "web" } } },
            "oldObject": null,
        }))
    }

    fn selecting(key: &str, operator: &str, values: &[&str]) -> Value {
        json!({ "namespaceSelector": { "matchExpressions": [{ "key": key, "operator": operator, "values": values }] } })
    }

    #[rstest]
    #[case::all(json!({}))]
    #[case::a_label(selecting("tenant", "In", &["a"]))]
    #[case::a_label_that_kubewarden_drops(json!({ "namespaceSelector": { "matchLabels": { "tenant": "b" } } }))]
    #[case::its_name(selecting(NAMESPACE_NAME, "NotIn", &["kube-system"]))]
    #[case::an_object(json!({ "objectSelector": { "matchLabels": { "app": "web" } } }))]
    #[case::a_condition(json!({ "matchConditions": [{ "name": "c", "expression": "request.operation == 'CREATE'" }] }))]
    fn a_request_is_sent(#[case] spec: Value) {
        let namespace = json!({ "metadata": { "labels": { "tenant": "a" } } });
        assert_eq!(delivery(&policy(spec), &request("pods"), Some(&namespace)), Delivery::Sent);
    }

    #[rstest]
    #[case::a_label(selecting("tenant", "DoesNotExist", &[]), "namespaceSelector")]
    #[case::its_name(selecting(NAMESPACE_NAME, "NotIn", &["team-a"]), "namespaceSelector")]
    #[case::an_object(json!({ "objectSelector": { "matchLabels": { "app": "db" } } }), "objectSelector")]
    #[case::a_condition(json!({ "matchConditions": [{ "name": "c", "expression": "false" }] }), "matchCondition c")]
    fn a_request_is_kept_away_and_by_what(#[case] spec: Value, #[case] by: &str) {
        let namespace = json!({ "metadata": { "labels": { "tenant": "a" } } });
        let reason = delivery(&policy(spec), &request("pods"), Some(&namespace)).kept_away().unwrap().to_string();
        assert!(reason.contains(by), "{reason}");
    }

    #[test]
    fn what_no_rule_has_is_kept_away() {
        let reason = delivery(&policy(json!({})), &request("nodes"), None).kept_away().map(|by| by.to_string());
        assert_eq!(reason.as_deref(), Some("no rule of the policy has nodes CREATE"));
    }

    #[rstest]
    #[case::of_the_cluster("Cluster", "v1", "pods", false)]
    #[case::in_namespaces("Namespaced", "v1", "pods", true)]
    #[case::in_both("*", "*", "pods", true)]
    #[case::a_namespace_of_the_cluster("Cluster", "v1", "namespaces", true)]
    #[case::a_namespace_is_in_none("Namespaced", "v1", "namespaces", false)]
    #[case::another_version("*", "v1beta1", "pods", false)]
    fn a_rule_is_about_a_scope_and_versions(
        #[case] scope: &str,
        #[case] version: &str,
        #[case] resource: &str,
        #[case] is_sent: bool,
    ) {
        let rule = json!({
            "apiGroups": [""], "apiVersions": [version], "resources": [resource], "operations": ["CREATE"],
            "scope": scope,
        });
        let policy = PolicySpec::read(&json!({ "rules": [rule] })).unwrap();
        assert_eq!(delivery(&policy, &request(resource), Some(&json!({}))) == Delivery::Sent, is_sent);
    }

    #[rstest]
    #[case::a_label(selecting("tenant", "Exists", &[]), true)]
    #[case::its_name(selecting(NAMESPACE_NAME, "NotIn", &["kube-system"]), false)]
    #[case::a_condition(json!({ "matchConditions": [{ "name": "c", "expression": "authorizer.x()" }] }), true)]
    fn nobody_can_tell_where_something_is_not_known(#[case] spec: Value, #[case] is_unknown: bool) {
        let delivered = delivery(&policy(spec), &request("pods"), None);
        assert_eq!(matches!(delivered, Delivery::Unknown(_)), is_unknown, "{delivered:?}");
    }
}
