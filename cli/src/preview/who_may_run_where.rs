//! Who may run where: namespaces, and pools that people recognize by their labels and taints; and pools that are meant for
//! one tenant, and that others may use too.

use std::collections::{BTreeMap, BTreeSet};

use node_placement_policy::toleration::{NO_SCHEDULE, Taint};
use serde::Serialize;

use super::{
    advice::{AdviceList, Cause, CauseKind, Sentence, names},
    namespace_rules::NamespaceRules,
    outcome::{Forecast, Judged, JudgedSubject, Outcome, Why},
    pod_shape::accepts,
    round::{Accepted, Created, Round},
};
use crate::{
    demands::Demand,
    input::{settings::entry_name, settings_file},
    places::{
        node_map::{NodeMap, Pool},
        pod::PodNeeds,
    },
};

/// Namespaces for which the same holds, and where their Pods run. Rows are in the order of their fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Row {
    /// The position of the entry that holds; behind all others, if none does.
    pub position: usize,
    /// What the entry is for.
    pub entry: Option<String>,
    /// What tells them from other namespaces of the entry: `tenant=blue`.
    pub tenant: Option<String>,
    /// The node selector that holds; empty if there is none. Of several tenants, as it is written.
    pub selector: String,
    /// The node selectors of the entry, as they are written.
    #[serde(skip)]
    pub written_selector: String,
    /// What is to be said of each pool.
    pub cells: Vec<Cell>,
    /// What becomes of a plain Pod, which asks for nothing.
    pub forecast: Forecast,
    /// What keeps a plain Pod from the policy, if something does.
    pub kept_away: Option<String>,
    /// The namespaces.
    pub namespaces: Vec<String>,
    /// How many of their Pods run in pools that take a plain Pod.
    pub pods_there: usize,
    /// How many of their Pods run elsewhere.
    pub pods_elsewhere: usize,
    /// The rows of the tenants for which it stands, each with nodes of its own; else none.
    #[serde(skip)]
    pub tenants: Vec<Self>,
}

/// Whether a pool accepts a plain Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Answer {
    /// It does.
    Yes,
    /// It does not.
    #[default]
    No,
    /// It does when the entries that only warn are enforced.
    OnceEnforced,
    /// It does until the entries that only warn are enforced.
    UntilEnforced,
    /// That could not be evaluated.
    Unknown,
}

impl Answer {
    /// Joins what holds now with what holds when all entries are enforced.
    const fn new(now: bool, enforced: bool) -> Self {
        match (now, enforced) {
            (true, true) => Self::Yes,
            (false, false) => Self::No,
            (false, true) => Self::OnceEnforced,
            (true, false) => Self::UntilEnforced,
        }
    }

    /// Returns whether it accepts one now.
    pub const fn is_yes_now(self) -> bool {
        matches!(self, Self::Yes | Self::UntilEnforced)
    }

    /// Returns whether it accepts one when all entries are enforced.
    pub const fn is_yes_once_enforced(self) -> bool {
        matches!(self, Self::Yes | Self::OnceEnforced)
    }
}

/// What namespaces have to do with a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cell {
    /// Whether it accepts a plain Pod.
    pub answer: Answer,
    /// How many of their Pods run there.
    pub pods: usize,
}

/// The rows of all namespaces among `judged`.
pub fn rows(round: &Round<'_>, pools: &NodeMap, judged: &[JudgedSubject<'_>]) -> Vec<Row> {
    let mut running: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for JudgedSubject { subject, .. } in judged {
        running.entry(&subject.namespace).or_default().extend(subject.nodes.iter().map(String::as_str));
    }
    let mut namespaces: BTreeMap<Row, Vec<&str>> = BTreeMap::new();
    for plain_pod in judged.iter().filter(|it| it.subject.manifest.is_none()) {
        namespaces.entry(Row::new(round, pools, plain_pod)).or_default().push(&plain_pod.subject.namespace);
    }
    let with_pods = |(mut row, namespaces): (Row, Vec<&str>)| {
        for node in namespaces.iter().filter_map(|namespace| running.get(namespace)).flatten() {
            row.add_pod(pools.position_of(node));
        }
        Row { namespaces: namespaces.into_iter().map(str::to_owned).collect(), ..row }
    };
    namespaces.into_iter().map(with_pods).collect()
}

/// What a Pod asks of nodes in the end; nothing, where it is not let in.
fn constraints(created: &Created) -> Option<&PodNeeds> {
    match created {
        Created::Accepted(Accepted { after, .. }) => Some(&after.needs),
        Created::Unknown(_) | Created::Refused(_) => None,
    }
}

impl Row {
    /// What holds for the namespace of a plain Pod.
    fn new(round: &Round<'_>, pools: &NodeMap, plain_pod: &JudgedSubject<'_>) -> Self {
        let JudgedSubject { subject, creation, judged: Judged { forecast, why, .. }, .. } = plain_pod;
        let rules = round.rules(&subject.namespace);
        // Of what is not sent, no rule holds.
        let is_sent = forecast.outcome != Outcome::NotAsked;
        let at = rules.held().next().filter(|_| is_sent);
        let selector = if is_sent { rules.selector() } else { String::new() };
        let takes = |pool: &Pool, created| constraints(created).is_some_and(|pod| accepts(pools, pool, pod));
        let enforced = creation.enforced.as_ref().unwrap_or(&creation.real);
        let answer = |pool| match forecast.outcome {
            Outcome::CannotTell => Answer::Unknown,
            _ => Answer::new(takes(pool, &creation.real), takes(pool, enforced)),
        };
        let written = at.iter().flat_map(|at| at.entry.required_node_selectors());
        Self {
            position: at.map_or(usize::MAX, |at| at.position),
            entry: at.map(|at| entry_name(at.entry)),
            tenant: rules.tenant().filter(|_| !selector.is_empty()),
            selector,
            written_selector: written.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(","),
            cells: pools.pools.iter().map(|pool| Cell { answer: answer(pool), pods: 0 }).collect(),
            forecast: *forecast,
            kept_away: match why {
                Why::NotAsked(reason) if forecast.outcome == Outcome::NotAsked => Some(reason.clone()),
                _ => None,
            },
            namespaces: vec![],
            pods_there: 0,
            pods_elsewhere: 0,
            tenants: vec![],
        }
    }

    /// Counts a Pod that runs in the pool at this position; that of a node of no pool is elsewhere.
    fn add_pod(&mut self, pool: Option<usize>) {
        match pool.and_then(|pool| self.cells.get_mut(pool)) {
            Some(cell) => {
                cell.pods += 1;
                *(if cell.answer.is_yes_now() { &mut self.pods_there } else { &mut self.pods_elsewhere }) += 1;
            }
            None => self.pods_elsewhere += 1,
        }
    }

    /// What people call it: by its namespace, if that is the only one; else by what holds there.
    pub fn name(&self) -> &str {
        match (self.namespaces.as_slice(), self.forecast.outcome) {
            ([only], _) => only,
            (_, Outcome::NotAsked) => "not sent to the policy",
            _ => self.tenant.as_deref().or(self.entry.as_deref()).unwrap_or("no entry"),
        }
    }

    /// Returns whether its Pods run where they may, and new ones can, whether its entry is enforced or not.
    pub fn has_no_trouble(&self) -> bool {
        !self.forecast.outcome.is_trouble() && self.pods_elsewhere == 0
    }

    /// Returns whether there is nothing to say about it but where its Pods run.
    pub fn is_sound(&self) -> bool {
        self.has_no_trouble() && !self.forecast.would_be
    }

    /// Its cell of a pool, if its Pods are sent to the policy, and may run there.
    fn used(&self, pool: usize) -> Option<&Cell> {
        let is_asked = !self.forecast.is_real_trouble() && self.forecast.outcome != Outcome::NotAsked;
        self.cells.get(pool).filter(|cell| is_asked && cell.answer.is_yes_now())
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
    /// DaemonSets of other namespaces that run there, and do not tolerate every taint.
    daemon_sets: BTreeSet<String>,
}

/// Adds the pools that one tenant's selector names, and that take Pods of others too.
pub fn advise_on_taints(
    round: &Round<'_>,
    map: &NodeMap,
    rows: &[Row],
    judged: &[JudgedSubject<'_>],
    to_do: &mut AdviceList,
) {
    let mut found: BTreeMap<(&str, &Option<String>, bool), Untainted> = BTreeMap::new();
    for (column, pool) in map.pools.iter().enumerate().filter(|(_, pool)| pool.taints.is_empty()) {
        let users: Vec<(&Row, &Cell)> = rows.iter().filter_map(|row| Some((row, row.used(column)?))).collect();
        let tenants = users.iter().filter(|(_, cell)| cell.answer.is_yes_once_enforced());
        let tenants = tenants.filter_map(|(row, _)| Some(((&row.selector, setting_naming(pool, row, round)?), *row)));
        let mut tenants = tenants.collect::<BTreeMap<_, _>>().into_iter();
        let (Some(((selector, setting), tenant)), None) = (tenants.next(), tenants.next()) else { continue };
        let others = users.iter().filter(|(row, _)| row.selector != *selector);
        let is_warned_of = others.clone().all(|(_, cell)| !cell.answer.is_yes_once_enforced());
        let others: BTreeSet<String> = others.flat_map(|(row, _)| row.namespaces.clone()).collect();
        if others.is_empty() {
            continue;
        }
        let untainted = found.entry((setting, &tenant.entry, is_warned_of)).or_default();
        untainted.selectors.insert(selector.clone());
        untainted.nodes.extend(pool.nodes.iter().map(|node| node.name.clone()));
        untainted.nodes.extend(pool.nodes.is_empty().then(|| pool.name.clone()));
        untainted.others.extend(others);
        let own = rows.iter().filter(|row| row.selector == *selector).flat_map(|row| &row.namespaces);
        untainted.daemon_sets.extend(daemon_sets_that_would_leave(map, pool, &own.collect(), judged));
    }
    for ((setting, entry, is_warned_of), Untainted { selectors, nodes, others, daemon_sets }) in found {
        let entry = entry.as_deref().unwrap_or("some namespaces");
        let tenants = match selectors.len() {
            1 => entry.to_owned(),
            tenants => format!("{tenants} tenants of {entry}"),
        };
        let (since, enforce) = match is_warned_of {
            true => (", since entries that only warn keep nobody away", "enforce these, or "),
            false => ("", ""),
        };
        let leaving = match daemon_sets.is_empty() {
            true => String::new(),
            false => format!(
                ". Unless they tolerate that taint, these leave the nodes: {}",
                names(&daemon_sets.into_iter().collect::<Vec<_>>())
            ),
        };
        let sentence = Sentence::Alone(format!(
            "No taint keeps Pods of {} from nodes of {tenants} ({}){since}. If only that may run there, {enforce}add a \
             toleration to the entry with defaultTolerations, then taint the nodes with NoSchedule{leaving}",
            names(&others.into_iter().collect::<Vec<_>>()),
            names(&nodes),
        ));
        let cause = Cause { nodes, ..Cause::new(CauseKind::NoTaint, Some(setting.to_owned())) };
        to_do.add(Forecast::real(Outcome::Changed), sentence, cause, None);
    }
}

/// The DaemonSets of other namespaces than these that a pool takes, and that a taint of any key may keep away.
fn daemon_sets_that_would_leave(
    map: &NodeMap,
    pool: &Pool,
    namespaces: &BTreeSet<&String>,
    judged: &[JudgedSubject<'_>],
) -> Vec<String> {
    let any_taint = Taint { effect: NO_SCHEDULE.to_owned(), ..Taint::default() };
    let would_leave = |it: &&JudgedSubject<'_>| {
        let is_another = it.subject.kind() == "DaemonSet" && !namespaces.contains(&it.subject.namespace);
        constraints(&it.creation.real).filter(|_| is_another).is_some_and(|pod| {
            let keeps_away = || Some(pod.own()?.excluded_by_taints(std::slice::from_ref(&any_taint)).is_some());
            accepts(map, pool, pod) && keeps_away() == Some(true)
        })
    };
    let named = |it: &JudgedSubject<'_>| format!("DaemonSet {} in {}", it.subject.name(), it.subject.namespace);
    judged.iter().filter(would_leave).map(named).collect()
}

/// The setting of an entry that demands a label of this pool by name, for namespaces of a row.
fn setting_naming<'p>(pool: &Pool, row: &Row, round: &'p Round<'_>) -> Option<&'p str> {
    let names = |demand: &&Demand| {
        let mut requirements = demand.selector.iter().flat_map(|selector| selector.requirements());
        requirements.any(|one| !one.accepts(None) && pool.labels.contains_key(one.key()))
    };
    let demands = row.namespaces.iter().flat_map(|namespace| round.rules(namespace).demands());
    let mut paths = demands.filter(names).filter_map(|demand| demand.path.as_deref());
    paths.find(|path| path.starts_with("placement.namespaces["))
}

/// The labels that selectors of the settings, or of namespaces, name.
pub fn selected_labels(round: &Round<'_>) -> BTreeSet<String> {
    let demands = round.namespaces.values().flat_map(NamespaceRules::demands);
    let requirements = demands.flat_map(|demand| &demand.selector).flat_map(|selector| selector.requirements());
    let mut labels = settings_file::label_keys_of_files(round.files);
    labels.extend(requirements.map(|one| one.key().to_owned()));
    labels
}
