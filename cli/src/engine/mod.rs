//! The policy: what runs it, what it may ask, and what it answers.
//!
//! A [`policy::Policy`] is the policy's own crate ([`native`]) or a module of it, run by an interpreter
//! ([`interpreter`]). Its look-ups reach a [`cluster::Cluster`]; [`evaluation`] is what it says to one request.

pub mod call;
pub mod cluster;
pub mod deployed;
pub mod evaluation;
pub mod gap;
#[cfg(feature = "module")]
pub mod interpreter;
pub mod native;
pub mod policy;
