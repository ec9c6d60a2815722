//! What came of a preview, grouped and counted: it does not grow with the number of Pods.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    entries::EntryCount,
    finding::{Finding, Verdict},
    pools::Pools,
    unlabelled::Unlabelled,
    waiting::Known,
};
use crate::{input::kubectl::Unreadable, requests::resource::Resource};

/// All outcomes.
#[derive(Debug, Default)]
pub struct Tally {
    /// How many requests of a kind ended how.
    pub sums: BTreeMap<String, BTreeMap<Verdict, usize>>,
    /// What there is to report, by namespace.
    pub findings: BTreeMap<String, BTreeMap<Finding, Group>>,
    /// The namespaces that were tried, and whether a Pod there meets any rule.
    pub has_rule: BTreeMap<String, bool>,
    /// The namespaces without a rule for which no entry holds, with the labels that they lack and entries ask for.
    pub without_entry: BTreeMap<String, BTreeSet<String>>,
    /// The namespaces that seem to lack a label.
    pub unlabelled: BTreeMap<String, Unlabelled>,
    /// What is not in CLUSTER, and how many objects need it: `Namespace ghost`.
    pub missing: BTreeMap<String, usize>,
    /// What the deployment's rules and selectors keep from the policy, by the reason.
    pub spared: BTreeMap<String, usize>,
    /// The matchConditions that can't be evaluated here, with the reason, and how many requests they let pass.
    pub unchecked: BTreeMap<String, usize>,
    /// What could not be listed.
    pub unreadable: Vec<Unreadable>,
    /// Who may run where.
    pub pools: Pools,
    pub entries: Vec<EntryCount>,
    /// What is known of Pods that are alike.
    pub known_to_wait: Known,
    /// Objects of kinds that the policy is not asked about.
    pub unasked: BTreeMap<String, usize>,
}

/// The objects of which the same is to be reported.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub members: BTreeMap<Kind, Members>,
    /// The nodes that they are on, where that matters.
    pub nodes: BTreeSet<String>,
}

/// Objects of a kind, and the kind of their owners.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    pub kind: String,
    pub owner: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Members {
    pub count: usize,
    /// Of the owners; where there is none, of the objects themselves.
    pub names: Names,
}

/// The first names, in order; all of them where `keep` says so.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub first: BTreeSet<String>,
}

/// So many names of objects without an owner are kept, of however many there are. Owners are always kept: there are
/// far less of them than of Pods, and they are counted.
const KEPT: usize = 3;

/// An object that something is said of.
#[derive(Clone, Debug)]
pub struct Subject {
    pub resource: Resource,
    pub namespace: String,
    pub name: String,
    /// Kind and name.
    pub owner: Option<(String, String)>,
}

impl Tally {
    pub fn count(&mut self, kind: &str, verdict: Verdict) {
        *self.sums.entry(kind.to_owned()).or_default().entry(verdict).or_default() += 1;
    }

    /// Counts a request whose answer depends on something that is not there.
    pub fn count_unknown(&mut self, kind: &str, missing: &str) {
        *self.missing.entry(missing.to_owned()).or_default() += 1;
        self.count(kind, Verdict::Unknown);
    }

    pub fn report(&mut self, subject: &Subject, finding: Finding, node: Option<&str>, keep_names: bool) {
        let namespace = self.findings.entry(subject.namespace.clone()).or_default();
        let group = namespace.entry(finding).or_default();
        let kind = Kind {
            kind: subject.resource.kind.to_owned(),
            owner: subject.owner.as_ref().map(|(kind, _)| kind.clone()),
        };
        let members = group.members.entry(kind).or_default();
        members.count += 1;
        match &subject.owner {
            Some((_, name)) => members.names.first.insert(name.clone()),
            None => members.names.first.insert(subject.name.clone()),
        };
        if subject.owner.is_none() && !keep_names {
            members.names.cut();
        }
        group.nodes.extend(node.map(str::to_owned));
    }

    /// Takes in what another thread has found.
    pub fn merge(&mut self, other: Self, keep_names: bool) {
        for (kind, verdicts) in other.sums {
            add(self.sums.entry(kind).or_default(), verdicts);
        }
        for (namespace, findings) in other.findings {
            let own = self.findings.entry(namespace).or_default();
            for (finding, group) in findings {
                own.entry(finding).or_default().merge(group, keep_names);
            }
        }
        self.has_rule.extend(other.has_rule);
        self.without_entry.extend(other.without_entry);
        add(&mut self.missing, other.missing);
        add(&mut self.spared, other.spared);
        add(&mut self.unasked, other.unasked);
        add(&mut self.unchecked, other.unchecked);
    }

    /// How many objects there are findings about that `wanted` picks.
    pub fn count_of(&self, wanted: impl Fn(&Finding) -> bool) -> usize {
        let findings = self.findings.values().flatten().filter(|(finding, _)| wanted(finding));
        findings.map(|(_, group)| group.size()).sum()
    }

    /// How many requests ended so.
    pub fn total(&self, verdict: Verdict) -> usize {
        self.sums.values().filter_map(|verdicts| verdicts.get(&verdict)).sum()
    }
}

impl Group {
    fn merge(&mut self, other: Self, keep_names: bool) {
        for (kind, members) in other.members {
            let has_owner = kind.owner.is_some();
            let own = self.members.entry(kind).or_default();
            own.count += members.count;
            own.names.first.extend(members.names.first);
            if !has_owner && !keep_names {
                own.names.cut();
            }
        }
        self.nodes.extend(other.nodes);
    }
}

impl Group {
    /// The objects that `other` does not have; all names of both were kept.
    pub fn without(mut self, other: &Self) -> Self {
        for (kind, known) in &other.members {
            let Some(own) = self.members.get_mut(kind) else { continue };
            let left: BTreeSet<String> = own.names.first.difference(&known.names.first).cloned().collect();
            // Of an owner that both have, there may be more Pods; those of others can't be told apart.
            own.count = if left.is_empty() {
                own.count.saturating_sub(known.count)
            } else {
                own.count.min(own.count.abs_diff(known.count).max(left.len()))
            };
            if !left.is_empty() {
                own.names.first = left;
            }
        }
        self.members.retain(|_, members| members.count > 0);
        self
    }
}

impl Names {
    fn cut(&mut self) {
        while self.first.len() > KEPT {
            self.first.pop_last();
        }
    }
}

fn add<K: Ord>(own: &mut BTreeMap<K, usize>, other: BTreeMap<K, usize>) {
    for (key, count) in other {
        *own.entry(key).or_default() += count;
    }
}
