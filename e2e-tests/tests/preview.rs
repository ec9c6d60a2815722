//! The preview of a cluster tells the truth: what it asks is judged as what a real API server asked.

use std::{fs, path::Path, sync::LazyLock, time::Instant};

use anyhow::{Result, ensure};
use e2e_tests::{
    Evaluation, Identity, Manifests, Policy, SettingsFile,
    generated::{Born, Size, cluster, list},
    policy_under_test,
    preview::{Finding, Origin, Preview, Verdict, page, report},
};
use rstest::rstest;
use serde_json::{Value, json};

const SMALL: Size = Size { nodes: 7, namespaces: 15, pods: 300 };

/// Compiled once.
fn policy() -> &'static Policy {
    static POLICY: LazyLock<Policy> = LazyLock::new(|| policy_under_test().expect("the policy"));
    &POLICY
}

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
    json!({
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
    let file = settings(name)?;
    let objects = cluster(Size { nodes: 7, namespaces: 10, pods: 0 });
    let cluster = manifests(&objects);
    let preview = Preview::new(policy(), &file, cluster.clone(), false);
    for Born { object, requests } in &objects {
        let identity = identity(object);
        let asked = preview.requests(&identity);
        ensure!(asked.len() == requests.len(), "{identity:?}: {} instead of {} requests", asked.len(), requests.len());
        for (asked, real) in asked.iter().zip(requests) {
            let told = answer(&policy().validate(asked, &file.settings, cluster.clone())?);
            let truth = answer(&policy().validate(real, &file.settings, cluster.clone())?);
            ensure!(told == truth, "{identity:?}:\n{told}\ninstead of\n{truth}\nasked {asked}");
        }
    }
    Ok(())
}

#[rstest]
fn the_sum_is_that_of_the_real_requests(
    #[values("bindings", "placement", "whitelist", "protect")] name: &str,
) -> Result<()> {
    let file = settings(name)?;
    let objects = cluster(SMALL);
    let cluster = manifests(&objects);
    let tally = Preview::new(policy(), &file, cluster.clone(), false).run(|_, _| {})?;
    let (mut rejected, mut refused_bindings) = (0, 0);
    for request in objects.iter().flat_map(|born| &born.requests) {
        let evaluation = policy().validate(request, &file.settings, cluster.clone())?;
        let count = if request["kind"]["kind"] == "Binding" { &mut refused_bindings } else { &mut rejected };
        *count += usize::from(!evaluation.answer.accepted);
    }
    assert_eq!(tally.total(Verdict::Rejected), rejected);
    let findings = tally.findings.values().flatten();
    let unfit = findings.filter(|(finding, _)| matches!(finding, Finding::Misplaced { .. } | Finding::Waits { .. }));
    let unfit: usize = unfit.map(|(_, group)| group.size()).sum();
    assert!(unfit >= refused_bindings, "{unfit} Pods are misplaced or wait, {refused_bindings} Bindings refused");
    Ok(())
}

#[test]
fn long_lists_are_cut_and_say_so() -> Result<()> {
    let file = settings("bindings")?;
    let objects = cluster(SMALL);
    let tally = |keep_names| Preview::new(policy(), &file, manifests(&objects), keep_names).run(|_, _| {});
    let (short, long) = (report(&tally(false)?, false, 100), report(&tally(true)?, true, 100));
    assert!(short.contains("… and 5 namespaces more ("), "{short}");
    assert!(short.replace('\n', " ").contains("--verbose (VERBOSE=1) shows all."), "{short}");
    assert!(!long.contains("… and ") && !long.contains(", …)"), "{long}");
    for namespace in objects.iter().filter(|born| born.object["kind"] == "Namespace") {
        let name = namespace.object["metadata"]["name"].as_str().unwrap();
        assert!(long.contains(&format!("Namespace {name}\n")), "{name} is missing in\n{long}");
    }
    assert!(short.lines().chain(long.lines()).all(|line| line.chars().count() <= 100), "{long}");
    Ok(())
}

/// The page of a large cluster is one that a browser opens at once. How long it takes is told, and not held: machines
/// differ.
#[test]
fn the_page_of_a_large_cluster_is_small() -> Result<()> {
    let file = settings("bindings")?;
    let objects = cluster(Size { nodes: 500, namespaces: 300, pods: 20_000 });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large-cluster.json");
    fs::write(&path, list(&objects).to_string())?;
    drop(objects);
    let start = Instant::now();
    let tally = Preview::new(&Policy::native(), &file, Manifests::load(&path)?, false).run(|_, _| {})?;
    let page = page(&tally, &Origin::default())?;
    println!("{:.1} s, {} KB", start.elapsed().as_secs_f64(), page.len() / 1000);
    ensure!(page.len() < 2_000_000, "the page has {} bytes", page.len());
    ensure!(tally.count_of(|_| true) > 20_000, "only {} findings", tally.count_of(|_| true));
    Ok(())
}

#[test]
fn a_preview_is_the_same_on_any_number_of_threads() -> Result<()> {
    let file = settings("whitelist")?;
    let objects = cluster(SMALL);
    let forward = Preview::new(policy(), &file, manifests(&objects), false).run(|_, _| {})?;
    let reversed: Vec<Born> = objects.into_iter().rev().collect();
    let backward = Preview::new(policy(), &file, manifests(&reversed), false).run(|_, _| {})?;
    assert_eq!(report(&forward, false, 100), report(&backward, false, 100));
    Ok(())
}

#[rstest]
#[case::one_that_runs("Running", 2)]
#[case::one_that_has_run("Succeeded", 1)]
#[case::one_that_failed("Failed", 1)]
fn only_a_pod_that_runs_is_bound_again(#[case] phase: &str, #[case] requests: usize) -> Result<()> {
    let file = settings("bindings")?;
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "web", "namespace": "default" },
        "spec": { "nodeName": "node-1", "containers": [] },
        "status": { "phase": phase },
    });
    let preview = Preview::new(policy(), &file, Manifests::from_iter([pod.clone()]), false);
    assert_eq!(preview.requests(&identity(&pod)).len(), requests);
    Ok(())
}

#[test]
fn a_pod_without_a_template_leaves_behind_what_it_was_given() -> Result<()> {
    let file = settings("protect")?;
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-x",
            "generateName": "web-",
            "namespace": "default",
            "uid": "1",
            "resourceVersion": "2",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [],
            "labels": { "app": "web", "topology.kubernetes.io/zone": "a" },
            "annotations": { "example.com/zone": "a", "example.com/own": "kept" },
            "ownerReferences": [{ "apiVersion": "example.com/v1", "kind": "Rollout", "name": "w", "controller": true }],
        },
        "spec": {
            "nodeName": "node-1",
            "nodeSelector": { "kept": "yes" },
            "volumes": [{ "name": "kube-api-access-abcde" }, { "name": "data" }],
            "containers": [{ "name": "c", "volumeMounts": [{ "name": "kube-api-access-abcde" }, { "name": "data" }] }],
            "tolerations": [{ "key": "node.kubernetes.io/not-ready", "operator": "Exists" }],
        },
        "status": { "phase": "Running" },
    });
    let preview = Preview::new(policy(), &file, Manifests::from_iter([pod.clone()]), false);
    let expected = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "web-",
            "namespace": "default",
            "labels": { "app": "web" },
            "annotations": { "example.com/own": "kept" },
            "ownerReferences": pod["metadata"]["ownerReferences"],
        },
        "spec": {
            "nodeSelector": { "kept": "yes" },
            "volumes": [{ "name": "data" }],
            "containers": [{ "name": "c", "volumeMounts": [{ "name": "data" }] }],
            "tolerations": pod["spec"]["tolerations"],
        },
        "status": {},
    });
    assert_eq!(preview.requests(&identity(&pod))[0]["object"], expected);
    Ok(())
}

#[rstest]
#[case::a_replica_set("apps/v1", "ReplicaSet", "replicaset-controller")]
#[case::a_daemon_set("apps/v1", "DaemonSet", "daemon-set-controller")]
#[case::a_stateful_set("apps/v1", "StatefulSet", "statefulset-controller")]
#[case::a_job("batch/v1", "Job", "job-controller")]
fn who_asks_is_the_controller_of_the_owner(#[case] version: &str, #[case] kind: &str, #[case] who: &str) -> Result<()> {
    let file = settings("placement")?;
    let owner = json!({ "apiVersion": version, "kind": kind, "name": "web", "controller": true });
    let metadata = json!({ "name": "web-x", "namespace": "default", "ownerReferences": [owner] });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": { "containers": [] } });
    let preview = Preview::new(policy(), &file, Manifests::from_iter([pod.clone()]), false);
    let user = &preview.requests(&identity(&pod))[0]["userInfo"]["username"];
    assert_eq!(user, &format!("system:serviceaccount:kube-system:{who}"));
    Ok(())
}
