//! Files of JSON and YAML.

use std::{
    borrow::Cow,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use super::unrepeated::{Unrepeated, add_next};

/// Reads a file that holds exactly one JSON or YAML document.
pub fn read_document(path: &Path) -> Result<Value> {
    let mut documents = read_documents(path)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => Ok(document),
        (None, _) => bail!("{}: expected one document, it is empty", path.display()),
        (_, more) => bail!("{}: expected one document, found {}", path.display(), more + 1),
    }
}

/// Reads a JSON file, or a YAML file of any number of documents. Empty documents are left out; a key that is repeated is
/// an error.
pub fn read_documents(path: &Path) -> Result<Vec<Value>> {
    let (text, is_json) = read(path)?;
    let documents = match serde_json::from_str(&text) {
        Ok(Unrepeated(document)) => Ok(vec![document]),
        Err(error) if is_json => Err(error.into()),
        Err(_) => yaml_documents(&text),
    };
    documents.with_context(|| format!("cannot read {}", path.display()))
}

/// The JSON texts of the objects in a file, or in all JSON and YAML files of a folder. A `List`, as `kubectl get`
/// prints it, stands for its items.
pub fn read_objects(path: &Path) -> Result<Vec<Box<RawValue>>> {
    let mut objects = vec![];
    for file in manifest_files(path)? {
        let (text, is_json) = read(&file)?;
        // JSON is YAML too, but much quicker to read.
        let json = text.trim_start().starts_with('{').then(|| json_objects(&text));
        objects.extend(match json {
            Some(Ok(objects)) => objects,
            _ if is_json => json_objects(&text).with_context(|| format!("{} is not JSON", file.display()))?,
            _ => yaml_objects(&text)
                .with_context(|| format!("{} is no YAML file of Kubernetes objects", file.display()))?,
        });
    }
    Ok(objects)
}

/// The objects in JSON documents.
pub fn json_objects(text: &str) -> Result<Vec<Box<RawValue>>> {
    let mut objects = vec![];
    for document in serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>() {
        let document = document?;
        add_items(document, &mut objects)?;
    }
    Ok(objects)
}

/// Adds an object, or the items of a list, which may be lists again.
fn add_items(document: Box<RawValue>, objects: &mut Vec<Box<RawValue>>) -> Result<()> {
    #[derive(Deserialize)]
    struct Head<'t> {
        #[serde(borrow)]
        kind: Option<Cow<'t, str>>,
    }
    #[derive(Deserialize)]
    struct List {
        items: Option<Vec<Box<RawValue>>>,
    }
    let Head { kind } = serde_json::from_str(document.get())?;
    let may_be_list = kind.is_some_and(|kind| kind.ends_with("List"));
    let List { items } = if may_be_list { serde_json::from_str(document.get())? } else { List { items: None } };
    let Some(items) = items else {
        objects.push(document);
        return Ok(());
    };
    drop(document);
    for item in items {
        add_items(item, objects)?;
    }
    Ok(())
}

/// The objects in YAML documents.
pub fn yaml_objects(text: &str) -> Result<Vec<Box<RawValue>>> {
    let mut objects = vec![];
    for document in yaml_serde::Deserializer::from_str(text) {
        for item in YamlItems::deserialize(document)?.0 {
            add_items(item, &mut objects)?;
        }
    }
    Ok(objects)
}

fn read(path: &Path) -> Result<(String, bool)> {
    let text = read_text(path)?;
    Ok((text, path.extension().is_some_and(|extension| extension == "json")))
}

/// The text of a file; `-` is the standard input.
pub fn read_text(path: &Path) -> Result<String> {
    let text = if path.as_os_str() == "-" { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    // A byte-order mark, as some editors write it.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The documents of a YAML text. Empty ones are left out.
pub fn yaml_documents(text: &str) -> Result<Vec<Value>> {
    let mut documents = vec![];
    for document in yaml_serde::Deserializer::from_str(text) {
        let Unrepeated(document) = Unrepeated::deserialize(document)?;
        if !document.is_null() {
            documents.push(document);
        }
    }
    Ok(documents)
}

fn manifest_files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = vec![];
    for entry in fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))? {
        let file = entry?.path();
        if file.extension().is_some_and(|it| it == "json" || it == "yaml" || it == "yml") {
            files.push(file);
        }
    }
    files.sort();
    match files.is_empty() {
        true => bail!("{}: expected manifests (*.yml, *.yaml, *.json), found none", path.display()),
        false => Ok(files),
    }
}

/// The items of a YAML document. Each becomes text as soon as it is read, so that a long list is never there as a tree.
struct YamlItems(Vec<Box<RawValue>>);

impl<'de> Deserialize<'de> for YamlItems {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlDocument)
    }
}

struct YamlDocument;

impl<'de> Visitor<'de> for YamlDocument {
    type Value = YamlItems;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a Kubernetes object, or a list of such")
    }

    /// An empty document.
    fn visit_unit<E: Error>(self) -> Result<YamlItems, E> {
        Ok(YamlItems(vec![]))
    }

    /// An empty file.
    fn visit_none<E: Error>(self) -> Result<YamlItems, E> {
        Ok(YamlItems(vec![]))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlItems, A::Error> {
        let (mut fields, mut items) = (Map::new(), None::<Vec<YamlItem>>);
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" && items.is_none() {
                items = map.next_value()?;
            } else {
                add_next(&mut fields, key, &mut map)?;
            }
        }
        let items = items.map(|items| items.into_iter().map(|YamlItem(text)| text).collect::<Vec<_>>());
        if let Some(items) = items {
            let kind = fields.get("kind").and_then(Value::as_str).unwrap_or("List");
            if kind.ends_with("List") {
                return Ok(YamlItems(items));
            }
            let items = serde_json::to_value(items).map_err(A::Error::custom)?;
            fields.insert("items".to_owned(), items);
        }
        Ok(YamlItems(vec![to_raw_value(&fields).map_err(A::Error::custom)?]))
    }
}

struct YamlItem(Box<RawValue>);

impl<'de> Deserialize<'de> for YamlItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Unrepeated(item) = Unrepeated::deserialize(deserializer)?;
        Ok(Self(to_raw_value(&item).map_err(D::Error::custom)?))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::an_object(r#"{"kind": "Pod"}"#, 1)]
    #[case::a_list(r#"{"kind": "List", "items": [{"kind": "Pod"}, {"kind": "Pod"}]}"#, 2)]
    #[case::a_typed_list(r#"{"items": [{"kind": "Pod"}], "kind": "PodList"}"#, 1)]
    #[case::a_list_in_a_list(r#"{"kind": "List", "items": [{"kind": "List", "items": [{"kind": "Pod"}]}]}"#, 1)]
    #[case::a_kind_that_is_called_list(r#"{"kind": "AllowList", "spec": {}}"#, 1)]
    #[case::an_object_with_items(r#"{"kind": "ConfigMap", "items": []}"#, 1)]
    #[case::several(r#"{"kind": "Pod"}{"kind": "Pod"}"#, 2)]
    fn objects_are_found(#[case] text: &str, #[case] expected: usize) {
        assert_eq!(json_objects(text).unwrap().len(), expected, "as JSON");
        if !text.contains("}{") {
            assert_eq!(yaml_objects(text).unwrap().len(), expected, "as YAML");
        }
    }

    #[test]
    fn anchors_that_explode_end_with_an_error() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 10].join(", "));
        }
        assert!(yaml_documents(&bomb).is_err());
        assert!(yaml_objects(&bomb).is_err());
    }
}
