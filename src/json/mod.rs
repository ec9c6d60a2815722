//! JSON by serde: what is read from it, and what stays as it came.
//!
//! - [`raw_object`]: objects whose members stay text until a rule asks for one, or sets one.
//! - [`read`]: texts read into types; an error names the path, what was expected and what was found.
//! - [`list`]: lists of which no more is kept than somebody needs.
//! - [`text`]: strings that borrow from what they were read from, and pairs of them: labels, annotations, nodeSelectors.
//! - `size`: how large an object is when it is written.
//! - `strict`: closes the holes that derived types have.

mod error_path;
pub mod list;
pub mod raw_object;
pub mod read;
mod size;
mod strict;
pub mod text;

pub use list::Bounded;
pub use raw_object::{Raw, RawObject};
pub use read::{ReadError, Within};
pub(crate) use strict::{FromObject, never_null, null_is_default, object, objects, word};
pub use text::{Pairs, Text};
