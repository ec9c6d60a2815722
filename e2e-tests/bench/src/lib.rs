//! What the policy costs, in the real host, with a fresh instance for every evaluation.
//!
//! `make bench` measures ([`cases`](e2e_tests::cost::cases) by `benches/cost.rs`, memory by [`memory`]), counts
//! instructions, and then reports: [`bounds`] are the promises with what was measured beside them, [`report`] prints them
//! with every case, and writes a page into `docs`, with a plot.

pub mod bounds;
pub mod contender;
pub mod measured;
pub mod memory;
pub mod plot;
pub mod report;
pub mod turns;

pub use contender::Contender;
pub use measured::Measured;
pub use turns::Turns;
