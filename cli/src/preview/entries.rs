//! What each entry of the settings comes to in a cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Preview,
    creation::{members, text},
};
use crate::{
    namespace_rules::{Demand, namespace_rules},
    settings::entries,
};

/// What is more alike may be what was meant.
const ALIKE: f64 = 0.8;

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
    /// Why no node does.
    pub problem: Option<String>,
}

impl Preview<'_> {
    /// Those without a namespace, or without a node, come first. Where no Namespaces are known, nothing can be told.
    pub fn entries(&self) -> Vec<EntryCount> {
        if self.cluster.namespaces().next().is_none() {
            return vec![];
        }
        let has_nodes = self.cluster.nodes().next().is_some();
        let mut counts: Vec<EntryCount> = entries(self.typed)
            .iter()
            .enumerate()
            .map(|(position, entry)| EntryCount {
                position,
                about: crate::namespace_rules::about(entry),
                namespaces: 0,
                nodes: None,
                problem: None,
            })
            .collect();
        let mut matched: Vec<Option<BTreeSet<&str>>> = vec![None; counts.len()];
        for namespace in self.cluster.namespaces() {
            let rules = namespace_rules(self.typed, text(&namespace["metadata"]["name"]), namespace);
            let Some(holding) = rules.entries.iter().find(|entry| entry.holds) else { continue };
            counts[holding.position].namespaces += 1;
            let own: Vec<&Demand> = rules.demands.iter().filter(|demand| demand.is_of_entry).collect();
            if has_nodes && !own.is_empty() {
                let nodes = self.nodes_that_meet(&own);
                if nodes.is_empty() {
                    counts[holding.position].problem.get_or_insert_with(|| self.problem(&own));
                }
                matched[holding.position].get_or_insert_default().extend(nodes);
            }
        }
        for count in &mut counts {
            count.nodes = matched[count.position].as_ref().map(BTreeSet::len);
            count.problem = count.problem.take().filter(|_| count.nodes == Some(0));
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

    /// What no node has, and what some have that looks like it.
    fn problem(&self, demands: &[&Demand]) -> String {
        if let Some(problem) = demands.iter().find_map(|demand| demand.problem.as_ref()) {
            return problem.clone();
        }
        let selectors = demands.iter().filter_map(|demand| demand.selector());
        for requirement in selectors.flat_map(|selector| selector.requirements().to_vec()) {
            let (key, mut labels) = (requirement.key(), self.cluster.nodes().map(|node| &node["metadata"]["labels"]));
            if labels.any(|labels| requirement.accepts(labels[key].as_str())) {
                continue;
            }
            let labels = || self.cluster.nodes().flat_map(|node| members(&node["metadata"]["labels"]));
            let values = labels().filter(|(other, _)| *other == key).map(|(_, value)| text(value));
            let wanted = requirement.values().first().map(String::as_str).unwrap_or_default();
            let alike = nearest(wanted, values).map(|value| format!("{key}={value}"));
            let alike =
                alike.or_else(|| nearest(key, labels().map(|(key, _)| key.as_str())).filter(|other| *other != key));
            let alike = alike.map_or_else(String::new, |alike| format!("; did you mean {alike}?"));
            return format!("none has {requirement}{alike}");
        }
        "none has all that it demands".to_owned()
    }
}

/// The one that is most like what somebody wrote, if one is.
fn nearest<'t>(written: &str, known: impl Iterator<Item = &'t str>) -> Option<String> {
    let likeness = |other: &str| strsim::jaro_winkler(written, other);
    let nearest = known.filter(|other| likeness(other) > ALIKE).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.map(str::to_owned)
}
