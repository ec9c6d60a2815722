//! Fields of a policy that let it be bypassed, that break what its settings say, or that hold by default where nothing
//! is said.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::{
    SettingsFile,
    check::finding::{Finding, Findings},
    input::{policy_spec::PolicySpec, settings::PLACEMENT},
    policies::required_rules::{Feature, Kind},
    requests::resource::group_of,
};

/// Looks at all of them.
pub fn find(file: &SettingsFile, policy: &PolicySpec) -> Findings {
    let mut findings = Findings { mistakes: lacking_look_ups(file, policy), remarks: remarks(file, policy) };
    // Upstream: `policy_subreconciler_webhook.go` of Kubewarden's controller.
    if policy.namespace_selector.match_labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        let text = "Kubewarden drops it, and so the policy covers other namespaces; write matchExpressions";
        findings.mistakes.push(Finding::new("spec.namespaceSelector.matchLabels", text));
    }
    let bypassed = bypassed(file, policy);
    if policy.only_monitors() { &mut findings.remarks } else { &mut findings.mistakes }.extend(bypassed);
    findings
}

/// Kinds that the settings look up, and that the policy may not. Without one of them look-ups fail, and whatever
/// depends on them is rejected.
fn lacking_look_ups(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    let mut lacking = vec![];
    for kind in [Kind::Namespace, Kind::Node, Kind::RuntimeClass] {
        let (api_version, name) = (kind.api_version(), format!("{kind:?}"));
        let needs_it = |feature: &&Feature| feature.look_ups(&file.settings).any(|needed| needed == kind);
        let Some(feature) = Feature::due(file).find(needs_it).filter(|_| !policy.may_look_up(api_version, &name))
        else {
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
    let features = Feature::of(&file.settings).filter(|feature| feature.needs_fail);
    let settings = features.map(|feature| feature.named(&file.settings));
    let mut names: Vec<_> = settings.map(|it| if it.starts_with(PLACEMENT) { PLACEMENT } else { it }).collect();
    names.dedup();
    let later = if policy.only_monitors() { ", as soon as its mode is protect" } else { "" };
    let text = |name: &str| {
        format!("Ignore, but {name} needs Fail: with Ignore, users can bypass a healthy policy{later}; set Fail")
    };
    names.into_iter().map(|name| Finding::new("spec.failurePolicy", text(name))).collect()
}

fn remarks(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    // Node metadata refuses nobody, and one that only validates proves what another one does.
    let only_proves = policy.mutating == Some(false) && !policy.is_about_nodes();
    let places = file.typed.placement.is_some() || file.typed.pod_node_selector_plugin_config.is_some();
    // A policy that only validates proves that no other webhook undid what one that mutates wrote. For that, creations
    // are enough.
    let sends_updates = ["pods", "daemonsets"].iter().any(|name| policy.sends((group_of(name), name, "UPDATE")));
    let only_rejects = policy.mutating == Some(false) && !policy.only_reports() && sends_updates;
    let mut resources = policy.rules.iter().flat_map(|rule| &rule.resources);
    // It is true where nothing is said.
    let is_audited = policy.background_audit != Some(false) && resources.any(|resource| resource.contains('/'));
    let selects_objects = policy.object_selector != LabelSelector::default();
    let remarks = [
        (
            policy.spec["namespaceSelector"].is_null() && !policy.is_about_nodes(),
            "spec.namespaceSelector",
            "missing, and so the policy covers every namespace but Kubewarden's, kube-system too; \
             exclude those that the cluster needs to start",
        ),
        (policy.failure_policy.is_none(), "spec.failurePolicy", "missing, and so it is Fail; write it, or Ignore"),
        (
            policy.mode.is_none() && places && !only_proves,
            "spec.mode",
            "missing, and so it is protect; start with monitor",
        ),
        (
            only_rejects,
            "spec.mutating",
            "false, and so what the settings would write is rejected; set true, or, to prove that nothing is missing, \
             send creations alone, as examples/verify.yml does",
        ),
        (
            is_audited,
            "spec.backgroundAudit",
            "true, but the audit scanner counts a policy whose rules have subresources as errored; set false",
        ),
        // Whoever creates a Pod chooses its labels.
        (
            selects_objects && file.places() && !policy.only_reports(),
            "spec.objectSelector",
            "users choose the labels of their objects, and can bypass placement with others; select namespaces instead",
        ),
    ];
    remarks.into_iter().filter(|(holds, ..)| *holds).map(|(_, path, text)| Finding::new(path, text)).collect()
}
