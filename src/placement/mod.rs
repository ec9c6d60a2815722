//! Placement: a namespace says which nodes its Pods may use.
//!
//! The policy adds the namespace's node selector to Pods, and rejects what contradicts it. One file per rule:
//!
//! - [`demands`]: what a namespace demands of its Pods.
//! - [`node_selection`], [`node_affinity`]: what of a Pod decides on which nodes it may run.
//! - [`conflict`], [`injection`], [`whitelist`], [`named_node`]: what is done about it.
//! - [`pods`], [`workloads`], [`namespaces`], [`bindings`]: when, one file per kind of request.

pub mod bindings;
pub mod conflict;
pub mod demands;
pub mod injection;
pub mod named_node;
pub mod namespaces;
pub mod node_affinity;
pub mod node_selection;
pub mod pods;
pub mod whitelist;
pub mod workloads;
