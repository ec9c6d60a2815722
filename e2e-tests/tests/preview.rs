//! The preview of a cluster tells the truth: what it refuses is what the policy refused when a real API server asked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    Identity, Manifests, Policy, SettingsFile,
    generated::{Born, Size, cluster, list},
    policy_under_test,
    preview::{Forecast, Outcome, Preview, PreviewInput},
};
use rstest::rstest;
use serde_json::Value;

const SMALL: Size = Size { nodes: 7, namespaces: 15, pods: 300 };

fn settings(name: &str) -> Result<SettingsFile> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/settings").join(format!("{name}.yml"));
    SettingsFile::load(&path)?.0.pop().context("settings")
}

fn preview(policy: &Policy, name: &str, objects: &[Born]) -> Result<Preview> {
    let cluster = objects.iter().map(|born| born.object.clone()).collect::<Manifests>();
    let files = [settings(name)?];
    PreviewInput { policy, files: &files, old: None, cluster: &cluster, accepted: &[], fixed_nodes: false }
        .preview(|_, _| {})
}

/// To whom an object belongs in the end: `Deployment team-a/web`.
fn topmost(object: &Value, cluster: &Manifests) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = object["metadata"]["namespace"].as_str();
    let owner = object["metadata"]["ownerReferences"].as_array().and_then(|owners| owners.first());
    let found = owner.and_then(|owner| {
        cluster.find(&Identity::new(
            &text(&owner["apiVersion"]),
            &text(&owner["kind"]),
            namespace,
            &text(&owner["name"]),
        ))
    });
    match found {
        Some(owner) => topmost(owner, cluster),
        None => {
            format!("{} {}/{}", text(&object["kind"]), namespace.unwrap_or_default(), text(&object["metadata"]["name"]))
        }
    }
}

/// Creations of workloads and Pods are those that a real API server sent; Bindings are told as waiting or moving.
#[rstest]
fn what_is_refused_is_what_was_refused_when_it_was_created(
    #[values("bindings", "fence", "placement", "plugin", "protect", "set", "warn", "whitelist", "zone-required")] name: &str,
) -> Result<()> {
    let policy = policy_under_test()?;
    let objects = cluster(SMALL);
    let cluster: Manifests = objects.iter().map(|born| born.object.clone()).collect();
    let file = settings(name)?;
    let mut refused: BTreeMap<String, bool> = BTreeMap::new();
    let (mut with_pods, mut injected_before) = (BTreeSet::new(), BTreeSet::new());
    for Born { object, requests } in &objects {
        let creation = requests.first().filter(|request| request["subResource"].is_null());
        let makes_pods = object["kind"] == "Pod"
            || object["spec"]["template"].is_object()
            || object["spec"]["jobTemplate"].is_object();
        let Some(creation) = creation.filter(|_| makes_pods) else { continue };
        let answer = policy.validate(creation, &file.settings, cluster.clone())?.answer;
        let workload = topmost(object, &cluster);
        if object["kind"] == "Pod" {
            with_pods.insert(workload.clone());
            // What its Pod got from somebody else, it will get again; whoever created it did not ask for it.
            if object["spec"]["nodeSelector"] != creation["object"]["spec"]["nodeSelector"] {
                injected_before.insert(workload.clone());
            }
        }
        *refused.entry(workload).or_default() |= !answer.accepted;
    }
    let preview = preview(&policy, name, &objects)?;
    ensure!(preview.workloads.len() > 50, "only {} workloads", preview.workloads.len());
    for workload in &preview.workloads {
        let called = format!("{} {}/{}", workload.kind, workload.namespace, workload.name);
        let was = refused.get(&called).with_context(|| format!("nobody created {called}"))?;
        let Forecast { outcome, would_be } = workload.finding.forecast;
        let is = outcome == Outcome::Refused && !would_be;
        // Of what has no Pods, no request shows whether they would be refused.
        if is && !was && (!with_pods.contains(&called) || injected_before.contains(&called)) {
            continue;
        }
        ensure!(is == *was, "{called}: refused {was}, the preview says {outcome:?}: {:?}", workload.finding.reason);
    }
    Ok(())
}

#[test]
fn a_preview_does_not_depend_on_the_order_of_objects() -> Result<()> {
    let objects = cluster(SMALL);
    let forward = preview(&Policy::native(), "whitelist", &objects)?;
    let reversed: Vec<Born> = objects.into_iter().rev().collect();
    let backward = preview(&Policy::native(), "whitelist", &reversed)?;
    assert_eq!(serde_json::to_value(&forward)?, serde_json::to_value(&backward)?);
    Ok(())
}

/// The page of a large cluster is one that a browser opens at once, and its text is one that a person reads. How long
/// it takes is told, and not held: machines differ.
#[test]
fn the_page_of_a_large_cluster_is_small() -> Result<()> {
    let objects = cluster(Size { nodes: 500, namespaces: 300, pods: 20_000 });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large-cluster.json");
    fs::write(&path, list(&objects).to_string())?;
    drop(objects);
    let start = Instant::now();
    let (files, policy) = ([settings("bindings")?], Policy::native());
    let cluster = Manifests::load(&path)?;
    let preview = PreviewInput {
        policy: &policy,
        files: &files,
        old: None,
        cluster: &cluster,
        accepted: &[],
        fixed_nodes: false,
    }
    .preview(|_, _| {})?;
    let page = cli::output::preview::page(&preview, &cli::output::preview::Origin::default())?;
    let text = cli::output::preview::text(&preview, 100, false);
    println!("{:.1} s, {} KB, {} lines", start.elapsed().as_secs_f64(), page.len() / 1000, text.lines().count());
    ensure!(page.len() < 2_000_000, "the page has {} bytes", page.len());
    ensure!(text.lines().count() < 500, "the text has {} lines", text.lines().count());
    let namespaces: BTreeSet<&str> = preview.workloads.iter().map(|workload| workload.namespace.as_str()).collect();
    ensure!(namespaces.len() >= 300, "workloads in {} namespaces only", namespaces.len());
    Ok(())
}
