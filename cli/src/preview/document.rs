//! What the policy would do to a cluster, as data: [`Preview`] is the document that `preview -o json` prints.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    advice::Advice, fences::Opening, outcome::Forecast, restart::Restart, verdict::Verdict, who_may_run_where::Row,
};
use crate::places::node_map;

/// What the policy would do to a cluster.
///
/// The fields that are serialized are a contract: scripts read them. The schema is `docs/preview.schema.json`.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// Whether the policy can be enforced now.
    pub verdict: Verdict,
    /// What to do about it, the worst first.
    pub advice: Vec<Advice>,
    /// What else is worth knowing.
    pub remarks: Vec<String>,
    /// Every workload, and every Pod without one. With `--old`, only those that differ.
    pub workloads: Vec<Workload>,
    /// Every namespace, judged by a Pod that requests nothing. With `--old`, only those that differ.
    pub namespaces: Vec<Namespace>,
    /// The namespaces that may use more nodes than with the old settings. Only with `--old`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens: Option<Vec<Opening>>,
    /// The nodes, in pools that are alike in what the settings name.
    pub pools: Vec<Pool>,
    /// Who may run where: namespaces that are alike are one row.
    #[serde(skip)]
    pub rows: Vec<Row>,
    /// How to move what the policy does not move by itself, by namespace.
    #[serde(skip)]
    pub restarts: Vec<Restart>,
    /// With `--old`, what was wrong before and still is.
    #[serde(skip)]
    pub still_wrong: Vec<String>,
}

impl Preview {
    /// Returns whether it is compared with other settings: then only differences are listed.
    pub const fn is_comparison(&self) -> bool {
        self.opens.is_some()
    }
}

/// A workload that makes Pods, or a Pod that no workload of the cluster makes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// Its kind, such as `Deployment`; `Pod` for a Pod without a workload.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What would become of it.
    #[serde(flatten)]
    pub finding: OutcomeEntry,
    /// The names of the nodes that the outcome is about.
    pub nodes: Vec<String>,
    /// How many of its Pods run on `nodes`; where the outcome is about none, how many run at all.
    pub pods: usize,
    /// The kind and name of the owner that the cluster lacks, or whose kind is not one of Kubernetes' own.
    #[serde(skip)]
    pub owner: Option<String>,
}

/// A namespace, judged by a Pod in it that requests nothing.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// What would become of a Pod that requests nothing.
    #[serde(flatten)]
    pub finding: OutcomeEntry,
}

/// What would become of something, and why.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OutcomeEntry {
    /// What would.
    #[serde(flatten)]
    pub forecast: Forecast,
    /// Why; null for Changed and Unchanged.
    pub reason: Option<String>,
    /// What it would be with the old settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<Forecast>,
}

/// Nodes that are alike in the labels that the settings name and in their lasting taints; or a Karpenter NodePool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// What people call it. No two pools have the same name.
    pub name: String,
    /// The labels that the settings name; of a NodePool, those that have one value.
    pub labels: BTreeMap<String, String>,
    /// Its `NoSchedule` and `NoExecute` taints, as `key[=value]:Effect`.
    pub taints: Vec<String>,
    /// The names of its nodes.
    pub nodes: Vec<String>,
    /// The NodePool that it is, or that its nodes belong to.
    pub node_pool: Option<String>,
}

impl From<&node_map::Pool> for Pool {
    fn from(pool: &node_map::Pool) -> Self {
        Self {
            name: pool.name.clone(),
            labels: pool.labels.clone(),
            taints: pool.taints.iter().map(ToString::to_string).collect(),
            nodes: pool.nodes.iter().map(|node| node.name.clone()).collect(),
            node_pool: pool.node_pool.clone(),
        }
    }
}
