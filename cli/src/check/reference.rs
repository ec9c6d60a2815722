//! References to labels of the Namespace as other tools write them.

use serde_json::Value;

use crate::input::json::pointer;

/// What brackets a reference elsewhere: in shells and Kyverno's older policies, in templates.
const ELSEWHERE: [(&str, &str); 2] = [("${", "}"), ("{{", "}}")];

/// Where references may stand: in these fields of an entry, and in the values of its tolerations.
const PLACES: [&str; 4] =
    [".requiredNodeSelector", ".defaultNodeSelector", ".allowedNodeSelector", ".preferredNodeSelector["];

/// What to write instead, if a text at `path` of the settings, or below it, has a reference as other tools write it.
pub fn meant(settings: &Value, path: &str) -> Option<String> {
    let is_of_entry = path.starts_with("placement.namespaces[");
    let may_refer = PLACES.iter().any(|place| path.contains(place)) || path.ends_with("].value");
    if !is_of_entry || !may_refer {
        return None;
    }
    let (written, key) = reference(settings.pointer(&pointer(path))?.as_str()?)?;
    Some(format!("for {written}, write $({key})"))
}

/// A reference in a text, as it is written, and its key.
fn reference(text: &str) -> Option<(String, &str)> {
    ELSEWHERE.iter().find_map(|(open, close)| {
        let (_, rest) = text.split_once(open)?;
        let (key, _) = rest.split_once(close)?;
        Some((format!("{open}{key}{close}"), key.trim().trim_start_matches('.')))
    })
}
