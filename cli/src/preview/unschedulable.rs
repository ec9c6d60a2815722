//! Why no node takes a Pod.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use node_placement_policy::{
    selector::{Requirement, Selector, text},
    toleration::Taint,
};

use super::{
    pod_shape::{PodShape, excluded_from},
    remedy::is_control_plane,
};
use crate::{
    demands::Demand,
    lists::listed,
    places::{
        fit::{Exclusion, Obstacle, Spec},
        node_map::{NodeMap, Pool},
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
pub fn unschedulable<'d>(map: &NodeMap, pod: &PodShape, demands: impl Iterator<Item = &'d Demand>) -> Unschedulable {
    let exclusions = map.pools.iter().filter_map(|pool| Some((pool, excluded_from(map, pool, &pod.needs)?)));
    let exclusions: Vec<(&Pool, Exclusion)> = exclusions.collect();
    let demanded: Vec<&Requirement> =
        demands.flat_map(|demand| &demand.selector).flat_map(Selector::requirements).collect();
    by_taints(&exclusions).unwrap_or_else(|| by_labels(map, &exclusions, &demanded))
}

/// Where nodes match but for their taints: those that are the easiest to tolerate.
fn by_taints(exclusions: &[(&Pool, Exclusion)]) -> Option<Unschedulable> {
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
}

/// Where no node has all labels.
fn by_labels(map: &NodeMap, exclusions: &[(&Pool, Exclusion)], demanded: &[&Requirement]) -> Unschedulable {
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
        all.push(Needed { key: label.key().to_owned(), text, is_demanded: as_demanded.is_some(), class });
    }
    let is_named = exclusions.iter().any(|(_, exclusion)| exclusion.what == Obstacle::Name);
    match all.as_slice() {
        [] => Unschedulable::Nothing,
        [Needed { key, text, class, .. }] if !is_named => {
            let similar = similar(map, key, text);
            Unschedulable::Label { key: key.clone(), needs: text.clone(), similar, class: class.clone() }
        }
        [first, ..] => {
            let key = all.iter().find(|needed| needed.is_demanded).unwrap_or(first).key.clone();
            let texts =
                |demanded: bool| all.iter().filter(|it| it.is_demanded == demanded).map(|it| it.text.clone()).collect();
            Unschedulable::Together { demanded: texts(true), asked: texts(false), key, is_named }
        }
    }
}

/// The value of this label, of some node, that looks most like what is needed.
fn similar(pools: &NodeMap, key: &str, needs: &str) -> Option<String> {
    let wanted = needs.strip_prefix(key)?.strip_prefix('=')?;
    let likeness = |value: &str| strsim::jaro_winkler(wanted, value);
    let nodes = pools.pools.iter().flat_map(|pool| &pool.nodes);
    let values: BTreeSet<&String> = nodes.filter_map(|node| node.labels.get(key)).collect();
    let values = values.into_iter().filter(|value| likeness(value) >= ALIKE);
    let best = values.max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    Some(format!("{key}={best}"))
}
