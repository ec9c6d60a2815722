//! The tests without a host, in one binary: `cargo test --test all -- selectors::` runs those of one file.

mod common;

mod causes;
mod corpus;
mod json;
mod modules;
mod node_affinity;
mod selectors;
mod settings;
mod settings_of_placement;
mod settings_of_pods;
mod tolerations;
