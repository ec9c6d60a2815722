//! What `convert` makes of a plugin's configuration decides as the plugin did: every recorded answer of
//! `PodNodeSelector` and `PodTolerationRestriction`, less the differences that are named and counted here. The comments
//! that `convert` writes tell each of them.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result, ensure};
use cli::{
    convert::{Plugins, plugins::PairList, write_settings},
    input::documents::yaml_documents,
};
use e2e_tests::{Answer, Manifests, Policy};
use node_placement_policy::{
    placement::tolerations::is_added_by_cluster,
    selector::parse,
    toleration::{Toleration, from_annotation},
};
use serde_json::{Map, Value, json};

const NODE_SELECTOR: &str = "scheduler.alpha.kubernetes.io/node-selector";
const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const WHITELIST: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// Of a malformed annotation the plugins make 500; it is its author's mistake, 403.
const SAME: &str = "the same verdict and the same Pod";

#[test]
fn pod_node_selector() -> Result<()> {
    let counts = counted("podnodeselector.jsonl", compare_node_selector)?;
    let expected = [
        (SAME, 1232),
        ("convert refuses the configuration: the plugin can't read it", 220),
        ("an annotation that only the plugin can read", 19),
        ("an annotation that only placement can read", 19),
        ("an annotation with a key twice contradicts itself; the plugin takes the last value", 7),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
    Ok(())
}

#[test]
fn pod_toleration_restriction() -> Result<()> {
    let counts = counted("podtolerationrestriction.jsonl", compare_tolerations)?;
    let expected = [
        (SAME, 799),
        ("an annotation that only the plugin can read", 273),
        ("the plugin adds memory-pressure", 175),
        ("the plugin's merge leaves out what another toleration covers", 138),
        ("the annotation's whitelist narrows that of the settings; in the plugin it replaces it", 44),
        ("a malformed whitelist that nobody is judged by", 20),
        ("what Kubernetes adds is not judged", 19),
        ("what a Pod has is not judged again at its updates", 14),
        ("a default of the settings is not judged", 12),
        ("an omitted operator is Equal", 6),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
    Ok(())
}

/// How many lines of a file in `fixtures/vectors` come out how.
fn counted(
    name: &str,
    compare: impl Fn(&Policy, &Value) -> Result<&'static str>,
) -> Result<BTreeMap<&'static str, usize>> {
    let policy = Policy::native();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors").join(name))?;
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let outcome = compare(&policy, &serde_json::from_str(line)?).with_context(|| line.to_owned())?;
        *counts.entry(outcome).or_default() += 1;
    }
    Ok(counts)
}

/// The settings for a plugin's configuration.
fn converted(configuration: &Value) -> Result<Value> {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let name = format!("plugins-{}.json", FILES.fetch_add(1, Ordering::Relaxed));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, configuration.to_string())?;
    let plugins = Plugins::load(&path)?;
    let text = write_settings(&plugins, "a test", None, false)?;
    yaml_documents(&text)?.pop().context("settings")
}

/// What the policy answers to the operation of a vector, on `pod` in a namespace with this `metadata`.
fn answer(policy: &Policy, settings: &Value, metadata: &Value, vector: &Value, pod: &Value) -> Result<Answer> {
    let old = match vector.get("oldPod") {
        Some(old) => old,
        None if vector["operation"] == "UPDATE" => pod,
        None => &Value::Null,
    };
    let request = json!({
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "subResource": vector["subresource"],
        "operation": vector["operation"],
        "namespace": metadata["name"],
        "userInfo": {"username": "somebody"},
        "object": pod,
        "oldObject": old,
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
    let cluster: Manifests = [namespace].into_iter().collect();
    Ok(policy.validate(&request, settings, cluster)?.answer)
}

fn compare_node_selector(policy: &Policy, vector: &Value) -> Result<&'static str> {
    let settings = match converted(&json!({ "podNodeSelectorPluginConfig": vector["config"] })) {
        Ok(settings) => settings,
        Err(error) => {
            let told = format!("{error:#}");
            ensure!(told.contains(": podNodeSelectorPluginConfig.") && told.contains("can't read it"), "{told}");
            return Ok("convert refuses the configuration: the plugin can't read it");
        }
    };
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": vector["pod"]["name"]},
        "spec": {"nodeSelector": vector["pod"]["nodeSelector"]},
    });
    let expect = &vector["expect"];
    let answer = answer(policy, &settings, &vector["namespace"], vector, &pod)?;
    let annotation = vector["namespace"]["annotations"][NODE_SELECTOR].as_str().unwrap_or_default();
    let is_admitted = expect["admit"] == true;
    match (PairList::read(annotation), parse(annotation)) {
        (Ok(_), Err(_)) if is_admitted && !answer.accepted => Ok("an annotation that only the plugin can read"),
        (Err(_), Ok(_)) if !is_admitted && answer.accepted => Ok("an annotation that only placement can read"),
        (Ok(pairs), _) if !pairs.repeated.is_empty() && is_admitted && !answer.accepted => {
            Ok("an annotation with a key twice contradicts itself; the plugin takes the last value")
        }
        _ if is_admitted != answer.accepted => {
            anyhow::bail!("a difference without a name: {answer:?}")
        }
        _ if !is_admitted && expect["code"] == 0 => {
            ensure!(answer.code == Some(403), "{answer:?}");
            Ok(SAME)
        }
        _ if !is_admitted => {
            let sentence = expect["error"].as_str().and_then(|error| Some(error.split_once(" is forbidden: ")?.1));
            let message = answer.message.as_deref().unwrap_or_default();
            let is_said = sentence.is_some_and(|sentence| message.starts_with(sentence));
            // Placement refuses these annotations themselves.
            let is_refused =
                parse(annotation).is_err() || message.contains("annotations' node label selectors conflict");
            ensure!(is_said || is_refused, "{message}");
            Ok(SAME)
        }
        _ => {
            let mut result = answer.mutated_object.unwrap_or_else(|| pod.clone());
            let mut expected = pod;
            expected["spec"]["nodeSelector"] = or_empty(&expect["nodeSelector"]);
            result["spec"]["nodeSelector"] = or_empty(&result["spec"]["nodeSelector"]);
            ensure!(result == expected, "has become {result}");
            Ok(SAME)
        }
    }
}

/// No nodeSelector and an empty one are the same.
fn or_empty(node_selector: &Value) -> Value {
    if node_selector.is_null() { json!({}) } else { node_selector.clone() }
}

fn compare_tolerations(policy: &Policy, vector: &Value) -> Result<&'static str> {
    let settings = converted(&json!({
        "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1",
        "kind": "Configuration",
        "default": vector["config"]["default"],
        "whitelist": vector["config"]["whitelist"],
    }))?;
    let metadata = json!({"name": "team-a", "annotations": vector["namespace"]["annotations"]});
    let answer = answer(policy, &settings, &metadata, vector, &vector["pod"])?;
    let recorded = Recorded { vector };
    let error = vector["admit"]["error"].as_str();
    match (answer.accepted, error) {
        (false, Some(_)) => {
            ensure!(answer.code == Some(403), "{answer:?}");
            Ok(SAME)
        }
        (false, None) => recorded.why_refused_here().with_context(|| format!("{answer:?}")),
        (true, Some(_)) => recorded.why_refused_there(),
        (true, None) => {
            let pod = answer.mutated_object.as_ref().unwrap_or(&vector["pod"]);
            ensure!(without_tolerations(pod) == without_tolerations(&vector["pod"]), "has become {pod}");
            recorded.why_lists_differ(&list(&pod["spec"]["tolerations"]))
        }
    }
}

/// A line of `podtolerationrestriction.jsonl`.
struct Recorded<'a> {
    vector: &'a Value,
}

impl Recorded<'_> {
    fn annotation(&self, key: &str) -> Option<&str> {
        self.vector["namespace"]["annotations"][key].as_str()
    }

    fn why_refused_here(&self) -> Result<&'static str> {
        if [DEFAULTS, WHITELIST].iter().any(|key| self.annotation(key).is_some_and(is_malformed)) {
            return Ok("an annotation that only the plugin can read");
        }
        let whitelist = list(&self.vector["config"]["whitelist"]);
        if self.annotation(WHITELIST).is_some() && !whitelist.is_empty() {
            return Ok("the annotation's whitelist narrows that of the settings; in the plugin it replaces it");
        }
        anyhow::bail!("a difference without a name")
    }

    fn why_refused_there(&self) -> Result<&'static str> {
        let whitelist = match self.annotation(WHITELIST) {
            Some(text) if is_malformed(text) => return Ok("a malformed whitelist that nobody is judged by"),
            Some(text) => read(&annotated(text)),
            None => read(&self.vector["config"]["whitelist"]),
        };
        let judged = read(&self.vector["admit"]["tolerations"]);
        let refused = judged.iter().find(|own| !whitelist.iter().any(|allowed| allowed.covers(own)));
        let Some(refused) = refused else { return Ok("an omitted operator is Equal") };
        let is_default = read(&self.vector["config"]["default"]).iter().any(|default| default.same_as(refused));
        if is_added_by_cluster(refused, false) {
            return Ok("what Kubernetes adds is not judged");
        }
        if is_default {
            return Ok("a default of the settings is not judged");
        }
        let old = read(&self.vector["oldPod"]["spec"]["tolerations"]);
        ensure!(old.iter().any(|old| old.same_as(refused)), "a difference without a name: {refused:?}");
        Ok("what a Pod has is not judged again at its updates")
    }

    fn why_lists_differ(&self, here: &[Value]) -> Result<&'static str> {
        let there = list(&self.vector["admit"]["tolerations"]);
        if here == there {
            return Ok(SAME);
        }
        let memory_pressure =
            json!({"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"});
        let others = |list: &[Value]| -> Vec<Value> {
            list.iter().filter(|toleration| **toleration != memory_pressure).cloned().collect()
        };
        if others(here) == others(&there) {
            return Ok("the plugin adds memory-pressure");
        }
        let (own, merged) = (read(&json!(here)), read(&json!(there)));
        let covers_all = |these: &[Toleration], those: Vec<Toleration>| {
            those.iter().all(|that| these.iter().any(|this| this.covers(that)))
        };
        ensure!(
            covers_all(&own, read(&json!(others(&there)))) && covers_all(&merged, own.clone()),
            "a difference without a name: {here:?} instead of {there:?}"
        );
        Ok("the plugin's merge leaves out what another toleration covers")
    }
}

/// Whether an annotation is none of the lists that settings could have.
fn is_malformed(text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    let fields = ["key", "operator", "value", "effect", "tolerationSeconds"];
    let Ok(strict) = serde_json::from_str::<Option<Vec<Map<String, Value>>>>(text) else { return true };
    if strict.iter().flatten().flat_map(Map::keys).any(|key| !fields.contains(&key.as_str())) {
        return true;
    }
    let Ok(list) = serde_json::from_value::<Vec<Toleration>>(json!(strict.unwrap_or_default())) else {
        return true;
    };
    // A repeated field is a mistake in settings.
    list.iter().any(|toleration| !toleration.check().is_empty()) || from_annotation(text).is_err()
}

fn annotated(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn read(list: &Value) -> Vec<Toleration> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|toleration| serde_json::from_value(toleration.clone()).ok()).collect()
}

/// Tolerations, each as Kubernetes writes it: without what is empty.
fn list(tolerations: &Value) -> Vec<Value> {
    let mut list = tolerations.as_array().cloned().unwrap_or_default();
    for toleration in list.iter_mut().filter_map(Value::as_object_mut) {
        toleration.retain(|_, value| !value.is_null() && value != "");
    }
    list
}

fn without_tolerations(pod: &Value) -> Value {
    let mut pod = pod.clone();
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove("tolerations");
    }
    pod
}
