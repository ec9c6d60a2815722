//! What Rust needs is there before anything calls cargo, on a machine that has rustup alone.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output},
};

use anyhow::{Context, Result};
use rstest::rstest;

use super::file;

#[test]
fn what_calls_cargo_gets_the_toolchain_first() -> Result<()> {
    let makefile = fs::read_to_string(file("Makefile"))?;
    let mut checked = 0;
    for rule in makefile.split("\n\n").flat_map(rules_of) {
        let calls_cargo = rule.recipe.iter().any(|line| line.trim_start_matches(['\t', '@']).starts_with("cargo "));
        // What asks for a nightly toolchain has to say how that is installed.
        if !calls_cargo || rule.head.starts_with("nightly:") {
            continue;
        }
        assert!(rule.head.split_whitespace().any(|word| word == "toolchain"), "{}", rule.head);
        checked += 1;
    }
    assert!(checked > 10, "only {checked} rules of the Makefile call cargo");
    Ok(())
}

struct Rule<'m> {
    head: &'m str,
    recipe: Vec<&'m str>,
}

fn rules_of(paragraph: &str) -> Vec<Rule<'_>> {
    let mut rules: Vec<Rule<'_>> = vec![];
    for line in paragraph.lines() {
        match rules.last_mut() {
            Some(rule) if line.starts_with('\t') => rule.recipe.push(line),
            _ if line.contains(':') && !line.starts_with(['#', '.']) => rules.push(Rule { head: line, recipe: vec![] }),
            _ => {}
        }
    }
    rules
}

#[rstest]
#[case::nothing("nothing", &[], "Rust is not installed. Install rustup")]
#[case::too_old("too-old", &[("cargo", ""), ("rustc", "echo rustc 1.70.0")], "1.95 or later is needed, and this is 1.70.0")]
#[case::no_wasm(
    "no-wasm",
    &[("cargo", ""), ("rustc", "case $1 in --version) echo rustc 1.96.1;; *) echo /nowhere;; esac")],
    "no standard library for wasm32-wasip1"
)]
#[case::no_network("no-network", &[("rustup", "exit 1")], "rustup 1.28 or later and the network are needed")]
fn what_is_missing_is_said(
    #[case] name: &str,
    #[case] commands: &[(&str, &str)],
    #[case] expected: &str,
) -> Result<()> {
    let output = toolchain(name, commands)?;
    let said = String::from_utf8(output.stderr)?;
    assert!(!output.status.success(), "{said}");
    assert!(said.contains(expected), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    Ok(())
}

#[test]
fn a_complete_rust_without_rustup_will_do() -> Result<()> {
    let rustc = "case $1 in --version) echo rustc 1.95.0;; *) echo /;; esac";
    let output = toolchain("complete", &[("cargo", ""), ("rustc", rustc)])?;
    assert!(output.status.success(), "{}", String::from_utf8(output.stderr)?);
    Ok(())
}

/// Runs `.ci/toolchain` where there are no other commands than the usual ones of a system, and these shell scripts.
fn toolchain(name: &str, commands: &[(&str, &str)]) -> Result<Output> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("toolchain-{name}"));
    fs::create_dir_all(&folder)?;
    for (command, script) in commands {
        let path = folder.join(command);
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    // The system's own folders may hold a Rust, so that only what is needed of them is in the path.
    for command in ["bash", "env", "dirname", "sed", "cut", "sort", "head"] {
        let own = Command::new("sh").args(["-c", &format!("command -v {command}")]).output()?;
        let link = folder.join(command);
        if !link.exists() {
            std::os::unix::fs::symlink(String::from_utf8(own.stdout)?.trim(), link)?;
        }
    }
    let mut script = Command::new(folder.join("bash"));
    script.arg(file(".ci/toolchain")).env("PATH", &folder).output().context("bash")
}
