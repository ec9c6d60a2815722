//! The largest requests, settings and Nodes that there may be: answered rightly or clearly refused, and in the memory that
//! is allowed for it: twice the floor's, and four times what is read.

use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    Answer, Module, Policy, Scripted, admission_request, floor_module, payload, policy_module, read_document,
};
use serde_json::{Value, json};

const PAGE: usize = 64 * 1024;

static MODULE: LazyLock<Module> =
    LazyLock::new(|| Module::load(&policy_module().expect("the module")).expect("the policy"));

static POLICY: LazyLock<Policy> = LazyLock::new(|| MODULE.policy(None).expect("the policy"));

/// The least memory in which the floor answers to the smallest request.
static FLOOR: LazyLock<usize> = LazyLock::new(|| {
    let floor = Module::load(&floor_module().expect("the floor")).unwrap();
    let answers = |pages: &usize| {
        let bound = floor.policy(Some(pages * PAGE)).expect("the floor");
        bound.call("validate", b"{}", e2e_tests::NoCluster).result.is_ok()
    };
    (1..100).find(answers).expect("a bound within which the floor answers") * PAGE
});

fn request(name: &str) -> Result<Value> {
    let file = format!("{}/fixtures/requests/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Ok(admission_request(&read_document(file.as_ref())?).clone())
}

/// What the policy answers within the memory that is allowed, if every look-up finds `object`.
fn answer(request: &Value, settings: &Value, object: &Value) -> Result<Answer> {
    let payload = payload(request, settings);
    let object = object.to_string();
    let allowed = 2 * *FLOOR + 4 * (payload.len() + object.len());
    let policy = MODULE.policy(Some(allowed))?;
    let call = policy.call("validate", &payload, Scripted(move |_: &_| Ok(object.clone())));
    let bytes = call.result.map_err(|error| anyhow::anyhow!("within {allowed} bytes: {error}"))?;
    serde_json::from_slice(&bytes).context("the answer is JSON")
}

fn placement(selector: &str) -> Value {
    json!({"placement": {"namespaceAnnotations": [], "clusterDefaultNodeSelector": selector}})
}

fn pod(affinity: Value) -> Result<Value> {
    let mut pod = request("pod-create")?;
    pod["object"]["spec"]["affinity"] = affinity;
    Ok(pod)
}

fn required(expressions: Vec<Value>) -> Value {
    let terms = json!([{"matchExpressions": expressions}]);
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
}

/// Larger ones are not let in.
#[test]
fn a_pod_of_eight_hundred_and_fifty_kilobytes() -> Result<()> {
    let mut pod = request("pod-create")?;
    let container = pod["object"]["spec"]["containers"][0].clone();
    let count = 850_000 / container.to_string().len();
    pod["object"]["spec"]["containers"] = vec![container; count].into();
    let answer = answer(&pod, &placement("env=production"), &json!({}))?;
    let mutated = answer.mutated_object.context("it is changed")?;
    ensure!(mutated["spec"]["nodeSelector"] == json!({"env": "production"}), "{}", mutated["spec"]["nodeSelector"]);
    ensure!(mutated["spec"]["containers"] == pod["object"]["spec"]["containers"], "the containers changed");
    Ok(())
}

#[test]
fn ten_thousand_namespaces_in_the_settings() -> Result<()> {
    let entry = |at: usize| json!({"name": format!("team-{at}"), "requiredNodeSelector": format!("pool=p{at}")});
    let settings = json!({"placement": {
        "namespaceAnnotations": [],
        "namespaces": (0..10_000).map(entry).collect::<Vec<_>>(),
    }});
    let mut pod = request("pod-create")?;
    pod["namespace"] = json!("team-9999");
    let mutated = answer(&pod, &settings, &json!({}))?.mutated_object.context("it is changed")?;
    ensure!(mutated["spec"]["nodeSelector"] == json!({"pool": "p9999"}), "{}", mutated["spec"]["nodeSelector"]);
    let answer = POLICY.validate_settings(&settings)?;
    ensure!(answer.valid, "{:?}", answer.message);
    Ok(())
}

#[test]
fn two_thousand_expressions() -> Result<()> {
    let expression = |at: usize| json!({"key": format!("label-{at}"), "operator": "In", "values": ["a", "b"]});
    let pod = pod(required((0..2_000).map(expression).collect()))?;
    let mutated = answer(&pod, &placement("env!=test"), &json!({}))?.mutated_object.context("it is changed")?;
    let path = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions";
    let expressions = mutated.pointer(path).and_then(Value::as_array).context("expressions")?;
    ensure!(expressions.len() == 2_001, "{}", expressions.len());
    ensure!(expressions[2_000] == json!({"key": "env", "operator": "NotIn", "values": ["test"]}), "the last one");
    Ok(())
}

/// The host reads at most 128 levels. What nobody looks at is skipped without a limit.
#[test]
fn deep_nesting() -> Result<()> {
    for levels in [120, 100_000] {
        let nested = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let mut pod = request("pod-create")?;
        pod["object"]["unknown"] = json!("nested");
        let payload = payload(&pod, &placement("env=production"));
        let payload = String::from_utf8(payload)?.replace(r#""nested""#, &nested);
        let call = POLICY.call("validate", payload.as_bytes(), e2e_tests::NoCluster);
        let answer = String::from_utf8(call.result.map_err(anyhow::Error::msg)?)?;
        ensure!(answer.contains(&nested) && answer.contains(r#""env":"production""#), "{levels} levels");
    }
    Ok(())
}

#[test]
fn keys_of_64_kib() -> Result<()> {
    let key = "k".repeat(64 * 1024);
    let mut pod = pod(required(vec![json!({"key": key, "operator": "Exists"})]))?;
    pod["object"]["metadata"]["annotations"] = json!({key.as_str(): key});
    let mutated = answer(&pod, &placement("env=production"), &json!({}))?.mutated_object.context("it is changed")?;
    ensure!(mutated["metadata"]["annotations"] == pod["object"]["metadata"]["annotations"], "an annotation changed");

    pod["object"]["spec"]["nodeSelector"] = json!({key.as_str(): ""});
    let settings =
        json!({"placement": {"namespaceAnnotations": [], "namespaces": [{"name": "*", "allowedNodeSelector": "a"}]}});
    let answer = answer(&pod, &settings, &json!({}))?;
    let message = answer.message.unwrap_or_default();
    ensure!(answer.code == Some(403) && message.contains('…') && message.len() < 1_000, "{message}");
    Ok(())
}

#[test]
fn a_thousand_labels_on_a_node() -> Result<()> {
    let labels: Value = (0..1_000).map(|at| (format!("a.io/label-{at}"), json!(format!("value-{at}")))).collect();
    let node = json!({"metadata": {"name": "node-a", "labels": labels}});
    let settings = json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a.io/label-777", "podLabel": "b.io/zone"}]}});
    let mutated = answer(&request("binding")?, &settings, &node)?.mutated_object.context("it is changed")?;
    ensure!(mutated["metadata"]["labels"]["b.io/zone"] == "value-777", "{}", mutated["metadata"]);
    Ok(())
}

/// All their variables would have three megabytes.
#[test]
fn a_thousand_containers_and_thirty_variables() -> Result<()> {
    let entry = |at: usize| json!({"nodeLabel": format!("a.io/label-{at}"), "env": format!("LABEL_{at}")});
    let settings = json!({"nodeMetadata": {"propagate": (0..30).map(entry).collect::<Vec<_>>()}});
    let mut pod = request("pod-create")?;
    pod["object"]["spec"]["containers"] = (0..990).map(|at| json!({"name": format!("c-{at}")})).collect();
    let policy = MODULE.policy(Some(16 * 1024 * 1024))?;
    let call = policy.call("validate", &payload(&pod, &settings), e2e_tests::NoCluster);
    let answer: Answer = serde_json::from_slice(&call.result.map_err(anyhow::Error::msg)?)?;
    let message = answer.message.unwrap_or_default();
    ensure!(answer.code == Some(403) && message.contains("at most 900 KiB are allowed"), "{message}");
    Ok(())
}

/// Each would get a toleration, and the Pod would have five megabytes and more.
#[test]
fn a_large_pod_with_many_resources_is_refused_before_it_grows() -> Result<()> {
    let settings = json!({"placement": {"namespaceAnnotations": [], "onExtendedResources": "Tolerate"}});
    let mut pod = request("pod-create")?;
    let requests: Value = (0..60_000).map(|at| (format!("x.io/{at:05}"), json!("1"))).collect();
    pod["object"]["spec"]["containers"] = json!([{"name": "c", "resources": {"requests": requests}}]);
    let size = pod["object"].to_string().len().div_ceil(1024);
    let answer = answer(&pod, &settings, &json!({}))?;
    let message = answer.message.unwrap_or_default();
    ensure!(answer.code == Some(403) && message.contains(&format!("has {size} KiB as")), "{message}");
    Ok(())
}

/// An update that does not grow is let in. Nobody can claim that of an object that is created.
#[test]
fn a_large_pod_that_brings_an_old_one_is_refused() -> Result<()> {
    let mut pod = request("pod-create")?;
    pod["object"]["metadata"]["annotations"] = json!({"a": "x".repeat(950 * 1024)});
    pod["oldObject"] = pod["object"].clone();
    let created = answer(&pod, &placement("env=production"), &json!({}))?;
    ensure!(created.code == Some(403), "{:?}", created.message);
    pod["operation"] = json!("UPDATE");
    ensure!(answer(&pod, &placement("env=production"), &json!({}))?.accepted, "an update that does not grow");
    Ok(())
}
