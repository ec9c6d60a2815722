//! What the [backstop](super::backstop) and the [twin](super::twin) have in common: the settings, the name, and the
//! requests that the API server evaluates them for.

use anyhow::{Result, bail, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use node_placement_policy::settings::{Placement, Settings};
use serde_json::json;

use super::{
    cel::entries,
    overrides::{KUBEWARDEN, NAME, Overrides, excludes_kubewarden, exempting},
    policy_file::own_conditions,
};
use crate::{PolicySpec, SettingsFile, input::documents::yaml_documents, template::render};

const TEMPLATE: &str = include_str!("in_process.yml.j2");

/// With more entries, nobody has tried whether an API server evaluates the expressions within its limits.
const MOST_ENTRIES: usize = 100;

/// The policy that places Pods, and its settings.
#[derive(Debug)]
pub struct InProcess {
    /// The name of the policy.
    pub name: String,
    /// Its block `placement`.
    pub placement: Placement,
    /// Whether it has a block `nodeMetadata`, too.
    pub has_node_metadata: bool,
    /// The namespaces that it covers.
    namespaces: Vec<LabelSelectorRequirement>,
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
            "placement.namespaces: expected at most {MOST_ENTRIES} entries; found {count}. One entry can serve many \
             tenants: refer to a label of their namespaces"
        );
        let name = overrides.name.clone().or(name).unwrap_or_else(|| NAME.to_owned());
        let namespaces = covered_namespaces(policy.as_ref(), overrides)?;
        ensure!(placement.namespaces.iter().any(|entry| entry.required_node_selector.is_some()), NOTHING_TO_WRITE);
        let has_node_metadata = node_metadata.is_some();
        Ok(Self { name, placement, has_node_metadata, namespaces, policy: policy.unwrap_or_default() })
    }

    /// Returns the part of the spec that says which requests are evaluated, and the variables that both need.
    ///
    /// # Errors
    /// A selector of an entry is no label selector, or all together are too long.
    pub fn matching(&self) -> Result<String> {
        let reads_pod_labels = self.placement.namespaces.iter().any(|entry| entry.pod_selector.is_some());
        let data = json!({
            "reads_pod_labels": reads_pod_labels,
            "namespaces": self.namespaces,
            "object_selector": self.object_selector(),
            "conditions": own_conditions(&self.policy).collect::<Vec<_>>(),
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

const NOTHING_TO_WRITE: &str =
    "no entry of placement.namespaces has a requiredNodeSelector, so there is nothing to write";

/// Returns the namespaces that the policy's webhook is called for. Kubewarden deploys only the `matchExpressions` of a
/// policy, and leaves its own namespace out of every webhook. A backstop there would keep policy-servers from starting.
fn covered_namespaces(policy: Option<&PolicySpec>, overrides: &Overrides) -> Result<Vec<LabelSelectorRequirement>> {
    let mut namespaces = match policy {
        Some(policy) if overrides.namespaces.is_none() => {
            policy.namespace_selector.match_expressions.clone().unwrap_or_default()
        }
        _ => overrides.namespaces(&PolicySpec::default())?,
    };
    let covers_kubewarden =
        policy.is_some_and(|policy| policy.allow_inside_admission_controller_namespace == Some(true));
    if !covers_kubewarden && !namespaces.iter().any(excludes_kubewarden) {
        namespaces.push(exempting(&[KUBEWARDEN]));
    }
    Ok(namespaces)
}
