//! The deployment of the policy, as an API server sees it: which requests are sent to it, with what, and what it answers.
//!
//! | module | has |
//! |---|---|
//! | [`deployment`] | the policies of a deployment, and what becomes of a request in front of them |
//! | [`settings_file`] | settings, or the policy that has them |
//! | [`policy_spec`], [`delivery`], [`conditions`] | a policy's rules, selectors and `matchConditions`, and whether they let a request through |
//! | [`fields`] | which fields of a request an expression in CEL reads |
//! | [`request`] | the request for an object that is applied, or created anew, and who sends it |
//! | [`pods`] | the request for a Pod: as its controller creates it, created anew, bound |
//! | [`binding_rules`] | what decides whether a Binding is refused |
//! | [`defaults`] | what the API server fills in before it asks: defaults, and a Pod's RuntimeClass |
//! | [`resource`] | the names of resources |

pub mod binding_rules;
pub mod conditions;
pub mod defaults;
pub mod delivery;
pub mod deployment;
pub mod fields;
pub mod pods;
pub mod policy_spec;
pub mod request;
pub mod resource;
pub mod settings_file;
