//! Whom `try` asks.

use anyhow::Result;
use serde_json::{Value, json};

use super::Outcome;
use crate::{
    Evaluation, Lookup, ManagedKeys, Manifests, NoCluster, Policy, SettingsFile, engine::cluster, output::paper::Paper,
    preview::gets, requests::delivery::delivery, requests::template::creation_from,
};

/// Whom requests are put to.
pub struct Trial<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// Its settings.
    pub file: SettingsFile,
    /// What may be looked up.
    pub known: Manifests,
    /// Whether that is a cluster.
    pub has_cluster: bool,
}

impl Trial<'_> {
    /// Asks the policy about one request.
    pub fn judge(&self, request: &Value, paper: &mut Paper) -> Result<(Outcome, Value)> {
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

    /// Asks the policy, and nobody else.
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

/// With slashes, of what is there.
pub fn join(parts: &[Option<&str>]) -> String {
    parts.iter().flatten().copied().collect::<Vec<_>>().join("/")
}

/// Tells what the Pods of the workload would get that `request` is about: its template stays as it is.
fn tell_of_pods(trial: &Trial<'_>, request: &Value, workload: &Value, paper: &mut Paper) -> Result<()> {
    if request["subResource"].as_str().is_some_and(|sub_resource| !sub_resource.is_empty()) {
        return Ok(());
    }
    let Some(request) = creation_from(workload, &trial.known) else { return Ok(()) };
    let namespace = request["namespace"].as_str().and_then(|name| trial.known.namespace(name));
    let deployment = trial.file.policy.as_ref();
    if let Some(reason) = deployment.and_then(|deployment| delivery(deployment, &request, namespace).kept_away()) {
        paper.below(&format!("its Pods are not sent to the policy: {reason}"));
        return Ok(());
    }
    let evaluation = trial.ask(&request)?;
    if trial.missing(&evaluation).next().is_some() {
        paper.missing(&evaluation, &trial.known, trial.has_cluster);
        return Ok(());
    }
    if !evaluation.answer.accepted {
        let code = evaluation.answer.code.unwrap_or_default();
        let message = evaluation.answer.message.as_deref().unwrap_or("(no message)");
        paper.below(&format!("its Pods would be rejected: {code}: {message}"));
        return Ok(());
    }
    let (now, later) = (gets(&evaluation).join("; "), when_bound(&trial.file).join(", "));
    paper.below(&match (now.is_empty(), later.is_empty()) {
        (true, true) => "its Pods would stay as they are".to_owned(),
        (false, true) => format!("its Pods would get {now}"),
        (true, false) => format!("its Pods would get {later} when they are bound"),
        (false, false) => format!("its Pods would get {now}; and when they are bound, {later}"),
    });
    Ok(())
}

/// What Bindings bring, as far as the Nodes have it.
fn when_bound(file: &SettingsFile) -> Vec<String> {
    let deployment = file.policy.as_ref();
    let is_sent = deployment.is_none_or(|deployment| deployment.sends(("", "pods/binding", "CREATE")));
    if is_sent { ManagedKeys::of(&file.typed).named() } else { vec![] }
}
