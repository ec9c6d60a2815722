//! A case: the request that it makes, and what becomes of it.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{
    asked::Asked,
    expect::{Answered, Mismatch},
    file::{Case, Test},
    nodes::nodes,
    source::written_out,
};
use crate::{
    Evaluation, Policy, SettingsFile, admission_request, requests::admission::of_manifest, scheduling::places::Places,
    stored,
};

impl Test {
    /// Has the policy answer a case.
    ///
    /// # Errors
    /// The case can't be asked: what it says is no request, or the policy does not handle its kind.
    pub fn run(&self, case: &Case, policy: &Policy) -> Result<Answered> {
        let policies = self.deployed(case)?;
        for SettingsFile { settings, .. } in policies.iter() {
            let answer = policy.validate_settings(settings)?;
            if !answer.valid {
                return Ok(Answered { invalid: Some(answer.message.unwrap_or_default()), ..Answered::default() });
            }
        }
        let asked = Asked { policies: &policies, cluster: self.cluster(), policy };
        let request = self.request(case)?;
        let (evaluation, not_asked) = asked.answer(&request)?;
        let nodes = match case.expect.nodes {
            Some(_) => {
                let places = Places::of(self.cluster())?;
                Some(nodes(&asked, &places, &request, &evaluation).context("expect.nodes")?)
            }
            None => None,
        };
        let binding = evaluation.answer.mutated_object.as_ref();
        let bound_pod = case.pod.as_ref().zip(binding).map(|(pod, binding)| stored::bound(pod, binding));
        Ok(Answered { invalid: None, request, evaluation, not_asked, nodes, bound_pod })
    }

    /// Has the policy answer a case, and compares that with what is expected. A rejection only because the test's
    /// cluster lacks an object is none, unless it is expected with its code.
    ///
    /// # Errors
    /// The case can't be asked, or its settings have a mistake that nobody expects.
    pub fn check(&self, case: &Case, policy: &Policy) -> Result<(Answered, Vec<Mismatch>)> {
        let answered = self.run(case, policy)?;
        if let (Some(message), None) = (&answered.invalid, &case.expect.invalid) {
            bail!("settings: {message}");
        }
        let mut mismatches = case.expect.compare(&answered);
        if answered.evaluation.answer.code == Some(500) && case.expect.code != Some(500) {
            mismatches.extend(self.lacking(&answered.evaluation));
        }
        Ok((answered, mismatches))
    }

    /// What the policy looks up, and the test's cluster does not have.
    fn lacking(&self, evaluation: &Evaluation) -> impl Iterator<Item = Mismatch> {
        let missing = evaluation.record.lookups.iter().filter(|lookup| !self.cluster().finds(lookup));
        missing.map(|lookup| Mismatch { field: "cluster", expected: lookup.to_string(), found: "nothing".to_owned() })
    }

    /// The admission request of a case.
    ///
    /// # Errors
    /// It can't be made.
    pub fn request(&self, case: &Case) -> Result<Value> {
        let manifest = self.manifest(case).context("manifest: expected an object; it is missing")?;
        let old = case.old.as_ref().and_then(|old| old.inline()).cloned();
        let recorded = admission_request(manifest);
        let mut request = if recorded.get("operation").is_some() {
            let mut request = recorded.clone();
            if let Some(old) = old {
                request["oldObject"] = old;
            }
            request
        } else {
            let is_object = manifest.get("kind").is_some() && manifest.get("metadata").is_some_and(Value::is_object);
            ensure!(
                is_object,
                "manifest: expected an object with apiVersion, kind and metadata, or an admission request"
            );
            of_manifest(manifest.clone(), old)?.with_context(|| {
                format!("manifest: the policy does not handle the kind {}", manifest["kind"].as_str().unwrap_or("?"))
            })?
        };
        if let Some(operation) = case.operation {
            request["operation"] = json!(operation);
        }
        if let Some(user) = &case.user {
            request["userInfo"] = json!({ "username": user.username, "groups": user.groups });
        }
        for difference in self.differences(case) {
            json_patch::merge(&mut request, &written_out(difference));
        }
        let is_update = request["operation"] == "UPDATE" && request["oldObject"].is_null();
        ensure!(!is_update || case.operation.is_none(), "old: an UPDATE needs the object as it is before");
        Ok(request)
    }
}
