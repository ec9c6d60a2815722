//! What is measured.

use serde_json::{Value, json};

use super::{
    Case, Family, KB,
    objects::{node, pod, request},
};

/// Sizes of Pods, up to nearly the largest that is let in; four of them are also measured without a change.
const PODS: [usize; 6] = [2 * KB, 6 * KB, 17 * KB, 56 * KB, 164 * KB, 768 * KB];
const ENTRIES: [usize; 3] = [1, 3, 20];
const NODES: [usize; 4] = [2 * KB, 8 * KB, 24 * KB, 60 * KB];
const NAMESPACES: [usize; 5] = [1, 10, 100, 1_000, 10_000];

/// The smallest that the tables show.
pub fn smallest() -> Case {
    Case::validate(Family::Injected, PODS[0], &pod(PODS[0]), &json!({"placement": {}}))
}

/// Everything that the tables show.
pub fn all() -> Vec<Case> {
    let placement = json!({"placement": {}});
    let mut cases = vec![];
    cases.extend(PODS.map(|size| Case::validate(Family::Injected, size, &pod(size), &placement)));
    cases.extend([PODS[0], PODS[2], PODS[4], PODS[5]].map(|size| {
        let mut request = pod(size);
        request["object"]["spec"]["nodeSelector"] = json!({"env": "production"});
        Case::validate(Family::Unchanged, size, &request, &placement).unchanged()
    }));
    cases.extend([PODS[0], PODS[2], PODS[4]].map(environment));
    cases.extend(ENTRIES.map(|entries| binding(Family::Bindings, entries, entries)));
    cases.extend(NODES.map(|size| binding(Family::Nodes, size, 3).on(&node(size))));
    cases.push(Case::validate(Family::Deployment, 1, &deployment(), &placement).unchanged());
    cases.push(Case::validate(Family::Namespace, 1, &request("namespace-update-annotation"), &placement).unchanged());
    cases.push(Case::validate(Family::Untouched, 1, &untouched(), &placement).unchanged());
    cases.extend(NAMESPACES.map(|entries| settings_of(Family::Settings, entries)));
    cases.extend([1, 1_000].map(|entries| Case::validate_settings(entries, &namespaces(entries))));
    cases.extend(growth());
    cases
}

/// What somebody may write to make the policy slow, each in half its size and in all of it.
fn growth() -> Vec<Case> {
    let halves = |what, size: usize, case: fn(Family, usize) -> Case| {
        [size / 2, size].map(|size| case(Family::Growth(what), size))
    };
    [
        halves("KB of Pod", 768, |family, size| {
            Case::validate(family, size, &pod(size * KB), &json!({"placement": {}}))
        }),
        halves("namespaces in the settings", 10_000, settings_of),
        halves("node affinity expressions", 2_000, expressions),
        halves("levels of nesting", 120, nesting),
        halves("bytes in a key", 64 * KB, long_key),
        halves("labels on a Node", 1_000, labels),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn environment(size: usize) -> Case {
    let propagate = json!([
        {"nodeLabel": "topology.kubernetes.io/zone", "podAnnotation": "example.com/zone", "env": "ZONE"},
        {"nodeLabel": "example.com/rack", "podAnnotation": "example.com/rack", "env": "RACK"},
    ]);
    let settings = json!({"placement": {}, "nodeMetadata": {"propagate": propagate}});
    Case::validate(Family::Environment, size, &pod(size), &settings)
}

/// The first entries copy zone and region, the others what is particular to the Node.
fn binding(family: Family, size: usize, entries: usize) -> Case {
    let keys = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"].map(str::to_owned);
    let keys = keys.into_iter().chain((0..).map(|index| format!("example.com/fact-{index}")));
    let propagate: Vec<Value> =
        keys.take(entries).map(|key| json!({"nodeLabel": key, "podAnnotation": key, "default": "unknown"})).collect();
    Case::validate(family, size, &request("binding"), &json!({"nodeMetadata": {"propagate": propagate}}))
}

/// A Deployment that already asks for what its namespace demands.
fn deployment() -> Value {
    let mut request = request("deployment-create");
    request["object"]["spec"]["template"]["spec"]["nodeSelector"] = json!({"env": "production"});
    request
}

/// An object of 2 KB, of a kind that the typed twin does not know either.
fn untouched() -> Value {
    let mut request = pod(2 * KB);
    request["kind"]["kind"] = "PodPreset".into();
    request["resource"]["resource"] = "podpresets".into();
    request
}

fn namespaces(entries: usize) -> Value {
    let entries: Vec<Value> = (0..entries)
        .map(|index| {
            json!({
                "name": format!("ns-{index}"),
                "requiredNodeSelector": format!("pool=p{index}"),
                "allowedNodeSelector": "env,pool,disktype in (ssd,hdd)"
            })
        })
        .collect();
    json!({"placement": {"namespaces": entries}})
}

/// A Pod of 2 KB in the last of the namespaces.
fn settings_of(family: Family, entries: usize) -> Case {
    let mut request = pod(2 * KB);
    request["namespace"] = format!("ns-{}", entries - 1).into();
    Case::validate(family, entries, &request, &namespaces(entries))
}

/// All in one term, each to be checked against the whitelist, and one to be added.
fn expressions(family: Family, count: usize) -> Case {
    let expressions: Vec<Value> = (0..count)
        .map(|index| json!({"key": "disktype", "operator": "In", "values": ["ssd", format!("hdd-{index}")]}))
        .collect();
    let mut request = pod(2 * KB);
    request["object"]["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": expressions}]
    }}});
    let rule = json!({
        "name": "team-*",
        "requiredNodeSelector": "pool in (a,b)",
        "allowedNodeSelector": "env,pool,disktype"
    });
    Case::validate(family, count, &request, &json!({"placement": {"namespaces": [rule]}}))
}

/// A hundred fields that no version of Kubernetes knows.
fn nesting(family: Family, levels: usize) -> Case {
    let nested = (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let mut request = pod(2 * KB);
    request["object"]["spec"]["unknown"] = vec![nested; 100].into();
    Case::validate(family, levels, &request, &json!({"placement": {}}))
}

fn long_key(family: Family, bytes: usize) -> Case {
    let mut request = pod(2 * KB);
    request["object"]["spec"]["nodeSelector"] = json!({("k".repeat(bytes)): "v"});
    request["object"]["metadata"]["labels"] = json!({("l".repeat(bytes)): "v"});
    Case::validate(family, bytes, &request, &json!({"placement": {}}))
}

/// All of them copied by one entry, as far as they fit onto a Pod.
fn labels(family: Family, labels: usize) -> Case {
    let mut node = node(2 * KB);
    for index in 0..labels {
        node["metadata"]["labels"][format!("a.io/{index}")] = "v".into();
    }
    let settings = json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a.io/*", "podAnnotation": "b.io/*"}]}});
    Case::validate(family, labels, &request("binding"), &settings).on(&node)
}
