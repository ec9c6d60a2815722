//! Who may run where: namespaces, and pools that people recognize by their labels and taints.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use node_placement_policy::settings::EntryAt;

use super::{
    advice::Advisor,
    document::{Namespace, Pool},
    outcome::Outcome,
};
use crate::{
    engine::namespace_rules::{Demand, NamespaceRules},
    input::{
        manifests::Manifests,
        settings::entry_name,
        settings_file::{self, SettingsFile},
    },
    scheduling::{constraints::Constraints, pool},
};

/// Namespaces that are alike, and where their Pods may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What makes them alike: `tenant=blue`, or their names.
    pub name: String,
    /// What the entry that holds is for, or `None` where no entry holds.
    pub entry: Option<String>,
    /// The namespaces.
    pub namespaces: Vec<String>,
    /// The node selector that holds for them; empty if there is none.
    pub selector: String,
    /// What becomes of a Pod that asks for nothing.
    pub outcome: Outcome,
    /// Whether it only would be so.
    pub would_be: bool,
    /// What keeps it from the policy, if something does.
    pub kept_away: Option<String>,
    /// For every pool, whether it takes a Pod that asks for nothing.
    pub takes: Vec<bool>,
    /// For every pool, how many Pods of these namespaces run there.
    pub pods: Vec<usize>,
    /// How many Pods run on nodes of no pool.
    pub lost: usize,
}

impl Row {
    /// How many of their Pods run in pools that take a Pod that asks for nothing.
    pub fn pods_there(&self) -> usize {
        self.pods.iter().zip(&self.takes).filter(|(_, takes)| **takes).map(|(pods, _)| pods).sum()
    }

    /// How many of their Pods run elsewhere.
    pub fn pods_elsewhere(&self) -> usize {
        self.lost + self.pods.iter().sum::<usize>() - self.pods_there()
    }

    /// Whether there is nothing to say about it but where its Pods run.
    pub fn is_sound(&self) -> bool {
        !self.outcome.is_trouble() && !self.would_be && self.pods_elsewhere() == 0
    }
}

/// Namespaces and pools.
pub struct Table<'s> {
    pools: pool::Pools,
    namespaces: Vec<Line<'s>>,
}

/// A namespace in it.
struct Line<'s> {
    name: String,
    outcome: Outcome,
    would_be: bool,
    kept_away: Option<String>,
    entry: Option<EntryAt<'s>>,
    called: Option<String>,
    selector: String,
    takes: Vec<bool>,
    pods: Vec<usize>,
    lost: usize,
}

impl<'s> Table<'s> {
    /// Sorts nodes by the labels that selectors of the settings, or of namespaces, name, and finds out which pools take
    /// the Pod of each namespace that asks for nothing: `plain`, where it is let in.
    ///
    /// # Errors
    /// A Node or a NodePool can't be read.
    pub fn new(
        cluster: &Manifests,
        files: &[SettingsFile],
        rules: &BTreeMap<String, NamespaceRules<'s>>,
        namespaces: &[Namespace],
        plain: &BTreeMap<String, Constraints>,
        running: &BTreeMap<(String, String), usize>,
    ) -> Result<Self> {
        let pools = pool::Pools::of(cluster, selected_labels(files, rules), [])?;
        let no_rules = NamespaceRules::default();
        let line = |namespace: &Namespace| -> Line<'s> {
            let rules = rules.get(&namespace.name).unwrap_or(&no_rules);
            let pod = plain.get(&namespace.name);
            let takes = |pool: &pool::Pool| pod.is_some_and(|pod| pool.excludes(pod).is_none());
            let mut line = Line {
                name: namespace.name.clone(),
                outcome: namespace.outcome,
                would_be: namespace.would_be,
                kept_away: namespace.reason.clone().filter(|_| namespace.outcome == Outcome::NotAsked),
                entry: rules.held.first().copied(),
                called: rules.called.clone(),
                selector: rules.selector(),
                takes: pools.pools.iter().map(takes).collect(),
                pods: vec![0; pools.pools.len()],
                lost: 0,
            };
            let from = (namespace.name.clone(), String::new());
            for ((_, node), count) in running.range(from..).take_while(|((name, _), _)| *name == namespace.name) {
                match pools.position_of(node).and_then(|place| line.pods.get_mut(place)) {
                    Some(pods) => *pods += count,
                    None => line.lost += count,
                }
            }
            line
        };
        let namespaces = namespaces.iter().map(line).collect();
        Ok(Self { pools, namespaces })
    }

    /// The pools.
    pub fn pools(&self) -> Vec<Pool> {
        let pool = |pool: &pool::Pool| Pool {
            name: pool.name.clone(),
            labels: pool.labels.clone(),
            taints: pool.taints.iter().map(ToString::to_string).collect(),
            nodes: pool.nodes.iter().map(|node| node.name.clone()).collect(),
            node_pool: pool.node_pool.clone(),
        };
        self.pools.pools.iter().map(pool).collect()
    }

    /// Namespaces that are alike are one row.
    pub fn rows(&self) -> Vec<Row> {
        let mut alike: BTreeMap<_, Vec<&Line<'_>>> = BTreeMap::new();
        for line in &self.namespaces {
            let called = line.called.as_ref().filter(|_| !line.selector.is_empty());
            let entry = line.entry.map(|at| entry_name(at.entry));
            let place = (line.entry.map_or(usize::MAX, |at| at.position), entry, called, &line.selector);
            alike.entry((place, &line.takes, line.outcome, line.would_be, &line.kept_away)).or_default().push(line);
        }
        alike.into_values().filter_map(|lines| row(&lines)).collect()
    }

    /// Notes pools without a taint that are meant for one tenant, and that Pods of others may use too.
    pub fn note_untainted(&self, rules: &BTreeMap<String, NamespaceRules<'_>>, advisor: &mut Advisor<'_>) {
        let mut found: BTreeMap<_, Untainted<'_>> = BTreeMap::new();
        for (place, pool) in self.pools.pools.iter().enumerate().filter(|(_, pool)| pool.taints.is_empty()) {
            let users: Vec<&Line<'_>> = self.namespaces.iter().filter(|line| line.may_use(place)).collect();
            let tenants: BTreeMap<(&str, &str), &str> = users
                .iter()
                .filter_map(|line| {
                    Some(((line.selector.as_str(), setting_naming(pool, rules.get(&line.name)?)?), line.name.as_str()))
                })
                .collect();
            let mut tenants = tenants.into_iter();
            let (Some(((selector, setting), namespace)), None) = (tenants.next(), tenants.next()) else { continue };
            let others = users.iter().filter(|line| line.selector != selector).map(|line| line.name.clone());
            let others: Vec<String> = others.collect();
            if others.is_empty() {
                continue;
            }
            let untainted = found.entry((setting.to_owned(), advisor.whose(namespace, setting))).or_default();
            untainted.selectors.insert(selector);
            untainted.nodes.extend(pool.nodes.iter().map(|node| node.name.clone()));
            untainted.nodes.extend(pool.nodes.is_empty().then(|| pool.name.clone()));
            untainted.others.extend(others);
        }
        for ((setting, whose), Untainted { selectors, nodes, others }) in found {
            let others: Vec<String> = others.into_iter().collect();
            advisor.note_untainted(setting, whose, selectors.len(), nodes, &others);
        }
    }
}

/// The labels that selectors of the settings, or of namespaces, name.
pub fn selected_labels(files: &[SettingsFile], rules: &BTreeMap<String, NamespaceRules<'_>>) -> BTreeSet<String> {
    let demands = rules.values().flat_map(|rules| &rules.demands);
    let requirements = demands.flat_map(|demand| &demand.selector).flat_map(|selector| selector.requirements());
    let mut labels = settings_file::selected_labels(files);
    labels.extend(requirements.map(|one| one.key().to_owned()));
    labels
}

/// Nodes without a taint that one setting means for tenants of its own.
#[derive(Default)]
struct Untainted<'s> {
    /// What it demands for them.
    selectors: BTreeSet<&'s str>,
    nodes: Vec<String>,
    /// Namespaces whose Pods may run there too.
    others: BTreeSet<String>,
}

/// The row of namespaces that are alike.
fn row(lines: &[&Line<'_>]) -> Option<Row> {
    let first = lines.first()?;
    let entry = first.entry.map(|at| entry_name(at.entry));
    let name = match lines {
        [only] => only.name.clone(),
        _ if first.outcome == Outcome::NotAsked => "not sent to the policy".to_owned(),
        _ => {
            let called = first.called.clone().filter(|_| !first.selector.is_empty());
            called.or_else(|| entry.clone()).unwrap_or_else(|| "no entry".to_owned())
        }
    };
    let mut pods = vec![0; first.takes.len()];
    for line in lines {
        pods.iter_mut().zip(&line.pods).for_each(|(all, one)| *all += one);
    }
    Some(Row {
        name,
        entry,
        namespaces: lines.iter().map(|line| line.name.clone()).collect(),
        selector: first.selector.clone(),
        outcome: first.outcome,
        would_be: first.would_be,
        kept_away: first.kept_away.clone(),
        takes: first.takes.clone(),
        pods,
        lost: lines.iter().map(|line| line.lost).sum(),
    })
}

impl Line<'_> {
    fn may_use(&self, pool: usize) -> bool {
        let is_asked = !self.outcome.is_trouble() && self.outcome != Outcome::NotAsked;
        is_asked && self.takes.get(pool).copied().unwrap_or_default()
    }
}

/// The setting of an entry that demands a label of this pool by name.
fn setting_naming<'r>(pool: &pool::Pool, rules: &'r NamespaceRules<'_>) -> Option<&'r str> {
    let of_entry = rules.demands.iter().filter_map(|demand| Some((demand, demand.path.as_deref()?)));
    let names = |demand: &Demand| {
        let requirements = demand.selector.iter().flat_map(|selector| selector.requirements());
        requirements.into_iter().any(|one| !one.accepts(None) && pool.labels.contains_key(one.key()))
    };
    let mut naming = of_entry.filter(|(demand, path)| path.starts_with("placement.namespaces[") && names(demand));
    naming.next().map(|(_, path)| path)
}
