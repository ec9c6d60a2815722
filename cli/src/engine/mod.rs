//! The policy: what runs it, what it may ask, and what it answers.
//!
//! A [`policy::Policy`] is the policy's own crate ([`native`]) or a module of it, run by an interpreter
//! ([`interpreter`]). Its look-ups reach a [`cluster::Cluster`]; [`evaluation`] is what it says to one request.

pub mod cluster;
pub mod evaluation;
pub mod host_calls;
pub mod interpreter;
pub mod metadata;
pub mod native;
pub mod policy;
