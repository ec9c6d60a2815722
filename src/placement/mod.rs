//! Job 1, placement: a namespace says which nodes its Pods may use.
//!
//! The policy adds the namespace's node selector to Pods, and rejects what contradicts it. One file per rule:
//!
//! - [`namespace_selector`]: which selector holds for a namespace.
//! - [`pod_spec`]: what of a Pod decides where it may run, and whether it may run on a Node.
//! - [`rules`]: conflict, inject, allow.
//! - [`pod`], [`workload`], [`namespace`], [`binding`]: what is judged when, one file per kind of request.

pub mod binding;
pub mod namespace;
pub mod namespace_selector;
pub mod node_affinity;
pub mod node_name;
pub mod pod;
pub mod pod_spec;
pub mod rules;
pub mod workload;
