//! Files of tests: their schema, their documentation, and the examples.

use std::{collections::BTreeSet, env, fs};

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    Policy, read_document,
    testing::{Suite, report::lines},
};
use rstest::rstest;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::file;

const FILE: &str = "docs/testing.schema.json";

/// The file is written anew if this environment variable is set.
const WRITE: &str = "WRITE_SCHEMA";

#[test]
fn the_schema_is_that_of_the_types() -> Result<()> {
    let path = file(FILE);
    let made = format!("{:#}\n", schema()?);
    if env::var_os(WRITE).is_some() {
        fs::write(&path, &made)?;
    }
    let shipped = fs::read_to_string(&path).context(FILE)?;
    ensure!(
        shipped == made,
        "{FILE} is out of date; write it anew: {WRITE}=1 cargo test -p e2e-tests --test all package::testing"
    );
    Ok(())
}

fn schema() -> Result<Value> {
    let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Suite>();
    Ok(serde_json::to_value(schema)?)
}

#[test]
fn every_field_is_documented() -> Result<()> {
    let documentation = fs::read_to_string(file("docs/tool.md"))?;
    let schema = schema()?;
    let mut fields = BTreeSet::new();
    for definition in ["Test", "Case", "Expect", "User"] {
        let properties = schema["definitions"][definition]["properties"].as_object();
        fields.extend(properties.with_context(|| format!("{definition} has no fields"))?.keys());
    }
    for field in fields {
        ensure!(documentation.contains(&format!("`{field}`")), "{field}");
    }
    Ok(())
}

#[rstest]
#[case::alone("examples/tests.yml", 10)]
#[case::of_a_platform_team("examples/platform-team/tests.yml", 10)]
fn the_examples_pass(#[case] path: &str, #[case] least: usize) -> Result<()> {
    let policy = Policy::native();
    let mut count = 0;
    for test in Suite::load(&file(path))?.tests {
        for case in &test.cases {
            let (_, mismatches) = test.check(case, &policy)?;
            ensure!(mismatches.is_empty(), "{}: {}: {}", test.name, case.name, lines(&mismatches).join("\n"));
            count += 1;
        }
    }
    ensure!(count >= least, "only {count} cases");
    Ok(())
}

/// The settings of the platform team's repository have no mistake.
#[test]
fn the_platform_teams_settings_are_valid() -> Result<()> {
    let settings = read_document(&file("examples/platform-team/settings.yml"))?;
    let answer = Policy::native().validate_settings(&settings)?;
    ensure!(answer.valid, "{:?}", answer.message);
    Ok(())
}
