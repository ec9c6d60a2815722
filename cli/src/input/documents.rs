//! Files of JSON and YAML.

use std::{
    borrow::Cow,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use super::{
    unrepeated::{Unrepeated, add_next},
    yaml,
};

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

/// The JSON texts of the objects in a file. A `List`, as `kubectl get` prints it, stands for its items.
///
/// # Errors
/// The file can't be read, or is neither JSON nor YAML, or its list was cut off.
pub fn read_objects(file: &Path) -> Result<Vec<Box<RawValue>>> {
    let (text, is_json) = read(file)?;
    // JSON is YAML too, but much quicker to read.
    let json = (is_json || text.trim_start().starts_with('{')).then(|| json_objects(&text));
    match json {
        Some(Ok(objects)) => Ok(objects),
        Some(Err(error)) if is_json && error.is::<serde_json::Error>() => {
            Err(error).with_context(|| format!("{} is not JSON", file.display()))
        }
        Some(Err(error)) if is_json => Err(error).with_context(|| file.display().to_string()),
        _ => yaml_objects(&text).with_context(|| format!("{} is no YAML file of Kubernetes objects", file.display())),
    }
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
    #[derive(Default, Deserialize)]
    struct List {
        items: Option<Vec<Box<RawValue>>>,
        metadata: Option<Value>,
    }
    let Head { kind } = serde_json::from_str(document.get())?;
    let may_be_list = kind.is_some_and(|kind| kind.ends_with("List"));
    let List { items, metadata } = if may_be_list { serde_json::from_str(document.get())? } else { List::default() };
    let Some(items) = items else {
        objects.push(document);
        return Ok(());
    };
    drop(document);
    check_complete(&metadata.unwrap_or_default())?;
    for item in items {
        add_items(item, objects)?;
    }
    Ok(())
}

/// Checks that a list is all that there was.
fn check_complete(metadata: &Value) -> Result<()> {
    let is_continued = metadata["continue"].as_str().is_some_and(|token| !token.is_empty());
    ensure!(
        !is_continued,
        "metadata.continue: expected a whole list; this one goes on elsewhere: list it anew, without a limit"
    );
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
    Ok((text, path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))))
}

/// The text of a file; `-` is the standard input.
pub fn read_text(path: &Path) -> Result<String> {
    let text = if path.as_os_str() == "-" { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    // A byte-order mark, as some editors write it.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The documents of a YAML text. Empty ones are left out, and the items of a `List` stand in its place.
///
/// # Errors
/// Something can't be read: where, and why.
pub fn yaml_documents(text: &str) -> Result<Vec<Value>> {
    let file = yaml::read(text);
    match file.error {
        Some(error) => bail!("{error}"),
        None => Ok(file.documents.into_iter().map(|document| document.value).collect()),
    }
}

/// The files of a folder.
#[derive(Debug, Default)]
pub struct Files {
    /// JSON and YAML files.
    pub manifests: Vec<PathBuf>,
    /// All others.
    pub others: Vec<PathBuf>,
}

/// The file itself; of a folder all files, and those of folders in it. Hidden folders, and hidden files that are no
/// manifests, are nobody's cluster.
///
/// # Errors
/// A folder can't be read, or there are no manifests in it.
pub fn manifest_files(path: &Path) -> Result<Files> {
    if !path.is_dir() {
        return Ok(Files { manifests: vec![path.to_owned()], others: vec![] });
    }
    let mut files = Files::default();
    add_files(path, &mut files)?;
    if files.manifests.is_empty() {
        bail!("{}: expected manifests (*.yml, *.yaml, *.json), found none", path.display());
    }
    files.manifests.sort();
    files.others.sort();
    Ok(files)
}

fn add_files(folder: &Path, files: &mut Files) -> Result<()> {
    let cannot_read = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(cannot_read)? {
        let entry = entry.with_context(cannot_read)?;
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        // A link to a folder may lead back to it.
        match entry.file_type().with_context(cannot_read)?.is_dir() {
            true if is_hidden => {}
            true => add_files(&path, files)?,
            false if is_manifest(&path) => files.manifests.push(path),
            false if is_hidden => {}
            false => files.others.push(path),
        }
    }
    Ok(())
}

fn is_manifest(path: &Path) -> bool {
    let is = |extension: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension));
    is("json") || is("yaml") || is("yml")
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
            // kubectl writes it behind the items.
            let Some(kind) = fields.get("kind").and_then(Value::as_str) else {
                return Err(A::Error::custom("kind: expected List behind its items; found nothing: it was cut off"));
            };
            if kind.ends_with("List") {
                check_complete(fields.get("metadata").unwrap_or(&Value::Null)).map_err(A::Error::custom)?;
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
