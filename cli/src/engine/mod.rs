//! The policy: what runs it, what it may ask, and what it answers.
//!
//! A [`policy::Policy`] is the policy's own crate ([`native`]) or a module of it, run by an interpreter
//! ([`interpreter`]); a [`call::Call`] is one operation of either. Its look-ups reach a [`cluster::Cluster`].
//! A [`policy_chain::PolicyChain`] is all policies of a deployment, which get a request one after the other;
//! a [`reply::Reply`] is what becomes of it, and [`creation`] what becomes of workloads and their Pods.

pub mod call;
pub mod cluster;
pub mod creation;
#[cfg(feature = "module")]
pub mod interpreter;
pub mod native;
pub mod policy;
pub mod policy_chain;
pub mod reply;
