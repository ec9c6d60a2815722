//! Settings held to expectations: requests to a cluster that is written down, and how each must end.
//!
//! - [`file`] has the format of the files, as `docs/tool.md` describes it, and reads them.
//! - [`case`] makes the request of a case, and has it answered.
//! - [`expect`] compares the answer with what is expected.
//! - [`report`] is what came of the cases.
//! - [`init`] writes a first file.

pub mod case;
pub mod expect;
pub mod file;
pub mod init;
pub mod report;

pub use expect::{CaseAnswer, Expect, Mismatch};
pub use file::{Case, Suite, Test};
pub use report::Report;
