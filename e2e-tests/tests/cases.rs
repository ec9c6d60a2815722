//! What the policy does with requests of every kind, case by case: the files in `cases` are stories that nobody tells.
//!
//! Every case is a test: `cargo test -p e2e-tests --test cases -- "a label that must not be there"` runs one alone.

mod common;

use std::{process::ExitCode, sync::Arc};

use anyhow::{Context, Result, ensure};
use cli::policies::policy_file::{Around, backstop_file};
use common::Case;
use e2e_tests::{Evaluation, Policy, admission_policies::AdmissionPolicies, policy_under_test};
use serde_json::json;

fn main() -> Result<ExitCode> {
    let policy = Arc::new(policy_under_test()?);
    common::run(move |case| {
        if let Some(mistake) = &case.step.expect.invalid {
            let found = policy.validate_settings(&case.settings())?.message.unwrap_or_default();
            ensure!(found.starts_with(mistake), "expected {mistake:?}, got {found:?}");
            return Ok(());
        }
        let evaluation = evaluate(&policy, case)?;
        case.step.check(&evaluation)?;
        settles(&policy, case, &evaluation)?;
        passes_backstop(case, &evaluation)
    })
}

fn evaluate(policy: &Policy, case: &Case) -> Result<Evaluation> {
    let settings = case.settings();
    let answer = policy.validate_settings(&settings)?;
    ensure!(answer.valid, "invalid settings: {}", answer.message.unwrap_or_default());
    policy.validate(&case.request()?, &settings, case.cluster()?)
}

/// The policy may see its own result again: it changes and rejects nothing then.
fn settles(policy: &Policy, case: &Case, evaluation: &Evaluation) -> Result<()> {
    let Some(mutated) = &evaluation.answer.mutated_object else { return Ok(()) };
    let mut request = case.request()?;
    request["object"] = mutated.clone();
    let again = policy.validate(&request, &case.settings(), case.cluster()?).context("the second time")?;
    ensure!(again.answer.accepted, "its own result is rejected: {:?}", again.answer.message);
    ensure!(again.answer.mutated_object.is_none(), "its own result is changed: {:?}", again.patch);
    Ok(())
}

/// A Pod that the policy let in, as it completed it, passes the backstop for the same settings.
fn passes_backstop(case: &Case, evaluation: &Evaluation) -> Result<()> {
    let (settings, mut request) = (case.settings(), case.request()?);
    let entries = settings["placement"]["namespaces"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has_fence = entries.len() <= 100 && entries.iter().any(|entry| entry["requiredNodeSelector"].is_string());
    let creates_pod = request["operation"] == "CREATE"
        && request["resource"]["resource"] == "pods"
        && request["subResource"].as_str().unwrap_or_default().is_empty();
    // API servers know who asks; the audit scanner does not say it.
    let has_user = request["userInfo"]["username"].as_str().is_some_and(|name| !name.is_empty());
    let names_node = request["object"]["spec"]["nodeName"].as_str().is_some_and(|name| !name.is_empty());
    if !has_fence || !creates_pod || !has_user || names_node || !evaluation.answer.accepted {
        return Ok(());
    }
    if let Some(completed) = &evaluation.answer.mutated_object {
        request["object"] = completed.clone();
    }
    let name = request["namespace"].as_str().unwrap_or_default();
    let mut namespace = case.cluster()?.namespace(name).cloned().unwrap_or_else(|| json!({ "metadata": {} }));
    namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
    let backstop = AdmissionPolicies::read(&backstop_file(&settings.to_string(), &Around::default())?)?;
    let denied = backstop.admit(&request, &namespace)?.denied;
    ensure!(denied.is_empty(), "the backstop refuses what the policy completed: {denied:?}");
    Ok(())
}
