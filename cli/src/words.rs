//! Words for places where a Pod can run, and for what excludes it from others.

use node_placement_policy::selector::text;

use crate::{
    lists::listed,
    places::{
        fit::{Exclusion, Has, LabelObstacle, Obstacle, Spec, Unevaluated},
        node_pool::LeftOut,
        requests::Lack,
    },
};

/// Words what excludes a Pod from a `node` or a `NodePool`: `the node has pool=red, the Pod needs pool=blue`.
pub fn exclusion(Exclusion { by, what }: &Exclusion, target: &str) -> String {
    match what {
        Obstacle::Name if target == "NodePool" => {
            "the Pod names nodes, and Karpenter creates none for such Pods".to_owned()
        }
        Obstacle::Name => format!("the Pod names another {target}"),
        Obstacle::Label(label) => {
            let who = match by {
                Spec::RuntimeClass(class) => format!("the RuntimeClass {class}"),
                Spec::Pod | Spec::Template => "the Pod".to_owned(),
            };
            format!("the {target} has {}, {who} needs {}", has(label), text(&label.needs))
        }
        Obstacle::Taints { taints, for_a_time } => {
            let texts: Vec<String> = taints.iter().map(ToString::to_string).collect();
            let noun = if taints.len() == 1 { "taint" } else { "taints" };
            let tolerated = if *for_a_time { "tolerates for some seconds only" } else { "does not tolerate" };
            format!("the {target} has the {noun} {}, which the Pod {tolerated}", listed(&texts))
        }
        Obstacle::MatchesNothing => "the Pod's required node affinity matches no node".to_owned(),
    }
}

/// Words what is too much for the largest node: `requests 6 CPU, the largest node has 4`.
pub fn too_small(lacking: &[Lack]) -> String {
    let words = lacking.iter().map(|Lack { resource, requested, largest }| {
        let name = if resource == "cpu" { "CPU" } else { resource };
        format!("requests {requested} {name}, the largest node has {largest}")
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Words what a node or a NodePool has of a label.
fn has(label: &LabelObstacle) -> String {
    let key = label.key();
    match &label.has {
        Has::Nothing => format!("no label {key}"),
        Has::Value(value) => format!("{key}={value}"),
        Has::Values { requirements, min_values: 0 } => text(requirements),
        Has::Values { requirements, min_values } => format!("{} with minValues {min_values}", text(requirements)),
    }
}

/// Words why it could not be evaluated whether a Pod can run in a place.
pub fn unevaluated(why: &Unevaluated) -> String {
    match why {
        Unevaluated::Binding(gap) => gap.to_string(),
        Unevaluated::Created(refusal) => refusal.message.clone(),
        Unevaluated::Operator { node_pool, key } => {
            format!("the NodePool {node_pool} has an operator for {key} that is not evaluated here")
        }
        Unevaluated::Value { needs, .. } => format!("no Node has {}, and no NodePool names it", text(needs)),
    }
}

/// Words why nothing runs on a Node, or on what a NodePool would create: `is being deleted`.
pub fn left_out(why: &LeftOut) -> String {
    match why {
        LeftOut::BeingDeleted => "is being deleted".to_owned(),
        LeftOut::NoReplicas => "has no replicas".to_owned(),
        LeftOut::NotReady => "is not ready".to_owned(),
        LeftOut::Limit(resource) => format!("has a limit of 0 for {resource}"),
    }
}
