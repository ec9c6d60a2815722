//! What is different with other settings: for an upgrade of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finding::Finding,
    pools::{Pools, State},
    tally::{Group, Tally},
};

/// What new settings change.
#[derive(Debug, Default)]
pub struct Changes {
    /// What is to be reported with the new settings, and was not with the old ones; by namespace.
    pub new: BTreeMap<String, BTreeMap<Finding, Group>>,
    /// The other way round.
    pub gone: BTreeMap<String, BTreeMap<Finding, Group>>,
    /// Namespaces whose Pods may run elsewhere: the pools' names, before and now.
    pub moved: Vec<Moved>,
}

/// Namespaces whose new Pods may run elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub struct Moved {
    pub namespaces: BTreeSet<String>,
    /// The nodes that they may run on now, and might not before.
    pub gained: BTreeSet<String>,
    pub lost: BTreeSet<String>,
}

impl Changes {
    /// Between two previews of the same cluster, in which all names were kept.
    pub fn between(old: &Tally, new: &Tally) -> Self {
        Self {
            new: without(&new.findings, &old.findings),
            gone: without(&old.findings, &new.findings),
            moved: moved(&old.pools, &new.pools),
        }
    }

    /// Whether something is refused now that was not.
    pub fn reject(&self) -> bool {
        self.new.values().flatten().any(|(finding, _)| matches!(finding, Finding::Rejected { .. }))
    }

    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.gone.is_empty() && self.moved.is_empty()
    }
}

type Findings = BTreeMap<String, BTreeMap<Finding, Group>>;

/// What is in the one, and not in the other.
fn without(one: &Findings, other: &Findings) -> Findings {
    let mut left = Findings::new();
    for (namespace, findings) in one {
        for (finding, group) in findings {
            let same = other.get(namespace).into_iter().flatten().filter(|(known, _)| key(known) == key(finding));
            let group = same.fold(group.clone(), |group, (_, known)| group.without(known));
            if group.size() > 0 {
                left.entry(namespace.clone()).or_default().insert(finding.clone(), group);
            }
        }
    }
    left
}

/// The same for both settings: the positions of entries say nothing.
fn key(finding: &Finding) -> String {
    let mut text = format!("{finding:?}");
    while let Some((before, after)) = text.split_once("placement.namespaces[") {
        let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start_matches(']');
        text = format!("{before}an entry{after}");
    }
    text
}

fn moved(old: &Pools, new: &Pools) -> Vec<Moved> {
    let nodes: Vec<&String> = new.pools.iter().flat_map(|pool| &pool.nodes).collect();
    let mut moved: Vec<Moved> = vec![];
    for namespace in new.rows.iter().flat_map(|row| &row.namespaces) {
        let (mut gained, mut lost) = (BTreeSet::new(), BTreeSet::new());
        for node in &nodes {
            let may = |pools: &Pools| pools.state(namespace, node) == Some(State::May);
            match (may(old), may(new)) {
                (false, true) => gained.insert((*node).clone()),
                (true, false) => lost.insert((*node).clone()),
                _ => false,
            };
        }
        if gained.is_empty() && lost.is_empty() {
            continue;
        }
        match moved.iter_mut().find(|known| known.gained == gained && known.lost == lost) {
            Some(known) => {
                known.namespaces.insert(namespace.clone());
            }
            None => moved.push(Moved { namespaces: BTreeSet::from([namespace.clone()]), gained, lost }),
        }
    }
    moved
}
