//! What a mutation may change, and that it changes nothing else.

use std::collections::BTreeSet;

use serde_json::Value;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Fails if `after` has lost anything of `before`, or has something new but node selectors in the Pod's spec at `spec`,
/// and labels and annotations that `is_managed`.
pub fn check(before: &Value, after: &Value, spec: Option<&[&str]>, is_managed: impl Fn(&str, &str) -> bool) {
    let mut differences = Vec::new();
    compare(before, after, &mut Vec::new(), &mut differences);
    for (path, before, after) in differences {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let in_spec = spec.and_then(|spec| path.strip_prefix(spec)).unwrap_or_default();
        let allowed = match (path.as_slice(), in_spec) {
            (["metadata", kind @ ("labels" | "annotations"), key], _) => is_managed(kind, key),
            (_, ["nodeSelector", _]) => before.is_null(),
            (_, ["affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"]) => is_narrowed(before, after),
            _ => false,
        };
        assert!(allowed, "{} was {before} and is {after}", path.join("."));
    }
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
    let expressions = |term: &Value| term["matchExpressions"].as_array().cloned().unwrap_or_default();
    let rest = |term: &Value| {
        let mut rest = term.as_object().cloned().unwrap_or_default();
        rest.remove("matchExpressions");
        rest
    };
    let is_kept = |(old, new): (&Value, &Value)| {
        old == new || (expressions(new).starts_with(&expressions(old)) && rest(old) == rest(new))
    };
    before.len() == after.len() && before.iter().zip(after).all(is_kept)
}
