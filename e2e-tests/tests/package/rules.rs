//! The rules by which an API server sends requests: those that are somebody's job.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// The requests that are somebody's job, less those that are opt-in: group, resource, operation.
pub fn known_rules() -> BTreeSet<Rule> {
    let both = ["CREATE", "UPDATE"];
    let core = rules_for("", &["pods", "namespaces", "replicationcontrollers", "podtemplates"], &both);
    let bindings = rules_for("", &["pods/binding", "bindings"], &["CREATE"]);
    let apps = rules_for("apps", &["deployments", "replicasets", "statefulsets", "daemonsets"], &both);
    let batch = rules_for("batch", &["jobs", "cronjobs"], &both);
    [core, bindings, apps, batch].into_iter().flatten().collect()
}

/// What an administrator has to ask for.
pub fn opt_in_rules() -> BTreeSet<Rule> {
    let nodes = rules_for("", &["nodes"], &["CREATE", "UPDATE"]);
    let statuses = rules_for("", &["nodes/status", "pods/status"], &["UPDATE"]);
    nodes.into_iter().chain(statuses).collect()
}

pub type Rule = (String, String, String);

fn rules_for(group: &str, resources: &[&str], operations: &[&str]) -> Vec<Rule> {
    let rules_of = |resource| operations.iter().map(move |operation| rule(group, resource, operation));
    resources.iter().flat_map(|resource| rules_of(resource)).collect()
}

pub fn rule(group: &str, resource: &str, operation: &str) -> Rule {
    (group.to_owned(), resource.to_owned(), operation.to_owned())
}

/// The rules in a list as webhooks have it, one by one.
pub fn rules(list: &Value) -> Result<BTreeSet<Rule>> {
    let mut rules = BTreeSet::new();
    for entry in list.as_array().context("expected a list of rules")? {
        ensure!(entry["apiVersions"] == json!(["v1"]), "expected apiVersions [v1]: {entry}");
        for group in strings(&entry["apiGroups"]) {
            for resource in strings(&entry["resources"]) {
                rules.extend(strings(&entry["operations"]).map(|operation| rule(group, resource, operation)));
            }
        }
    }
    Ok(rules)
}

pub fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
