//! What in a ClusterAdmissionPolicy the API server refuses, Kubewarden's own webhook refuses, or nobody knows.

use std::ops::RangeInclusive;

use k8s_openapi::{
    api::admissionregistration::v1::{MatchCondition, RuleWithOperations},
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta},
};
use node_placement_policy::{
    json::error::most_alike,
    selector::{
        Invalid,
        syntax::{is_subdomain, label_key},
    },
};
use serde::Deserialize;
use serde_aux::serde_introspection::serde_introspect;
use serde_json::Value;

use super::finding::{Finding, Findings};
use crate::{
    cluster::selectors::requirement,
    engine,
    input::json::{all_wrong, typed},
    policies::overrides::NAME_OF_AN_OBJECT,
    webhook::policy_spec::{ContextAwareResource, PolicySpec},
};

const API_VERSION: &str = "policies.kubewarden.io/v1";
const MOST_CONDITIONS: usize = 64;
const SECONDS: RangeInclusive<i64> = 2..=30;
/// The default of `timeoutSeconds`.
const DEFAULT_SECONDS: i64 = 10;

/// Where a policy-server finds modules.
const SCHEMES: [&str; 4] = ["registry", "https", "http", "file"];

/// The path of a policy's name.
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

/// Adds what is wrong beside the `spec`.
pub fn find_beside_spec(policy: &Value, findings: &mut Findings) {
    let (wrong, rest) = all_wrong(policy, |policy| typed::<Envelope>(policy, "").err()?.downcast().ok());
    findings.mistakes.extend(wrong.into_iter().map(Finding::from));
    let Ok((envelope, unknown_fields)) = typed::<Envelope>(&rest, "") else { return };
    add_unknown(&unknown_fields, findings);
    let found = envelope.api_version.unwrap_or_default();
    if found != API_VERSION {
        findings.mistake("apiVersion", format!("expected {API_VERSION}; found {found}"));
    }
    let name = envelope.metadata.and_then(|metadata| metadata.name);
    if let Some(name) = name.filter(|name| !is_subdomain(name)) {
        findings.mistake(NAME, format!("expected {NAME_OF_AN_OBJECT}; found {name:?}"));
    }
}

/// Adds what is wrong in the `spec`: all unknown fields, and all wrong values.
pub fn find(policy: &PolicySpec, findings: &mut Findings) {
    add_unknown(&policy.unknown_fields, findings);
    find_in_module(policy, findings);
    if policy.mutating.is_none() {
        findings.mistake("spec.mutating", "missing; expected true or false");
    }
    let choices: [(&str, &Option<String>, &[&str]); 4] = [
        ("failurePolicy", &policy.failure_policy, &["Fail", "Ignore"]),
        ("matchPolicy", &policy.match_policy, &["Equivalent", "Exact"]),
        ("mode", &policy.mode, &["monitor", "protect"]),
        ("sideEffects", &policy.side_effects, &["None", "NoneOnDryRun"]),
    ];
    for (field, found, expected) in choices {
        add_no_choice(&format!("spec.{field}"), found, expected, findings);
    }
    find_in_timeouts(policy, findings);
    if policy.rules.is_empty() {
        findings.mistake("spec.rules", "expected at least one: the policy is never asked");
    }
    for (position, rule) in policy.rules.iter().enumerate() {
        find_in_rule(&format!("spec.rules[{position}]"), rule, findings);
    }
    find_in_conditions(policy, findings);
    find_in_selector("spec.namespaceSelector", &policy.namespace_selector, findings);
    if policy.covered_namespaces().contradiction().is_some() {
        let text = "no namespace meets all of its expressions, so the policy is never asked about one; correct them";
        findings.mistake("spec.namespaceSelector", text);
    }
    find_in_selector("spec.objectSelector", &policy.object_selector, findings);
}

/// Finds all wrong types and unknown fields of the `spec` of a policy that can't be read.
pub fn find_wrong_types(policy: &Value, findings: &mut Findings) {
    let (wrong, rest) = all_wrong(policy, |policy| PolicySpec::read(&policy["spec"]).err()?.downcast().ok());
    findings.mistakes.extend(wrong.into_iter().map(Finding::from));
    if let Ok(spec) = PolicySpec::read(&rest["spec"]) {
        add_unknown(&spec.unknown_fields, findings);
    }
    findings.mistakes.extend(engine::policy::mistakes(&policy["spec"]["settings"]).into_iter().map(Finding::from));
}

/// Fields that the API server drops, each with the known field that looks most like it.
fn add_unknown(paths: &[String], findings: &mut Findings) {
    for path in paths {
        let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
        let mut known = known_fields(parent).to_vec();
        known.sort_unstable();
        let text = match most_alike(field, &known) {
            Some(alike) => format!("unknown field; did you mean {alike}?"),
            None if known.is_empty() => "unknown field".to_owned(),
            None => format!("unknown field; expected one of {}", known.join(", ")),
        };
        findings.mistake(path, text);
    }
}

/// Returns the fields of the object at a path.
fn known_fields(path: &str) -> &'static [&'static str] {
    let step = path.rsplit('.').next().unwrap_or_default();
    match step.split('[').next().unwrap_or_default() {
        "" => serde_introspect::<Envelope>(),
        "metadata" => serde_introspect::<ObjectMeta>(),
        "rules" => serde_introspect::<RuleWithOperations>(),
        "matchConditions" => serde_introspect::<MatchCondition>(),
        "contextAwareResources" => serde_introspect::<ContextAwareResource>(),
        "namespaceSelector" | "objectSelector" => serde_introspect::<LabelSelector>(),
        "matchExpressions" => serde_introspect::<LabelSelectorRequirement>(),
        "spec" => serde_introspect::<PolicySpec>(),
        // Deeper in the metadata.
        _ => &[],
    }
}

fn add_no_choice<'f>(
    path: &str,
    found: impl IntoIterator<Item = &'f String>,
    expected: &[&str],
    findings: &mut Findings,
) {
    for found in found.into_iter().filter(|found| !expected.contains(&found.as_str())) {
        findings.mistake(path, format!("expected one of {}; found {found:?}", expected.join(", ")));
    }
}

fn find_in_module(policy: &PolicySpec, findings: &mut Findings) {
    let Some(module) = &policy.module else { return findings.mistake("spec.module", "missing") };
    // Without a scheme it is in a registry.
    let scheme = module.split_once("://").map(|(scheme, _)| scheme);
    if let Some(scheme) = scheme.filter(|scheme| !SCHEMES.contains(scheme)) {
        findings.mistake("spec.module", format!("expected one of {}://…; found {scheme}://", SCHEMES.join("://…, ")));
    }
}

fn find_in_timeouts(policy: &PolicySpec, findings: &mut Findings) {
    let PolicySpec { timeout_seconds, timeout_eval_seconds, .. } = policy;
    let (least, most) = (SECONDS.start(), SECONDS.end());
    for (field, seconds) in [("timeoutSeconds", timeout_seconds), ("timeoutEvalSeconds", timeout_eval_seconds)] {
        if let Some(found) = seconds.filter(|seconds| !SECONDS.contains(seconds)) {
            findings
                .mistake(format!("spec.{field}"), format!("expected from {least} to {most} seconds; found {found}"));
        }
    }
    let timeout = timeout_seconds.unwrap_or(DEFAULT_SECONDS);
    if let Some(found) = timeout_eval_seconds.filter(|seconds| SECONDS.contains(seconds) && *seconds > timeout) {
        let text = format!("expected at most timeoutSeconds, which is {timeout}; found {found}");
        findings.mistake("spec.timeoutEvalSeconds", text);
    }
}

fn find_in_rule(path: &str, rule: &RuleWithOperations, findings: &mut Findings) {
    let lists = [
        ("apiGroups", &rule.api_groups),
        ("apiVersions", &rule.api_versions),
        ("operations", &rule.operations),
        ("resources", &rule.resources),
    ];
    for (field, list) in lists {
        let list = list.as_deref().unwrap_or_default();
        if list.is_empty() {
            findings.mistake(format!("{path}.{field}"), "expected at least one");
        }
        // The core group is called so.
        if field != "apiGroups" && list.iter().any(String::is_empty) {
            findings.mistake(format!("{path}.{field}"), "expected no empty text");
        }
    }
    let operations = rule.operations.iter().flatten().filter(|operation| !operation.is_empty());
    let expected = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];
    add_no_choice(&format!("{path}.operations"), operations, &expected, findings);
    add_no_choice(&format!("{path}.scope"), &rule.scope, &["*", "Namespaced", "Cluster"], findings);
}

fn find_in_conditions(policy: &PolicySpec, findings: &mut Findings) {
    let conditions = &policy.match_conditions;
    if conditions.len() > MOST_CONDITIONS {
        let text = format!("expected at most {MOST_CONDITIONS}; found {}", conditions.len());
        findings.mistake("spec.matchConditions", text);
    }
    for (position, condition) in conditions.iter().enumerate() {
        let (path, name) = (format!("spec.matchConditions[{position}]"), &condition.name);
        if let Some(mistake) = condition.mistake() {
            findings.mistake(format!("{path}.expression"), mistake);
        }
        if let Err(expected) = label_key(name) {
            findings.mistake(format!("{path}.name"), format!("expected {expected}; found {name:?}"));
        } else if conditions.iter().take(position).any(|before| before.name == *name) {
            findings.mistake(format!("{path}.name"), format!("{name:?} stands there already; names must differ"));
        }
    }
}

fn find_in_selector(path: &str, selector: &LabelSelector, findings: &mut Findings) {
    for (position, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let path = format!("{path}.matchExpressions[{position}]");
        let operators = ["In", "NotIn", "Exists", "DoesNotExist"];
        add_no_choice(&format!("{path}.operator"), [&expression.operator], &operators, findings);
        match requirement(expression) {
            None | Some(Ok(_)) => {}
            Some(Err(Invalid::Key(expected))) => {
                findings.mistake(format!("{path}.key"), format!("expected {expected}; found {:?}", expression.key));
            }
            Some(Err(Invalid::Value(value, expected))) => {
                findings.mistake(format!("{path}.values"), format!("expected {expected}; found {value:?}"));
            }
            Some(Err(Invalid::Count(expected))) => {
                findings.mistake(format!("{path}.values"), format!("expected {expected}"));
            }
        }
    }
}
