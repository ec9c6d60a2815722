//! The format of a file with tests.

use std::{borrow::Cow, collections::BTreeSet, fmt, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    expect::Expect,
    source::{Files, Source},
};
use crate::{
    Manifests, SettingsFile, admission_request,
    input::{
        documents::read_text,
        json::{expectation, members},
        yaml::{self, Document, Position, SyntaxError},
    },
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
    #[serde(default, rename = "expect")]
    _expect: Expect,
    /// The requests.
    pub cases: Vec<Case>,
    #[serde(skip)]
    read: Read,
}

/// What a test's files have.
#[derive(Debug, Default)]
struct Read {
    settings: Vec<SettingsFile>,
    /// The settings as YAML, in the order in which somebody wrote them.
    settings_as_written: String,
    cluster: Manifests,
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

/// A mistake in the field at a path, as `tests[0].cases[1].manifest`.
fn mistake(at: &str, problem: impl fmt::Display) -> anyhow::Error {
    anyhow!("{problem}").context(at.to_owned())
}

/// The fields of an admission request.
const REQUEST_FIELDS: &str = "uid, kind, resource, subResource, requestKind, requestResource, requestSubResource, \
                              name, namespace, operation, userInfo, object, oldObject, dryRun, options";

/// Whether all fields are an admission request's.
fn ensure_request_fields(request: &Value) -> Result<()> {
    let Value::Object(fields) = request else { bail!("expected fields of an admission request, such as object") };
    for field in fields.keys() {
        let is_known = REQUEST_FIELDS.split(", ").any(|known| known == field);
        ensure!(is_known, "unknown field {field:?}; expected one of {REQUEST_FIELDS}");
    }
    Ok(())
}

/// Reads a manifest, or its file. What has an operation is a recorded request.
fn read_manifest(manifest: &mut Source, files: &Files) -> Result<()> {
    files.document(manifest)?;
    match manifest.inline().map(admission_request) {
        Some(request) if request.get("operation").is_some() => ensure_request_fields(request),
        _ => Ok(()),
    }
}

impl Suite {
    /// Reads a file of tests, and the files that it names.
    ///
    /// # Errors
    /// It is none, has no case, or a file that it names can't be read.
    pub fn load(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&read_text(path)?, &path.display().to_string(), &Files::in_folder(folder))
    }

    /// Reads the text of a file of tests, which is called `name` in errors, and names files of `files`.
    ///
    /// # Errors
    /// It is none, has no case, or a file that it names can't be read.
    pub fn parse(text: &str, name: &str, files: &Files) -> Result<Self> {
        let yaml::File { documents, error } = yaml::read(text);
        if let Some(SyntaxError { position, problem }) = error {
            bail!("{name}:{position}: {problem}");
        }
        let [document] = documents.as_slice() else {
            bail!("{name}: expected one document with tests; found {}", documents.len());
        };
        Self::read(document, text, files).map_err(|error| {
            // The path of the field stands outermost.
            let position = document.position(&error.to_string()).map(|position| format!(":{position}"));
            anyhow!("{name}{}: {error:#}", position.unwrap_or_default())
        })
    }

    fn read(document: &Document, text: &str, files: &Files) -> Result<Self> {
        let mut suite: Self = serde_path_to_error::deserialize(&document.value)
            .map_err(|error| mistake(&error.path().to_string(), expectation(error.inner())))?;
        ensure!(!suite.tests.is_empty(), mistake("tests", "expected at least one test"));
        // Other than JSON's, its mappings keep their order.
        let ordered: yaml_serde::Value = yaml_serde::from_str(text)?;
        let mut names = BTreeSet::new();
        for (position, test) in suite.tests.iter_mut().enumerate() {
            let at = format!("tests[{position}]");
            ensure_new(&mut names, &test.name, &at)?;
            test.read.settings_as_written = yaml_serde::to_string(&ordered["tests"][position]["settings"])?;
            test.read(&at, &document.value["tests"][position], files)?;
            for (place, case) in test.cases.iter_mut().enumerate() {
                case.position = document.position(&format!("{at}.cases[{place}]"));
            }
        }
        Ok(suite)
    }
}

fn ensure_new(names: &mut BTreeSet<String>, name: &str, at: &str) -> Result<()> {
    ensure!(names.insert(name.to_owned()), mistake(&format!("{at}.name"), format!("{name:?} is there twice")));
    Ok(())
}

impl Test {
    /// Reads what stands in other files, and in the test as it is `written`. `at` is where it is.
    fn read(&mut self, at: &str, written: &Value, files: &Files) -> Result<()> {
        self.read.settings = files.settings(&self.settings).with_context(|| format!("{at}.settings"))?;
        if let Some(source) = &self.cluster {
            self.read.cluster = files.cluster(source).with_context(|| format!("{at}.cluster"))?;
        }
        if let Some(manifest) = &mut self.manifest {
            read_manifest(manifest, files).with_context(|| format!("{at}.manifest"))?;
        }
        if let Some(difference) = &self.with {
            ensure_request_fields(difference).with_context(|| format!("{at}.with"))?;
        }
        ensure!(!self.cases.is_empty(), mistake(&format!("{at}.cases"), "expected at least one case"));
        let mut names = BTreeSet::new();
        for (position, case) in self.cases.iter_mut().enumerate() {
            let at = format!("{at}.cases[{position}]");
            ensure_new(&mut names, &case.name, &at)?;
            let expected = [&written["expect"], &written["cases"][position]["expect"]].into_iter().flat_map(members);
            let expected: Map<String, Value> =
                expected.filter(|(_, it)| !it.is_null()).map(|(field, it)| (field.clone(), it.clone())).collect();
            ensure!(!expected.is_empty(), mistake(&format!("{at}.expect"), "names nothing that is expected"));
            case.expect = serde_json::from_value(expected.into())?;
            let is_empty = case.expect.has_empty_text();
            ensure!(!is_empty, mistake(&format!("{at}.expect.message"), "expected a text; found none"));
            if let Some(difference) = &case.with {
                ensure_request_fields(difference).with_context(|| format!("{at}.with"))?;
            }
            let is_there = case.manifest.is_some() || self.manifest.is_some();
            ensure!(is_there, mistake(&format!("{at}.manifest"), "expected an object; it is missing"));
            if let Some(manifest) = &mut case.manifest {
                read_manifest(manifest, files).with_context(|| format!("{at}.manifest"))?;
            }
            if let Some(old) = &mut case.old {
                let is_new = case.operation == Some(Operation::Create);
                ensure!(!is_new, mistake(&format!("{at}.old"), "this is for an UPDATE"));
                files.document(old).with_context(|| format!("{at}.old"))?;
            }
        }
        Ok(())
    }

    /// The settings of a case, each with the policy around them, if there is one.
    ///
    /// # Errors
    /// The case has a difference, and there are several policies.
    pub fn deployed(&self, case: &Case) -> Result<Cow<'_, [SettingsFile]>> {
        let Some(difference) = &case.settings else { return Ok(Cow::Borrowed(&self.read.settings)) };
        let [file] = self.read.settings.as_slice() else {
            bail!("settings: it does not say in which of several policies they are different");
        };
        let mut settings = file.settings.clone();
        json_patch::merge(&mut settings, &Value::Object(difference.clone()));
        Ok(vec![file.with_settings(settings)].into())
    }

    /// The settings, as YAML in the order in which somebody wrote them.
    pub fn settings_as_written(&self) -> &str {
        &self.read.settings_as_written
    }

    /// The objects that there are.
    pub fn cluster(&self) -> &Manifests {
        &self.read.cluster
    }

    pub(super) fn manifest<'t>(&'t self, case: &'t Case) -> Option<&'t Value> {
        case.manifest.as_ref().or(self.manifest.as_ref()).and_then(Source::inline)
    }

    pub(super) fn differences<'t>(&'t self, case: &'t Case) -> impl Iterator<Item = &'t Value> {
        [&self.with, &case.with].into_iter().flatten()
    }
}
