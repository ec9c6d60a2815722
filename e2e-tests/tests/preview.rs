//! The preview of a cluster tells the truth: what it asks is judged as what a real API server asked.

use std::path::Path;

use anyhow::{Result, ensure};
use e2e_tests::{
    Evaluation, Identity, Manifests, SettingsFile,
    generated::{Born, Size, cluster},
    policy_under_test,
    preview::{Preview, Verdict},
};
use rstest::rstest;
use serde_json::Value;

const SMALL: Size = Size { nodes: 7, namespaces: 15, pods: 400 };

fn settings(name: &str) -> Result<SettingsFile> {
    SettingsFile::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/settings").join(format!("{name}.yml")))
}

fn manifests(objects: &[Born]) -> Manifests {
    objects.iter().map(|born| born.object.clone()).collect()
}

fn identity(object: &Value) -> Identity {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Identity {
        api_version: text(&object["apiVersion"]).unwrap(),
        kind: text(&object["kind"]).unwrap(),
        namespace: text(&object["metadata"]["namespace"]),
        name: text(&object["metadata"]["name"]).unwrap(),
    }
}

/// All that a user sees of an answer.
fn answer(evaluation: &Evaluation) -> Value {
    serde_json::json!({
        "accepted": evaluation.answer.accepted,
        "code": evaluation.answer.code,
        "message": evaluation.answer.message,
        "warnings": evaluation.answer.warnings,
        "audit": evaluation.answer.audit_annotations,
        "patch": evaluation.patch,
    })
}

#[rstest]
fn every_object_is_judged_as_it_was_when_it_was_created(
    #[values(
        "bindings",
        "fence",
        "placement",
        "plugin",
        "protect",
        "rack-and-provider",
        "set",
        "warn",
        "whitelist",
        "zone",
        "zone-default",
        "zone-required"
    )]
    name: &str,
) -> Result<()> {
    let policy = policy_under_test()?;
    let file = settings(name)?;
    let objects = cluster(Size { nodes: 7, namespaces: 12, pods: 0 });
    let cluster = manifests(&objects);
    let preview = Preview::new(&policy, &file, cluster.clone(), false);
    for Born { object, requests } in &objects {
        let identity = identity(object);
        let asked = preview.requests(&identity);
        ensure!(asked.len() == requests.len(), "{identity:?}: {} instead of {} requests", asked.len(), requests.len());
        for (asked, real) in asked.iter().zip(requests) {
            let told = answer(&policy.validate(asked, &file.settings, cluster.clone())?);
            let truth = answer(&policy.validate(real, &file.settings, cluster.clone())?);
            ensure!(told == truth, "{identity:?}:\n{told}\ninstead of\n{truth}\nasked {asked}");
        }
    }
    Ok(())
}

#[rstest]
fn the_sum_is_that_of_the_real_requests(
    #[values("bindings", "placement", "whitelist", "protect")] name: &str,
) -> Result<()> {
    let policy = policy_under_test()?;
    let file = settings(name)?;
    let objects = cluster(SMALL);
    let cluster = manifests(&objects);
    let tally = Preview::new(&policy, &file, cluster.clone(), false).run(|_, _| {})?;
    let mut rejected = 0;
    for request in objects.iter().flat_map(|born| &born.requests) {
        let evaluation = policy.validate(request, &file.settings, cluster.clone())?;
        rejected += usize::from(!evaluation.answer.accepted);
    }
    assert_eq!(tally.total(Verdict::Rejected), rejected);
    Ok(())
}
