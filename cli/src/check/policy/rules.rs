//! Rules that are missing, and rules that nothing needs.

use std::collections::BTreeMap;

use crate::{
    SettingsFile,
    check::finding::{Finding, Findings},
    input::policy_spec::PolicySpec,
    policies::required_rules::{
        Feature,
        Setting::{self, Is, Present},
    },
    requests::resource::group_of,
};

/// Without these, a setting does nothing at all: the setting, a resource, an operation, and what happens without.
const ESSENTIAL: [(Setting, &str, &str, &str); 7] = [
    (Present("placement"), "pods", "CREATE", "no Pod is placed or checked"),
    (Present("podNodeSelectorPluginConfig"), "pods", "CREATE", "no Pod is placed or checked"),
    (Present("nodeMetadata.propagate[].env"), "pods", "CREATE", "no container gets a variable"),
    (Present("nodeMetadata"), "pods/binding", "CREATE", "no Pod gets node metadata when it is bound"),
    (Is("placement.onBindings", "Verify"), "pods/binding", "CREATE", "no Binding is verified"),
    (Is("placement.onNodes", "Reject"), "nodes", "UPDATE", "kubelets may label their Node as they like"),
    (Is("placement.onNodes", "RejectChanges"), "nodes", "UPDATE", "kubelets may change the labels of their Node"),
];

/// Rules that do something, and that no setting needs.
const OPT_IN: [(&str, &str, &str); 1] = [("", "pods/status", "UPDATE")];

/// Holds the rules of a policy to what its settings need. It is one of the `policies` of a deployment: what another one
/// sends for the same setting is not missing.
pub fn find(file: &SettingsFile, policy: &PolicySpec, policies: &[&SettingsFile]) -> Findings {
    let mut findings = Findings::default();
    // It proves what another policy did, or reports. To guard Nodes, nothing need be changed either.
    if policy.mutating == Some(false) && !policy.is_about_nodes() {
        return findings;
    }
    let essential = missing_essential(file, policy, policies);
    let is_told = |resource: &str, operation: &str| {
        essential.iter().any(|(_, essential, own, _)| (*essential, *own) == (resource, operation))
    };
    for (setting, resource, operation, otherwise) in &essential {
        let text = format!(
            "no {operation} of {}, which {} needs: {otherwise}; add the rule",
            with_group(resource),
            setting.path()
        );
        findings.mistakes.push(Finding::new("spec.rules", text));
    }
    // Reports about some kinds are reports, too.
    if !policy.only_reports() {
        findings.remarks.extend(missing(file, policy, policies, is_told));
    }
    findings
}

/// Of a rule that sends nothing useful, that is said; where there is no other, it is a mistake.
pub fn superfluous(file: &SettingsFile, policy: &PolicySpec) -> Findings {
    let needed: Vec<_> = Feature::of(&file.settings).flat_map(Feature::requests).chain(OPT_IN).collect();
    let is_useless = |rule: &crate::input::policy_spec::Rule| !needed.iter().any(|request| rule.covers(*request));
    let useless: Vec<usize> =
        policy.rules.iter().enumerate().filter(|(_, rule)| is_useless(rule)).map(|(place, _)| place).collect();
    let mut findings = Findings::default();
    if Feature::of(&file.settings).next().is_none() {
        return findings;
    }
    if !policy.rules.is_empty() && useless.len() == policy.rules.len() {
        let text = "no setting needs the requests of these rules, so the policy does nothing; kubectl node-placement \
                    policy writes those that are needed";
        findings.mistakes.push(Finding::new("spec.rules", text));
        return findings;
    }
    for place in useless {
        let text = "no setting needs these requests; remove the rule";
        findings.remarks.push(Finding::new(format!("spec.rules[{place}]"), text));
    }
    findings
}

/// What of [`ESSENTIAL`] nobody sends. A policy whose rules are about Nodes alone guards those, beside one that places.
fn missing_essential(
    file: &SettingsFile,
    policy: &PolicySpec,
    policies: &[&SettingsFile],
) -> Vec<(Setting, &'static str, &'static str, &'static str)> {
    let is_needed = |(setting, resource, ..): &(Setting, &str, &str, &str)| {
        setting.holds(&file.settings) && (*resource == "nodes" || !policy.is_about_nodes())
    };
    let is_sent = |(setting, resource, operation, _): &(Setting, &str, &str, &str)| {
        let request = (group_of(resource), *resource, *operation);
        policies.iter().any(|other| setting.holds(&other.settings) && sends(other, request))
    };
    let mut missing: Vec<(Setting, &str, &str, &str)> = vec![];
    for essential in ESSENTIAL.into_iter().filter(is_needed).filter(|essential| !is_sent(essential)) {
        // One line for each request.
        if !missing.iter().any(|known| (known.1, known.2) == (essential.1, essential.2)) {
            missing.push(essential);
        }
    }
    missing
}

/// What else is missing, a line for each resource.
fn missing(
    file: &SettingsFile,
    policy: &PolicySpec,
    policies: &[&SettingsFile],
    is_told: impl Fn(&str, &str) -> bool,
) -> Vec<Finding> {
    let mut missing: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    let features = Feature::of(&file.settings).filter(|feature| !policy.is_about_nodes() || feature.is_about_nodes());
    for feature in features {
        let has_it = |other: &&&SettingsFile| feature.settings.iter().any(|setting| setting.holds(&other.settings));
        for (group, resource, operation) in feature.requests() {
            let is_sent = policies.iter().filter(has_it).any(|other| sends(other, (group, resource, operation)));
            if is_sent || is_told(resource, operation) {
                continue;
            }
            let (operations, reasons) = missing.entry(resource).or_default();
            push_new(operations, operation);
            push_new(reasons, feature.otherwise);
        }
    }
    let line = |(resource, (operations, reasons)): (&str, (Vec<&str>, Vec<&str>))| {
        let (operations, reasons) = (operations.join(", "), reasons.join("; "));
        Finding::new("spec.rules", format!("no {operations} of {}: {reasons}; add the rule", with_group(resource)))
    };
    missing.into_iter().map(line).collect()
}

fn sends(file: &SettingsFile, request: (&str, &str, &str)) -> bool {
    file.policy.as_ref().is_some_and(|policy| policy.sends(request))
}

fn with_group(resource: &str) -> String {
    let group = if group_of(resource).is_empty() { "\"\"" } else { group_of(resource) };
    format!("{resource} (apiGroup {group})")
}

fn push_new<'a>(list: &mut Vec<&'a str>, text: &'a str) {
    if !list.contains(&text) {
        list.push(text);
    }
}
