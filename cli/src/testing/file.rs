//! The format of a file of tests, as `docs/tool.md` describes it; and how it is read, with the files that it names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    slice,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::expect::{Expect, parts};
use crate::{
    Manifests, SettingsFile,
    input::{
        documents::{self, read_document, read_text},
        json::{expectation, members},
        yaml::{self, Document, Position},
    },
    webhook::request::recorded_request,
};

/// Tests of settings.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Suite {
    pub tests: Vec<Test>,
}

/// Requests to one cluster, under the same settings.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// What the test is about.
    pub name: String,
    /// More about it, for people.
    #[serde(default)]
    pub description: String,
    /// The settings: what stands under `spec.settings` of a policy, or a whole ClusterAdmissionPolicy; or the path of a
    /// file with either, relative to this file.
    settings: Source,
    /// The Namespaces, Nodes and other objects that there are; or the path of a file or folder with them.
    cluster: Option<Source>,
    /// The manifest of all cases that have none of their own.
    manifest: Option<Source>,
    /// What is different in the requests of all cases: a JSON merge patch onto the admission request.
    pub(super) with: Option<Value>,
    /// What all cases expect that do not say otherwise.
    #[serde(default, rename = "expect")]
    _expect: Expect,
    /// The requests.
    pub cases: Vec<Case>,
    /// The settings, each with the policy around them, if there is one.
    #[serde(skip)]
    files: Vec<SettingsFile>,
    /// The settings as YAML, in the order of the file.
    #[serde(skip)]
    pub settings_as_written: String,
    #[serde(skip)]
    objects: Manifests,
}

/// One request, and how it must end.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What happens, for people; different from the names of the test's other cases.
    pub name: String,
    /// What is different in the settings: a JSON merge patch onto the test's.
    pub(super) settings: Option<Map<String, Value>>,
    /// The object that is asked about, or its path; or an admission request, with or without its AdmissionReview.
    pub(super) manifest: Option<Source>,
    /// What is done with the object; CREATE if nothing is said, UPDATE if there is an `old` one.
    pub(super) operation: Option<Operation>,
    /// The object as it is before its update, or its path.
    pub(super) old: Option<Source>,
    /// Who asks; an administrator if nothing is said (about Nodes, their kubelet).
    pub(super) user: Option<User>,
    /// What is different in the request: a JSON merge patch onto it, after that of the test.
    pub(super) with: Option<Value>,
    /// The Pod that a Binding is about.
    pub pod: Option<Value>,
    /// How it must end. What is not named is not checked.
    #[serde(rename = "expect")]
    _expect: Expect,
    /// What the test and the case expect together.
    #[serde(skip)]
    pub(super) expected: Map<String, Value>,
    /// Where it stands in its file.
    #[serde(skip)]
    pub position: Option<Position>,
}

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// Who asks.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct User {
    pub username: String,
    #[serde(default)]
    pub groups: Vec<String>,
}

/// A path, relative to this file; or what would stand there.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("type" = ["string", "object", "array"])))]
pub struct Source(pub(super) Value);

/// The files that a file of tests can name.
#[derive(Debug, Default)]
pub struct NamedFiles {
    folder: PathBuf,
    /// Each cluster is read once.
    clusters: BTreeMap<String, Manifests>,
}

impl NamedFiles {
    /// Returns those in a folder, and below it.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..Self::default() }
    }

    /// Returns a cluster that is built in, and no files.
    pub fn built_in(name: &str, cluster: Manifests) -> Self {
        Self { clusters: BTreeMap::from([(name.to_owned(), cluster)]), ..Self::default() }
    }

    fn settings(&self, source: &Source) -> Result<Vec<SettingsFile>> {
        match source {
            Source(Value::String(path)) => SettingsFile::load(&self.folder.join(path)).map(|(files, _)| files),
            Source(settings) => SettingsFile::read_all(vec![settings.clone()]),
        }
    }

    /// Puts the manifest or the recorded request of a file in the place of its path.
    fn read(&self, source: &mut Option<Source>) -> Result<()> {
        if let Some(Source(Value::String(path))) = source {
            *source = Some(Source(read_document(&self.folder.join(path))?));
        }
        ensure_request_fields(source.as_ref().and_then(|Source(document)| recorded_request(document)))
    }

    fn cluster(&mut self, source: &Source) -> Result<Manifests> {
        let Source(Value::String(path)) = source else {
            let objects = source.0.as_array().map_or(slice::from_ref(&source.0), Vec::as_slice);
            let texts: Vec<String> = objects.iter().map(|object| expanded(object).to_string()).collect();
            return Manifests::read(documents::objects(&texts.join("\n"))?.texts);
        };
        if !self.clusters.contains_key(path) {
            self.clusters.insert(path.clone(), Manifests::load(&self.folder.join(path))?);
        }
        Ok(self.clusters.get(path).cloned().unwrap_or_default())
    }
}

/// Returns a value in which `{ $repeat: "<", times: 1000 }` stands for a text that would fill the file.
pub fn expanded(value: &Value) -> Value {
    match value {
        Value::Object(members) => match (members.get("$repeat"), members.get("times").map(Value::as_u64)) {
            (Some(Value::String(piece)), Some(times)) => {
                piece.repeat(times.and_then(|times| times.try_into().ok()).unwrap_or_default()).into()
            }
            _ => members.iter().map(|(key, value)| (key.clone(), expanded(value))).collect(),
        },
        Value::Array(elements) => elements.iter().map(expanded).collect(),
        _ => value.clone(),
    }
}

/// The fields of an admission request.
const REQUEST_FIELDS: &str = "uid, kind, resource, subResource, requestKind, requestResource, requestSubResource, \
                              name, namespace, operation, userInfo, object, oldObject, dryRun, options";

fn ensure_request_fields(request: Option<&Value>) -> Result<()> {
    let Some(request) = request else { return Ok(()) };
    let Value::Object(fields) = request else { bail!("expected fields of an admission request, such as object") };
    for field in fields.keys() {
        let is_known = REQUEST_FIELDS.split(", ").any(|known| known == field);
        ensure!(is_known, "unknown field {field:?}; expected one of {REQUEST_FIELDS}");
    }
    Ok(())
}

/// Returns a mistake in the field at a path, as `tests[0].cases[1].manifest`.
fn mistake(path: String, problem: impl fmt::Display) -> anyhow::Error {
    anyhow!("{problem}").context(path)
}

/// What has the name of another one could not be told from it.
fn ensure_unique<'n>(path: &str, names: impl Iterator<Item = &'n String>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (position, name) in names.enumerate() {
        let path = format!("{path}[{position}].name");
        ensure!(seen.insert(name), mistake(path, format!("{name:?} is there twice")));
    }
    Ok(())
}

impl Suite {
    /// Reads a file of tests, and the files that it names.
    ///
    /// # Errors
    /// The YAML can't be read, a key stands there twice, a field is unknown or of a wrong type, a test has no case, two have
    /// one name, or a file that it names can't be read.
    pub fn load(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&read_text(path)?, &path.display().to_string(), NamedFiles::in_folder(folder))
    }

    /// Reads the text of a file of tests, which is called `name` in errors.
    ///
    /// # Errors
    /// The YAML can't be read, a key stands there twice, a field is unknown or of a wrong type, a test has no case, two have
    /// one name, or a file that it names can't be read.
    pub fn parse(text: &str, name: &str, mut files: NamedFiles) -> Result<Self> {
        let yaml::File { documents, error } = yaml::read(text);
        if let Some(error) = error {
            bail!("{}", error.of_file(name));
        }
        let [document] = documents.as_slice() else {
            bail!("{name}: expected one document with tests; found {}", documents.len());
        };
        if let Some(key) = document.repeated_keys().next() {
            bail!("{name}:{}: {}: this key stands there twice; remove one of them", key.position, key.path);
        }
        Self::read(document, text, &mut files).map_err(|error| {
            // The path of the field stands outermost.
            let position = document.position(&error.to_string()).map(|position| format!(":{position}"));
            anyhow!("{name}{}: {error:#}", position.unwrap_or_default())
        })
    }

    fn read(document: &Document, text: &str, files: &mut NamedFiles) -> Result<Self> {
        let mut suite: Self = serde_path_to_error::deserialize(&document.value)
            .map_err(|error| mistake(error.path().to_string(), expectation(error.inner())))?;
        ensure!(!suite.tests.is_empty(), mistake("tests".to_owned(), "expected at least one test"));
        ensure_unique("tests", suite.tests.iter().map(|test| &test.name))?;
        for (position, (test, written)) in suite.tests.iter_mut().zip(Written::read(text)?.tests).enumerate() {
            test.settings_as_written = yaml::write(&written.settings)?;
            test.read(&format!("tests[{position}]"), &document.value["tests"][position], files)?;
            for (number, case) in test.cases.iter_mut().enumerate() {
                case.position = document.position(&format!("tests[{position}].cases[{number}]"));
            }
        }
        Ok(suite)
    }
}

/// The settings of tests as text, whose members keep their order.
#[derive(Deserialize)]
struct Written {
    tests: Vec<WrittenTest>,
}

#[derive(Deserialize)]
struct WrittenTest {
    settings: Box<RawValue>,
}

impl Written {
    fn read(text: &str) -> Result<Self> {
        let document = yaml::json_documents(text).next().context("expected a document")??;
        Ok(serde_json::from_str(document.json.get())?)
    }
}

impl Test {
    /// Reads the files that the test names, at this path of the file of tests; `written` is the test as it stands there.
    fn read(&mut self, path: &str, written: &Value, files: &mut NamedFiles) -> Result<()> {
        let at = |field: &str| format!("{path}.{field}");
        self.files = files.settings(&self.settings).with_context(|| at("settings"))?;
        if let Some(source) = &self.cluster {
            self.objects = files.cluster(source).with_context(|| at("cluster"))?;
        }
        files.read(&mut self.manifest).with_context(|| at("manifest"))?;
        ensure_request_fields(self.with.as_ref()).with_context(|| at("with"))?;
        ensure!(!self.cases.is_empty(), mistake(at("cases"), "expected at least one case"));
        ensure_unique(&at("cases"), self.cases.iter().map(|case| &case.name))?;
        for (position, case) in self.cases.iter_mut().enumerate() {
            let expect = [&written["expect"], &written["cases"][position]["expect"]];
            case.manifest = case.manifest.take().or_else(|| self.manifest.clone());
            case.read(&at(&format!("cases[{position}]")), expect, files)?;
        }
        Ok(())
    }

    /// Returns the objects that there are.
    pub fn cluster(&self) -> &Manifests {
        &self.objects
    }

    /// Returns the settings of a case, each with the policy around them, if there is one.
    ///
    /// # Errors
    /// The case changes the settings, and there are several policies.
    pub fn deployed(&self, case: &Case) -> Result<Vec<SettingsFile>> {
        let Some(change) = &case.settings else { return Ok(self.files.clone()) };
        let [file] = self.files.as_slice() else {
            bail!("settings: it does not say in which of several policies they are different");
        };
        let mut settings = file.settings.clone();
        json_patch::merge(&mut settings, &Value::Object(change.clone()));
        Ok(vec![file.with_settings(settings)])
    }
}

impl Case {
    /// Reads the files that the case names, at this path of the file of tests. It expects what its test and it itself do.
    fn read(&mut self, path: &str, expect: [&Value; 2], files: &NamedFiles) -> Result<()> {
        let at = |field: &str| format!("{path}.{field}");
        let named = expect.into_iter().flat_map(members).filter(|(_, expected)| !expected.is_null());
        self.expected = named.map(|(field, expected)| (field.clone(), expected.clone())).collect();
        ensure!(!self.expected.is_empty(), mistake(at("expect"), "names nothing that is expected"));
        // Every message has an empty part, and begins with it.
        let is_blank = |text: &&str| text.trim().is_empty();
        for field in ["message", "begins"] {
            let is_empty = |text| parts(text).is_empty() || parts(text).iter().any(is_blank);
            let has_empty_text = self.expected.get(field).is_some_and(is_empty);
            ensure!(!has_empty_text, mistake(at(&format!("expect.{field}")), "expected a text; found none"));
        }
        ensure_request_fields(self.with.as_ref()).with_context(|| at("with"))?;
        ensure!(self.manifest.is_some(), mistake(at("manifest"), "expected an object; it is missing"));
        files.read(&mut self.manifest).with_context(|| at("manifest"))?;
        let is_creation = self.operation == Some(Operation::Create);
        ensure!(self.old.is_none() || !is_creation, mistake(at("old"), "this is for an UPDATE"));
        files.read(&mut self.old).with_context(|| at("old"))
    }
}
