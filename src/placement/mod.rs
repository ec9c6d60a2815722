//! Placement: a namespace says which nodes its Pods may use.
//!
//! The policy adds the namespace's node selector to Pods, and rejects what contradicts it. One file per rule:
//!
//! - [`holding_entry`]: which entry of the settings holds for a namespace. [`namespace_rules`]: what it, and the
//!   Namespace's annotations, demand of nodes; [`toleration_rules`]: and of tolerations; [`rules`]: both.
//! - [`sourced`]: what is demanded, and where.
//! - [`node_selection`], [`node_affinity`]: what of a Pod decides on which nodes it may run.
//! - [`conflict`] (with `term_outcome`), [`injection`], [`whitelist`], [`tolerations`], [`named_node`], [`preferences`],
//!   [`runtime_classes`]: what is done about it, and to what ([`judged`]).
//! - [`pods`], [`workloads`], [`namespaces`], [`bindings`], [`nodes`]: when, one file per kind of request.
//! - [`node_selector_plugin`], [`toleration_plugin`]: the in-tree plugins, where their own configurations are given.

pub mod bindings;
pub mod conflict;
pub mod holding_entry;
pub mod injection;
pub mod judged;
pub mod named_node;
pub mod namespace_rules;
pub mod namespaces;
pub mod node_affinity;
pub mod node_selection;
pub mod node_selector_plugin;
pub mod nodes;
pub mod pods;
pub mod preferences;
pub mod rules;
pub mod runtime_classes;
pub mod sourced;
mod term_outcome;
pub mod toleration_plugin;
pub mod toleration_rules;
pub mod tolerations;
pub mod whitelist;
pub mod workloads;
