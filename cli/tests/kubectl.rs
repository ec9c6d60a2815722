//! The cluster of the kubeconfig, played by a script on the PATH; and `explain`.
#![cfg(unix)]

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, anyhow};
use node_placement_policy::settings::Settings;
use rstest::rstest;
use serde_json::Value;

/// Answers from files, which are called as the resource; without one, it is forbidden.
const KUBECTL: &str = r#"#!/bin/sh
folder="$(dirname "$0")"
echo "$@" >>"$folder/calls"
[ -e "$folder/broken" ] && { echo "error: You must be logged in to the server" >&2; exit 1; }
[ -e "$folder/unknown-$2" ] && { echo "Fehler: so etwas kennt der Server nicht" >&2; exit 1; }
[ "$1" = api-resources ] && { echo "ec2nodeclasses.karpenter.k8s.aws"; exit 0; }
[ -e "$folder/gone-$2" ] && { echo "Error from server (NotFound): the server could not find the requested resource" >&2; exit 1; }
if [ -e "$folder/$2" ]; then cat "$folder/$2"; exit 0; fi
echo "Error from server (Forbidden): $2 is forbidden: User \"ada\" cannot list resource \"$2\"" >&2
exit 1
"#;

const SETTINGS: &str = r#"
placement:
  namespaces:
    - name: prod-*
      requiredNodeSelector: pool=prod
    - namespaceSelector: tenant=red
      requiredNodeSelector: pool=red
    - name: team-*
      namespaceSelector: tenant
      requiredNodeSelector: pool=blue
      defaultNodeSelector: disktype=ssd
      allowedTolerations: []
    - name: "*"
"#;

const NAMESPACES: &str = r#"{"kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": {"tenant": "blue"}}}]}"#;

const NODES: &str = r#"{"kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one", "labels": {"pool": "blue", "disktype": "ssd"}}},
  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "two", "labels": {"pool": "blue", "disktype": "ssd"}},
   "spec": {"taints": [
     {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoSchedule"}]}},
  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "three", "labels": {"pool": "red"}}}]}"#;

const PODS: &str = r#"{"kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "team-a"},
   "spec": {"nodeName": "three", "nodeSelector": {"pool": "blue"}, "containers": []}, "status": {"phase": "Running"}}]}"#;

const EMPTY: &str = r#"{"kind": "List", "items": []}"#;

/// A folder with kubectl, and what it answers.
struct Played(PathBuf);

impl Played {
    fn new(name: &str, files: &[(&str, &str)]) -> Result<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubectl").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("kubectl"), KUBECTL)?;
        fs::set_permissions(folder.join("kubectl"), fs::Permissions::from_mode(0o755))?;
        fs::write(folder.join("settings.yml"), SETTINGS)?;
        for (file, text) in files {
            fs::write(folder.join(file), text)?;
        }
        Ok(Self(folder))
    }

    fn run(&self, arguments: &[&str]) -> Result<Output> {
        let path = format!("{}:{}", self.0.display(), env::var("PATH")?);
        Ok(self.tool(arguments).env("PATH", path).env_remove("KUBECTL_PATH").output()?)
    }

    /// The tool, without this kubectl on its `PATH`.
    fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"));
        command.args(arguments).current_dir(&self.0);
        command
    }

    fn calls(&self) -> Result<String> {
        fs::read_to_string(self.0.join("calls")).context("kubectl was not called")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_preview_asks_the_cluster_of_the_kubeconfig() -> Result<()> {
    let files = [("namespaces", NAMESPACES), ("nodes", NODES), ("pods", PODS), ("deployments.apps", EMPTY)];
    let played = Played::new("preview", &files)?;
    let output = played.run(&["preview", "-s", "settings.yml", "--context", "test", "--kubeconfig", "my.conf"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = text(&output.stdout).replace('\n', " ");
    assert!(
        report.starts_with("Not yet: cronjobs.batch, daemonsets.apps, deviceclasses.resource.k8s.io, jobs.batch, "),
        "{report}"
    );
    assert!(report.contains("; 1 Pod and new Pods in 1 namespace change."), "{report}");
    assert!(!report.contains("deployments.apps could not"), "{report}");
    let calls = played.calls()?;
    let pods = "get pods --all-namespaces -o json --show-managed-fields --context test --kubeconfig my.conf\n";
    assert!(calls.contains(pods) && calls.contains("get runtimeclasses.node.k8s.io "), "{calls}");
    Ok(())
}

/// kubectl 1.37 and later says which program it is: another one on the `PATH` may have another version.
#[test]
fn the_kubectl_that_called_the_tool_is_asked() -> Result<()> {
    let played =
        Played::new("called", &[("namespaces", NAMESPACES), ("nodes", NODES), ("current-context", "prod-eu\n")])?;
    let path = played.0.join("kubectl");
    let page = ["preview", "-s", "settings.yml", "-o", "html"];
    // What the script itself calls.
    let output = played.tool(&page).env("PATH", "/usr/bin:/bin").env("KUBECTL_PATH", &path).output()?;
    assert!(text(&output.stdout).contains("Preview of prod-eu:"), "{output:?}");
    assert!(played.calls()?.contains("config current-context"));
    Ok(())
}

#[rstest]
#[case::none("", "error: kubectl is not on the PATH: install it, or save the cluster to a file and pass -c FILE\n")]
#[case::a_wrong_one("/nowhere/kubectl", "error: /nowhere/kubectl can't be started: ")]
fn a_kubectl_that_is_missing_is_named(#[case] path: &str, #[case] told: &str) -> Result<()> {
    let played = Played::new("missing", &[])?;
    let mut tool = played.tool(&["preview", "-s", "settings.yml"]);
    let output = tool.env("PATH", "/nowhere").env("KUBECTL_PATH", path).output()?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).starts_with(told), "{output:?}");
    Ok(())
}

/// Whoever gets the page by mail was not there when it was made.
#[rstest]
#[case::the_current_context(&[], "Preview of prod-eu:", "Cluster prod-eu, settings settings.yml, 20")]
#[case::the_named_context(&["--context", "test"], "Preview of test:", "Cluster test, settings settings.yml, 20")]
#[case::a_file(
    &["-c", "namespaces", "--old", "settings.yml"],
    "Preview of namespaces:",
    "Cluster namespaces, settings settings.yml compared with settings.yml, 20"
)]
fn a_page_says_where_it_comes_from(#[case] arguments: &[&str], #[case] title: &str, #[case] head: &str) -> Result<()> {
    let files = [("namespaces", NAMESPACES), ("nodes", NODES), ("pods", EMPTY), ("current-context", "prod-eu\n")];
    let played = Played::new(&format!("page-{}", arguments.concat()), &files)?;
    let output = played.run(&[&["preview", "-s", "settings.yml", "-o", "html"], arguments].concat())?;
    let page = text(&output.stdout);
    assert!(page.contains(title) && page.contains(head), "{output:?}");
    Ok(())
}

#[test]
fn without_the_right_to_read_a_namespace_nothing_is_told_of_its_pods() -> Result<()> {
    let played = Played::new("forbidden", &[("nodes", NODES), ("pods", PODS)])?;
    let output = played.run(&["preview", "-s", "settings.yml", "-o", "json"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let preview: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(preview["workloads"][0]["outcome"], "CannotTell", "{preview}");
    let text = preview["verdict"]["text"].as_str().context("a text")?;
    assert!(text.contains("namespaces") && text.contains(" could not be listed"), "{text}");
    let lacks: Vec<&Value> =
        preview["advice"].as_array().into_iter().flatten().map(|advice| &advice["cause"]["kind"]).collect();
    assert!(lacks.len() == 2 && lacks.iter().all(|kind| **kind == "Lacks"), "{lacks:?}");
    Ok(())
}

#[rstest]
#[case::nobody_is_logged_in(
    "broken",
    "You must be logged in to the server; save the cluster to a file and pass -c FILE"
)]
fn a_cluster_that_can_not_be_reached_is_a_mistake(#[case] file: &str, #[case] told: &str) -> Result<()> {
    let played = Played::new(file, &[(file, "")])?;
    for arguments in [vec!["preview", "-s", "settings.yml"], vec!["explain", "-n", "a", "-s", "settings.yml"]] {
        let output = played.run(&arguments)?;
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let error = text(&output.stderr);
        assert!(error.starts_with("error: kubectl get ") && error.contains(told), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    Ok(())
}

#[test]
fn nothing_else_asks_a_cluster() -> Result<()> {
    let played = Played::new("unasked", &[("pod.yml", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}")])?;
    for arguments in [
        vec!["try", "pod.yml", "-s", "settings.yml"],
        vec!["check", "settings.yml"],
        vec!["policy", "settings.yml"],
        vec!["tour"],
        vec!["completion", "bash"],
        vec![],
    ] {
        let output = played.run(&arguments)?;
        assert!(output.status.code() != Some(2), "{output:?}");
        assert!(played.calls().is_err(), "{arguments:?}");
    }
    Ok(())
}

#[test]
fn a_namespace_is_explained() -> Result<()> {
    let played = Played::new("explain", &[("namespaces", NAMESPACES), ("nodes", NODES)])?;
    let output = played.run(&["explain", "-n", "team-a", "-s", "settings.yml"])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "placement.namespaces[2] (name \"team-*\", namespaceSelector \"tenant\") applies",
        "placement.namespaces[0] does not: it is for name \"prod-*\"",
        "placement.namespaces[1] does not: it is for namespaceSelector \"tenant=red\", and the Namespace has tenant=blue, not tenant=red",
        "placement.namespaces[3] does not: it is for name \"*\", and would apply, but placement.namespaces[2] comes before",
        "pool=blue, by placement.namespaces[2].requiredNodeSelector",
        "disktype=ssd, by placement.namespaces[2].defaultNodeSelector",
        "no tolerations, by placement.namespaces[2].allowedTolerations",
        "can run on 1 of 3 nodes",
        "nodepools.karpenter.sh could not be listed",
    ] {
        assert!(told.contains(line), "{line:?} is missing in\n{told}");
    }
    Ok(())
}

const DEPLOYED: &str = r#"{"kind": "List", "items": [{"apiVersion": "policies.kubewarden.io/v1", "kind":
    "ClusterAdmissionPolicy", "metadata": {"name": "fences"}, "spec": {"module": "m", "mutating": true, "mode": "protect", "rules":
    [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}], "settings": {"placement":
    {"namespaces": [{"name": "team-a", "requiredNodeSelector": "pool=red"}]}}}}, {"apiVersion": "policies.kubewarden.io/v1",
    "kind": "ClusterAdmissionPolicy", "metadata": {"name": "another"}, "spec": {"module": "m", "mutating": false, "settings": {}}}]}"#;

/// Without settings, those of the deployed policies count.
#[test]
fn what_is_deployed_is_explained_previewed_and_tried() -> Result<()> {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: new, namespace: team-a}, spec: {containers: [{name: c, image: i}]}}";
    let files = [
        ("namespaces", NAMESPACES),
        ("nodes", NODES),
        ("pods", EMPTY),
        ("clusteradmissionpolicies.policies.kubewarden.io", DEPLOYED),
        ("pod.yml", pod),
    ];
    let played = Played::new("deployed", &files)?;
    for (arguments, told) in [
        (vec!["explain", "-n", "team-a"], "pool=red, by placement.namespaces[0].requiredNodeSelector"),
        (vec!["preview"], "Not yet: "),
        (vec!["try", "pod.yml"], "could run on three"),
    ] {
        let output = played.run(&arguments)?;
        let printed = text(&output.stdout);
        assert!(printed.starts_with("Settings: as deployed, of the policy fences\n"), "{output:?}");
        assert!(printed.contains(told), "{output:?}");
    }
    fs::write(played.0.join("calls"), "")?;
    let output = played.run(&["preview", "-s", "settings.yml", "--old", "deployed", "-o", "json"])?;
    let preview: Value = serde_json::from_slice(&output.stdout)?;
    assert!(preview["verdict"]["text"].is_string(), "{output:?}");
    let output = played.run(&["try", "pod.yml", "-s", "settings.yml"])?;
    assert!(!text(&output.stdout).contains("Settings: as deployed"), "{output:?}");
    assert!(!played.calls()?.contains("get namespaces -o json\nget namespaces"), "{}", played.calls()?);
    Ok(())
}

/// kubectl says in its user's language that there is no such kind; the cluster says which kinds it has.
#[test]
fn a_kind_that_the_cluster_does_not_have_is_no_gap() -> Result<()> {
    let files = [("namespaces", NAMESPACES), ("nodes", NODES), ("unknown-nodepools.karpenter.sh", "")];
    let output = Played::new("unknown", &files)?.run(&["explain", "-n", "team-a", "-s", "settings.yml"])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!text(&output.stdout).contains("nodepools.karpenter.sh"), "{output:?}");
    Ok(())
}

/// Its definition was deleted since kubectl asked which kinds there are.
#[test]
fn a_cluster_whose_karpenter_is_gone_has_no_node_pools() -> Result<()> {
    let files = [("namespaces", NAMESPACES), ("nodes", NODES), ("gone-nodepools.karpenter.sh", "")];
    let output = Played::new("gone-karpenter", &files)?.run(&["explain", "-n", "team-a", "-s", "settings.yml"])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!text(&output.stdout).contains("nodepools.karpenter.sh"), "{output:?}");
    Ok(())
}

#[test]
fn a_pod_is_explained() -> Result<()> {
    let played = Played::new("explain-pod", &[("namespaces", NAMESPACES), ("nodes", NODES), ("pods", PODS)])?;
    let output = played.run(&["explain", "-n", "team-a", "pod/web", "-s", "settings.yml", "-o", "yaml"])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told: Value = yaml_serde::from_str(&text(&output.stdout))?;
    assert_eq!(told["subject"]["node"], "three", "{told}");
    assert!(
        played.calls()?.contains("get pods web --namespace team-a -o json --show-managed-fields\n"),
        "{}",
        played.calls()?
    );
    Ok(())
}

/// Whoever owns it has the template that it would be created from.
#[test]
fn a_pod_of_a_replication_controller_is_created_from_its_template() -> Result<()> {
    let owners = r#"[{"apiVersion": "v1", "kind": "ReplicationController", "name": "web", "controller": true}]"#;
    let pod =
        PODS.replace(r#""namespace": "team-a"}"#, &format!(r#""namespace": "team-a", "ownerReferences": {owners}}}"#));
    let controller = r#"{"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web", "namespace":
        "team-a"}, "spec": {"template": {"spec": {"nodeSelector": {"pool": "red"}, "containers": []}}}}"#;
    let files = [("namespaces", NAMESPACES), ("nodes", NODES), ("pods", &pod), ("replicationcontrollers", controller)];
    let output =
        Played::new("explain-rc", &files)?.run(&["explain", "-n", "team-a", "pod/web", "-s", "settings.yml"])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains("is refused: pod node label selector conflicts"), "{output:?}");
    Ok(())
}

/// It may be of an older template.
#[test]
fn the_replica_sets_of_a_deployment_are_asked_for() -> Result<()> {
    let deployment = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "team-a"},
        "spec": {"template": {"spec": {"containers": []}}}}"#;
    let played = Played::new(
        "explain-deployment",
        &[("namespaces", NAMESPACES), ("nodes", NODES), ("deployments.apps", deployment)],
    )?;
    let output = played.run(&["explain", "-n", "team-a", "deployment/web", "-s", "settings.yml"])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(played.calls()?.contains("get replicasets.apps --namespace team-a -o json\n"), "{}", played.calls()?);
    Ok(())
}

#[rstest]
#[case::a_namespace_that_may_not_be_read(&["-n", "gone"], "what applies in gone could not be evaluated: namespaces is forbidden")]
#[case::a_pod_that_may_not_be_read(
    &["-n", "team-a", "pod/gone"],
    "what becomes of Pod team-a/gone could not be evaluated: pods is forbidden"
)]
fn what_is_not_there_is_said(#[case] arguments: &[&str], #[case] told: &str) -> Result<()> {
    let mut files = vec![("nodes", NODES)];
    if arguments.len() > 2 {
        files.push(("namespaces", NAMESPACES));
    }
    let played = Played::new(&format!("gone-{}", arguments.len()), &files)?;
    let output = played.run(&[&["explain", "-s", "settings.yml"], arguments].concat())?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!((text(&output.stdout) + &text(&output.stderr)).contains(told), "{output:?}");
    Ok(())
}

/// What `explain` says of entries is what the policy does.
#[test]
fn the_entry_that_holds_is_the_one_whose_selector_pods_get() -> Result<()> {
    let namespaces = ["team-a", "prod-b", "other", "team"];
    let labels = ["{}", "{\"tenant\": \"red\"}", "{\"tenant\": \"blue\"}", "{\"sandbox\": \"\"}"];
    let entries = r#"[
        {"name": "team-*", "namespaceSelector": "tenant=red, !sandbox"}, {"name": "prod-b"},
        {"namespaceSelector": "tenant in (blue, green)"}, {"name": "team"}, {"name": "*"}]"#;
    let mut settings = serde_json::json!({ "placement": { "namespaces": serde_json::from_str::<Value>(entries)? } });
    for (position, entry) in
        settings["placement"]["namespaces"].as_array_mut().context("a list")?.iter_mut().enumerate()
    {
        entry["requiredNodeSelector"] = format!("entry=e{position}").into();
    }
    let text = settings.to_string();
    let read = Settings::read(Some(&text)).map_err(|error| anyhow!("{error}"))?;
    for name in namespaces {
        for labels in labels {
            let labels: Value = serde_json::from_str(labels)?;
            let namespace = serde_json::json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels },
            });
            let explained = cli::rules::PolicyRules::new(&read, name, Some(&namespace))?;
            let holding = explained.entry().map(|at| format!("e{}", at.position));
            let request = cli::webhook::pods::plain_pod_request(name).json;
            let cluster: cli::Manifests = [namespace].into_iter().collect();
            let answer = cli::Policy::native().validate(&request, &settings, cluster)?.answer;
            let given = answer.mutated_object.map(|pod| pod["spec"]["nodeSelector"]["entry"].clone());
            assert_eq!(given.as_ref().and_then(Value::as_str), holding.as_deref(), "{name} {labels}");
        }
    }
    Ok(())
}
