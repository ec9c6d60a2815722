//! The tests of the tool, in one binary: `cargo test -p kubectl-node-placement --test all -- check::` runs those of one
//! file.

mod common;

mod brute_force;
mod check;
mod convert;
mod crd;
mod documentation;
mod explain;
mod files;
mod hostile;
mod kubectl;
mod large_cluster;
mod page;
mod planted;
mod policy;
mod preview;
mod run;
mod structure;
mod testing;
mod tour;
