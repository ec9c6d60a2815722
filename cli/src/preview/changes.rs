//! What is different with other settings: for an upgrade of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finding::Finding,
    pools::{Pools, State},
    tally::{Group, Tally},
};

/// By namespace.
pub type Findings = BTreeMap<String, BTreeMap<Finding, Group>>;

/// What new settings change.
#[derive(Debug, Default)]
pub struct Changes {
    /// What is to be reported with the new settings, and was not with the old ones; by namespace.
    pub new: Findings,
    /// The other way round.
    pub gone: Findings,
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
        let rejected = |findings: &Findings, namespace: &str| -> Vec<Group> {
            let findings = findings.get(namespace).into_iter().flatten();
            let rejected = findings.filter(|(finding, _)| matches!(finding, Finding::Rejected { .. }));
            rejected.map(|(_, group)| group.clone()).collect()
        };
        self.new.keys().any(|namespace| {
            // For another reason than before, maybe.
            let gone = rejected(&self.gone, namespace);
            let left = |group: Group| gone.iter().fold(group, |group, known| group.without(known));
            rejected(&self.new, namespace).into_iter().any(|group| left(group).size() > 0)
        })
    }

    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.gone.is_empty() && self.moved.is_empty()
    }
}

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

/// The same for both settings: it says nothing in which entry, or in which field of it, something is demanded.
fn key(finding: &Finding) -> String {
    let text = match finding {
        // What is behind it depends on the field.
        Finding::Rejected { code, reason, .. } => format!("{code}: {reason}"),
        finding => format!("{finding:?}"),
    };
    let mut parts = text.split("placement.namespaces[");
    let mut key = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let place = part.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || "].".contains(letter));
        let about = place.strip_prefix(" (name").filter(|about| about.contains(')'));
        let rest = about.and_then(|about| about.split_once(')')).map_or(place, |(_, rest)| rest);
        key.push_str("an entry");
        key.push_str(rest);
    }
    key
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
