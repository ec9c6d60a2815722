//! Placement: Pods, selectors and nodes of the right shape, and a judge that shares no code with the policy.
//!
//! The judge says of each Pod whether it must be accepted. One that is accepted matches afterwards exactly the nodes that
//! it matched before and the selector selects.

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::Unstructured;
use serde_json::{Value, json};

use super::{Objects, pick, unharmed, validate};

const KEYS: &[&str] = &["a", "b", "example.com/c", "n"];
const VALUES: &[&str] = &["x", "y", "", "5", "7", "05", "9223372036854775808"];
const NUMBERS: &[&str] = &["5", "7", "05", "9223372036854775807"];
const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const NODES: &[&str] = &["node-a", "node-b"];
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

type Labels = BTreeMap<&'static str, &'static str>;

pub fn check(input: &[u8]) {
    let input = &mut Unstructured::new(input);
    let mut scene = Scene::read(input);
    scene.pod["spec"]["nodeName"] = if flip(input) { NODES[0].into() } else { Value::Null };
    let answer = scene.answer(&scene.pod);
    assert_eq!(answer["accepted"], scene.must_be_accepted(), "{scene:#?}\n{answer}");
    let result = answer.get("mutated_object").unwrap_or(&scene.pod);
    for (name, labels) in &scene.nodes {
        let is_right = matches(&scene.pod, name, labels) && scene.selects(labels);
        if answer["accepted"] == true {
            assert_eq!(matches(result, name, labels), is_right, "{scene:#?}\n{answer}\n{name}: {labels:?}");
        } else if scene.allowed.is_none() && scene.pod["spec"]["nodeName"].is_null() {
            assert!(!is_right, "rejected, and yet {name} is right: {scene:#?}\n{answer}");
        }
    }
    if answer.get("mutated_object").is_some() {
        unharmed::check(&scene.pod, result, Some(&["spec"]), |_, _| false);
        assert_eq!(scene.answer(result), json!({"accepted": true}), "the second time: {scene:#?}\n{answer}");
    }
}

/// A Pod to be created, what is demanded of it, and nodes it might run on.
#[derive(Debug)]
struct Scene {
    pod: Value,
    /// Both hold: the one required, the other from the Namespace or a default.
    demands: [Vec<Requirement>; 2],
    is_annotated: bool,
    /// Empty allows nothing; none allows everything.
    allowed: Option<Vec<Requirement>>,
    nodes: Vec<(&'static str, Labels)>,
}

impl Scene {
    fn read(input: &mut Unstructured<'_>) -> Self {
        let demands = [some(input, 3, Requirement::read), some(input, 3, Requirement::read)];
        let allowed = if flip(input) { Some(some(input, 5, Requirement::read)) } else { None };
        let node = |input: &mut Unstructured<'_>| (*pick(input, NODES), labels(input));
        let mut nodes = vec![(NODES[0], labels(input))];
        nodes.extend(some(input, 4, node));
        Self { pod: pod(input), demands, is_annotated: flip(input), allowed, nodes }
    }

    fn answer(&self, pod: &Value) -> Value {
        let [required, other] = self.demands.each_ref().map(|demands| text(demands));
        let (annotations, default) = if self.is_annotated {
            (json!({"scheduler.alpha.kubernetes.io/node-selector": other}), "a=overridden".to_owned())
        } else {
            (Value::Null, other)
        };
        let entry = json!({"name": "t*", "requiredNodeSelector": required, "allowedNodeSelector": self.allowed.as_deref().map(text)});
        let payload = json!({
            "request": {
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "operation": "CREATE",
                "namespace": "team-a",
                "object": pod,
            },
            "settings": {"placement": {"clusterDefaultNodeSelector": default, "namespaces": [entry]}},
        });
        let cluster = Objects {
            namespace: Ok(json!({"metadata": {"annotations": annotations}}).to_string()),
            node: Ok(json!({"metadata": {"labels": self.nodes[0].1}}).to_string()),
        };
        let answer = validate(payload.to_string().as_bytes(), &cluster);
        serde_json::from_str(&answer).expect("the answer is JSON")
    }

    fn demands(&self) -> impl Iterator<Item = &Requirement> {
        self.demands.iter().flatten()
    }

    fn selects(&self, labels: &Labels) -> bool {
        self.demands().all(|demand| demand.accepts(labels.get(demand.key).copied()))
    }

    fn must_be_accepted(&self) -> bool {
        !self.conflicts() && self.is_allowed() && self.may_name_its_node()
    }

    /// Whether nothing is right for the namespace, or not what the nodeSelector says, or the Pod's node affinity could match
    /// a node and no longer can.
    fn conflicts(&self) -> bool {
        let tried = tried();
        let is_met = |key: &&str| tried.iter().any(|value| self.is_demanded(key, value.as_deref()));
        if !KEYS.iter().all(is_met) {
            return true;
        }
        if node_selector(&self.pod).iter().any(|(key, value)| !self.is_demanded(key, Some(value))) {
            return true;
        }
        let terms = terms(&self.pod).unwrap_or_default();
        let could: Vec<&Value> = terms.iter().filter(|term| self.can_match(term, |_, _| true)).collect();
        !could.is_empty() && !could.iter().any(|term| self.can_match(term, |key, value| self.is_demanded(key, value)))
    }

    fn is_demanded(&self, key: &str, value: Option<&str>) -> bool {
        self.demands().all(|demand| demand.key != key || demand.accepts(value))
    }

    /// Whether a term can match a node that the nodeSelector selects, and of whose labels `holds` is true.
    fn can_match(&self, term: &Value, holds: impl Fn(&str, Option<&str>) -> bool) -> bool {
        let pairs = node_selector(&self.pod);
        let expressions: Vec<_> = list(term, "matchExpressions").iter().map(parts).collect();
        let is_right = |key: &str, value: Option<&str>| {
            let mut own = expressions.iter().filter(|(own, ..)| *own == key);
            own.all(|(_, operator, values)| accepts(operator, values, value))
                && pairs.get(key).is_none_or(|pair| value == Some(pair))
                && holds(key, value)
        };
        let tried = tried();
        !is_empty(term)
            && expressions.iter().all(|(key, operator, values)| is_valid(key, operator, values))
            && KEYS.iter().all(|key| tried.iter().any(|value| is_right(key, value.as_deref())))
    }

    /// Whether the whitelist allows what the Pod asks for, and what will be added to it.
    fn is_allowed(&self) -> bool {
        let terms = terms(&self.pod);
        let gets_expressions = terms.as_ref().is_none_or(|terms| terms.iter().any(|term| !is_empty(term)));
        let added = self.demands().all(|demand| match demand.only_value() {
            Some(value) => self.allows_pair(demand.key, value),
            None => !gets_expressions || self.allows(demand.key, demand.operator, &demand.values(), true),
        });
        let pairs = node_selector(&self.pod).iter().all(|(key, value)| self.allows_pair(key, value));
        let asked = |term: &Value| {
            list(term, "matchExpressions").iter().all(|expression| {
                let (key, operator, values) = parts(expression);
                self.allows(key, operator, &values, is_valid(key, operator, &values))
            })
        };
        let pinned =
            self.stated().is_empty() && terms.iter().flatten().any(|term| !list(term, "matchFields").is_empty());
        self.allowed.is_none() || added && pairs && !pinned && terms.iter().flatten().all(asked)
    }

    fn stated(&self) -> &[Requirement] {
        self.allowed.as_deref().unwrap_or_default()
    }

    /// What the entry itself demands need not be stated.
    fn demands_pair(&self, key: &str, value: &str) -> bool {
        self.demands[0].iter().any(|own| own.key == key && own.only_value() == Some(value))
    }

    fn states_pair(&self, key: &str, value: &str) -> bool {
        self.names_and_all(key, |own| own.accepts(Some(value)))
    }

    fn allows_pair(&self, key: &str, value: &str) -> bool {
        self.demands_pair(key, value) || self.states_pair(key, value)
    }

    fn allows(&self, key: &str, operator: &str, values: &[&str], is_valid: bool) -> bool {
        let is_free = self.names_and_all(key, |own| own.operator == "Exists");
        let set: BTreeSet<&str> = values.iter().copied().collect();
        let is_same = |own: &Requirement| own.key == key && own.operator == operator && own.values == set;
        match operator {
            _ if !is_valid => is_free,
            _ if self.stated().iter().chain(&self.demands[0]).any(is_same) => true,
            "In" => values.iter().all(|value| self.states_pair(key, value)),
            "DoesNotExist" => self.names_and_all(key, |own| own.operator == "DoesNotExist"),
            _ => is_free,
        }
    }

    fn names_and_all(&self, key: &str, holds: impl Fn(&Requirement) -> bool) -> bool {
        let own: Vec<&Requirement> = self.stated().iter().filter(|own| own.key == key).collect();
        !own.is_empty() && own.into_iter().all(holds)
    }

    fn may_name_its_node(&self) -> bool {
        let (name, labels) = &self.nodes[0];
        let is_free = self.demands().next().is_none() && self.allowed.is_none();
        // What the entry demands of a label is in the Pod by then, and the node was held to it.
        let is_demanded = |key: &str| self.demands[0].iter().any(|own| own.key == key);
        let is_allowed = |own: &Requirement| {
            labels.get(own.key).is_none_or(|value| own.accepts(Some(value)) || is_demanded(own.key))
        };
        self.pod["spec"]["nodeName"].is_null()
            || is_free
            || (matches(&self.pod, name, labels) && self.selects(labels) && self.stated().iter().all(is_allowed))
    }
}

/// One requirement on one label, as a selector's text can state it, with the operators of node affinity.
#[derive(Debug)]
struct Requirement {
    key: &'static str,
    operator: &'static str,
    values: BTreeSet<&'static str>,
    text: String,
}

impl Requirement {
    fn read(input: &mut Unstructured<'_>) -> Self {
        let (key, operator) = (*pick(input, KEYS), *pick(input, OPERATORS));
        let values: BTreeSet<&str> = match operator {
            "In" | "NotIn" => {
                let more = some(input, 2, |input| *pick(input, VALUES));
                more.into_iter().chain([*pick(input, VALUES)]).collect()
            }
            "Gt" | "Lt" => [*pick(input, NUMBERS)].into(),
            _ => BTreeSet::new(),
        };
        let listed = values.iter().copied().collect::<Vec<_>>().join(",");
        let is_short = values.len() == 1 && flip(input);
        let text = match operator {
            "In" if is_short => format!("{key}{}{listed}", pick(input, &["=", "=="])),
            "NotIn" if is_short => format!("{key}!={listed}"),
            "In" => format!("{key} in ({listed})"),
            "NotIn" => format!("{key} notin ({listed})"),
            "Gt" => format!("{key}>{listed}"),
            "Lt" => format!("{key}<{listed}"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        Self { key, operator, values, text }
    }

    fn values(&self) -> Vec<&'static str> {
        self.values.iter().copied().collect()
    }

    fn accepts(&self, label: Option<&str>) -> bool {
        accepts(self.operator, &self.values(), label)
    }

    fn only_value(&self) -> Option<&'static str> {
        self.values.first().copied().filter(|_| self.operator == "In" && self.values.len() == 1)
    }
}

/// What decides whether anything meets what the scene says of a label: no value, each that it names or that a pair has,
/// one that nobody names, and the integers beside the bounds as nobody spells them.
fn tried() -> Vec<Option<String>> {
    let mut tried = vec![None, Some("nobody names this".to_owned())];
    tried.extend(VALUES.iter().map(|value| Some((*value).to_owned())));
    let bounds = NUMBERS.iter().filter_map(|number| number.parse::<i64>().ok());
    let beside = bounds.flat_map(|bound| [bound.saturating_sub(1), bound, bound.saturating_add(1)]);
    tried.extend(beside.map(|number| Some(format!("{number:070}"))));
    tried
}

fn text(requirements: &[Requirement]) -> String {
    requirements.iter().map(|requirement| requirement.text.as_str()).collect::<Vec<_>>().join(",")
}

/// Whether a node is one that the Pod may run on, as the scheduler sees it.
fn matches(pod: &Value, node: &str, labels: &Labels) -> bool {
    let has = |(key, value): (&&str, &&str)| labels.get(key) == Some(value);
    node_selector(pod).iter().all(has)
        && terms(pod).is_none_or(|terms| terms.iter().any(|term| term_matches(term, node, labels)))
}

fn term_matches(term: &Value, node: &str, labels: &Labels) -> bool {
    let on_label = |expression: &Value| {
        let (key, operator, values) = parts(expression);
        is_valid(key, operator, &values) && accepts(operator, &values, labels.get(key).copied())
    };
    let on_name = |field: &Value| {
        let (_, operator, values) = parts(field);
        values.len() == 1 && accepts(operator, &values, Some(node))
    };
    !is_empty(term)
        && list(term, "matchExpressions").iter().all(on_label)
        && list(term, "matchFields").iter().all(on_name)
}

fn is_empty(term: &Value) -> bool {
    list(term, "matchExpressions").is_empty() && list(term, "matchFields").is_empty()
}

fn accepts(operator: &str, values: &[&str], label: Option<&str>) -> bool {
    let compares = |holds: fn(&i64, &i64) -> bool| {
        let number = |text: &str| text.parse::<i64>().ok();
        matches!((label.and_then(number), values.first().copied().and_then(number)), (Some(label), Some(bound)) if holds(&label, &bound))
    };
    match operator {
        "In" => label.is_some_and(|label| values.contains(&label)),
        "NotIn" => label.is_none_or(|label| !values.contains(&label)),
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        "Gt" => compares(i64::gt),
        _ => compares(i64::lt),
    }
}

/// Whether the API server would take this expression; one that it would not take matches no node. Of what `pod` writes,
/// a key or value that begins with a dash is wrong.
fn is_valid(key: &str, operator: &str, values: &[&str]) -> bool {
    let counts = match operator {
        "In" | "NotIn" => !values.is_empty(),
        "Exists" | "DoesNotExist" => values.is_empty(),
        "Gt" | "Lt" => matches!(values, [bound] if bound.parse::<i64>().is_ok()),
        _ => false,
    };
    counts && [key].iter().chain(values).all(|text| !text.starts_with('-'))
}

fn node_selector(pod: &Value) -> BTreeMap<&str, &str> {
    let pairs = pod["spec"]["nodeSelector"].as_object().into_iter().flatten();
    pairs.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default())).collect()
}

fn terms(pod: &Value) -> Option<Vec<Value>> {
    let required = &pod["spec"]["affinity"]["nodeAffinity"][REQUIRED];
    (!required.is_null()).then(|| list(required, "nodeSelectorTerms").to_vec())
}

fn list<'v>(object: &'v Value, member: &str) -> &'v [Value] {
    object[member].as_array().map_or(&[], Vec::as_slice)
}

fn parts(expression: &Value) -> (&str, &str, Vec<&str>) {
    let part = |name: &str| expression[name].as_str().unwrap_or_default();
    (part("key"), part("operator"), list(expression, "values").iter().filter_map(Value::as_str).collect())
}

fn pod(input: &mut Unstructured<'_>) -> Value {
    let mut spec = json!({"containers": [], "nodeSelector": null, "preemptionPolicy": null});
    if flip(input) {
        spec["nodeSelector"] = json!(labels(input));
    }
    let required = match input.int_in_range(0..=7).unwrap_or(0) {
        0 => Value::Null,
        1 => json!({}),
        2 => json!({"nodeSelectorTerms": null}),
        _ => json!({"nodeSelectorTerms": some(input, 3, term)}),
    };
    match input.int_in_range(0..=7).unwrap_or(0) {
        0 => {}
        1 => spec["affinity"] = Value::Null,
        2 => spec["affinity"] = json!({"nodeAffinity": null, "podAffinity": {}}),
        _ => spec["affinity"] = json!({"nodeAffinity": {"unknown": 1.0, REQUIRED: required}}),
    }
    json!({"metadata": {"name": "p", "labels": null}, "spec": spec, "unknown": []})
}

fn term(input: &mut Unstructured<'_>) -> Value {
    if input.ratio(1_u8, 8_u8).unwrap_or(false) {
        return Value::Null;
    }
    let field = |input: &mut Unstructured<'_>| {
        let names = some(input, 2, |input| *pick(input, NODES));
        json!({"key": "metadata.name", "operator": pick(input, &OPERATORS[..2]), "values": names})
    };
    let mut term = json!({"unknown": 0});
    if flip(input) {
        term["matchExpressions"] = some(input, 3, expression).into();
    }
    if flip(input) {
        term["matchFields"] = some(input, 2, field).into();
    }
    term
}

/// An expression, mostly one that is valid.
fn expression(input: &mut Unstructured<'_>) -> Value {
    if input.ratio(7_u8, 8_u8).unwrap_or(true) {
        let Requirement { key, operator, values, .. } = Requirement::read(input);
        return json!({"key": key, "operator": operator, "values": values});
    }
    let values = some(input, 3, |input| *pick(input, &["x", "-", "", "5"]));
    json!({"key": pick(input, &["a", "-"]), "operator": pick(input, &["Like", "In", "Gt", "Exists"]), "values": values})
}

fn labels(input: &mut Unstructured<'_>) -> Labels {
    some(input, 4, |input| (*pick(input, KEYS), *pick(input, VALUES))).into_iter().collect()
}

fn flip(input: &mut Unstructured<'_>) -> bool {
    input.arbitrary().unwrap_or(false)
}

fn some<T>(input: &mut Unstructured<'_>, most: usize, mut read: impl FnMut(&mut Unstructured<'_>) -> T) -> Vec<T> {
    let length = input.int_in_range(0..=most).unwrap_or(0);
    (0..length).map(|_| read(input)).collect()
}
