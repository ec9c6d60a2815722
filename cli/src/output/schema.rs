//! The JSON schemas in the documentation are those of the types.

use std::{env, fs, path::Path};

use anyhow::{Context, Result, ensure};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// Files are written anew if this environment variable is set.
const WRITE: &str = "WRITE_SCHEMA";

/// Holds a file of the project to a type.
///
/// # Errors
/// The file says something else.
pub fn ensure_schema<T: JsonSchema>(file: &str) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let generator = SchemaSettings::draft07().into_generator();
    let made = format!("{:#}\n", Value::from(generator.into_root_schema_for::<T>()));
    if env::var_os(WRITE).is_some() {
        fs::write(&path, &made)?;
    }
    let shipped = fs::read_to_string(&path).context(file.to_owned())?;
    let again = format!("{WRITE}=1 cargo test -p kubectl-node-placement --lib schema");
    ensure!(shipped == made, "{file} is out of date; write it anew: {again}");
    Ok(())
}
