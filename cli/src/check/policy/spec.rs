//! Fields of a policy that let it be bypassed, that break what its settings say, or that hold by default where nothing
//! is said.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use node_placement_policy::settings::OnDaemonSets;

use crate::{
    SettingsFile,
    check::finding::{Finding, Findings},
    input::{
        policy_spec::PolicySpec,
        settings::{PLACEMENT, has},
    },
    policies::required_rules::{Feature, KINDS, Kind},
    requests::resource::group_of,
};

/// Looks at all of them.
pub fn find(file: &SettingsFile, policy: &PolicySpec) -> Findings {
    let remarks = [
        missing_namespace_selector(policy),
        missing_failure_policy(policy),
        missing_mode(file, policy),
        rejecting_what_it_would_write(file, policy),
        audit_of_subresources(policy),
        object_selector(file, policy),
    ];
    let mut findings = Findings { mistakes: lacking_look_ups(file, policy), remarks: vec![] };
    findings.mistakes.extend(dropped_labels(policy));
    findings.remarks.extend(remarks.into_iter().flatten());
    let bypassed = bypassed(file, policy);
    if policy.only_monitors() { &mut findings.remarks } else { &mut findings.mistakes }.extend(bypassed);
    findings
}

/// Kinds that the settings look up, and that the policy may not. Without one of them look-ups fail, and whatever
/// depends on them is rejected.
fn lacking_look_ups(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    let mut lacking = vec![];
    for kind in KINDS {
        let Kind { name, api_version } = kind;
        let needs_it = |feature: &&Feature| feature.look_ups(&file.settings).any(|needed| needed == kind);
        let Some(feature) = Feature::due(file).find(needs_it).filter(|_| !policy.may_look_up(api_version, name)) else {
            continue;
        };
        let setting = feature.named(&file.settings);
        let text = format!("lacks apiVersion {api_version}, kind {name}, which {setting} needs; add it");
        lacking.push(Finding::new("spec.contextAwareResources", text));
    }
    lacking
}

/// Settings that need `failurePolicy: Fail`, one of each block.
fn bypassed(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    if policy.failure_policy.as_deref() != Some("Ignore") || policy.only_reports() {
        return vec![];
    }
    let mut names: Vec<&str> = vec![];
    for feature in Feature::of(&file.settings).filter(|feature| feature.needs_fail) {
        let setting = feature.named(&file.settings);
        let block = setting.split_once('.').map_or(setting, |(block, _)| block);
        let name = if block == PLACEMENT { block } else { setting };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let later = if policy.only_monitors() { ", as soon as its mode is protect" } else { "" };
    let text = |name: &str| {
        format!("Ignore, but {name} needs Fail: with Ignore, users can bypass a healthy policy{later}; set Fail")
    };
    names.into_iter().map(|name| Finding::new("spec.failurePolicy", text(name))).collect()
}

/// Upstream: `policy_subreconciler_webhook.go` of Kubewarden's controller.
fn dropped_labels(policy: &PolicySpec) -> Option<Finding> {
    let labels = policy.namespace_selector.match_labels.as_ref()?;
    let text = "Kubewarden drops it, and so the policy covers other namespaces; write matchExpressions";
    (!labels.is_empty()).then(|| Finding::new("spec.namespaceSelector.matchLabels", text))
}

fn missing_namespace_selector(policy: &PolicySpec) -> Option<Finding> {
    let text = "missing, and so the policy covers every namespace but Kubewarden's, kube-system too; \
                exclude those that the cluster needs to start";
    let is_missing = policy.spec["namespaceSelector"].is_null() && !policy.is_about_nodes();
    is_missing.then(|| Finding::new("spec.namespaceSelector", text))
}

fn missing_failure_policy(policy: &PolicySpec) -> Option<Finding> {
    let text = "missing, and so it is Fail; write it, or Ignore";
    policy.failure_policy.is_none().then(|| Finding::new("spec.failurePolicy", text))
}

fn missing_mode(file: &SettingsFile, policy: &PolicySpec) -> Option<Finding> {
    let decides = has(&file.settings, PLACEMENT) && !policy.is_about_nodes() && policy.mutating == Some(true);
    let is_missing = policy.mode.is_none() && decides;
    is_missing.then(|| Finding::new("spec.mode", "missing, and so it is protect; start with monitor"))
}

/// A policy that only validates proves that no other webhook undid what one that mutates wrote. For that, creations are
/// enough.
fn rejecting_what_it_would_write(file: &SettingsFile, policy: &PolicySpec) -> Option<Finding> {
    let sends_updates = ["pods", "daemonsets"].iter().any(|resource| sends(policy, resource, "UPDATE"));
    if policy.mutating != Some(false) || policy.only_reports() || !sends_updates || !writes(file, policy) {
        return None;
    }
    let text = "false, and so what the settings would write is rejected; set true, or, to prove that nothing is missing, \
                send creations alone, as examples/verify.yml does";
    Some(Finding::new("spec.mutating", text))
}

/// It is true where nothing is said.
fn audit_of_subresources(policy: &PolicySpec) -> Option<Finding> {
    let mut resources = policy.rules.iter().flat_map(|rule| &rule.resources);
    let is_audited = policy.background_audit != Some(false) && resources.any(|resource| resource.contains('/'));
    let text = "true, but the audit scanner counts a policy whose rules have subresources as errored; set false";
    is_audited.then(|| Finding::new("spec.backgroundAudit", text))
}

/// Whoever creates a Pod chooses its labels.
fn object_selector(file: &SettingsFile, policy: &PolicySpec) -> Option<Finding> {
    let places = has(&file.settings, PLACEMENT) && !policy.is_about_nodes() && !policy.only_reports();
    let text =
        "users choose the labels of their objects, and can bypass placement with others; select namespaces instead";
    (places && policy.object_selector != LabelSelector::default()).then(|| Finding::new("spec.objectSelector", text))
}

fn sends(policy: &PolicySpec, resource: &str, operation: &str) -> bool {
    policy.sends((group_of(resource), resource, operation))
}

/// Whether the settings write something into what the rules send.
fn writes(file: &SettingsFile, policy: &PolicySpec) -> bool {
    let sends = |resource, operation| sends(policy, resource, operation);
    let settings = &file.typed;
    let injects = settings.placement.as_ref().is_some_and(|placement| placement.on_daemon_sets == OnDaemonSets::Inject);
    let binds = sends("pods/binding", "CREATE") || sends("bindings", "CREATE");
    let completes = sends("daemonsets", "CREATE") || sends("daemonsets", "UPDATE");
    sends("pods", "CREATE") || settings.node_metadata.is_some() && binds || injects && completes
}
