//! The parts that the [backstop](super::backstop) and the [twin](super::twin) share: the settings, the name, and the
//! requests that the API server evaluates them for.

use std::iter;

use anyhow::{Context, Result, anyhow, bail, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use node_placement_policy::{
    selector::syntax::label_key,
    settings::{Placement, Settings},
};
use serde_json::json;

use super::{
    cel::entries,
    overrides::{KUBEWARDEN, Overrides, excludes_kubewarden, exempting, name_with},
    policy_file::own_conditions,
};
use crate::{
    PolicySpec, SettingsFile, input::documents::yaml_documents, lists::distinct, template::render,
    webhook::conditions::Condition,
};

const TEMPLATE: &str = include_str!("in_process.yml.j2");

/// The most entries that were tried: an API server evaluates their expressions within its limits.
const MOST_ENTRIES: usize = 100;

/// The most `matchConditions` that a policy can have.
const MOST_CONDITIONS: usize = 64;

/// The name of the condition that leaves mirror Pods out.
const MIRROR_PODS: &str = "not-a-mirror-pod";

/// The policy that places Pods, and its settings.
#[derive(Debug)]
pub struct InProcess {
    /// Its block `placement`.
    pub placement: Placement,
    /// Whether it has a block `nodeMetadata`, too.
    pub has_node_metadata: bool,
    /// The namespaces that it covers.
    namespaces: Vec<LabelSelectorRequirement>,
    /// The name of the policy.
    name: String,
    policy: PolicySpec,
}

impl InProcess {
    /// Reads settings, or the one policy in a file that places Pods.
    ///
    /// # Errors
    /// The file has neither settings nor ClusterAdmissionPolicies, `overrides` has a mistake, no entry has a
    /// `requiredNodeSelector`, or there are too many entries.
    pub fn read(text: &str, overrides: &Overrides) -> Result<Self> {
        overrides.validate()?;
        let mut files = SettingsFile::read_all(yaml_documents(text)?)?;
        files.retain(|file| file.typed.placement.is_some() && !file.is_about_nodes());
        ensure!(files.len() <= 1, "expected one policy that places Pods; found {}", files.len());
        let Some(SettingsFile { name, policy, typed, .. }) = files.pop() else { bail!(NOTHING_TO_WRITE) };
        let Settings { placement, node_metadata, .. } = typed;
        let placement = placement.unwrap_or_default();
        let count = placement.namespaces.len();
        ensure!(
            count <= MOST_ENTRIES,
            "placement.namespaces: expected at most {MOST_ENTRIES} entries; found {count}, with and without a \
             requiredNodeSelector. One entry can serve many tenants: refer to a label of their namespaces"
        );
        let name = overrides.name_of_policy(name);
        let namespaces = covered_namespaces(policy.as_ref(), overrides)?;
        ensure!(placement.namespaces.iter().any(|entry| entry.required_node_selector.is_some()), NOTHING_TO_WRITE);
        let has_node_metadata = node_metadata.is_some();
        Ok(Self { name, placement, has_node_metadata, namespaces, policy: policy.unwrap_or_default() })
    }

    /// Returns the name of an object that replaces the policy, such as `node-placement-twin`.
    ///
    /// # Errors
    /// The name is too long.
    pub fn name_with(&self, suffix: &str) -> Result<String> {
        name_with(&self.name, suffix)
    }

    /// Returns the part of the spec that says which requests are evaluated, and the variables that both need.
    ///
    /// # Errors
    /// A selector of an entry is no label selector, or all together are too long; or an API server would refuse a
    /// condition of the policy.
    pub fn matching(&self) -> Result<String> {
        let conditions: Vec<&Condition> = own_conditions(&self.policy).collect();
        validate_conditions(&conditions).context("spec.matchConditions")?;
        let reads_pod_labels = self.placement.namespaces.iter().any(|entry| entry.pod_selector.is_some());
        let data = json!({
            "reads_pod_labels": reads_pod_labels,
            "namespaces": self.namespaces,
            "object_selector": self.object_selector(),
            "mirror_pods": unused_name(&conditions),
            "conditions": conditions,
            "entry_matches": entries::matches(&self.placement)?,
            "entry": entries::first_match(self.placement.namespaces.len()),
        });
        render("in_process.yml", TEMPLATE, data)
    }

    /// Returns the `objectSelector` of the policy, on one line, if it has one.
    fn object_selector(&self) -> Option<String> {
        let selector = &self.policy.object_selector;
        (*selector != LabelSelector::default()).then(|| json!(selector).to_string())
    }
}

/// Checks the names and the number of conditions of a policy, to which one is added.
///
/// # Errors
/// An API server would refuse them.
fn validate_conditions(conditions: &[&Condition]) -> Result<()> {
    for (position, Condition { name, .. }) in conditions.iter().enumerate() {
        label_key(name).map_err(|expected| anyhow!("name {name:?}: expected {expected}"))?;
        let is_new = conditions.iter().take(position).all(|before| before.name != *name);
        ensure!(is_new, "two conditions have the name {name:?}; rename one of them");
    }
    let count = conditions.len();
    ensure!(
        count < MOST_CONDITIONS,
        "expected at most {} of your own, beside the one on mirror Pods; found {count}. Join some of them with &&",
        MOST_CONDITIONS - 1
    );
    Ok(())
}

/// Returns a name for the condition on mirror Pods that no condition of the policy has.
fn unused_name(conditions: &[&Condition]) -> String {
    let is_unused = |name: &String| conditions.iter().all(|condition| condition.name != *name);
    let numbered = (2..=MOST_CONDITIONS).map(|number| format!("{MIRROR_PODS}-{number}"));
    iter::once(MIRROR_PODS.to_owned()).chain(numbered).find(is_unused).unwrap_or_default()
}

const NOTHING_TO_WRITE: &str =
    "no entry of placement.namespaces has a requiredNodeSelector, so there is nothing to write";

/// Returns the namespaces that the policy's webhook is called for. Kubewarden deploys only the `matchExpressions` of a
/// policy, and leaves its own namespace out of every webhook. A backstop there would keep policy-servers from starting.
fn covered_namespaces(policy: Option<&PolicySpec>, overrides: &Overrides) -> Result<Vec<LabelSelectorRequirement>> {
    let mut namespaces = match policy {
        None => overrides.namespaces(&PolicySpec::default())?,
        Some(policy) => {
            let own = policy.namespace_selector.match_expressions.clone().unwrap_or_default();
            distinct(own.into_iter().chain(overrides.selected()?.unwrap_or_default()))
        }
    };
    let covers_kubewarden =
        policy.is_some_and(|policy| policy.allow_inside_admission_controller_namespace == Some(true));
    if !covers_kubewarden && !namespaces.iter().any(excludes_kubewarden) {
        namespaces.push(exempting(&[KUBEWARDEN]));
    }
    Ok(namespaces)
}
