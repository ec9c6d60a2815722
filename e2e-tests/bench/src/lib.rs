//! What the policy costs, in the real host, with a fresh instance for every evaluation.
//!
//! `make bench` takes about five minutes after the build, and needs an idle machine. `benches/cost.rs` takes the times of
//! all [cases](e2e_tests::cost::cases). `benches/report.rs` counts instructions, measures [`memory`], prints every case
//! and the [`bounds`], and lets [`report`] write `costs.md`. `benches/preview.rs` takes the time and the memory of a
//! preview of 20,000 Pods.
//!
//! # What is compared
//!
//! A [`Contender`] is the policy, or one of these:
//!
//! - The floor (`e2e-tests/floor`) accepts everything and reads nothing. Its time is that of the host.
//! - The limit ([`e2e_tests::cost::limit`]) makes the policy's look-ups and returns a prepared answer. No policy with the
//!   same results can be faster. It is generated for each case.
//! - The typed twin (`e2e-tests/typed-twin`) has the same rules, written with the SDK and typed Kubernetes structs. It
//!   does less than the policy.
//!
//! The policy, the floor and the typed twin are built with the same profile. The host is Wasmtime, with the same
//! provider as in policy-server, and a new instance for each evaluation. Look-ups are answered from memory.
//!
//! # How times are taken
//!
//! Each time is the median of 50 samples of [criterion](https://docs.rs/criterion), from the bytes of the request to the
//! bytes of the answer. The speed of a machine changes while it measures. So each sample takes [`turns`] with the
//! floor's smallest evaluation, and times are relative to that. Compare ratios with those of another machine, not times.
//! Pods grow by containers with environment variables, probes, volumes and `managedFields`.
//!
//! # What else measures
//!
//! `make test` checks what is the same on every machine: the size of the module (`e2e-tests/tests/package/metadata.rs`),
//! instructions (`e2e-tests/tests/instructions.rs`) and look-ups (`e2e-tests/cases`).
//!
//! In a policy-server over HTTPS, with eight clients, the server itself takes most of the time. `kwctl bench` covers
//! more of it than this crate does: it also reads the request and makes the patch. It needs a request without look-ups:
//!
//! ```console
//! make annotated-policy.wasm
//! kwctl bench --request-path e2e-tests/fixtures/bare/pod-create.json \
//!   --settings-json '{"placement":{"namespaceAnnotations":[],"clusterDefaultNodeSelector":"env=production"}}' \
//!   annotated-policy.wasm
//! ```

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
