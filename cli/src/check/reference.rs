//! References to labels of the Namespace as other tools write them.

use serde_json::Value;

/// What brackets a reference elsewhere: in shells and Kyverno's older policies, in templates.
const ELSEWHERE: [(&str, &str); 2] = [("${", "}"), ("{{", "}}")];

/// What to write instead, if a text at `path` of the settings, or below it, has a reference as other tools write it.
pub fn meant(settings: &Value, path: &str) -> Option<String> {
    // Nothing can be referred to there.
    if path.contains("namespaceSelector") || path.contains("clusterDefault") {
        return None;
    }
    let pointer = format!("/{}", path.replace('[', "/").replace(']', "").replace('.', "/"));
    let (written, key) = reference(settings.pointer(&pointer)?)?;
    Some(format!("for {written}, write $({key})"))
}

/// A reference in a value, as it is written, and its key.
fn reference(value: &Value) -> Option<(String, String)> {
    match value {
        Value::String(text) => ELSEWHERE.iter().find_map(|(open, close)| {
            let (_, rest) = text.split_once(open)?;
            let (key, _) = rest.split_once(close)?;
            Some((format!("{open}{key}{close}"), key.trim().trim_start_matches('.').to_owned()))
        }),
        Value::Array(elements) => elements.iter().find_map(reference),
        Value::Object(members) => members.values().find_map(reference),
        _ => None,
    }
}
