//! The policy: what runs it, what it may ask, and what it answers.
//!
//! A [`policy::Policy`] is the policy's own crate or a module of it, run by an interpreter ([`interpreter`]). Its look-ups
//! and logs reach a [`host::Host`].

pub mod additions;
pub mod host;
#[cfg(feature = "module")]
pub mod interpreter;
pub mod policy;
