//! Whole payloads: arbitrary bytes, and requests of a real API server with pieces replaced. The policy always answers, its
//! result harms nothing, and satisfies itself.

use std::sync::LazyLock;

use arbitrary::Unstructured;
use serde_json::{Value, json};

use super::{Objects, is_json, pick, unharmed, validate};

pub fn check(input: &[u8]) {
    is_read_if_it_is_json(input);
    for cluster in CLUSTERS.iter() {
        judge(input, cluster);
    }
    let input = &mut Unstructured::new(input);
    let cluster = pick(input, CLUSTERS.as_slice());
    judge(edited(input).to_string().as_bytes(), cluster);
}

/// A payload is refused as a whole if any piece of it is no JSON, and for no piece that nobody reads.
fn is_read_if_it_is_json(piece: &[u8]) {
    let mut payload = br#"{"request":{"resource":{"group":"","resource":"x"},"operation":"DELETE","x":"#.to_vec();
    payload.extend_from_slice(piece);
    payload.extend_from_slice(b"},\"settings\":{}}");
    let answer = validate(&payload, &CLUSTERS[0]);
    let accepted = answer == r#"{"accepted":true}"#;
    if is_json(piece) {
        assert!(accepted, "{answer}");
    } else if !is_json(&payload) {
        assert!(!accepted && answer.contains(r#""code":400"#), "{answer}");
    }
}

fn judge(payload: &[u8], cluster: &Objects) {
    let text = validate(payload, cluster);
    assert!(is_json(text.as_bytes()), "{text}");
    let Ok(answer) = serde_json::from_str::<Value>(&text) else {
        // The answer has a number that is beyond a double, or half of a character; it can only be the payload's.
        return assert!(serde_json::from_slice::<Value>(payload).is_err(), "{text}");
    };
    for warning in answer["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(warning.chars().count() <= 256 && !warning.contains('\n'), "{warning}");
    }
    if answer["accepted"] != true {
        assert!(matches!(answer["code"].as_u64(), Some(400 | 403 | 500)), "{answer}");
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(!message.trim().is_empty() && message.chars().count() <= 1024, "{answer}");
    }
    let (Some(result), Ok(whole)) = (answer.get("mutated_object"), serde_json::from_slice(payload)) else { return };
    harms_nothing(&whole, result);
    satisfies_itself(whole, result, cluster);
}

fn harms_nothing(payload: &Value, result: &Value) {
    let request = &payload["request"];
    let spec: Option<&[&str]> = match resource(request) {
        "pods" | "Pod" if request["operation"] == "CREATE" => Some(&["spec"]),
        "daemonsets" | "DaemonSet" => Some(&["spec", "template", "spec"]),
        _ => None,
    };
    let propagate = payload["settings"]["nodeMetadata"]["propagate"].as_array();
    let entries = || propagate.into_iter().flatten();
    unharmed::check(&request["object"], result, spec, |kind, key| entries().any(|entry| writes(entry, kind, key)));
}

/// The resource or, where it is none of those that real requests are about, the kind.
fn resource(request: &Value) -> &str {
    let named = request["resource"]["resource"].as_str().unwrap_or_default();
    if REQUESTS.iter().any(|known| known["resource"]["resource"] == named || known["kind"]["kind"] == named) {
        return named;
    }
    let kind = if request["kind"].is_null() { &request["requestKind"] } else { &request["kind"] };
    kind["kind"].as_str().unwrap_or_default()
}

/// Whether an entry of `propagate` writes `key`, one of the object's labels or annotations.
fn writes(entry: &Value, kind: &str, key: &str) -> bool {
    let names = match kind {
        "labels" => ["podLabel"].as_slice(),
        _ if entry["podAnnotation"].is_null() && entry["podLabel"].is_null() => &["nodeLabel", "nodeAnnotation"],
        _ => &["podAnnotation"],
    };
    names.iter().filter_map(|name| entry[name].as_str()).any(|target| match target.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == target,
    })
}

fn satisfies_itself(mut payload: Value, result: &Value, cluster: &Objects) {
    payload["request"]["object"] = result.clone();
    let answer = validate(payload.to_string().as_bytes(), cluster);
    let answer: Value = serde_json::from_str(&answer).expect("what was read before can be read again");
    assert_eq!(answer["accepted"], true, "{answer}");
    assert_eq!(answer.get("mutated_object"), None, "{result}");
}

/// Clusters that answer well, scantily, with errors, and with nonsense.
static CLUSTERS: LazyLock<[Objects; 4]> = LazyLock::new(|| {
    let annotation = "scheduler.alpha.kubernetes.io/node-selector";
    let namespace = json!({"metadata": {"annotations": {annotation: "env=production,disktype in (ssd,nvme),!spot"}}});
    let labels = json!({"env": "production", "disktype": "ssd", "example.com/zone": "eu-1a", "example.com/a b": "x"});
    let node = json!({
        "metadata": {"labels": labels, "annotations": {"example.com/rack": "rack 7"}},
        "spec": {"providerID": "example:///1"},
    });
    let gone = |kind| Err(format!("Cannot find v1/{kind} named 'x' inside of namespace 'None'\nbacktrace"));
    let bare = || Ok(r#"{"metadata":{}}"#.to_owned());
    [
        Objects { namespace: Ok(namespace.to_string()), node: Ok(node.to_string()) },
        Objects { namespace: bare(), node: bare() },
        Objects { namespace: bare(), node: gone("Node") },
        Objects { namespace: Ok(r#"{"metadata":{"annotations":{"a":5}}}"#.to_owned()), node: Ok("{".to_owned()) },
    ]
});

static REQUESTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let reviews = [
        include_str!("../../e2e-tests/fixtures/requests/pod-create.json"),
        include_str!("../../e2e-tests/fixtures/requests/pod-create-nodename.json"),
        include_str!("../../e2e-tests/fixtures/requests/pod-create-by-daemonset.json"),
        include_str!("../../e2e-tests/fixtures/requests/pod-create-mirror-by-kubelet.json"),
        include_str!("../../e2e-tests/fixtures/requests/pod-status-update-by-admin.json"),
        include_str!("../../e2e-tests/fixtures/requests/binding.json"),
        include_str!("../../e2e-tests/fixtures/requests/legacy-binding.json"),
        include_str!("../../e2e-tests/fixtures/requests/namespace-update-annotation.json"),
        include_str!("../../e2e-tests/fixtures/requests/deployment-create.json"),
        include_str!("../../e2e-tests/fixtures/requests/daemonset-create.json"),
        include_str!("../../e2e-tests/fixtures/requests/cronjob-create.json"),
    ];
    let request = |review: &str| serde_json::from_str::<Value>(review).expect("a fixture is JSON")["request"].take();
    reviews.into_iter().map(request).collect()
});

static SETTINGS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let placement = json!({
        "clusterDefaultNodeSelector": "env=production",
        "onBindings": "Verify",
        "namespaces": [{"name": "team-*", "requiredNodeSelector": "env", "allowedNodeSelector": "env,disktype,!spot"}],
    });
    let fence = json!({
        "namespaceAnnotations": [],
        "onDaemonSets": "Warn",
        "onNodeName": "Reject",
        "namespaces": [{"name": "team-a", "requiredNodeSelector": "env=production,cpu>4"}],
    });
    let protected = json!({
        "protect": true,
        "propagate": [
            {"nodeLabel": "example.com/*", "podLabel": "example.com/*"},
            {"nodeLabel": "zone", "podAnnotation": "example.com/zone", "default": "unknown"},
            {"nodeAnnotation": "example.com/rack"},
        ],
    });
    let lenient = json!({
        "onLookupFailure": "Ignore",
        "propagate": [
            {"nodeField": "spec.providerID", "podAnnotation": "example.com/provider-id", "required": true},
            {"nodeLabel": "example.com/zone", "podLabel": "example.com/zone", "default": "x"},
        ],
    });
    vec![
        json!({"placement": {}}),
        json!({"placement": placement, "nodeMetadata": protected}),
        json!({"placement": fence, "nodeMetadata": lenient}),
        json!({"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "env=production", "team-a": ""}}),
        json!({"nodeMetadata": protected}),
        json!({"nodeMetadata": lenient}),
    ]
});

/// Places that the policy reads, and what may stand there instead.
const PLACES: &[&str] = &[
    "/request/object/spec/nodeSelector",
    "/request/object/spec/affinity",
    "/request/object/spec/nodeName",
    "/request/object/spec/template/spec/nodeSelector",
    "/request/object/spec/template/spec/affinity",
    "/request/object/spec/template/spec/nodeName",
    "/request/object/spec",
    "/request/object/metadata/labels",
    "/request/object/metadata/annotations",
    "/request/object/metadata/ownerReferences",
    "/request/object/metadata/deletionTimestamp",
    "/request/object/metadata/name",
    "/request/object/metadata",
    "/request/object/status",
    "/request/object/target",
    "/request/object",
    "/request/oldObject/metadata/labels",
    "/request/oldObject/metadata/annotations",
    "/request/oldObject/spec",
    "/request/oldObject",
    "/request/resource/resource",
    "/request/kind",
    "/request/subResource",
    "/request/operation",
    "/request/namespace",
    "/request/userInfo/groups",
    "/request/userInfo/username",
    "/settings/placement/clusterDefaultNodeSelector",
    "/settings/placement/namespaces",
    "/settings/placement/onDaemonSets",
    "/settings/nodeMetadata/protect",
    "/settings/nodeMetadata/propagate",
];
const PIECES: &[&str] = &[
    "null",
    "true",
    "1e300",
    r#""""#,
    r#""UPDATE""#,
    r#""CREATE""#,
    r#""Inject""#,
    r#""node-a""#,
    r#""env=production,disktype notin (hdd)""#,
    "[]",
    "[[]]",
    "[null]",
    "{}",
    r#"{"a":5}"#,
    r#"{"env":"production"}"#,
    r#"{"env":"development"}"#,
    r#"{"disktype":"ssd","env":null}"#,
    r#"{"example.com/zone":"forged","kubernetes.io/config.mirror":"x"}"#,
    r#"[{"controller":true}]"#,
    r#"["system:nodes"]"#,
    r#"{"kind":"Node","name":"node-a"}"#,
    r#"{"phase":"Succeeded"}"#,
    r#"{"nodeAffinity":null,"podAffinity":{}}"#,
    r#"{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}"#,
    r#"{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[null,{"matchExpressions":null},{"x":1,"matchExpressions":[{"key":"disktype","operator":"In","values":["ssd"],"y":2}]},{"matchFields":[{"key":"metadata.name","operator":"In","values":["node-a"]}]}]}}}"#,
    r#"[{"nodeLabel":"env","podLabel":"example.com/env"},{"nodeLabel":"example.com/*"}]"#,
    r#"[{"name":"*","requiredNodeSelector":"env in (production,development)","defaultNodeSelector":""}]"#,
];

/// A payload of a real request, with pieces replaced as the input has it.
fn edited(input: &mut Unstructured<'_>) -> Value {
    let mut payload = json!({"request": pick(input, &REQUESTS), "settings": pick(input, &SETTINGS)});
    for _ in 0..input.int_in_range(0..=6).unwrap_or(0) {
        let piece: &&str = pick(input, PIECES);
        let piece = serde_json::from_str(piece).expect("a piece is JSON");
        if input.ratio(3_u8, 4_u8).unwrap_or(true) {
            let place: &&str = pick(input, PLACES);
            put(&mut payload, place, piece);
        } else {
            *anywhere(&mut payload, input) = piece;
        }
    }
    payload
}

/// Puts `piece` at a path of members, which are made where they are missing.
fn put(mut place: &mut Value, path: &str, piece: Value) {
    for member in path.split('/').skip(1) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[member];
    }
    *place = piece;
}

fn anywhere<'v>(place: &'v mut Value, input: &mut Unstructured<'_>) -> &'v mut Value {
    let inner = match place {
        Value::Object(map) => map.len(),
        Value::Array(list) => list.len(),
        _ => 0,
    };
    if inner == 0 || input.ratio(1_u8, 8_u8).unwrap_or(true) {
        return place;
    }
    let at = input.choose_index(inner).unwrap_or(0);
    let inner = match place {
        Value::Object(map) => map.values_mut().nth(at),
        Value::Array(list) => list.get_mut(at),
        _ => None,
    };
    anywhere(inner.expect("it was counted"), input)
}
