use std::ops::RangeInclusive;

use node_placement_policy::selector::syntax::label_key;
use serde_json::Value;

const FIELDS: [&str; 18] = [
    "allowInsideAdmissionControllerNamespace",
    "backgroundAudit",
    "contextAwareResources",
    "failurePolicy",
    "matchConditions",
    "matchPolicy",
    "message",
    "mode",
    "module",
    "mutating",
    "namespaceSelector",
    "objectSelector",
    "policyServer",
    "rules",
    "settings",
    "sideEffects",
    "timeoutEvalSeconds",
    "timeoutSeconds",
];
const RULE_FIELDS: [&str; 5] = ["apiGroups", "apiVersions", "operations", "resources", "scope"];
const SELECTOR_FIELDS: [&str; 2] = ["matchExpressions", "matchLabels"];
const EXPRESSION_FIELDS: [&str; 3] = ["key", "operator", "values"];
const CONDITION_FIELDS: [&str; 2] = ["expression", "name"];
const LOOK_UP_FIELDS: [&str; 2] = ["apiVersion", "kind"];

const OPERATIONS: [&str; 5] = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];
const SCOPES: [&str; 3] = ["*", "Namespaced", "Cluster"];
const MOST_CONDITIONS: usize = 64;

const CHOICES: [(&str, [&str; 2]); 4] = [
    ("mode", ["protect", "monitor"]),
    ("failurePolicy", ["Fail", "Ignore"]),
    ("matchPolicy", ["Equivalent", "Exact"]),
    ("sideEffects", ["None", "NoneOnDryRun"]),
];

const TIMEOUT: &str = "timeoutSeconds";
const EVALUATION_TIMEOUT: &str = "timeoutEvalSeconds";
const SECONDS: RangeInclusive<i64> = 2..=30;
/// Of requests, where nothing is said.
const USUAL_SECONDS: i64 = 10;

/// What in the `spec` of a ClusterAdmissionPolicy can't be meant, a line for each: some the API server or Kubewarden's own
/// webhook refuse, with some no webhook can be made of it, and fields that nobody knows are dropped, which is worse.
pub fn refusals(spec: &Value) -> Vec<String> {
    let mut refusals = Refusals::default();
    refusals.find_unknown_fields(spec);
    refusals.find_wrong_values(spec);
    refusals.find_wrong_timeouts(spec);
    refusals.find_wrong_rules(spec);
    refusals.find_wrong_conditions(spec);
    refusals.0
}

#[derive(Default)]
struct Refusals(Vec<String>);

impl Refusals {
    fn find_unknown_fields(&mut self, spec: &Value) {
        self.find_unknown("spec", spec, &FIELDS);
        self.find_unknown_in_list("spec.rules", &spec["rules"], &RULE_FIELDS);
        self.find_unknown_in_list("spec.matchConditions", &spec["matchConditions"], &CONDITION_FIELDS);
        self.find_unknown_in_list("spec.contextAwareResources", &spec["contextAwareResources"], &LOOK_UP_FIELDS);
        for selector in ["namespaceSelector", "objectSelector"] {
            let path = format!("spec.{selector}");
            self.find_unknown(&path, &spec[selector], &SELECTOR_FIELDS);
            let expressions = &spec[selector]["matchExpressions"];
            self.find_unknown_in_list(&format!("{path}.matchExpressions"), expressions, &EXPRESSION_FIELDS);
        }
    }

    fn find_unknown_in_list(&mut self, path: &str, list: &Value, known: &[&str]) {
        for (place, element) in elements(list).iter().enumerate() {
            self.find_unknown(&format!("{path}[{place}]"), element, known);
        }
    }

    fn find_unknown(&mut self, path: &str, object: &Value, known: &[&str]) {
        let fields = object.as_object().into_iter().flat_map(|object| object.keys());
        for field in fields.filter(|field| !known.contains(&field.as_str())) {
            self.refuse(format!("{path}.{field}: unknown field; expected one of {}", known.join(", ")));
        }
    }

    fn find_wrong_values(&mut self, spec: &Value) {
        if spec["module"].is_null() {
            self.refuse("spec.module: missing; expected where the module is, such as registry://…");
        }
        match &spec["mutating"] {
            Value::Bool(_) => {}
            Value::Null => self.refuse("spec.mutating: missing; expected true or false"),
            other => self.refuse(format!("spec.mutating: expected true or false; found {other}")),
        }
        for (field, choices) in CHOICES {
            self.find_no_choice(&format!("spec.{field}"), &spec[field], &choices);
        }
    }

    fn find_no_choice(&mut self, path: &str, found: &Value, choices: &[&str]) {
        if !found.is_null() && !choices.iter().any(|choice| found == choice) {
            self.refuse(format!("{path}: expected one of {}; found {found}", choices.join(", ")));
        }
    }

    fn find_wrong_timeouts(&mut self, spec: &Value) {
        for field in [TIMEOUT, EVALUATION_TIMEOUT] {
            let found = &spec[field];
            if !found.is_null() && !found.as_i64().is_some_and(|seconds| SECONDS.contains(&seconds)) {
                let (least, most) = (SECONDS.start(), SECONDS.end());
                self.refuse(format!(
                    "spec.{field}: expected a number of seconds from {least} to {most}; found {found}"
                ));
            }
        }
        let timeout = if spec[TIMEOUT].is_null() { Some(USUAL_SECONDS) } else { spec[TIMEOUT].as_i64() };
        let evaluation = spec[EVALUATION_TIMEOUT].as_i64().filter(|seconds| SECONDS.contains(seconds));
        if let (Some(timeout), Some(evaluation)) = (timeout, evaluation)
            && evaluation > timeout
        {
            self.refuse(format!(
                "spec.{EVALUATION_TIMEOUT}: expected at most {TIMEOUT}, which is {timeout}; found {evaluation}"
            ));
        }
    }

    fn find_wrong_rules(&mut self, spec: &Value) {
        let rules = elements(&spec["rules"]);
        if rules.is_empty() {
            self.refuse("spec.rules: expected at least one: the policy is never asked");
        }
        for (place, rule) in rules.iter().enumerate() {
            let path = format!("spec.rules[{place}]");
            for field in ["apiGroups", "apiVersions", "operations", "resources"] {
                let elements = elements(&rule[field]);
                if elements.is_empty() {
                    self.refuse(format!("{path}.{field}: expected at least one"));
                }
                // The core group is called so.
                if field != "apiGroups" && elements.iter().any(|element| element == "") {
                    self.refuse(format!("{path}.{field}: expected no empty text"));
                }
            }
            for operation in elements(&rule["operations"]).iter().filter(|operation| *operation != "") {
                self.find_no_choice(&format!("{path}.operations"), operation, &OPERATIONS);
            }
            self.find_no_choice(&format!("{path}.scope"), &rule["scope"], &SCOPES);
        }
    }

    fn find_wrong_conditions(&mut self, spec: &Value) {
        let conditions = elements(&spec["matchConditions"]);
        if conditions.len() > MOST_CONDITIONS {
            self.refuse(format!(
                "spec.matchConditions: expected at most {MOST_CONDITIONS}; found {}",
                conditions.len()
            ));
        }
        for (place, condition) in conditions.iter().enumerate() {
            let path = format!("spec.matchConditions[{place}]");
            if condition["expression"].as_str().is_none_or(|text| text.trim().is_empty()) {
                self.refuse(format!("{path}.expression: expected an expression; found {}", condition["expression"]));
            }
            let name = &condition["name"];
            if let Err(expected) = label_key(name.as_str().unwrap_or_default()) {
                self.refuse(format!("{path}.name: expected {expected}; found {name}"));
            } else if conditions.iter().take(place).any(|earlier| &earlier["name"] == name) {
                self.refuse(format!("{path}.name: {name} stands there already; names must differ"));
            }
        }
    }

    fn refuse(&mut self, line: impl Into<String>) {
        self.0.push(line.into());
    }
}

fn elements(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}
