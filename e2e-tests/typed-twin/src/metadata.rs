use k8s_openapi::api::core::v1::{Binding, Node};

use crate::{Outcome, look_up, settings::Settings};

/// Writes the Node's labels onto the Binding.
pub fn propagate(binding: &mut Binding, settings: &Settings) -> Outcome {
    let Some(wanted) = &settings.node_metadata else { return Ok(false) };
    let Some(name) = binding.target.name.as_deref() else { return Ok(false) };
    let node: Node = look_up(name, "metadata.labels")?;
    let node_labels = node.metadata.labels.unwrap_or_default();
    let mut changed = false;
    for entry in &wanted.propagate {
        let Some(value) = node_labels.get(&entry.node_label).or(entry.default.as_ref()) else { continue };
        if let Some(key) = &entry.pod_label {
            let labels = binding.metadata.labels.get_or_insert_default();
            changed |= labels.insert(key.clone(), value.clone()).as_ref() != Some(value);
        }
        let key = entry.pod_annotation.as_ref().or(entry.pod_label.is_none().then_some(&entry.node_label));
        if let Some(key) = key {
            let annotations = binding.metadata.annotations.get_or_insert_default();
            changed |= annotations.insert(key.clone(), value.clone()).as_ref() != Some(value);
        }
    }
    Ok(changed)
}
