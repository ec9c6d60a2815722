//! Job 2, node metadata: a Pod learns about the node it landed on.
//!
//! - [`source`]: reads what the settings name from a Node.
//! - [`plan`]: what is to be written, and its bounds.
//! - [`marks`]: labels and annotations, and how a plan changes them.
//! - [`protect`]: undoes what others write to the same keys.
//! - [`room`]: whether a Pod has room for what is written.
//! - [`binding`], [`pod`], [`workload`]: what is done when, one file per kind of request.
//!
//! The API server copies annotations and labels from a Binding to the Pod, in the write that sets `nodeName`, and
//! validates none of them.

pub mod binding;
pub mod marks;
pub mod plan;
pub mod pod;
pub mod protect;
pub mod room;
pub mod source;
pub mod workload;

pub use marks::{Marks, is_managed};
