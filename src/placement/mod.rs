//! Placement: a namespace says which nodes its Pods may use.
//!
//! The policy adds the namespace's node selector to Pods, and rejects what contradicts it.
//!
//! What applies:
//!
//! - [`holding_entry`]: which entry of the settings applies to a namespace, and whether the Namespace is looked up for
//!   that. `references`: `$(KEY)` in it. `enforcement`: whether it only warns.
//! - [`node_rules`]: which nodes the entry and the Namespace's annotations require, and which default yields to what a
//!   Pod chooses. [`toleration_rules`]: which tolerations they add, allow and forbid. [`rules`]: both, by who asks.
//!   `annotation`: how an annotation is read.
//! - [`sourced`]: something required, with the setting or annotation that requires it.
//!
//! What it is applied to:
//!
//! - [`node_selection`], [`node_affinity`]: what of a Pod decides on which nodes it may run.
//! - [`judged`]: a Pod, or the template of Pods.
//!
//! One file per rule: [`conflict`] (with `term_outcome`), [`injection`], [`whitelist`], [`tolerations`],
//! [`named_node`], [`preferences`], [`runtime_classes`]. `additions`: all that they add.
//!
//! [`explanation`]: all that holds in a namespace, for people.
//!
//! One file per kind of request: [`pods`], [`workloads`], [`namespaces`], [`bindings`], and [`nodes`] for the labels
//! that kubelets give their Nodes. [`node_selector_plugin`] and [`toleration_plugin`] do what the in-tree plugins do,
//! with their own configurations.

mod additions;
mod annotation;
pub mod bindings;
pub mod conflict;
mod enforcement;
pub mod explanation;
pub mod holding_entry;
pub mod injection;
pub mod judged;
pub mod named_node;
pub mod namespaces;
pub mod node_affinity;
pub mod node_rules;
pub mod node_selection;
pub mod node_selector_plugin;
pub mod nodes;
pub mod pods;
pub mod preferences;
mod references;
pub mod rules;
pub mod runtime_classes;
pub mod sourced;
mod term_outcome;
pub mod toleration_plugin;
pub mod toleration_rules;
pub mod tolerations;
pub mod whitelist;
pub mod workloads;
