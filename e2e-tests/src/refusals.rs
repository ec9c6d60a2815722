use std::ops::RangeInclusive;

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
const CONDITION_FIELDS: [&str; 2] = ["expression", "name"];

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

/// What the API server, or Kubewarden's own webhook, refuses in the `spec` of a ClusterAdmissionPolicy: a line for each.
/// Fields that nobody knows are dropped, which is worse.
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
        for (list, known) in [("rules", RULE_FIELDS.as_slice()), ("matchConditions", &CONDITION_FIELDS)] {
            for (place, element) in elements(&spec[list]).iter().enumerate() {
                self.find_unknown(&format!("spec.{list}[{place}]"), element, known);
            }
        }
        for selector in ["namespaceSelector", "objectSelector"] {
            self.find_unknown(&format!("spec.{selector}"), &spec[selector], &SELECTOR_FIELDS);
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
            let found = &spec[field];
            if !found.is_null() && !choices.iter().any(|choice| found == choice) {
                self.refuse(format!("spec.{field}: expected one of {}; found {found}", choices.join(", ")));
            }
        }
    }

    fn find_wrong_timeouts(&mut self, spec: &Value) {
        for field in [TIMEOUT, EVALUATION_TIMEOUT] {
            let found = &spec[field];
            if !found.is_null() && !found.as_i64().is_some_and(|seconds| SECONDS.contains(&seconds)) {
                self.refuse(format!("spec.{field}: expected a number of seconds from 2 to 30; found {found}"));
            }
        }
        let timeout = spec[TIMEOUT].as_i64().unwrap_or(USUAL_SECONDS);
        if let Some(evaluation) = spec[EVALUATION_TIMEOUT].as_i64().filter(|evaluation| *evaluation > timeout) {
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
            for field in ["apiGroups", "apiVersions", "operations", "resources"] {
                if elements(&rule[field]).is_empty() {
                    self.refuse(format!("spec.rules[{place}].{field}: expected at least one"));
                }
            }
        }
    }

    fn find_wrong_conditions(&mut self, spec: &Value) {
        let conditions = elements(&spec["matchConditions"]);
        for (place, condition) in conditions.iter().enumerate() {
            let path = format!("spec.matchConditions[{place}]");
            for field in CONDITION_FIELDS {
                if condition[field].as_str().is_none_or(|text| text.trim().is_empty()) {
                    self.refuse(format!("{path}.{field}: missing; each condition has a name and an expression"));
                }
            }
            let earlier = conditions.iter().take(place);
            let name = &condition["name"];
            if name.is_string() && earlier.into_iter().any(|earlier| &earlier["name"] == name) {
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
