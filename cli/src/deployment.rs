use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    match_conditions::{MatchConditions, Passage},
    metadata::ContextAwareResource,
    resource::{NAMESPACE, requested},
};

/// The API server gives every Namespace its name as a label.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// What of a ClusterAdmissionPolicy decides which requests reach the policy, and what it may look up.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Deployment {
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

impl Deployment {
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

    /// Why a request would not be sent to the policy, if so. Of its namespace, at least the name is known. A condition that
    /// can't be evaluated lets it pass.
    pub fn spares(&self, request: &Value, namespace: Option<&Value>) -> Option<String> {
        let (group, resource) = requested(request);
        let operation = request["operation"].as_str().unwrap_or_default();
        if !self.sends((group, &resource, operation)) {
            return Some(format!("no rule of the policy has {resource} {operation}"));
        }
        if !self.selects_namespace(request, namespace) {
            return Some("the policy's namespaceSelector leaves the namespace out".to_owned());
        }
        let selects = |object: &Value| self.object_selector.matches(&object["metadata"]["labels"]);
        let selected = selects(&request["object"]) || !request["oldObject"].is_null() && selects(&request["oldObject"]);
        if !selected {
            return Some("the policy's objectSelector leaves the object out".to_owned());
        }
        match self.match_conditions.evaluate(request) {
            Passage::KeptAway(name) => Some(format!("the policy's matchCondition {name} leaves it out")),
            Passage::Passes | Passage::Unknown(..) => None,
        }
    }

    /// The condition that can't be evaluated for a request, and why.
    pub fn unchecked(&self, request: &Value) -> Option<String> {
        match self.match_conditions.evaluate(request) {
            Passage::Unknown(name, reason) => Some(format!("{name}: {reason}")),
            Passage::Passes | Passage::KeptAway(_) => None,
        }
    }

    fn selects_namespace(&self, request: &Value, namespace: Option<&Value>) -> bool {
        // Nodes have none.
        let Some(name) = request["namespace"].as_str().filter(|name| !name.is_empty()) else { return true };
        let namespace = if requested(request).1 == NAMESPACE.name { Some(&request["object"]) } else { namespace };
        let labels = namespace.map(|namespace| &namespace["metadata"]["labels"]).filter(|labels| labels.is_object());
        let mut labels = labels.cloned().unwrap_or_else(|| json!({}));
        labels[NAMESPACE_NAME] = name.into();
        match namespace {
            Some(_) => self.namespace_selector.matches(&labels),
            None => self.namespace_selector.may_match(&labels),
        }
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

    /// The same if there are more labels, of which nobody knows.
    fn may_match(&self, labels: &Value) -> bool {
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
