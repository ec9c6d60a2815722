//! The command `try`: what becomes of manifests and recorded requests, as text or as data.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

use super::{
    ExitStatus, Format,
    input::{Cluster, Engine, Settings, existing},
};
use crate::{
    Manifests,
    input::{
        documents::{read_document, read_documents},
        json::{text, title},
    },
    output::printer::Printer,
    trial::{Outcome, Trial, recorded_request, request_from},
};

/// Show what becomes of manifests, as if an administrator applied them, and where their Pods could run
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement try pod.yml -s settings.yml -c cluster.yml
  kubectl node-placement try new.yml --old old.yml -s settings.yml
  kubectl get deployment web -o yaml | kubectl node-placement try - -s settings.yml

No cluster is asked. What the policy looks up comes from -c; this writes it down:
  kubectl get nodes,namespaces -o yaml > cluster.yml")]
pub struct Try {
    /// Manifests, or admission requests, with or without their AdmissionReview; - is the standard input
    #[arg(required = true, value_name = "MANIFEST")]
    manifests: Vec<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    cluster: Cluster,
    /// The current object: the manifest is tried as an update of it
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
    /// The output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    engine: Engine,
}

/// A document, and the request that it is or makes; none, if the policy does not handle its kind.
type Document = (Value, Option<Value>);

impl Try {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let documents = self.documents()?;
        let policy = self.engine.policy()?;
        let files = self.settings.read_all(&policy)?;
        let known = self.known(&documents)?;
        let trial = Trial { policy: &policy, files: &files, known: &known };
        let mut outcomes = vec![];
        for (document, request) in documents {
            outcomes.push(match request {
                Some(request) => trial.judge(request)?,
                None => Outcome::Skipped { object: title(&document), reason: not_handled(&document) },
            });
        }
        match self.output {
            Format::Text => write(&trial, &outcomes, printer),
            format => {
                let data: Vec<Value> = outcomes.iter().flat_map(|outcome| trial.data(outcome)).collect();
                printer.data(format, &data)?;
            }
        }
        Ok(outcomes.iter().map(exit_status).max().unwrap_or(ExitStatus::Accepted))
    }

    fn documents(&self) -> Result<Vec<Document>> {
        let mut read = vec![];
        for path in &self.manifests {
            read.extend(read_documents(existing(path)?)?.into_iter().map(|document| (path.display(), document)));
        }
        if self.old.is_some() {
            ensure!(read.len() == 1, "--old: expected one manifest; found {}", read.len());
        }
        let old = self.old.as_deref().map(|old| read_document(existing(old)?)).transpose()?;
        let mut documents = vec![];
        for (path, document) in read {
            let is_request = recorded_request(&document).is_some();
            ensure!(
                old.is_none() || !is_request,
                "{path}: --old: an admission request has its own operation and old object"
            );
            let request = request_from(&document, old.clone()).with_context(|| path.to_string())?;
            documents.push((document, request));
        }
        let first = self.manifests.first().map(|path| path.display().to_string()).unwrap_or_default();
        match documents.first() {
            None => bail!("{first}: expected a manifest or a request; the file is empty"),
            Some((document, None)) if documents.iter().all(|(_, request)| request.is_none()) => {
                bail!("{first}: {}", not_handled(document))
            }
            _ => Ok(documents),
        }
    }

    /// What may be looked up: the cluster, and the Namespaces that are created here.
    fn known(&self, documents: &[Document]) -> Result<Manifests> {
        let cluster = self.cluster.manifests()?.unwrap_or_else(Manifests::partial);
        let requests = documents.iter().filter_map(|(_, request)| request.as_ref());
        let created = requests.filter(|request| request["operation"] == "CREATE").map(|request| &request["object"]);
        let namespaces =
            created.filter(|object| object["kind"] == "Namespace" && object["metadata"]["name"].is_string());
        let namespaces: Vec<Value> = namespaces.cloned().collect();
        if namespaces.is_empty() { Ok(cluster) } else { cluster.with(namespaces) }
    }
}

fn not_handled(object: &Value) -> String {
    let [kind, version] = ["kind", "apiVersion"].map(|field| text(&object[field]));
    format!("the policy does not handle the kind {kind} of {version}")
}

fn exit_status(outcome: &Outcome<'_>) -> ExitStatus {
    match outcome {
        Outcome::Answered { answers, .. } if answers.unknown.is_some() => ExitStatus::Mistaken,
        Outcome::Answered { answers, .. } if !answers.is_accepted() => ExitStatus::Rejected,
        _ => ExitStatus::Accepted,
    }
}

fn write(trial: &Trial<'_>, outcomes: &[Outcome<'_>], printer: &mut Printer) {
    for (position, outcome) in outcomes.iter().enumerate() {
        if position > 0 {
            printer.gap();
        }
        write_outcome(trial, outcome, printer);
    }
}

fn write_outcome(trial: &Trial<'_>, outcome: &Outcome<'_>, printer: &mut Printer) {
    let (name, request, answers, pods) = match outcome {
        Outcome::Answered { name, request, answers, pods } => (name, request, answers, pods),
        Outcome::Skipped { object, reason } => return printer.unanswered("skipped", object, reason),
    };
    let mut request = request.clone();
    for (policy, evaluation) in &answers.evaluations {
        let title = match policy {
            Some(policy) if trial.files.len() > 1 => format!("{name}, by {policy}"),
            _ => name.clone(),
        };
        printer.evaluation(&title, &request, evaluation, trial.known);
        trial.missing_lines(evaluation).iter().for_each(|line| printer.below(line));
        printer.records(evaluation);
        if let Some(changed) = &evaluation.answer.mutated_object {
            request["object"] = changed.clone();
        }
    }
    if let Some(reason) = &answers.not_sent {
        printer.unanswered("not sent", name, &format!("not sent to the policy: {reason}"));
    }
    if let Some(gap) = &answers.unknown {
        printer.unanswered("unknown", name, &format!("it can't be told what becomes of it: {}", gap.advice()));
    }
    let Some(pods) = pods else { return };
    pods.lines.iter().for_each(|line| printer.below(line));
    if answers.not_sent.is_none() {
        printer.stored(&request["object"]);
    }
}
