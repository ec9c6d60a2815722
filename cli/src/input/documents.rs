//! Files of JSON and YAML, read as kubectl reads them.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::yaml::{self, Document, JsonDocument, RepeatedKey, SyntaxError};

/// Reads a file that holds exactly one JSON or YAML document.
pub fn read_document(path: &Path) -> Result<Value> {
    let mut documents = read_documents(path)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => Ok(document),
        (None, _) => bail!("{}: expected one document, it is empty", path.display()),
        (_, more) => bail!("{}: expected one document, found {}", path.display(), more + 1),
    }
}

/// Reads a file of any number of documents, as [`yaml_documents`] does.
pub fn read_documents(path: &Path) -> Result<Vec<Value>> {
    yaml_documents(&read_text(path)?).map_err(|error| of_file(path, error))
}

/// Returns an error about a file with its name, and with the place in it if the error has one.
pub fn of_file(path: &Path, error: Error) -> Error {
    match error.downcast_ref::<SyntaxError>() {
        Some(syntax) => anyhow!("{}", syntax.of_file(path.display())),
        None => error.context(path.display().to_string()),
    }
}

/// Returns the documents of a YAML text, of which JSON is a part. Empty ones are left out, and the items of a list of
/// objects stand in its place.
///
/// # Errors
/// Something can't be read: where, and why.
pub fn yaml_documents(text: &str) -> Result<Vec<Value>> {
    Ok(positioned_documents(text)?.into_iter().map(|document| document.value).collect())
}

/// Returns the documents of a YAML text, as [`yaml_documents`] does, with their positions.
///
/// # Errors
/// Something can't be read: where, and why.
pub fn positioned_documents(text: &str) -> Result<Vec<Document>> {
    let file = yaml::read(text);
    match file.error {
        Some(error) => Err(error.into()),
        None => Ok(file.documents),
    }
}

/// The objects of a file.
#[derive(Debug, Default)]
pub struct Objects {
    /// Their JSON texts. A `List`, as `kubectl get` prints it, stands for its items.
    pub texts: Vec<Box<RawValue>>,
    /// The keys that stand twice in one mapping.
    pub repeated: Vec<RepeatedKey>,
}

/// Reads the objects of a file.
///
/// # Errors
/// The file can't be read, or is neither JSON nor YAML, or its list was cut off.
pub fn read_objects(file: &Path) -> Result<Objects> {
    objects(&read_text(file)?).map_err(|error| of_file(file, error))
}

/// Reads the objects of a text.
///
/// # Errors
/// It is neither JSON nor YAML, or its list was cut off.
pub fn objects(text: &str) -> Result<Objects> {
    let mut objects = Objects::default();
    for document in yaml::json_documents(text) {
        let JsonDocument { json, repeated } = document?;
        objects.repeated.extend(repeated);
        add_items(json, &mut objects.texts)?;
    }
    Ok(objects)
}

/// Adds an object, or the items of a list, which may be lists again. Who reads it reports what is no object.
fn add_items(document: Box<RawValue>, objects: &mut Vec<Box<RawValue>>) -> Result<()> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct List {
        api_version: Option<String>,
        kind: Option<String>,
        items: Option<Vec<Box<RawValue>>>,
        metadata: Option<ListMeta>,
    }
    let list: Option<List> = serde_json::from_str(document.get()).unwrap_or_else(|_| Some(List::default()));
    // An empty document.
    let Some(List { api_version, kind, items, metadata }) = list else { return Ok(()) };
    let Some(items) = items.filter(|_| kind.as_ref().is_none_or(|kind| kind.ends_with("List"))) else {
        objects.push(document);
        return Ok(());
    };
    drop(document);
    // kubectl writes it behind the items.
    let kind = kind.context("kind: expected List behind its items; found nothing: it was cut off")?;
    let is_continued = metadata.and_then(|metadata| metadata.continue_).is_some_and(|token| !token.is_empty());
    ensure!(
        !is_continued,
        "metadata.continue: expected a whole list; this one goes on elsewhere: list it anew, without a limit"
    );
    let kind_of_items = kind.strip_suffix("List").filter(|kind| !kind.is_empty());
    for item in items {
        ensure!(item.get() != "null", "items: expected objects; found nothing for one of them");
        let item = match kind_of_items {
            Some(kind) => with_kind(item, api_version.as_deref().unwrap_or_default(), kind)?,
            None => item,
        };
        add_items(item, objects)?;
    }
    Ok(())
}

/// Returns an item of a list of one kind: the API server leaves out what its list says.
fn with_kind(item: Box<RawValue>, api_version: &str, kind: &str) -> Result<Box<RawValue>> {
    #[derive(Default, Deserialize)]
    struct Kind {
        kind: Option<String>,
    }
    let own: Kind = serde_json::from_str(item.get()).unwrap_or_default();
    let Some(members) = item.get().strip_prefix('{').filter(|_| own.kind.is_none()) else { return Ok(item) };
    let comma = if members.trim_start().starts_with('}') { "" } else { "," };
    let (api_version, kind) = (Value::from(api_version), Value::from(kind));
    Ok(RawValue::from_string(format!("{{\"apiVersion\":{api_version},\"kind\":{kind}{comma}{members}"))?)
}

/// Returns the text of a file; `-` is the standard input.
pub fn read_text(path: &Path) -> Result<String> {
    let mut bytes = vec![];
    let read = match path.as_os_str() == "-" {
        true => io::stdin().read_to_end(&mut bytes).map(drop),
        false => fs::read(path).map(|read| bytes = read),
    };
    read.with_context(|| format!("cannot read {}", path.display()))?;
    text_of(bytes).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns bytes as text: UTF-8, or UTF-16 with a byte-order mark, as `>` of Windows PowerShell writes it.
fn text_of(bytes: Vec<u8>) -> Result<String> {
    let units: fn([u8; 2]) -> u16 = match bytes.as_slice() {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => {
            let text = String::from_utf8(bytes).ok();
            let text =
                text.context("expected a text in UTF-8; found other bytes: unpack the file first if it is compressed")?;
            return Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text));
        }
    };
    let (pairs, rest) = bytes.as_chunks::<2>();
    ensure!(rest.is_empty(), "expected a text in UTF-16; it was cut off");
    let units: Vec<u16> = pairs.iter().skip(1).map(|pair| units(*pair)).collect();
    String::from_utf16(&units).context("expected a text in UTF-16, as its first bytes say")
}

/// The files of a cluster.
#[derive(Debug, Default)]
pub struct Files {
    /// JSON and YAML files.
    pub manifests: Vec<PathBuf>,
    /// The other files.
    pub others: Vec<PathBuf>,
}

impl Files {
    /// Returns the file itself; of a folder all files, and those of folders in it. Hidden folders, and hidden files
    /// that are no manifests, are left out.
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
    #[case::items_without_kinds(r#"{"kind": "PodList", "apiVersion": "v1", "items": [{}, {"metadata": {}}]}"#, 2)]
    fn objects_are_found(#[case] text: &str, #[case] expected: usize) {
        assert_eq!(objects(text).unwrap().texts.len(), expected, "as JSON");
        if !text.contains("}{") {
            // Nobody writes JSON so.
            assert_eq!(objects(&text.replace("{\"kind\"", "{kind")).unwrap().texts.len(), expected, "as YAML");
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
        let objects = objects(&text)?.texts;
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
    fn items_of_a_list_of_one_kind_have_it() {
        let read = objects(r#"{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}, {}]}"#);
        let texts: Vec<Value> =
            read.unwrap().texts.iter().map(|text| serde_json::from_str(text.get()).unwrap()).collect();
        let pod = serde_json::json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" } });
        assert_eq!(texts, [pod, serde_json::json!({ "apiVersion": "v1", "kind": "Pod" })]);
    }

    #[test]
    fn utf_16_of_both_orders_is_read() {
        let little: Vec<u8> = "\u{feff}{a: ä}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}{a: ä}".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!([text_of(little.clone()).unwrap(), text_of(big).unwrap()], ["{a: ä}", "{a: ä}"]);
        assert!(text_of(little[..5].to_vec()).is_err() && text_of(vec![0xc3]).is_err());
        assert_eq!(text_of("\u{feff}a: 1".into()).unwrap(), "a: 1");
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
        assert!(objects(&bomb).is_err());
    }
}
