//! What each entry of the settings comes to in a cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Preview, creation::text};
use crate::{
    namespace_rules::{Demand, namespace_rules},
    settings::entries,
};

/// An entry of `placement.namespaces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCount {
    pub position: usize,
    /// `name "team-*"`
    pub about: String,
    /// How many namespaces it holds for.
    pub namespaces: usize,
    /// How many nodes meet what it demands, of one of these namespaces at least; none, if it demands nothing.
    pub nodes: Option<usize>,
}

impl Preview<'_> {
    /// Those without a namespace, or without a node, come first.
    pub fn entries(&self) -> Vec<EntryCount> {
        let mut counts: Vec<EntryCount> = entries(self.settings)
            .iter()
            .enumerate()
            .map(|(position, entry)| EntryCount {
                position,
                about: crate::namespace_rules::about(entry),
                namespaces: 0,
                nodes: None,
            })
            .collect();
        let mut matched: Vec<Option<BTreeSet<&str>>> = vec![None; counts.len()];
        for namespace in self.cluster.namespaces() {
            let rules = namespace_rules(self.settings, text(&namespace["metadata"]["name"]), namespace);
            let Some(holding) = rules.entries.iter().find(|entry| entry.holds) else { continue };
            counts[holding.position].namespaces += 1;
            let own: Vec<&Demand> =
                rules.demands.iter().filter(|demand| demand.origin.starts_with("placement.namespaces[")).collect();
            if !own.is_empty() {
                matched[holding.position].get_or_insert_default().extend(self.nodes_that_meet(&own));
            }
        }
        for count in &mut counts {
            count.nodes = matched[count.position].as_ref().map(BTreeSet::len);
        }
        counts.sort_by_key(|count| (count.namespaces != 0, count.nodes != Some(0), count.position));
        counts
    }

    fn nodes_that_meet(&self, demands: &[&Demand]) -> Vec<&str> {
        let selectors: Vec<_> = demands.iter().map(|demand| demand.selector()).collect();
        let meets = |node: &&Value| {
            let labels = &node["metadata"]["labels"];
            selectors
                .iter()
                .all(|selector| selector.as_ref().is_some_and(|selector| selector.matches(|key| labels[key].as_str())))
        };
        self.cluster.nodes().filter(meets).map(|node| text(&node["metadata"]["name"])).collect()
    }
}
