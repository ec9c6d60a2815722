//! The end-to-end tests that are no data, in one binary: `cargo test -p e2e-tests --test all -- law::` runs those of one
//! file.

mod backstop;
mod bounds;
mod convert;
mod faults;
mod fences;
mod law;
mod limits;
mod plugin_config;
mod preview;
mod repeated_members;
mod scheduler;
mod sessions;
mod twin;

// These are about modules, and what is shipped around them.
#[cfg(feature = "wasm")]
mod host;
#[cfg(feature = "wasm")]
mod limit;
#[cfg(feature = "wasm")]
mod package;
#[cfg(feature = "wasm")]
mod sizes;
#[cfg(feature = "wasm")]
mod supply_chain;
#[cfg(feature = "wasm")]
mod worst;
