//! The `spec` of a ClusterAdmissionPolicy.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;
use serde_json::Value;

use super::{
    json::{remove_nulls, typed},
    match_conditions::MatchConditions,
};

/// The `spec` of a ClusterAdmissionPolicy, with what decides which requests reach the policy.
///
/// Kubewarden's SDK has such a type too, which refuses unknown fields, so that only the first is told, and lacks one
/// that Kubewarden has. A test compares the fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySpec {
    /// Whether the policy also covers Kubewarden's own namespace.
    pub allow_inside_admission_controller_namespace: Option<bool>,
    /// Whether the audit scanner asks it.
    pub background_audit: Option<bool>,
    /// What it may look up.
    pub context_aware_resources: Vec<ContextAwareResource>,
    /// `Fail` or `Ignore`.
    pub failure_policy: Option<String>,
    /// In CEL: which requests are kept from it.
    pub match_conditions: MatchConditions,
    /// `Equivalent` or `Exact`.
    pub match_policy: Option<String>,
    /// What the API server says where the policy rejects, instead of the policy's own words.
    pub message: Option<String>,
    /// `monitor` or `protect`.
    pub mode: Option<String>,
    /// Where the policy-server finds the module.
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
    pub rules: Vec<Rule>,
    /// Its settings, as they are written.
    pub settings: BTreeMap<String, Value>,
    /// `None` or `NoneOnDryRun`.
    pub side_effects: Option<String>,
    /// How long an evaluation may take, in seconds.
    pub timeout_eval_seconds: Option<i64>,
    /// How long a request may take, in seconds.
    pub timeout_seconds: Option<i64>,
    /// All of it, as it is written.
    #[serde(skip)]
    pub spec: Value,
    /// The paths of the fields that nobody knows: `spec.rules[0].resorces`. The API server drops them.
    #[serde(skip)]
    pub unknown_fields: Vec<String>,
}

/// Requests that are sent to a policy (`RuleWithOperations`).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// API groups; `""` is the core group, `*` are all.
    pub api_groups: Vec<String>,
    /// Versions of the API.
    pub api_versions: Vec<String>,
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`, or `*`.
    pub operations: Vec<String>,
    /// Resources, with subresources: `pods/binding`.
    pub resources: Vec<String>,
    /// `Cluster`, `Namespaced`, or `*`.
    pub scope: Option<String>,
}

/// A kind that a policy may look up.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextAwareResource {
    /// As in `node.k8s.io/v1`.
    pub api_version: String,
    /// As in `Node`.
    pub kind: String,
}

impl PolicySpec {
    /// Reads the `spec` of a ClusterAdmissionPolicy. Unknown fields are kept for who asks.
    ///
    /// # Errors
    /// The first field of a wrong type: its path, what was expected, and what was found.
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

    /// Whether it decides nothing yet: everything passes, unchanged.
    pub fn only_monitors(&self) -> bool {
        self.mode.as_deref() == Some("monitor")
    }

    /// Whether it never will: it is there for the audit scanner's reports.
    pub fn only_reports(&self) -> bool {
        self.only_monitors() && self.mutating == Some(false) && self.background_audit != Some(false)
    }

    /// Whether a rule sends this: `("apps", "deployments", "CREATE")`, `("", "pods/binding", "CREATE")`.
    pub fn sends(&self, request: (&str, &str, &str)) -> bool {
        self.rules.iter().any(|rule| rule.covers(request))
    }

    /// Whether the policy may look up objects of a kind.
    pub fn may_look_up(&self, api_version: &str, kind: &str) -> bool {
        self.context_aware_resources.iter().any(|resource| resource.api_version == api_version && resource.kind == kind)
    }

    /// Whether its rules are about Nodes alone: it guards their labels, beside a policy that places.
    pub fn is_about_nodes(&self) -> bool {
        let mut resources = self.rules.iter().flat_map(|rule| &rule.resources).peekable();
        resources.peek().is_some() && resources.all(|resource| resource == "nodes" || resource.starts_with("nodes/"))
    }
}

impl Rule {
    /// Whether it sends this.
    pub fn covers(&self, (group, resource, operation): (&str, &str, &str)) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        let (plural, sub_resource) = resource.split_once('/').unwrap_or((resource, ""));
        let resource_matches = |pattern: &str| match pattern.split_once('/') {
            None if pattern == "*" => sub_resource.is_empty(),
            None => pattern == resource,
            Some((left, right)) => {
                (left == "*" || left == plural) && (right == "*" || right == sub_resource && !sub_resource.is_empty())
            }
        };
        self.scope_matches(plural)
            // The policy knows no other version.
            && has(&self.api_versions, "v1")
            && has(&self.api_groups, group)
            && has(&self.operations, operation)
            && self.resources.iter().any(|pattern| resource_matches(pattern))
    }
}

/// Resources that are in no namespace. A Namespace is not, either.
const CLUSTER_SCOPED: [&str; 2] = ["namespaces", "nodes"];

impl Rule {
    /// Upstream: `Matcher.scope` of `k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules`.
    fn scope_matches(&self, plural: &str) -> bool {
        match self.scope.as_deref() {
            Some("Cluster") => CLUSTER_SCOPED.contains(&plural),
            Some("Namespaced") => !CLUSTER_SCOPED.contains(&plural),
            _ => true,
        }
    }
}
