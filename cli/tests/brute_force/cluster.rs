//! Small clusters and settings, at random, the same in every run.

use serde_json::{Value, json};

/// Numbers that are the same in every run; and whether clusters have sizes of nodes, volumes, and what others add to Pods.
pub struct Dice(pub u64, pub bool);

impl Dice {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}

/// Settings; not all of them are valid.
pub fn settings(dice: &mut Dice) -> Value {
    let selectors =
        ["pool=a", "pool=a", "pool in (a, b)", "pool!=a", "!gpu", "disk", "n>3", "pool=b", "pool=$(team)", "pool=gone"];
    let tolerations = [
        json!([]),
        json!([{ "key": "team", "operator": "Exists" }]),
        json!([{ "key": "gpu", "value": "x" }]),
        json!([{ "key": "gpu", "value": "x", "effect": "NoExecute", "tolerationSeconds": 60 }]),
    ];
    let mut placement = json!({});
    if dice.one_in(4) {
        placement["clusterDefaultNodeSelector"] = (*dice.pick(&selectors[..8])).into();
    }
    for (setting, values) in [
        ("onDaemonSets", &["Inject", "Inject", "Reject", "Warn", "Ignore"][..]),
        ("onDefaultConflict", &["Reject", "Reject", "Yield"]),
        ("onNodeAffinity", &["Check", "Check", "Ignore"]),
        ("onRuntimeClasses", &["Ignore", "Resolve"]),
        ("onWorkloads", &["Reject", "Warn", "Ignore"]),
        ("onBindings", &["Ignore", "Verify"]),
    ] {
        placement[setting] = (*dice.pick(values)).into();
    }
    let who = [
        json!({ "name": "a" }),
        json!({ "name": "b" }),
        json!({ "namespaceSelector": "team=a" }),
        json!({ "namespaceSelector": "team" }),
        json!({ "namespaceSelector": "!team" }),
        json!({ "name": "*" }),
    ];
    let mut entries = vec![];
    for who in who {
        if !dice.one_in(3) {
            continue;
        }
        let mut entry = who;
        for (field, times) in [("requiredNodeSelector", 2), ("defaultNodeSelector", 4), ("allowedNodeSelector", 9)] {
            if dice.one_in(times) {
                entry[field] = (*dice.pick(&selectors)).into();
            }
        }
        for (field, times) in [("defaultTolerations", 3), ("allowedTolerations", 9), ("forbiddenTolerations", 9)] {
            if dice.one_in(times) {
                entry[field] = dice.pick(&tolerations).clone();
            }
        }
        if dice.one_in(4) {
            entry["enforcement"] = "Warn".into();
        }
        entries.push(entry);
    }
    placement["namespaces"] = entries.into();
    let mut settings = json!({ "placement": placement });
    if dice.one_in(5) {
        settings["nodeMetadata"] = json!({ "propagate": [{ "nodeLabel": "rack", "required": true }] });
    }
    settings
}

/// Nodes, NodePools, Namespaces, RuntimeClasses, workloads and their Pods; some of it is missing.
pub fn cluster(dice: &mut Dice) -> Vec<Value> {
    let mut objects = vec![];
    let nodes = if dice.one_in(12) { 0 } else { 1 + dice.below(6) };
    for index in 0..nodes {
        objects.push(node(dice, &format!("n{index}")));
    }
    if dice.one_in(3) {
        objects.push(node_pool(dice));
    }
    for class in ["vm", "plain"] {
        if !dice.one_in(6) {
            objects.push(runtime_class(dice, class));
        }
    }
    for name in ["a", "b", "c"] {
        if !dice.one_in(12) {
            objects.push(namespace(dice, name));
        }
        if dice.1 {
            objects.push(volume(dice, name));
        }
        for index in 0..dice.below(3) {
            objects.extend(workload(dice, name, &format!("w{index}"), nodes));
        }
    }
    objects
}

fn labels(dice: &mut Dice) -> Value {
    let mut labels = json!({});
    for (key, values) in [("pool", &["a", "b", "c"][..]), ("disk", &["ssd", "hdd"]), ("n", &["2", "5", "x"])] {
        if !dice.one_in(3) {
            labels[key] = (*dice.pick(values)).into();
        }
    }
    // Nothing in the settings names these: a Pod does.
    for key in ["rack", "topology.kubernetes.io/zone", "gpu"] {
        if dice.one_in(3) {
            labels[key] = (*dice.pick(&["r1", "r2"])).into();
        }
    }
    labels
}

fn taints(dice: &mut Dice) -> Value {
    dice.pick(&[
        json!([]),
        json!([]),
        json!([]),
        json!([{ "key": "team", "value": "a", "effect": "NoSchedule" }]),
        json!([{ "key": "gpu", "value": "x", "effect": "NoExecute" }]),
        json!([{ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" }]),
        json!([{ "key": "soft", "effect": "PreferNoSchedule" }]),
    ])
    .clone()
}

fn node(dice: &mut Dice, name: &str) -> Value {
    let (labels, taints) = (labels(dice), taints(dice));
    let metadata = json!({ "name": name, "labels": labels });
    let mut node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": { "taints": taints } });
    if dice.one_in(15) {
        node["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    if dice.1 && !dice.one_in(3) {
        let cpu = *dice.pick(&["2", "3900m", "16"]);
        let size = json!({ "cpu": cpu, "memory": "16Gi", "pods": "110" });
        node["status"] = json!({ *dice.pick(&["allocatable", "allocatable", "capacity"]): size });
    }
    node
}

fn node_pool(dice: &mut Dice) -> Value {
    let mut requirements = vec![];
    for (key, values) in
        [("pool", json!(["a", "b"])), ("disk", json!(["ssd"])), ("n", json!(["5"])), ("gpu", json!([]))]
    {
        if dice.one_in(2) {
            let operator = match key {
                "pool" => *dice.pick(&["In", "NotIn"]),
                "disk" => *dice.pick(&["In", "NotIn", "Exists"]),
                // Of a NodePool, Gt and Lt are not evaluated.
                "n" => *dice.pick(&["In", "NotIn"]),
                _ => *dice.pick(&["Exists", "DoesNotExist"]),
            };
            let values = if operator.contains("Exist") { json!([]) } else { values };
            requirements.push(json!({ "key": key, "operator": operator, "values": values }));
        }
    }
    let labels = dice.pick(&[json!({}), json!({ "rack": "r1" })]).clone();
    let taints = taints(dice);
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "general" },
        "spec": { "template": { "metadata": { "labels": labels }, "spec": { "requirements": requirements, "taints": taints } } },
    });
    match dice.below(12) {
        0 => pool["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into(),
        1 => pool["spec"]["replicas"] = 0.into(),
        2 => pool["status"] = json!({ "conditions": [{ "type": "Ready", "status": "False" }] }),
        _ => {}
    }
    pool
}

fn runtime_class(dice: &mut Dice, name: &str) -> Value {
    let scheduling = dice
        .pick(&[
            json!({}),
            json!({ "nodeSelector": { "disk": "ssd" } }),
            json!({ "nodeSelector": { "rack": "r1" }, "tolerations": [{ "key": "team", "operator": "Exists" }] }),
        ])
        .clone();
    json!({ "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": { "name": name }, "handler": "h", "scheduling": scheduling })
}

fn namespace(dice: &mut Dice, name: &str) -> Value {
    let labels = dice.pick(&[json!({}), json!({ "team": "a" }), json!({ "team": "b" })]).clone();
    let key = "scheduler.alpha.kubernetes.io/node-selector";
    let choices =
        [json!({}), json!({}), json!({}), json!({ key: "pool=b" }), json!({ key: "" }), json!({ key: "a in" })];
    let annotations = dice.pick(&choices).clone();
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels, "annotations": annotations } })
}

/// The volume of a namespace's claim, which some nodes reach.
fn volume(dice: &mut Dice, namespace: &str) -> Value {
    let values = dice.pick(&[json!(["a"]), json!(["a", "b"]), json!(["c"])]).clone();
    let term = json!({ "matchExpressions": [{ "key": "pool", "operator": "In", "values": values }] });
    let affinity = json!({ "required": { "nodeSelectorTerms": [term] } });
    let claim = json!({ "namespace": namespace, "name": "data" });
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": format!("of-{namespace}") },
        "spec": { "nodeAffinity": affinity, "claimRef": claim },
    })
}

fn spec(dice: &mut Dice) -> Value {
    let mut spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
    if dice.one_in(3) {
        let pairs = [
            json!({ "pool": "a" }),
            json!({ "pool": "b" }),
            json!({ "disk": "ssd" }),
            json!({ "rack": "r1" }),
            json!({ "kubernetes.io/arch": "arm64" }),
        ];
        spec["nodeSelector"] = dice.pick(&pairs).clone();
    }
    if dice.one_in(4) {
        let expression =
            |key: &str, operator: &str, values: Value| json!({ "key": key, "operator": operator, "values": values });
        let terms = [
            json!([{ "matchExpressions": [expression("pool", "In", json!(["a", "b"]))] }]),
            json!([{ "matchExpressions": [expression("pool", "In", json!(["c"]))] }, { "matchExpressions": [expression("rack", "Exists", json!([]))] }]),
            json!([{ "matchExpressions": [expression("n", "Gt", json!(["4"]))] }]),
            json!([{ "matchExpressions": [expression("gpu", "DoesNotExist", json!([])), expression("rack", "NotIn", json!(["r2"]))] }]),
            json!([{}, { "matchExpressions": [expression("disk", "Exists", json!([]))] }]),
        ];
        let required = json!({ "nodeSelectorTerms": dice.pick(&terms).clone() });
        spec["affinity"] = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": required } });
    }
    if dice.one_in(4) {
        let tolerations = [
            json!([{ "operator": "Exists" }]),
            json!([{ "key": "team", "operator": "Equal", "value": "a" }]),
            json!([{ "key": "gpu", "value": "x", "effect": "NoSchedule" }]),
            json!([{ "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }]),
        ];
        spec["tolerations"] = dice.pick(&tolerations).clone();
    }
    if dice.one_in(8) {
        spec["runtimeClassName"] = (*dice.pick(&["vm", "plain"])).into();
    }
    if dice.1 && dice.one_in(4) {
        let cpu = *dice.pick(&["500m", "2", "3.9", "4", "40"]);
        let list = *dice.pick(&["requests", "requests", "limits"]);
        spec["containers"][0]["resources"] = json!({ list: { "cpu": cpu } });
    }
    if dice.1 && dice.one_in(6) {
        spec["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }]);
    }
    spec
}

/// Adds now and then what a plugin of a cloud adds to Pods.
fn add_as_others_do(dice: &mut Dice, spec: &mut Value) {
    match dice.below(16) {
        0 => spec["nodeSelector"]["rack"] = "r1".into(),
        1 => {
            let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
            tolerations.push(json!({ "key": "gpu", "operator": "Exists", "effect": "NoExecute" }));
            spec["tolerations"] = tolerations.into();
        }
        _ => {}
    }
}

/// A workload and the Pods of it that run.
fn workload(dice: &mut Dice, namespace: &str, name: &str, nodes: usize) -> Vec<Value> {
    let kind = *dice.pick(&["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"]);
    let spec = spec(dice);
    let version = if ["Job", "CronJob"].contains(&kind) { "batch/v1" } else { "apps/v1" };
    let reference = |version: &str, kind: &str, name: &str| json!([{ "apiVersion": version, "kind": kind, "name": name, "uid": "u", "controller": true }]);
    let metadata = json!({ "name": name, "namespace": namespace });
    let template = json!({ "spec": spec });
    let (mut objects, maker) = match kind {
        "Pod" => (vec![], None),
        "Deployment" | "CronJob" => {
            let (made, maker_version) = if kind == "CronJob" { ("Job", version) } else { ("ReplicaSet", version) };
            let own = match kind {
                "CronJob" => json!({ "jobTemplate": { "spec": { "template": template } } }),
                _ => json!({ "template": template }),
            };
            let between = format!("{name}-1");
            let owner = reference(version, kind, name);
            let owned = json!({ "name": between, "namespace": namespace, "ownerReferences": owner });
            // Now and then an older one.
            let template = if dice.one_in(4) { json!({ "spec": self::spec(dice) }) } else { template };
            let objects = vec![
                json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": own }),
                json!({ "apiVersion": maker_version, "kind": made, "metadata": owned, "spec": { "replicas": 1, "template": template } }),
            ];
            (objects, Some(reference(maker_version, made, &between)))
        }
        _ => {
            let own =
                json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": { "template": template } });
            (vec![own], Some(reference(version, kind, name)))
        }
    };
    let pods = if kind == "Pod" { 1 } else { dice.below(3) };
    if let Some(workload) = objects.first_mut().filter(|_| dice.one_in(3)) {
        let said = pods + usize::from(dice.one_in(4));
        let field = if kind == "DaemonSet" { "currentNumberScheduled" } else { "replicas" };
        if !["Job", "CronJob"].contains(&kind) {
            workload["status"] = json!({ field: said, "updatedReplicas": said });
        }
    }
    for index in 0..pods {
        let mut spec = spec.clone();
        if nodes > 0 && !dice.one_in(if kind == "Pod" { 3 } else { 8 }) {
            // Now and then a node that is not in the cluster.
            let node = if dice.one_in(25) { 99 } else { dice.below(nodes) };
            spec["nodeName"] = format!("n{node}").into();
        }
        if dice.1 && kind != "Pod" {
            add_as_others_do(dice, &mut spec);
        }
        let pod_name = if kind == "Pod" { name.to_owned() } else { format!("{name}-{index}") };
        let mut metadata = json!({ "name": pod_name, "namespace": namespace });
        if let Some(maker) = &maker {
            metadata["ownerReferences"] = maker.clone();
        }
        objects.push(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": { "phase": "Running" },
        }));
    }
    objects
}
