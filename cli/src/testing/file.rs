//! The format of a file with tests.

use std::{borrow::Cow, collections::BTreeSet, fmt, path::Path, sync::OnceLock};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    expect::Expect,
    source::{Files, Source},
};
use crate::{
    Manifests, PolicySpec, SettingsFile, admission_request,
    input::{
        documents::{read_text, yaml_documents},
        policy_spec::expectation,
        yaml,
    },
    scheduling::places::Places,
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
    with: Option<Value>,
    /// What all cases expect that do not say otherwise.
    #[serde(default)]
    expect: Expect,
    /// The requests.
    pub cases: Vec<Case>,
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    read: Read,
}

/// What a test's files have.
#[derive(Debug, Default)]
struct Read {
    settings: Vec<SettingsFile>,
    /// The settings as YAML, in the order in which somebody wrote them.
    settings_as_written: String,
    cluster: Manifests,
    places: OnceLock<Places>,
}

/// Settings, and the policy around them, if there is one.
#[derive(Debug)]
pub struct Deployed<'t> {
    pub settings: Cow<'t, Value>,
    pub policy: Option<&'t PolicySpec>,
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
    pub expect: Expect,
}

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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

/// A field that is none, or has a wrong type: where it stands, and what was expected.
#[derive(Debug)]
struct Misread(String);

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misread {}

/// The fields of an admission request.
const REQUEST_FIELDS: [&str; 15] = [
    "uid",
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "object",
    "oldObject",
    "dryRun",
    "options",
];

/// Whether all fields are an admission request's.
fn ensure_request_fields(request: &Value) -> Result<()> {
    let Value::Object(fields) = request else { bail!("expected fields of an admission request, such as object") };
    for field in fields.keys() {
        let known = REQUEST_FIELDS.join(", ");
        ensure!(REQUEST_FIELDS.contains(&field.as_str()), "unknown field {field:?}; expected one of {known}");
    }
    Ok(())
}

/// What has an operation is a recorded request.
fn ensure_recorded_request(manifest: &Source) -> Result<()> {
    match manifest.inline().map(admission_request) {
        Some(request) if request.get("operation").is_some() => ensure_request_fields(request),
        _ => Ok(()),
    }
}

impl<'t> Deployed<'t> {
    /// What a file has.
    pub fn new(file: &'t SettingsFile) -> Self {
        Self { settings: Cow::Borrowed(&file.settings), policy: file.policy.as_ref() }
    }
}

impl Suite {
    /// Reads a file of tests, and the files that it names.
    ///
    /// # Errors
    /// It is none, has no case, or a file that it names can't be read.
    pub fn load(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, &Files::in_folder(folder)).map_err(|error| match error.downcast::<Misread>() {
            Ok(misread) => anyhow!("{}:{misread}", path.display()),
            Err(error) => error.context(path.display().to_string()),
        })
    }

    /// Reads the text of a file of tests, which names files of `files`.
    ///
    /// # Errors
    /// It is none, has no case, or a file that it names can't be read.
    pub fn parse(text: &str, files: &Files) -> Result<Self> {
        let documents = yaml_documents(text)?;
        ensure!(documents.len() == 1, "expected one document with tests; found {}", documents.len());
        let [document] = documents.as_slice() else { bail!("expected one document with tests") };
        let mut suite: Self = serde_path_to_error::deserialize(document).map_err(|error| {
            let path = error.path().to_string();
            let position = yaml::read(text).documents.first().and_then(|document| document.position(&path));
            let position = position.map(|position| format!("{position}: ")).unwrap_or_default();
            Misread(format!("{position}{path}: {}", expectation(error.inner())))
        })?;
        ensure!(!suite.tests.is_empty(), "tests: expected at least one test");
        // Other than JSON's, its mappings keep their order.
        let written: yaml_serde::Value = yaml_serde::from_str(text)?;
        let mut names = BTreeSet::new();
        for (position, test) in suite.tests.iter_mut().enumerate() {
            ensure!(names.insert(test.name.clone()), "tests[{position}].name: {:?} is there twice", test.name);
            test.read.settings_as_written = yaml_serde::to_string(&written["tests"][position]["settings"])?;
            test.read(files).with_context(|| format!("tests[{position}]"))?;
        }
        Ok(suite)
    }
}

impl Test {
    fn read(&mut self, files: &Files) -> Result<()> {
        self.read.settings = files.settings(&self.settings).context("settings")?;
        self.read.cluster = self.cluster.as_ref().map(|source| files.cluster(source)).transpose()?.unwrap_or_default();
        if let Some(manifest) = &mut self.manifest {
            files.document(manifest).context("manifest")?;
            ensure_recorded_request(manifest).context("manifest")?;
        }
        if let Some(difference) = &self.with {
            ensure_request_fields(difference).context("with")?;
        }
        ensure!(!self.cases.is_empty(), "cases: expected at least one case");
        let mut names = BTreeSet::new();
        for (position, case) in self.cases.iter_mut().enumerate() {
            ensure!(names.insert(case.name.clone()), "cases[{position}].name: {:?} is there twice", case.name);
            case.expect.complete(&self.expect);
            let place = |field| format!("cases[{position}].{field}");
            ensure!(!case.expect.is_empty(), "{}: names nothing that is expected", place("expect"));
            ensure!(!case.expect.has_empty_text(), "{}: expected a text; found none", place("expect.message"));
            if let Some(difference) = &case.with {
                ensure_request_fields(difference).with_context(|| place("with"))?;
            }
            for (field, source) in [("manifest", &mut case.manifest), ("old", &mut case.old)] {
                if let Some(source) = source {
                    files.document(source).with_context(|| place(field))?;
                }
            }
            if let Some(manifest) = &case.manifest {
                ensure_recorded_request(manifest).with_context(|| place("manifest"))?;
            }
            let has_manifest = case.manifest.is_some() || self.manifest.is_some();
            ensure!(has_manifest, "{}: expected an object; it is missing", place("manifest"));
            let has_old = case.operation != Some(Operation::Create) || case.old.is_none();
            ensure!(has_old, "{}: this is for an UPDATE", place("old"));
        }
        Ok(())
    }

    /// The settings of a case, each with the policy around them, if there is one.
    ///
    /// # Errors
    /// The case has a difference, and there are several policies.
    pub fn deployed(&self, case: &Case) -> Result<Vec<Deployed<'_>>> {
        let mut files: Vec<Deployed<'_>> = self.read.settings.iter().map(Deployed::new).collect();
        let Some(difference) = &case.settings else { return Ok(files) };
        let [file] = files.as_mut_slice() else {
            bail!("settings: it does not say in which of several policies they are different");
        };
        json_patch::merge(file.settings.to_mut(), &Value::Object(difference.clone()));
        Ok(files)
    }

    /// The settings, as YAML in the order in which somebody wrote them.
    pub fn settings_as_written(&self) -> &str {
        &self.read.settings_as_written
    }

    /// The objects that there are.
    pub fn cluster(&self) -> &Manifests {
        &self.read.cluster
    }

    /// Its Nodes and NodePools, read when somebody asks for them.
    ///
    /// # Errors
    /// One of them is none.
    pub fn places(&self) -> Result<&Places> {
        if let Some(places) = self.read.places.get() {
            return Ok(places);
        }
        let places = Places::of(self.cluster())?;
        Ok(self.read.places.get_or_init(|| places))
    }

    pub(super) fn manifest<'t>(&'t self, case: &'t Case) -> Option<&'t Value> {
        case.manifest.as_ref().or(self.manifest.as_ref()).and_then(Source::inline)
    }

    pub(super) fn differences<'t>(&'t self, case: &'t Case) -> impl Iterator<Item = &'t Value> {
        [&self.with, &case.with].into_iter().flatten()
    }
}
