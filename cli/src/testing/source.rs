//! What is written in a file of tests, or in another file that it names.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    slice,
};

use anyhow::Result;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{
    Manifests, SettingsFile,
    input::documents::{json_objects, read_document},
};

/// Something that is written inline, or the path of its file.
#[derive(Clone, Debug)]
pub enum Source {
    Path(PathBuf),
    Inline(Value),
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::String(path) => Self::Path(path.into()),
            value => Self::Inline(value),
        })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Source {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Source".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A path, relative to this file; or what would stand there.",
            "type": ["string", "object", "array"]
        })
    }
}

impl Source {
    /// What is written, once it was read.
    pub fn inline(&self) -> Option<&Value> {
        match self {
            Self::Inline(value) => Some(value),
            Self::Path(_) => None,
        }
    }
}

/// The files that a file of tests can name. Each cluster is read once.
#[derive(Debug, Default)]
pub struct Files {
    folder: PathBuf,
    clusters: RefCell<BTreeMap<PathBuf, Manifests>>,
}

impl Files {
    /// Those in a folder, and below it.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..Self::default() }
    }

    /// A cluster that is built in, and none of a folder's files.
    pub fn built_in(name: &str, cluster: Manifests) -> Self {
        let clusters = RefCell::new(BTreeMap::from([(name.into(), cluster)]));
        Self { clusters, ..Self::default() }
    }

    /// Settings, or the policies that have them.
    ///
    /// # Errors
    /// There is something else.
    pub fn settings(&self, source: &Source) -> Result<Vec<SettingsFile>> {
        match source {
            Source::Inline(settings) => SettingsFile::read_all(vec![settings.clone()]),
            Source::Path(path) => SettingsFile::load_all(&self.folder.join(path)),
        }
    }

    /// Puts the document of the file in the place of its path.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn document(&self, source: &mut Source) -> Result<()> {
        if let Source::Path(path) = source {
            *source = Source::Inline(read_document(&self.folder.join(path))?);
        }
        Ok(())
    }

    /// The objects of a cluster.
    ///
    /// # Errors
    /// There is something else.
    pub fn cluster(&self, source: &Source) -> Result<Manifests> {
        let path = match source {
            Source::Inline(Value::Array(objects)) => return inline_cluster(objects),
            Source::Inline(object) => return inline_cluster(slice::from_ref(object)),
            Source::Path(path) => path,
        };
        if let Some(cluster) = self.clusters.borrow().get(path) {
            return Ok(cluster.clone());
        }
        let cluster = Manifests::load(&self.folder.join(path))?;
        self.clusters.borrow_mut().insert(path.clone(), cluster.clone());
        Ok(cluster)
    }
}

fn inline_cluster(objects: &[Value]) -> Result<Manifests> {
    let mut texts = vec![];
    for object in objects {
        texts.extend(json_objects(&written_out(object).to_string())?);
    }
    Manifests::read(texts)
}

/// `{ $repeat: "<", times: 1000 }` stands for a text that would fill the file.
pub fn written_out(value: &Value) -> Value {
    match value {
        Value::Object(members) => match (members.get("$repeat"), members.get("times")) {
            (Some(Value::String(piece)), Some(Value::Number(times))) => {
                let times = times.as_u64().and_then(|times| usize::try_from(times).ok()).unwrap_or_default();
                piece.repeat(times).into()
            }
            _ => members.iter().map(|(key, value)| (key.clone(), written_out(value))).collect(),
        },
        Value::Array(elements) => elements.iter().map(written_out).collect(),
        _ => value.clone(),
    }
}
