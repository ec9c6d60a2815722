//! What the policy does with requests of every kind, case by case: the files in `cases` are run as
//! `kubectl node-placement test` runs them.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use cli::policies::{backstop::backstop_file, overrides::Overrides, twin::twin_file};
use e2e_tests::{
    Evaluation, Policy,
    admission_policies::{AdmissionPolicies, as_stored},
    policy_under_test,
    testing::report::lines,
};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::case::{self, Case};

pub fn trials() -> Result<Vec<Trial>> {
    let policy = Arc::new(policy_under_test()?);
    case::trials("cases", move |case| {
        let (answered, mismatches) = case.test.check(&case.case, &policy)?;
        ensure!(mismatches.is_empty(), "{}", lines(&mismatches).join("\n"));
        if answered.invalid.is_some() {
            return Ok(());
        }
        shows_all(&answered.evaluation)?;
        settles(&policy, case, &answered.evaluation)?;
        let Some(creation) = Creation::in_a_fence(case)? else { return Ok(()) };
        creation.passes_backstop(&answered.evaluation)?;
        creation.agrees_with_twin(&policy, case, &answered.evaluation)
    })
}

/// Whatever others call their objects: nothing that the policy says has a control character, or one that changes the
/// direction of text.
fn shows_all(evaluation: &Evaluation) -> Result<()> {
    let Evaluation { answer, record, .. } = evaluation;
    let mut texts: Vec<String> = answer.message.iter().cloned().collect();
    texts.extend(answer.warnings.iter().flatten().cloned());
    texts.extend(answer.audit_annotations.iter().flat_map(|annotations| annotations.values().cloned()));
    texts.extend(record.logs.iter().map(|log| log["message"].as_str().unwrap_or_default().to_owned()));
    let is_hidden = |it: char| it.is_control() || matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = texts.iter().find(|text| text.contains(is_hidden));
    ensure!(hides.is_none(), "it hides something: {hides:?}");
    Ok(())
}

/// The policy may see its own result again: it changes and rejects nothing then.
fn settles(policy: &Policy, case: &Case, evaluation: &Evaluation) -> Result<()> {
    let Some(mutated) = &evaluation.answer.mutated_object else { return Ok(()) };
    let mut request = case.request()?;
    request["object"] = mutated.clone();
    let again = policy.validate(&request, &case.settings()?, case.cluster().clone()).context("the second time")?;
    ensure!(again.answer.accepted, "its own result is rejected: {:?}", again.answer.message);
    ensure!(again.answer.mutated_object.is_none(), "its own result is changed: {:?}", again.patch);
    Ok(())
}

/// A Pod that is created by somebody, for settings that fence namespaces.
struct Creation {
    settings: Value,
    request: Value,
    namespace: Value,
}

impl Creation {
    fn in_a_fence(case: &Case) -> Result<Option<Self>> {
        let (settings, request) = (case.settings()?, case.request()?);
        let entries = settings["placement"]["namespaces"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has_fence = entries.len() <= 100 && entries.iter().any(|entry| entry["requiredNodeSelector"].is_string());
        let creates_pod = request["operation"] == "CREATE"
            && request["resource"]["resource"] == "pods"
            && request["subResource"].as_str().unwrap_or_default().is_empty();
        // API servers know who asks; the audit scanner does not say it.
        let has_user = request["userInfo"]["username"].as_str().is_some_and(|name| !name.is_empty());
        let name = request["namespace"].as_str().unwrap_or_default();
        let mut namespace = case.cluster().namespace(name).cloned().unwrap_or_else(|| json!({ "metadata": {} }));
        namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
        Ok((has_fence && creates_pod && has_user).then_some(Self { settings, request, namespace }))
    }

    /// A Pod that the policy let in, as it completed it, passes the backstop for the same settings.
    fn passes_backstop(&self, evaluation: &Evaluation) -> Result<()> {
        let mut request = self.request.clone();
        let names_node = request["object"]["spec"]["nodeName"].as_str().is_some_and(|name| !name.is_empty());
        if names_node || !evaluation.answer.accepted {
            return Ok(());
        }
        if let Some(completed) = &evaluation.answer.mutated_object {
            request["object"] = completed.clone();
        }
        let backstop = AdmissionPolicies::read(&backstop_file(&self.settings.to_string(), &Overrides::default())?)?;
        let denied = backstop.admit(&request, &self.namespace)?.denied;
        ensure!(denied.is_empty(), "the backstop refuses what the policy completed: {denied:?}");
        Ok(())
    }

    /// The policy makes the same of a Pod, whether the twin has completed it before or not.
    fn agrees_with_twin(&self, policy: &Policy, case: &Case, evaluation: &Evaluation) -> Result<()> {
        let entries = self.settings["placement"]["namespaces"].as_array().into_iter().flatten();
        if entries.filter(|entry| entry["requiredNodeSelector"].is_string()).all(|entry| entry["enforcement"] == "Warn")
        {
            return Ok(());
        }
        let twin = AdmissionPolicies::read(&twin_file(&self.settings.to_string(), &Overrides::default())?)?;
        let mut request = self.request.clone();
        request["object"] = twin.mutate(&self.request, &self.namespace)?;
        let again = policy.validate(&request, &self.settings, case.cluster().clone())?.answer;
        let alone = &evaluation.answer;
        ensure!(again.accepted == alone.accepted, "{} without the twin: {:?}", alone.accepted, again.message);
        let of_both = again.mutated_object.as_ref().unwrap_or(&request["object"]);
        let of_policy = alone.mutated_object.as_ref().unwrap_or(&self.request["object"]);
        let (of_both, of_policy) = (as_stored(of_both), as_stored(of_policy));
        ensure!(!alone.accepted || of_both == of_policy, "with the twin\n{of_both}\nand without\n{of_policy}");
        Ok(())
    }
}
