//! Settings held to expectations: requests to a cluster that is written down, and how each must end.
//!
//! - [`file`] has the format of the files, as `docs/testing.md` describes it.
//! - [`source`] reads what a file names by its path.
//! - [`asked`] hands a request to the policies.
//! - [`case`] makes a request of a case, and has it answered.
//! - [`expect`] compares the answer with what is expected.
//! - [`nodes`] finds the nodes that Pods may run on.
//! - [`init`] writes a first file, [`report`] what came of the cases.

pub mod asked;
pub mod case;
pub mod expect;
pub mod file;
pub mod init;
pub mod nodes;
pub mod report;
pub mod source;

pub use expect::{Answered, Expect, Mismatch};
pub use file::{Case, Suite, Test};
pub use report::Report;
