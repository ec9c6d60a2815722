//! What keeps a Pod away from a node or a NodePool.

use std::fmt;

use node_placement_policy::toleration::Taint;

use crate::lists::listed;

/// The first thing that excludes a Pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Exclusion {
    /// The Pod names another node, by `spec.nodeName` or by the field `metadata.name`.
    Name,
    /// A label.
    Label(LabelExclusion),
    /// Lasting taints that the Pod does not tolerate for good.
    Taints {
        /// All of them.
        taints: Vec<Taint>,
        /// Whether it tolerates each for some seconds, after which it is evicted.
        for_a_time: bool,
    },
    /// The Pod's required node affinity matches no node at all: it has no term, or only empty or invalid ones.
    MatchesNothing,
}

/// A label that a node or a NodePool lacks, or has with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelExclusion {
    /// Its key.
    pub key: String,
    /// What the Pod needs, as a selector: `pool=blue`.
    pub needs: String,
    /// What there is instead, likewise: of a node `pool=red`, of a NodePool perhaps `pool in (a,b)`. Nothing, if there is
    /// no such label.
    pub has: Option<String>,
    /// The RuntimeClass that asks for it, if the Pod does not itself.
    pub class: Option<String>,
}

impl Exclusion {
    /// In words, of a node or a NodePool as `place` says: `the node has pool=red, the Pod needs pool=blue`.
    pub fn describe(&self, place: &str) -> String {
        match self {
            Self::Name if place == "NodePool" => {
                "the Pod names nodes, and Karpenter creates none for such Pods".to_owned()
            }
            Self::Name => format!("the Pod names another {place}"),
            Self::Label(LabelExclusion { key, needs, has, class }) => {
                let has = has.as_ref().map_or_else(|| format!("no label {key}"), Clone::clone);
                let who =
                    class.as_ref().map_or_else(|| "the Pod".to_owned(), |class| format!("the RuntimeClass {class}"));
                format!("the {place} has {has}, {who} needs {needs}")
            }
            Self::Taints { taints, for_a_time } => {
                let told: Vec<String> = taints.iter().map(ToString::to_string).collect();
                let noun = if taints.len() == 1 { "taint" } else { "taints" };
                let tolerated = if *for_a_time { "tolerates for some seconds only" } else { "does not tolerate" };
                format!("the {place} has the {noun} {}, which the Pod {tolerated}", listed(&told))
            }
            Self::MatchesNothing => "the Pod's required node affinity matches no node".to_owned(),
        }
    }
}

impl fmt::Display for Exclusion {
    /// Of a node.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe("node"))
    }
}
