//! Files of JSON and YAML.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::yaml;

/// Reads a file that holds exactly one JSON or YAML document.
pub fn read_document(path: &Path) -> Result<Value> {
    let mut documents = read_documents(path)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => Ok(document),
        (None, _) => bail!("{}: expected one document, it is empty", path.display()),
        (_, more) => bail!("{}: expected one document, found {}", path.display(), more + 1),
    }
}

/// Reads a JSON file, or a YAML file of any number of documents, as [`yaml_documents`] does.
pub fn read_documents(path: &Path) -> Result<Vec<Value>> {
    yaml_documents(&read_text(path)?).with_context(|| format!("cannot read {}", path.display()))
}

/// The documents of a YAML text, of which JSON is a part. Empty ones are left out, and the items of a list of objects
/// stand in its place.
///
/// # Errors
/// Something can't be read, such as a key that is repeated: where, and why.
pub fn yaml_documents(text: &str) -> Result<Vec<Value>> {
    let file = yaml::read(text);
    match file.error {
        Some(error) => Err(error.into()),
        None => Ok(file.documents.into_iter().map(|document| document.value).collect()),
    }
}

/// The JSON texts of the objects in a file. A `List`, as `kubectl get` prints it, stands for its items.
///
/// # Errors
/// The file can't be read, or is neither JSON nor YAML, or its list was cut off.
pub fn read_objects(file: &Path) -> Result<Vec<Box<RawValue>>> {
    let text = read_text(file)?;
    let is_json = has_extension(file, &["json"]);
    // JSON is YAML too, but much quicker to read.
    if is_json || text.trim_start().starts_with('{') {
        let objects = json_objects(&text);
        match objects.as_ref().is_err_and(|error| error.is::<serde_json::Error>()) {
            false => return objects.with_context(|| file.display().to_string()),
            true if is_json => return objects.with_context(|| format!("{} is not JSON", file.display())),
            true => {}
        }
    }
    yaml_objects(&text).with_context(|| format!("{} is no YAML file of Kubernetes objects", file.display()))
}

/// The objects in JSON documents.
pub fn json_objects(text: &str) -> Result<Vec<Box<RawValue>>> {
    let mut objects = vec![];
    for document in serde_json::Deserializer::from_str(text).into_iter() {
        add_items(document?, &mut objects)?;
    }
    Ok(objects)
}

/// The objects in YAML documents.
pub fn yaml_objects(text: &str) -> Result<Vec<Box<RawValue>>> {
    let mut objects = vec![];
    for document in yaml::json_documents(text) {
        add_items(RawValue::from_string(document?)?, &mut objects)?;
    }
    Ok(objects)
}

/// Adds an object, or the items of a list, which may be lists again. Who reads it tells what is no object.
fn add_items(document: Box<RawValue>, objects: &mut Vec<Box<RawValue>>) -> Result<()> {
    #[derive(Default, Deserialize)]
    struct List {
        kind: Option<String>,
        items: Option<Vec<Box<RawValue>>>,
        metadata: Option<ListMeta>,
    }
    let list: Option<List> = serde_json::from_str(document.get()).unwrap_or_else(|_| Some(List::default()));
    // An empty document.
    let Some(List { kind, items, metadata }) = list else { return Ok(()) };
    let Some(items) = items.filter(|_| kind.as_ref().is_none_or(|kind| kind.ends_with("List"))) else {
        objects.push(document);
        return Ok(());
    };
    drop(document);
    // kubectl writes it behind the items.
    ensure!(kind.is_some(), "kind: expected List behind its items; found nothing: it was cut off");
    let is_continued = metadata.and_then(|metadata| metadata.continue_).is_some_and(|token| !token.is_empty());
    ensure!(
        !is_continued,
        "metadata.continue: expected a whole list; this one goes on elsewhere: list it anew, without a limit"
    );
    for item in items {
        ensure!(item.get() != "null", "items: expected objects; found nothing for one of them");
        add_items(item, objects)?;
    }
    Ok(())
}

/// The text of a file; `-` is the standard input.
pub fn read_text(path: &Path) -> Result<String> {
    let text = if path.as_os_str() == "-" { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    // A byte-order mark, as some editors write it.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The files of a cluster.
#[derive(Debug, Default)]
pub struct Files {
    /// JSON and YAML files.
    pub manifests: Vec<PathBuf>,
    /// All others.
    pub others: Vec<PathBuf>,
}

impl Files {
    /// The file itself; of a folder all files, and those of folders in it. Hidden folders, and hidden files that are no
    /// manifests, are nobody's cluster.
    ///
    /// # Errors
    /// A folder can't be read, or there are no manifests in it.
    pub fn find(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            return Ok(Self { manifests: vec![path.to_owned()], others: vec![] });
        }
        let mut files = Self::default();
        files.add_folder(path).with_context(|| format!("cannot read {}", path.display()))?;
        files.manifests.sort();
        files.others.sort();
        ensure!(
            !files.manifests.is_empty(),
            "{}: expected manifests (*.yml, *.yaml, *.json), found none",
            path.display()
        );
        Ok(files)
    }

    fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            // A link to a folder may lead back to it.
            let is_folder = entry.file_type()?.is_dir();
            if is_folder && !is_hidden {
                self.add_folder(&path)?;
            } else if !is_folder && has_extension(&path, &["json", "yaml", "yml"]) {
                self.manifests.push(path);
            } else if !is_folder && !is_hidden {
                self.others.push(path);
            }
        }
        Ok(())
    }
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| extensions.iter().any(|extension| found.eq_ignore_ascii_case(extension)))
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

    /// What `kubectl get -o kyaml` prints: braces in YAML, a comma behind the last member, texts over several lines.
    const KYAML: &str = r#"---
{
  apiVersion: "v1",
  kind: "List",
  items: [{
    apiVersion: "v1", # a comment
    kind: "Node",
    metadata: {
      name: "worker-1",
      labels: {
        "no": "yes",
        "node-restriction.kubernetes.io/tenant": "blue",
      },
    },
    spec: {
      unschedulable: true,
    },
  }, {
    apiVersion: "v1",
    kind: "ConfigMap",
    data: {
      text: "\
         first\n\
         \  second\n\
        ",
    },
  }],
}
"#;

    #[test]
    fn kyaml_is_read() -> Result<()> {
        let text = format!("{KYAML}{KYAML}");
        let objects = yaml_objects(&text)?;
        assert_eq!(objects.len(), 4);
        let documents = yaml_documents(&text)?;
        let items = serde_json::json!([
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": "worker-1",
                    "labels": { "no": "yes", "node-restriction.kubernetes.io/tenant": "blue" },
                },
                "spec": { "unschedulable": true },
            },
            { "apiVersion": "v1", "kind": "ConfigMap", "data": { "text": "first\n  second\n" } },
        ]);
        let items = items.as_array().context("a list")?;
        assert_eq!(documents, [items.as_slice(), items].concat());
        Ok(())
    }

    #[test]
    fn json_may_write_a_character_as_two_halves() -> Result<()> {
        assert_eq!(yaml_documents(r#"{"a": "\ud83d\ude00"}"#)?, [serde_json::json!({ "a": "😀" })]);
        assert!(yaml_documents(r#"{"a": "\ud83d"}"#).is_err());
        Ok(())
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
