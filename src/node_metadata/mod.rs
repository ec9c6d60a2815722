//! Node metadata: a Pod learns about the node it landed on.
//!
//! - [`propagation`]: what the settings want to be copied.
//! - [`values`]: what is to be written, how much at most, and what happens when the Node can't be read. How much a
//!   Binding may have with what others wrote: [`bindings`].
//! - [`changes`]: what becomes of an object's labels and annotations, whether a Pod leaves enough of its annotations'
//!   256 KiB to that, and what the requester is told. Which of them the policy manages: [`propagation`].
//! - [`env`]: environment variables that refer to it.
//!
//! One file per kind of request: [`pods`], [`bindings`], [`workloads`].
//!
//! The API server copies annotations and labels from a Binding to the Pod, in the write that sets `nodeName`, and
//! validates none of them.

pub mod bindings;
pub mod changes;
pub mod env;
pub mod pods;
pub mod propagation;
pub mod values;
pub mod workloads;
