//! Rules that are missing.

use std::collections::BTreeMap;

use crate::{
    SettingsFile,
    check::finding::{Finding, Findings},
    input::policy_spec::PolicySpec,
    policies::required_rules::{Feature, Request},
    requests::resource::group_of,
};

/// Holds the rules of a policy to what its settings need. It is one of the `policies` of a deployment: what another one
/// sends for the same setting is not missing.
pub fn find(file: &SettingsFile, policy: &PolicySpec, policies: &[SettingsFile]) -> Findings {
    let mut findings = Findings::default();
    // It proves what another policy did, or reports. To guard Nodes, nothing need be changed either.
    if policy.mutating == Some(false) && !policy.is_about_nodes() {
        return findings;
    }
    let mut told = vec![];
    for feature in Feature::due(file) {
        let unsent = feature.essential().filter(|request| !is_sent(feature, *request, policies));
        let Some(request) = unsent.filter(|request| !told.contains(request)) else { continue };
        told.push(request);
        let (setting, otherwise) = (feature.named(&file.settings), &feature.otherwise);
        let text = format!("no {}, which {setting} needs: {otherwise}; add the rule", in_words(request.1, request.2));
        findings.mistakes.push(Finding::new("spec.rules", text));
    }
    findings.remarks = missing(file, policies, &told);
    findings
}

/// What else is missing, a line for each resource.
fn missing(file: &SettingsFile, policies: &[SettingsFile], told: &[Request]) -> Vec<Finding> {
    let mut missing: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for feature in Feature::due(file) {
        for request in feature.requests() {
            if told.contains(&request) || is_sent(feature, request, policies) {
                continue;
            }
            let (_, resource, operation) = request;
            let (operations, reasons) = missing.entry(resource).or_default();
            push_new(operations, operation);
            push_new(reasons, &feature.otherwise);
        }
    }
    let line = |(resource, (operations, reasons)): (&str, (Vec<&str>, Vec<&str>))| {
        let what = in_words(resource, &operations.join(", "));
        Finding::new("spec.rules", format!("no {what}: {}; add the rule", reasons.join("; ")))
    };
    missing.into_iter().map(line).collect()
}

/// Whether one of the policies that have a feature sends a request to itself.
fn is_sent(feature: &Feature, request: Request, policies: &[SettingsFile]) -> bool {
    let sends = |file: &&SettingsFile| file.policy.as_ref().is_some_and(|policy| policy.sends(request));
    policies.iter().filter(sends).any(|file| feature.is_in(&file.settings))
}

/// `CREATE of pods (apiGroup "")`
fn in_words(resource: &str, operations: &str) -> String {
    let group = if group_of(resource).is_empty() { "\"\"" } else { group_of(resource) };
    format!("{operations} of {resource} (apiGroup {group})")
}

fn push_new<'a>(list: &mut Vec<&'a str>, text: &'a str) {
    if !list.contains(&text) {
        list.push(text);
    }
}
