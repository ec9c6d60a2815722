//! Who may run where: namespaces, and pools that people recognize by their labels and taints; and pools that are meant for
//! one tenant, and that others may use too.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use node_placement_policy::toleration::{NO_SCHEDULE, Taint};
use serde::Serialize;

use super::{
    advice::{AdviceList, Cause, CauseKind, names},
    finding::{JudgedSubject, Why},
    outcome::{Forecast, Outcome},
    rulebook::Rulebook,
};
use crate::{
    input::settings::entry_name,
    places::{
        node_map::{NodeMap, Pool},
        pod::PodNeeds,
    },
    rules::{Rule, namespace::NamespaceRules},
    webhook::settings_file,
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
    /// What becomes of a plain Pod, which requests nothing.
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

/// Returns the rows of all namespaces among `judged`.
pub fn rows(round: &Rulebook<'_>, pools: &NodeMap, judged: &[JudgedSubject<'_>]) -> Vec<Row> {
    let mut running: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for JudgedSubject { subject, .. } in judged {
        running.entry(&subject.namespace).or_default().extend(subject.nodes.iter().map(String::as_str));
    }
    let mut namespaces: BTreeMap<Row, Vec<&str>> = BTreeMap::new();
    for plain_pod in judged.iter().filter(|it| it.subject.is_plain()) {
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

impl Row {
    /// Returns what holds for the namespace of a plain Pod.
    fn new(round: &Rulebook<'_>, pools: &NodeMap, plain_pod: &JudgedSubject<'_>) -> Self {
        let JudgedSubject { subject, findings, needs, needs_enforced, .. } = plain_pod;
        let (forecast, why) = (findings.worst.forecast, &findings.worst.why);
        let rules = round.rules(&subject.namespace);
        // Of what is not sent, no rule holds.
        let is_sent = forecast.outcome != Outcome::NotAsked;
        let at = rules.held().next().filter(|_| is_sent);
        let selector = if is_sent { rules.selector() } else { String::new() };
        let takes =
            |pool: &Pool, needs: &Option<Rc<PodNeeds>>| needs.as_ref().is_some_and(|pod| pools.accepts(pool, pod));
        let answer = |pool| match forecast.outcome {
            Outcome::CannotTell => Answer::Unknown,
            _ => Answer::new(takes(pool, needs), takes(pool, needs_enforced)),
        };
        let written = at.iter().flat_map(|at| at.entry.required_node_selectors());
        Self {
            position: at.map_or(usize::MAX, |at| at.position),
            entry: at.map(|at| entry_name(at.entry)),
            tenant: rules.tenant().filter(|_| !selector.is_empty()),
            selector,
            written_selector: written.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(","),
            cells: pools.pools.iter().map(|pool| Cell { answer: answer(pool), pods: 0 }).collect(),
            forecast,
            kept_away: match why {
                Why::NotAsked(by) if forecast.outcome == Outcome::NotAsked => Some(by.to_string()),
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

    /// Returns what people call it: by its namespace, if that is the only one; else by what holds there.
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

    /// Returns its cell of a pool, if its Pods are sent to the policy, and may run there.
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
    /// Workloads of other namespaces that run there, or can run nowhere else, and do not tolerate every taint.
    leaving: BTreeSet<String>,
}

/// The setting, what its entry is for, and whether entries that only warn are the reason.
type Meant<'r> = (&'r str, &'r Option<String>, bool);

/// Adds the pools that one tenant's selector names, and that take Pods of others too.
pub fn advise_on_taints(
    round: &Rulebook<'_>,
    map: &NodeMap,
    rows: &[Row],
    judged: &[JudgedSubject<'_>],
    to_do: &mut AdviceList,
) {
    let mut found: BTreeMap<Meant<'_>, Untainted> = BTreeMap::new();
    for (column, pool) in map.pools.iter().enumerate().filter(|(_, pool)| pool.taints.is_empty()) {
        let users: Vec<(&Row, &Cell)> = rows.iter().filter_map(|row| Some((row, row.used(column)?))).collect();
        let Some((setting, tenant)) = only_tenant(round, pool, &users) else { continue };
        let others = users.iter().filter(|(row, _)| row.selector != tenant.selector);
        let is_warned_of = others.clone().all(|(_, cell)| !cell.answer.is_yes_once_enforced());
        let others: BTreeSet<String> = others.flat_map(|(row, _)| row.namespaces.clone()).collect();
        if others.is_empty() {
            continue;
        }
        let untainted = found.entry((setting, &tenant.entry, is_warned_of)).or_default();
        untainted.selectors.insert(tenant.selector.clone());
        untainted.nodes.extend(pool.nodes.iter().map(|node| node.name.clone()));
        untainted.nodes.extend(pool.nodes.is_empty().then(|| pool.name.clone()));
        untainted.others.extend(others);
        let own = rows.iter().filter(|row| row.selector == tenant.selector).flat_map(|row| &row.namespaces);
        untainted.leaving.extend(workloads_that_would_leave(map, column, &own.collect(), judged));
    }
    for (meant, untainted) in found {
        let setting = meant.0.to_owned();
        let cause = Cause { nodes: untainted.nodes.clone(), ..Cause::new(CauseKind::NoTaint, Some(setting)) };
        to_do.add_alone(Outcome::Changed, untainted.advice(meant), cause);
    }
}

/// Returns the row of the only tenant whose selector names a pool, and the setting that does.
fn only_tenant<'r>(round: &'r Rulebook<'_>, pool: &Pool, users: &[(&'r Row, &Cell)]) -> Option<(&'r str, &'r Row)> {
    let mut tenants: BTreeMap<(&str, &str), &Row> = BTreeMap::new();
    for (row, _) in users.iter().filter(|(_, cell)| cell.answer.is_yes_once_enforced()) {
        if let Some(setting) = setting_naming(pool, row, round) {
            tenants.insert((&row.selector, setting), row);
        }
    }
    let mut tenants = tenants.into_iter();
    match (tenants.next(), tenants.next()) {
        (Some(((_, setting), row)), None) => Some((setting, row)),
        _ => None,
    }
}

impl Untainted {
    fn advice(&self, (_, entry, is_warned_of): Meant<'_>) -> String {
        let entry = entry.as_deref().unwrap_or("some namespaces");
        let tenants = match self.selectors.len() {
            1 => entry.to_owned(),
            tenants => format!("{tenants} tenants of {entry}"),
        };
        let (since, enforce) = match is_warned_of {
            true => (", since entries that only warn keep nobody away", "enforce these, or "),
            false => ("", ""),
        };
        let list = |names_of: &BTreeSet<String>| names(&names_of.iter().cloned().collect::<Vec<_>>());
        let leaving = match self.leaving.is_empty() {
            true => String::new(),
            false => format!(". Unless they tolerate that taint, these leave the nodes: {}", list(&self.leaving)),
        };
        format!(
            "No taint keeps Pods of {} from nodes of {tenants} ({}){since}. If only that may run there, {enforce}add a \
             toleration to the entry with defaultTolerations, then taint the nodes with NoSchedule{leaving}",
            list(&self.others),
            names(&self.nodes),
        )
    }
}

/// Returns the workloads of other namespaces than these that a taint of any key may keep away from a pool: DaemonSets that it
/// accepts, and what runs there, or can run nowhere else.
fn workloads_that_would_leave(
    map: &NodeMap,
    column: usize,
    namespaces: &BTreeSet<&String>,
    judged: &[JudgedSubject<'_>],
) -> Vec<String> {
    let Some(pool) = map.pools.get(column) else { return vec![] };
    let any_taint = Taint { effect: NO_SCHEDULE.to_owned(), ..Taint::default() };
    let mut leaving = vec![];
    for JudgedSubject { subject, needs, .. } in judged {
        let is_another = !subject.is_plain() && !subject.is_standing() && !namespaces.contains(&subject.namespace);
        let Some(needs) = needs.as_ref().filter(|needs| is_another && map.accepts(pool, needs)) else { continue };
        let is_kept_away =
            needs.own().is_some_and(|own| own.excluded_by_taints(std::slice::from_ref(&any_taint)).is_some());
        let runs_there = || subject.nodes.iter().any(|node| map.position_of(node) == Some(column));
        let others = || map.pools.iter().enumerate().filter(|(position, _)| *position != column);
        let is_pinned = || !others().any(|(_, other)| map.accepts(other, needs));
        if is_kept_away && (subject.kind() == "DaemonSet" || runs_there() || is_pinned()) {
            leaving.push(format!("{} {} in {}", subject.kind(), subject.name(), subject.namespace));
        }
    }
    leaving
}

/// Returns the setting of an entry that demands a label of this pool by name, for namespaces of a row.
fn setting_naming<'p>(pool: &Pool, row: &Row, round: &'p Rulebook<'_>) -> Option<&'p str> {
    let names = |rule: &&Rule| {
        let mut requirements = rule.selector.iter().flat_map(|selector| selector.requirements());
        requirements.any(|one| !one.accepts(None) && pool.labels.contains_key(one.key()))
    };
    let required = row.namespaces.iter().flat_map(|namespace| round.rules(namespace).required());
    let mut paths = required.filter(names).filter_map(|rule| rule.path.as_deref());
    paths.find(|path| path.starts_with("placement.namespaces["))
}

/// Returns the labels that selectors of the settings, or of namespaces, name.
pub fn selected_labels(round: &Rulebook<'_>) -> BTreeSet<String> {
    let required = round.namespaces.values().flat_map(NamespaceRules::required);
    let requirements = required.flat_map(|rule| &rule.selector).flat_map(|selector| selector.requirements());
    let mut labels = settings_file::label_keys_of_files(round.files);
    labels.extend(requirements.map(|one| one.key().to_owned()));
    labels
}
