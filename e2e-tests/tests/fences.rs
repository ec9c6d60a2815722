//! What the tests of the backstop and of the twin share: settings with their namespaces, and any Pod.

use proptest::prelude::*;
use serde_json::{Value, json};

pub fn namespace(name: &str, labels: &Value) -> Value {
    let mut labels = labels.clone();
    labels["kubernetes.io/metadata.name"] = name.into();
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } })
}

pub fn creation(namespace: &Value, pod: &Value) -> Value {
    json!({
        "operation": "CREATE", "resource": { "group": "", "version": "v1", "resource": "pods" },
        "namespace": namespace["metadata"]["name"], "userInfo": { "username": "ada", "groups": ["tenants"] },
        "object": pod,
    })
}

/// A Namespace of a tenant, and what its entry demands there.
pub struct Tenant {
    /// The Namespace.
    pub namespace: Value,
    /// What its entry demands of nodes.
    pub demand: Demand,
}

pub enum Demand {
    Nothing,
    /// This selector, without references.
    Selector(&'static str),
    /// What can't be filled in.
    Unresolved,
}

use Demand::{Nothing, Selector, Unresolved};

fn tenant(name: &str, labels: Value, demand: Demand) -> Tenant {
    Tenant { namespace: namespace(name, &labels), demand }
}

/// Names, first match wins, and every operator.
pub fn by_name() -> (Value, Vec<Tenant>) {
    let settings = json!({ "placement": { "namespaceAnnotations": [], "onNodeName": "Ignore", "namespaces": [
        { "name": "team-free" },
        { "name": "team-*", "requiredNodeSelector": "pool=blue" },
        { "name": "sets", "requiredNodeSelector": "pool in (blue,red),zone notin (a,b),!gpu,disk,n>4,m<9" },
        { "name": "others", "requiredNodeSelector": "pool!=red,zone==a,pool=blue,empty=" },
    ] } });
    let tenants = vec![
        tenant("team-free", json!({}), Nothing),
        tenant("team-a", json!({}), Selector("pool=blue")),
        tenant("team", json!({}), Nothing),
        tenant("sets", json!({}), Selector("pool in (blue,red),zone notin (a,b),!gpu,disk,n>4,m<9")),
        tenant("others", json!({}), Selector("pool!=red,zone=a,pool=blue,empty=")),
    ];
    (settings, tenants)
}

/// Labels of namespaces, with every operator.
pub fn by_label() -> (Value, Vec<Tenant>) {
    let settings = json!({ "placement": { "namespaceAnnotations": [], "onNodeName": "Ignore", "namespaces": [
        { "namespaceSelector": "sandbox", "defaultNodeSelector": "" },
        { "namespaceSelector": "tenant in (blue,red),!old", "requiredNodeSelector": "pool=blue" },
        { "namespaceSelector": "level>2,level<10", "requiredNodeSelector": "zone=a" },
        { "name": "x-*", "namespaceSelector": "tier!=gold", "requiredNodeSelector": "!gpu" },
        { "namespaceSelector": "tier notin (gold,silver)", "requiredNodeSelector": "pool in (blue,red)" },
    ] } });
    let tenants = vec![
        tenant("a", json!({ "sandbox": "", "tenant": "blue" }), Nothing),
        tenant("b", json!({ "tenant": "red" }), Selector("pool=blue")),
        tenant("c", json!({ "tenant": "red", "old": "", "tier": "gold" }), Nothing),
        tenant("d", json!({ "level": "07", "tier": "gold" }), Selector("zone=a")),
        tenant("e", json!({ "level": "ten", "tier": "gold" }), Nothing),
        tenant("f", json!({ "level": "10", "tier": "silver" }), Nothing),
        tenant("x-g", json!({ "tier": "silver" }), Selector("!gpu")),
        tenant("x-h", json!({ "tier": "gold" }), Nothing),
        tenant("i", json!({}), Selector("pool in (blue,red)")),
    ];
    (settings, tenants)
}

/// References, alone, in texts, in sets and in comparisons.
pub fn by_reference() -> (Value, Vec<Tenant>) {
    let settings = json!({ "placement": { "namespaceAnnotations": [], "onNodeName": "Ignore", "namespaces": [
        { "name": "zone-*", "requiredNodeSelector": "zone in (a,$(zone)),n>$(n)" },
        { "namespaceSelector": "zone", "requiredNodeSelector": "pool=$(tenant),disk=$(tenant)-$(zone),m notin ($(zone))" },
        { "name": "*", "requiredNodeSelector": "pool=$(kubernetes.io/metadata.name)" },
    ] } });
    let long = "z".repeat(60);
    let tenants = vec![
        tenant("zone-a", json!({ "zone": "a", "n": "4" }), Selector("zone=a,n>4")),
        tenant("zone-b", json!({ "zone": "b", "n": "4" }), Selector("zone in (a,b),n>4")),
        tenant("zone-c", json!({ "zone": "c", "n": "many" }), Unresolved),
        tenant("zone-d", json!({ "n": "4" }), Unresolved),
        tenant("e", json!({ "zone": "a", "tenant": "blue" }), Selector("pool=blue,disk=blue-a,m!=a")),
        tenant("f", json!({ "zone": "a", "tenant": "" }), Unresolved),
        tenant("g", json!({ "zone": "a" }), Unresolved),
        tenant("h", json!({ "zone": long, "tenant": "blue" }), Unresolved),
        tenant("blue", json!({ "tenant": "red" }), Selector("pool=blue")),
    ];
    (settings, tenants)
}

const KEYS: [&str; 7] = ["pool", "zone", "gpu", "disk", "n", "m", "empty"];
const VALUES: [&str; 8] = ["blue", "red", "a", "b", "blue-a", "", "4", "9"];

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&KEYS[..])
}

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&VALUES[..])
}

/// An expression that an API server takes.
fn expression() -> impl Strategy<Value = Value> {
    let sets = (key(), prop::sample::select(&["In", "NotIn"][..]), prop::collection::vec(value(), 1..4));
    let existence = (key(), prop::sample::select(&["Exists", "DoesNotExist"][..]));
    let comparison = (key(), prop::sample::select(&["Gt", "Lt"][..]), prop::sample::select(&["4", "9"][..]));
    prop_oneof![
        sets.prop_map(|(key, operator, values)| json!({ "key": key, "operator": operator, "values": values })),
        existence.prop_map(|(key, operator)| json!({ "key": key, "operator": operator })),
        comparison.prop_map(|(key, operator, bound)| json!({ "key": key, "operator": operator, "values": [bound] })),
    ]
}

fn term() -> impl Strategy<Value = Value> {
    let field = json!([{ "key": "metadata.name", "operator": "In", "values": ["node-a"] }]);
    prop_oneof![
        prop::collection::vec(expression(), 0..4).prop_map(|expressions| json!({ "matchExpressions": expressions })),
        expression().prop_map({
            let field = field.clone();
            move |expression| json!({ "matchExpressions": [expression], "matchFields": field })
        }),
        Just(json!({ "matchFields": field })),
        Just(json!({})),
    ]
}

/// What a Pod asks for.
pub fn pod() -> impl Strategy<Value = Value> {
    let pairs = prop::collection::btree_map(key(), value(), 0..3);
    let terms = prop::option::of(prop::collection::vec(term(), 1..4));
    (pairs, terms, prop::bool::weighted(0.1)).prop_map(|(pairs, terms, is_bound)| {
        let mut spec = json!({ "containers": [{ "name": "app" }] });
        if !pairs.is_empty() {
            spec["nodeSelector"] = json!(pairs);
        }
        if let Some(terms) = terms {
            spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!({ "nodeSelectorTerms": terms });
        }
        if is_bound {
            spec["nodeName"] = "node-a".into();
        }
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" }, "spec": spec })
    })
}
