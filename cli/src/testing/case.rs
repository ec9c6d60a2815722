//! A case: the request that it makes, what the policies answer to it, and the nodes that its Pods may run on.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{
    expect::{CaseAnswer, Mismatch, compare},
    file::{Case, Source, Test, expanded},
};
use crate::{
    Evaluation, Identity, Policy, SettingsFile,
    input::json::text,
    requests::{plugins::merge_runtime_class, pod::bound_pod, template::pod_request},
    scheduling::{constraints::Constraints, pool::Pools},
    trial::{Trial, request_from},
};

impl Test {
    /// Puts a case to the policies.
    ///
    /// # Errors
    /// The case makes no request, or the policy does not handle its kind.
    pub fn run(&self, case: &Case, policy: &Policy) -> Result<CaseAnswer> {
        let files = self.deployed(case)?;
        for SettingsFile { settings, .. } in &files {
            let answer = policy.validate_settings(settings)?;
            if !answer.valid {
                return Ok(CaseAnswer { invalid: Some(answer.message.unwrap_or_default()), ..CaseAnswer::default() });
            }
        }
        let trial = Trial { policy, files: &files, known: self.cluster() };
        let request = self.request(case)?;
        let (evaluation, not_asked) = trial.evaluate(request.clone())?;
        let mut nodes = None;
        if case.expected.contains_key("nodes") {
            let pools = Pools::read(self.cluster(), BTreeSet::new(), [])?;
            nodes = Some(self::nodes(&trial, &pools, &request, &evaluation).context("expect.nodes")?);
        }
        let binding = evaluation.answer.mutated_object.as_ref();
        let bound_pod = case.pod.as_ref().zip(binding).map(|(pod, binding)| bound_pod(pod, binding));
        Ok(CaseAnswer { invalid: None, request, evaluation, not_asked, nodes, bound_pod })
    }

    /// Puts a case to the policies, and compares the answer with what is expected. A rejection only because the test's
    /// cluster lacks an object is none, unless it is expected with its code.
    ///
    /// # Errors
    /// The case makes no request, or its settings have a mistake that is not expected.
    pub fn check(&self, case: &Case, policy: &Policy) -> Result<(CaseAnswer, Vec<Mismatch>)> {
        let answered = self.run(case, policy)?;
        if let (Some(message), None) = (&answered.invalid, case.expected.get("invalid")) {
            bail!("settings: {message}");
        }
        let mut mismatches = compare(&case.expected, &answered);
        if answered.evaluation.answer.code == Some(500) && case.expected.get("code") != Some(&json!(500)) {
            let lacks = |object: &Identity| self.cluster().find(object).is_none();
            mismatches.extend(answered.evaluation.looked_up().filter(lacks).map(|object| Mismatch {
                field: "cluster".to_owned(),
                expected: object.to_string(),
                found: "nothing".to_owned(),
            }));
        }
        Ok((answered, mismatches))
    }

    /// The admission request of a case.
    ///
    /// # Errors
    /// The case has no manifest, its kind is none that the policy handles, or an UPDATE has no old object.
    pub fn request(&self, case: &Case) -> Result<Value> {
        let Source(manifest) = case.manifest.as_ref().context("manifest: expected an object; it is missing")?;
        let old = case.old.as_ref().map(|Source(old)| old.clone());
        let mut request = request_from(manifest, old).context("manifest")?.with_context(|| {
            format!("manifest: the policy does not handle the kind {}", manifest["kind"].as_str().unwrap_or("?"))
        })?;
        if let Some(operation) = case.operation {
            request["operation"] = json!(operation);
        }
        if let Some(user) = &case.user {
            request["userInfo"] = json!({ "username": user.username, "groups": user.groups });
        }
        for change in [&self.with, &case.with].into_iter().flatten() {
            json_patch::merge(&mut request, &expanded(change));
        }
        let is_update = request["operation"] == "UPDATE" && request["oldObject"].is_null();
        ensure!(!is_update || case.operation.is_none(), "old: an UPDATE needs the object as it is before");
        Ok(request)
    }
}

/// The names of the nodes and NodePools that may run the Pod of a request, or the Pods of its workload; none, if these
/// are rejected.
///
/// # Errors
/// The object of the request makes no Pods.
pub fn nodes(trial: &Trial<'_>, pools: &Pools, request: &Value, evaluation: &Evaluation) -> Result<Vec<String>> {
    let mut pod = evaluation.answer.mutated_object.as_ref().unwrap_or(&request["object"]).clone();
    let creation = pod_request(&pod, trial.known);
    let is_pod = pod["kind"] == "Pod";
    ensure!(is_pod || creation.is_some(), "a {} makes no Pods", pod["kind"].as_str().unwrap_or("object"));
    if !evaluation.answer.accepted {
        return Ok(vec![]);
    }
    if let Some(creation) = creation {
        pod = creation["object"].clone();
        let answer = trial.evaluate(creation)?.0.answer;
        if !answer.accepted {
            return Ok(vec![]);
        }
        pod = answer.mutated_object.unwrap_or(pod);
    }
    let spec = &mut pod["spec"];
    merge_runtime_class(spec, trial.known);
    Ok(pools.takers(&Constraints::of_kind(text(&request["object"]["kind"]), spec, trial.known)?))
}
