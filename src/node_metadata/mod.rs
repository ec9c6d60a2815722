//! Node metadata: a Pod learns about the node it landed on.
//!
//! - [`propagation`]: what the settings want to be copied.
//! - [`values`]: what is to be written, how much at most, and what happens when the Node can't be read. How much a
//!   Binding may have with what others wrote: [`on_binding`].
//! - [`changes`]: what becomes of an object's labels and annotations, and what the requester is told. Which of them the
//!   policy manages: [`propagation`].
//! - [`annotation_budget`]: whether a Pod leaves enough of its annotations' 256 KiB to what is written.
//! - [`fields`]: what stands in fields of the Node.
//! - [`env`]: environment variables that refer to it.
//! - [`on_create`], [`on_update`], [`on_binding`], [`selected_labels`]: what is done when.
//!
//! The API server copies annotations and labels from a Binding to the Pod, in the write that sets `nodeName`, and
//! validates none of them.

pub mod annotation_budget;
pub mod changes;
pub mod env;
pub mod fields;
pub mod on_binding;
pub mod on_create;
pub mod on_update;
pub mod propagation;
pub mod selected_labels;
pub mod values;
