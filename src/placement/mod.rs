//! Placement: a namespace says which nodes its Pods may use.
//!
//! The policy adds the namespace's node selector to Pods, and rejects what contradicts it. One file per rule:
//!
//! - [`possible_demands`]: what a namespace may demand, and what of the Namespace must be known to tell; [`asked`]:
//!   whether it can matter to a Pod. [`demands`]: what it does demand.
//! - [`node_selection`], [`node_affinity`]: what of a Pod decides on which nodes it may run.
//! - [`conflict`], [`injection`], [`whitelist`], [`named_node`]: what is done about it.
//! - [`toleration_demands`], [`tolerations`]: the same for what Pods tolerate; [`toleration_plugin`], as in-tree.
//! - [`pods`], [`workloads`], [`namespaces`], [`bindings`], [`nodes`]: when, one file per kind of request.

pub mod asked;
pub mod bindings;
pub mod conflict;
pub mod demands;
pub mod injection;
pub mod named_node;
pub mod namespaces;
pub mod node_affinity;
pub mod node_selection;
pub mod nodes;
pub mod pods;
pub mod possible_demands;
pub mod toleration_demands;
pub mod toleration_plugin;
pub mod tolerations;
pub mod whitelist;
pub mod workloads;
