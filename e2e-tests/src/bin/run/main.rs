//! Evaluates requests on the desk: a story of what the policy does, or whatever a user has.
//!
//! The exit status is 0 if the request is accepted, 1 if it is rejected, and 2 if something is
//! wrong with the input.

mod paper;
mod preview;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use e2e_tests::{
    Cluster, Evaluation, Manifests, NoCluster, Policy, Session, SettingsFile, Story, admission_request,
    policy_metadata, policy_module, read_document, story_file,
};
use serde_json::{Value, json};

use crate::paper::Paper;

/// Evaluates a request with the policy; without a request, tells what the policy does.
#[derive(Parser)]
#[command(name = "run")]
struct Arguments {
    /// The request: an AdmissionReview or only the request in it, as JSON or YAML
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
    /// The settings of the policy, as JSON or YAML
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Nodes and Namespaces for the policy to look up: a file of manifests, or a folder of such
    #[arg(long, value_name = "PATH", conflicts_with = "session")]
    cluster: Option<PathBuf>,
    /// Look-ups and their answers, as recorded by kwctl
    #[arg(long, value_name = "FILE", requires = "request")]
    session: Option<PathBuf>,
    /// How the preview of a cluster is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Leave nothing out of the preview of a cluster
    #[arg(long)]
    verbose: bool,
    /// The metadata that says what the policy may look up [default: policy-metadata.yml]
    #[arg(long, value_name = "FILE")]
    metadata: Option<PathBuf>,
    /// The policy [default: $POLICY_WASM, or else policy.wasm]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For scripts: one JSON object a line
    Json,
}

const ACCEPTED: u8 = 0;
const REJECTED: u8 = 1;
const TROUBLE: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match (&arguments.request, &arguments.cluster) {
        (Some(request), _) => arguments.evaluate(request),
        (None, Some(cluster)) => arguments.preview(cluster),
        (None, None) => arguments.tell(),
    };
    ExitCode::from(outcome.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        TROUBLE
    }))
}

impl Arguments {
    fn tell(&self) -> Result<u8> {
        let policy = self.policy()?;
        let mut paper = Paper::new();
        for chapter in &Story::load(&story_file())?.chapters {
            paper.chapter(&chapter.title, &chapter.prose, &chapter.settings);
            for (step, evaluation) in chapter.evaluate(&policy)? {
                paper.evaluation(&step.title, &evaluation);
                if let Some(pod) = step.bound_pod(&evaluation) {
                    paper.bound_pod(&pod);
                }
                paper.gap();
            }
        }
        paper.write("Your own: make run REQUEST=review.json SETTINGS=settings.yml CLUSTER=manifests/");
        paper.print()?;
        Ok(ACCEPTED)
    }

    fn evaluate(&self, request: &Path) -> Result<u8> {
        let document = read_document(request)?;
        let asked = admission_request(&document);
        ensure!(
            asked.get("operation").is_some(),
            "{}: expected an AdmissionReview, or the request in one",
            request.display()
        );
        let policy = self.policy()?;
        let settings = self.settings(&policy)?;
        let evaluation = policy.validate(asked, &settings, self.cluster()?)?;
        let mut paper = Paper::new();
        paper.evaluation(&name(asked), &evaluation);
        paper.records(&evaluation);
        paper.print()?;
        Ok(exit_status(&evaluation))
    }

    fn preview(&self, cluster: &Path) -> Result<u8> {
        let file =
            self.settings.as_ref().context("SETTINGS: say which settings the policy would have in this cluster")?;
        let file = SettingsFile::load(file)?;
        let cluster = Manifests::load(cluster)?;
        let policy = self.policy()?;
        let tally = preview::preview(&policy, &file, cluster, self.verbose)?;
        let mut paper = Paper::new();
        match self.format {
            Format::Text => paper.write(preview::page(&tally, &file, self.verbose).trim_end()),
            Format::Json => paper.write(preview::json(&tally).trim_end()),
        }
        paper.print()?;
        Ok(if preview::rejects(&tally) { REJECTED } else { ACCEPTED })
    }

    fn policy(&self) -> Result<Policy> {
        let module = self.policy.clone().map_or_else(policy_module, Ok)?;
        let metadata = self.metadata.clone().unwrap_or_else(policy_metadata);
        Policy::load(&module, &metadata)
    }

    fn settings(&self, policy: &Policy) -> Result<Value> {
        let (source, settings) = match &self.settings {
            Some(file) => (file.display().to_string(), read_document(file)?),
            None => ("without --settings".to_owned(), json!({})),
        };
        let answer = policy.validate_settings(&settings).context(source.clone())?;
        let message = answer.message.unwrap_or_default();
        ensure!(answer.valid, "{source}: the settings are not valid: {message}");
        Ok(settings)
    }

    fn cluster(&self) -> Result<Box<dyn Cluster>> {
        Ok(match (&self.cluster, &self.session) {
            (Some(path), _) => Box::new(Manifests::load(path)?),
            (None, Some(file)) => Box::new(Session::load(file)?),
            (None, None) => Box::new(NoCluster),
        })
    }
}

/// `CREATE pods/binding team-a/web`, of whatever is there.
fn name(request: &Value) -> String {
    let text = |pointer| request.pointer(pointer).and_then(Value::as_str);
    let resource = [text("/resource/resource"), text("/subResource")];
    let name = text("/name").or(text("/object/metadata/name")).or(text("/object/metadata/generateName"));
    let object = [text("/namespace"), name];
    let words = [text("/operation").unwrap_or_default().to_owned(), join(&resource), join(&object)];
    words.join(" ").trim_end().to_owned()
}

fn join(parts: &[Option<&str>]) -> String {
    parts.iter().flatten().copied().collect::<Vec<_>>().join("/")
}

fn exit_status(evaluation: &Evaluation) -> u8 {
    match evaluation.answer.accepted {
        true => ACCEPTED,
        false => REJECTED,
    }
}
