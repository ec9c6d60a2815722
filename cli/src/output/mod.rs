//! Renderings of what the other modules found out: text for a terminal, HTML, and the data that JSON and YAML are made of.

pub mod evaluation;
pub mod explanation;
pub mod preview;
pub mod printer;
pub mod terminal;

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use anyhow::{Context, Result, ensure};
    use rstest::rstest;
    use schemars::{JsonSchema, Schema, generate::SchemaSettings};
    use serde_json::Value;

    use crate::{check, explain, preview, testing, trial};

    /// Files are written anew if this environment variable is set.
    const WRITE: &str = "WRITE_SCHEMA";

    fn schema<T: JsonSchema>() -> Schema {
        SchemaSettings::draft07().into_generator().into_root_schema_for::<T>()
    }

    #[rstest]
    #[case::check("docs/check.schema.json", schema::<check::Lines>())]
    #[case::explain("docs/explain.schema.json", schema::<explain::Explanation>())]
    #[case::preview("docs/preview.schema.json", schema::<preview::Preview>())]
    #[case::of_test("docs/test.schema.json", schema::<testing::report::Tests>())]
    #[case::of_try("docs/try.schema.json", schema::<trial::Results>())]
    fn the_schemas_of_the_documentation_are_those_of_the_types(
        #[case] file: &str,
        #[case] schema: Schema,
    ) -> Result<()> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let of_type = format!("{:#}\n", Value::from(schema));
        if env::var_os(WRITE).is_some() {
            fs::write(&path, &of_type)?;
        }
        let again = format!("{WRITE}=1 cargo test -p kubectl-node-placement --lib schemas");
        ensure!(
            fs::read_to_string(&path).context(file.to_owned())? == of_type,
            "{file} is out of date; write it anew: {again}"
        );
        Ok(())
    }
}
