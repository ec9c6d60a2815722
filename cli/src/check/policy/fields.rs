//! What in a ClusterAdmissionPolicy the API server refuses, Kubewarden's own webhook refuses, or nobody knows.

use std::ops::RangeInclusive;

use k8s_openapi::{
    api::admissionregistration::v1::MatchCondition,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta},
};
use node_placement_policy::selector::syntax::{is_subdomain, label_key};
use serde::Deserialize;
use serde_aux::serde_introspection::serde_introspect;
use serde_json::Value;

use super::exempt_entries::covered;
use crate::{
    check::finding::Finding,
    input::json::{pointer, typed},
    input::policy_spec::{ContextAwareResource, PolicySpec, Rule},
    policies::overrides::NAME_OF_AN_OBJECT,
};

const API_VERSION: &str = "policies.kubewarden.io/v1";
const MOST_CONDITIONS: usize = 64;
const SECONDS: RangeInclusive<i64> = 2..=30;
/// Of requests, where nothing is said.
const DEFAULT_SECONDS: i64 = 10;

/// Of a misspelt field. What is less alike is something else.
const SIMILAR: f64 = 0.8;

/// Where a policy-server finds modules.
const SCHEMES: [&str; 4] = ["registry", "https", "http", "file"];

/// Where the name of a policy stands.
pub const NAME: &str = "metadata.name";

/// What a policy has beside its `spec`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    api_version: Option<Value>,
    #[serde(rename = "kind")]
    _kind: Value,
    metadata: Option<ObjectMeta>,
    #[serde(rename = "spec")]
    _spec: Value,
    #[serde(rename = "status")]
    _status: Option<Value>,
}

/// What is wrong beside the `spec`.
pub fn find_beside_spec(policy: &Value) -> Vec<Finding> {
    let mut mistakes = Mistakes::default();
    let (envelope, unknown_fields): (Envelope, _) = match typed(policy, "") {
        Ok(read) => read,
        Err(error) => return vec![Finding::read(&format!("{error:#}"))],
    };
    for path in &unknown_fields {
        mistakes.add(path, unknown_field(path));
    }
    let found = envelope.api_version.unwrap_or_default();
    if found != API_VERSION {
        mistakes.add("apiVersion", format!("expected {API_VERSION}; found {found}"));
    }
    let name = envelope.metadata.and_then(|metadata| metadata.name);
    if let Some(name) = name.filter(|name| !is_subdomain(name)) {
        mistakes.add(NAME, format!("expected {NAME_OF_AN_OBJECT}; found {name:?}"));
    }
    mistakes.0
}

/// What is wrong in the `spec`: all unknown fields, and all wrong values.
pub fn find(policy: &PolicySpec) -> Vec<Finding> {
    let mut mistakes = Mistakes::default();
    for path in &policy.unknown_fields {
        mistakes.add(path, unknown_field(path));
    }
    if policy.module.is_none() {
        mistakes.add("spec.module", "missing");
    }
    // Without a scheme it is in a registry.
    let scheme = policy.module.as_deref().and_then(|module| Some(module.split_once("://")?.0));
    if let Some(scheme) = scheme.filter(|scheme| !SCHEMES.contains(scheme)) {
        mistakes.add("spec.module", format!("expected one of {}://…; found {scheme}://", SCHEMES.join("://…, ")));
    }
    if policy.mutating.is_none() {
        mistakes.add("spec.mutating", "missing; expected true or false");
    }
    mistakes.find_no_choice("spec.failurePolicy", &policy.failure_policy, &["Fail", "Ignore"]);
    mistakes.find_no_choice("spec.matchPolicy", &policy.match_policy, &["Equivalent", "Exact"]);
    mistakes.find_no_choice("spec.mode", &policy.mode, &["monitor", "protect"]);
    mistakes.find_no_choice("spec.sideEffects", &policy.side_effects, &["None", "NoneOnDryRun"]);
    mistakes.find_wrong_timeouts(policy);
    if policy.rules.is_empty() {
        mistakes.add("spec.rules", "expected at least one: the policy is never asked");
    }
    for (place, rule) in policy.rules.iter().enumerate() {
        mistakes.find_wrong_rule(&format!("spec.rules[{place}]"), rule);
    }
    mistakes.find_wrong_conditions(policy);
    mistakes.find_wrong_selector("spec.namespaceSelector", &policy.namespace_selector);
    if covered(policy).contradiction().is_some() {
        let text = "no namespace meets all of its expressions, so the policy is never asked about one; correct them";
        mistakes.add("spec.namespaceSelector", text);
    }
    mistakes.find_wrong_selector("spec.objectSelector", &policy.object_selector);
    mistakes.0
}

/// All unknown fields of a `spec` that has values of a wrong type, too: these are taken out, one after the other.
pub fn find_unknown(spec: &Value) -> Vec<Finding> {
    let mut spec = spec.clone();
    loop {
        let path = match PolicySpec::read(&spec) {
            Ok(read) => {
                return read.unknown_fields.iter().map(|path| Finding::new(path, unknown_field(path))).collect();
            }
            Err(error) => Finding::read(&format!("{error:#}")).path,
        };
        match spec.pointer_mut(&pointer(path.trim_start_matches("spec."))) {
            Some(value) if !value.is_null() => *value = Value::Null,
            _ => return vec![],
        }
    }
}

/// The API server drops it. Told with the known field that looks most like it.
fn unknown_field(path: &str) -> String {
    let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
    let mut known = known_fields(parent).to_vec();
    known.sort_unstable();
    let likeness = |known: &str| strsim::jaro_winkler(known, field);
    let near = known.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    match near.filter(|near| likeness(near) > SIMILAR) {
        Some(meant) => format!("unknown field; did you mean {meant}?"),
        None => format!("unknown field; expected one of {}", known.join(", ")),
    }
}

/// The fields of the object at a path.
fn known_fields(path: &str) -> &'static [&'static str] {
    let step = path.rsplit('.').next().unwrap_or_default();
    match step.split_once('[').map_or(step, |(list, _)| list) {
        "" => serde_introspect::<Envelope>(),
        "metadata" => serde_introspect::<ObjectMeta>(),
        "rules" => serde_introspect::<Rule>(),
        "matchConditions" => serde_introspect::<MatchCondition>(),
        "contextAwareResources" => serde_introspect::<ContextAwareResource>(),
        "namespaceSelector" | "objectSelector" => serde_introspect::<LabelSelector>(),
        "matchExpressions" => serde_introspect::<LabelSelectorRequirement>(),
        _ => serde_introspect::<PolicySpec>(),
    }
}

#[derive(Default)]
struct Mistakes(Vec<Finding>);

impl Mistakes {
    fn find_no_choice<'v>(&mut self, path: &str, found: impl IntoIterator<Item = &'v String>, choices: &[&str]) {
        for found in found.into_iter().filter(|found| !choices.contains(&found.as_str())) {
            self.add(path, format!("expected one of {}; found {found:?}", choices.join(", ")));
        }
    }

    fn find_wrong_timeouts(&mut self, policy: &PolicySpec) {
        let PolicySpec { timeout_seconds, timeout_eval_seconds, .. } = policy;
        let (least, most) = (SECONDS.start(), SECONDS.end());
        for (field, seconds) in [("timeoutSeconds", timeout_seconds), ("timeoutEvalSeconds", timeout_eval_seconds)] {
            if let Some(seconds) = seconds.filter(|seconds| !SECONDS.contains(seconds)) {
                self.add(&format!("spec.{field}"), format!("expected from {least} to {most} seconds; found {seconds}"));
            }
        }
        let timeout = timeout_seconds.unwrap_or(DEFAULT_SECONDS);
        let evaluation = timeout_eval_seconds.filter(|seconds| SECONDS.contains(seconds) && *seconds > timeout);
        if let Some(found) = evaluation {
            let text = format!("expected at most timeoutSeconds, which is {timeout}; found {found}");
            self.add("spec.timeoutEvalSeconds", text);
        }
    }

    fn find_wrong_rule(&mut self, path: &str, rule: &Rule) {
        let lists = [
            ("apiGroups", &rule.api_groups),
            ("apiVersions", &rule.api_versions),
            ("operations", &rule.operations),
            ("resources", &rule.resources),
        ];
        for (field, elements) in lists {
            if elements.is_empty() {
                self.add(&format!("{path}.{field}"), "expected at least one");
            }
            // The core group is called so.
            if field != "apiGroups" && elements.iter().any(String::is_empty) {
                self.add(&format!("{path}.{field}"), "expected no empty text");
            }
        }
        let operations = rule.operations.iter().filter(|operation| !operation.is_empty());
        self.find_no_choice(&format!("{path}.operations"), operations, &["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]);
        self.find_no_choice(&format!("{path}.scope"), &rule.scope, &["*", "Namespaced", "Cluster"]);
    }

    fn find_wrong_conditions(&mut self, policy: &PolicySpec) {
        let conditions: Vec<&MatchCondition> = policy.match_conditions.written().collect();
        if conditions.len() > MOST_CONDITIONS {
            let found = conditions.len();
            self.add("spec.matchConditions", format!("expected at most {MOST_CONDITIONS}; found {found}"));
        }
        for (place, mistake) in policy.match_conditions.mistakes() {
            self.add(&format!("spec.matchConditions[{place}].expression"), mistake);
        }
        for (place, MatchCondition { name, .. }) in conditions.iter().enumerate() {
            let path = format!("spec.matchConditions[{place}].name");
            if let Err(expected) = label_key(name) {
                self.add(&path, format!("expected {expected}; found {name:?}"));
            } else if conditions.iter().take(place).any(|earlier| earlier.name == *name) {
                self.add(&path, format!("{name:?} stands there already; names must differ"));
            }
        }
    }

    fn find_wrong_selector(&mut self, path: &str, selector: &LabelSelector) {
        for (place, expression) in selector.match_expressions.iter().flatten().enumerate() {
            let path = format!("{path}.matchExpressions[{place}]");
            let LabelSelectorRequirement { key, operator, values } = expression;
            if let Err(expected) = label_key(key) {
                self.add(&format!("{path}.key"), format!("expected {expected}; found {key:?}"));
            }
            self.find_no_choice(&format!("{path}.operator"), [operator], &["In", "NotIn", "Exists", "DoesNotExist"]);
            let has_values = values.iter().flatten().next().is_some();
            match operator.as_str() {
                "In" | "NotIn" if !has_values => self.add(&format!("{path}.values"), "expected at least one"),
                "Exists" | "DoesNotExist" if has_values => self.add(&format!("{path}.values"), "expected none"),
                _ => {}
            }
        }
    }

    fn add(&mut self, path: &str, text: impl Into<String>) {
        self.0.push(Finding::new(path, text));
    }
}
