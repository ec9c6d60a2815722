//! Decides which nodes the Pods of a namespace may use, and which taints they may tolerate. Adds the node selector and the
//! tolerations of the namespace to Pods, and rejects Pods that contradict them.
//!
//! The rules that apply:
//!
//! - [`entry`]: which entry of the settings applies to a namespace, whether the Namespace is looked up for that, and
//!   whether the entry is enforced. [`resolve`]: its selectors and tolerations, with `$(KEY)` filled in, and annotations.
//! - [`node_rules`]: which nodes they require, and which default yields to what a Pod chooses. [`toleration_rules`]:
//!   which tolerations they add, allow and forbid. Each with the setting or annotation that requires it.
//! - [`rules`]: all of these for one request, without what the user is exempt from. [`mode`]: the kind of the request,
//!   which decides which rules are read. [`severity`]: how a rejection is answered.
//!
//! The objects that they apply to:
//!
//! - [`subject`]: a Pod, or the template of Pods, with its RuntimeClass. [`node_affinity`]: its node selector and node
//!   affinity.
//!
//! One file per rule, in the order in which they are applied: [`conflict`], [`injection`], [`requests`],
//! [`tolerations`], [`named_node`], [`preferences`].
//!
//! One file per kind of request: [`pods`], [`workloads`], [`namespaces`], [`bindings`], and [`nodes`] for the labels
//! that kubelets give their Nodes. [`in_tree`] does what the in-tree plugin does, with its own configuration.

pub mod bindings;
pub mod conflict;
pub mod entry;
pub mod in_tree;
pub mod injection;
pub mod mode;
pub mod named_node;
pub mod namespaces;
pub mod node_affinity;
pub mod node_rules;
pub mod nodes;
pub mod pods;
pub mod preferences;
pub mod requests;
pub mod resolve;
pub mod rules;
pub mod severity;
pub mod subject;
pub mod toleration_rules;
pub mod tolerations;
pub mod workloads;
