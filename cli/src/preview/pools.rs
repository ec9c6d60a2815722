//! Who may run where: a table of namespaces and pools of nodes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use serde_json::Value;

use super::{Preview, phrases::names, tally::Tally, trial};
use crate::input::json::{list_of, members, text};
use crate::{
    engine::native::parse_selector,
    explain::taint_in_words,
    input::settings::node_selectors,
    preview::scheduler::{keeps_away, lasts, matches_node},
};

/// A table has no more columns; the smallest pools share the last one.
pub const MOST_POOLS: usize = 12;

/// So many labels are named in a note.
const NAMED: usize = 6;

/// Rows are namespaces, columns are pools.
#[derive(Clone, Debug, Default)]
pub struct Pools {
    pub pools: Vec<Pool>,
    pub rows: Vec<Row>,
}

/// Nodes that are alike, as far as selectors and taints go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// `pool=blue`, in the order of the keys; without those that no node of it has.
    pub labels: Vec<String>,
    /// `dedicated=blue:NoSchedule`
    pub taints: Vec<String>,
    pub nodes: BTreeSet<String>,
    /// So many pools share this column.
    pub folded: usize,
}

/// Namespaces that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub namespaces: BTreeSet<String>,
    pub cells: Vec<Cell>,
    pub note: Note,
}

/// A pool, as far as the Pods of a namespace are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// How many Pods run there.
    pub pods: usize,
    pub state: State,
}

/// What becomes of a new Pod that asks for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    May,
    /// Its selector leads there, but it does not tolerate a taint.
    Waits,
    /// The policy has no rule for it, and it does not tolerate a taint.
    Tainted,
    MustNot,
    /// One thing in one of the pools that share a column, another in another.
    Mixed,
    Unknown,
}

/// What else there is to say of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Note {
    None,
    /// A new Pod that asks for nothing is refused.
    Refused,
    /// A new Pod that asks for nothing finds no node.
    Waits,
    /// The policy is not asked about the namespace.
    NotCovered,
    /// What would be, if the entry said Enforce.
    WouldBe,
    /// No entry holds, and the namespace lacks these labels, by which entries choose namespaces. One of the entries
    /// seems to be about it.
    Unlabelled {
        keys: String,
        meant: Option<usize>,
    },
    /// The cluster as it is known lacks this.
    Unknown(String),
}

impl State {
    /// As the table has it.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::May => "may",
            Self::Waits => "would wait",
            Self::Tainted => "needs a toleration",
            Self::MustNot => "must not",
            Self::Mixed => "some may",
            Self::Unknown => "unknown",
        }
    }
}

impl Note {
    /// As the table has it.
    pub fn in_words(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Unlabelled { keys, meant: None } => format!("no label {keys}"),
            Self::Unlabelled { keys, meant: Some(position) } => {
                format!("no label {keys}: see placement.namespaces[{position}]")
            }
            Self::Refused => "new Pods are refused".to_owned(),
            Self::Waits => "new Pods would wait".to_owned(),
            Self::NotCovered => "not covered".to_owned(),
            Self::WouldBe => "not enforced yet".to_owned(),
            Self::Unknown(missing) => format!("unknown: no {missing}"),
        }
    }
}

impl Pool {
    /// `pool=blue`; without a label that a selector names, `other nodes`.
    pub fn name(&self) -> String {
        match (self.folded, self.labels.is_empty()) {
            (0, false) => self.labels.join(", "),
            (0, true) => "other nodes".to_owned(),
            (folded, _) => format!("{folded} more pools"),
        }
    }
}

/// What happens to a Pod that asks for nothing, in one namespace.
struct Outcome {
    note: Note,
    /// The Pod, if it is created.
    spec: Option<Value>,
}

impl Preview<'_> {
    /// Tries a Pod that asks for nothing in each namespace, and matches it as the scheduler does.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub(super) fn pools(&self, tally: &Tally) -> Result<Pools> {
        let mut outcomes = BTreeMap::new();
        for namespace in self.cluster.namespaces() {
            let name = text(&namespace["metadata"]["name"]);
            outcomes.insert(name.to_owned(), self.outcome(name, namespace)?);
        }
        let keys = self.keys(&outcomes);
        let nodes: Vec<&Value> = self.cluster.nodes().collect();
        let pools = pools(&nodes, &keys);
        let home: HashMap<&str, usize> = pools
            .iter()
            .enumerate()
            .flat_map(|(place, pool)| pool.nodes.iter().map(move |node| (node.as_str(), place)))
            .collect();
        let mut running: HashMap<(String, usize), usize> = HashMap::new();
        for (namespace, node) in self.cluster.running_pods() {
            if let Some(pool) = home.get(node.as_str()) {
                *running.entry((namespace, *pool)).or_default() += 1;
            }
        }
        let samples: Vec<&Value> = pools.iter().map(|pool| sample(pool, &nodes)).collect();
        let mut rows: Vec<Row> = vec![];
        for (name, Outcome { note, spec }) in outcomes {
            let mut states: Vec<State> = samples.iter().map(|node| state(&note, spec.as_ref(), node)).collect();
            let has_rule = tally.has_rule.get(&name).copied().unwrap_or(true) || note == Note::WouldBe;
            if !has_rule {
                // What the taint does is not the policy's doing.
                let waiting = states.iter_mut().filter(|state| **state == State::Waits);
                waiting.for_each(|state| *state = State::Tainted);
            }
            let nowhere = !states.contains(&State::May) && note == Note::None && !states.is_empty();
            let note = match tally.without_entry.get(&name).filter(|keys| !keys.is_empty()) {
                _ if nowhere && has_rule => Note::Waits,
                Some(keys) if note == Note::None => Note::Unlabelled {
                    keys: names(keys, NAMED),
                    meant: tally.unlabelled.get(&name).map(|unlabelled| unlabelled.position),
                },
                _ => note,
            };
            let cells = states.into_iter().enumerate().map(|(pool, state)| {
                let pods = running.get(&(name.clone(), pool)).copied().unwrap_or_default();
                Cell { pods, state }
            });
            let cells: Vec<Cell> = cells.collect();
            add(&mut rows, name, note, cells);
        }
        rows.sort_by_key(|row| (row.note == Note::NotCovered, row.namespaces.first().cloned()));
        Ok(Pools { pools, rows })
    }

    fn outcome(&self, name: &str, namespace: &Value) -> Result<Outcome> {
        let request = trial::request(name, Value::Null);
        let bare = || Some(request["object"]["spec"].clone());
        if self.spared(&request, namespace).is_some() {
            return Ok(Outcome { note: Note::NotCovered, spec: bare() });
        }
        let evaluation = self.policy.validate(&request, &self.enforced, self.cluster.clone())?;
        if let Some(missing) = evaluation.lookups.iter().find(|lookup| !self.cluster.finds(lookup)) {
            return Ok(Outcome { note: Note::Unknown(missing.to_string()), spec: None });
        }
        if !evaluation.answer.accepted {
            return Ok(Outcome { note: Note::Refused, spec: None });
        }
        let spec = evaluation.answer.mutated_object.map(|pod| pod["spec"].clone()).or_else(bare);
        let note = if self.only_warns(name) { Note::WouldBe } else { Note::None };
        Ok(Outcome { note, spec })
    }

    /// The labels that selectors name: those of the settings, and those that Pods get.
    fn keys(&self, outcomes: &BTreeMap<String, Outcome>) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        for selector in node_selectors(self.typed) {
            let selector = parse_selector(&selector).unwrap_or_default();
            keys.extend(selector.requirements().iter().map(|requirement| requirement.key().to_owned()));
        }
        for spec in outcomes.values().filter_map(|outcome| outcome.spec.as_ref()) {
            keys.extend(members(&spec["nodeSelector"]).map(|(key, _)| key.clone()));
            let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
            for term in list_of(&required["nodeSelectorTerms"]) {
                keys.extend(
                    list_of(&term["matchExpressions"]).iter().map(|expression| text(&expression["key"]).to_owned()),
                );
            }
        }
        keys
    }
}

/// The largest first.
fn pools(nodes: &[&Value], keys: &BTreeSet<String>) -> Vec<Pool> {
    let mut pools: BTreeMap<(Vec<String>, Vec<String>), Pool> = BTreeMap::new();
    for node in nodes {
        let value = |key: &String| Some(format!("{key}={}", node["metadata"]["labels"][key.as_str()].as_str()?));
        let labels: Vec<String> = keys.iter().filter_map(value).collect();
        let taints = list_of(&node["spec"]["taints"]).iter().filter(|taint| lasts(taint));
        let mut taints: Vec<String> = taints.map(taint_in_words).collect();
        taints.sort();
        let pool = pools.entry((labels.clone(), taints.clone())).or_default();
        (pool.labels, pool.taints) = (labels, taints);
        pool.nodes.insert(text(&node["metadata"]["name"]).to_owned());
    }
    let mut pools: Vec<Pool> = pools.into_values().collect();
    pools.sort_by_key(|pool| usize::MAX - pool.nodes.len());
    pools
}

/// A node of a pool: they are alike.
fn sample<'n>(pool: &Pool, nodes: &[&'n Value]) -> &'n Value {
    let name = pool.nodes.first().map(String::as_str).unwrap_or_default();
    nodes.iter().find(|node| node["metadata"]["name"] == name).copied().unwrap_or(&Value::Null)
}

/// What becomes of the Pod on a node.
pub fn state(note: &Note, spec: Option<&Value>, node: &Value) -> State {
    let Some(spec) = spec else {
        return if matches!(note, Note::Unknown(_)) { State::Unknown } else { State::MustNot };
    };
    if !matches_node(spec, node) {
        return State::MustNot;
    }
    match keeps_away(spec, node) {
        Some(_) => State::Waits,
        None => State::May,
    }
}

/// Adds a namespace to those that are alike.
fn add(rows: &mut Vec<Row>, namespace: String, note: Note, cells: Vec<Cell>) {
    let alike = |row: &&mut Row| {
        row.note == note && row.cells.iter().map(|cell| cell.state).eq(cells.iter().map(|cell| cell.state))
    };
    match rows.iter_mut().find(alike) {
        Some(row) => {
            row.namespaces.insert(namespace);
            for (cell, more) in row.cells.iter_mut().zip(cells) {
                cell.pods += more.pods;
            }
        }
        None => rows.push(Row { namespaces: BTreeSet::from([namespace]), cells, note }),
    }
}

impl Pools {
    /// With no more columns than people read: the smallest share one.
    pub fn folded(&self) -> Self {
        let mut folded = self.clone();
        if folded.pools.len() <= MOST_POOLS {
            return folded;
        }
        let rest = folded.pools.split_off(MOST_POOLS - 1);
        let nodes = rest.iter().flat_map(|pool| pool.nodes.clone()).collect();
        folded.pools.push(Pool { nodes, folded: rest.len(), ..Pool::default() });
        for row in &mut folded.rows {
            let rest = row.cells.split_off(MOST_POOLS - 1);
            let first = rest.first().map_or(State::Unknown, |cell| cell.state);
            let state = if rest.iter().all(|cell| cell.state == first) { first } else { State::Mixed };
            row.cells.push(Cell { pods: rest.iter().map(|cell| cell.pods).sum(), state });
        }
        folded.merge_rows();
        folded
    }

    /// Rows that differed only in what is folded are alike now.
    fn merge_rows(&mut self) {
        let mut rows: Vec<Row> = vec![];
        for Row { namespaces, cells, note } in std::mem::take(&mut self.rows) {
            for (place, namespace) in namespaces.into_iter().enumerate() {
                // The Pods of the row are counted once.
                let cells = cells.iter().map(|cell| Cell { pods: if place == 0 { cell.pods } else { 0 }, ..*cell });
                add(&mut rows, namespace, note.clone(), cells.collect());
            }
        }
        self.rows = rows;
    }

    /// Of a namespace, on a node.
    pub fn state(&self, namespace: &str, node: &str) -> Option<State> {
        let pool = self.pools.iter().position(|pool| pool.nodes.contains(node))?;
        let row = self.rows.iter().find(|row| row.namespaces.contains(namespace))?;
        row.cells.get(pool).map(|cell| cell.state)
    }
}
