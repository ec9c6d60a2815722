//! The `spec` of a ClusterAdmissionPolicy: which requests reach the policy, and what it may look up.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::{
    api::admissionregistration::v1::RuleWithOperations, apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use node_placement_policy::selector::Selector;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conditions::Condition;
use crate::{
    cluster::selectors::requirement,
    input::json::{remove_nulls, typed},
};

/// The `spec` of a ClusterAdmissionPolicy.
///
/// Kubewarden's SDK has such a type too, which refuses unknown fields, so that only the first is reported, and lacks one
/// that Kubewarden has. A test compares the fields.
///
/// ```
/// use cli::PolicySpec;
/// use serde_json::json;
///
/// let rule = json!({ "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"] });
/// let policy = PolicySpec::read(&json!({ "rules": [rule], "mod": "monitor" })).unwrap();
/// assert!(policy.sends(("apps", "deployments", "UPDATE")) && !policy.sends(("", "pods", "CREATE")));
/// assert_eq!(policy.unknown_fields, ["spec.mod"]);
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySpec {
    /// Whether the policy also covers Kubewarden's own namespace.
    pub allow_inside_admission_controller_namespace: Option<bool>,
    /// Whether the audit scanner asks it.
    pub background_audit: Option<bool>,
    /// The kinds that it may look up.
    pub context_aware_resources: Vec<ContextAwareResource>,
    /// `Fail` or `Ignore`.
    pub failure_policy: Option<String>,
    /// In CEL: which requests are kept from it.
    pub match_conditions: Vec<Condition>,
    /// `Equivalent` or `Exact`.
    pub match_policy: Option<String>,
    /// The message of a rejection, in place of the policy's own.
    pub message: Option<String>,
    /// `monitor` or `protect`.
    pub mode: Option<String>,
    /// The URL of the module.
    pub module: Option<String>,
    /// Whether it may change objects.
    pub mutating: Option<bool>,
    /// The namespaces that it covers.
    pub namespace_selector: LabelSelector,
    /// The objects that it covers.
    pub object_selector: LabelSelector,
    /// The PolicyServer that runs it.
    pub policy_server: Option<String>,
    /// The requests that are sent to it.
    pub rules: Vec<RuleWithOperations>,
    /// Its settings, as in the file.
    pub settings: BTreeMap<String, Value>,
    /// `None` or `NoneOnDryRun`.
    pub side_effects: Option<String>,
    /// The longest time of an evaluation, in seconds.
    pub timeout_eval_seconds: Option<i64>,
    /// The longest time of a request, in seconds.
    pub timeout_seconds: Option<i64>,
    /// The whole `spec`, as in the file.
    #[serde(skip)]
    pub spec: Value,
    /// The paths of the fields that are unknown, such as `spec.rules[0].resorces`. The API server drops them.
    #[serde(skip)]
    pub unknown_fields: Vec<String>,
}

/// A kind that a policy may look up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextAwareResource {
    /// As in `Node`.
    pub kind: String,
    /// As in `node.k8s.io/v1`.
    pub api_version: String,
}

impl PolicySpec {
    /// Reads the `spec` of a ClusterAdmissionPolicy. Unknown fields are no error.
    ///
    /// # Errors
    /// A field has a wrong type. The error says the path of the first, what was expected, and what was found.
    pub fn read(spec: &Value) -> Result<Self> {
        let mut given = spec.clone();
        // Here null may mean something to the policy.
        let settings = given.get_mut("settings").map(Value::take).unwrap_or_default();
        remove_nulls(&mut given);
        if !settings.is_null() {
            given["settings"] = settings;
        }
        let (read, unknown_fields): (Self, _) = typed(&given, "spec.")?;
        Ok(Self { spec: spec.clone(), unknown_fields, ..read })
    }

    /// Returns whether it decides nothing yet: everything passes, unchanged.
    pub fn only_monitors(&self) -> bool {
        self.mode.as_deref() == Some("monitor")
    }

    /// Returns whether it never will: it is there for the audit scanner's reports.
    pub fn only_reports(&self) -> bool {
        self.only_monitors() && self.mutating == Some(false) && self.background_audit != Some(false)
    }

    /// Returns whether a rule sends this: `("apps", "deployments", "CREATE")`, `("", "pods/binding", "CREATE")`.
    pub fn sends(&self, request: (&str, &str, &str)) -> bool {
        self.rules.iter().any(|rule| covers(rule, request))
    }

    /// Returns the resources of its rules, with subresources: `pods/binding`.
    pub fn resources(&self) -> impl Iterator<Item = &String> {
        self.rules.iter().flat_map(|rule| &rule.resources).flatten()
    }

    /// Returns whether its rules are about Nodes alone: it guards their labels, beside a policy that places Pods.
    pub fn is_about_nodes(&self) -> bool {
        let is_node = |resource: &String| resource == "nodes" || resource.starts_with("nodes/");
        self.resources().next().is_some() && self.resources().all(is_node)
    }

    /// Returns the namespaces that it covers. Kubewarden drops `matchLabels`.
    ///
    /// Upstream: `policy_subreconciler_webhook.go` of Kubewarden's controller.
    pub fn covered_namespaces(&self) -> Selector {
        let expressions = self.namespace_selector.match_expressions.iter().flatten();
        Selector::new(expressions.filter_map(|expression| requirement(expression)?.ok()).collect())
    }
}

/// Returns whether a rule covers a request. The policy knows no other version than `v1`.
///
/// Upstream: `Matcher` of `k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules`.
fn covers(rule: &RuleWithOperations, (group, resource, operation): (&str, &str, &str)) -> bool {
    let has = |list: &Option<Vec<String>>, item: &str| list.iter().flatten().any(|own| own == "*" || own == item);
    let (plural, sub_resource) = resource.split_once('/').unwrap_or((resource, ""));
    let is_resource = |pattern: &String| {
        let (own, own_sub) = pattern.split_once('/').unwrap_or((pattern, ""));
        (own == "*" || own == plural) && (own_sub == "*" || own_sub == sub_resource)
    };
    // A Namespace is in no namespace, either.
    let is_cluster_scoped = ["namespaces", "nodes"].contains(&plural);
    let is_in_scope = match rule.scope.as_deref() {
        Some("Cluster") => is_cluster_scoped,
        Some("Namespaced") => !is_cluster_scoped,
        _ => true,
    };
    is_in_scope
        && has(&rule.api_versions, "v1")
        && has(&rule.api_groups, group)
        && has(&rule.operations, operation)
        && rule.resources.iter().flatten().any(is_resource)
}
