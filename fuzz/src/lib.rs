//! What must hold of the policy for any input at all.
//!
//! Each module has one function `check`, which panics if an input breaks it. The fuzz targets look for such inputs; the
//! inputs they kept are run by `tests/corpus.rs` of the policy, natively and without a nightly toolchain.

pub mod adversary;
pub mod json;
pub mod payload;
pub mod placement;
pub mod selector;
pub mod settings;
pub mod unharmed;

use std::collections::BTreeSet;

use arbitrary::Unstructured;
use node_placement_policy::cluster::{Cluster, NamespaceName, NodeName};
use serde::de::IgnoredAny;

/// The deepest nesting that the policy must read.
const DEEPEST: usize = 128;

/// Whether these bytes are JSON, as `serde_json` has it. It skips what nobody reads, however deep it is nested.
fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// How deep objects and lists are nested in a JSON text.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in strings_marked(json).filter_map(|(byte, is_text)| (!is_text).then_some(byte)) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// A JSON text without the spaces that mean nothing.
fn compact(json: &str) -> Vec<u8> {
    let meant = strings_marked(json.as_bytes()).filter(|(byte, is_text)| *is_text || !b" \t\r\n".contains(byte));
    meant.map(|(byte, _)| byte).collect()
}

/// Every byte of a JSON text, and whether it stands in a string.
fn strings_marked(json: &[u8]) -> impl Iterator<Item = (u8, bool)> {
    let (mut is_text, mut is_escaped) = (false, false);
    json.iter().map(move |&byte| {
        let was_text = is_text;
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ => {}
        }
        (byte, was_text || is_text)
    })
}

/// One of `choices`, as the input has it.
fn pick<'c, T>(input: &mut Unstructured<'_>, choices: &'c [T]) -> &'c T {
    input.choose(choices).unwrap_or(&choices[0])
}

/// A cluster of one Namespace and one Node; either is called whatever it is asked for.
#[derive(Clone, Debug)]
struct Objects {
    namespace: Result<String, String>,
    node: Result<String, String>,
}

impl Cluster for Objects {
    fn namespace(&self, _name: &NamespaceName, _masks: &BTreeSet<String>) -> Result<String, String> {
        self.namespace.clone()
    }

    fn node(&self, _name: &NodeName, _masks: &BTreeSet<String>) -> Result<String, String> {
        self.node.clone()
    }

    fn note(&self, failure: &str) {
        assert!(!failure.contains('\n'), "{failure:?} is more than a line");
    }
}
