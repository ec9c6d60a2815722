//! The limit: a module for one case, that makes the same look-ups as the policy and answers with the same bytes, which it has
//! from the start. No policy that does this job can be faster: the rest is the host's.

use std::fmt::Write;

use anyhow::{Result, anyhow};

use super::Case;
use crate::Call;

const PAGE: usize = 64 * 1024;

/// The module in WebAssembly's text format, given what the policy did about `case`.
///
/// # Errors
/// The policy did not answer.
pub fn module(case: &Case, call: &Call) -> Result<String> {
    let answer = call.result.as_ref().map_err(|error| anyhow!("{case}: {error}"))?;
    let mut texts = Texts::default();
    let names = ["kubewarden", "kubernetes", "get_resource"].map(|name| texts.add(name.as_bytes()));
    let look_ups: Vec<String> = call
        .record
        .lookups
        .iter()
        .map(|lookup| {
            let [binding, namespace, operation] = &names;
            let request = texts.add(&serde_json::to_vec(lookup)?);
            Ok(format!("(drop (call $host_call {binding} {namespace} {operation} {request}))"))
        })
        .collect::<Result<_>>()?;
    let answer = texts.add(answer);
    // Where the request goes, and after it whatever a look-up answers.
    let request = texts.length;
    let answers = request + case.payload().len();
    let pages = (request + case.bytes_read(&call.record.lookups)).div_ceil(PAGE);
    let read = format!("(call $host_response (i32.const {answers}))");
    let look_ups: String =
        look_ups.iter().fold(String::new(), |all, look_up| format!("{all}    {look_up}\n    {read}\n"));
    // Nothing looks at the operation: it may go where the payload goes.
    Ok(format!(
        r#"(module
  (import "wapc" "__guest_request" (func $guest_request (param i32 i32)))
  (import "wapc" "__guest_response" (func $guest_response (param i32 i32)))
  (import "wapc" "__host_call" (func $host_call (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wapc" "__host_response" (func $host_response (param i32)))
  (memory (export "memory") {pages})
  (data (i32.const 0) "{data}")
  (func (export "__guest_call") (param i32 i32) (result i32)
    (call $guest_request (i32.const {request}) (i32.const {request}))
{look_ups}    (call $guest_response {answer})
    (i32.const 1)))
"#,
        data = texts.escaped
    ))
}

/// What the module has in its memory from the start.
#[derive(Default)]
struct Texts {
    escaped: String,
    length: usize,
}

impl Texts {
    /// Where `text` stands and how long it is, as two operands.
    fn add(&mut self, text: &[u8]) -> String {
        let operands = format!("(i32.const {}) (i32.const {})", self.length, text.len());
        for byte in text {
            // Writing to a string can't fail.
            let _ = write!(self.escaped, "\\{byte:02x}");
        }
        self.length += text.len();
        operands
    }
}
