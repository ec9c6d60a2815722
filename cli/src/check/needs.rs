//! What settings need of the policy around them: rules, look-ups, `failurePolicy`; and what holds by default where the
//! policy says nothing.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use node_placement_policy::settings::OnNodeAffinity;

use super::finding::{Finding, Findings};
use crate::{
    SettingsFile,
    input::settings::{PLACEMENT, entries_at, is_set},
    lists::distinct,
    policies::required_rules::{Feature, Request},
    webhook::{policy_spec::PolicySpec, resource::group_of},
};

/// Fields that let the policy be bypassed, that break what its settings say, or that are missing.
pub fn find_in_fields(file: &SettingsFile, policy: &PolicySpec, findings: &mut Findings) {
    find_lacking_look_ups(file, policy, findings);
    // Upstream: `policy_subreconciler_webhook.go` of Kubewarden's controller.
    if policy.namespace_selector.match_labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        let text = "Kubewarden drops it, and so the policy covers other namespaces; write matchExpressions";
        findings.mistake("spec.namespaceSelector.matchLabels", text);
    }
    remark_on_fields(file, policy, findings);
    let bypassed = bypassed(file, policy);
    if policy.only_monitors() { &mut findings.remarks } else { &mut findings.mistakes }.extend(bypassed);
}

/// Kinds that the settings look up, and that the policy may not. Without one of them look-ups fail, and whatever
/// depends on them is rejected.
fn find_lacking_look_ups(file: &SettingsFile, policy: &PolicySpec, findings: &mut Findings) {
    let mut lacking = BTreeMap::new();
    for (setting, feature) in Feature::in_file(file) {
        for kind in feature.look_ups(&file.settings).filter(|kind| !policy.context_aware_resources.contains(kind)) {
            lacking.entry(kind).or_insert(setting);
        }
    }
    for (lacking, setting) in lacking {
        let (api_version, kind) = (&lacking.api_version, &lacking.kind);
        let text = format!("lacks apiVersion {api_version}, kind {kind}, which {setting} needs; add it");
        findings.mistake("spec.contextAwareResources", text);
    }
}

/// Settings that need `failurePolicy: Fail`, one of each block.
fn bypassed(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    if policy.failure_policy.as_deref() != Some("Ignore") || policy.only_reports() {
        return vec![];
    }
    let needing = Feature::in_settings(&file.settings).filter(|(_, feature)| feature.needs_fail);
    let block = |(setting, _): (&'static str, _)| if setting.starts_with(PLACEMENT) { PLACEMENT } else { setting };
    let mut settings: Vec<_> = needing.map(block).collect();
    settings.dedup();
    let later = if policy.only_monitors() { ", as soon as its mode is protect" } else { "" };
    let text = |setting: &str| {
        format!("Ignore, but {setting} needs Fail: with Ignore, users can bypass a healthy policy{later}; set Fail")
    };
    settings.into_iter().map(|setting| Finding::new("spec.failurePolicy", text(setting))).collect()
}

/// Remarks on fields that are missing, with the default that then holds, and on fields that may be meant otherwise.
fn remark_on_fields(file: &SettingsFile, policy: &PolicySpec, findings: &mut Findings) {
    let is_about_pods = !policy.is_about_nodes();
    let only_validates = policy.mutating == Some(false);
    let has_placement = file.typed.placement.is_some() || file.typed.pod_node_selector_plugin_config.is_some();
    // A policy that only validates proves that no other webhook undid what one that mutates wrote. For that, creations
    // are enough.
    let sends_updates = ["pods", "daemonsets"].iter().any(|name| policy.sends((group_of(name), name, "UPDATE")));
    let has_subresources = policy.resources().any(|resource| resource.contains('/'));
    let remarks = [
        (
            policy.spec["namespaceSelector"].is_null() && is_about_pods,
            "spec.namespaceSelector",
            "missing, and so the policy covers every namespace but Kubewarden's, kube-system too; \
             exclude those that the cluster needs to start",
        ),
        (policy.failure_policy.is_none(), "spec.failurePolicy", "missing, and so it is Fail; write it, or Ignore"),
        (
            // Node metadata refuses nobody, and a policy that only validates proves what another one does.
            policy.mode.is_none() && has_placement && !(only_validates && is_about_pods),
            "spec.mode",
            "missing, and so it is protect; start with monitor",
        ),
        (
            only_validates && sends_updates && !policy.only_reports(),
            "spec.mutating",
            "false, and so what the settings would write is rejected; set true, or, to prove that nothing is missing, \
             send creations alone, as examples/verify.yml does",
        ),
        (
            only_validates && is_set(&file.settings, "nodeMetadata.propagate[].env") && !policy.only_reports(),
            "spec.mutating",
            "false, while nodeMetadata.propagate has env: a Pod to which a later webhook adds a container is rejected, \
             since that container lacks the variable; leave env out of these settings",
        ),
        (
            // It is true by default.
            policy.background_audit != Some(false) && has_subresources,
            "spec.backgroundAudit",
            "true, but the audit scanner counts a policy whose rules have subresources as errored; set false",
        ),
        (
            policy.object_selector != LabelSelector::default() && file.places_pods() && !policy.only_reports(),
            "spec.objectSelector",
            "users choose the labels of their objects, and can bypass placement with others; select namespaces instead",
        ),
    ];
    for (_, path, text) in remarks.into_iter().filter(|(holds, ..)| *holds) {
        findings.remark(path, text);
    }
}

/// Holds the rules of a policy to what its settings need. It is one of the `policies` of a deployment: what another one
/// sends for the same setting is not missing.
pub fn find_in_rules(file: &SettingsFile, policy: &PolicySpec, policies: &[SettingsFile], findings: &mut Findings) {
    // It proves what another policy did, or reports. To guard Nodes, nothing need be changed either.
    if policy.mutating == Some(false) && !policy.is_about_nodes() {
        return;
    }
    let mut lacking = find_lacking_rules(file, policies, findings);
    lacking.extend(find_lacking_daemon_sets(file, policies, findings));
    remark_on_missing_rules(file, policies, &lacking, findings);
}

/// Adds a mistake if DaemonSets are not sent, though Pods are limited, and returns the request. Without the rule they get
/// past the limit as with `onDaemonSets: Ignore`, which the policy calls a mistake.
fn find_lacking_daemon_sets(
    file: &SettingsFile,
    policies: &[SettingsFile],
    findings: &mut Findings,
) -> Option<Request> {
    let placement = file.typed.placement.as_ref().filter(|_| !file.is_about_nodes())?;
    let at = entries_at(placement).find(|at| at.entry.limits_labels())?;
    let are_sent = policies.iter().filter_map(|file| file.policy.as_ref()).any(|policy| policy.sends(DAEMON_SETS));
    if are_sent || placement.on_node_affinity == OnNodeAffinity::Ignore {
        return None;
    }
    let limit = if at.entry.allowed_node_selector.is_some() { "allowedNodeSelector" } else { "forbiddenNodeLabels" };
    let text = format!(
        "no {}, which {at}.{limit} needs: DaemonSets get past it, since their controller replaces the node affinity of their \
         Pods; add the rule",
        describe_request(DAEMON_SETS.1, DAEMON_SETS.2)
    );
    findings.mistake("spec.rules", text);
    Some(DAEMON_SETS)
}

const DAEMON_SETS: Request = ("apps", "daemonsets", "CREATE");

/// Requests without which a setting does nothing at all, and that no rule sends: adds a mistake for each, and returns them.
fn find_lacking_rules(file: &SettingsFile, policies: &[SettingsFile], findings: &mut Findings) -> Vec<Request> {
    let mut lacking: Vec<Request> = vec![];
    for (setting, feature) in Feature::in_file(file) {
        let unsent = feature.essential().filter(|request| !is_sent(feature, *request, policies));
        let Some(request) = unsent.filter(|request| !lacking.contains(request)) else { continue };
        lacking.push(request);
        let request = describe_request(request.1, request.2);
        let text = format!("no {request}, which {setting} needs: {}; add the rule", feature.otherwise);
        findings.mistake("spec.rules", text);
    }
    lacking
}

/// Adds what else no rule sends, a line for each resource: its operations, and why.
fn remark_on_missing_rules(
    file: &SettingsFile,
    policies: &[SettingsFile],
    lacking: &[Request],
    findings: &mut Findings,
) {
    let mut missing: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for (_, feature) in Feature::in_file(file) {
        for request in feature.requests() {
            if !lacking.contains(&request) && !is_sent(feature, request, policies) {
                let (operations, reasons) = missing.entry(request.1).or_default();
                operations.push(request.2);
                reasons.push(&feature.otherwise);
            }
        }
    }
    for (resource, (operations, reasons)) in missing {
        let request = describe_request(resource, &distinct(operations).join(", "));
        findings.remark("spec.rules", format!("no {request}: {}; add the rule", distinct(reasons).join("; ")));
    }
}

/// Returns whether one of the policies that have a feature sends a request to itself.
fn is_sent(feature: &Feature, request: Request, policies: &[SettingsFile]) -> bool {
    let sends = |file: &&SettingsFile| file.policy.as_ref().is_some_and(|policy| policy.sends(request));
    policies.iter().filter(sends).any(|file| feature.setting_in(&file.settings).is_some())
}

/// Returns `CREATE of pods (apiGroup "")`.
fn describe_request(resource: &str, operations: &str) -> String {
    let group = if group_of(resource).is_empty() { "\"\"" } else { group_of(resource) };
    format!("{operations} of {resource} (apiGroup {group})")
}
