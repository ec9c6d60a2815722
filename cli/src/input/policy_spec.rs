use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::match_conditions::MatchConditions;
use crate::engine::metadata::ContextAwareResource;

/// What of a ClusterAdmissionPolicy decides which requests reach the policy, and what it may look up.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySpec {
    pub rules: Vec<Rule>,
    pub context_aware_resources: Vec<ContextAwareResource>,
    pub namespace_selector: LabelSelector,
    pub object_selector: LabelSelector,
    #[serde(skip)]
    pub match_conditions: MatchConditions,
    /// All of it, as it is written.
    #[serde(skip)]
    pub spec: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    api_groups: Vec<String>,
    pub resources: Vec<String>,
    operations: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    match_labels: Map<String, Value>,
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Deserialize)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl PolicySpec {
    /// Reads the `spec` of a ClusterAdmissionPolicy.
    pub fn read(spec: &Value) -> Result<Self> {
        let mut spec = spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            // As the API server does.
            fields.retain(|_, value| !value.is_null());
        }
        let deployment = Self::deserialize(&spec).context("spec of the ClusterAdmissionPolicy")?;
        let match_conditions = MatchConditions::read(&spec["matchConditions"]);
        Ok(Self { spec, match_conditions, ..deployment })
    }

    /// Whether it decides nothing yet: everything passes, unchanged.
    pub fn only_monitors(&self) -> bool {
        self.spec["mode"] == "monitor"
    }

    /// Whether it never will: it is there for the audit scanner's reports.
    pub fn only_reports(&self) -> bool {
        self.only_monitors() && self.spec["mutating"] == false && self.spec["backgroundAudit"] != false
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
        has(&self.api_groups, group)
            && has(&self.operations, operation)
            && self.resources.iter().any(|pattern| resource_matches(pattern))
    }
}

impl LabelSelector {
    /// Whether labels are selected; an empty selector selects all.
    pub fn matches(&self, labels: &Value) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|expression| expression.matches(labels))
    }

    /// Whether it is about no other label than `key`.
    pub fn names_only(&self, key: &str) -> bool {
        self.match_labels.keys().all(|own| own == key) && self.match_expressions.iter().all(|own| own.key == key)
    }

    /// The same if there are more labels, of which nobody knows.
    pub fn may_match(&self, labels: &Value) -> bool {
        let is_unknown = |key: &String| labels.get(key).is_none();
        self.match_labels.iter().all(|(key, value)| is_unknown(key) || labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|expression| is_unknown(&expression.key) || expression.matches(labels))
    }
}

impl Expression {
    fn matches(&self, labels: &Value) -> bool {
        let value = labels.get(&self.key).and_then(Value::as_str);
        let is_listed = || value.is_some_and(|value| self.values.iter().any(|listed| listed == value));
        match self.operator {
            Operator::In => is_listed(),
            Operator::NotIn => !is_listed(),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}
