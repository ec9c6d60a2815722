//! Evaluates requests on the desk: a story of what the policy does, whatever request a user has, or everything that a
//! cluster has.
//!
//! The exit status is 0 if nothing is rejected, 1 if something is, and 2 if something is wrong with the input.

mod input;
mod paper;
mod pods;
mod preview;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use clap::{Parser, ValueEnum};
use e2e_tests::{Manifests, Policy, SettingsFile, Story, policy_metadata, policy_module, story_file};
use serde_json::Value;

use crate::{
    input::{Asked, no_business},
    paper::Paper,
};

/// Asks the policy about a request; without one, about everything in a cluster; without that, checks settings; without
/// these, tells what the policy does.
#[derive(Parser)]
#[command(name = "run")]
struct Arguments {
    /// The request: an AdmissionReview, only the request in it, or the manifest of an object to be created
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
    /// What is done with the manifest
    #[arg(long, value_enum, ignore_case = true, requires = "request")]
    operation: Option<Operation>,
    /// The object before its update
    #[arg(long, value_name = "FILE", requires = "request")]
    old: Option<PathBuf>,
    /// The settings of the policy, or a ClusterAdmissionPolicy that has them
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// The cluster: a file of manifests, or a folder of such. For a request, what is looked up will do
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operation {
    Create,
    Update,
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
    let outcome = match (&arguments.request, &arguments.cluster, &arguments.settings) {
        (Some(request), _, _) => arguments.evaluate(request),
        (None, Some(_), _) => arguments.preview(),
        (None, None, Some(settings)) => arguments.check(settings),
        (None, None, None) => arguments.tell(),
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
            paper.chapter(&chapter.title, &chapter.prose, &chapter.settings_as_written);
            let cluster = chapter.cluster()?;
            for (step, request, evaluation) in chapter.evaluate(&policy)? {
                paper.evaluation(&step.title, &request, &evaluation, &cluster);
                if let Some(pod) = step.bound_pod(&evaluation) {
                    paper.bound_pod(&pod);
                }
                paper.gap();
            }
        }
        paper.write("Your own request: make run REQUEST=pod.yml SETTINGS=settings.yml CLUSTER=cluster.yml");
        paper.write("Your whole cluster: make run SETTINGS=settings.yml CLUSTER=cluster.yml");
        paper.print()?;
        Ok(ACCEPTED)
    }

    fn evaluate(&self, request: &Path) -> Result<u8> {
        let asked = self.asked(request)?;
        let policy = self.policy()?;
        let (file, notes) = self.settings(&policy)?;
        notes.iter().for_each(|note| eprintln!("{note}"));
        let known = self.known(&asked)?;
        let mut paper = Paper::new();
        let mut worst = ACCEPTED;
        for (place, asked) in asked.iter().enumerate() {
            if place > 0 {
                paper.gap();
            }
            match asked {
                Asked::Request(request) => worst = worst.max(self.judge(request, &policy, &file, &known, &mut paper)?),
                Asked::Other(object) => paper.skipped(&title(object), &no_business(object)),
            }
        }
        paper.print()?;
        Ok(worst)
    }

    /// Asks the policy about one request.
    fn judge(
        &self,
        request: &Value,
        policy: &Policy,
        file: &SettingsFile,
        known: &Manifests,
        paper: &mut Paper,
    ) -> Result<u8> {
        let namespace = request["namespace"].as_str().and_then(|name| known.namespace(name));
        if let Some(reason) = file.deployment.as_ref().and_then(|deployment| deployment.spares(request, namespace)) {
            paper.unsent(&name(request), &reason);
            self.tell_of_pods(request, &request["object"], policy, file, known, paper)?;
            return Ok(ACCEPTED);
        }
        let evaluation = policy.validate(request, &file.settings, self.cluster(known)?)?;
        paper.evaluation(&name(request), request, &evaluation, known);
        if self.session.is_none() {
            paper.missing(&evaluation, known, self.cluster.is_some());
        }
        paper.records(&evaluation);
        if !evaluation.answer.accepted {
            return Ok(REJECTED);
        }
        let object = evaluation.answer.mutated_object.as_ref().unwrap_or(&request["object"]);
        self.tell_of_pods(request, object, policy, file, known, paper)?;
        paper.stored(object);
        Ok(ACCEPTED)
    }

    fn check(&self, settings: &Path) -> Result<u8> {
        let (_, notes) = self.settings(&self.policy()?)?;
        let mut paper = Paper::new();
        paper.write(&format!("{}: the settings are valid", settings.display()));
        notes.iter().for_each(|note| paper.write(note));
        paper.print()?;
        Ok(ACCEPTED)
    }

    fn preview(&self) -> Result<u8> {
        let cluster = self.manifests()?.unwrap_or_default();
        let policy = self.policy()?;
        let (file, notes) = self.settings(&policy)?;
        notes.iter().for_each(|note| eprintln!("{note}"));
        let tally = preview::preview(&policy, &file, cluster, self.verbose)?;
        let mut paper = Paper::new();
        let report = match self.format {
            Format::Text => preview::page(&tally, &file, self.verbose),
            Format::Json => preview::json(&tally),
        };
        paper.write(report.trim_end());
        paper.print()?;
        Ok(if preview::rejects(&tally) { REJECTED } else { ACCEPTED })
    }

    fn policy(&self) -> Result<Policy> {
        let module = self.policy.clone().map_or_else(policy_module, Ok)?;
        let metadata = self.metadata.clone().unwrap_or_else(policy_metadata);
        Policy::load(&module, &metadata)
    }
}

/// `CREATE pods/binding team-a/web`, of whatever is there.
fn name(request: &Value) -> String {
    let text = |pointer| request.pointer(pointer).and_then(Value::as_str);
    let resource = [text("/resource/resource"), text("/subResource")];
    let name = text("/name").or(text("/object/metadata/name")).or(text("/object/metadata/generateName"));
    // A Namespace's request names it twice.
    let namespace = text("/namespace").filter(|_| resource[0] != Some("namespaces"));
    let object = [namespace, name];
    let words = [text("/operation").unwrap_or_default().to_owned(), join(&resource), join(&object)];
    words.join(" ").trim_end().to_owned()
}

/// `Secret team-a/s`.
fn title(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let name = join(&[text("/metadata/namespace"), text("/metadata/name")]);
    format!("{} {name}", text("/kind").unwrap_or_default()).trim_end().to_owned()
}

fn join(parts: &[Option<&str>]) -> String {
    parts.iter().flatten().copied().collect::<Vec<_>>().join("/")
}
