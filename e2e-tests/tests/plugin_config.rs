//! The in-tree plugins: every recorded answer of `PodNodeSelector` comes out of the module too, under its own
//! configuration, and all that `ExtendedResourceToleration` adds under `placement`.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use e2e_tests::{Answer, Evaluation, Manifests, NoCluster, Policy, policy_under_test};
use node_placement_policy::toleration::Toleration;
use serde::Deserialize;
use serde_json::{Value, json};

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

#[derive(Deserialize)]
struct Vector {
    id: u32,
    operation: String,
    subresource: String,
    config: Value,
    namespace: Value,
    pod: Value,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    admit: bool,
    node_selector: Option<Value>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    code: u16,
}

#[test]
fn every_recorded_answer_comes_out_of_the_module() -> Result<()> {
    let policy = policy_under_test()?;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors/podnodeselector.jsonl");
    let mut evaluated = 0;
    for line in fs::read_to_string(file)?.lines() {
        let vector: Vector = serde_json::from_str(line)?;
        vector.check(&policy).with_context(|| format!("line {}: {line}", vector.id))?;
        evaluated += 1;
    }
    ensure!(evaluated == 1497, "{evaluated} lines");
    Ok(())
}

impl Vector {
    fn check(&self, policy: &Policy) -> Result<()> {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.pod["name"]},
            "spec": {"nodeSelector": self.pod["nodeSelector"]},
        });
        let request = json!({
            "uid": "1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "subResource": self.subresource,
            "operation": self.operation,
            "namespace": self.namespace["name"],
            "userInfo": {"username": "somebody"},
            "object": object,
        });
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.namespace["name"], "annotations": self.namespace["annotations"]},
        });
        let cluster: Manifests = [namespace].into_iter().collect();
        let settings = json!({"podNodeSelectorPluginConfig": self.config});
        let Evaluation { answer, .. } = policy.validate(&request, &settings, cluster)?;
        ensure!(answer.accepted == self.expect.admit, "{answer:?}");
        match self.expect.code {
            _ if answer.accepted => {
                let object = answer.mutated_object.unwrap_or(object);
                let result = pairs(Some(&object["spec"]["nodeSelector"]));
                ensure!(result == pairs(self.expect.node_selector.as_ref()), "the nodeSelector is {result}");
            }
            403 => {
                let sentence = self.expect.error.split_once(" is forbidden: ").map(|(_, sentence)| sentence);
                ensure!(answer.code == Some(403) && answer.message.as_deref() == sentence, "{answer:?}");
            }
            _ => return self.check_malformed(&answer),
        }
        Ok(())
    }

    /// Of a malformed selector the API server makes 500. So does the policy where it stands in the configuration; an
    /// annotation is its author's mistake.
    fn check_malformed(&self, answer: &Answer) -> Result<()> {
        let name = self.namespace["name"].as_str().unwrap_or_default();
        let is_annotated = self.namespace["annotations"][ANNOTATION].is_string();
        let fault = match answer.code {
            Some(403) if is_annotated => {
                format!("annotation {ANNOTATION} of namespace \"{name}\" is not a node selector: ")
            }
            Some(500) => "the policy's settings have a mistake: podNodeSelectorPluginConfig.".to_owned(),
            _ => bail!("{answer:?}"),
        };
        ensure!(answer.message.as_ref().is_some_and(|message| message.starts_with(&fault)), "{answer:?}");
        Ok(())
    }
}

/// No nodeSelector and an empty one are the same.
fn pairs(node_selector: Option<&Value>) -> Value {
    node_selector.filter(|pairs| !pairs.is_null()).cloned().unwrap_or_else(|| json!({}))
}

/// The lines of a file in `fixtures/vectors`.
fn vectors(name: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors").join(name))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// A request about the Pod of a vector, in namespace `team-a`.
fn pod_request(vector: &Value) -> Value {
    json!({
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": vector["operation"],
        "namespace": "team-a",
        "userInfo": {"username": "somebody"},
        "object": vector["pod"],
        "oldObject": vector["oldPod"],
    })
}

/// What a Pod tolerates, each as Kubernetes writes it: without what is empty.
fn tolerations(pod: &Value) -> Vec<Value> {
    let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    for toleration in tolerations.iter_mut().filter_map(Value::as_object_mut) {
        toleration.retain(|_, value| !value.is_null() && value != "");
    }
    tolerations
}

fn without_tolerations(pod: &Value) -> Value {
    let mut pod = pod.clone();
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove("tolerations");
    }
    pod
}

fn read(toleration: &Value) -> Result<Toleration> {
    Ok(Toleration::deserialize(toleration)?)
}

/// The resources of which containers and init containers request more than zero. All that is recorded are whole numbers.
fn requested(pod: &Value) -> BTreeSet<String> {
    let containers = ["containers", "initContainers"].into_iter().filter_map(|kind| pod["spec"][kind].as_array());
    let requests = containers.flatten().filter_map(|container| container["resources"]["requests"].as_object());
    let more_than_zero = requests.flatten().filter(|(_, quantity)| *quantity != "0");
    more_than_zero.map(|(name, _)| name.clone()).collect()
}

/// Upstream adds at updates, too, rewrites what a Pod has, and counts requests of zero; the policy does none of that. What
/// it adds to a Pod that tolerates nothing yet is what upstream does, less what is for zero.
#[test]
fn extended_resources_are_tolerated_as_recorded() -> Result<()> {
    let policy = policy_under_test()?;
    let settings = json!({"placement": {"namespaceAnnotations": [], "onExtendedResources": "Tolerate"}});
    let (mut whole, mut added, mut for_zero) = (0, 0, 0);
    for (line, mut vector) in (1..).zip(vectors("extendedresourcetoleration.jsonl")?) {
        vector["oldPod"] = vector["pod"].clone();
        let request = pod_request(&vector);
        let answer = policy.validate(&request, &settings, NoCluster)?.answer;
        ensure!(answer.accepted, "line {line}: {answer:?}");
        let pod = answer.mutated_object.as_ref().unwrap_or(&vector["pod"]);
        ensure!(without_tolerations(pod) == without_tolerations(&vector["pod"]), "line {line}: {pod}");
        if vector["operation"] == "UPDATE" {
            ensure!(answer.mutated_object.is_none(), "line {line}: {pod}");
            continue;
        }
        let own = vector["pod"]["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
        if own.is_empty() {
            let requested = requested(&vector["pod"]);
            let mut expected = tolerations(&json!({"spec": vector}));
            let upstream = expected.len();
            expected.retain(|toleration| toleration["key"].as_str().is_some_and(|key| requested.contains(key)));
            ensure!(tolerations(pod) == expected, "line {line}: {pod}");
            whole += 1;
            for_zero += upstream - expected.len();
        }
        added += check_additions(&vector, &own, pod).with_context(|| format!("line {line}: {vector}"))?;
    }
    ensure!(
        (whole, added, for_zero) == (258, 693, 93),
        "{whole} Pods that tolerated nothing, {added} additions, {for_zero} that upstream adds for zero"
    );
    Ok(())
}

/// How many there are: each is one that upstream adds, in byte order, and nothing of the Pod's `own` covers it; nothing
/// that upstream adds is missing.
fn check_additions(vector: &Value, own: &[Value], pod: &Value) -> Result<usize> {
    let result = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    let added = result.strip_prefix(own).with_context(|| format!("its own have become {result:?}"))?;
    let mut expected = vec![];
    for resource in requested(&vector["pod"]) {
        let wanted = json!({"key": resource, "operator": "Exists", "effect": "NoSchedule"});
        let is_upstreams = tolerations(&json!({"spec": vector})).contains(&wanted);
        let mut covering = own.iter().map(read).collect::<Result<Vec<_>>>()?;
        covering.retain(|toleration| read(&wanted).is_ok_and(|wanted| toleration.covers(&wanted)));
        if is_upstreams && covering.is_empty() {
            expected.push(wanted);
        }
    }
    ensure!(added == expected, "{added:?} are added instead of {expected:?}");
    Ok(added.len())
}
