//! Who is asked what, and what comes of it.

use anyhow::Result;
use serde_json::Value;

use super::{
    Preview,
    creation::{self},
    delivery,
    finding::{Cause, Finding, Verdict, field, findings, would_be},
    fit,
    owner::Owner,
    pod, runtime_class,
    tally::{Subject, Tally},
};
use crate::input::json::text;
use crate::{
    Evaluation, Manifest,
    requests::resource::{BINDING, NAMESPACE, POD, Resource},
};

impl Preview<'_> {
    pub(super) fn ask_about(&self, manifest: &Manifest, tally: &mut Tally) -> Result<()> {
        let identity = &manifest.identity;
        let Some(resource) = Resource::of(&identity.api_version, &identity.kind) else {
            // These are there to be looked up.
            if !["Node", "RuntimeClass"].contains(&identity.kind.as_str()) {
                *tally.unasked.entry(identity.kind.clone()).or_default() += 1;
            }
            return Ok(());
        };
        let object = manifest.parse();
        if resource == POD {
            return self.ask_about_pod(&object, tally);
        }
        let name = identity.name.clone();
        let namespace = if resource == NAMESPACE { Some(name.clone()) } else { identity.namespace.clone() };
        let subject = Subject { resource, namespace: namespace.unwrap_or_default(), name, owner: None };
        self.ask(&creation::of(resource, &object), &subject, tally)?;
        if resource == NAMESPACE { self.try_namespace(&subject.name, tally) } else { Ok(()) }
    }

    fn ask_about_pod(&self, pod: &Value, tally: &mut Tally) -> Result<()> {
        // A Node owns its mirror Pods, but nobody would call it their owner.
        let owner = Owner::of(pod, &self.cluster).filter(|owner| owner.kind != "Node");
        let subject = Subject {
            resource: POD,
            namespace: text(&pod["metadata"]["namespace"]).to_owned(),
            name: text(&pod["metadata"]["name"]).to_owned(),
            owner: owner.as_ref().map(|owner| (owner.kind.clone(), owner.name.clone())),
        };
        let request = pod::creation(pod, owner.as_ref(), &self.managed, &self.cluster);
        let created = &request["object"];
        // The API server merges the class before the policy is asked.
        if let Some(missing) = runtime_class::missing(&created["spec"], &self.cluster) {
            tally.count_unknown(POD.kind, &missing);
            return Ok(());
        }
        let evaluation = self.ask(&request, &subject, tally)?;
        let waits = evaluation
            .as_ref()
            .and_then(|evaluation| self.would_wait(created, evaluation, &mut tally.known_to_wait))
            .map(|reason| Finding::Waits { reason: reason.to_owned() });
        let Some(binding) = pod::binding(pod, created, |name| self.node(name)) else {
            waits.into_iter().for_each(|waits| tally.report(&subject, waits, None, self.keep_names));
            return Ok(());
        };
        let unbound = self.bind(&binding, &subject, tally)?;
        let node = text(&binding["object"]["target"]["name"]);
        if let Some(waits) = waits {
            // That it would not come to its node again is said with that.
            tally.report(&subject, waits, Some(node), self.keep_names);
            return Ok(());
        }
        let misfit = || fit::misfit(created, evaluation.as_ref()?, self.node(node)?);
        // What a new Pod would get says more than a refused Binding: it is what to look for on nodes.
        let reason = misfit().or(unbound);
        if let Some(reason) = reason {
            tally.report(&subject, Finding::Misplaced { reason }, Some(node), self.keep_names);
        }
        Ok(())
    }

    /// Asks about the Binding that would bring the Pod to its node again. Returns why it could not, if so: then nothing
    /// is rejected, for a Pod that runs is not bound again.
    fn bind(&self, request: &Value, pod: &Subject, tally: &mut Tally) -> Result<Option<String>> {
        let subject = Subject { resource: BINDING, owner: None, ..pod.clone() };
        let node = text(&request["object"]["target"]["name"]);
        let Some(evaluation) = self.evaluate(request, &subject, tally)? else { return Ok(None) };
        if evaluation.answer.accepted {
            tally.count(BINDING.kind, Verdict::of(&evaluation));
        }
        for finding in findings(&evaluation) {
            match finding.without_name(POD.kind, &subject.name) {
                Finding::Rejected { reason, .. } => return Ok(Some(without_node(&reason, node))),
                finding => tally.report(&subject, finding, None, self.keep_names),
            }
        }
        Ok(None)
    }

    /// Asks, and reports what comes of it. Returns the answer, if one can be told.
    fn ask(&self, request: &Value, subject: &Subject, tally: &mut Tally) -> Result<Option<Evaluation>> {
        let evaluation = self.evaluate(request, subject, tally)?;
        if let Some(evaluation) = &evaluation {
            tally.count(subject.resource.kind, Verdict::of(evaluation));
        }
        let metadata = &request["object"]["metadata"];
        let name = metadata.get("name").or(metadata.get("generateName")).map(text).unwrap_or_default();
        let would_be = if evaluation.is_some() { self.would_be(request, subject)? } else { vec![] };
        for finding in evaluation.iter().flat_map(findings).chain(would_be) {
            let finding = match finding {
                Finding::Rejected { code, reason, .. } => {
                    let cause = self.cause(&reason, request, subject)?;
                    Finding::Rejected { code, reason, cause }
                }
                finding => finding,
            };
            tally.report(subject, finding.without_name(subject.resource.kind, name), None, self.keep_names);
        }
        Ok(evaluation)
    }

    /// What is behind a rejection.
    fn cause(&self, reason: &str, request: &Value, subject: &Subject) -> Result<Cause> {
        let class = runtime_class::added(&request["object"]["spec"], &self.cluster);
        if let Some(class) = class.filter(|class| subject.resource == POD && class.is_told_in(reason)) {
            let resolves = self.settings["placement"]["onRuntimeClasses"] == "Resolve";
            return Ok(Cause::RuntimeClass { name: class.name, adds: class.adds.join(", "), resolves });
        }
        let is_default = field(reason).is_some_and(|field| field.to_lowercase().ends_with("defaultnodeselector"));
        let Some(yielding) = self.yielding.as_ref().filter(|_| is_default) else { return Ok(Cause::Object) };
        let answer = self.policy.validate(request, yielding, self.cluster.clone())?.answer;
        let still = answer.message.filter(|_| !answer.accepted);
        let by = |message: &String| field(message).unwrap_or("the annotations of the namespace").to_owned();
        Ok(Cause::Default { still: still.as_ref().map(by) })
    }

    /// What would become of a request to a namespace that is only warned, and what does not become of it now.
    fn would_be(&self, request: &Value, subject: &Subject) -> Result<Vec<Finding>> {
        if !self.only_warns(&subject.namespace) {
            return Ok(vec![]);
        }
        let now = would_be(&self.policy.validate(request, self.settings, self.cluster.clone())?);
        let enforced = self.policy.validate(request, &self.enforced, self.cluster.clone())?;
        if enforced.lookups.iter().any(|lookup| !self.cluster.finds(lookup)) {
            return Ok(vec![]);
        }
        Ok(would_be(&enforced).into_iter().filter(|finding| !now.contains(finding)).collect())
    }

    /// Asks. Nothing, if the request would not reach the policy, or CLUSTER lacks what the answer needs; that is counted.
    fn evaluate(&self, request: &Value, subject: &Subject, tally: &mut Tally) -> Result<Option<Evaluation>> {
        let Subject { resource, namespace, .. } = subject;
        let Some(there) = self.namespace(namespace) else {
            tally.count_unknown(resource.kind, &format!("Namespace {namespace}"));
            return Ok(None);
        };
        if let Some(reason) = self.spared(request, there) {
            *tally.spared.entry(reason).or_default() += 1;
            return Ok(None);
        }
        if let Some(condition) =
            self.deployment.and_then(|deployment| delivery(deployment, request, Some(there)).unknown())
        {
            *tally.unchecked.entry(condition).or_default() += 1;
        }
        let evaluation = self.policy.validate(request, self.settings, self.cluster.clone())?;
        if let Some(missing) = evaluation.lookups.iter().find(|lookup| !self.cluster.finds(lookup)) {
            tally.count_unknown(resource.kind, &missing.to_string());
            return Ok(None);
        }
        Ok(Some(evaluation))
    }

    /// Why the deployment keeps a request from the policy.
    pub(super) fn spared(&self, request: &Value, namespace: &Value) -> Option<String> {
        delivery(self.deployment?, request, Some(namespace)).kept_away()
    }
}

/// In words that are the same for all nodes.
fn without_node(reason: &str, node: &str) -> String {
    let called = ["node", "Node"].map(|word| format!("{word} \"{node}\""));
    called.iter().fold(reason.to_owned(), |reason, called| reason.replace(called, "its node"))
}
