//! Why no node accepts a Pod.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    rc::Rc,
};

use node_placement_policy::{
    selector::{Requirement, Selector, text},
    toleration::Taint,
};

use super::remedy::is_control_plane;
use crate::{
    lists::{listed, shortened},
    places::{
        fit::{Exclusion, Fit, Obstacle, Spec},
        node_map::{NodeMap, Place, Pool, largest},
        requests::Lack,
        room::{Crowd, HOSTNAME},
    },
    rules::Rule,
    verdict::Verdict,
};

/// At most this many names of nodes stand in a sentence.
const NAMED: usize = 3;

/// Values that are no more alike than this are not proposed.
const ALIKE: f64 = 0.7;

/// Why no node accepts a Pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Unschedulable {
    /// The nodes that match have taints: those of the nodes that are the easiest to run on.
    Taints {
        /// In the order of their texts.
        taints: Vec<Taint>,
        /// Their names; of a NodePool, that of the pool.
        nodes: Vec<String>,
        /// Whether the Pod tolerates them for some seconds, after which it is evicted.
        for_a_time: bool,
    },
    /// No node has what is demanded of this label.
    Label {
        /// Its key.
        key: String,
        /// `pool=blue`
        needs: String,
        /// What looks most like it among what nodes have.
        similar: Option<String>,
        /// The RuntimeClass that requires it, if one does.
        class: Option<String>,
        /// Whether a node without the label would do.
        is_absent: bool,
        /// What the labels of a node must meet, so that it accepts the Pod.
        labels: Option<Selector>,
    },
    /// Some nodes have the one, some the other, and none has all.
    Together {
        /// What the namespace's selector demands.
        demanded: Vec<String>,
        /// What the Pod asks for itself.
        asked: Vec<String>,
        /// The key of the first that is demanded, else asked for.
        key: String,
        /// Whether it is about the nodes that the Pod names: another one may have all.
        is_named: bool,
        /// What the labels of a node must meet, so that it accepts the Pod.
        labels: Option<Selector>,
    },
    /// The nodes that match are too small for one Pod alone.
    TooSmall(Vec<Lack>),
    /// The nodes that match have taints that pass: those of one of them.
    NotNow(Vec<Taint>),
    /// The volume of one of its Pods is reached from none of the nodes that match.
    Volume {
        /// The name of the Pod.
        pod: String,
        /// The name of the PersistentVolume.
        volume: String,
    },
    /// Its replicas must be apart, and are more than the places for them.
    Crowd(Crowd),
    /// The nodes that match have less in all than the Pods request that can run nowhere else.
    Sum {
        /// Their names.
        nodes: Rc<Vec<String>>,
        /// Both sums.
        lacking: Vec<Lack>,
    },
    /// Its node affinity can match no node.
    Nothing,
}

impl fmt::Display for Unschedulable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taints { taints, for_a_time, .. } => {
                let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
                write!(f, "the nodes that match have the taint {}", taints.join(", "))?;
                if *for_a_time { f.write_str(", which its Pods tolerate for some seconds only") } else { Ok(()) }
            }
            Self::Label { needs, class: Some(class), .. } => {
                write!(f, "no node has {needs}, which the RuntimeClass {class} requires")
            }
            Self::Label { needs, class: None, .. } => write!(f, "no node has {needs}"),
            Self::Together { demanded, asked, is_named, .. } => {
                let needs = listed(&[demanded.as_slice(), asked].concat());
                let (which, together) = if *is_named { (" that it names", "") } else { ("", " together") };
                write!(f, "no node{which} has {needs}{together}")
            }
            Self::TooSmall(lacking) => {
                let lacking = in_words(lacking, "the largest node has");
                write!(f, "none of the nodes that match is large enough: its Pods request {lacking}")
            }
            Self::NotNow(taints) => {
                let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
                let taints = taints.join(", ");
                write!(f, "for now, the nodes that match are all cordoned, not ready or draining ({taints})")
            }
            Self::Volume { pod, volume } => write!(
                f,
                "its Pod {pod} could not start again: none of the nodes that match reaches its PersistentVolume {volume}"
            ),
            Self::Crowd(Crowd { topology_key, replicas, values }) => write!(
                f,
                "its {replicas} replicas must have different values of {topology_key}, of which the nodes that match have \
                 {values}"
            ),
            Self::Sum { nodes, lacking } => {
                let names = shortened(nodes, NAMED).unwrap_or_else(|| listed(nodes));
                let lacking = in_words(lacking, "in all, these have");
                write!(f, "what can run on {names} alone, with the DaemonSets there, requests {lacking}")
            }
            Self::Nothing => f.write_str("its node affinity matches no node"),
        }
    }
}

/// Words what is requested of resources, and what there is.
fn in_words(lacking: &[Lack], has: &str) -> String {
    let in_words = |Lack { resource, requested, largest }: &Lack| {
        let name = if resource == "cpu" { "CPU" } else { resource };
        format!("{requested} {name} ({has} {largest})")
    };
    listed(&lacking.iter().map(in_words).collect::<Vec<_>>())
}

impl Unschedulable {
    /// Returns what the largest nodes have too little of, of those that match and are too small.
    pub fn too_small(places: &[(Place, Fit)]) -> Self {
        let lacking = places.iter().filter_map(|(_, fit)| match fit {
            Fit::TooSmall(lacking) => Some(lacking.clone()),
            _ => None,
        });
        Self::TooSmall(lacking.reduce(largest).unwrap_or_default())
    }

    /// Returns whether both are about the same volume, or the same label that tells replicas apart.
    pub fn is_about(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Crowd(own), Self::Crowd(other)) => own.topology_key == other.topology_key,
            _ => self == other,
        }
    }

    /// Returns whether more nodes like those that match would help.
    pub fn is_cured_by_nodes(&self) -> bool {
        match self {
            Self::Sum { .. } => true,
            Self::Crowd(crowd) => crowd.topology_key == HOSTNAME,
            _ => false,
        }
    }

    /// Returns whether it is about something that is demanded there.
    pub fn is_required_by(&self, rule: &Rule) -> bool {
        let requires = |needs: &String| rule.requirements().contains(needs);
        match self {
            Self::Label { needs, .. } => requires(needs),
            Self::Together { demanded, .. } => demanded.iter().any(requires),
            Self::Nothing => false,
            _ => !rule.text.is_empty(),
        }
    }
}

/// Returns why no node accepts the Pods of a verdict, in a namespace where this is required.
pub fn unschedulable(map: &NodeMap, verdict: &Verdict, required: &[Requirement]) -> Unschedulable {
    let mut exclusions: BTreeMap<usize, (&Pool, &Exclusion)> = BTreeMap::new();
    // What the NodePool says stands before what its nodes have, and counts.
    for (place, fit) in verdict.places.iter() {
        if let (Fit::No(exclusion), Some(pool)) = (fit, map.pools.get(place.pool())) {
            exclusions.entry(place.pool()).or_insert((pool, exclusion));
        }
    }
    let exclusions: Vec<(&Pool, &Exclusion)> = exclusions.into_values().collect();
    let labels = verdict.needs.as_ref().and_then(|needs| needs.labels_that_would_do());
    by_taints(&exclusions).unwrap_or_else(|| by_labels(map, &exclusions, required, labels))
}

/// Returns that nodes match except for their taints: those that are the easiest to tolerate.
fn by_taints(exclusions: &[(&Pool, &Exclusion)]) -> Option<Unschedulable> {
    let mut tainted = BTreeMap::new();
    for (pool, exclusion) in exclusions {
        let Obstacle::Taints { taints, for_a_time } = &exclusion.what else { continue };
        let texts: Vec<String> = taints.iter().map(ToString::to_string).collect();
        let order = (taints.iter().any(is_control_plane), texts.len(), texts);
        let (_, nodes, _) = tainted.entry(order).or_insert((taints.clone(), vec![], *for_a_time));
        nodes.extend(pool.nodes.iter().map(|node| node.name.clone()));
        nodes.extend(pool.nodes.is_empty().then(|| pool.name.clone()));
    }
    let (taints, mut nodes, for_a_time) = tainted.into_values().next()?;
    nodes.sort();
    Some(Unschedulable::Taints { taints, nodes, for_a_time })
}

/// A label that excludes a Pod.
struct Needed {
    key: String,
    /// As it is demanded, else as it is compared.
    text: String,
    is_demanded: bool,
    class: Option<String>,
    is_absent: bool,
}

/// Returns that no node has all labels.
fn by_labels(
    map: &NodeMap,
    exclusions: &[(&Pool, &Exclusion)],
    demanded: &[Requirement],
    labels: Option<Selector>,
) -> Unschedulable {
    let mut all: Vec<Needed> = vec![];
    for (_, Exclusion { by, what }) in exclusions {
        let Obstacle::Label(label) = what else { continue };
        let as_demanded = demanded.iter().find(|demanded| label.needs.iter().any(|own| own.same_as(demanded)));
        let text = as_demanded.map_or_else(|| text(&label.needs), ToString::to_string);
        if all.iter().any(|known| known.text == text) {
            continue;
        }
        let class = match by {
            Spec::RuntimeClass(class) => Some(class.clone()),
            Spec::Pod | Spec::Template => None,
        };
        let is_absent = label.needs.iter().all(|own| own.accepts(None));
        all.push(Needed { key: label.key().to_owned(), text, is_demanded: as_demanded.is_some(), class, is_absent });
    }
    let is_named = exclusions.iter().any(|(_, exclusion)| exclusion.what == Obstacle::Name);
    match all.as_slice() {
        [] => Unschedulable::Nothing,
        [Needed { key, text, class, is_absent, .. }] if !is_named => {
            let (similar, class, is_absent) = (similar(map, key, text), class.clone(), *is_absent);
            Unschedulable::Label { key: key.clone(), needs: text.clone(), similar, class, is_absent, labels }
        }
        [first, ..] => {
            let key = all.iter().find(|needed| needed.is_demanded).unwrap_or(first).key.clone();
            let texts =
                |demanded: bool| all.iter().filter(|it| it.is_demanded == demanded).map(|it| it.text.clone()).collect();
            Unschedulable::Together { demanded: texts(true), asked: texts(false), key, is_named, labels }
        }
    }
}

/// Returns the value of this label, of some node, that looks most like what is needed.
fn similar(pools: &NodeMap, key: &str, needs: &str) -> Option<String> {
    let wanted = needs.strip_prefix(key)?.strip_prefix('=')?;
    let likeness = |value: &str| strsim::jaro_winkler(wanted, value);
    let nodes = pools.pools.iter().flat_map(|pool| &pool.nodes);
    let values: BTreeSet<&String> = nodes.filter_map(|node| node.labels.get(key)).collect();
    let values = values.into_iter().filter(|value| likeness(value) >= ALIKE);
    let best = values.max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    Some(format!("{key}={best}"))
}
