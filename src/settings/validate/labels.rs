//! Finds mistakes in two settings of an entry: `podSelector` and `forbiddenNodeLabels`.

use std::collections::BTreeSet;

use super::Mistakes;
use super::selectors::SettingSelector;
use crate::message::quote;
use crate::selector::{Requirement, Selector};
use crate::settings::key::{ForbiddenLabels, KeyPattern, TargetKind};
use crate::settings::{EntryAt, OnNodeAffinity, Propagate, Setting};

/// Labels that controllers add to their Pods, and that their templates lack.
const ADDED_BY_CONTROLLERS: [&str; 5] =
    ["pod-template-hash", "controller-revision-hash", "pod-template-generation", "controller-uid", "job-name"];

/// Prefixes of such labels.
const PREFIXES_OF_CONTROLLERS: [&str; 3] =
    ["statefulset.kubernetes.io/", "apps.kubernetes.io/", "batch.kubernetes.io/"];

/// Checks that the labels of a `podSelector` are in Pod templates, and never change.
pub fn check_pod_selector(entry: EntryAt<'_>, selector: &Selector, propagate: &[Propagate], mistakes: &mut Mistakes) {
    let written: Vec<KeyPattern> =
        propagate.iter().filter_map(|entry| Some(KeyPattern::new(entry.pod_label.as_ref()?))).collect();
    for key in selector.requirements().iter().map(Requirement::key) {
        let problem = if written.iter().any(|pattern| pattern.rest(key).is_some()) {
            "nodeMetadata.propagate writes it when a Pod is bound"
        } else if is_added_by_controllers(key) {
            "controllers add it to Pods, and their templates lack it"
        } else {
            continue;
        };
        let problem = format!("selects Pods by the label {}, but {problem}; select by another label", quote(key));
        mistakes.add(&entry.path(Setting::PodSelector), &problem);
    }
}

fn is_added_by_controllers(key: &str) -> bool {
    ADDED_BY_CONTROLLERS.contains(&key) || PREFIXES_OF_CONTROLLERS.iter().any(|prefix| key.starts_with(prefix))
}

/// Checks the elements of `forbiddenNodeLabels`.
pub fn check_forbidden_labels(entry: EntryAt<'_>, mistakes: &mut Mistakes) {
    let mut earlier = BTreeSet::new();
    for (position, label) in entry.forbidden_node_labels.iter().enumerate() {
        let path = format!("{}[{position}]", entry.path(Setting::ForbiddenNodeLabels));
        let checked = mistakes.check(&path, KeyPattern::new(label).check(TargetKind::Label));
        if checked.is_some() && !earlier.insert(label.as_str()) {
            mistakes.add(&path, &format_args!("{} is listed twice; remove one of them", quote(label)));
        }
    }
}

/// Checks that the entry forbids no label of the cluster's `default`, which is always added. What the entry requires is
/// never forbidden, nor are labels with a reference.
pub fn check_forbidden_default(
    entry: EntryAt<'_>,
    default: &Selector,
    required: &SettingSelector,
    on_node_affinity: OnNodeAffinity,
    mistakes: &mut Mistakes,
) {
    let forbidden = ForbiddenLabels::new(&entry.forbidden_node_labels);
    let is_refused = |requirement: &&Requirement| {
        let key = requirement.key();
        let is_checked = on_node_affinity == OnNodeAffinity::Check || requirement.only_value().is_some();
        is_checked
            && forbidden.names(key)
            && required.is_known(key)
            && !required.selector.on(key).iter().any(|required| required.same_as(requirement))
    };
    if let Some(refused) = default.requirements().iter().find(is_refused) {
        let problem = format!(
            "forbids {}, which placement.clusterDefaultNodeSelector adds to Pods, so that none can be created; remove it \
             from the list, or give the entry a defaultNodeSelector",
            quote(&refused.to_string())
        );
        mistakes.add(&entry.path(Setting::ForbiddenNodeLabels), &problem);
    }
}
