use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use e2e_tests::{
    Cluster, Lookup, Manifests, NoCluster, Policy, Session, SettingsFile, admission_request, lacks,
    preview::of_manifest, read_document, read_documents, traps,
};
use node_placement_policy::settings::mistakes;
use serde_json::Value;

use crate::{Arguments, Operation};

/// Fails, by the name of the variable that says so, if a path leads nowhere.
fn there<'p>(variable: &str, path: &'p Path) -> Result<&'p Path> {
    ensure!(path.exists(), "{variable}: no such file: {}", path.display());
    Ok(path)
}

/// What stands in a document of REQUEST.
pub enum Asked {
    Request(Value),
    /// A manifest that the policy has no business with.
    Other(Value),
}

impl Arguments {
    /// The requests: as they are, or made of manifests.
    pub fn asked(&self, path: &Path) -> Result<Vec<Asked>> {
        let documents = read_documents(there("REQUEST", path)?).context("REQUEST")?;
        let documents: Vec<Value> = documents.into_iter().flat_map(items).collect();
        let old = self.old_object(documents.len())?;
        let mut asked = vec![];
        for document in documents {
            let read = self.read(document, old.clone());
            asked.push(read.with_context(|| format!("REQUEST: {}", path.display()))?);
        }
        let is_request = |asked: &Asked| matches!(asked, Asked::Request(_));
        match asked.first() {
            None => bail!("REQUEST: {}: expected a request or a manifest, the file is empty", path.display()),
            Some(Asked::Other(object)) if !asked.iter().any(is_request) => {
                bail!("REQUEST: {}: {}", path.display(), no_business(object))
            }
            _ => Ok(asked),
        }
    }

    fn read(&self, document: Value, old: Option<Value>) -> Result<Asked> {
        let request = admission_request(&document);
        if request.get("operation").is_some() {
            let plain = "go with a plain manifest, and REQUEST says by itself what is asked";
            ensure!(self.operation.is_none() && self.old.is_none(), "OPERATION, OLD: these {plain}");
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
            (Some(Operation::Update), Some(_)) if manifests > 1 => {
                bail!("OLD: expected one manifest in REQUEST, found {manifests}")
            }
            (Some(Operation::Update), Some(old)) => Ok(Some(read_document(there("OLD", old)?).context("OLD")?)),
            (Some(Operation::Update), None) => bail!("OLD: say what the object was before: OPERATION is UPDATE"),
            (_, Some(_)) => bail!("OLD: this goes with OPERATION=UPDATE"),
            (_, None) => Ok(None),
        }
    }

    /// The settings, and what is to be said about the policy around them, a line each.
    ///
    /// # Errors
    /// All mistakes, a line each.
    pub fn settings(&self, policy: &Policy) -> Result<(SettingsFile, Vec<String>)> {
        let expected =
            "a file with what stands under spec.settings of a policy, or with a whole ClusterAdmissionPolicy";
        let path = self.settings.as_ref().with_context(|| {
            format!("SETTINGS: say which settings the policy would have: {expected}, such as examples/placement.yml")
        })?;
        let file = SettingsFile::load(there("SETTINGS", path)?).context("SETTINGS")?;
        let mut wrong = invalid(policy, &file.settings)?;
        let mut remarks = vec![];
        if let Some(deployment) = &file.deployment {
            let (traps, lacks) = (traps(&file.settings, deployment), lacks(&file.settings, deployment));
            wrong.extend(traps.mistakes.into_iter().chain(lacks.context_aware_resources));
            remarks.extend(traps.remarks.into_iter().chain(lacks.rules));
        }
        let lines = |lines: Vec<String>| lines.into_iter().map(|line| format!("{}: {line}", path.display()));
        ensure!(wrong.is_empty(), "{}", lines(wrong).collect::<Vec<_>>().join("\n"));
        Ok((file, lines(remarks).collect()))
    }

    /// Whom the look-ups of one request reach: what is `known`, or the session.
    pub fn cluster(&self, known: &Manifests) -> Result<Box<dyn Cluster>> {
        Ok(match &self.session {
            Some(file) => Box::new(Session::load(there("--session", file)?)?),
            None if self.cluster.is_some() => Box::new(known.clone()),
            None => Box::new(Brought(known.clone())),
        })
    }

    /// What may be looked up: CLUSTER, and the Namespaces that REQUEST brings itself.
    pub fn known(&self, asked: &[Asked]) -> Result<Manifests> {
        let cluster = self.manifests()?.unwrap_or_default();
        let created = asked.iter().filter_map(|asked| match asked {
            Asked::Request(request) if request["operation"] == "CREATE" => Some(&request["object"]),
            _ => None,
        });
        let namespaces =
            created.filter(|object| object["kind"] == "Namespace" && object["metadata"]["name"].is_string());
        let brought: Vec<Value> = namespaces.cloned().collect();
        if brought.is_empty() { Ok(cluster) } else { cluster.with(brought) }
    }

    pub fn manifests(&self) -> Result<Option<Manifests>> {
        let Some(path) = &self.cluster else { return Ok(None) };
        let manifests = Manifests::load(there("CLUSTER", path)?).context("CLUSTER")?;
        // What a command leaves that failed; of an empty cluster nothing could be told.
        let mut objects = manifests.objects().iter();
        ensure!(
            objects.any(|object| object.identity.api_version != "policies.kubewarden.io/v1"),
            "CLUSTER: {}: expected objects of a cluster, as kubectl get -o json prints them, found none",
            path.display()
        );
        if let [object, others @ ..] = manifests.repeated() {
            let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            eprintln!("CLUSTER: {}: left out, since they stand there already: {object}{others}", path.display());
        }
        Ok(Some(manifests))
    }
}

/// Without CLUSTER, nothing is known of what REQUEST does not bring itself.
struct Brought(Manifests);

impl Cluster for Brought {
    fn get(&mut self, lookup: &Lookup) -> Result<String> {
        if self.0.has(lookup) { self.0.get(lookup) } else { NoCluster.get(lookup) }
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
pub fn no_business(object: &Value) -> String {
    let text = |field| object[field].as_str().unwrap_or_default();
    format!("the policy has no business with a {} of {}", text("kind"), text("apiVersion"))
}

/// The mistakes that the policy finds in its settings. It tells all of them in one sentence; the crate that it is made
/// of has them one by one.
fn invalid(policy: &Policy, settings: &Value) -> Result<Vec<String>> {
    let answer = policy.validate_settings(settings)?;
    if answer.valid {
        return Ok(vec![]);
    }
    let message = answer.message.unwrap_or_default();
    let mistakes: Vec<String> = mistakes(&settings.to_string()).iter().map(ToString::to_string).collect();
    Ok(if mistakes.join("; ") == message { mistakes } else { vec![message] })
}
