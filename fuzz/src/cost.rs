//! Requests and settings that may cost much: an input chooses which lists there are, of what and how long.
//!
//! Every list has at most what an API server passes on, or what somebody would write into settings. Settings may be
//! invalid: nobody is asked with them.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};

/// A request, with settings, and what every look-up finds.
#[derive(Debug)]
pub struct Asked {
    pub settings: Value,
    pub request: Value,
    pub namespace: Value,
    pub node: Value,
    pub runtime_class: Value,
}

/// What the input asks.
///
/// # Errors
/// It is too short.
pub fn asked(input: &mut Unstructured<'_>) -> Result<Asked> {
    let settings = settings(input)?;
    let request = request(input)?;
    let mut asked = Asked {
        settings,
        request,
        namespace: json!({"metadata": {"name": "team-a", "labels": pairs(input)?, "annotations": annotations(input)?}}),
        node: json!({
            "metadata": {"name": "node-a", "labels": pairs(input)?, "annotations": pairs(input)?},
            "spec": {"taints": tolerations(input)?},
            "status": {"allocatable": pairs(input)?},
        }),
        runtime_class: json!({"scheduling": {"nodeSelector": few_pairs(input)?, "tolerations": tolerations(input)?}}),
    };
    add_fields(input, &mut asked)?;
    add_keys(input, &mut asked)?;
    add_requirements(input, &mut asked)?;
    add_stars(input, &mut asked)?;
    Ok(asked)
}

/// Fields of the Node that are read, and labels that are guarded. What is added comes last, and nothing comes first among
/// the choices: inputs from before it was there read as they did.
fn add_fields(input: &mut Unstructured<'_>, asked: &mut Asked) -> Result<()> {
    let addresses = list(count(input)?, |at| json!({"type": format!("T{at}"), "address": "10.0.0.1"}));
    asked.node["status"]["addresses"] = addresses;
    let entries = asked.settings.pointer_mut("/nodeMetadata/propagate");
    if let Some(entries) = entries.and_then(Value::as_array_mut) {
        let paths: [fn(usize) -> String; 3] = [
            |at| format!("status.addresses[type=T{at}].address"),
            |at| format!("status.addresses[type=U{at}].address"),
            |at| format!("metadata.labels['k{at}']"),
        ];
        let (fields, path) = (few(input)?, *input.choose(&paths)?);
        entries.extend((0..fields).map(|at| json!({"nodeField": path(at), "podAnnotation": format!("f{at}")})));
    }
    let guarded = count(input)?.min(1_000);
    if guarded > 0 && asked.settings["placement"].is_object() {
        asked.settings["placement"]["onNodes"] = json!("Reject");
        asked.settings["placement"]["guardedNodeLabels"] = list(guarded, |at| json!(format!("g{at}.io/*")));
    }
    Ok(())
}

/// Where a Pod's spec is in an object: a Pod's own, or the template's of a workload.
fn pod_spec_of<'o>(asked: &'o mut Asked, member: &str) -> Option<&'o mut Value> {
    let object = asked.request.get_mut(member)?;
    let path = if object["spec"]["template"].is_object() { "/spec/template/spec" } else { "/spec" };
    object.pointer_mut(path).filter(|spec| spec.is_object())
}

/// The entry that holds, if there is a block for it.
fn entry_of(asked: &mut Asked) -> Option<&mut Value> {
    asked.settings.pointer_mut("/placement/namespaces")?.as_array_mut()?.last_mut()
}

/// A prefix of keys that is about as long as one can be.
fn domain() -> String {
    format!("{}io", "tenants.platform.example.com.".repeat(8))
}

/// Keys and values that are about as long as they can be. They begin alike, end alike, both, or are the same.
fn long(input: &mut Unstructured<'_>) -> Result<fn(usize) -> (String, String)> {
    let kinds: [fn(usize) -> (String, String); 6] = [
        |at| (format!("{}/x{at:05}", domain()), "v".into()),
        |at| (format!("x{at:05}.{}/{}", domain(), "d".repeat(63)), "v".into()),
        |at| (format!("{}.x{at:05}.io/d", domain()), "v".into()),
        |at| (format!("{}/d", domain()), format!("{}{at:05}", "v".repeat(58))),
        |at| (format!("{}/d", domain()), format!("{at:05}{}", "v".repeat(58))),
        |_| (format!("{}/d", domain()), "v".repeat(63)),
    ];
    Ok(*input.choose(&kinds)?)
}

/// Long keys in any of the lists that are compared with each other: some have the same elements, some others, some the
/// same and others.
fn add_keys(input: &mut Unstructured<'_>, asked: &mut Asked) -> Result<()> {
    let places: u16 = input.arbitrary()?;
    if places == 0 {
        return Ok(());
    }
    let element = long(input)?;
    let operator = *input.choose(&["Equal", "Exists"])?;
    let toleration = |at: usize| {
        let (key, value) = element(at);
        match operator {
            "Equal" => json!({"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}),
            _ => json!({"key": key, "operator": "Exists"}),
        }
    };
    let mut tolerations = || -> Result<Value> {
        let (count, from) = (*input.choose(&[990, 999, 1_000, 20])?, *input.choose(&[0, 500, 1_000, 10_000])?);
        Ok(list(count, |at| toleration(from + at)))
    };
    for (bit, member) in [(1, "object"), (2, "oldObject")] {
        if places & bit != 0
            && let Some(spec) = pod_spec_of(asked, member)
        {
            spec["tolerations"] = tolerations()?;
        }
    }
    for (bit, field) in [(4, "defaultTolerations"), (8, "allowedTolerations"), (16, "forbiddenTolerations")] {
        if places & bit != 0
            && let Some(entry) = entry_of(asked)
        {
            entry[field] = tolerations()?;
        }
    }
    if places & 32 != 0 {
        asked.node["spec"]["taints"] = tolerations()?;
    }
    if places & 64 != 0 {
        asked.runtime_class["scheduling"]["tolerations"] = tolerations()?;
    }
    let pairs = |from: usize, count: usize| (from..from + count).map(element).collect::<BTreeMap<_, _>>();
    if places & 128 != 0
        && let Some(spec) = pod_spec_of(asked, "object")
    {
        spec["nodeSelector"] = json!(pairs(0, 900));
        asked.node["metadata"]["labels"] = json!(pairs(1, 900));
    }
    if places & 256 != 0
        && let Some(entry) = entry_of(asked)
    {
        let requirement = |at| match element(at) {
            (key, value) if operator == "Equal" => format!("{key}={value}"),
            (key, _) => format!("{key} in (v,w)"),
        };
        entry["allowedNodeSelector"] = json!(words(900, ",", requirement));
    }
    if places & 512 != 0
        && let Some(entry) = entry_of(asked)
    {
        entry["forbiddenNodeLabels"] = list(1_000, |at| json!(element(10_000 + at).0));
    }
    if places & 1_024 != 0
        && let Some(entries) = asked.settings.pointer_mut("/placement/namespaces").and_then(Value::as_array_mut)
    {
        let selector = |at| format!("k{at} notin (v,w),!{}", element(at).0);
        let agents = list(500, |at| json!({"name": "team-*", "podSelector": selector(at)}));
        entries.splice(0..0, agents.as_array().into_iter().flatten().cloned());
    }
    Ok(())
}

/// Requirements that are repeated, or have many values, against as many terms as a request may hold; of the annotation
/// of a Namespace, up to its 16 KiB.
fn add_requirements(input: &mut Unstructured<'_>, asked: &mut Asked) -> Result<()> {
    let requirements: [fn(usize) -> String; 8] = [
        |_| String::new(),
        |_| "a".into(),
        |_| "k!=v".into(),
        |at| format!("k{}", at % 50),
        |at| format!("k!=v{at:x}"),
        |at| format!("k notin (v{at:x},w)"),
        |at| format!("k{at:x}=v"),
        |at| format!("k>{at}"),
    ];
    let requirement = *input.choose(&requirements)?;
    let values = *input.choose(&[0, 20, 900, 5_000])?;
    let mut text = words(16 * 1024 / (requirement(100).len() + 1), ",", requirement);
    if values > 0 {
        text = format!("k {} ({})", input.choose(&["in", "notin"])?, words(values, ",", |at| format!("{at:x}")));
    }
    if text.trim_matches(',').is_empty() {
        return Ok(());
    }
    text.truncate(text.char_indices().nth(16 * 1024).map_or(text.len(), |(at, _)| at));
    let text = text.rsplit_once(',').filter(|_| values == 0).map_or(text.as_str(), |(text, _)| text).to_owned();
    match input.int_in_range(0..=3)? {
        0 => asked.namespace["metadata"]["annotations"]["scheduler.alpha.kubernetes.io/node-selector"] = json!(text),
        1 => {
            asked.settings = json!({"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": ""}});
            let pairs = words(50_000, ",", |at| format!("{at:x}="));
            asked.namespace["metadata"]["annotations"]["scheduler.alpha.kubernetes.io/node-selector"] = json!(pairs);
        }
        choice => {
            let field = if choice == 2 { "requiredNodeSelector" } else { "allowedNodeSelector" };
            if let Some(entry) = entry_of(asked) {
                entry[field] = json!(text);
            }
        }
    }
    let expressions: [fn(usize) -> Value; 6] = [
        |_| json!([{"key": "a", "operator": "Exists"}]),
        |_| json!([{"key": "k", "operator": "Gt", "values": ["8"]}]),
        |_| json!([{"key": "k", "operator": "NotIn", "values": ["00", "01", "02", "03"]}, {"key": "k", "operator": "Gt", "values": ["8"]}]),
        |at| json!([{"key": "k", "operator": "NotIn", "values": [format!("{at:x}")]}]),
        |at| json!([{"key": "k", "operator": "In", "values": ["none", format!("{at:x}")]}]),
        |at| json!([{"key": format!("k{at:x}"), "operator": "DoesNotExist"}]),
    ];
    let (count, expression) = (*input.choose(&[0, 20, 714, 1_000])?, *input.choose(&expressions)?);
    if count > 0 {
        let terms = list(count, |at| json!({"matchExpressions": expression(at)}));
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        if let Some(spec) = pod_spec_of(asked, "object") {
            spec["affinity"] = json!({"nodeAffinity": required});
        }
    }
    Ok(())
}

/// A Node with as many keys under a star as one may have, which several entries copy.
fn add_stars(input: &mut Unstructured<'_>, asked: &mut Asked) -> Result<()> {
    let count = *input.choose(&[0, 3_000, 10_000, 26_000])?;
    if count == 0 {
        return Ok(());
    }
    let source = *input.choose(&["nodeAnnotation", "nodeLabel"])?;
    let target = *input.choose(&["podLabel", "podAnnotation"])?;
    let value = *input.choose(&["(", "", "a", "a-value-that-is-valid-but-for-its-last-sign("])?;
    let key: fn(usize) -> String = *input.choose::<fn(usize) -> String>(&[
        |at| format!("e.io/{at:x}"),
        |at| format!("e.io/-{at:x}"),
        |at| format!("e.io/A{at:x}"),
    ])?;
    let entries = *input.choose(&[1, 20, 50])?;
    let propagate = list(entries, |at| json!({source: "e.io/*", target: format!("e{at}.io/*")}));
    asked.settings["nodeMetadata"] = json!({"propagate": propagate, "protect": input.arbitrary::<bool>()?});
    let member = if source == "nodeLabel" { "labels" } else { "annotations" };
    asked.node["metadata"][member] = (0..count).map(|at| (key(at), json!(value))).collect();
    Ok(())
}

/// How many: around the bounds on what is read, and many more.
fn count(input: &mut Unstructured<'_>) -> Result<usize> {
    Ok(*input.choose(&[0, 1, 2, 20, 300, 999, 1_000, 5_000, 20_000])?)
}

fn few(input: &mut Unstructured<'_>) -> Result<usize> {
    Ok(*input.choose(&[0, 1, 2, 10, 50])?)
}

fn list(count: usize, element: impl Fn(usize) -> Value) -> Value {
    (0..count).map(element).collect()
}

fn words(count: usize, separator: &str, word: impl Fn(usize) -> String) -> String {
    (0..count).map(word).collect::<Vec<_>>().join(separator)
}

/// Keys of labels, variables and resources: some that settings name, some that fit a star, some that are invalid.
fn key(input: &mut Unstructured<'_>) -> Result<fn(usize) -> String> {
    let keys: [fn(usize) -> String; 6] = [
        |at| format!("{at:x}"),
        |at| format!("k{at}"),
        |at| format!("e0.io/{at:x}"),
        |at| format!("e{}.io/x{at}", at % 50),
        |at| format!("e0.io/-{at:x}"),
        |at| format!("dedicated.example.com/{at:05}"),
    ];
    Ok(*input.choose(&keys)?)
}

fn pairs(input: &mut Unstructured<'_>) -> Result<Value> {
    let (count, key) = (count(input)?, key(input)?);
    let value = *input.choose(&["", "v", "1", "a b", "a-long-value-that-is-valid"])?;
    Ok((0..count).map(|at| (key(at), json!(value))).collect())
}

fn few_pairs(input: &mut Unstructured<'_>) -> Result<Value> {
    let (count, key) = (few(input)?, key(input)?);
    Ok((0..count).map(|at| (key(at), json!("v"))).collect())
}

fn tolerations_of(input: &mut Unstructured<'_>, count: usize) -> Result<Value> {
    let elements: [fn(usize) -> Value; 6] = [
        |_| json!({}),
        |_| json!({"key": "k1", "operator": "Exists"}),
        |at| json!({"key": format!("k{at}"), "operator": "Exists"}),
        |at| json!({"key": format!("dedicated.example.com/{at:05}"), "value": "v", "effect": "NoSchedule"}),
        |at| json!({"key": "dedicated.example.com/one", "value": format!("v{at:05}"), "effect": "NoSchedule"}),
        |at| match at % 1_000 {
            999 => json!({"operator": "Exists"}),
            _ => json!({"key": format!("dedicated.example.com/x{at}"), "operator": "Exists"}),
        },
    ];
    Ok(list(count, input.choose(&elements)?))
}

fn tolerations(input: &mut Unstructured<'_>) -> Result<Value> {
    let count = count(input)?;
    tolerations_of(input, count)
}

/// Of settings: whitelists of a thousand.
fn listed(input: &mut Unstructured<'_>) -> Result<Value> {
    let count = count(input)?.min(1_000);
    tolerations_of(input, count)
}

/// Selector text of so many requirements.
fn selector_of(input: &mut Unstructured<'_>, count: usize) -> Result<String> {
    let requirements: [fn(usize) -> String; 8] = [
        |at| format!("k{at}"),
        |at| format!("k{at}=v"),
        |at| format!("k{at} in (v,w)"),
        |at| format!("k1!=v{at}"),
        |at| format!("k1 notin (v{at},w{at})"),
        |at| format!("k1>{at}"),
        |at| format!("k{at}=$(k{at})"),
        |at| format!("k1 notin ($(k{at}),$(e0.io/{at:x}))"),
    ];
    Ok(words(count, ",", input.choose(&requirements)?))
}

fn selector(input: &mut Unstructured<'_>) -> Result<Value> {
    let count = count(input)?.min(1_000);
    Ok(json!(selector_of(input, count)?))
}

/// Some of those that say what holds in a Namespace, up to the 16 KiB that are read of one.
fn annotations(input: &mut Unstructured<'_>) -> Result<Value> {
    let mut annotations = pairs(input)?;
    if input.ratio(1, 4)? {
        let requirements: [fn(usize) -> String; 3] =
            [|at| format!("k{at}"), |at| format!("k1!=v{at}"), |at| format!("k{at} in (v,w)")];
        let count = count(input)?.min(900);
        annotations["scheduler.alpha.kubernetes.io/node-selector"] =
            json!(words(count, ",", input.choose(&requirements)?));
    }
    for name in ["defaultTolerations", "tolerationsWhitelist"] {
        if input.arbitrary()? {
            let elements: [fn(usize) -> Value; 3] = [
                |at| json!({"key": format!("k{at}")}),
                |_| json!({"key": "dedicated.example.com/one"}),
                |at| json!({"key": if at == 300 { "" } else { "x" }, "operator": "Exists"}),
            ];
            let tolerations = list(count(input)?.min(350), input.choose(&elements)?);
            annotations[format!("scheduler.alpha.kubernetes.io/{name}")] = json!(tolerations.to_string());
        }
    }
    Ok(annotations)
}

fn expressions(input: &mut Unstructured<'_>) -> Result<Value> {
    let count = count(input)?;
    let elements: [fn(usize) -> Value; 6] = [
        |_| json!({}),
        |at| json!({"key": format!("k{at}"), "operator": "Exists"}),
        |at| json!({"key": format!("k{at}"), "operator": "In", "values": ["v", "w"]}),
        |at| json!({"key": "k1", "operator": "NotIn", "values": [format!("v{at}")]}),
        |at| json!({"key": "k1", "operator": "In", "values": ["v", "w", format!("v{at}")]}),
        |at| json!({"key": "k1", "operator": "Gt", "values": [format!("{at}")]}),
    ];
    let mut expressions = list(count, input.choose(&elements)?);
    if let Some(first) = expressions.get_mut(0) {
        let values = list(self::count(input)?, |at| json!(format!("v{at}")));
        *first = json!({"key": "k1", "operator": "In", "values": values});
    }
    Ok(expressions)
}

/// One term, so many times, within what a request may hold.
fn terms(input: &mut Unstructured<'_>) -> Result<Vec<Value>> {
    let field = *input.choose(&["matchExpressions", "matchFields"])?;
    let term = if input.arbitrary()? { json!({}) } else { json!({field: expressions(input)?}) };
    let most = 400_000 / term.to_string().len();
    Ok(vec![term; count(input)?.min(most)])
}

fn containers(input: &mut Unstructured<'_>) -> Result<Value> {
    let container = match input.arbitrary()? {
        true => json!({}),
        false => {
            let (variables, name) = (count(input)?, key(input)?);
            let variables = list(variables, |at| json!({"name": name(at)}));
            json!({"name": "c", "env": variables, "resources": {"requests": pairs(input)?}})
        }
    };
    let most = 400_000 / container.to_string().len();
    Ok(json!(vec![container; count(input)?.clamp(1, most.max(1))]))
}

fn pod_spec(input: &mut Unstructured<'_>) -> Result<Value> {
    let preferred: Vec<Value> =
        terms(input)?.into_iter().map(|term| json!({"weight": 1, "preference": term})).collect();
    Ok(json!({
        "nodeName": if input.arbitrary()? { json!("node-a") } else { Value::Null },
        "runtimeClassName": if input.arbitrary()? { json!("kata") } else { Value::Null },
        "nodeSelector": pairs(input)?,
        "tolerations": tolerations(input)?,
        "containers": containers(input)?,
        "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms(input)?},
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        }},
    }))
}

fn object(input: &mut Unstructured<'_>, resource: &str) -> Result<Value> {
    let metadata = json!({"name": "team-a", "labels": pairs(input)?, "annotations": annotations(input)?});
    let spec = match resource {
        "pods" => pod_spec(input)?,
        "deployments" | "daemonsets" => {
            json!({"selector": {"matchLabels": pairs(input)?}, "template": {"spec": pod_spec(input)?}})
        }
        _ => Value::Null,
    };
    Ok(json!({"metadata": metadata, "spec": spec, "target": {"kind": "Node", "name": "node-a"}}))
}

fn request(input: &mut Unstructured<'_>) -> Result<Value> {
    let requests = [
        ("", "pods", ""),
        ("", "pods", "binding"),
        ("apps", "deployments", ""),
        ("apps", "daemonsets", ""),
        ("", "namespaces", ""),
        ("", "nodes", ""),
    ];
    let (group, resource, sub_resource) = *input.choose(&requests)?;
    let kubelet = json!({"username": "system:node:node-a", "groups": ["system:nodes"]});
    let is_update = sub_resource.is_empty() && input.arbitrary()?;
    let new = object(input, if sub_resource.is_empty() { resource } else { "" })?;
    let old = match (is_update, input.arbitrary()?) {
        (false, _) => Value::Null,
        (true, false) => object(input, resource)?,
        (true, true) => {
            let mut old = new.clone();
            old["metadata"]["labels"] = pairs(input)?;
            old
        }
    };
    Ok(json!({
        "resource": {"group": group, "resource": resource},
        "subResource": sub_resource,
        "operation": if is_update { "UPDATE" } else { "CREATE" },
        "name": "team-a",
        "namespace": "team-a",
        "userInfo": if resource == "nodes" { kubelet } else { json!({"username": "ada"}) },
        "object": new,
        "oldObject": old,
    }))
}

/// The last entry holds.
fn settings(input: &mut Unstructured<'_>) -> Result<Value> {
    let mut entries = vec![];
    for at in 0..*input.choose(&[0, 0, 1, 50, 999])? {
        entries.push(json!({"namespaceSelector": format!("tenant-{at} in (a,b),!k1"), "requiredNodeSelector": "a=b"}));
    }
    let mut entry = json!({"name": "team-*", "enforcement": input.choose(&["Enforce", "Enforce", "Warn"])?});
    for field in ["requiredNodeSelector", "defaultNodeSelector", "allowedNodeSelector"] {
        if input.arbitrary()? {
            entry[field] = selector(input)?;
        }
    }
    for field in ["defaultTolerations", "allowedTolerations", "forbiddenTolerations"] {
        if input.arbitrary()? {
            entry[field] = listed(input)?;
        }
    }
    if input.arbitrary()? {
        let text = selector_of(input, 10)?;
        entry["preferredNodeSelector"] =
            list(few(input)?, |at| json!({"weight": 1, "selector": format!("{text},p{at}")}));
    }
    entries.push(entry);
    let placement = json!({
        "namespaces": entries,
        "onDefaultConflict": input.choose(&["Reject", "Yield"])?,
        "onRuntimeClasses": input.choose(&["Ignore", "Resolve"])?,
        "onTolerationAnnotations": input.choose(&["Ignore", "Honor"])?,
        "onExtendedResources": input.choose(&["Ignore", "Tolerate"])?,
        "onBindings": input.choose(&["Ignore", "Verify"])?,
        "onNodes": input.choose(&["Ignore", "RejectChanges"])?,
        "guardedNodeLabels": if input.arbitrary()? { json!(["e0.io/*"]) } else { Value::Null },
    });
    let source = *input.choose(&["nodeLabel", "nodeAnnotation"])?;
    let target = *input.choose(&["podLabel", "podAnnotation", "env"])?;
    let propagate = match input.int_in_range(0..=2)? {
        0 => list(few(input)?, |at| json!({source: format!("e{at}.io/x"), target: format!("e{at}.io/x")})),
        1 => list(few(input)?, |at| json!({source: "e0.io/*", target: format!("t{at}.io/*")})),
        _ => list(few(input)?, |at| json!({source: format!("e{at}.io/*"), target: format!("e{at}.io/*")})),
    };
    let propagate = match target {
        "env" => list(few(input)?, |at| json!({source: format!("e{at}.io/x"), "env": format!("k{at}")})),
        _ => propagate,
    };
    let node_metadata = json!({"propagate": propagate, "protect": input.arbitrary::<bool>()?});
    Ok(match input.int_in_range(0..=2)? {
        0 => json!({"placement": placement}),
        1 => json!({"nodeMetadata": node_metadata}),
        _ => json!({"placement": placement, "nodeMetadata": node_metadata}),
    })
}
