//! What the policy's costs are measured with: `make bench` takes times and memory, `tests/instructions.rs` counts
//! instructions.

mod case;
pub mod cases;
pub mod limit;
pub mod objects;

pub use case::{Case, Family, kilobytes};

/// As Kubernetes counts: `Ki`.
pub const KB: usize = 1024;
