//! The command `try`: what becomes of manifests and recorded requests, as text or as data.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use node_placement_policy::resource::Resource;
use serde_json::Value;

use super::{
    ExitStatus, Format,
    args::{EngineArgs, LiveClusterArgs, SettingsArgs, existing, formats},
};
use crate::{
    Manifests,
    cluster::{
        Kind,
        kubectl::{Kubectl, Query},
    },
    input::{
        documents::{of_file, positioned_documents, read_document, read_text},
        json::{text, title},
        yaml::Document as Positioned,
    },
    output::{
        explanation::where_to_run,
        printer::Printer,
        terminal::{Progress, print_stderr},
    },
    trial::{self, ResultEntry, Trial, TrialResult},
    webhook::{
        deployment::{Admission, Deployment},
        request::{Request, recorded_request, request_from},
    },
};

/// Show what becomes of manifests, as if an administrator applied them, and where their Pods could run
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement try pod.yml -s settings.yml -c cluster.yml
  kubectl node-placement try new.yml --old old.yml -s settings.yml
  kubectl get deployment web -o yaml | kubectl node-placement try - -s settings.yml

With -s and without -c, no cluster is asked. This writes down what the policy looks up:
  kubectl get nodes,namespaces -o yaml > cluster.yml")]
pub struct Try {
    /// Manifests, or admission requests, with or without their AdmissionReview; - is the standard input
    #[arg(required = true, value_name = "MANIFEST")]
    manifests: Vec<PathBuf>,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    cluster: LiveClusterArgs,
    /// The current object: the manifest is tried as an update of it
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
    /// The output format
    #[arg(short, long, value_parser = formats(&["text", "json", "yaml"]), default_value = "text", value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    engine: EngineArgs,
}

/// A document, and the request that it is or makes; `None` if the policy does not handle its kind.
struct Document {
    path: String,
    document: Positioned,
    request: Option<Request>,
}

impl Try {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let documents = self.documents()?;
        let policy = self.engine.policy()?;
        let given = self.settings.read_all(&policy)?;
        let listed = match self.settings.is_given() {
            true => self.cluster.given()?,
            false => self.cluster.get(list)?,
        };
        let (files, origin) = given.or_deployed(&listed)?;
        let known = known(listed, &documents)?;
        let deployment = Deployment::new(&policy, &files);
        let trial = Trial { deployment: &deployment, known: &known };
        let mut results = vec![];
        for Document { path, document, request } in documents {
            let judge = |request: Request| trial.judge_with_nodes(&request);
            let result = request.map(judge).transpose().with_context(|| path.clone())?;
            if result.as_ref().is_some_and(|result| result.review.is_malformed()) {
                hint_at_quotes(&path, &document);
            }
            results.push((document.value, result));
        }
        match self.output {
            Format::Text => {
                origin.iter().for_each(|line| printer.write(line));
                write(&trial, &results, printer);
            }
            format => printer.data(format, &data(&results))?,
        }
        let statuses = results.iter().filter_map(|(_, result)| result.as_ref()).map(exit_status);
        Ok(statuses.max().unwrap_or(ExitStatus::Accepted))
    }

    fn documents(&self) -> Result<Vec<Document>> {
        let mut read = vec![];
        for path in &self.manifests {
            let documents = positioned_documents(&read_text(existing(path)?)?).map_err(|error| of_file(path, error))?;
            read.extend(documents.into_iter().map(|document| (path.display().to_string(), document)));
        }
        let count = read.len();
        ensure!(self.old.is_none() || count == 1, "--old: expected one manifest; found {count}");
        let old = self.old.as_deref().map(|old| read_document(existing(old)?)).transpose()?;
        let mut documents = vec![];
        for (path, document) in read {
            for key in document.repeated_keys() {
                let where_it_stands = format!("{path}:{}: {}", key.position, key.path);
                print_stderr(&format!(
                    "warning: {where_it_stands}: this key stands there twice, and the last one counts"
                ));
            }
            if old.is_some() && recorded_request(&document.value).is_some() {
                bail!("{path}: --old: an admission request has its own operation and old object");
            }
            let request = request_from(&document.value, old.clone()).with_context(|| path.clone())?;
            documents.push(Document { path, document, request });
        }
        let first = self.manifests.first().map(|path| path.display().to_string()).unwrap_or_default();
        match documents.first() {
            None => bail!("{first}: expected a manifest or a request; the file is empty"),
            Some(Document { document, .. }) if documents.iter().all(|document| document.request.is_none()) => {
                bail!("{first}: {}", not_handled(&document.value))
            }
            _ => Ok(documents),
        }
    }
}

/// Returns what may be looked up: the cluster, and the Namespaces that are created here.
fn known(cluster: Manifests, documents: &[Document]) -> Result<Manifests> {
    let requests = documents.iter().filter_map(|document| document.request.as_ref()).map(|request| &request.json);
    let created = requests.filter(|request| request["operation"] == "CREATE").map(|request| &request["object"]);
    let is_named = |object: &&Value| object["metadata"]["name"].is_string();
    cluster.with(created.filter(|object| object["kind"] == "Namespace").filter(is_named).cloned())
}

/// Gets the deployed policies, and all that decides on what they answer and where Pods can run.
fn list(kubectl: &Kubectl) -> Result<Manifests> {
    let kinds = [
        Kind::ClusterAdmissionPolicy,
        Kind::Of(Resource::Namespace),
        Kind::Of(Resource::Node),
        Kind::NodePool,
        Kind::RuntimeClass,
    ];
    let progress = Progress::begin();
    kubectl.get(&kinds.map(Query::all), |what| progress.update(what))
}

/// Says which words without quotes are true or false, where a field has a wrong type.
fn hint_at_quotes(path: &str, document: &Positioned) {
    for (field, word) in document.words() {
        let position = document.position(field).map(|position| format!(":{position}")).unwrap_or_default();
        print_stderr(&format!(
            "note: {path}{position}: {field}: without quotes {word} is true or false in YAML: write \"{word}\""
        ));
    }
}

fn not_handled(object: &Value) -> String {
    let [kind, version] = ["kind", "apiVersion"].map(|field| text(&object[field]));
    format!("the policy does not handle the kind {kind} of {version}")
}

fn exit_status(TrialResult { review, pods, gap, .. }: &TrialResult) -> ExitStatus {
    if gap.is_some() && pods.is_none() {
        return ExitStatus::Mistaken;
    }
    let are_pods_refused = pods.as_ref().is_some_and(|pods| pods.rejection.is_some());
    if review.is_accepted() && !are_pods_refused { ExitStatus::Accepted } else { ExitStatus::Rejected }
}

/// Documents, each with what becomes of its request.
type Results = [(Value, Option<TrialResult>)];

fn data(results: &Results) -> trial::Results {
    let entry = |(document, result): &(Value, Option<TrialResult>)| match result {
        Some(result) => ResultEntry::new(result),
        None => ResultEntry::skipped(document, not_handled(document)),
    };
    trial::Results { results: results.iter().map(entry).collect() }
}

fn write(trial: &Trial<'_>, results: &Results, printer: &mut Printer) {
    for (position, (document, result)) in results.iter().enumerate() {
        if position > 0 {
            printer.gap();
        }
        match result {
            Some(result) => write_result(trial, result, printer),
            None => printer.unanswered("skipped", &title(document), &not_handled(document)),
        }
    }
}

fn write_result(trial: &Trial<'_>, result: &TrialResult, printer: &mut Printer) {
    let TrialResult { name, review, pods, gap } = result;
    let mut request = review.request.clone();
    for (policy, evaluation) in &review.answers {
        let title = match policy {
            Some(policy) if trial.deployment.files.len() > 1 => format!("{name}, by {policy}"),
            _ => name.clone(),
        };
        printer.evaluation(&title, &request, evaluation, trial.known);
        trial.missing_lines(evaluation).iter().for_each(|line| printer.below(line));
        printer.records(evaluation);
        if let Some(changed) = &evaluation.answer.mutated_object {
            request["object"] = changed.clone();
        }
    }
    if let Admission::NotSent(by) = &review.admission {
        printer.unanswered("not sent", name, &format!("not sent to the policy: {by}"));
    }
    if let (Some(gap), None) = (gap, pods) {
        return printer.unanswered("unknown", name, &format!("it could not be evaluated: {}", gap.advice()));
    }
    let Some(pods) = pods else { return };
    let who = if review.request["object"]["kind"] == "Pod" { "it" } else { "its Pods" };
    let places = pods.fit.iter().flat_map(|fit| where_to_run(who, fit));
    pods.lines.iter().cloned().chain(places).for_each(|line| printer.below(&line));
    if !matches!(review.admission, Admission::NotSent(_)) {
        printer.stored(&request["object"]);
    }
}
