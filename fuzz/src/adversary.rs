//! A tenant who wants to do harm: names that mean something in a URL, keys and sizes that make a Pod invalid. Whatever
//! is tried, only what can be a name is looked up, and no Pod that the policy accepts is invalid once it is bound.

use arbitrary::{Result, Unstructured};
use node_placement_policy::cluster::{Cluster, NamespaceName, NodeName};
use node_placement_policy::field_masks::FieldMasks;
use node_placement_policy::{selector::syntax, validate};
use serde_json::{Map, Value, json};

use super::pick;

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

pub fn check(input: &[u8]) {
    // Without enough input there is nothing to try.
    let _ = attack(&mut Unstructured::new(input));
}

fn attack(input: &mut Unstructured<'_>) -> Result<()> {
    let cluster = Watched { node: node(input)? };
    let settings = settings(input)?;
    let namespace = name(input)?;
    let pod =
        json!({"metadata": {"name": "p", "annotations": annotations(input)?}, "spec": {"nodeName": node_name(input)?}});
    let Some(pod) = ask(&cluster, &settings, &namespace, ("pods", "", "CREATE"), &pod, &Value::Null) else {
        return Ok(());
    };

    let target = name(input)?;
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": target}});
    // Without protection a Pod keeps what it forged where the Node has nothing to say, and that takes room too.
    let was_valid = is_valid(&pod) && (settings["nodeMetadata"]["protect"] == true || !has_managed(&pod));
    let (resource, sub_resource) = *pick(input, &[("pods", "binding"), ("bindings", "")]);
    let asked = (resource, sub_resource, "CREATE");
    let Some(binding) = ask(&cluster, &settings, &namespace, asked, &binding, &Value::Null) else { return Ok(()) };
    let bound = bound(&pod, &binding);
    assert!(!was_valid || is_valid(&bound), "valid before, and not once bound: {}", sizes(&bound));

    let mut touched = bound.clone();
    touched["metadata"]["annotations"] = annotations(input)?;
    touched["spec"]["nodeName"] = node_name(input)?;
    let was_valid = is_valid(&touched);
    if let Some(updated) = ask(&cluster, &settings, &namespace, ("pods", "", "UPDATE"), &touched, &bound) {
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
    (resource, sub_resource, operation): (&str, &str, &str),
    object: &Value,
    old_object: &Value,
) -> Option<Value> {
    let payload = json!({
        "request": {
            "resource": {"group": "", "resource": resource},
            "subResource": sub_resource,
            "operation": operation,
            "namespace": namespace,
            "userInfo": {"username": "tenant"},
            "object": object,
            "oldObject": old_object,
        },
        "settings": settings,
    });
    let (answer, _) = validate(payload.to_string().as_bytes(), cluster);
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

fn has_managed(pod: &Value) -> bool {
    texts(pod, "annotations").iter().any(|(key, _)| key.starts_with("example.com/"))
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
        entries.push(json!({"nodeLabel": "example.com/zone", "podAnnotation": "example.com/zone", "default": "d".repeat(*pick(input, &SIZES))}));
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
    fn namespace(&self, name: &NamespaceName, _masks: &FieldMasks) -> std::result::Result<String, String> {
        means_nothing_in_a_url(name.as_str());
        Ok(r#"{"metadata":{}}"#.to_owned())
    }

    fn node(&self, name: &NodeName, _masks: &FieldMasks) -> std::result::Result<String, String> {
        means_nothing_in_a_url(name.as_str());
        Ok(self.node.to_string())
    }

    fn log_failure(&self, _failure: &str) {}
}

fn means_nothing_in_a_url(name: &str) {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    assert!(is_plain && !name.is_empty() && !name.contains(".."), "{name:?} is looked up");
}
