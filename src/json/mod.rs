//! JSON by serde: what is read from it, and what stays as it came.
//!
//! - [`raw_object`]: objects whose members stay text until a rule asks for one, or sets one.
//! - [`read`]: texts read into types; an error names the path, what was expected and what was found.
//! - [`text`]: strings that borrow from what they were read from.
//! - `strict`: closes two holes that derived types have.

mod error_path;
pub mod raw_object;
pub mod read;
pub(crate) mod strict;
pub mod text;

pub use raw_object::{Raw, RawObject};
pub use read::{ReadError, Within};
pub use text::{StringMap, Text};
