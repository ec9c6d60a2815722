//! What an API server would send to the policy.
//!
//! | module | has |
//! |---|---|
//! | [`admission`] | the request for an object that is applied, or created anew, and the users who send requests |
//! | [`template`] | the request for the Pod that a controller creates from a workload's template |
//! | [`pod`] | the requests for a Pod of its own: one that asks for nothing, one that is created anew, its Binding |
//! | [`controllers`] | what Kubernetes' controllers give to Pods, and what owns an object |
//! | [`defaults`] | the fields that the API server fills in before it asks |
//! | [`plugins`] | what its own admission plugins change before: RuntimeClass, tolerations, token, priority |
//! | [`delivery`] | whether the policy's own rules, selectors and conditions let a request through to it |
//! | [`resource`] | the names of resources |

pub mod admission;
pub mod controllers;
pub mod defaults;
pub mod delivery;
pub mod plugins;
pub mod pod;
pub mod resource;
pub mod template;
