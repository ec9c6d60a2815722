//! What in the `spec` of a ClusterAdmissionPolicy the API server refuses, Kubewarden's own webhook refuses, or nobody
//! knows.

use std::ops::RangeInclusive;

use k8s_openapi::{
    api::admissionregistration::v1::MatchCondition,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
};
use serde_aux::serde_introspection::serde_introspect;
use serde_json::Value;

use crate::{
    engine::native::label_key,
    input::policy_spec::{ContextAwareResource, PolicySpec, Rule},
};

const OPERATIONS: [&str; 5] = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];
const SCOPES: [&str; 3] = ["*", "Namespaced", "Cluster"];
const SELECTOR_OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];
const MOST_CONDITIONS: usize = 64;
const SECONDS: RangeInclusive<i64> = 2..=30;
/// Of requests, where nothing is said.
const DEFAULT_SECONDS: i64 = 10;

/// The mistakes in `spec`, a line each: the first field of a wrong type; else all unknown fields, and all wrong values.
pub fn crd_mistakes(spec: &Value) -> Vec<String> {
    match PolicySpec::read(spec) {
        Ok(policy) => [unknown_fields(&policy), wrong_values(&policy)].concat(),
        Err(error) => vec![error.to_string()],
    }
}

/// Fields that nobody knows: the API server drops them.
fn unknown_fields(policy: &PolicySpec) -> Vec<String> {
    let line = |path: &String| {
        let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
        let mut known = known_fields(parent).to_vec();
        known.sort_unstable();
        let near = known
            .iter()
            .max_by(|one, other| strsim::jaro_winkler(one, field).total_cmp(&strsim::jaro_winkler(other, field)));
        match near.filter(|near| strsim::jaro_winkler(near, field) > SIMILAR) {
            Some(meant) => format!("{path}: unknown field; did you mean {meant}?"),
            None => format!("{path}: unknown field; expected one of {}", known.join(", ")),
        }
    };
    policy.unknown_fields.iter().map(line).collect()
}

/// What is less alike is something else.
const SIMILAR: f64 = 0.8;

/// The fields of the object at a path.
fn known_fields(path: &str) -> &'static [&'static str] {
    let step = path.rsplit('.').next().unwrap_or_default();
    match step.split_once('[').map_or(step, |(list, _)| list) {
        "rules" => serde_introspect::<Rule>(),
        "matchConditions" => serde_introspect::<MatchCondition>(),
        "contextAwareResources" => serde_introspect::<ContextAwareResource>(),
        "namespaceSelector" | "objectSelector" => serde_introspect::<LabelSelector>(),
        "matchExpressions" => serde_introspect::<LabelSelectorRequirement>(),
        _ => serde_introspect::<PolicySpec>(),
    }
}

fn wrong_values(policy: &PolicySpec) -> Vec<String> {
    let mut mistakes = Mistakes::default();
    if policy.module.is_none() {
        mistakes.add("spec.module: missing");
    }
    if policy.mutating.is_none() {
        mistakes.add("spec.mutating: missing; expected true or false");
    }
    mistakes.find_no_choice("spec.failurePolicy", policy.failure_policy.as_deref(), &["Fail", "Ignore"]);
    mistakes.find_no_choice("spec.matchPolicy", policy.match_policy.as_deref(), &["Equivalent", "Exact"]);
    mistakes.find_no_choice("spec.mode", policy.mode.as_deref(), &["monitor", "protect"]);
    mistakes.find_no_choice("spec.sideEffects", policy.side_effects.as_deref(), &["None", "NoneOnDryRun"]);
    mistakes.find_wrong_timeouts(policy);
    mistakes.find_wrong_rules(policy);
    mistakes.find_wrong_conditions(policy);
    mistakes.find_wrong_look_ups(policy);
    mistakes.find_wrong_selector("spec.namespaceSelector", &policy.namespace_selector);
    mistakes.find_wrong_selector("spec.objectSelector", &policy.object_selector);
    mistakes.0
}

#[derive(Default)]
struct Mistakes(Vec<String>);

impl Mistakes {
    fn find_no_choice(&mut self, path: &str, found: Option<&str>, choices: &[&str]) {
        if let Some(found) = found.filter(|found| !choices.contains(found)) {
            self.add(format!("{path}: expected one of {}; found {found:?}", choices.join(", ")));
        }
    }

    fn find_wrong_timeouts(&mut self, policy: &PolicySpec) {
        let PolicySpec { timeout_seconds, timeout_eval_seconds, .. } = policy;
        let (least, most) = (SECONDS.start(), SECONDS.end());
        for (field, seconds) in [("timeoutSeconds", timeout_seconds), ("timeoutEvalSeconds", timeout_eval_seconds)] {
            if let Some(seconds) = seconds.filter(|seconds| !SECONDS.contains(seconds)) {
                self.add(format!("spec.{field}: expected from {least} to {most} seconds; found {seconds}"));
            }
        }
        let timeout = timeout_seconds.unwrap_or(DEFAULT_SECONDS);
        let evaluation = timeout_eval_seconds.filter(|seconds| SECONDS.contains(seconds) && *seconds > timeout);
        if let Some(found) = evaluation {
            self.add(format!(
                "spec.timeoutEvalSeconds: expected at most timeoutSeconds, which is {timeout}; found {found}"
            ));
        }
    }

    fn find_wrong_rules(&mut self, policy: &PolicySpec) {
        if policy.rules.is_empty() {
            self.add("spec.rules: expected at least one: the policy is never asked");
        }
        for (place, rule) in policy.rules.iter().enumerate() {
            let path = format!("spec.rules[{place}]");
            let Rule { api_groups, api_versions, operations, resources, scope } = rule;
            let lists = [
                ("apiGroups", api_groups),
                ("apiVersions", api_versions),
                ("operations", operations),
                ("resources", resources),
            ];
            for (field, elements) in lists {
                if elements.is_empty() {
                    self.add(format!("{path}.{field}: expected at least one"));
                }
                // The core group is called so.
                if field != "apiGroups" && elements.iter().any(String::is_empty) {
                    self.add(format!("{path}.{field}: expected no empty text"));
                }
            }
            for operation in operations.iter().filter(|operation| !operation.is_empty()) {
                self.find_no_choice(&format!("{path}.operations"), Some(operation), &OPERATIONS);
            }
            self.find_no_choice(&format!("{path}.scope"), scope.as_deref(), &SCOPES);
        }
    }

    fn find_wrong_conditions(&mut self, policy: &PolicySpec) {
        let conditions: Vec<&MatchCondition> = policy.match_conditions.written().collect();
        if conditions.len() > MOST_CONDITIONS {
            let found = conditions.len();
            self.add(format!("spec.matchConditions: expected at most {MOST_CONDITIONS}; found {found}"));
        }
        for (place, mistake) in policy.match_conditions.mistakes() {
            self.add(format!("spec.matchConditions[{place}].expression: {mistake}"));
        }
        for (place, MatchCondition { name, .. }) in conditions.iter().enumerate() {
            let path = format!("spec.matchConditions[{place}]");
            if let Err(expected) = label_key(name) {
                self.add(format!("{path}.name: expected {expected}; found {name:?}"));
            } else if conditions.iter().take(place).any(|earlier| earlier.name == *name) {
                self.add(format!("{path}.name: {name:?} stands there already; names must differ"));
            }
        }
    }

    fn find_wrong_look_ups(&mut self, policy: &PolicySpec) {
        for (place, ContextAwareResource { api_version, kind }) in policy.context_aware_resources.iter().enumerate() {
            for (field, text) in [("apiVersion", api_version), ("kind", kind)] {
                if text.is_empty() {
                    self.add(format!("spec.contextAwareResources[{place}].{field}: missing"));
                }
            }
        }
    }

    fn find_wrong_selector(&mut self, path: &str, selector: &LabelSelector) {
        for (place, expression) in selector.match_expressions.iter().flatten().enumerate() {
            let path = format!("{path}.matchExpressions[{place}]");
            if let Err(expected) = label_key(&expression.key) {
                self.add(format!("{path}.key: expected {expected}; found {:?}", expression.key));
            }
            self.find_no_choice(&format!("{path}.operator"), Some(&expression.operator), &SELECTOR_OPERATORS);
            let has_values = expression.values.iter().flatten().next().is_some();
            match expression.operator.as_str() {
                "In" | "NotIn" if !has_values => self.add(format!("{path}.values: expected at least one")),
                "Exists" | "DoesNotExist" if has_values => self.add(format!("{path}.values: expected none")),
                _ => {}
            }
        }
    }

    fn add(&mut self, line: impl Into<String>) {
        self.0.push(line.into());
    }
}
