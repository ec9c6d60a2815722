//! The policy: what runs it, what it may ask, and what it answers.
//!
//! A [`policy::Policy`] is the policy's own crate or a module of it, run by an interpreter ([`interpreter`]). Its look-ups
//! and logs reach a [`host::Host`]. A [`policy_chain::PolicyChain`] is all policies of a deployment, which get a request
//! one after the other; a [`reply::Reply`] is what becomes of it, and [`creation`] what becomes of workloads and their Pods.

pub mod creation;
pub mod host;
#[cfg(feature = "module")]
pub mod interpreter;
pub mod policy;
pub mod policy_chain;
pub mod reply;
