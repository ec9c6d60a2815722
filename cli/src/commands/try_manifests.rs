use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{
    Format, Outcome,
    input::{Cluster, Engine, Settings, there},
    pods::tell_of_pods,
};
use crate::requests::delivery::delivery;
use crate::{
    Evaluation, Lookup, Manifests, NoCluster, Policy, SettingsFile, admission_request,
    engine::cluster,
    input::documents::{read_document, read_documents},
    output::paper::Paper,
    requests::admission::of_manifest,
};

/// Show what becomes of manifests, as if an administrator applied them
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
    /// What is done with the manifest
    #[arg(long, value_enum, ignore_case = true, value_name = "OPERATION", hide = true)]
    operation: Option<Operation>,
    /// The output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    engine: Engine,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operation {
    Create,
    Update,
}

/// A document.
enum Asked {
    Request(Value),
    /// A manifest that the policy has no business with.
    Other(Value),
}

impl Try {
    pub fn run(&self, paper: &mut Paper) -> Result<Outcome> {
        let asked = self.asked()?;
        let policy = self.engine.policy()?;
        let trial = Trial {
            policy: &policy,
            file: self.settings.read(&policy)?,
            known: self.known(&asked)?,
            has_cluster: self.cluster.cluster.is_some(),
        };
        let (mut worst, mut told) = (Outcome::Accepted, vec![]);
        for (place, asked) in asked.iter().enumerate() {
            if place > 0 {
                paper.gap();
            }
            let (outcome, data) = match asked {
                Asked::Request(request) => trial.judge(request, paper)?,
                Asked::Other(object) => {
                    let reason = no_business(object);
                    paper.skipped(&title(object), &reason);
                    (Outcome::Accepted, json!({ "object": title(object), "verdict": "skipped", "reason": reason }))
                }
            };
            worst = worst.max(outcome);
            told.push(data);
        }
        if self.output != Format::Text {
            paper.clear();
            paper.data(self.output, &Value::from(told))?;
        }
        Ok(worst)
    }

    /// The requests: as they are, or made of manifests.
    fn asked(&self) -> Result<Vec<Asked>> {
        let mut documents = vec![];
        for path in &self.manifests {
            let read = read_documents(there(path)?)?;
            documents.extend(read.into_iter().flat_map(items).map(|document| (path, document)));
        }
        let old = self.old_object(documents.len())?;
        let mut asked = vec![];
        for (path, document) in documents {
            let read = self.read(document, old.clone());
            asked.push(read.with_context(|| path.display().to_string())?);
        }
        let first = self.manifests.first().map_or(Path::new(""), PathBuf::as_path).display();
        match asked.first() {
            None => bail!("{first}: expected a manifest or a request; the file is empty"),
            Some(Asked::Other(object)) if asked.iter().all(|asked| matches!(asked, Asked::Other(_))) => {
                bail!("{first}: {}", no_business(object))
            }
            _ => Ok(asked),
        }
    }

    fn read(&self, document: Value, old: Option<Value>) -> Result<Asked> {
        let request = admission_request(&document);
        if request.get("operation").is_some() {
            ensure!(
                self.operation.is_none() && self.old.is_none(),
                "--old: an admission request has its own operation and old object"
            );
            return Ok(Asked::Request(request.clone()));
        }
        ensure!(
            document.get("kind").is_some() && document.get("metadata").is_some_and(Value::is_object),
            "expected an AdmissionReview, the request in one, or manifests"
        );
        let request = of_manifest(document.clone(), old)?;
        Ok(request.map_or(Asked::Other(document), Asked::Request))
    }

    fn old_object(&self, manifests: usize) -> Result<Option<Value>> {
        match (self.operation, &self.old) {
            (Some(Operation::Create), Some(_)) => bail!("--old: this is for an update; leave the operation out"),
            (_, Some(_)) if manifests > 1 => bail!("--old: expected one manifest; found {manifests}"),
            (_, Some(old)) => Ok(Some(read_document(there(old)?)?)),
            (Some(Operation::Update), None) => bail!("--old: expected the object before its update"),
            (_, None) => Ok(None),
        }
    }

    /// What may be looked up: the cluster, and the Namespaces that are created here.
    fn known(&self, asked: &[Asked]) -> Result<Manifests> {
        let cluster = self.cluster.manifests()?.unwrap_or_default();
        let created = asked.iter().filter_map(|asked| match asked {
            Asked::Request(request) if request["operation"] == "CREATE" => Some(&request["object"]),
            _ => None,
        });
        let namespaces =
            created.filter(|object| object["kind"] == "Namespace" && object["metadata"]["name"].is_string());
        let brought: Vec<Value> = namespaces.cloned().collect();
        if brought.is_empty() { Ok(cluster) } else { cluster.with(brought) }
    }
}

/// Whom requests are put to.
pub struct Trial<'p> {
    policy: &'p Policy,
    pub file: SettingsFile,
    pub known: Manifests,
    pub has_cluster: bool,
}

impl Trial<'_> {
    /// Asks the policy about one request.
    fn judge(&self, request: &Value, paper: &mut Paper) -> Result<(Outcome, Value)> {
        let name = name(request);
        let namespace = request["namespace"].as_str().and_then(|name| self.known.namespace(name));
        let deployment = self.file.policy.as_ref();
        if let Some(reason) = deployment.and_then(|deployment| delivery(deployment, request, namespace).kept_away()) {
            paper.unsent(&name, &reason);
            tell_of_pods(self, request, &request["object"], paper)?;
            return Ok((Outcome::Accepted, json!({ "request": name, "verdict": "notSent", "reason": reason })));
        }
        let evaluation = self.ask(request)?;
        paper.evaluation(&name, request, &evaluation, &self.known);
        paper.missing(&evaluation, &self.known, self.has_cluster);
        paper.records(&evaluation);
        let answer = &evaluation.answer;
        let object = answer.mutated_object.as_ref().unwrap_or(&request["object"]);
        let data = json!({
            "request": name,
            "verdict": if answer.accepted { "accepted" } else { "rejected" },
            "code": answer.code,
            "message": answer.message,
            "warnings": answer.warnings,
            "patch": evaluation.patch,
            "auditAnnotations": answer.audit_annotations,
            "lookups": evaluation.lookups.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "missing": self.missing(&evaluation).map(ToString::to_string).collect::<Vec<_>>(),
        });
        if !answer.accepted {
            return Ok((Outcome::Rejected, data));
        }
        tell_of_pods(self, request, object, paper)?;
        paper.stored(object);
        Ok((Outcome::Accepted, data))
    }

    pub fn ask(&self, request: &Value) -> Result<Evaluation> {
        let cluster: Box<dyn cluster::Cluster> = match self.has_cluster {
            true => Box::new(self.known.clone()),
            false => Box::new(Brought(self.known.clone())),
        };
        self.policy.validate(request, &self.file.settings, cluster)
    }

    /// What was looked up, and is not there.
    pub fn missing<'e>(&self, evaluation: &'e Evaluation) -> impl Iterator<Item = &'e Lookup> {
        evaluation.lookups.iter().filter(|lookup| !self.known.finds(lookup))
    }
}

/// Without a cluster, nothing is known of what is not created here.
struct Brought(Manifests);

impl cluster::Cluster for Brought {
    fn get(&mut self, lookup: &Lookup) -> Result<String> {
        if self.0.finds(lookup) { self.0.get(lookup) } else { NoCluster.get(lookup) }
    }
}

/// A list, as `kubectl get` prints it, stands for its items.
fn items(mut document: Value) -> Vec<Value> {
    let is_list = document["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    match document.get_mut("items").filter(|_| is_list).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => vec![document],
    }
}

/// What is to be said of a manifest that the policy is never asked about.
fn no_business(object: &Value) -> String {
    let text = |field| object[field].as_str().unwrap_or_default();
    format!("the policy does not handle the kind {} of {}", text("kind"), text("apiVersion"))
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
