use serde_json::Value;

use crate::{
    Deployment,
    refusals::refusals,
    settings_file::{NODE_METADATA, PLACEMENT, PLUGIN_CONFIGS},
};

/// Conditions of the examples, by their names, and what they keep away.
const BOUND_PODS: &str = "placement-can-still-change";
const BOUND_PODS_BUT_TOLERATIONS: &str = "placement-or-tolerations-can-still-change";
const TERMINATING_PODS: &str = "not-being-deleted";

/// What is wrong around the settings of a policy: a line for each. `docs/operating.md` tells which settings need which conditions.
#[derive(Debug, Default)]
pub struct Traps {
    /// What the API server refuses, and what breaks the policy or makes a hole in it.
    pub mistakes: Vec<String>,
    /// What can be meant so.
    pub remarks: Vec<String>,
}

/// Looks at all of a deployment but what it lacks.
pub fn traps(settings: &Value, deployment: &Deployment) -> Traps {
    let spec = &deployment.spec;
    let mut traps = Traps { mistakes: refusals(spec), remarks: vec![] };
    let features = Features::of(settings);
    if spec["failurePolicy"] == "Ignore" && !deployment.only_reports() {
        for feature in features.need_fail {
            let hole = "with Ignore, who means to gets past it at will";
            let problem = format!("spec.failurePolicy: Ignore, but {feature} needs Fail: {hole}");
            if deployment.only_monitors() {
                traps.remarks.push(format!("{problem}, as soon as the policy protects"));
            } else {
                traps.mistakes.push(problem);
            }
        }
    }
    // Conditions of these names are about updates of Pods.
    if deployment.sends("", "pods", "UPDATE") {
        for (feature, conditions) in features.broken_by {
            for condition in conditions.iter().filter(|name| has_condition(deployment, name)) {
                traps.mistakes.push(format!(
                    "spec.matchConditions: {condition:?} keeps updates away that {feature} is about; leave it out"
                ));
            }
        }
    }
    if spec["mutating"] == false && !deployment.only_reports() && writes(settings, deployment) {
        traps.remarks.push(
            "spec.mutating: false, and so what the settings would write is rejected; examples/verify.yml does that to \
             prove that nothing is missing"
                .to_owned(),
        );
    }
    let rules = spec["rules"].as_array().into_iter().flatten();
    let mut resources = rules.flat_map(|rule| rule["resources"].as_array().into_iter().flatten());
    let has_subresource = resources.any(|resource| resource.as_str().is_some_and(|resource| resource.contains('/')));
    // It is true where nothing is said.
    if has_subresource && spec["backgroundAudit"] != false {
        traps.remarks.push(
            "spec.backgroundAudit: true, but the audit scanner counts a policy whose rules have subresources as \
             errored; say false"
                .to_owned(),
        );
    }
    traps
}

/// Settings that are in effect.
#[derive(Default)]
struct Features {
    need_fail: Vec<String>,
    /// Each with the conditions that keep away what it is about.
    broken_by: Vec<(String, &'static [&'static str])>,
}

impl Features {
    fn of(settings: &Value) -> Self {
        let mut features = Self::default();
        let is_there = |value: &Value| !value.is_null();
        for block in [PLACEMENT].into_iter().chain(PLUGIN_CONFIGS).filter(|block| is_there(&settings[*block])) {
            features.need_fail.push(block.to_owned());
        }
        let bound: &[&str] = &[BOUND_PODS];
        let [_, tolerations] = PLUGIN_CONFIGS;
        if is_there(&settings[tolerations]) {
            features.broken_by.push((tolerations.to_owned(), bound));
        }
        let placement = &settings[PLACEMENT];
        for judge in ["allowedTolerations", "forbiddenTolerations"] {
            if any(&placement["namespaces"], |entry| is_there(&entry[judge])) {
                features.broken_by.push((format!("placement.namespaces[].{judge}"), bound));
            }
        }
        if placement["onTolerationAnnotations"] == "Honor" {
            features.broken_by.push(("placement.onTolerationAnnotations".to_owned(), bound));
        }
        let metadata = &settings[NODE_METADATA];
        let bound: &[&str] = &[BOUND_PODS, BOUND_PODS_BUT_TOLERATIONS];
        if any(&metadata["propagate"], |entry| is_there(&entry["default"])) {
            features.broken_by.push(("nodeMetadata.propagate[].default".to_owned(), bound));
        }
        if any(&metadata["propagate"], |entry| entry["required"] == true) {
            features.need_fail.push("nodeMetadata.propagate[].required".to_owned());
            features.broken_by.push(("nodeMetadata.propagate[].required".to_owned(), bound));
        }
        if metadata["protect"] == true {
            features.need_fail.push("nodeMetadata.protect".to_owned());
            let all: &[&str] = &[BOUND_PODS, BOUND_PODS_BUT_TOLERATIONS, TERMINATING_PODS];
            features.broken_by.push(("nodeMetadata.protect".to_owned(), all));
        }
        features
    }
}

/// Whether the settings write something into what the rules send.
fn writes(settings: &Value, deployment: &Deployment) -> bool {
    let has = |block: &str| !settings[block].is_null();
    let sends = |group, resource, operations: &[&str]| {
        operations.iter().any(|operation| deployment.sends(group, resource, operation))
    };
    let places = has(PLACEMENT) || PLUGIN_CONFIGS.into_iter().any(has);
    let on_daemon_sets = settings[PLACEMENT]["onDaemonSets"].as_str().unwrap_or("Inject");
    let injects = has(PLACEMENT) && on_daemon_sets == "Inject";
    (places || has(NODE_METADATA)) && sends("", "pods", &["CREATE"])
        || injects && sends("apps", "daemonsets", &["CREATE", "UPDATE"])
        || has(NODE_METADATA) && sends("", "pods/binding", &["CREATE"])
        || has(NODE_METADATA) && sends("", "bindings", &["CREATE"])
}

fn has_condition(deployment: &Deployment, name: &str) -> bool {
    deployment.match_conditions.iter().any(|condition| condition["name"] == name)
}

fn any(list: &Value, holds: impl Fn(&Value) -> bool) -> bool {
    list.as_array().into_iter().flatten().any(holds)
}
