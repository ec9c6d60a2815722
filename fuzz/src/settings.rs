//! Settings: any bytes are judged, and settings that are said to be valid never let a request fail for a mistake in them.

use std::sync::LazyLock;

use arbitrary::Unstructured;
use node_placement_policy::validate_settings;
use serde_json::{Map, Value, json};

use super::{Objects, pick, validate};

pub fn check(input: &[u8]) {
    judge(input);
    judge(written(&mut Unstructured::new(input)).to_string().as_bytes());
}

fn judge(settings: &[u8]) {
    if let Some(message) = validate_settings(settings) {
        assert!(!message.trim().is_empty());
        return;
    }
    let settings = std::str::from_utf8(settings).expect("valid settings are text");
    let names = names(&serde_json::from_str(settings).unwrap_or_default());
    for request in REQUESTS.iter() {
        for name in ["team-a", ""].into_iter().chain(names.iter().map(String::as_str)) {
            let payload =
                format!(r#"{{"request":{{"namespace":{},{request},"settings":{settings}}}"#, Value::from(name));
            let answer = validate(payload.as_bytes(), &*CLUSTER);
            assert!(!answer.contains("settings have a mistake"), "{payload}\n{answer}");
        }
    }
}

/// Some of the namespaces that the settings speak of.
fn names(settings: &Value) -> Vec<String> {
    let entries = settings["placement"]["namespaces"].as_array().into_iter().flatten();
    let names = entries.filter_map(|entry| entry["name"].as_str()).map(|name| name.replace('*', "x"));
    let plugin = settings["podNodeSelectorPluginConfig"].as_object().into_iter().flatten();
    names.take(3).chain(plugin.map(|(name, _)| name.clone()).take(3)).collect()
}

static CLUSTER: LazyLock<Objects> = LazyLock::new(|| {
    let node = json!({
        "metadata": {"labels": {"env": "production", "example.com/a": "1"}, "annotations": {"example.com/rack": "7"}},
        "spec": {"providerID": "x", "unschedulable": false},
        "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}], "capacity": {"nvidia.com/gpu": "4"}},
    });
    let namespace = json!({"metadata": {"annotations": {"example.com/other": "env=production"}}});
    Objects { namespace: Ok(namespace.to_string()), node: Ok(node.to_string()) }
});

/// One request for every rule of the policy, as text that lacks its beginning and the namespace.
static REQUESTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let pod = json!({"metadata": {"name": "p", "labels": {"example.com/a": "2"}}, "spec": {"nodeName": "node-a"}});
    let waiting = json!({"metadata": {"name": "p"}, "spec": {"nodeSelector": {"env": "production"}}});
    let workload = json!({"metadata": {"name": "w"}, "spec": {"template": waiting}});
    let binding = json!({"metadata": {"name": "p"}, "target": {"name": "node-a"}});
    let annotations = json!({"scheduler.alpha.kubernetes.io/node-selector": "a=b", "example.com/other": "c"});
    let namespace = json!({"metadata": {"name": "team-a", "annotations": annotations}});
    let asked = [
        ("", "pods", "", "CREATE", &pod, Value::Null),
        ("", "pods", "", "CREATE", &waiting, Value::Null),
        ("", "pods", "", "UPDATE", &pod, json!({})),
        ("", "pods", "", "UPDATE", &waiting, json!({})),
        ("", "pods", "status", "UPDATE", &pod, json!({})),
        ("", "pods", "binding", "CREATE", &binding, Value::Null),
        ("", "namespaces", "", "CREATE", &namespace, Value::Null),
        ("apps", "deployments", "", "CREATE", &workload, Value::Null),
        ("apps", "daemonsets", "", "UPDATE", &workload, json!({})),
    ];
    let request = |(group, resource, sub_resource, operation, object, old_object): (_, _, _, _, &Value, Value)| {
        json!({
            "resource": {"group": group, "version": "v1", "resource": resource},
            "subResource": sub_resource,
            "operation": operation,
            "userInfo": {"username": "somebody"},
            "object": object,
            "oldObject": old_object,
        })
    };
    asked.into_iter().map(|asked| request(asked).to_string().split_off(1)).collect()
});

const SELECTORS: &[&str] = &[
    "env=production",
    "env=development",
    "env in (production,development),!spot",
    "env",
    "disktype notin (hdd)",
    "cpu>4,cpu<8",
    "",
    "env=production,env=development",
    "((",
    "=",
];
const NAMES: &[&str] = &["team-a", "team-*", "*", "other", "", "a*b"];
const KEYS: &[&str] = &[
    "example.com/rack",
    "topology.kubernetes.io/zone",
    "example.com/*",
    "rack",
    "app.kubernetes.io/name",
    "kubernetes.io/config.mirror",
    "*",
    "a/*b",
    "-",
];
const FIELDS: &[&str] = &[
    "spec.providerID",
    "status.addresses[type=InternalIP].address",
    "status.capacity['nvidia.com/gpu']",
    "spec.unschedulable",
    "spec",
    "spec..x",
    "[a=b]",
    "",
];
const CHOICES: &[&str] = &["Check", "Ignore", "Verify", "Reject", "Inject", "Warn", "warn"];

/// Settings of the right shape, most of whose values are right too.
fn written(input: &mut Unstructured<'_>) -> Value {
    let mut settings = Map::new();
    if flip(input) {
        let mut block = members(input, &[("clusterDefaultNodeSelector", SELECTORS)]);
        for (field, right) in [
            ("onNodeAffinity", "Check"),
            ("onNodeName", "Verify"),
            ("onWorkloads", "Reject"),
            ("onDaemonSets", "Inject"),
            ("onNamespaces", "Warn"),
            ("onBindings", "Verify"),
        ] {
            if flip(input) {
                block.insert(field.into(), if flip(input) { right } else { pick(input, CHOICES) }.into());
            }
        }
        if flip(input) {
            let keys = input.arbitrary_len::<u8>().unwrap_or(0).min(2);
            block.insert("namespaceAnnotations".into(), (0..keys).map(|_| *pick(input, KEYS)).collect());
        }
        let fields = [
            ("name", NAMES),
            ("requiredNodeSelector", SELECTORS),
            ("defaultNodeSelector", SELECTORS),
            ("allowedNodeSelector", SELECTORS),
        ];
        block.insert("namespaces".into(), list(input, |input| members(input, &fields)));
        settings.insert("placement".into(), block.into());
    }
    if flip(input) && flip(input) {
        let block = members(input, &[("clusterDefaultNodeSelector", SELECTORS), ("team-a", SELECTORS)]);
        settings.insert("podNodeSelectorPluginConfig".into(), block.into());
    }
    if flip(input) {
        let mut block = members(input, &[("onLookupFailure", CHOICES)]);
        block.insert("protect".into(), flip(input).into());
        let fields = [("podAnnotation", KEYS), ("podLabel", KEYS), ("default", &["unknown", "not a label!", ""])];
        let entry = |input: &mut Unstructured<'_>| {
            let mut entry = members(input, &fields);
            let (source, keys) = *pick(input, &[("nodeLabel", KEYS), ("nodeAnnotation", KEYS), ("nodeField", FIELDS)]);
            entry.insert(source.into(), (*pick(input, keys)).into());
            if flip(input) {
                entry.insert("required".into(), flip(input).into());
            }
            entry
        };
        block.insert("propagate".into(), list(input, entry));
        settings.insert("nodeMetadata".into(), block.into());
    }
    settings.into()
}

fn flip(input: &mut Unstructured<'_>) -> bool {
    input.arbitrary().unwrap_or(false)
}

/// An object with some of these fields.
fn members(input: &mut Unstructured<'_>, fields: &[(&str, &[&str])]) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, values) in fields {
        if flip(input) {
            members.insert((*name).into(), (*pick(input, values)).into());
        }
    }
    members
}

fn list(input: &mut Unstructured<'_>, mut entry: impl FnMut(&mut Unstructured<'_>) -> Map<String, Value>) -> Value {
    let length = input.int_in_range(0..=4).unwrap_or(0);
    (0..length).map(|_| entry(input)).collect()
}
