//! The nodes of each namespace: those that an ordinary user could bind its Pods to, if the policy verified all Bindings.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow};
use node_placement_policy::{
    cluster::{ALLOCATABLE, Cluster, FieldMasks, LABELS, Lookups, NodeLookup, NodeName, TAINTS},
    object_meta::ObjectName,
    placement::{
        bindings::{BindingRules, severity},
        entry::CandidateEntries,
        severity::Severity,
    },
    request::User,
    settings::{EntryAt, Placement},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    advice::{Advice, AdviceList, Cause, CauseKind, capital, names},
    outcome::Outcome,
    rulebook::Rulebook,
    way_out::WayOut,
};
use crate::{
    cluster::manifests::Manifests,
    input::settings::{accepts_absence, entry_name, namespace_selector},
    places::node_map::NodeMap,
    rules::{PolicyRules, RuleKind, labels_and_annotations},
    webhook::{delivery::delivery, pods::plain_pod_request, settings_file::SettingsFile},
};

/// A namespace that may use more nodes than with the old settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Opening {
    /// The namespace.
    pub namespace: String,
    /// The names of the nodes that it may also use.
    pub nodes: Vec<String>,
}

/// Nodes that are alike, by one of them.
struct Target<'n> {
    /// The position of their pool.
    pool: usize,
    name: &'n NodeName,
    node: NodeLookup<'n>,
    labels: &'n BTreeMap<String, String>,
}

/// How entries that only warn are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Warnings {
    /// They fence nothing off.
    Open,
    /// As if they were enforced.
    Fence,
}

/// Returns for each namespace the positions of the pools whose nodes it may use.
///
/// # Errors
/// The settings have a mistake.
pub fn usable_pools(
    files: &[SettingsFile],
    cluster: &Manifests,
    namespaces: &BTreeSet<String>,
    pools: &NodeMap,
    warnings: Warnings,
) -> Result<BTreeMap<String, BTreeSet<usize>>> {
    let nodes = pools.pools.iter().enumerate().filter_map(|(at, pool)| Some((at, pool.nodes.first()?)));
    let nodes: Vec<_> = nodes.filter_map(|(at, node)| Some((at, node, NodeName::new(&node.name)?))).collect();
    let lookups: Vec<Lookups<'_>> = nodes.iter().map(|_| Lookups::new(cluster as &dyn Cluster)).collect();
    let masks: FieldMasks = [LABELS, TAINTS, ALLOCATABLE].map(str::to_owned).into();
    let mut targets = vec![];
    for ((pool, node, name), lookups) in nodes.iter().zip(&lookups) {
        targets.push(Target { pool: *pool, name, node: lookups.node(Some(name), &masks), labels: &node.labels });
    }
    let mut usable = BTreeMap::new();
    for name in namespaces {
        let namespace = cluster.namespace(name);
        let mut own: BTreeSet<usize> = targets.iter().map(|target| target.pool).collect();
        for file in files.iter().filter(|file| places_pods_of(file, name, namespace)) {
            let accepted = accepted(file, name, namespace, &targets, warnings)?;
            own.retain(|pool| accepted.contains(pool));
        }
        usable.insert(name.clone(), own);
    }
    Ok(usable)
}

/// Returns whether a policy places Pods of a namespace.
fn places_pods_of(file: &SettingsFile, name: &str, namespace: Option<&Value>) -> bool {
    let is_sent = |policy| delivery(policy, &plain_pod_request(name), namespace).kept_away().is_none();
    file.places_pods() && file.policy.as_ref().is_none_or(is_sent)
}

/// Returns the pools whose nodes one policy would accept in Bindings of an ordinary user.
fn accepted(
    file: &SettingsFile,
    name: &str,
    namespace: Option<&Value>,
    targets: &[Target<'_>],
    warnings: Warnings,
) -> Result<BTreeSet<usize>> {
    match &file.typed.placement {
        Some(placement) => by_placement(placement, name, namespace, targets, warnings),
        None => by_plugin(file, name, namespace, targets),
    }
}

fn by_placement(
    placement: &Placement,
    name: &str,
    namespace: Option<&Value>,
    targets: &[Target<'_>],
    warnings: Warnings,
) -> Result<BTreeSet<usize>> {
    let entries = CandidateEntries::new(placement, name).find(labels_and_annotations(name, namespace));
    let entries = entries.map_err(|error| anyhow!("{error}"))?;
    let all = targets.iter();
    if warnings == Warnings::Open && severity(&entries) == Severity::Report {
        return Ok(all.map(|target| target.pool).collect());
    }
    // Where the rules can't be read, no Binding is accepted.
    let user = User::Named(String::new());
    let Ok(rules) = BindingRules::new(&entries, &user) else { return Ok(BTreeSet::new()) };
    let accepts = |target: &&Target<'_>| rules.validate(&target.node, target.name, &ObjectName::EveryPod).is_ok();
    Ok(all.filter(accepts).map(|target| target.pool).collect())
}

/// Returns the pools whose nodes the in-tree plugin accepts. Its configuration has no taints.
fn by_plugin(
    file: &SettingsFile,
    name: &str,
    namespace: Option<&Value>,
    targets: &[Target<'_>],
) -> Result<BTreeSet<usize>> {
    let rules = PolicyRules::new(&file.typed, name, namespace)?.rules;
    let required: Vec<_> = rules.iter().filter(|rule| rule.kind == RuleKind::Required).collect();
    let accepts = |target: &&Target<'_>| {
        let label = |key: &str| target.labels.get(key).map(String::as_str);
        required.iter().all(|rule| rule.selector.as_ref().is_some_and(|selector| selector.matches(label)))
    };
    Ok(targets.iter().filter(accepts).map(|target| target.pool).collect())
}

/// Returns the namespaces that may use more nodes than before.
pub fn openings(
    pools: &NodeMap,
    old: &BTreeMap<String, BTreeSet<usize>>,
    new: &BTreeMap<String, BTreeSet<usize>>,
) -> Vec<Opening> {
    let mut openings = vec![];
    for (namespace, usable) in new {
        let more = usable.iter().filter(|pool| old.get(namespace).is_some_and(|old| !old.contains(pool)));
        let more = more.filter_map(|pool| pools.pools.get(*pool));
        let mut nodes: Vec<String> = more.flat_map(|pool| &pool.nodes).map(|node| node.name.clone()).collect();
        nodes.sort();
        if !nodes.is_empty() {
            openings.push(Opening { namespace: namespace.clone(), nodes });
        }
    }
    openings
}

/// Adds the namespaces that may use more nodes; those that gain the same nodes as one.
pub fn advise_on_openings(openings: &[Opening], to_do: &mut AdviceList) {
    let mut gains: BTreeMap<&[String], Vec<String>> = BTreeMap::new();
    for Opening { namespace, nodes } in openings {
        gains.entry(nodes).or_default().push(namespace.clone());
    }
    for (nodes, namespaces) in gains {
        let (who, it) = match namespaces.as_slice() {
            [only] => (format!("Namespace {only}"), "it"),
            many => (format!("{} namespaces ({})", many.len(), names(many)), "them"),
        };
        let text = format!("{who} may also use {}, which the old settings keep from {it}", names(nodes));
        let namespace = Some(namespaces).filter(|all| all.len() == 1).and_then(|all| all.into_iter().next());
        let cause = Cause { namespace, nodes: nodes.to_vec(), ..Cause::new(CauseKind::Opens, None) };
        // It stands behind what is refused or waits.
        to_do.add_alone(Outcome::Misplaced, text, cause);
    }
}

/// An entry that selects namespaces by a label that none has, while nothing else is fenced.
pub struct NothingFenced<'s> {
    /// The entry.
    pub at: EntryAt<'s>,
    /// The key of the label.
    pub label: String,
}

impl NothingFenced<'_> {
    /// Says what is wrong: `no namespace has the label tenant`.
    pub fn text(&self) -> String {
        format!("no namespace has the label {}", self.label)
    }

    /// Says what is wrong, and what to do.
    pub fn advice(&self) -> Advice {
        let text = format!(
            "{}, by which {} ({}) selects, so that nothing is fenced. Label the namespaces of the tenants, such as with \
             kubectl label namespace NAME {}=VALUE, and preview again.",
            capital(&self.text()),
            entry_name(self.at.entry),
            self.at,
            self.label
        );
        let cause = Cause::new(CauseKind::NothingFenced, Some(format!("{}.namespaceSelector", self.at)));
        let cause = Cause { label: Some(self.label.clone()), ..cause };
        Advice { text, cause, way_out: WayOut::Said, about: vec![] }
    }
}

/// Returns the first entry that selects by a label which no namespace has, if every namespace may use every node.
///
/// # Errors
/// The settings have a mistake.
pub fn nothing_fenced<'s>(
    round: &Rulebook<'s>,
    namespaces: &BTreeSet<String>,
    pools: &NodeMap,
) -> Result<Option<NothingFenced<'s>>> {
    // Of a namespace that is not known, nobody knows the labels.
    if namespaces.is_empty() || namespaces.iter().any(|name| round.cluster.namespace(name).is_none()) {
        return Ok(None);
    }
    let idle = round.idle_entries().into_iter().filter(|(_, matched)| matched.is_empty());
    let by_label = idle.filter_map(|(at, _)| {
        let selector = namespace_selector(at.entry);
        at.entry.namespace_selector.as_ref().filter(|_| !accepts_absence(&selector))?;
        let label = selector.requirements().iter().find(|one| !one.accepts(None))?.key().to_owned();
        let has_label = |name: &String| {
            round.cluster.namespace(name).is_some_and(|object| !object["metadata"]["labels"][&label].is_null())
        };
        (!namespaces.iter().any(has_label)).then_some(NothingFenced { at, label })
    });
    let Some(found) = by_label.into_iter().next() else { return Ok(None) };
    let usable = usable_pools(round.files, round.cluster, namespaces, pools, Warnings::Fence)?;
    let all = pools.pools.iter().filter(|pool| !pool.nodes.is_empty()).count();
    let is_open = all > 0 && usable.values().all(|own| own.len() == all);
    Ok(is_open.then_some(found))
}
