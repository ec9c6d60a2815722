//! What the policy costs, in the real host, with a fresh instance for every evaluation.
//!
//! `make bench` measures ([`cases`] by `benches/cost.rs`, memory by [`memory`]) and then reports: [`bounds`] are the
//! promises with what was measured beside them, [`report`] writes them into `docs/performance.md`, with plots.

pub mod bounds;
pub mod case;
pub mod cases;
pub mod cluster;
pub mod contender;
pub mod measured;
pub mod memory;
pub mod objects;
pub mod plot;
pub mod report;
pub mod turns;

pub use case::{Case, Family};
pub use contender::Contender;
pub use measured::Measured;
pub use turns::Turns;

/// As Kubernetes counts: `Ki`.
pub const KB: usize = 1024;
