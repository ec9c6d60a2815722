//! What a mutation may change, and that it changes nothing else. These paths are named here alone.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Where a Pod has its spec. Only there containers get environment variables: a template stays as it is.
const OF_A_POD: &[&str] = &["spec"];

/// Fails if `after` has lost anything of `before`, or has something new but what places the Pod whose spec is at
/// `spec`, environment variables of its containers, and labels and annotations that `is_managed`.
pub fn check(before: &Value, after: &Value, spec: Option<&[&str]>, is_managed: impl Fn(&str, &str) -> bool) {
    let harm = harm(before, after, spec, is_managed);
    assert!(harm.is_none(), "{}", harm.unwrap_or_default());
}

/// What `check` finds, if anything.
pub fn harm(
    before: &Value,
    after: &Value,
    spec: Option<&[&str]>,
    is_managed: impl Fn(&str, &str) -> bool,
) -> Option<String> {
    let mut differences = Vec::new();
    compare(before, after, &mut Vec::new(), &mut differences);
    let harm = differences.into_iter().find(|(path, before, after)| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let in_spec = spec.and_then(|spec| path.strip_prefix(spec)).unwrap_or_default();
        let allowed = match (path.as_slice(), in_spec) {
            (["metadata", kind @ ("labels" | "annotations"), key], _) => is_managed(kind, key),
            (_, ["nodeSelector", _]) => before.is_null(),
            (_, ["affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"]) => is_narrowed(before, after),
            (_, ["tolerations"]) => list(after).starts_with(list(before)),
            (_, ["containers" | "initContainers"]) => spec == Some(OF_A_POD) && is_given_env(before, after),
            _ => false,
        };
        !allowed
    });
    harm.map(|(path, before, after)| format!("{} was {before} and is {after}", path.join(".")))
}

/// Where two values differ, and how. Objects are compared by members, of which an absent one is null; so is an absent
/// object.
fn compare<'v>(
    before: &'v Value,
    after: &'v Value,
    path: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, &'v Value, &'v Value)>,
) {
    let keys = |value: &'v Value| match value {
        Value::Null => Some(BTreeSet::new()),
        Value::Object(map) => Some(map.keys().collect::<BTreeSet<&String>>()),
        _ => None,
    };
    match (keys(before), keys(after)) {
        (Some(old), Some(new)) if after.is_object() && !(before.is_null() && new.is_empty()) => {
            for key in &old | &new {
                path.push(key.clone());
                compare(&before[key], &after[key], path, found);
                // A member that was null and is gone was lost too.
                if before[key].is_null() && old.contains(key) && !new.contains(key) {
                    found.push((path.clone(), before, after));
                }
                path.pop();
            }
        }
        _ if before != after => found.push((path.clone(), before, after)),
        _ => {}
    }
}

/// Whether each term of node affinity is still there, and at most has more expressions; or there was none, and is one.
fn is_narrowed(before: &Value, after: &Value) -> bool {
    let (Some(before), Some(after)) = (before.as_array(), after.as_array()) else {
        return before.is_null() && after.as_array().is_some_and(|terms| terms.len() == 1);
    };
    let is_kept = |(old, new): (&Value, &Value)| {
        let (expressions, narrowed) = (list(&old["matchExpressions"]), list(&new["matchExpressions"]));
        old == new
            || (narrowed.starts_with(expressions)
                && without(old, "matchExpressions") == without(new, "matchExpressions"))
    };
    before.len() == after.len() && before.iter().zip(after).all(is_kept)
}

/// Whether each container is still there, and at most has more environment variables, before its own.
fn is_given_env(before: &Value, after: &Value) -> bool {
    let (before, after) = (list(before), list(after));
    let is_kept = |(old, new): (&Value, &Value)| {
        old == new || (list(&new["env"]).ends_with(list(&old["env"])) && without(old, "env") == without(new, "env"))
    };
    before.len() == after.len() && before.iter().zip(after).all(is_kept)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn without(object: &Value, member: &str) -> Option<Map<String, Value>> {
    let mut members = object.as_object()?.clone();
    members.remove(member);
    Some(members)
}
