//! JSON that is read where somebody looks, edited in place, and otherwise comes back as it came.
//!
//! Most of a JSON text is often nobody's business. A round trip through typed structs would drop the fields that they
//! have never heard of, add empty ones, and spell numbers anew. Here a [`Value`] is a well-formed text to begin with.
//! It is taken apart when somebody looks into it: an [`Object`] into its members, a [`List`] into its elements and, since
//! nobody looks into one alone, those of them that are objects into theirs. All of these are values again. Whoever edits a
//! member changes the objects around it and nothing else; what nobody changed is written as the text that it came as.
//!
//! ```
//! use json::{Object, Outline};
//!
//! let mut pod = Object::parse(r#"{"spec":{"a": 1.0e+2,"nodeSelector":null},"x":[ ]}"#, &Outline::FLAT)?;
//! pod.object_mut_at(&["spec", "nodeSelector"])?.set_string("disk", "ssd");
//! assert_eq!(pod.object("spec")?.unwrap().string_map("nodeSelector")?.get("disk"), Some("ssd"));
//! assert_eq!(pod.to_string(), r#"{"spec":{"a":1.0e+2,"nodeSelector":{"disk":"ssd"}},"x":[ ]}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Three rules hold everywhere, and they are those of Go's `encoding/json`:
//!
//! - A member that is `null` counts as absent. Only in a [`StringMap`] is it there, and the empty string.
//! - Of members with the same key the last counts.
//! - Reads see writes.
//!
//! What is surely looked at can be taken apart while the text is first read: an [`Outline`] names it. That saves
//! reading it twice and changes nothing else. Nesting has no limit, since what nobody looks at is skipped without
//! recursion; what is taken apart is as deep as somebody looked.

mod edit;
mod kind;
mod list;
mod made;
mod member;
mod mismatch;
mod object;
mod outline;
mod parse;
mod parts;
mod string;
mod string_map;
mod text;
mod value;

pub use kind::Kind;
pub use list::List;
pub use mismatch::{Mismatch, ParseError, SyntaxError, Within};
pub use object::Object;
pub use outline::Outline;
pub use string::encode;
pub use string_map::StringMap;
pub use text::Text;
pub use value::Value;
