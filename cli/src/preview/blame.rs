//! What keeps a Pod from every node.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use node_placement_policy::toleration::Taint;

use super::placing::{Nodes, PodId};
use crate::{engine::namespace_rules::Demand, lists::listed, scheduling::exclusion::Exclusion};

/// Values that are no more alike than this are not proposed.
const ALIKE: f64 = 0.7;

/// What keeps a Pod from every node.
#[derive(Clone, Debug, PartialEq)]
pub enum Blame {
    /// The nodes that match have these taints.
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
    },
    /// Its node affinity can match no node.
    Nothing,
}

impl fmt::Display for Blame {
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
            Self::Together { demanded, asked, .. } => {
                let all: Vec<String> = demanded.iter().chain(asked).cloned().collect();
                write!(f, "no node has {} together", listed(&all))
            }
            Self::Nothing => f.write_str("its node affinity matches no node"),
        }
    }
}

impl Blame {
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

/// What keeps the Pod that these stand for from every node, in a namespace where this is demanded.
pub fn blame(nodes: &Nodes, pod: &[PodId], demands: &[Demand]) -> Blame {
    let exclusions = nodes.exclusions(pod);
    let mut tainted: Vec<String> = vec![];
    let mut taints: BTreeMap<String, Taint> = BTreeMap::new();
    let mut is_for_a_time = true;
    for (pool, exclusion) in &exclusions {
        if let Exclusion::Taints { taints: of_pool, for_a_time } = exclusion {
            is_for_a_time &= for_a_time;
            taints.extend(of_pool.iter().map(|taint| (taint.to_string(), taint.clone())));
            tainted.extend(pool.nodes.iter().map(|node| node.name.clone()));
            tainted.extend(pool.nodes.is_empty().then(|| pool.name.clone()));
        }
    }
    if !taints.is_empty() {
        tainted.sort();
        return Blame::Taints { taints: taints.into_values().collect(), nodes: tainted, for_a_time: is_for_a_time };
    }
    let labels = exclusions.iter().filter_map(|(_, exclusion)| exclusion.label());
    let mut needs: Vec<(String, String, Option<String>)> = vec![];
    for label in labels {
        let need = (label.key.clone(), label.needs.clone(), label.class.clone());
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    let known: BTreeSet<String> = demands.iter().flat_map(Demand::requirements).collect();
    match needs.as_slice() {
        [] => Blame::Nothing,
        [(key, needs, class)] => {
            let similar = similar(nodes, key, needs);
            Blame::Label { key: key.clone(), needs: needs.clone(), similar, class: class.clone() }
        }
        _ => {
            let is_demanded = |need: &&(String, String, Option<String>)| known.contains(&need.1);
            let (demanded, asked): (Vec<_>, Vec<_>) = needs.iter().partition(is_demanded);
            let key = demanded.first().or(asked.first()).map(|(key, ..)| key.clone()).unwrap_or_default();
            let texts =
                |needs: Vec<&(String, String, Option<String>)>| needs.into_iter().map(|need| need.1.clone()).collect();
            Blame::Together { demanded: texts(demanded), asked: texts(asked), key }
        }
    }
}

/// The value of this label, of some node, that looks most like what is needed.
fn similar(nodes: &Nodes, key: &str, needs: &str) -> Option<String> {
    let wanted = needs.strip_prefix(key)?.strip_prefix('=')?;
    let likeness = |value: &str| strsim::jaro_winkler(wanted, value);
    let values = nodes.values_of(key).into_iter().filter(|value| likeness(value) >= ALIKE);
    let best = values.max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    Some(format!("{key}={best}"))
}
