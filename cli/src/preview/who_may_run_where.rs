//! Who may run where: namespaces, and pools that people recognize by their labels and taints.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    advice::Advisor,
    namespace_rules::NamespaceRules,
    outcome::{Forecast, Judged, Outcome, Why},
    round::Round,
};
use crate::{
    demands::Demand,
    input::{settings::entry_name, settings_file},
    scheduling::{
        constraints::Constraints,
        pool::{Pool, Pools},
    },
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
    pub forecast: Forecast,
    /// What keeps it from the policy, if something does.
    pub kept_away: Option<String>,
    /// What is to be said of each pool.
    pub cells: Vec<Cell>,
    /// How many Pods run on nodes of no pool.
    pub lost: usize,
}

/// What namespaces have to do with a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Whether it takes a Pod that asks for nothing.
    pub takes: bool,
    /// Whether it would, if an entry that only warns was enforced.
    pub enforced: bool,
    /// How many of their Pods run there.
    pub pods: usize,
}

impl Row {
    /// How many of their Pods run in pools that take a Pod that asks for nothing.
    pub fn pods_there(&self) -> usize {
        self.cells.iter().filter(|cell| cell.takes).map(|cell| cell.pods).sum()
    }

    /// How many of their Pods run elsewhere.
    pub fn pods_elsewhere(&self) -> usize {
        self.lost + self.cells.iter().filter(|cell| !cell.takes).map(|cell| cell.pods).sum::<usize>()
    }

    /// Whether there is nothing to say about it but where its Pods run.
    pub fn is_sound(&self) -> bool {
        !self.forecast.outcome.is_trouble() && !self.forecast.would_be && self.pods_elsewhere() == 0
    }
}

/// The rows, made of one namespace after the other.
pub struct Rows<'p> {
    round: &'p Round<'p>,
    pools: &'p Pools,
    rows: BTreeMap<Alike, Row>,
}

/// What namespaces of one row have in common: the entry, by its position and its name, what they are called by it, the
/// selector, and what becomes of their Pods.
type Alike = ((usize, Option<String>, Option<String>, String), Vec<[bool; 2]>, Forecast, Option<String>);

impl<'p> Rows<'p> {
    /// None so far.
    pub fn new(round: &'p Round<'p>, pools: &'p Pools) -> Self {
        Self { round, pools, rows: BTreeMap::new() }
    }

    /// Adds a namespace: what becomes of its Pod that asks for nothing, that Pod where it is let in, now and if all was
    /// enforced, and the node of each of its Pods that runs.
    pub fn add(&mut self, namespace: &str, judged: &Judged, pods: [Option<&Constraints>; 2], running: &[&str]) {
        let rules = self.round.rules(namespace);
        let at = rules.held().next();
        let (entry, selector) = (at.map(|at| entry_name(at.entry)), rules.selector());
        let called = rules.tenant().filter(|_| !selector.is_empty());
        let takes = |pool: &Pool| pods.map(|pod| pod.is_some_and(|pod| pool.excludes(pod).is_none()));
        let takes: Vec<[bool; 2]> = self.pools.pools.iter().map(takes).collect();
        let kept_away = match &judged.why {
            Why::NotAsked(reason) if judged.forecast.outcome == Outcome::NotAsked => Some(reason.clone()),
            _ => None,
        };
        let place = (at.map_or(usize::MAX, |at| at.position), entry.clone(), called.clone(), selector.clone());
        let alike = (place, takes.clone(), judged.forecast, kept_away.clone());
        let row = self.rows.entry(alike).or_insert_with(|| Row {
            name: match judged.forecast.outcome {
                Outcome::NotAsked => "not sent to the policy".to_owned(),
                _ => called.or_else(|| entry.clone()).unwrap_or_else(|| "no entry".to_owned()),
            },
            entry,
            namespaces: vec![],
            selector,
            forecast: judged.forecast,
            kept_away,
            cells: takes.into_iter().map(|[takes, enforced]| Cell { takes, enforced, pods: 0 }).collect(),
            lost: 0,
        });
        row.namespaces.push(namespace.to_owned());
        for node in running {
            match self.pools.position_of(node).and_then(|place| row.cells.get_mut(place)) {
                Some(cell) => cell.pods += 1,
                None => row.lost += 1,
            }
        }
    }

    /// Notes pools without a taint that are meant for one tenant, and that Pods of others may use too.
    pub fn note_untainted(&self, advisor: &mut Advisor<'_>) {
        let mut found: BTreeMap<(&str, &Option<String>, bool), Untainted> = BTreeMap::new();
        for (place, pool) in self.pools.pools.iter().enumerate().filter(|(_, pool)| pool.taints.is_empty()) {
            let users: Vec<&Row> = self.rows.values().filter(|row| row.may_use(place)).collect();
            let is_meant = |row: &&&Row| row.cells.get(place).is_some_and(|cell| cell.enforced);
            let tenants = users
                .iter()
                .filter(is_meant)
                .filter_map(|row| Some(((&row.selector, self.setting_naming(pool, row)?), *row)));
            let mut tenants = tenants.collect::<BTreeMap<_, _>>().into_iter();
            let (Some(((selector, setting), tenant)), None) = (tenants.next(), tenants.next()) else { continue };
            let others = users.iter().filter(|row| row.selector != *selector);
            let is_warned_of = !others.clone().any(|row| is_meant(&row));
            let others: BTreeSet<String> = others.flat_map(|row| row.namespaces.clone()).collect();
            if others.is_empty() {
                continue;
            }
            let untainted = found.entry((setting, &tenant.entry, is_warned_of)).or_default();
            untainted.selectors.insert(selector.clone());
            untainted.nodes.extend(pool.nodes.iter().map(|node| node.name.clone()));
            untainted.nodes.extend(pool.nodes.is_empty().then(|| pool.name.clone()));
            untainted.others.extend(others);
        }
        for ((setting, entry, is_warned_of), Untainted { selectors, nodes, others }) in found {
            let entry = entry.as_deref().unwrap_or("some namespaces");
            let whose = match selectors.len() {
                1 => entry.to_owned(),
                tenants => format!("{tenants} tenants of {entry}"),
            };
            let others: Vec<String> = others.into_iter().collect();
            advisor.note_untainted(setting, &whose, nodes, &others, is_warned_of);
        }
    }

    /// All of them.
    pub fn rows(self) -> Vec<Row> {
        let named = |row: Row| match row.namespaces.as_slice() {
            [only] => Row { name: only.clone(), ..row },
            _ => row,
        };
        self.rows.into_values().map(named).collect()
    }

    /// The setting of an entry that demands a label of this pool by name, for namespaces of a row.
    fn setting_naming(&self, pool: &Pool, row: &Row) -> Option<&str> {
        let names = |demand: &&Demand| {
            let mut requirements = demand.selector.iter().flat_map(|selector| selector.requirements());
            requirements.any(|one| !one.accepts(None) && pool.labels.contains_key(one.key()))
        };
        let demands = row.namespaces.iter().flat_map(|namespace| self.round.rules(namespace).demands());
        let mut paths = demands.filter(names).filter_map(|demand| demand.path.as_deref());
        paths.find(|path| path.starts_with("placement.namespaces["))
    }
}

/// Nodes without a taint that one setting means for tenants of its own.
#[derive(Default)]
struct Untainted {
    /// What it demands for them.
    selectors: BTreeSet<String>,
    nodes: Vec<String>,
    /// Namespaces whose Pods may run there too.
    others: BTreeSet<String>,
}

/// The labels that selectors of the settings, or of namespaces, name.
pub fn selected_labels(round: &Round<'_>) -> BTreeSet<String> {
    let demands = round.namespaces.values().flat_map(NamespaceRules::demands);
    let requirements = demands.flat_map(|demand| &demand.selector).flat_map(|selector| selector.requirements());
    let mut labels = settings_file::selected_labels(round.files);
    labels.extend(requirements.map(|one| one.key().to_owned()));
    labels
}

impl Row {
    fn may_use(&self, pool: usize) -> bool {
        let is_asked = !self.forecast.is_real_trouble() && self.forecast.outcome != Outcome::NotAsked;
        is_asked && self.cells.get(pool).is_some_and(|cell| cell.takes)
    }
}
