//! Whether a policy's own rules, selectors and conditions let a request through to it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use super::{
    admission::ordinary_user,
    plugins::{DIFFERENT_FIELDS, admitted, admitted_with_all},
    pod::{ANY_POD, CREATED, PLAIN_POD},
    resource::{NAMESPACE_NAME, requested},
};
use crate::input::{
    match_conditions::{Condition, Passage, evaluate},
    policy_spec::{PolicySpec, requirement},
};

/// What becomes of a request before the policy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The policy is asked.
    Sent,
    /// It is not, and why: `no rule of the policy has pods UPDATE`.
    KeptAway(String),
    /// A condition raises an error, and what an API server does then. It may know fields that are not known here.
    Fails(String),
    /// It can't be told here, and why: a condition that can't be evaluated, a Namespace whose labels are not known.
    Unknown(String),
}

impl Delivery {
    /// Why the policy is not asked, if that is certain.
    pub fn kept_away(self) -> Option<String> {
        match self {
            Self::KeptAway(reason) => Some(reason),
            Self::Sent | Self::Fails(_) | Self::Unknown(_) => None,
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
    match passage(policy, request) {
        Passage::KeptAway(name) => Delivery::KeptAway(format!("the policy's matchCondition {name} leaves it out")),
        Passage::Fails(name, reason) => {
            let then = match policy.failure_policy.as_deref() {
                Some("Ignore") => "does not ask the policy, by failurePolicy: Ignore",
                _ => "refuses the request, by failurePolicy: Fail, even with mode: monitor",
            };
            Delivery::Fails(format!(
                "the matchCondition {name} raises an error ({reason}); an API server where it does {then}"
            ))
        }
        Passage::Unknown(name, reason) => Delivery::Unknown(format!("{name}: {reason}")),
        Passage::Passes if is_selected.is_none() => Delivery::Unknown(
            "the policy's namespaceSelector, and the labels of the namespace are not known".to_owned(),
        ),
        Passage::Passes => Delivery::Sent,
    }
}

/// What the conditions say of the request as an API server would send it.
fn passage(policy: &PolicySpec, request: &Value) -> Passage {
    let conditions = &policy.match_conditions;
    if conditions.is_empty() {
        return Passage::Passes;
    }
    let mut passage = evaluate(conditions, &admitted(request));
    // Most conditions are about other fields, and evaluating takes long.
    let is_about_plugins =
        |condition: &Condition| DIFFERENT_FIELDS.iter().any(|field| condition.expression.contains(field));
    if conditions.iter().any(is_about_plugins)
        && let Some(request) = admitted_with_all(request)
    {
        passage = common(passage, evaluate(conditions, &request));
    }
    let Passage::KeptAway(name) = &passage else { return passage };
    let condition = conditions.iter().find(|condition| condition.name == *name);
    match condition.and_then(|condition| reason_for_doubt(request, condition)) {
        Some(reason) => Passage::Unknown(name.clone(), reason.to_owned()),
        None => passage,
    }
}

/// What becomes of a request for certain, where the API server's plugins may add more or less to it.
fn common(least: Passage, most: Passage) -> Passage {
    match (least, most) {
        (Passage::Unknown(name, reason), _) | (_, Passage::Unknown(name, reason)) => Passage::Unknown(name, reason),
        (Passage::KeptAway(name) | Passage::Fails(name, _), Passage::Passes)
        | (Passage::Passes, Passage::KeptAway(name) | Passage::Fails(name, _)) => {
            let reason = "it depends on what a ServiceAccount, a PriorityClass or a LimitRange adds to the Pod";
            Passage::Unknown(name, reason.to_owned())
        }
        (least, _) => least,
    }
}

/// Why it can't be told whether a condition keeps a request away: it is about what is only assumed here. That is who
/// creates what no controller creates, and with which options; the name and containers of the Pod that asks for nothing;
/// and the names in a Binding that stands for others.
fn reason_for_doubt(request: &Value, condition: &Condition) -> Option<&'static str> {
    // A label such as app.kubernetes.io/name is one word.
    let words = |text: &str, known: &[&str]| {
        text.split(|it: char| !(it.is_alphanumeric() || ['-', '/'].contains(&it))).any(|word| known.contains(&word))
    };
    let is_about = |known: &[&str]| words(&condition.expression, known);
    if request["object"]["target"]["name"] == CREATED && condition.is_about_targets() {
        return Some("it depends on the name of a node that Karpenter creates");
    }
    let is_of_any_pod = request["object"]["kind"] == Resource::Binding.kind() && request["name"] == ANY_POD;
    if is_of_any_pod && words(&condition.expression.replace("target.name", ""), &["name"]) {
        return Some("it depends on the name of the Pod that is bound");
    }
    if request["userInfo"] != ordinary_user() {
        return None;
    }
    if is_about(&["userInfo", "options"]) {
        return Some("it depends on who creates the object, and how");
    }
    let is_plain_pod = request["object"]["metadata"]["name"] == PLAIN_POD;
    (is_plain_pod && is_about(&["name", "containers"])).then_some("it depends on the name and the containers of a Pod")
}

fn selects_object(policy: &PolicySpec, request: &Value) -> bool {
    let is_selected = |object: &Value| selects(&policy.object_selector, &object["metadata"]["labels"]);
    is_selected(&request["object"]) || !request["oldObject"].is_null() && is_selected(&request["oldObject"])
}

/// Whether the namespaceSelector selects the namespace; nothing, if that depends on labels that are not known.
pub fn selects_namespace(policy: &PolicySpec, request: &Value, namespace: Option<&Value>) -> Option<bool> {
    // Nodes have none.
    let Some(name) = request["namespace"].as_str().filter(|name| !name.is_empty()) else { return Some(true) };
    let namespace =
        if requested(request).1 == Resource::Namespace.plural() { Some(&request["object"]) } else { namespace };
    let labels = namespace.map(|namespace| &namespace["metadata"]["labels"]).filter(|labels| labels.is_object());
    let mut labels = labels.cloned().unwrap_or_else(|| json!({}));
    labels[NAMESPACE_NAME] = name.into();
    // Kubewarden drops `matchLabels`. Upstream: `policy_subreconciler_webhook.go` of its controller.
    let covered = LabelSelector { match_labels: None, ..policy.namespace_selector.clone() };
    selects_as_known(&covered, &labels, namespace.is_some())
}

/// Whether labels are selected; an empty selector selects all.
pub fn selects(selector: &LabelSelector, labels: &Value) -> bool {
    selects_as_known(selector, labels, true) == Some(true)
}

/// Whether labels are selected; nothing, if that depends on others than these, where these are not `all`.
///
/// Upstream: `LabelSelectorAsSelector` of `k8s.io/apimachinery/pkg/apis/meta/v1`.
fn selects_as_known(selector: &LabelSelector, labels: &Value, all: bool) -> Option<bool> {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let is_met = |expression: &LabelSelectorRequirement| {
        requirement(expression).and_then(Result::ok).is_some_and(|own| own.accepts(label(&expression.key)))
    };
    let equal = selector.match_labels.iter().flatten().map(|(key, value)| (key, label(key) == Some(value)));
    let expressions = selector.match_expressions.iter().flatten().map(|it| (&it.key, is_met(it)));
    let (known, unknown): (Vec<_>, Vec<_>) = equal.chain(expressions).partition(|(key, _)| all || label(key).is_some());
    if known.iter().any(|(_, is_met)| !is_met) {
        return Some(false);
    }
    unknown.is_empty().then_some(true)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn policy(spec: Value) -> PolicySpec {
        let mut spec = spec;
        spec["rules"] = json!([{
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"],
        }]);
        PolicySpec::read(&spec).unwrap()
    }

    fn request(resource: &str) -> Value {
        json!({
            "operation": "CREATE",
            "resource": { "group": "", "version": "v1", "resource": resource },
            "namespace": "team-a",
            "object": { "metadata": { "name": "web", "labels": { "app": "web" } } },
            "oldObject": null,
        })
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
        let reason = delivery(&policy(spec), &request("pods"), Some(&namespace)).kept_away().unwrap();
        assert!(reason.contains(by), "{reason}");
    }

    #[test]
    fn what_no_rule_has_is_kept_away() {
        let reason = delivery(&policy(json!({})), &request("nodes"), None).kept_away();
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
        assert_eq!(matches!(delivered, Delivery::Fails(_) | Delivery::Unknown(_)), is_unknown, "{delivered:?}");
    }
}
