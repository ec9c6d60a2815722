//! Questions of an administrator of 25 teams and 60 nodes: each is answered on one screen.

use anyhow::{Context, Result, ensure};
use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{file, run, text};

/// As many lines as a person reads at once.
const SCREEN: usize = 40;

const BY_LABEL: &str = r#"
placement:
  onBindings: Verify
  namespaces:
    - namespaceSelector: tenant
      requiredNodeSelector: "tenant=$(tenant)"
      defaultTolerations: [{ key: tenant, operator: Equal, value: "$(tenant)", effect: NoSchedule }]
    - name: "*"
      requiredNodeSelector: "!tenant"
"#;

fn teams() -> impl Iterator<Item = String> {
    (1..=25).map(|number| format!("team-{number:02}"))
}

/// An entry for each team.
fn by_name() -> String {
    let entry = |team| {
        format!(
            "    - {{ name: {team}, requiredNodeSelector: tenant={team}, \
             defaultTolerations: [{{ key: tenant, value: {team}, effect: NoSchedule }}] }}\n"
        )
    };
    let entries: String = teams().map(entry).collect();
    format!("placement:\n  namespaces:\n{entries}    - {{ name: '*', requiredNodeSelector: '!tenant' }}\n")
}

fn node(name: &str, labels: Value, taint: Option<Value>, cpu: u8) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels },
        "spec": { "taints": taint.into_iter().collect::<Vec<_>>() },
        // No two nodes of a real cluster have the same memory.
        "status": { "allocatable": { "cpu": cpu, "memory": format!("{}Ki", 16_000_000 + name.len() * 4), "pods": 110 } },
    })
}

/// Two nodes for each of 25 teams, and 10 others.
fn nodes() -> Vec<Value> {
    let mut nodes = vec![];
    for team in teams() {
        let taint = json!({ "key": "tenant", "value": team, "effect": "NoSchedule" });
        for (number, cpu) in [(1, 4), (2, 8)] {
            nodes.push(node(&format!("{team}-{number}"), json!({ "tenant": team }), Some(taint.clone()), cpu));
        }
    }
    nodes.extend((1..=4).map(|number| node(&format!("shared-{number}"), json!({}), None, 16)));
    let gpu = json!({ "key": "nvidia.com/gpu", "effect": "NoSchedule" });
    nodes.extend((1..=3).map(|number| node(&format!("gpu-{number}"), json!({ "gpu": "a100" }), Some(gpu.clone()), 32)));
    let control_plane = json!({ "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule" });
    nodes.extend((1..=3).map(|number| node(&format!("cp-{number}"), json!({}), Some(control_plane.clone()), 4)));
    nodes
}

fn deployment(namespace: &str, name: &str, cpu: &str, mut spec: Value) -> Value {
    spec["containers"] = json!([{ "name": "c", "image": "i", "resources": { "requests": { "cpu": cpu } } }]);
    let template = json!({ "metadata": { "labels": { "app": name } }, "spec": spec });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": namespace },
        "spec": { "replicas": 1, "selector": { "matchLabels": { "app": name } }, "template": template },
    })
}

fn pod(namespace: &str, name: &str, mut spec: Value) -> Value {
    spec["containers"] = json!([{ "name": "c", "image": "i" }]);
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": namespace }, "spec": spec })
}

fn cluster() -> Value {
    let namespace = |name: String, labels| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } });
    let mut items: Vec<Value> = teams().map(|team| namespace(team.clone(), json!({ "tenant": team }))).collect();
    items.extend(["ops", "kube-system"].map(|name| namespace(name.to_owned(), json!({}))));
    items.extend(nodes());
    items.extend(teams().map(|team| deployment(&team, "web", "500m", json!({}))));
    items.extend([
        deployment("team-01", "big", "12", json!({})),
        deployment("team-01", "ssd", "1", json!({ "nodeSelector": { "disk": "ssd" } })),
        deployment("team-01", "wrong", "1", json!({ "nodeSelector": { "tenant": "team-02" } })),
        deployment("ops", "huge", "64", json!({})),
        pod("team-01", "older", json!({})),
        pod("team-01", "astray", json!({ "nodeName": "shared-1" })),
        pod("team-01", "two-pools", json!({ "nodeSelector": { "tenant": "team-01", "gpu": "a100" } })),
    ]);
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// Runs a command about the cluster.
fn ask(arguments: &[&str], settings: &str) -> Result<String> {
    let settings = file("s.yml", settings)?.display().to_string();
    let cluster = file("c.json", &cluster().to_string())?.display().to_string();
    Ok(text(&run(&[arguments, &["-s", &settings, "-c", &cluster]].concat())?.stdout))
}

/// The lines of a section, below its heading.
fn section<'t>(told: &'t str, heading: &str) -> Result<Vec<&'t str>> {
    let mut lines = told.lines().skip_while(|line| !line.starts_with(heading));
    ensure!(lines.next().is_some(), "no {heading:?} in\n{told}");
    Ok(lines.take_while(|line| !line.is_empty()).map(str::trim).collect())
}

#[rstest]
#[case::a_namespace("team-07", &[])]
#[case::the_rest("ops", &[])]
#[case::what_is_not_covered("kube-system", &[])]
#[case::a_workload("team-07", &["deployment/web"])]
#[case::one_that_is_too_large("team-01", &["deployment/big"])]
#[case::one_that_fits_nowhere("team-01", &["deployment/ssd"])]
#[case::one_that_is_refused("team-01", &["deployment/wrong"])]
#[case::a_pod_that_is_older_than_the_fence("team-01", &["pod/older"])]
#[case::a_pod_that_asks_for_two_pools("team-01", &["pod/two-pools"])]
#[case::a_pod_on_the_wrong_node("team-01", &["pod/astray"])]
fn an_explanation_fits_a_screen(#[case] namespace: &str, #[case] subject: &[&str]) -> Result<()> {
    let arguments = [&["explain", "-n", namespace], subject].concat();
    for settings in [BY_LABEL, &by_name(), "placement: {}"] {
        let told = ask(&arguments, settings)?;
        let count = told.lines().count();
        assert!((4..=SCREEN).contains(&count), "{count} lines:\n{told}");
    }
    Ok(())
}

/// Its own nodes come first; the others are one line for each reason, those of other teams last.
#[test]
fn own_pools_come_first_and_the_others_by_reason() -> Result<()> {
    let told = ask(&["explain", "-n", "team-07"], BY_LABEL)?;
    let lines = section(&told, "A Pod without a node selector, with the policy")?.join(" ");
    let required = "required by placement.namespaces[0].requiredNodeSelector";
    let expected = format!(
        "can run on 2 of 60 nodes \
         2 pools: fit (team-07-1, team-07-2) \
         10 pools: no label tenant, the Pod needs tenant=team-07, {required} (cp-1, cp-2, cp-3 and 7 more) \
         48 pools: tenant≠team-07, {required} (team-01-1, team-01-2, team-02-1 and 45 more)"
    );
    assert_eq!(lines, expected, "{told}");
    let lines = section(&told, "A Pod without a node selector, without the policy")?.join(" ");
    let taints = "50 pools: taints with values that the Pod does not tolerate: tenant:NoSchedule (team-01-1, team-01-2, \
                  team-02-1 and 47 more)";
    assert!(lines.contains(taints), "{told}");
    Ok(())
}

#[test]
fn entries_that_do_not_apply_are_grouped() -> Result<()> {
    let told = ask(&["explain", "-n", "team-07"], &by_name())?;
    let lines = section(&told, "Namespace team-07")?.join(" ");
    let expected = "placement.namespaces[6] (name \"team-07\") applies 6 entries do not: they are for other names \
                    (placement.namespaces[0], placement.namespaces[1], placement.namespaces[2] and 3 more) \
                    placement.namespaces[25] does not: it is for name \"*\", and would apply, but \
                    placement.namespaces[6] comes before";
    assert_eq!(lines, expected, "{told}");
    Ok(())
}

/// Nobody needs to read it 60 times.
#[test]
fn a_label_that_no_node_has_is_said_once() -> Result<()> {
    let told = ask(&["explain", "-n", "team-01", "deployment/ssd"], BY_LABEL)?;
    let lines = section(&told, "Deployment ssd, with the policy")?.join(" ");
    let expected = "60 pools: no label disk, the Pod needs disk=ssd, which its manifest requests";
    assert!(lines.contains(expected) && lines.matches("disk=ssd").count() == 1, "{told}");
    Ok(())
}

/// The nodes of the team are too small, others are not; or all are.
#[rstest]
#[case::the_fence(
    "team-01",
    "deployment/big",
    Some(
        "the cause is the fence: without placement.namespaces[0].requiredNodeSelector it could run on shared-1, shared-2, \
          shared-3 and 1 more"
    )
)]
#[case::the_size_alone("ops", "deployment/huge", None)]
fn the_fence_is_named_where_it_is_the_cause(
    #[case] namespace: &str,
    #[case] subject: &str,
    #[case] cause: Option<&str>,
) -> Result<()> {
    let told = ask(&["explain", "-n", namespace, subject], BY_LABEL)?;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("it waits: no node that fits is large enough"), "{told}");
    match cause {
        Some(cause) => {
            assert!(told.contains(cause) && told.contains("requests 12 CPU, the largest node has 8"), "{told}")
        }
        None => assert!(!told.contains("fence"), "{told}"),
    }
    Ok(())
}

/// The reason is in JSON, too, for each pool.
#[test]
fn a_refused_binding_is_told_with_its_reason() -> Result<()> {
    let arguments = ["explain", "-n", "team-01", "pod/older"];
    let told = ask(&arguments, BY_LABEL)?;
    let lines = section(&told, "Pod older, as it is")?.join(" ");
    let refused =
        "4 pools: the policy refuses to bind the Pod there: Pod \"older\" can't be bound to node \"shared-1\"";
    assert!(lines.contains(refused), "{told}");
    let data: Value = serde_json::from_str(&ask(&[&arguments[..], &["-o", "json"]].concat(), BY_LABEL)?)?;
    let pools = data["subject"]["withoutPolicy"]["pools"].as_array().context("pools")?;
    for name in ["shared-1", "shared-4"] {
        let pool = pools.iter().find(|pool| pool["nodes"] == json!([name])).context("a pool")?;
        let reason = pool["excludedBy"].as_str().context("a reason")?;
        assert!(reason.contains(&format!("can't be bound to node {name:?}")) && pool["fits"] == false, "{pool}");
    }
    let names: std::collections::BTreeSet<_> = pools.iter().map(|pool| pool["name"].to_string()).collect();
    assert_eq!(names.len(), pools.len(), "each name once");
    Ok(())
}

/// `try` says it as short.
#[test]
fn a_manifest_that_fits_nowhere_is_tried_on_a_screen() -> Result<()> {
    let manifest = deployment("team-01", "new", "1", json!({ "nodeSelector": { "disk": "ssd" } }));
    let manifest = file("new.yml", &manifest.to_string())?.display().to_string();
    let told = ask(&["try", &manifest], BY_LABEL)?;
    assert!(told.lines().count() <= SCREEN, "{told}");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "its Pods would wait: no node fits 60 pools: no label disk, the Pod needs disk=ssd, which its manifest \
                    requests";
    assert!(told.contains(expected), "{told}");
    Ok(())
}
