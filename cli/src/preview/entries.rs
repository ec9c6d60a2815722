//! What each entry of the settings comes to in a cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Preview;
use crate::input::json::{members, text};
use crate::{
    input::settings::entries,
    namespace_rules::{Demand, namespace_rules},
};

/// What is more alike may be what was meant.
const ALIKE: f64 = 0.8;

/// An entry of `placement.namespaces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCount {
    pub position: usize,
    /// `name "team-*"`
    pub about: String,
    /// The namespaces that it holds for.
    pub namespaces: BTreeSet<String>,
    pub has_default_tolerations: bool,
    /// How many nodes meet what it demands, of one of these namespaces at least; none, if it demands nothing.
    pub nodes: Option<usize>,
    /// Why no node does.
    pub problem: Option<Problem>,
}

/// Why no node meets what an entry demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field that demands it, with what its entry is about; several, if it takes them together.
    pub field: String,
    pub text: String,
}

impl EntryCount {
    /// `placement.namespaces[1] (name "team-*")`
    pub fn name(&self) -> String {
        format!("placement.namespaces[{}] ({})", self.position, self.about)
    }

    /// The nodes, for people: those of an entry that demands none are no number.
    pub fn nodes_in_words(&self, any_nodes_known: bool) -> String {
        match self.nodes {
            Some(nodes) => nodes.to_string(),
            None if self.namespaces.is_empty() => String::new(),
            None if any_nodes_known => "no node selector".to_owned(),
            None => "unknown".to_owned(),
        }
    }
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
                namespaces: BTreeSet::new(),
                has_default_tolerations: entry.default_tolerations.as_ref().is_some_and(|list| !list.is_empty()),
                nodes: None,
                problem: None,
            })
            .collect();
        let mut matched: Vec<Option<BTreeSet<&str>>> = vec![None; counts.len()];
        for namespace in self.cluster.namespaces() {
            let name = text(&namespace["metadata"]["name"]);
            let rules = namespace_rules(self.typed, name, namespace);
            let Some(holding) = rules.entries.iter().find(|entry| entry.holds) else { continue };
            counts[holding.position].namespaces.insert(name.to_owned());
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
        counts.sort_by_key(|count| (!count.namespaces.is_empty(), count.nodes != Some(0), count.position));
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
    fn problem(&self, demands: &[&Demand]) -> Problem {
        let of = |demand: &Demand, text: String| Problem { field: demand.origin.clone(), text };
        if let Some((demand, problem)) = demands.iter().find_map(|demand| Some((demand, demand.problem.as_ref()?))) {
            return of(demand, problem.clone());
        }
        let selectors = demands.iter().filter_map(|demand| Some((demand, demand.selector()?)));
        let requirements = selectors
            .flat_map(|(demand, selector)| selector.requirements().to_vec().into_iter().map(move |one| (demand, one)));
        for (demand, requirement) in requirements {
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
            return of(demand, format!("none has {requirement}{alike}"));
        }
        let fields = demands.iter().map(|demand| demand.origin.clone()).collect::<BTreeSet<_>>();
        let field = fields.into_iter().collect::<Vec<_>>().join(" and ");
        Problem { field, text: "no node has all that is demanded".to_owned() }
    }
}

/// The one that is most like what somebody wrote, if one is.
fn nearest<'t>(written: &str, known: impl Iterator<Item = &'t str>) -> Option<String> {
    let likeness = |other: &str| strsim::jaro_winkler(written, other);
    let nearest = known.filter(|other| likeness(other) > ALIKE).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.map(str::to_owned)
}
