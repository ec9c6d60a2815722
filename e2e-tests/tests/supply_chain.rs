//! What the module asks of whoever runs it, and that it tells nothing about whoever built it.

use std::{env, fs};

use anyhow::{Result, ensure};
use e2e_tests::policy_module;
use wasmparser::{ExternalKind, Parser, Payload, TypeRef};

/// Calls between a policy and its host, whatever they are about.
const WAPC: [&str; 8] = [
    "wapc.__guest_error",
    "wapc.__guest_request",
    "wapc.__guest_response",
    "wapc.__host_call",
    "wapc.__host_error",
    "wapc.__host_error_len",
    "wapc.__host_response",
    "wapc.__host_response_len",
];

/// What Rust's standard library brings along: seeds of hash maps, `RUST_BACKTRACE`, and how a panic would be told. No
/// files, no clock, no network.
const WASI: [&str; 5] = [
    "wasi_snapshot_preview1.environ_get",
    "wasi_snapshot_preview1.environ_sizes_get",
    "wasi_snapshot_preview1.fd_write",
    "wasi_snapshot_preview1.proc_exit",
    "wasi_snapshot_preview1.random_get",
];

#[test]
fn the_module_imports_functions_of_wapc_and_of_its_standard_library_and_nothing_more() -> Result<()> {
    let module = fs::read(policy_module()?)?;
    let mut imports = vec![];
    for payload in Parser::new(0).parse_all(&module) {
        if let Payload::ImportSection(section) = payload? {
            for import in section.into_imports() {
                let import = import?;
                ensure!(matches!(import.ty, TypeRef::Func(_)), "{import:?} is no function");
                imports.push(format!("{}.{}", import.module, import.name));
            }
        }
    }
    imports.sort();
    assert_eq!(imports, [WAPC.as_slice(), &WASI].concat());
    Ok(())
}

/// And what compares memory: the linker exports what it takes in place of the C library's.
#[test]
fn the_module_exports_its_memory_and_two_doors() -> Result<()> {
    let module = fs::read(policy_module()?)?;
    let mut exports = vec![];
    for payload in Parser::new(0).parse_all(&module) {
        if let Payload::ExportSection(section) = payload? {
            for export in section {
                let export = export?;
                exports.push((export.name.to_owned(), export.kind));
            }
        }
    }
    exports.sort_by(|(one, _), (other, _)| one.cmp(other));
    let expected = [
        ("__guest_call", ExternalKind::Func),
        ("memcmp", ExternalKind::Func),
        ("memory", ExternalKind::Memory),
        ("wapc_init", ExternalKind::Func),
    ];
    assert_eq!(exports, expected.map(|(name, kind)| (name.to_owned(), kind)));
    Ok(())
}

/// Panic messages name source files; in a folder of the machine they would differ from build to build, and give it away.
#[test]
fn the_module_names_no_folder_of_the_machine_that_built_it() -> Result<()> {
    let module = fs::read(policy_module()?)?;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/").trim_end_matches("e2e-tests/");
    let home = env::var("HOME").unwrap_or_default();
    for folder in [root, &home, "/.cargo/", "/home/", "/root/", "/Users/"] {
        let found = module.windows(folder.len()).any(|part| part == folder.as_bytes());
        ensure!(folder.len() < 2 || !found, "the module names {folder}; build it with `make policy.wasm`");
    }
    Ok(())
}
