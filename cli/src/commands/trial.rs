//! Whom `try` asks.

use anyhow::Result;
use serde_json::{Value, json};

use super::ExitStatus;
use crate::{
    Cluster, Evaluation, Lookup, ManagedKeys, Manifests, NoCluster, Policy, SettingsFile,
    engine::policy_chain::Admission,
    explain::{
        fit::{Fit, Placed},
        pools_for,
    },
    input::json::text,
    output::{changes::gets, explanation::where_to_run, printer::Printer},
    requests::{runtime_class, template::creation_from},
};

/// Whom requests are put to.
pub struct Trial<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// Its settings: all policies of a file are one deployment.
    pub files: Vec<SettingsFile>,
    /// What may be looked up.
    pub known: Manifests,
    /// Whether that is a cluster.
    pub has_cluster: bool,
}

impl Trial<'_> {
    /// Asks about one request.
    pub fn judge(&self, request: &Value, printer: &mut Printer) -> Result<(ExitStatus, Vec<Value>)> {
        let (name, mut request) = (name(request), request.clone());
        if is_pod_creation(&request) {
            runtime_class::merge(&mut request["object"]["spec"], &self.known);
        }
        let answers = self.ask(&request)?;
        if let Some(reason) = &answers.not_sent {
            printer.unanswered("not sent", &name, &format!("not sent to the policy: {reason}"));
            let nodes = self.tell_of_pods(&request, &request["object"], printer)?;
            let data = json!({ "request": name, "verdict": "notSent", "reason": reason, "nodes": nodes });
            return Ok((ExitStatus::Accepted, vec![data]));
        }
        let mut told = self.tell(&name, request.clone(), &answers, printer);
        if let Some(gap) = &answers.unknown {
            let reason = gap.advice();
            printer.unanswered("unknown", &name, &format!("it can't be told what becomes of it: {reason}"));
            told.push(json!({ "request": name, "verdict": "unknown", "reason": reason }));
            return Ok((ExitStatus::Mistaken, told));
        }
        if !answers.is_accepted() {
            return Ok((ExitStatus::Rejected, told));
        }
        let object = answers.object().unwrap_or(&request["object"]);
        let nodes = self.tell_of_pods(&request, object, printer)?;
        if let Some(last) = told.last_mut() {
            last["nodes"] = nodes;
        }
        printer.stored(object);
        Ok((ExitStatus::Accepted, told))
    }

    /// What each policy said.
    fn tell(&self, name: &str, mut request: Value, answers: &Admission<'_>, printer: &mut Printer) -> Vec<Value> {
        let mut told = vec![];
        for (policy, evaluation) in &answers.evaluations {
            let title = match policy {
                Some(policy) if self.files.len() > 1 => format!("{name}, by {policy}"),
                _ => name.to_owned(),
            };
            printer.evaluation(&title, &request, evaluation, &self.known);
            printer.missing(evaluation, &self.known, self.has_cluster);
            printer.records(evaluation);
            let answer = &evaluation.answer;
            told.push(json!({
                "request": name,
                "policy": policy,
                "verdict": if answer.accepted { "accepted" } else { "rejected" },
                "code": answer.code,
                "message": answer.message,
                "warnings": answer.warnings,
                "patch": evaluation.patch,
                "auditAnnotations": answer.audit_annotations,
                "lookups": evaluation.record.lookups.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "missing": self.missing(evaluation).map(ToString::to_string).collect::<Vec<_>>(),
            }));
            if let Some(changed) = &answer.mutated_object {
                request["object"] = changed.clone();
            }
        }
        told
    }

    /// Without a cluster, nothing is known of what is not created here.
    fn ask(&self, request: &Value) -> Result<Admission<'_>> {
        let (mut known, has_cluster) = (self.known.clone(), self.has_cluster);
        let cluster = move |lookup: &Lookup| {
            let found = if has_cluster || known.finds(lookup) { known.get(lookup) } else { NoCluster.get(lookup) };
            found.map_err(|error| error.to_string())
        };
        Admission::review(self.policy, &self.files, request.clone(), &self.known, cluster)
    }

    /// What was looked up, and is not there.
    fn missing<'e>(&self, evaluation: &'e Evaluation) -> impl Iterator<Item = &'e Lookup> {
        evaluation.record.lookups.iter().filter(|lookup| !self.known.finds(lookup))
    }

    /// Tells where a Pod that is created could run; of a workload, whose template stays as it is, what its Pods would get,
    /// and where they could run. The names of the nodes are for programs.
    fn tell_of_pods(&self, request: &Value, object: &Value, printer: &mut Printer) -> Result<Value> {
        if !text(&request["subResource"]).is_empty() {
            return Ok(Value::Null);
        }
        if is_pod_creation(request) {
            return self.tell_of_nodes("it", &object["spec"], printer);
        }
        let Some(creation) = creation_from(object, &self.known) else { return Ok(Value::Null) };
        let answers = self.ask(&creation)?;
        if let Some(reason) = &answers.not_sent {
            printer.below(&format!("its Pods are not sent to the policy: {reason}"));
            return self.tell_of_nodes("its Pods", &creation["object"]["spec"], printer);
        }
        let evaluations = || answers.evaluations.iter().map(|(_, evaluation)| evaluation);
        if let Some(evaluation) = evaluations().find(|evaluation| self.missing(evaluation).next().is_some()) {
            printer.missing(evaluation, &self.known, self.has_cluster);
            return Ok(Value::Null);
        }
        if let Some(gap) = &answers.unknown {
            printer.below(&format!("it can't be told what becomes of its Pods: {}", gap.advice()));
            return Ok(Value::Null);
        }
        if let Some(Evaluation { answer, .. }) = evaluations().find(|evaluation| !evaluation.answer.accepted) {
            let code = answer.code.map(|code| format!("{code}: ")).unwrap_or_default();
            let message = answer.message.as_deref().unwrap_or("(no message)");
            printer.below(&format!("its Pods would be rejected: {code}{message}"));
            return Ok(Value::Null);
        }
        let now = evaluations().flat_map(gets).collect::<Vec<_>>().join("; ");
        let later = self.files.iter().flat_map(when_bound).collect::<Vec<_>>().join(", ");
        printer.below(&match (now.is_empty(), later.is_empty()) {
            (true, true) => "its Pods would stay as they are".to_owned(),
            (false, true) => format!("its Pods would get {now}"),
            (true, false) => format!("its Pods would get {later} when they are bound"),
            (false, false) => format!("its Pods would get {now}; and when they are bound, {later}"),
        });
        self.tell_of_nodes("its Pods", &answers.object().unwrap_or(&creation["object"])["spec"], printer)
    }

    /// Tells on which nodes of the cluster a Pod could run, where there are some.
    fn tell_of_nodes(&self, whose: &str, spec: &Value, printer: &mut Printer) -> Result<Value> {
        let has_nodes =
            self.known.objects().iter().any(|object| ["Node", "NodePool"].contains(&object.identity.kind.as_str()));
        if !self.has_cluster || !has_nodes || runtime_class::missing(spec, &self.known).is_some() {
            return Ok(Value::Null);
        }
        let placed = Placed::read(std::slice::from_ref(spec), &self.known)?;
        let fit: Fit = placed.fit(&pools_for(&self.files, [&placed], &self.known)?, &[], None)?;
        let usable: Vec<&String> = fit.usable().flat_map(|pool| &pool.usable).collect();
        where_to_run(whose, &fit).iter().for_each(|line| printer.below(line));
        Ok(json!(usable))
    }
}

/// The API server merges the RuntimeClass of a Pod into it before anybody is asked.
fn is_pod_creation(request: &Value) -> bool {
    request["operation"] == "CREATE" && request["object"]["kind"] == "Pod" && text(&request["subResource"]).is_empty()
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

/// What Bindings bring, as far as the Nodes have it.
fn when_bound(file: &SettingsFile) -> Vec<String> {
    let deployment = file.policy.as_ref();
    let is_sent = deployment.is_none_or(|deployment| deployment.sends(("", "pods/binding", "CREATE")));
    if is_sent { ManagedKeys::of(&file.typed).named() } else { vec![] }
}
