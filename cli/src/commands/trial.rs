//! Whom `try` asks.

use anyhow::Result;
use serde_json::{Value, json};

use super::Outcome;
use crate::{
    Evaluation, Lookup, ManagedKeys, Manifests, NoCluster, Policy, SettingsFile,
    engine::cluster,
    explain::{
        fit::{Fit, Placed},
        pools_for,
    },
    output::{changes::gets, explanation::where_to_run, printer::Printer},
    requests::{delivery::delivery, runtime_class, template::creation_from},
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

/// What becomes of a request, or of the Pods of what it is about.
enum Outcomes {
    /// No policy is asked, and why.
    Unsent(String),
    /// Those that were asked, in order, each with what it said. Only the last one may have rejected it.
    Asked(Vec<Asked>),
}

struct Asked {
    /// The name of the policy.
    policy: Option<String>,
    /// What it was asked.
    request: Value,
    evaluation: Evaluation,
}

impl Trial<'_> {
    /// Asks about one request.
    pub fn judge(&self, request: &Value, printer: &mut Printer) -> Result<(Outcome, Vec<Value>)> {
        let name = name(request);
        let asked = match self.ask(request)? {
            Outcomes::Unsent(reason) => {
                printer.unsent(&name, &reason);
                let nodes = self.tell_of_pods(request, &request["object"], printer)?;
                let data = json!({ "request": name, "verdict": "notSent", "reason": reason, "nodes": nodes });
                return Ok((Outcome::Accepted, vec![data]));
            }
            Outcomes::Asked(asked) => asked,
        };
        let mut told: Vec<Value> = asked.iter().map(|asked| self.tell(&name, asked, printer)).collect();
        if !is_accepted(&asked) {
            return Ok((Outcome::Rejected, told));
        }
        let object = stored(request, &asked);
        let nodes = self.tell_of_pods(request, object, printer)?;
        if let Some(last) = told.last_mut() {
            last["nodes"] = nodes;
        }
        printer.stored(object);
        Ok((Outcome::Accepted, told))
    }

    /// What one policy said.
    fn tell(&self, name: &str, asked: &Asked, printer: &mut Printer) -> Value {
        let Asked { policy, request, evaluation } = asked;
        let title = match policy {
            Some(policy) if self.files.len() > 1 => format!("{name}, by {policy}"),
            _ => name.to_owned(),
        };
        printer.evaluation(&title, request, evaluation, &self.known);
        printer.missing(evaluation, &self.known, self.has_cluster);
        printer.records(evaluation);
        let answer = &evaluation.answer;
        json!({
            "request": name,
            "policy": policy,
            "verdict": if answer.accepted { "accepted" } else { "rejected" },
            "code": answer.code,
            "message": answer.message,
            "warnings": answer.warnings,
            "patch": evaluation.patch,
            "auditAnnotations": answer.audit_annotations,
            "lookups": evaluation.lookups.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "missing": self.missing(evaluation).map(ToString::to_string).collect::<Vec<_>>(),
        })
    }

    /// Asks each policy whose rules take the request, one after the other, and hands on what one has changed.
    fn ask(&self, request: &Value) -> Result<Outcomes> {
        let namespace = request["namespace"].as_str().and_then(|name| self.known.namespace(name));
        let (mut asked, mut unsent) = (vec![], None);
        let mut request = request.clone();
        for file in &self.files {
            let kept_away = file.policy.as_ref().and_then(|policy| delivery(policy, &request, namespace).kept_away());
            if let Some(reason) = kept_away {
                unsent.get_or_insert(reason);
                continue;
            }
            let evaluation = self.policy.validate(&request, &file.settings, self.cluster())?;
            let (accepted, changed) = (evaluation.answer.accepted, evaluation.answer.mutated_object.clone());
            asked.push(Asked { policy: file.name.clone(), request: request.clone(), evaluation });
            if !accepted {
                break;
            }
            if let Some(changed) = changed {
                request["object"] = changed;
            }
        }
        Ok(match unsent.filter(|_| asked.is_empty()) {
            Some(reason) => Outcomes::Unsent(reason),
            None => Outcomes::Asked(asked),
        })
    }

    fn cluster(&self) -> Box<dyn cluster::Cluster> {
        match self.has_cluster {
            true => Box::new(self.known.clone()),
            false => Box::new(Brought(self.known.clone())),
        }
    }

    /// What was looked up, and is not there.
    fn missing<'e>(&self, evaluation: &'e Evaluation) -> impl Iterator<Item = &'e Lookup> {
        evaluation.lookups.iter().filter(|lookup| !self.known.finds(lookup))
    }

    /// Tells where a Pod that is created could run; of a workload, whose template stays as it is, what its Pods would get,
    /// and where they could run. The names of the nodes are for programs.
    fn tell_of_pods(&self, request: &Value, object: &Value, printer: &mut Printer) -> Result<Value> {
        if request["subResource"].as_str().is_some_and(|sub_resource| !sub_resource.is_empty()) {
            return Ok(Value::Null);
        }
        if object["kind"] == "Pod" && request["operation"] == "CREATE" {
            return self.tell_of_nodes("it", &object["spec"], printer);
        }
        let Some(creation) = creation_from(object, &self.known) else { return Ok(Value::Null) };
        let asked = match self.ask(&creation)? {
            Outcomes::Unsent(reason) => {
                printer.below(&format!("its Pods are not sent to the policy: {reason}"));
                return self.tell_of_nodes("its Pods", &creation["object"]["spec"], printer);
            }
            Outcomes::Asked(asked) => asked,
        };
        if let Some(asked) = asked.iter().find(|asked| self.missing(&asked.evaluation).next().is_some()) {
            printer.missing(&asked.evaluation, &self.known, self.has_cluster);
            return Ok(Value::Null);
        }
        if let Some(Asked { evaluation, .. }) = asked.last().filter(|asked| !asked.evaluation.answer.accepted) {
            let code = evaluation.answer.code.unwrap_or_default();
            let message = evaluation.answer.message.as_deref().unwrap_or("(no message)");
            printer.below(&format!("its Pods would be rejected: {code}: {message}"));
            return Ok(Value::Null);
        }
        let now = asked.iter().flat_map(|asked| gets(&asked.evaluation)).collect::<Vec<_>>().join("; ");
        let later = self.files.iter().flat_map(when_bound).collect::<Vec<_>>().join(", ");
        printer.below(&match (now.is_empty(), later.is_empty()) {
            (true, true) => "its Pods would stay as they are".to_owned(),
            (false, true) => format!("its Pods would get {now}"),
            (true, false) => format!("its Pods would get {later} when they are bound"),
            (false, false) => format!("its Pods would get {now}; and when they are bound, {later}"),
        });
        self.tell_of_nodes("its Pods", &stored(&creation, &asked)["spec"], printer)
    }

    /// Tells on which nodes of the cluster a Pod could run, where there are some.
    fn tell_of_nodes(&self, whose: &str, spec: &Value, printer: &mut Printer) -> Result<Value> {
        let has_nodes =
            self.known.objects().iter().any(|object| ["Node", "NodePool"].contains(&object.identity.kind.as_str()));
        if !self.has_cluster || !has_nodes || runtime_class::missing(spec, &self.known).is_some() {
            return Ok(Value::Null);
        }
        let placed = Placed::read(std::slice::from_ref(spec), &self.known)?;
        let fit: Fit = placed.fit(&pools_for(&self.files, [&placed], &self.known)?, &[]);
        let usable: Vec<&String> = fit.usable().flat_map(|pool| &pool.usable).collect();
        where_to_run(whose, &fit).iter().for_each(|line| printer.below(line));
        Ok(json!(usable))
    }
}

fn is_accepted(asked: &[Asked]) -> bool {
    asked.iter().all(|asked| asked.evaluation.answer.accepted)
}

/// The object as it is after all policies.
fn stored<'a>(request: &'a Value, asked: &'a [Asked]) -> &'a Value {
    let changed = asked.iter().rev().find_map(|asked| asked.evaluation.answer.mutated_object.as_ref());
    changed.unwrap_or(&request["object"])
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

/// What Bindings bring, as far as the Nodes have it.
fn when_bound(file: &SettingsFile) -> Vec<String> {
    let deployment = file.policy.as_ref();
    let is_sent = deployment.is_none_or(|deployment| deployment.sends(("", "pods/binding", "CREATE")));
    if is_sent { ManagedKeys::of(&file.typed).named() } else { vec![] }
}
