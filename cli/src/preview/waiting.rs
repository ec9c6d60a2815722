//! Pods that no node takes: they would wait.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Preview;
use crate::{
    Evaluation,
    preview::scheduler::{keeps_away, matching_nodes},
};

/// What is known already of Pods that are alike.
pub type Known = HashMap<String, Option<&'static str>>;

const NO_NODE: &str = "no node matches its node selector and node affinity";
const TAINTED: &str = "all nodes that match have taints that it does not tolerate";

impl Preview<'_> {
    /// Why a Pod that the policy changes would wait, if it would, and would not without the policy.
    pub(super) fn would_wait(
        &self,
        created: &Value,
        evaluation: &Evaluation,
        known: &mut Known,
    ) -> Option<&'static str> {
        let changed = evaluation.answer.mutated_object.as_ref().filter(|_| evaluation.answer.accepted)?;
        let reason = self.no_node(&changed["spec"], known)?;
        if self.no_node(&created["spec"], known).is_some() { None } else { Some(reason) }
    }

    /// Why no node takes a Pod. Where no Nodes are known, nothing can be told.
    fn no_node(&self, spec: &Value, known: &mut Known) -> Option<&'static str> {
        let affinity = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let key = json!([spec["nodeSelector"], affinity, spec["tolerations"]]).to_string();
        if let Some(reason) = known.get(&key) {
            return *reason;
        }
        let matching = matching_nodes(spec, self.cluster.nodes());
        let reason = match () {
            () if self.cluster.nodes().next().is_none() => None,
            () if matching.is_empty() => Some(NO_NODE),
            () if matching.iter().all(|node| keeps_away(spec, node).is_some()) => Some(TAINTED),
            () => None,
        };
        known.insert(key, reason);
        reason
    }
}
