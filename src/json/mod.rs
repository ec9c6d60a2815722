//! JSON by serde: what is read from it, and what stays as it came.
//!
//! - [`raw_object`]: objects whose members stay text until a rule asks for one, or sets one.
//! - [`read`]: texts read into types, and lists of which no more is kept than somebody needs.
//! - [`error`]: what is wrong with a value, and its path.
//! - [`text`]: strings that borrow from what they were read from, and pairs of them: labels, annotations, nodeSelectors.
//! - `size`: how large an object is when it is written.

pub mod error;
pub mod raw_object;
pub mod read;
mod size;
pub mod text;

pub use error::{ReadError, Within};
pub use raw_object::{Raw, RawObject};
pub use read::Bounded;
pub(crate) use read::{FromObject, never_null, null_is_default, object, objects, optional_objects, word};
pub use text::{Pairs, Text};
