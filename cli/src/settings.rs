//! What the tool reads of settings. They are the policy's business: it says what is wrong with them, and what they mean
//! for a request; this finds what stands where.

use std::collections::BTreeSet;

use serde_json::Value;

/// The blocks of the settings, by their names.
pub const PLACEMENT: &str = "placement";
pub const NODE_METADATA: &str = "nodeMetadata";

/// The settings of an entry of `placement.namespaces` that are node selectors.
pub const ENTRY_SELECTORS: [&str; 3] = ["requiredNodeSelector", "defaultNodeSelector", "allowedNodeSelector"];

/// What stands at a path such as `placement.namespaces[].name`; without what is null, which is absent.
pub fn values_at<'v>(settings: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut found = vec![settings];
    for step in path.split('.') {
        found = match step.strip_suffix("[]") {
            Some(list) => found.iter().filter_map(|value| value[list].as_array()).flatten().collect(),
            None => found.iter().filter_map(|value| value.get(step)).collect(),
        };
        found.retain(|value| !value.is_null());
    }
    found
}

/// Whether there is something at a path.
pub fn has(settings: &Value, path: &str) -> bool {
    !values_at(settings, path).is_empty()
}

/// Whether a choice is in effect: `placement.onBindings` is `Verify`.
pub fn is(settings: &Value, path: &str, choice: &str) -> bool {
    values_at(settings, path).into_iter().any(|value| match value {
        Value::Bool(value) => choice == value.to_string(),
        value => value == choice,
    })
}

/// The entries of `placement.namespaces`.
pub fn entries(settings: &Value) -> &[Value] {
    settings[PLACEMENT]["namespaces"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether placement depends on a Namespace's labels or annotations.
pub fn read_namespaces(settings: &Value) -> bool {
    let placement = &settings[PLACEMENT];
    let has_no_annotations = placement["namespaceAnnotations"].as_array().is_some_and(Vec::is_empty);
    let looks_at_labels = |entry: &Value| {
        let mut texts = ENTRY_SELECTORS.iter().map(|selector| entry[*selector].to_string()).collect::<String>();
        for more in ["preferredNodeSelector", "defaultTolerations", "allowedTolerations", "forbiddenTolerations"] {
            texts.push_str(&entry[more].to_string());
        }
        !entry["namespaceSelector"].is_null() || texts.contains("$(")
    };
    !has_no_annotations
        || entries(settings).iter().any(looks_at_labels)
        || placement["onTolerationAnnotations"] == "Honor"
}

/// A text with each `$(KEY)` replaced by what `value` says of KEY.
///
/// # Errors
/// The key that it says nothing of.
pub fn fill_in(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        let Some((key, after)) = after.split_once(')') else { break };
        filled.push_str(before);
        filled.push_str(&value(key).filter(|value| !value.is_empty()).ok_or_else(|| key.to_owned())?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// All node selectors of the settings, as they are written.
pub fn node_selectors(settings: &Value) -> Vec<&str> {
    let paths = ENTRY_SELECTORS.map(|selector| format!("placement.namespaces[].{selector}"));
    let preferred = "placement.namespaces[].preferredNodeSelector[].selector".to_owned();
    let default = "placement.clusterDefaultNodeSelector".to_owned();
    let mut selectors = vec![];
    for path in paths.iter().chain([&preferred, &default]) {
        selectors.extend(values_at(settings, path).into_iter().filter_map(Value::as_str));
    }
    let plugin = settings["podNodeSelectorPluginConfig"].as_object();
    selectors.extend(plugin.into_iter().flatten().filter_map(|(_, selector)| selector.as_str()));
    selectors
}

/// The keys of Pods that node metadata is written to; a trailing `*` stands for any rest.
#[derive(Debug, Default)]
pub struct ManagedKeys {
    labels: BTreeSet<String>,
    annotations: BTreeSet<String>,
}

impl ManagedKeys {
    /// Those of all entries of `nodeMetadata.propagate`.
    pub fn of(settings: &Value) -> Self {
        let mut managed = Self::default();
        for entry in values_at(settings, "nodeMetadata.propagate[]") {
            let key = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
            let (label, annotation) = (key("podLabel"), key("podAnnotation"));
            let source = key("nodeLabel").or(key("nodeAnnotation")).filter(|_| label.is_none());
            managed.labels.extend(label);
            managed.annotations.extend(annotation.or(source));
        }
        managed
    }

    /// In words: `label example.com/rack`.
    pub fn named(&self) -> Vec<String> {
        let labels = self.labels.iter().map(|key| format!("label {key}"));
        let annotations = self.annotations.iter().map(|key| format!("annotation {key}"));
        labels.chain(annotations).collect()
    }

    pub fn has_label(&self, key: &str) -> bool {
        covers(&self.labels, key)
    }

    pub fn has_annotation(&self, key: &str) -> bool {
        covers(&self.annotations, key)
    }

    /// A label that is managed, if one is.
    pub fn a_label(&self) -> Option<String> {
        self.labels.first().map(|key| key.replace('*', "a"))
    }

    /// An annotation that is managed, if one is.
    pub fn an_annotation(&self) -> Option<String> {
        self.annotations.first().map(|key| key.replace('*', "a"))
    }
}

fn covers(keys: &BTreeSet<String>, key: &str) -> bool {
    keys.iter().any(|managed| match managed.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == managed,
    })
}
