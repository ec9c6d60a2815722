//! The command `try`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::{
    ExitStatus, Format,
    input::{Cluster, Engine, Settings, existing},
    trial::{Trial, join},
};
use crate::{
    Manifests, admission_request,
    input::documents::{read_document, read_documents},
    output::printer::Printer,
    requests::admission::of_manifest,
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

/// A document.
enum Asked {
    Request(Value),
    /// A manifest that the policy has no business with.
    Other(Value),
}

impl Try {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let asked = self.asked()?;
        let policy = self.engine.policy()?;
        let trial = Trial {
            policy: &policy,
            files: self.settings.read_all(&policy)?,
            known: self.known(&asked)?,
            has_cluster: self.cluster.cluster.is_some(),
        };
        let (mut worst, mut told) = (ExitStatus::Accepted, vec![]);
        for (place, asked) in asked.iter().enumerate() {
            if place > 0 {
                printer.gap();
            }
            let (status, data) = match asked {
                Asked::Request(request) => trial.judge(request, printer)?,
                Asked::Other(object) => {
                    let reason = no_business(object);
                    printer.unanswered("skipped", &title(object), &reason);
                    let data = json!({ "object": title(object), "verdict": "skipped", "reason": reason });
                    (ExitStatus::Accepted, vec![data])
                }
            };
            worst = worst.max(status);
            told.extend(data);
        }
        if self.output != Format::Text {
            printer.clear();
            printer.data(self.output, &Value::from(told))?;
        }
        Ok(worst)
    }

    /// The requests: as they are, or made of manifests.
    fn asked(&self) -> Result<Vec<Asked>> {
        let mut documents = vec![];
        for path in &self.manifests {
            let read = read_documents(existing(path)?)?;
            documents.extend(read.into_iter().map(|document| (path, document)));
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
            ensure!(self.old.is_none(), "--old: an admission request has its own operation and old object");
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
        let Some(old) = &self.old else { return Ok(None) };
        ensure!(manifests == 1, "--old: expected one manifest; found {manifests}");
        Ok(Some(read_document(existing(old)?)?))
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

/// What is to be said of a manifest that the policy is never asked about.
fn no_business(object: &Value) -> String {
    let text = |field| object[field].as_str().unwrap_or_default();
    format!("the policy does not handle the kind {} of {}", text("kind"), text("apiVersion"))
}

/// `Secret team-a/s`.
fn title(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let name = join(&[text("/metadata/namespace"), text("/metadata/name")]);
    format!("{} {name}", text("/kind").unwrap_or_default()).trim_end().to_owned()
}
