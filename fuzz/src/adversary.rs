//! A tenant who wants to do harm: names that mean something in a URL, keys and sizes that make a Pod invalid, requests for
//! nothing of a resource, forged owners. Whatever is tried, only what can be a name is looked up, no Pod that the policy
//! accepts is invalid once it is bound, nobody gets to tainted nodes for a resource that is not there, and where nothing may
//! be chosen, no DaemonSet chooses.

use arbitrary::{Result, Unstructured};
use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
use node_placement_policy::selector::syntax;
use serde_json::{Map, Value, json};

use super::{pick, validate};

/// What the annotations of an object may have in all, in bytes of keys and values.
const LARGEST: usize = 256 * 1024;

const NAMES: [&str; 8] =
    ["node-a", "node-a?watch=true", "node-d/proxy/metrics", "..", "%2e", "node-a#x", "Node-A", "a.b-c.d1"];
const KEYS: [&str; 7] = [
    "example.com/zone",
    "example.com/rack",
    "note",
    "example.com/a b",
    "/x",
    "example.com/",
    "kubernetes.io/config.hash",
];
/// Around the bounds of what is written, of what leaves room for it, and of what can be stored.
const SIZES: [usize; 7] = [0, 5, 40, 16 * 1024 - 30, 240 * 1024 - 60, 240 * 1024 - 4, 256 * 1024 - 30];

/// An extended resource, and the key of the taint of nodes that have it.
const RESOURCE: &str = "example.com/gold";

/// Of each, whether it is more than zero.
const QUANTITIES: [(&str, bool); 8] = [
    ("0", false),
    ("0.0", false),
    ("-1", false),
    ("0e3", false),
    ("", false),
    ("1", true),
    ("2k", true),
    ("0.001", true),
];

pub fn check(input: &[u8]) {
    let input = &mut Unstructured::new(input);
    // Without enough input there is nothing to try.
    let _ = forge_owner(input).and_then(|()| ask_for_nothing(input)).and_then(|()| attack(input));
}

/// A Pod that asks for an extended resource, or pretends to, of which the node has some, or none.
fn ask_for_nothing(input: &mut Unstructured<'_>) -> Result<()> {
    let (requested, is_requested) = *pick(input, &QUANTITIES);
    let (allocatable, is_there) = *pick(input, &QUANTITIES);
    let node = json!({
        "metadata": {},
        "spec": {"taints": [{"key": RESOURCE, "effect": "NoSchedule"}]},
        "status": {"allocatable": {RESOURCE: allocatable}},
    });
    let settings = json!({"placement": {
        "onExtendedResources": "Tolerate",
        "onBindings": "Verify",
        "namespaces": [{"name": "*", "allowedTolerations": []}],
    }});
    let of_its_own = json!([{"key": RESOURCE, "operator": "Exists", "effect": "NoSchedule"}]);
    let pod = json!({"metadata": {"name": "p"}, "spec": {
        "containers": [{"name": "c", "resources": {"requests": {RESOURCE: requested}}}],
        "tolerations": if input.arbitrary()? { of_its_own } else { Value::Null },
        "nodeName": if input.arbitrary()? { json!("node-a") } else { Value::Null },
    }});
    let cluster = Watched { node };
    if let Some(pod) = ask(&cluster, &settings, "team-a", ("", "pods", "", "CREATE"), &pod, &Value::Null) {
        let tolerates = pod["spec"]["tolerations"].as_array().is_some_and(|list| !list.is_empty());
        assert_eq!(tolerates, is_requested, "{pod}");
        assert!(pod["spec"]["nodeName"].is_null() || is_there, "{allocatable:?} of it: {pod}");
    }
    let binding = json!({"metadata": {"name": "p"}, "target": {"name": "node-a"}});
    let binding = ask(&cluster, &settings, "team-a", ("", "pods", "binding", "CREATE"), &binding, &Value::Null);
    assert_eq!(binding.is_some(), is_there, "bound to a node that has {allocatable:?}");
    Ok(())
}

/// A DaemonSet with a claim of any kind, in a namespace that may choose nothing.
fn forge_owner(input: &mut Unstructured<'_>) -> Result<()> {
    let by_terms = |term: Value| {
        json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
        }}})
    };
    let specs = [
        (json!({"hostname": "x"}), false),
        (json!({"nodeSelector": {"pool": "gold"}}), true),
        (by_terms(json!({"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gold"]}]})), true),
        (by_terms(json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]})), true),
    ];
    let (spec, chooses) = pick(input, &specs);
    let is_owned = input.arbitrary()?;
    let owner = json!({"kind": pick(input, &["ConfigMap", "DaemonSet", ""]), "name": "mine", "controller": is_owned});
    let deletion = if input.arbitrary()? { json!("2026-01-01T00:00:00Z") } else { Value::Null };
    let daemon_set = json!({
        "metadata": {"name": "d", "ownerReferences": [owner], "deletionTimestamp": deletion},
        "spec": {"template": {"spec": spec}},
    });
    let operation = *pick(input, &["CREATE", "UPDATE"]);
    let old_object = json!({"metadata": {"name": "d"}, "spec": {"template": {"spec": {}}}});
    let settings = json!({"placement": {
        "onDaemonSets": pick(input, &["Inject", "Reject"]),
        "namespaces": [{"name": "*", "requiredNodeSelector": "env=blue", "allowedNodeSelector": ""}],
    }});
    let cluster = Watched { node: Value::Null };
    let asked = ("apps", "daemonsets", "", operation);
    let answer = ask(&cluster, &settings, "team-a", asked, &daemon_set, &old_object);
    if *chooses {
        assert_eq!(answer, None, "{operation}: {daemon_set}");
    } else if is_owned {
        assert_eq!(answer, Some(daemon_set), "owned, and not as it was");
    }
    Ok(())
}

fn attack(input: &mut Unstructured<'_>) -> Result<()> {
    let cluster = Watched { node: node(input)? };
    let settings = settings(input)?;
    let namespace = name(input)?;
    let pod =
        json!({"metadata": {"name": "p", "annotations": annotations(input)?}, "spec": {"nodeName": node_name(input)?}});
    let Some(pod) = ask(&cluster, &settings, &namespace, ("", "pods", "", "CREATE"), &pod, &Value::Null) else {
        return Ok(());
    };

    let target = name(input)?;
    if target.is_empty() {
        // The API server refuses such a Binding.
        return Ok(());
    }
    let brought = if input.arbitrary()? { annotations(input)? } else { Value::Null };
    let binding =
        json!({"metadata": {"name": "p", "annotations": brought}, "target": {"kind": "Node", "name": target}});
    let was_valid = is_valid(&pod);
    let (resource, sub_resource) = *pick(input, &[("pods", "binding"), ("bindings", "")]);
    let asked = ("", resource, sub_resource, "CREATE");
    let Some(binding) = ask(&cluster, &settings, &namespace, asked, &binding, &Value::Null) else { return Ok(()) };
    let bound = bound(&pod, &binding);
    assert!(!was_valid || is_valid(&bound), "valid before, and not once bound: {}", sizes(&bound));

    let mut touched = bound.clone();
    touched["metadata"]["annotations"] = annotations(input)?;
    touched["spec"]["nodeName"] = node_name(input)?;
    let was_valid = is_valid(&touched);
    if let Some(updated) = ask(&cluster, &settings, &namespace, ("", "pods", "", "UPDATE"), &touched, &bound) {
        assert!(
            !was_valid || is_valid(&updated),
            "valid as it was submitted, and not as it is stored: {}",
            sizes(&updated)
        );
    }
    Ok(())
}

/// The object as it is let in; nothing, if it is not.
fn ask(
    cluster: &Watched,
    settings: &Value,
    namespace: &str,
    (group, resource, sub_resource, operation): (&str, &str, &str, &str),
    object: &Value,
    old_object: &Value,
) -> Option<Value> {
    let payload = json!({
        "request": {
            "resource": {"group": group, "resource": resource},
            "subResource": sub_resource,
            "operation": operation,
            "namespace": namespace,
            "userInfo": {"username": "tenant"},
            "object": object,
            "oldObject": old_object,
        },
        "settings": settings,
    });
    let answer = validate(payload.to_string().as_bytes(), cluster);
    assert!(answer.len() < 8 * 1024 || answer.starts_with(r#"{"accepted":true"#), "{} bytes say no", answer.len());
    let mut answer: Value = serde_json::from_str(&answer).expect("an answer");
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(message.chars().count() <= 1024, "{message}");
    match answer["mutated_object"].take() {
        _ if answer["accepted"] != true => None,
        Value::Null => Some(object.clone()),
        mutated => Some(mutated),
    }
}

/// What the API server stores: it copies a Binding's annotations and labels over the Pod's.
fn bound(pod: &Value, binding: &Value) -> Value {
    let mut bound = pod.clone();
    for kind in ["annotations", "labels"] {
        for (key, value) in binding["metadata"][kind].as_object().into_iter().flatten() {
            bound["metadata"][kind][key] = value.clone();
        }
    }
    bound["spec"]["nodeName"] = binding["target"]["name"].clone();
    bound
}

/// As `ValidateObjectMeta` has it.
fn is_valid(pod: &Value) -> bool {
    let labels = texts(pod, "labels");
    let annotations = texts(pod, "annotations");
    labels.iter().all(|(key, value)| syntax::label_key(key).is_ok() && syntax::label_value(value).is_ok())
        && annotations.iter().all(|(key, _)| syntax::annotation_key(key).is_ok())
        && annotations.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() <= LARGEST
}

fn texts<'v>(pod: &'v Value, kind: &str) -> Vec<(&'v str, &'v str)> {
    let texts = pod["metadata"][kind].as_object().into_iter().flatten();
    texts.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default())).collect()
}

fn sizes(pod: &Value) -> String {
    let sizes: Vec<(&str, usize)> =
        texts(pod, "annotations").into_iter().map(|(key, value)| (key, value.len())).collect();
    format!("{sizes:?}, labels {:?}", texts(pod, "labels"))
}

fn name(input: &mut Unstructured<'_>) -> Result<String> {
    Ok(if input.arbitrary()? { (*pick(input, &NAMES)).to_owned() } else { input.arbitrary()? })
}

fn node_name(input: &mut Unstructured<'_>) -> Result<Value> {
    Ok(if input.arbitrary()? { json!(name(input)?) } else { Value::Null })
}

fn key(input: &mut Unstructured<'_>) -> Result<String> {
    Ok(if input.ratio(3, 4)? { (*pick(input, &KEYS)).to_owned() } else { input.arbitrary()? })
}

fn annotations(input: &mut Unstructured<'_>) -> Result<Value> {
    let mut annotations = Map::new();
    for _ in 0..input.int_in_range(0..=3)? {
        let size = pick(input, &SIZES) + input.int_in_range(0..=8)?;
        annotations.insert(key(input)?, json!("v".repeat(size)));
    }
    Ok(Value::Object(annotations))
}

/// A Node of a kubelet that lies as it likes.
fn node(input: &mut Unstructured<'_>) -> Result<Value> {
    let mut labels = Map::new();
    for _ in 0..input.int_in_range(0..=3)? {
        labels.insert(key(input)?, json!(input.arbitrary::<String>()?));
    }
    Ok(json!({"metadata": {"labels": labels, "annotations": annotations(input)?}}))
}

fn settings(input: &mut Unstructured<'_>) -> Result<Value> {
    let mut entries = vec![json!({"nodeAnnotation": "note", "podAnnotation": "example.com/note"})];
    if input.arbitrary()? {
        entries.push(json!({"nodeLabel": "example.com/*", "podLabel": "example.com/*"}));
    }
    if input.arbitrary()? {
        entries.push(json!({"nodeAnnotation": "example.com/*", "podAnnotation": "example.com/*"}));
    }
    if input.arbitrary()? {
        // Larger defaults are a mistake.
        let default = "d".repeat(*pick(input, &SIZES[..4]));
        entries.push(json!({"nodeLabel": "example.com/zone", "podAnnotation": "example.com/zone", "default": default}));
    }
    let on_bindings = pick(input, &["Verify", "Ignore"]);
    let on_lookup_failure = pick(input, &["Reject", "Ignore"]);
    Ok(json!({
        "placement": {"onBindings": on_bindings},
        "nodeMetadata": {"propagate": entries, "protect": input.arbitrary::<bool>()?, "onLookupFailure": on_lookup_failure},
    }))
}

/// A cluster that sees by what names it is asked.
struct Watched {
    node: Value,
}

impl Cluster for Watched {
    fn get_resource(&self, request: &GetResourceRequest) -> anyhow::Result<String> {
        means_nothing_in_a_url(&request.name);
        match request.kind.as_str() {
            "Namespace" => Ok(r#"{"metadata":{}}"#.to_owned()),
            _ => Ok(self.node.to_string()),
        }
    }

    fn log(&self, _level: LogLevel, _message: &str) {}
}

fn means_nothing_in_a_url(name: &str) {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    assert!(is_plain && !name.is_empty() && !name.contains(".."), "{name:?} is looked up");
}
