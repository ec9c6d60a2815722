//! Reads and changes JSON with serde. What no rule reads or sets stays as it came.
//!
//! - [`raw_object`]: objects whose members stay text until a rule reads or sets one.
//! - [`read`]: reads texts into types. Of long lists it keeps only what is needed.
//! - [`error`]: errors with the path of the value.
//! - [`text`]: strings that borrow from the text that was read, and pairs of them (labels, annotations, nodeSelectors).
//! - `size`: the size of an object when it is written.

pub mod error;
pub mod raw_object;
pub mod read;
mod size;
pub mod text;

pub use error::{ReadError, Within};
pub use raw_object::{Raw, RawObject};
pub use read::Bounded;
pub(crate) use read::{
    FromObject, OneOfWords, never_null, null_is_default, object, objects, optional_objects, word, words,
};
pub use text::{Pairs, Text};
