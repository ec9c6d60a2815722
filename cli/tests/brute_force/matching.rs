//! Which nodes take a Pod, as the scheduler and Karpenter decide it; written for tests, after Kubernetes' documentation.

use serde_json::Value;

/// Taints that tell a condition, and go away.
const PASSING: [&str; 3] = ["node.kubernetes.io/unschedulable", "readiness.k8s.io/", "karpenter.sh/disrupted"];

/// Keys for which Karpenter takes any value, if a NodePool says nothing of them.
const WELL_KNOWN: [&str; 3] = ["topology.kubernetes.io/zone", "kubernetes.io/arch", "karpenter.sh/nodepool"];

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

/// The terms of required node affinity, if there are any rules.
fn terms(spec: &Value) -> Option<&Vec<Value>> {
    spec.pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution")?
        .get("nodeSelectorTerms")?
        .as_array()
}

/// Whether the labels and the name of a node fit, and the Pod tolerates its taints.
pub fn node_takes(spec: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let has_pairs =
        spec["nodeSelector"].as_object().into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let has_term = terms(spec).is_none_or(|terms| terms.iter().any(|term| node_fits_term(term, node)));
    let is_passing = |key: &str| PASSING.iter().any(|passing| key.starts_with(passing));
    has_pairs && has_term && tolerates_all(spec, &node["spec"]["taints"], is_passing)
}

/// Whether a node takes a Pod now: it also tolerates the taints that pass.
pub fn node_takes_now(spec: &Value, node: &Value) -> bool {
    node_takes(spec, node) && tolerates_all(spec, &node["spec"]["taints"], |_| false)
}

fn node_fits_term(term: &Value, node: &Value) -> bool {
    let expressions: Vec<&Value> = items(&term["matchExpressions"]).collect();
    let fields: Vec<&Value> = items(&term["matchFields"]).collect();
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let label = |expression: &Value| node["metadata"]["labels"].get(text(&expression["key"])).and_then(Value::as_str);
    let name = node["metadata"]["name"].as_str();
    expressions.into_iter().all(|expression| holds(expression, label(expression)))
        && fields.into_iter().all(|field| holds(field, name))
}

fn holds(expression: &Value, value: Option<&str>) -> bool {
    let listed = items(&expression["values"]).any(|allowed| Some(text(allowed)) == value);
    let bound = || number(items(&expression["values"]).next().map(text));
    match text(&expression["operator"]) {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => number(value).zip(bound()).is_some_and(|(value, bound)| value > bound),
        "Lt" => number(value).zip(bound()).is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

fn tolerates_all(spec: &Value, taints: &Value, is_passing: impl Fn(&str) -> bool) -> bool {
    let counts = |taint: &&Value| {
        let keeps_away = ["NoSchedule", "NoExecute"].contains(&text(&taint["effect"]));
        keeps_away && !is_passing(text(&taint["key"]))
    };
    // Whoever tolerates NoExecute for some seconds only does not stay.
    let stays = |one: &Value, taint: &Value| one["tolerationSeconds"].is_null() || taint["effect"] != "NoExecute";
    items(taints)
        .filter(counts)
        .all(|taint| items(&spec["tolerations"]).find(|one| tolerates(one, taint)).is_some_and(|one| stays(one, taint)))
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let (key, effect) = (text(&toleration["key"]), text(&toleration["effect"]));
    let same_effect = effect.is_empty() || effect == text(&taint["effect"]);
    let same_key = key.is_empty() || key == text(&taint["key"]);
    let same_value = match text(&toleration["operator"]) {
        "Exists" => true,
        "" | "Equal" => text(&toleration["value"]) == text(&taint["value"]),
        _ => false,
    };
    same_effect && same_key && same_value
}

/// Whether Karpenter would create a node of this NodePool for the Pod. A Pod's first term that fits counts; one
/// that names a node keeps Karpenter from looking at the Pod at all.
pub fn node_pool_takes(spec: &Value, pool: &Value) -> bool {
    let template = &pool["spec"]["template"];
    let names_a_node = |term: &Value| items(&term["matchFields"]).next().is_some();
    if !tolerates_all(spec, &template["spec"]["taints"], |_| false)
        || terms(spec).is_some_and(|it| it.iter().any(names_a_node))
    {
        return false;
    }
    let pairs: Vec<Value> = spec["nodeSelector"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| serde_json::json!({ "key": key, "operator": "In", "values": [value] }))
        .collect();
    let with = |more: &Value| {
        let demands: Vec<&Value> = pairs.iter().chain(items(more)).collect();
        demands.iter().all(|demand| pool_meets(&demands, text(&demand["key"]), pool))
    };
    match terms(spec) {
        None => with(&Value::Null),
        Some(terms) => terms.iter().any(|term| {
            let is_empty = items(&term["matchExpressions"]).next().is_none();
            !is_empty && with(&term["matchExpressions"])
        }),
    }
}

/// Whether a label with this key can have a value, or be absent, so that the Pod and the NodePool both agree. Every
/// value is tried that stands anywhere, one that stands nowhere, and numbers beside those that do.
fn pool_meets(demands: &[&Value], key: &str, pool: &Value) -> bool {
    let template = &pool["spec"]["template"];
    let mut offers: Vec<Value> = items(&template["spec"]["requirements"])
        .filter(|requirement| text(&requirement["key"]) == key)
        .cloned()
        .collect();
    let mut fixed = template["metadata"]["labels"].get(key).cloned();
    if key == "karpenter.sh/nodepool" {
        fixed = Some(pool["metadata"]["name"].clone());
    }
    offers.extend(fixed.map(|value| serde_json::json!({ "key": key, "operator": "In", "values": [value] })));
    let demands: Vec<&&Value> = demands.iter().filter(|demand| text(&demand["key"]) == key).collect();
    let excludes = |demand: &Value| ["NotIn", "DoesNotExist"].contains(&text(&demand["operator"]));
    if offers.is_empty() && !WELL_KNOWN.contains(&key) {
        return demands.iter().any(|demand| excludes(demand)) && demands.iter().all(|demand| holds(demand, None));
    }
    let all: Vec<&Value> = demands.iter().map(|demand| **demand).chain(&offers).collect();
    let mut values: Vec<String> = vec!["nowhere-else".to_owned()];
    for value in all.iter().flat_map(|expression| items(&expression["values"])).map(text) {
        values.push(value.to_owned());
        if let Ok(number) = value.parse::<i64>() {
            values.extend([(number - 1).to_string(), (number + 1).to_string()]);
        }
    }
    let agreed = |value: Option<&str>| all.iter().all(|expression| holds(expression, value));
    values.iter().any(|value| agreed(Some(value))) || agreed(None)
}
