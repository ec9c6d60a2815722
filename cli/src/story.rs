//! Requests, told one after the other: the tour, and the cases of the module's tests.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Evaluation, Lookup, Manifests, Policy, admission_request,
    input::documents::{read_document, yaml_objects},
    requests::admission::of_manifest,
    stored,
};

/// What the policy does, told in requests. `tour/all.yml` is one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    pub chapters: Vec<Chapter>,
    /// What comes last.
    #[serde(default)]
    pub epilogue: String,
}

const SHORT: &str = include_str!("../tour/short.yml");
const ALL: &str = include_str!("../tour/all.yml");
/// What the tour calls `cluster`.
const CLUSTER: [&str; 3] = [
    include_str!("../tour/cluster/namespaces.yml"),
    include_str!("../tour/cluster/nodes.yml"),
    include_str!("../tour/cluster/workloads.yml"),
];

/// The tour: in short, or all of it.
///
/// # Errors
/// It is no story, and no test has found that.
pub fn tour(all: bool) -> Result<Story> {
    Story::parse(if all { ALL } else { SHORT }, &Folder::Tour)
}

/// Where the files of a story are.
#[derive(Clone, Debug, Default)]
enum Folder {
    /// Built in.
    #[default]
    Tour,
    Disk(PathBuf),
}

impl Folder {
    fn manifests(&self, path: &Path) -> Result<Manifests> {
        match self {
            Self::Disk(folder) => Manifests::load(&folder.join(path)),
            Self::Tour => {
                let texts = CLUSTER.iter().map(|text| yaml_objects(text)).collect::<Result<Vec<_>>>()?;
                Manifests::read(texts.concat())
            }
        }
    }

    fn document(&self, path: &Path) -> Result<Value> {
        match self {
            Self::Disk(folder) => read_document(&folder.join(path)),
            Self::Tour => anyhow::bail!("{}: the tour has its requests in it", path.display()),
        }
    }
}

/// Some requests to one cluster, under much the same settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    pub title: String,
    pub prose: String,
    pub settings: Value,
    /// The same as YAML, in the order in which somebody wrote it.
    #[serde(skip)]
    pub settings_as_written: String,
    /// What there is to be looked up.
    cluster: Manifested,
    /// The request that the steps start from.
    request: Requested,
    /// What is different in all steps: a JSON merge patch onto the request.
    #[serde(default)]
    with: Option<Value>,
    /// What a step looks up that doesn't say it itself; without this, nothing.
    #[serde(default)]
    lookups: Vec<String>,
    pub steps: Vec<Step>,
    #[serde(skip)]
    folder: Folder,
}

/// A request.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Requested {
    /// A file, with the request, bare or within an AdmissionReview; relative to the story.
    There(PathBuf),
    /// A manifest, of which a request is made.
    Manifest(Value),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Manifested {
    /// A folder or a file, relative to the story.
    There(PathBuf),
    Here(Vec<Value>),
}

/// One request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub title: String,
    /// What is different in the settings: a JSON merge patch onto the chapter's.
    #[serde(default)]
    settings: Option<Value>,
    /// Another request than the chapter's.
    request: Option<Requested>,
    /// What is different in this step, applied after the chapter's.
    #[serde(default)]
    with: Option<Value>,
    /// The Pod that a Binding is about.
    pub pod: Option<Value>,
    pub expect: Expect,
}

/// How a step must end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub accepted: bool,
    pub code: Option<u16>,
    /// How the first mistake in the settings begins; nothing is asked then.
    pub invalid: Option<String>,
    /// How the message begins.
    pub message: Option<String>,
    /// What else it says.
    #[serde(default)]
    pub mentions: Vec<String>,
    /// What the message must not say.
    #[serde(default)]
    pub conceals: Vec<String>,
    /// What is logged, somewhere.
    #[serde(default)]
    pub logs: Vec<String>,
    /// How the warnings begin, all of them.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What the warnings say, somewhere.
    #[serde(default)]
    pub warned: Vec<String>,
    /// All look-ups, in order, as in `Node worker-1 (metadata.labels)`; if absent, those of the chapter.
    pub lookups: Option<Vec<String>>,
    /// The audit annotations.
    pub audit: Option<BTreeMap<String, String>>,
    /// What the audit annotations say, somewhere; there are no others.
    pub audited: Option<BTreeMap<String, Vec<String>>>,
    /// The environment of the containers of the bound Pod.
    #[serde(default)]
    pub environment: Map<String, Value>,
    /// The whole JSON patch; empty if nothing may change.
    #[serde(default)]
    pub patch: Vec<Value>,
}

impl Story {
    /// Reads a story and its files.
    ///
    /// # Errors
    /// It can't be read.
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let folder = Folder::Disk(path.parent().unwrap_or(Path::new("")).to_owned());
        Self::parse(&text, &folder).with_context(|| format!("{} is not a story", path.display()))
    }

    fn parse(text: &str, folder: &Folder) -> Result<Self> {
        let mut story: Self = yaml_serde::from_str(text)?;
        // Other than JSON's, its mappings keep their order.
        let written: yaml_serde::Value = yaml_serde::from_str(text)?;
        for (index, chapter) in story.chapters.iter_mut().enumerate() {
            chapter.settings_as_written = yaml_serde::to_string(&written["chapters"][index]["settings"])?;
            chapter.folder = folder.clone();
            for step in &mut chapter.steps {
                step.expect.lookups.get_or_insert_with(|| chapter.lookups.clone());
            }
        }
        Ok(story)
    }
}

impl Chapter {
    /// Evaluates the chapter's steps; each comes with its request.
    pub fn evaluate(&self, policy: &Policy) -> Result<Vec<(&Step, Value, Evaluation)>> {
        let cluster = self.cluster()?;
        self.steps
            .iter()
            .map(|step| {
                let settings = self.settings(step);
                let answer = policy.validate_settings(&settings)?;
                let place = || format!("{}: {}", self.title, step.title);
                ensure!(answer.valid, "{}: invalid settings: {}", place(), answer.message.unwrap_or_default());
                let request = self.request(step)?;
                let evaluation = policy.validate(&request, &settings, cluster.clone()).with_context(place)?;
                Ok((step, request, evaluation))
            })
            .collect()
    }

    pub fn cluster(&self) -> Result<Manifests> {
        match &self.cluster {
            Manifested::There(path) => self.folder.manifests(path),
            Manifested::Here(manifests) => Ok(manifests.iter().map(written_out).collect()),
        }
    }

    pub fn settings(&self, step: &Step) -> Value {
        let mut settings = self.settings.clone();
        if let Some(difference) = &step.settings {
            json_patch::merge(&mut settings, difference);
        }
        settings
    }

    pub fn request(&self, step: &Step) -> Result<Value> {
        let mut request = match step.request.as_ref().unwrap_or(&self.request) {
            Requested::There(path) => admission_request(&self.folder.document(path)?).clone(),
            Requested::Manifest(manifest) => {
                of_manifest(manifest.clone(), None)?.context("the policy does not handle the kind of this manifest")?
            }
        };
        for difference in [&self.with, &step.with].into_iter().flatten() {
            json_patch::merge(&mut request, &written_out(difference));
        }
        Ok(request)
    }
}

/// `{ $repeat: "<", times: 1000 }` stands for a text that would fill the file.
fn written_out(value: &Value) -> Value {
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

impl Step {
    /// The Pod as it is stored once the Binding that was evaluated is carried out.
    pub fn bound_pod(&self, evaluation: &Evaluation) -> Option<Value> {
        let binding = evaluation.answer.mutated_object.as_ref()?;
        self.pod.as_ref().map(|pod| stored::bound(pod, binding))
    }

    /// Fails, and says how, if the step ended otherwise than expected.
    pub fn check(&self, evaluation: &Evaluation) -> Result<()> {
        self.expect.check(evaluation)?;
        let pod = self.bound_pod(evaluation).unwrap_or_default();
        let environment = stored::environment(&pod);
        let expected = &self.expect.environment;
        ensure!(&environment == expected, "expected the environment {expected:?}, got {environment:?}");
        Ok(())
    }
}

impl Expect {
    fn check(&self, evaluation: &Evaluation) -> Result<()> {
        let answer = &evaluation.answer;
        let message = answer.message.as_deref().unwrap_or_default();
        ensure!(
            answer.accepted == self.accepted,
            "expected accepted: {}, got {} ({message:?})",
            self.accepted,
            answer.accepted
        );
        if let Some(start) = &self.message {
            ensure!(message.starts_with(start), "expected {start:?}, got {message:?}");
        }
        for mention in &self.mentions {
            ensure!(message.contains(mention), "expected the mention of {mention:?}, got {message:?}");
        }
        for secret in &self.conceals {
            ensure!(!message.contains(secret), "expected no mention of {secret:?}, got {message:?}");
        }
        for entry in &self.logs {
            let is_logged =
                evaluation.logs.iter().any(|log| log["message"].as_str().unwrap_or_default().contains(entry));
            ensure!(is_logged, "expected the log of {entry:?}, got {:?}", evaluation.logs);
        }
        if self.code.is_some() {
            ensure!(answer.code == self.code, "expected code {:?}, got {:?}: {message:?}", self.code, answer.code);
        }
        let warnings = answer.warnings.clone().unwrap_or_default();
        let warned = warnings.len() == self.warnings.len()
            && warnings.iter().zip(&self.warnings).all(|(warning, start)| warning.starts_with(start));
        ensure!(warned, "expected the warnings {:?}, got {warnings:?}", self.warnings);
        for mention in &self.warned {
            let is_warned_of = warnings.iter().any(|warning| warning.contains(mention));
            ensure!(is_warned_of, "expected the warning of {mention:?}, got {warnings:?}");
        }
        let expected = self.lookups.as_deref().unwrap_or_default();
        let made: Vec<String> = evaluation.lookups.iter().map(Lookup::describe).collect();
        ensure!(made == expected, "expected the look-ups {expected:?}, got {made:?}");
        if let Some(audit) = &self.audit {
            let annotations = answer.audit_annotations.clone().unwrap_or_default();
            ensure!(&annotations == audit, "expected the audit annotations {audit:?}, got {annotations:?}");
        }
        if let Some(audited) = &self.audited {
            let annotations = answer.audit_annotations.clone().unwrap_or_default();
            let says = |(key, mentions): (&String, &Vec<String>)| {
                annotations.get(key).is_some_and(|text| mentions.iter().all(|mention| text.contains(mention)))
            };
            let is_audited = annotations.len() == audited.len() && audited.iter().all(says);
            ensure!(is_audited, "expected the audit annotations {audited:?}, got {annotations:?}");
        }
        let patch = serde_json::to_value(evaluation.patch.clone().unwrap_or_default())?;
        let expected = Value::from(self.patch.clone());
        ensure!(patch == expected, "expected the patch {expected}, got {patch}");
        Ok(())
    }
}
