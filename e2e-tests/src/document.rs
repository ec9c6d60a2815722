use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

/// Reads a file that holds exactly one JSON or YAML document.
pub fn read_document(path: &Path) -> Result<Value> {
    let mut documents = read_documents(path)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => Ok(document),
        (None, _) => bail!("{}: expected one document, it is empty", path.display()),
        (_, more) => bail!("{}: expected one document, found {}", path.display(), more + 1),
    }
}

/// Reads a JSON file, or a YAML file of any number of documents. Empty documents are left out.
pub fn read_documents(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    match serde_json::from_str(&text) {
        Ok(document) => Ok(vec![document]),
        Err(error) if is_json => Err(error).with_context(|| format!("{} is not JSON", path.display())),
        Err(_) => yaml_documents(&text).with_context(|| format!("{} is neither JSON nor YAML", path.display())),
    }
}

fn yaml_documents(text: &str) -> Result<Vec<Value>> {
    let documents = yaml_serde::Deserializer::from_str(text).map(Value::deserialize).collect::<Result<Vec<_>, _>>()?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}
