//! Which nodes, and which NodePools, take a Pod, and what excludes it from the others.
//!
//! Nodes that are alike in every label that counts, and in their lasting taints, are a [`pool::Pool`]. Which labels
//! count depends on the question: those that the settings name, for pools that people recognize; those of every Pod
//! that is judged too, for pools of which each takes a Pod with all its nodes or with none. A NodePool of Karpenter
//! ([`node_pool::NodePool`]) is a pool with or without nodes; [`label_values`] compares labels as Karpenter does.
//!
//! What a Pod asks of a node is its [`constraints::Constraints`]. [`pool::Pool::excludes`] is the one function that
//! compares the two; [`resources`] says whether a node is large enough, which excludes nothing.

pub mod constraints;
pub mod label_values;
pub mod node;
pub mod node_pool;
pub mod pool;
pub mod resources;
