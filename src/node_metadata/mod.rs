//! Node metadata: copies labels, annotations and fields of a node to its Pods.
//!
//! - [`propagation`]: reads from the settings what is copied. The keys that are written are called *managed*.
//! - [`values`]: collects the values that are written, within limits, also if the Node can't be read.
//! - [`changes`]: changes the managed labels and annotations of an object to a goal, warns the requester, and checks the
//!   size of annotations.
//! - [`env`]: adds environment variables that refer to the values.
//!
//! There is one file for each kind of request: [`pods`], [`bindings`], [`workloads`].
//!
//! The API server copies annotations and labels from a Binding to the Pod when it sets `nodeName`. It does not validate
//! them.

pub mod bindings;
pub mod changes;
pub mod env;
pub mod pods;
pub mod propagation;
pub mod values;
pub mod workloads;
