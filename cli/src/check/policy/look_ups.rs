//! Kinds that the settings look up, and that the policy may not.

use crate::{
    SettingsFile,
    check::finding::Finding,
    input::policy_spec::PolicySpec,
    policies::required_rules::{Feature, Kind},
};

/// Without one of them look-ups fail, and whatever depends on them is rejected.
pub fn find(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    let is_about_nodes = policy.is_about_nodes();
    let features: Vec<&Feature> =
        Feature::of(&file.settings).filter(|feature| !is_about_nodes || feature.is_about_nodes()).collect();
    let lacking = [Kind::Namespace, Kind::Node, Kind::RuntimeClass].into_iter().filter_map(|kind| {
        if policy.may_look_up(kind.api_version(), kind.name()) {
            return None;
        }
        let feature = features.iter().find(|feature| feature.look_ups(&file.settings).any(|needed| needed == kind))?;
        let text = format!(
            "lacks apiVersion {}, kind {}, which {} needs; add it",
            kind.api_version(),
            kind.name(),
            feature.named(&file.settings)
        );
        Some(Finding::new("spec.contextAwareResources", text))
    });
    lacking.collect()
}
