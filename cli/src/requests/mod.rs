//! What an API server would send to the policy.
//!
//! | module | the request |
//! |---|---|
//! | [`admission`] | of an object that somebody applies, or that is there and is created anew |
//! | [`template`] | of the Pod that a controller makes from a workload's template |
//! | [`pod`] | of a Pod that is there, as its controller would make it anew; and the Binding to its node |
//! | [`plain_pod`] | of a Pod that asks for nothing |
//!
//! [`runtime_class`] merges what the API server merges before it asks; [`defaults`] are what it fills in before;
//! [`owner`] finds what a Pod belongs to;
//! [`delivery`] says whether the policy's own rules, selectors and conditions let a request through to it;
//! [`resource`] has the names.

pub mod admission;
pub mod defaults;
pub mod delivery;
pub mod owner;
pub mod plain_pod;
pub mod pod;
pub mod resource;
pub mod runtime_class;
pub mod template;
