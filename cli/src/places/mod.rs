//! Where a Pod can run: on which nodes, on what Karpenter would create, and what excludes it from the rest. No policy is
//! looked at here, and nothing is worded: every answer is a value.
//!
//! [`pod::PodNeeds`] is what a Pod requires. [`node_map::NodeMap`] sorts Nodes and NodePools into pools of which each
//! accepts a Pod with all its nodes, or with none; [`node_map::NodeMap::fits`] answers for every place with a
//! [`fit::Fit`]. [`room`] and [`volumes`] are what the preview counts beyond one Pod on one node.
//!
//! - [`amount`], [`requests`]: resources, as the scheduler counts them
//! - [`node`], [`node_pool`]: a Node, and a NodePool of Karpenter
//! - [`term`]: terms of node affinity, of Pods and of PersistentVolumes

pub mod amount;
pub mod fit;
pub mod node;
pub mod node_map;
pub mod node_pool;
pub mod pod;
pub mod requests;
pub mod room;
pub mod term;
pub mod volumes;
