//! Questions of administrators, each answered by one command.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{file, run};

/// Tenants with nodes of their own, one tenant with premium nodes, and the rest.
const SETTINGS: &str = r#"
placement:
  onBindings: Verify
  onRuntimeClasses: Resolve
  namespaces:
    - name: trial
      requiredNodeSelector: node.example.com/pool=blue
      enforcement: Warn
    - namespaceSelector: tenant
      requiredNodeSelector: "node.example.com/pool=$(tenant)"
      defaultTolerations: [{ key: tenant, operator: Equal, value: "$(tenant)", effect: NoSchedule }]
    - namespaceSelector: tenant=acme
      requiredNodeSelector: node.example.com/pool=premium
    - name: "*"
      requiredNodeSelector: "!node.example.com/pool"
"#;

const CLUSTER: &str = r#"
kind: List
apiVersion: v1
items:
- { apiVersion: v1, kind: Namespace, metadata: { name: team-blue, labels: { tenant: blue } } }
- { apiVersion: v1, kind: Namespace, metadata: { name: acme, labels: { tenant: acme } } }
- { apiVersion: v1, kind: Namespace, metadata: { name: trial } }
- { apiVersion: v1, kind: Namespace, metadata: { name: other } }
- { apiVersion: v1, kind: Namespace, metadata: { name: kube-system } }
- apiVersion: v1
  kind: Node
  metadata: { name: blue-1, labels: { node.example.com/pool: blue, disk: ssd } }
  spec: { taints: [{ key: tenant, value: blue, effect: NoSchedule }] }
  status: { allocatable: { pods: 110, cpu: "4", memory: 8Gi } }
- apiVersion: v1
  kind: Node
  metadata: { name: blue-2, labels: { node.example.com/pool: blue } }
  spec: { taints: [{ key: gpu, effect: NoSchedule }] }
  status: { allocatable: { pods: 110, cpu: "4", memory: 8Gi, nvidia.com/gpu: "1" } }
- apiVersion: v1
  kind: Node
  metadata: { name: acme-1, labels: { node.example.com/pool: acme } }
  spec: { unschedulable: true }
- { apiVersion: v1, kind: Node, metadata: { name: shared-1, labels: { disk: hdd } } }
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata: { name: burst }
  spec:
    template:
      metadata: { labels: { node.example.com/pool: blue } }
      spec: { requirements: [], taints: [{ key: burst, effect: NoSchedule }] }
- apiVersion: node.k8s.io/v1
  kind: RuntimeClass
  metadata: { name: kata }
  handler: kata
  scheduling: { nodeSelector: { kata: "yes" } }
- apiVersion: v1
  kind: Pod
  metadata: { name: two-pools, namespace: team-blue }
  spec: { nodeSelector: { node.example.com/pool: blue, disk: hdd }, containers: [{ name: c, image: i }] }
- apiVersion: v1
  kind: Pod
  metadata: { name: plain, namespace: team-blue }
  spec: { nodeSelector: { node.example.com/pool: blue }, containers: [{ name: c, image: i }] }
- apiVersion: v1
  kind: Pod
  metadata: { name: older-than-the-fence, namespace: team-blue }
  spec: { nodeSelector: { disk: hdd }, containers: [{ name: c, image: i }] }
- apiVersion: v1
  kind: Pod
  metadata: { name: astray, namespace: team-blue }
  spec: { nodeName: shared-1, containers: [{ name: c, image: i }] }
- apiVersion: v1
  kind: Pod
  metadata: { name: ended, namespace: team-blue }
  spec: { nodeName: blue-1, containers: [{ name: c, image: i }] }
  status: { phase: Succeeded }
- apiVersion: v1
  kind: Pod
  metadata: { name: nowhere, namespace: team-blue }
  spec: { nodeName: gone-1, containers: [{ name: c, image: i }] }
- apiVersion: apps/v1
  kind: Deployment
  metadata: { name: large, namespace: team-blue }
  spec:
    template: { spec: { containers: [{ name: c, image: i, resources: { requests: { cpu: "6", nvidia.com/gpu: "2" } } }] } }
- apiVersion: apps/v1
  kind: Deployment
  metadata: { name: wrong, namespace: team-blue }
  spec: { template: { spec: { nodeSelector: { node.example.com/pool: red }, containers: [{ name: c, image: i }] } } }
- apiVersion: apps/v1
  kind: Deployment
  metadata: { name: wrong, namespace: trial }
  spec: { template: { spec: { nodeSelector: { node.example.com/pool: red }, containers: [{ name: c, image: i }] } } }
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: { name: agent, namespace: team-blue }
  spec:
    template:
      spec:
        tolerations: [{ key: gpu, operator: Exists }]
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms: [{ matchExpressions: [{ key: disk, operator: Exists }] }]
        containers: [{ name: c, image: i }]
- apiVersion: batch/v1
  kind: CronJob
  metadata: { name: nightly, namespace: other }
  spec:
    schedule: "0 3 * * *"
    jobTemplate:
      spec: { template: { spec: { runtimeClassName: kata, restartPolicy: Never, containers: [{ name: c, image: i }] } } }
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: { name: unknown-class, namespace: other }
  spec: { template: { spec: { runtimeClassName: gone, containers: [{ name: c, image: i }] } } }
- apiVersion: v1
  kind: PodTemplate
  metadata: { name: sample, namespace: other }
  template: { spec: { containers: [{ name: c, image: i }] } }
"#;

fn explain(namespace: &str, subject: &[&str], settings: &str, format: &str) -> Result<Output> {
    let settings = file("settings.yml", settings)?.to_string_lossy().into_owned();
    let cluster = file("cluster.yml", CLUSTER)?.to_string_lossy().into_owned();
    let arguments = ["explain", "-n", namespace, "-s", &settings, "-c", &cluster, "-o", format];
    run(&[&arguments, subject].concat())
}

fn data(namespace: &str, subject: &[&str], settings: &str) -> Result<(Value, Option<i32>)> {
    let output = explain(namespace, subject, settings, "json")?;
    let data = serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    Ok((data, output.status.code()))
}

/// The text on one line: where lines end does not matter here.
fn text(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[rstest]
#[case::why_does_my_pod_go_to_the_shared_nodes(
    "acme", &[], 0,
    &[
        "placement.namespaces[1] (namespaceSelector \"tenant\") applies",
        "2 entries would apply, but placement.namespaces[1] comes before (placement.namespaces[2], placement.namespaces[3])",
    ]
)]
#[case::which_nodes_may_a_namespace_use(
    "team-blue", &[], 0,
    &[
        "node.example.com/pool=blue, by placement.namespaces[1].requiredNodeSelector",
        "A Pod without a node selector, with the policy can run on 1 of 4 nodes \
         node.example.com/pool=blue (tenant=blue:NoSchedule) (blue-1): fits",
        "(shared-1): the node has no label node.example.com/pool, the Pod needs node.example.com/pool=blue, required by \
         placement.namespaces[1].requiredNodeSelector",
    ]
)]
#[case::why_does_my_pod_wait_that_asks_for_two_pools_at_once(
    "team-blue", &["pod/two-pools"], 0,
    &[
        "it waits: no node fits",
        "(blue-1): the node has disk=ssd, the Pod needs disk=hdd, which its manifest requests",
        "(shared-1): the node has no label node.example.com/pool, the Pod needs node.example.com/pool=blue, required by",
        "kubectl node-placement preview says what to do, if the policy is the cause",
    ]
)]
#[case::why_does_my_pod_wait_that_is_older_than_the_fence(
    "team-blue", &["pod/older-than-the-fence"], 0,
    &[
        "Pod older-than-the-fence, as it is it waits: no node fits",
        "(shared-1): the policy refuses to bind the Pod to it: Pod \"older-than-the-fence\" can't be bound to node \
         \"shared-1\"",
    ]
)]
#[case::why_does_my_pod_wait_that_tolerates_nothing(
    "team-blue", &["pod/plain"], 0,
    &[
        "Pod plain, as it is it waits: no node fits",
        "(blue-1): the node has the taint tenant=blue:NoSchedule, which the Pod does not tolerate",
        "Pod plain, created now, with the policy can run on 1 of 4 nodes",
    ]
)]
#[case::why_does_my_deployment_wait_that_is_too_large(
    "team-blue", &["deployment/large"], 0,
    &[
        "Deployment large, with the policy it waits: no node that fits is large enough",
        "(blue-1): fits, but is too small: the Pod requests 6 CPU, the largest node has 4; requests 2 nvidia.com/gpu, the \
         largest node has 0",
        "kubectl describe pod large -n team-blue",
    ]
)]
#[case::why_is_my_deployment_refused(
    "team-blue", &["deploy/wrong"], 1,
    &["is refused: pod node label selector conflicts", "requests \"node.example.com/pool=red\", but"]
)]
#[case::why_can_this_daemon_set_not_start_on_a_node(
    "team-blue", &["ds/agent"], 0,
    &[
        "DaemonSet agent, without the policy can run on 1 of 4 nodes",
        "DaemonSet agent, with the policy can run on 1 of 4 nodes",
        "(blue-2): the node has no label disk, the Pod needs disk, which its manifest requests",
    ]
)]
#[case::why_does_my_pod_run_where_it_runs(
    "team-blue", &["pod/astray"], 0,
    &["runs on shared-1, which would not accept it if it were created now: the node has no label node.example.com/pool"]
)]
#[case::which_node_pool_would_karpenter_use(
    "team-blue", &[], 0,
    &["NodePool burst (no nodes yet): the NodePool has the taint burst:NoSchedule, which the Pod does not tolerate"]
)]
#[case::who_requires_what_no_node_pool_has("other", &[], 0, &["NodePool burst (no nodes yet): the NodePool has node.example.com/pool=blue, the Pod needs !node.example.com/pool, required by placement.namespaces[3].requiredNodeSelector"])]
#[case::why_does_nothing_of_my_cron_job_run(
    "other", &["cronjob/nightly"], 0,
    &["it waits: no node fits", "4 pools: no label kata, the Pod needs kata=yes, required by the RuntimeClass kata (acme-1, blue-2, blue-1 and 1 more)"]
)]
#[case::when_will_it_run("acme", &[], 0, &["it waits: every node that fits is cordoned, not ready, or about to go"])]
#[case::what_would_happen_if_this_was_enforced(
    "trial", &["deployment/wrong"], 0,
    &[
        "its enforcement is Warn: requests pass unchanged, with a warning",
        "Deployment wrong, with the policy placement changes nothing: enforcement is Warn would be rejected: pod node label selector conflicts",
    ]
)]
#[case::why_does_my_pod_not_run_that_has_ended(
    "team-blue", &["pod/ended"], 0, &["Pod ended, as it is has ended (Succeeded); it was on blue-1"]
)]
#[case::why_does_my_pod_not_run_whose_node_is_gone(
    "team-blue", &["pod/nowhere"], 0, &["names the node gone-1, which does not exist, and does not run"]
)]
#[case::a_kind_as_kubectl_takes_it("team-blue", &["deployment.apps/large"], 0, &["Deployment large"])]
#[case::a_version_as_kubectl_takes_it("team-blue", &["deployments.v1.apps/large"], 0, &["Deployment large"])]
#[case::where_would_a_pod_template_run("other", &["podtemplate/sample"], 0, &["can run on 1 of 4 nodes"])]
fn a_question_is_answered_by_one_command(
    #[case] namespace: &str,
    #[case] subject: &[&str],
    #[case] status: i32,
    #[case] answers: &[&str],
) -> Result<()> {
    let output = explain(namespace, subject, SETTINGS, "text")?;
    let told = text(&output);
    assert_eq!(output.status.code(), Some(status), "{told}");
    for answer in answers {
        assert!(told.contains(answer), "{answer:?} is missing in\n{told}");
    }
    Ok(())
}

#[rstest]
#[case::a_namespace("gone", &[], "there is no Namespace gone; kubectl get namespaces lists those that are there")]
#[case::a_pod("acme", &["pod/gone"], "there is no Pod acme/gone; kubectl get pods -n acme lists those that are there")]
#[case::an_object_of_another_namespace("acme", &["pod/plain"], "there is no Pod acme/plain")]
#[case::another_kind("acme", &["service/web"], "no Pods come from a service; expected one of pod, deployment")]
#[case::a_runtime_class("other", &["sts/unknown-class"], "with the policy where it can run could not be evaluated: the cluster as given has no RuntimeClass gone")]
fn what_is_not_there_is_a_mistake(#[case] namespace: &str, #[case] subject: &[&str], #[case] told: &str) -> Result<()> {
    let output = explain(namespace, subject, SETTINGS, "text")?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output).contains(told), "{output:?}");
    Ok(())
}

/// The contract for programs.
#[test]
fn an_explanation_is_data() -> Result<()> {
    let (told, status) = data("team-blue", &["deployment/large"], SETTINGS)?;
    assert_eq!(status, Some(0));
    assert_eq!(told["namespace"], "team-blue");
    assert_eq!(told["entry"], "placement.namespaces[1]");
    assert_eq!(
        told["requirements"],
        json!([
            { "requirement": "node.example.com/pool=blue", "source": "placement.namespaces[1].requiredNodeSelector" },
            { "requirement": "tenant=blue:NoSchedule", "source": "placement.namespaces[1].defaultTolerations" },
        ])
    );
    assert_eq!(told["notAsked"], Value::Null);
    let subject = &told["subject"];
    assert_eq!((&subject["kind"], &subject["name"]), (&json!("Deployment"), &json!("large")));
    assert_eq!(subject["withoutPolicy"]["refused"], Value::Null);
    assert_eq!(subject["withPolicy"]["refused"], Value::Null);
    assert_eq!(subject["withPolicy"]["tooSmall"], json!(["node.example.com/pool=blue (tenant=blue:NoSchedule)"]));
    let pools = subject["withPolicy"]["pools"].as_array().context("pools")?;
    let fitting = pools.iter().find(|pool| pool["nodes"] == json!(["blue-1"])).context("a pool")?;
    assert_eq!((&fitting["fits"], &fitting["excludedBy"]), (&json!(true), &Value::Null));
    let (told, _) = data("acme", &[], SETTINGS)?;
    assert_eq!((&told["subject"]["kind"], &told["subject"]["name"]), (&Value::Null, &Value::Null));
    assert_eq!(told["subject"]["withPolicy"]["notNow"], json!(["node.example.com/pool=acme"]));
    let (told, status) = data("team-blue", &["deployment/wrong"], SETTINGS)?;
    assert_eq!((status, &told["subject"]["withPolicy"]["pools"]), (Some(1), &json!([])));
    let (told, status) = data("trial", &["deployment/wrong"], SETTINGS)?;
    let refused = &told["subject"]["withPolicy"]["refused"];
    ensure!(refused["wouldBe"] == true && status == Some(0), "{told}");
    ensure!(
        refused["text"].as_str().is_some_and(|text| text.starts_with("pod node label selector conflicts")),
        "{told}"
    );
    Ok(())
}

/// Of the whole policy, the namespaces that it exempts are told; and two documents are one deployment.
#[test]
fn a_deployment_of_several_policies_is_explained() -> Result<()> {
    let settings = SETTINGS.replace("onBindings: Verify", "onBindings: Verify\n  onNodes: Reject");
    let settings = settings + "nodeMetadata: { propagate: [{ nodeLabel: a }] }\n";
    let settings = file("settings.yml", &settings)?.to_string_lossy().into_owned();
    let written = String::from_utf8(run(&["policy", &settings])?.stdout)?;
    assert_eq!(written.matches("kind: ClusterAdmissionPolicy").count(), 3, "{written}");
    let (told, status) = data("team-blue", &["deployment/wrong"], &written)?;
    assert_eq!((status, &told["entry"]), (Some(1), &json!("placement.namespaces[1]")), "{told}");
    let (told, status) = data("kube-system", &[], &written)?;
    assert_eq!(status, Some(0));
    assert_eq!(told["notAsked"], "the policy's namespaceSelector leaves the namespace out", "{told}");
    assert_eq!(told["subject"]["withPolicy"]["pools"], told["subject"]["withoutPolicy"]["pools"]);
    Ok(())
}

/// What is allowed and forbidden is not required; that the policy is not asked comes first.
#[test]
fn what_pods_may_request_is_told_apart() -> Result<()> {
    let entry = "{ name: '*', allowedNodeSelector: 'disk', allowedTolerations: [], requiredNodeSelector: 'os=linux', \
                 forbiddenTolerations: [{ key: gpu, operator: Exists }] }";
    let settings = format!("placement: {{ namespaces: [{entry}] }}");
    let told = text(&explain("other", &[], &settings, "text")?);
    let expected = "What is required os=linux, by placement.namespaces[0].requiredNodeSelector What Pods may request only \
                    disk, by placement.namespaces[0].allowedNodeSelector no tolerations, by \
                    placement.namespaces[0].allowedTolerations not gpu";
    assert!(told.contains(expected), "{told}");
    let settings = file("settings.yml", &settings)?.to_string_lossy().into_owned();
    let written = String::from_utf8(run(&["policy", &settings])?.stdout)?;
    let told = text(&explain("kube-system", &[], &written, "text")?);
    assert!(told.starts_with("Namespace kube-system the policy is not asked: "), "{told}");
    Ok(())
}

/// Nobody knows where Pods run of whose nodes nothing is known.
#[test]
fn a_cluster_without_nodes_is_told() -> Result<()> {
    let settings = file("settings.yml", SETTINGS)?.to_string_lossy().into_owned();
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: team-blue, labels: {tenant: blue}}}";
    let cluster = file("cluster.yml", namespace)?.to_string_lossy().into_owned();
    let output = run(&["explain", "-n", "team-blue", "-s", &settings, "-c", &cluster])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = "where it can run could not be evaluated: the cluster as given has no Nodes and no NodePools";
    assert!(text(&output).contains(told), "{output:?}");
    Ok(())
}

/// `try` asks the same nodes.
#[rstest]
#[case::a_deployment_that_fits("{}", "its Pods could run on blue-1", json!(["blue-1"]))]
#[case::one_that_is_too_large(
    "{ requests: { cpu: \"6\" } }",
    "its Pods would wait: no node that fits is large enough",
    json!([])
)]
fn a_manifest_is_tried_on_the_nodes_of_a_cluster(
    #[case] resources: &str,
    #[case] told: &str,
    #[case] nodes: Value,
) -> Result<()> {
    let manifest = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: team-blue}}, spec: {{template: {{spec: \
         {{containers: [{{name: c, image: i, resources: {resources}}}]}}}}}}}}"
    );
    let manifest = file("web.yml", &manifest)?.to_string_lossy().into_owned();
    let settings = file("settings.yml", SETTINGS)?.to_string_lossy().into_owned();
    let cluster = file("cluster.yml", CLUSTER)?.to_string_lossy().into_owned();
    let arguments = ["try", &manifest, "-s", &settings, "-c", &cluster];
    let output = run(&arguments)?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output).contains(told), "{output:?}");
    let output = run(&[&arguments[..], &["-o", "json"]].concat())?;
    let data: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(data["results"][0]["pods"]["nodes"], nodes, "{data}");
    Ok(())
}

/// As the API server merges it in before it asks anybody.
#[rstest]
#[case::nodes("placement: {}", 0, "it could run on other")]
#[case::a_whitelist("placement: { namespaces: [{ name: a, allowedNodeSelector: zone }] }", 1, "requests \"kata=yes\"")]
fn a_pod_is_tried_with_its_runtime_class(
    #[case] settings: &str,
    #[case] status: i32,
    #[case] told: &str,
) -> Result<()> {
    let pod = "{ apiVersion: v1, kind: Pod, metadata: { name: p, namespace: a }, \
               spec: { runtimeClassName: kata, containers: [{ name: c, image: i }] } }";
    let cluster = "
kind: List
apiVersion: v1
items:
- { apiVersion: v1, kind: Namespace, metadata: { name: a } }
- { apiVersion: v1, kind: Node, metadata: { name: one } }
- { apiVersion: v1, kind: Node, metadata: { name: other, labels: { kata: 'yes' } } }
- { apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: { name: kata }, handler: kata,
    scheduling: { nodeSelector: { kata: 'yes' } } }
";
    let files = [("pod.yml", pod), ("settings.yml", settings), ("cluster.yml", cluster)];
    let [pod, settings, cluster] = files.map(|(name, text)| file(name, text).map(|path| path.display().to_string()));
    let output = run(&["try", &pod?, "-s", &settings?, "-c", &cluster?])?;
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(text(&output).contains(told), "{output:?}");
    Ok(())
}

/// A request goes to each policy whose rules take it, and what one has changed is what the next one is asked about.
#[test]
fn a_manifest_is_tried_by_several_policies() -> Result<()> {
    let settings = SETTINGS.to_owned() + "nodeMetadata: { propagate: [{ nodeLabel: zone, env: ZONE }] }\n";
    let settings = file("settings.yml", &settings)?.to_string_lossy().into_owned();
    let written = String::from_utf8(run(&["policy", &settings])?.stdout)?;
    assert_eq!(written.matches("kind: ClusterAdmissionPolicy").count(), 2, "{written}");
    let policies = file("policy.yml", &written)?.to_string_lossy().into_owned();
    let cluster = file("cluster.yml", CLUSTER)?.to_string_lossy().into_owned();
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: team-blue}, spec: {containers: [{name: c}]}}";
    let pod = file("pod.yml", pod)?.to_string_lossy().into_owned();
    let output = run(&["try", &pod, "-s", &policies, "-c", &cluster])?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = text(&output);
    for line in [
        "CREATE pods team-blue/a, by node-placement ",
        "CREATE pods team-blue/a, by node-placement-node-metadata",
        "it could run on blue-1",
    ] {
        assert!(told.contains(line), "{line:?} is missing in\n{told}");
    }
    // What is stored has what both have written.
    let stored = told.split_once("as it will be stored:").map_or("", |(_, stored)| stored);
    assert!(stored.contains("node.example.com/pool: blue") && stored.contains("name: ZONE"), "{told}");
    Ok(())
}

/// Two policies, each for the namespaces of one tenant: the one that covers a namespace says what holds there.
#[rstest]
#[case::the_first("team-blue", json!(["blue: placement.namespaces[0].requiredNodeSelector"]))]
#[case::the_second("acme", json!(["acme: placement.namespaces[0].requiredNodeSelector"]))]
fn each_of_several_policies_is_explained(#[case] namespace: &str, #[case] sources: Value) -> Result<()> {
    let mut policies = vec![];
    for tenant in ["blue", "acme"] {
        let settings = format!("placement: {{ namespaces: [{{ name: '*', requiredNodeSelector: pool={tenant} }}] }}");
        let settings = file("settings.yml", &settings)?.to_string_lossy().into_owned();
        let namespaces = format!("tenant={tenant}");
        let output = run(&["policy", &settings, "--name", tenant, "--namespaces", &namespaces])?;
        policies.push(String::from_utf8(output.stdout)?);
    }
    let (told, _) = data(namespace, &[], &policies.join("---\n"))?;
    let found: Vec<&Value> =
        told["requirements"].as_array().into_iter().flatten().map(|demand| &demand["source"]).collect();
    assert_eq!(json!(found), sources, "{told}");
    let excluded = &told["subject"]["withPolicy"]["pools"][0]["excludedBy"];
    assert!(excluded.as_str().is_some_and(|why| why.contains(&format!("required by {}", found[0].as_str().unwrap()))));
    Ok(())
}

/// SETTINGS as the policy that `policy` writes, with one thing changed.
fn deployed(from: &str, to: &str) -> Result<String> {
    let settings = file("settings.yml", SETTINGS)?.to_string_lossy().into_owned();
    let written = String::from_utf8(run(&["policy", &settings])?.stdout)?;
    assert!(written.contains(from), "{written}");
    let written = if to.contains("mode: protect") { written.replace("  mode: monitor\n", "") } else { written };
    Ok(written.replacen(from, to, 1))
}

#[rstest]
#[case::it_only_monitors(
    "mode: monitor",
    "mode: monitor",
    "mode: monitor: nothing is refused or changed yet; this is what enforcing would do"
)]
#[case::users_can_bypass_it(
    "Fail\n",
    "Ignore\n  mode: protect\n",
    "spec.failurePolicy: Ignore, but placement needs Fail"
)]
#[case::an_api_server_refuses_it(
    "timeoutSeconds: 5",
    "timeoutSeconds: 40",
    "spec.timeoutSeconds: expected from 2 to 30"
)]
#[case::labels_that_kubewarden_drops(
    "namespaceSelector:\n",
    "namespaceSelector:\n    matchLabels: { tenant: gone }\n",
    "spec.namespaceSelector.matchLabels: Kubewarden drops it"
)]
fn a_policy_that_can_be_improved_is_explained(#[case] from: &str, #[case] to: &str, #[case] told: &str) -> Result<()> {
    let output = explain("team-blue", &["deployment/wrong"], &deployed(from, to)?, "text")?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let found = text(&output);
    assert!(found.contains(told) && found.contains("is refused"), "{found}");
    Ok(())
}

/// In one pool: too small, cordoned, and both.
#[test]
fn a_node_must_be_large_enough_and_ready() -> Result<()> {
    let node = |name: &str, cpu: u8, is_cordoned: bool| {
        format!(
            "- {{ apiVersion: v1, kind: Node, metadata: {{ name: {name} }}, spec: {{ unschedulable: {is_cordoned} }}, \
             status: {{ allocatable: {{ pods: 110, cpu: {cpu} }} }} }}\n"
        )
    };
    let ask = |nodes: &[String]| {
        let cluster = format!(
            "kind: List\napiVersion: v1\nitems:\n- {{ apiVersion: v1, kind: Namespace, metadata: {{ name: a }} }}\n\
             - {{ apiVersion: v1, kind: Pod, metadata: {{ name: big, namespace: a }}, spec: {{ containers: \
             [{{ name: c, image: i, resources: {{ requests: {{ cpu: 8 }} }} }}] }} }}\n{}",
            nodes.concat()
        );
        let settings = file("settings.yml", "placement: {}")?.to_string_lossy().into_owned();
        let cluster = file("cluster.yml", &cluster)?.to_string_lossy().into_owned();
        run(&["explain", "-n", "a", "pod/big", "-s", &settings, "-c", &cluster])
    };
    let small_or_cordoned = [node("small", 4, false), node("cordoned", 16, true)];
    let told = text(&ask(&small_or_cordoned)?);
    assert!(told.contains("it waits: no node that fits is both large enough and ready"), "{told}");
    assert!(told.contains("(cordoned): fits, but every node is cordoned"), "{told}");
    let told = text(&ask(&[&small_or_cordoned[..], &[node("large", 16, false)]].concat())?);
    assert!(told.contains("can run on 1 of 3 nodes") && told.contains("(large): fits"), "{told}");
    Ok(())
}

/// Objects of the namespace `a` and three nodes, of which one is blue.
fn explain_one(settings: &str, namespace: &str, objects: &str, subject: &[&str]) -> Result<Output> {
    let cluster = format!(
        "kind: List\napiVersion: v1\nitems:\n- {{ apiVersion: v1, kind: Namespace, metadata: {{ name: a }}, {namespace} }}\n\
         - {{ apiVersion: v1, kind: Node, metadata: {{ name: blue, labels: {{ pool: blue, zone: b }} }} }}\n\
         - {{ apiVersion: v1, kind: Node, metadata: {{ name: red, labels: {{ pool: red, zone: a }} }} }}\n{objects}"
    );
    let settings = file("settings.yml", settings)?.to_string_lossy().into_owned();
    let cluster = file("cluster.yml", &cluster)?.to_string_lossy().into_owned();
    run(&[&["explain", "-n", "a", "-s", &settings, "-c", &cluster], subject].concat())
}

const AGENT: &str = "
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: { name: agent, namespace: a }
  spec: { selector: {}, template: { spec: { containers: [{ name: c, image: i }] } } }
- apiVersion: v1
  kind: Pod
  metadata:
    { name: agent-x, namespace: a, ownerReferences: [{ apiVersion: apps/v1, kind: DaemonSet, name: agent, controller: true }] }
  spec: { containers: [{ name: c, image: i }] }
";

const BLUE: &str = "placement: { namespaces: [{ name: a, requiredNodeSelector: pool=blue }] }";

const GREEN: &str = "
- apiVersion: apps/v1
  kind: Deployment
  metadata: { name: green, namespace: a }
  spec: { template: { spec: { nodeSelector: { pool: green }, containers: [{ name: c, image: i }] } } }
";

const OLDER: &str = "
- apiVersion: apps/v1
  kind: Deployment
  metadata: { name: web, namespace: a }
  spec: { template: { spec: { containers: [{ name: c, image: i }] } } }
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata:
    { name: web-1, namespace: a, ownerReferences: [{ apiVersion: apps/v1, kind: Deployment, name: web, controller: true }] }
  spec: { replicas: 1, template: { spec: { nodeSelector: { pool: red }, containers: [{ name: c, image: i }] } } }
";

const GATED: &str = "
- apiVersion: v1
  kind: Pod
  metadata: { name: gated, namespace: a }
  spec: { schedulingGates: [{ name: example.com/quota }], containers: [{ name: c, image: i }] }
";

const TERMS: &str = "
- apiVersion: v1
  kind: Pod
  metadata: { name: multi, namespace: a }
  spec:
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - { matchExpressions: [{ key: zone, operator: In, values: [c] }] }
          - { matchExpressions: [{ key: zone, operator: In, values: [b] }] }
    containers: [{ name: c, image: i }]
";

#[rstest]
#[case::a_daemon_set_that_is_older_than_the_rules(
    BLUE,
    AGENT,
    "daemonset/agent",
    0,
    "where the policy is enforced, it leaves nodes: its controller makes Pods for them, which wait until the template has \
     what the policy adds kubectl node-placement preview says what to do, if the policy is the cause"
)]
#[case::a_deployment_whose_pods_are_refused(
    "placement: { onWorkloads: Ignore, namespaces: [{ name: a, requiredNodeSelector: pool=blue }] }",
    GREEN,
    "deployment/green",
    1,
    "with the policy its Pods are refused: pod node label selector conflicts"
)]
#[case::a_deployment_whose_older_replica_set_is_refused(
    BLUE,
    OLDER,
    "deployment/web",
    1,
    "with the policy is refused: its ReplicaSet web-1: its Pods are refused: pod node label selector conflicts"
)]
#[case::a_deployment_whose_older_replica_set_would_be_refused(
    "placement: { namespaces: [{ name: a, requiredNodeSelector: pool=blue, enforcement: Warn }] }",
    OLDER,
    "deployment/web",
    0,
    "would be rejected: its ReplicaSet web-1: its Pods are refused: pod node label selector conflicts"
)]
#[case::what_kubectl_takes(BLUE, GATED, "pod gated", 2, "expected KIND/NAME; found pod gated: write pod/gated")]
#[case::a_gate(BLUE, GATED, "pod/gated", 0, "waits while it has spec.schedulingGates: example.com/quota")]
#[case::terms_of_which_one_would_do(
    "placement: {}",
    TERMS,
    "pod/multi",
    0,
    "the Pod needs zone in (c), or to meet another of the 2 terms of its node affinity, which its manifest requests"
)]
#[case::a_list_that_is_none(
    BLUE,
    "- { apiVersion: apps/v1, kind: Deployment, metadata: { name: d, namespace: a }, \
     spec: { template: { spec: { containers: { name: a } } } } }\n",
    "deployment/d",
    2,
    "Deployment a/d: spec.template.spec.containers: expected a list; found an object"
)]
fn what_a_subject_waits_for_is_told(
    #[case] settings: &str,
    #[case] objects: &str,
    #[case] subject: &str,
    #[case] status: i32,
    #[case] told: &str,
) -> Result<()> {
    let output = explain_one(settings, "spec: {}", objects, &subject.split(' ').collect::<Vec<_>>())?;
    assert!(text(&output).contains(told), "{}", text(&output));
    assert!(!text(&output).contains("rollout restart"), "{}", text(&output));
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    Ok(())
}

/// Of two nodes that are alike, the policy lets Pods be bound to that which is cordoned.
#[test]
fn a_node_must_be_ready_and_one_that_the_policy_lets_the_pod_be_bound_to() -> Result<()> {
    let settings =
        "{ placement: {}, nodeMetadata: { propagate: [{ nodeAnnotation: example.com/rack, required: true }] } }";
    let cluster = "
kind: List
apiVersion: v1
items:
- { apiVersion: v1, kind: Namespace, metadata: { name: a } }
- { apiVersion: v1, kind: Node, metadata: { name: without-rack } }
- { apiVersion: v1, kind: Node, metadata: { name: cordoned, annotations: { example.com/rack: r1 } },
    spec: { unschedulable: true } }
";
    let settings = file("settings.yml", settings)?.to_string_lossy().into_owned();
    let cluster = file("cluster.yml", cluster)?.to_string_lossy().into_owned();
    let output = run(&["explain", "-n", "a", "-s", &settings, "-c", &cluster, "-o", "json"])?;
    let told: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(told["subject"]["withPolicy"]["notNow"], json!(["other nodes (cordoned)"]), "{told}");
    Ok(())
}

/// A Pod that is older than the fence may get a node from Karpenter, and can't be bound to it.
#[test]
fn a_node_that_would_be_created_must_be_one_that_the_policy_lets_the_pod_be_bound_to() -> Result<()> {
    let settings = "{ placement: { onBindings: Verify, namespaces: [{ name: a, requiredNodeSelector: pool=blue }] }, \
                    nodeMetadata: { propagate: [{ nodeLabel: rack, required: true }] } }";
    let objects = "
- { apiVersion: v1, kind: Pod, metadata: { name: old, namespace: a }, spec: { containers: [{ name: c, image: i }] } }
- { apiVersion: karpenter.sh/v1, kind: NodePool, metadata: { name: of-blue },
    spec: { template: { metadata: { labels: { pool: blue } }, spec: {} } } }
- { apiVersion: karpenter.sh/v1, kind: NodePool, metadata: { name: of-red },
    spec: { template: { metadata: { labels: { pool: red } }, spec: {} } } }
";
    let output = explain_one(settings, "spec: {}", objects, &["pod/old"])?;
    let told = text(&output);
    // Whether it gets a rack nobody knows.
    let unknown =
        "NodePool of-blue (no nodes yet): could not be evaluated: a node that Karpenter creates lacks the label rack";
    assert!(told.contains(unknown), "{told}");
    let refused =
        "NodePool of-red (no nodes yet): the policy refuses to bind the Pod to it: a node that Karpenter creates lacks";
    assert!(told.contains(refused), "{told}");
    Ok(())
}

/// Of a Pod that is older than its template, with the template, whether the policy is asked or not.
#[test]
fn a_pod_that_no_policy_is_asked_about_is_created_from_its_template() -> Result<()> {
    let settings = file("settings.yml", BLUE)?.to_string_lossy().into_owned();
    let policy = String::from_utf8(run(&["policy", &settings, "--namespaces", "tenant"])?.stdout)?;
    let objects = "
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: { name: web, namespace: a }
  spec: { template: { spec: { nodeSelector: { pool: red }, containers: [{ name: c, image: i }] } } }
- apiVersion: v1
  kind: Pod
  metadata:
    { name: web-0, namespace: a, ownerReferences: [{ apiVersion: apps/v1, kind: StatefulSet, name: web, controller: true }] }
  spec: { nodeSelector: { pool: blue }, containers: [{ name: c, image: i }] }
";
    let output = explain_one(&policy, "spec: {}", objects, &["pod/web-0", "-o", "json"])?;
    let told: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(told["notAsked"], "the policy's namespaceSelector leaves the namespace out", "{told}");
    let fits = |when: &str| -> Vec<Value> {
        let pools = told["subject"][when]["pools"].as_array().into_iter().flatten();
        pools.filter(|pool| pool["fits"] == true).map(|pool| pool["nodes"].clone()).collect()
    };
    assert_eq!((fits("withoutPolicy"), fits("withPolicy")), (vec![json!(["blue"])], vec![json!(["red"])]), "{told}");
    Ok(())
}

#[test]
fn nothing_is_created_in_a_namespace_that_is_deleted() -> Result<()> {
    let output = explain_one(BLUE, "status: { phase: Terminating }", "", &[])?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output).contains("is refused: the namespace is being deleted"), "{output:?}");
    Ok(())
}
