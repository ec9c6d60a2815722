//! What is promised about costs, with what was measured beside it. Instructions and the module's size are the tests'.

use std::{collections::BTreeSet, fmt};

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    GetResourceRequest,
    cost::{
        Case, Family, KB,
        objects::{pod, request},
    },
};
use serde_json::{Value, json};

use crate::{
    Contender, Measured,
    measured::{Row, as_f64},
};

pub struct Bound {
    pub what: String,
    pub bound: String,
    pub measured: String,
    pub holds: bool,
}

/// All bounds, in the order of the promises.
pub fn all(measured: &Measured, policy: &Contender) -> Result<Vec<Bound>> {
    let mut bounds = vec![memory(measured)?];
    bounds.extend(host_calls(policy)?);
    Ok(bounds)
}

/// The case that comes nearest to its bound. The floor's memory is what it needs for the smallest request.
fn memory(measured: &Measured) -> Result<Bound> {
    let floor = measured.rows.iter().map(|row| row.memory.floor).fold(f64::INFINITY, f64::min);
    let share = |row: &Row| row.memory.policy / (2.0 * floor + 4.0 * as_f64(row.case.bytes_read(&row.lookups)));
    let worst = measured.rows.iter().max_by(|one, other| share(one).total_cmp(&share(other))).context("no rows")?;
    Ok(Bound {
        what: "Linear memory, in the worst case".to_owned(),
        bound: "≤ 2 × floor + 4 × what is read".to_owned(),
        measured: format!("{:.0} % of that ({})", 100.0 * share(worst), worst.case),
        holds: share(worst) <= 1.0,
    })
}

/// What the policy looks up with every setting switched on, by kind of request.
fn host_calls(policy: &Contender) -> Result<Vec<Bound>> {
    let propagate = json!([{"nodeLabel": "topology.kubernetes.io/zone"}]);
    let usual = json!({"placement": {}, "nodeMetadata": {"propagate": propagate}});
    let strict = json!({"placement": {"onBindings": "Verify"}, "nodeMetadata": {"propagate": propagate}});
    let create = pod(2 * KB);
    let mut named = create.clone();
    named["object"]["spec"]["nodeName"] = "node-a".into();
    let mut update = create.clone();
    update["operation"] = "UPDATE".into();
    update["oldObject"] = update["object"].clone();
    update["object"]["spec"]["nodeSelector"] = json!({"env": "production"});
    let mut deployment = request("deployment-create");
    deployment["object"]["spec"]["template"]["spec"]["nodeSelector"] = json!({"env": "production"});
    [
        ("Pod CREATE", create, &usual, &["Namespace"] as &[_]),
        ("Pod CREATE with `nodeName`", named, &usual, &["Namespace", "Node"]),
        ("Pod UPDATE of its `nodeSelector`", update, &usual, &["Namespace"]),
        ("Binding", request("binding"), &usual, &["Node"]),
        ("Binding, `onBindings: Verify`", request("binding"), &strict, &["Namespace", "Node"]),
        ("Deployment", deployment, &usual, &["Namespace"]),
        ("DaemonSet", request("daemonset-create"), &usual, &["Namespace"]),
        ("Namespace", request("namespace-update-annotation"), &usual, &[]),
    ]
    .into_iter()
    .map(|(what, request, settings, allowed)| host_call(policy, what, &request, settings, allowed))
    .collect()
}

fn host_call(policy: &Contender, what: &str, request: &Value, settings: &Value, allowed: &[&str]) -> Result<Bound> {
    let call = Case::validate(Family::Injected, 0, request, settings).evaluate(&policy.policy);
    let answer: Value = serde_json::from_slice(&call.result.map_err(anyhow::Error::msg)?)?;
    ensure!(answer["accepted"] == true, "{what}: {answer}");
    let kinds: BTreeSet<&str> =
        call.record.lookups.iter().map(|lookup: &GetResourceRequest| lookup.kind.as_str()).collect();
    let once = kinds.len() == call.record.lookups.len();
    Ok(Bound {
        what: format!("Host calls: {what}"),
        bound: if allowed.is_empty() { "none".to_owned() } else { format!("{} 1", allowed.join(" 1, ")) },
        measured: match call.record.lookups.as_slice() {
            [] => "none".to_owned(),
            lookups => lookups.iter().map(|lookup| format!("{} 1", lookup.kind)).collect::<Vec<_>>().join(", "),
        },
        holds: once && kinds.iter().all(|kind| allowed.contains(kind)),
    })
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holds = if self.holds { "yes" } else { "**no**" };
        write!(f, "| {} | {} | {} | {holds} |", self.what, self.bound, self.measured)
    }
}
