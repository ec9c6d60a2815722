//! Why no node takes a Pod.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use node_placement_policy::{selector, toleration::Taint};

use super::{pod_shape::PodShape, remedy::is_control_plane};
use crate::{
    demands::Demand,
    lists::listed,
    scheduling::{
        constraints::{Exclusion, LabelExclusion},
        label_values::LabelValues,
        pool::{Pool, Pools},
    },
};

/// Values that are no more alike than this are not proposed.
const ALIKE: f64 = 0.7;

/// Why no node takes a Pod.
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
        /// The RuntimeClass that asks for it, if one does.
        class: Option<String>,
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
                write!(f, "no node has {needs}, which the RuntimeClass {class} asks for")
            }
            Self::Label { needs, class: None, .. } => write!(f, "no node has {needs}"),
            Self::Together { demanded, asked, is_named, .. } => {
                let needs = listed(&[demanded.as_slice(), asked].concat());
                let (which, together) = if *is_named { (" that it names", "") } else { ("", " together") };
                write!(f, "no node{which} has {needs}{together}")
            }
            Self::Nothing => f.write_str("its node affinity matches no node"),
        }
    }
}

impl Unschedulable {
    /// Whether it is about something that is demanded there.
    pub fn is_demanded_by(&self, demand: &Demand) -> bool {
        let demands = |needs: &String| demand.requirements().contains(needs);
        match self {
            Self::Taints { .. } => !demand.text.is_empty(),
            Self::Label { needs, .. } => demands(needs),
            Self::Together { demanded, .. } => demanded.iter().any(demands),
            Self::Nothing => false,
        }
    }
}

/// Why no node takes a Pod, in a namespace where this is demanded.
pub fn unschedulable<'d>(pools: &Pools, pod: &PodShape, demands: impl Iterator<Item = &'d Demand>) -> Unschedulable {
    let exclusions = pools.pools.iter().filter_map(|pool| Some((pool, pod.excluded_from(pool)?)));
    let exclusions: Vec<(&Pool, Exclusion)> = exclusions.collect();
    let demanded: Vec<String> = demands.flat_map(Demand::requirements).collect();
    by_taints(&exclusions).unwrap_or_else(|| by_labels(pools, &exclusions, &demanded))
}

/// Where nodes match but for their taints: those that are the easiest to tolerate.
fn by_taints(exclusions: &[(&Pool, Exclusion)]) -> Option<Unschedulable> {
    let mut tainted = BTreeMap::new();
    for (pool, exclusion) in exclusions {
        let Exclusion::Taints { taints, for_a_time } = exclusion else { continue };
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

/// Where no node has all labels. What is `demanded` is told as it is written: a NodePool words it as a set.
fn by_labels(pools: &Pools, exclusions: &[(&Pool, Exclusion)], demanded: &[String]) -> Unschedulable {
    let mut needs: Vec<LabelExclusion> = vec![];
    for (_, exclusion) in exclusions {
        let Exclusion::Label(label) = exclusion else { continue };
        let set = as_set(&label.needs);
        if needs.iter().any(|known| as_set(&known.needs) == set) {
            continue;
        }
        let as_written = demanded.iter().find(|demanded| as_set(demanded) == set).unwrap_or(&label.needs);
        needs.push(LabelExclusion { needs: as_written.clone(), ..label.clone() });
    }
    let is_named = exclusions.iter().any(|(_, exclusion)| *exclusion == Exclusion::Name);
    match needs.as_slice() {
        [] => Unschedulable::Nothing,
        [LabelExclusion { key, needs, class, .. }] if !is_named => {
            let similar = similar(pools, key, needs);
            Unschedulable::Label { key: key.clone(), needs: needs.clone(), similar, class: class.clone() }
        }
        [first, ..] => {
            let (of_namespace, own): (Vec<_>, Vec<_>) = needs.iter().partition(|label| demanded.contains(&label.needs));
            let key = of_namespace.first().map_or(&first.key, |label| &label.key).clone();
            let texts = |labels: Vec<&LabelExclusion>| labels.into_iter().map(|label| label.needs.clone()).collect();
            Unschedulable::Together { demanded: texts(of_namespace), asked: texts(own), key, is_named }
        }
    }
}

/// A requirement on a label as a NodePool words it, so that the same is told once.
fn as_set(needs: &str) -> String {
    let read = selector::parse(needs).ok();
    let requirement = read.as_ref().and_then(|selector| selector.requirements().iter().next());
    let values = requirement.and_then(|one| Some(LabelValues::from_requirement(one)?.describe(one.key())));
    values.unwrap_or_else(|| needs.to_owned())
}

/// The value of this label, of some node, that looks most like what is needed.
fn similar(pools: &Pools, key: &str, needs: &str) -> Option<String> {
    let wanted = needs.strip_prefix(key)?.strip_prefix('=')?;
    let likeness = |value: &str| strsim::jaro_winkler(wanted, value);
    let nodes = pools.pools.iter().flat_map(|pool| &pool.nodes);
    let values: BTreeSet<&String> = nodes.filter_map(|node| node.labels.get(key)).collect();
    let values = values.into_iter().filter(|value| likeness(value) >= ALIKE);
    let best = values.max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    Some(format!("{key}={best}"))
}
