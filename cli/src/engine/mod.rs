//! The policy: what runs it, what it may ask, and what it answers.
//!
//! A [`policy::Policy`] is the policy's own crate ([`native`]) or a module of it, run by an interpreter
//! ([`interpreter`]); a [`call::Call`] is one operation of either. Its look-ups reach a [`cluster::Cluster`];
//! [`deployed`] is what all policies of a deployment say, one after the other,
//! and [`creation`] what becomes of workloads and their Pods; a [`gap::Gap`] is what nobody knows here;
//! [`namespace_rules`] is what holds in a namespace.

pub mod call;
pub mod cluster;
pub mod creation;
pub mod deployed;
pub mod gap;
#[cfg(feature = "module")]
pub mod interpreter;
pub mod namespace_rules;
pub mod native;
pub mod policy;
