//! What must hold of the policy for any input at all.
//!
//! Each module has one function `check`, which panics if an input breaks it. The fuzz targets look for such inputs; the
//! inputs they kept are run by `tests/corpus.rs` of the policy, natively and without a nightly toolchain.

pub mod adversary;
pub mod payload;
pub mod placement;
pub mod raw_object;
pub mod selector;
pub mod settings;
pub mod tolerations;
pub mod unharmed;

use arbitrary::Unstructured;
use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
use serde::de::IgnoredAny;

/// Whether these bytes are JSON, as `serde_json` has it. It skips what nobody reads, however deep it is nested.
fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// One of `choices`, as the input has it.
fn pick<'c, T>(input: &mut Unstructured<'_>, choices: &'c [T]) -> &'c T {
    input.choose(choices).unwrap_or(&choices[0])
}

/// What the policy answers.
fn validate(payload: &[u8], cluster: &impl Cluster) -> String {
    String::from_utf8(node_placement_policy::validate(payload, cluster)).expect("an answer is text")
}

/// A cluster of one Namespace and one Node; either is called whatever it is asked for.
#[derive(Clone, Debug)]
struct Objects {
    namespace: Result<String, String>,
    node: Result<String, String>,
}

impl Cluster for Objects {
    fn get_resource(&self, request: &GetResourceRequest) -> anyhow::Result<String> {
        let found = if request.kind == "Namespace" { &self.namespace } else { &self.node };
        found.clone().map_err(anyhow::Error::msg)
    }

    fn log(&self, _level: LogLevel, message: &str) {
        assert!(!message.contains('\n'), "{message:?} is more than a line");
    }
}
