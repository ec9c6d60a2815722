//! What in the `spec` of a ClusterAdmissionPolicy the API server refuses, Kubewarden's own webhook refuses, or nobody knows.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::LazyLock};

use serde_json::Value;

use crate::{engine::native::label_key, input::json::list_of as list};

/// Of Kubewarden's custom resource, as its SDK has it; a test holds the file to that.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("cluster_admission_policy.schema.json")).expect("a test has read it")
});

const OPERATIONS: [&str; 5] = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];
const SCOPES: [&str; 3] = ["*", "Namespaced", "Cluster"];
const MOST_CONDITIONS: usize = 64;

const TIMEOUT: &str = "timeoutSeconds";
const EVALUATION_TIMEOUT: &str = "timeoutEvalSeconds";
const SECONDS: RangeInclusive<i64> = 2..=30;
/// Of requests, where nothing is said.
const DEFAULT_SECONDS: i64 = 10;

/// The mistakes in `spec`, a line each. Fields that nobody knows are among them: the API server drops them.
pub fn crd_mistakes(spec: &Value) -> Vec<String> {
    let mut mistakes = Mistakes::default();
    mistakes.find_by_schema("spec", spec, &SCHEMA);
    if spec["mutating"].is_null() {
        mistakes.add("spec.mutating: missing; expected true or false");
    }
    mistakes.find_wrong_timeouts(spec);
    mistakes.find_wrong_rules(spec);
    mistakes.find_wrong_conditions(spec);
    mistakes.0
}

#[derive(Default)]
struct Mistakes(Vec<String>);

impl Mistakes {
    /// What has no place in the schema. What is null is absent.
    fn find_by_schema(&mut self, path: &str, value: &Value, schema: &Value) {
        if value.is_null() {
            return;
        }
        let alternatives = alternatives(schema);
        let choices: BTreeSet<&str> = alternatives.iter().flat_map(|schema| choices(schema)).collect();
        if !choices.is_empty() {
            return self.find_no_choice(path, value, &choices.into_iter().collect::<Vec<_>>());
        }
        let types: Vec<&str> =
            alternatives.iter().flat_map(|schema| types(schema)).filter(|it| *it != "null").collect();
        if !types.is_empty() && !types.iter().any(|expected| is_of(value, expected)) {
            let expected: Vec<&str> = types.iter().map(|expected| in_words(expected)).collect();
            return self.add(format!("{path}: expected {}; found {value}", expected.join(" or ")));
        }
        for schema in alternatives {
            for (place, element) in list(value).iter().enumerate() {
                self.find_by_schema(&format!("{path}[{place}]"), element, &schema["items"]);
            }
            self.find_by_properties(path, value, schema);
        }
    }

    fn find_by_properties(&mut self, path: &str, object: &Value, schema: &Value) {
        let (Some(fields), Some(known)) = (object.as_object(), schema["properties"].as_object()) else { return };
        for (field, value) in fields {
            match known.get(field) {
                Some(schema) => self.find_by_schema(&format!("{path}.{field}"), value, schema),
                None => {
                    let known: BTreeSet<&str> = known.keys().map(String::as_str).collect();
                    let known: Vec<&str> = known.into_iter().collect();
                    self.add(format!("{path}.{field}: unknown field; expected one of {}", known.join(", ")));
                }
            }
        }
        for field in list(&schema["required"]).iter().filter_map(Value::as_str) {
            if fields.get(field).is_none_or(Value::is_null) {
                self.add(format!("{path}.{field}: missing"));
            }
        }
    }

    fn find_no_choice(&mut self, path: &str, found: &Value, choices: &[&str]) {
        if !found.is_null() && !choices.iter().any(|choice| found == choice) {
            self.add(format!("{path}: expected one of {}; found {found}", choices.join(", ")));
        }
    }

    fn find_wrong_timeouts(&mut self, spec: &Value) {
        for field in [TIMEOUT, EVALUATION_TIMEOUT] {
            if let Some(seconds) = spec[field].as_i64().filter(|seconds| !SECONDS.contains(seconds)) {
                let (least, most) = (SECONDS.start(), SECONDS.end());
                self.add(format!("spec.{field}: expected from {least} to {most} seconds; found {seconds}"));
            }
        }
        let timeout = spec[TIMEOUT].as_i64().unwrap_or(DEFAULT_SECONDS);
        let evaluation = spec[EVALUATION_TIMEOUT].as_i64().filter(|seconds| SECONDS.contains(seconds));
        if let Some(evaluation) = evaluation.filter(|evaluation| *evaluation > timeout) {
            self.add(format!(
                "spec.{EVALUATION_TIMEOUT}: expected at most {TIMEOUT}, which is {timeout}; found {evaluation}"
            ));
        }
    }

    fn find_wrong_rules(&mut self, spec: &Value) {
        let rules = list(&spec["rules"]);
        if rules.is_empty() {
            self.add("spec.rules: expected at least one: the policy is never asked");
        }
        for (place, rule) in rules.iter().enumerate() {
            let path = format!("spec.rules[{place}]");
            for field in ["apiGroups", "apiVersions", "operations", "resources"] {
                let elements = list(&rule[field]);
                if elements.is_empty() {
                    self.add(format!("{path}.{field}: expected at least one"));
                }
                // The core group is called so.
                if field != "apiGroups" && elements.iter().any(|element| element == "") {
                    self.add(format!("{path}.{field}: expected no empty text"));
                }
            }
            for operation in list(&rule["operations"]).iter().filter(|operation| *operation != "") {
                self.find_no_choice(&format!("{path}.operations"), operation, &OPERATIONS);
            }
            self.find_no_choice(&format!("{path}.scope"), &rule["scope"], &SCOPES);
        }
    }

    fn find_wrong_conditions(&mut self, spec: &Value) {
        let conditions = list(&spec["matchConditions"]);
        if conditions.len() > MOST_CONDITIONS {
            let found = conditions.len();
            self.add(format!("spec.matchConditions: expected at most {MOST_CONDITIONS}; found {found}"));
        }
        for (place, condition) in conditions.iter().enumerate() {
            let path = format!("spec.matchConditions[{place}]");
            if condition["expression"].as_str().is_none_or(|text| text.trim().is_empty()) {
                self.add(format!("{path}.expression: expected an expression; found {}", condition["expression"]));
            }
            let name = &condition["name"];
            if let Err(expected) = label_key(name.as_str().unwrap_or_default()) {
                self.add(format!("{path}.name: expected {expected}; found {name}"));
            } else if conditions.iter().take(place).any(|earlier| &earlier["name"] == name) {
                self.add(format!("{path}.name: {name} stands there already; names must differ"));
            }
        }
    }

    fn add(&mut self, line: impl Into<String>) {
        self.0.push(line.into());
    }
}

/// The schemas of which one must hold, with what they refer to.
fn alternatives(schema: &Value) -> Vec<&Value> {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) {
        return alternatives(&SCHEMA["$defs"][name]);
    }
    let of = ["anyOf", "oneOf", "allOf"].into_iter().find(|of| schema[*of].is_array());
    match of {
        Some(of) => list(&schema[of]).iter().flat_map(alternatives).collect(),
        None => vec![schema],
    }
}

fn choices(schema: &Value) -> impl Iterator<Item = &str> {
    list(&schema["enum"]).iter().chain([&schema["const"]]).filter_map(Value::as_str)
}

fn types(schema: &Value) -> impl Iterator<Item = &str> {
    list(&schema["type"]).iter().chain([&schema["type"]]).filter_map(Value::as_str)
}

fn is_of(value: &Value, expected: &str) -> bool {
    match expected {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        _ => true,
    }
}

fn in_words(expected: &str) -> &str {
    match expected {
        "object" => "an object",
        "array" => "a list",
        "string" => "a text",
        "boolean" => "true or false",
        "integer" => "a number",
        other => other,
    }
}
