//! The JSON schema of the settings: made from their types, shipped for editors, and what the documentation and Rancher's
//! form are held to.

use std::{collections::BTreeMap, env, fs};

use anyhow::{Context, Result, ensure};
use e2e_tests::read_document;
use node_placement_policy::settings::Settings;
use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value, json};

use super::file;

const FILE: &str = "docs/settings.schema.json";

/// The file is written anew if this environment variable is set.
const WRITE: &str = "WRITE_SCHEMA";

/// What does not fit a form. It can be written there as YAML.
const NOT_IN_THE_FORM: [&str; 5] = [
    "placement.namespaces[].preferredNodeSelector",
    "placement.namespaces[].defaultTolerations",
    "placement.namespaces[].allowedTolerations",
    "placement.namespaces[].forbiddenTolerations",
    "podNodeSelectorPluginConfig",
];

#[test]
fn the_schema_is_that_of_the_types() -> Result<()> {
    let path = file(FILE);
    let made = format!("{:#}\n", schema());
    if env::var_os(WRITE).is_some() {
        fs::write(&path, &made)?;
    }
    let shipped = fs::read_to_string(&path).context(FILE)?;
    ensure!(
        shipped == made,
        "{FILE} is out of date; write it anew: {WRITE}=1 cargo test -p e2e-tests --test all package::schema"
    );
    Ok(())
}

/// Every setting is explained in the reference, every word of a choice too.
#[test]
fn every_setting_is_documented() -> Result<()> {
    let reference = fs::read_to_string(file("docs/settings.md"))?;
    for (path, setting) in settings() {
        let name = path.rsplit('.').next().unwrap_or_default();
        let is_there =
            |word: &str| reference.contains(&format!("`{word}`")) || reference.contains(&format!("# {word}"));
        ensure!(is_there(name), "{path}");
        for word in words(&setting) {
            ensure!(is_there(&word), "{path}: {word}");
        }
    }
    Ok(())
}

#[test]
fn the_form_asks_for_every_setting() -> Result<()> {
    let asked: Vec<String> = questions()?.into_keys().collect();
    let mut known: Vec<String> = settings().into_keys().collect();
    known.retain(|path| !NOT_IN_THE_FORM.iter().any(|prefix| path.starts_with(prefix)));
    assert_eq!(asked, known);
    Ok(())
}

/// What nobody fills in is left out: the policy's own defaults hold.
#[test]
fn the_form_asks_as_the_types_are() -> Result<()> {
    let settings = settings();
    for (path, question) in questions()? {
        let setting = &settings[&path];
        let choices = words(setting);
        let is_object_list = setting["items"]["properties"].is_object();
        let (kind, empty) = match type_of(setting) {
            _ if !choices.is_empty() => ("enum", json!(null)),
            "array" if is_object_list => ("sequence[", json!([])),
            "array" => ("array[", json!([])),
            "object" => ("map[", json!({})),
            "integer" => ("int", json!(null)),
            other => (other, json!(null)),
        };
        assert_eq!(question["type"], kind, "{path}");
        assert_eq!(question["options"].as_array().cloned().unwrap_or_default(), choices, "{path}");
        let default = &question["default"];
        let is_empty = *default == empty || [json!(""), json!(false), json!(null)].contains(default);
        ensure!(is_empty, "{path}: {default}");
    }
    Ok(())
}

/// The schema, as it is shipped.
fn schema() -> Value {
    // Whoever leaves a setting out need not be told that it may be null.
    let without_null = RecursiveTransform(|schema: &mut Schema| {
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
    });
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let generator = settings.with_transform(without_null).into_generator();
    generator.into_root_schema_for::<Settings>().into()
}

/// Every setting by its path, with its schema; those of an element of a list have `[]` in theirs.
pub fn settings() -> BTreeMap<String, Value> {
    fn collect(schema: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
        if let Some(items) = schema.get("items") {
            collect(items, &format!("{path}[]"), found);
        }
        for (name, member) in schema["properties"].as_object().unwrap_or(&Map::new()) {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            collect(member, &path, found);
            found.insert(path, member.clone());
        }
    }
    let mut found = BTreeMap::new();
    collect(&schema(), "", &mut found);
    found
}

/// The type of a setting that is not null.
fn type_of(setting: &Value) -> &str {
    let types = &setting["type"];
    types.as_str().or(types[0].as_str()).unwrap_or_default()
}

/// The words of a choice.
fn words(setting: &Value) -> Vec<String> {
    let of_enum = setting["enum"].as_array().into_iter().flatten();
    let documented = setting["oneOf"].as_array().into_iter().flatten().map(|word| &word["const"]);
    of_enum.chain(documented).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The questions of Rancher's form, by the path of their setting.
fn questions() -> Result<BTreeMap<String, Value>> {
    fn collect(list: &Value, prefix: &str, found: &mut BTreeMap<String, Value>) {
        for question in list.as_array().into_iter().flatten() {
            let path = format!("{prefix}{}", question["variable"].as_str().unwrap_or_default());
            collect(&question["subquestions"], prefix, found);
            collect(&question["sequence_questions"], &format!("{path}[]."), found);
            found.insert(path, question.clone());
        }
    }
    let mut found = BTreeMap::new();
    collect(&read_document(&file("questions-ui.yml"))?["questions"], "", &mut found);
    Ok(found)
}
