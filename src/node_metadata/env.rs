//! Environment variables: every container knows its node, and no manifest changes.

use serde::{Deserialize, Serialize};

use super::propagation::{Propagation, Propagations};
use crate::json::{Raw, RawObject, ReadError, Text, Within};
use crate::pod_spec::CONTAINERS;
use crate::settings::key::{KeyPattern, TargetKind};
use crate::size::LARGEST_OBJECT;

/// `EnvVar`, with a `fieldRef` to the target of an entry. The kubelet resolves it when the container starts: by then
/// the Binding has brought the value.
#[derive(Serialize)]
struct Variable<'p> {
    name: &'p str,
    #[serde(rename = "valueFrom")]
    value_from: ValueFrom,
}

/// `EnvVarSource`
#[derive(Serialize)]
struct ValueFrom {
    #[serde(rename = "fieldRef")]
    field_ref: FieldRef,
}

/// `ObjectFieldSelector`
#[derive(Serialize)]
struct FieldRef {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    #[serde(rename = "fieldPath")]
    field_path: String,
}

/// As much of a variable that a container defines itself as matters.
#[derive(Deserialize)]
struct OwnVariable<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

/// Gives each container and init container of `pod` the variables that it does not define itself. They come before its
/// own, so that `$(NAME)` works in these. Returns whether there were any.
///
/// Where they alone are more than is let in, the rest of them is not added: such a Pod is refused whatever it gets, and
/// thousands of containers would take seconds.
///
/// # Errors
/// The containers can't be read.
pub fn add(propagations: &Propagations, pod: &mut RawObject<'_>) -> Result<bool, ReadError> {
    let mut variables = Vec::new();
    for variable in propagations.entries.iter().filter_map(variable) {
        variables.push((variable.name, Raw::written(&variable)?));
    }
    if variables.is_empty() || pod.object("spec")?.is_none() {
        return Ok(false);
    }
    let spec = pod.object_mut("spec")?;
    let mut added = 0;
    for list in CONTAINERS {
        if spec.member(list).is_none() {
            continue;
        }
        let containers = spec.elements_mut(list).within("spec")?;
        for (position, container) in containers.iter_mut().enumerate() {
            if added > LARGEST_OBJECT {
                break;
            }
            added += add_to(container, &variables).at(position).within(list).within("spec")?;
        }
    }
    Ok(added > 0)
}

/// Adds those of `variables` that `container` does not define. Returns how long they are.
fn add_to<'a>(container: &mut Raw<'a>, variables: &[(&str, Raw<'a>)]) -> Result<usize, ReadError> {
    let container = container.object_mut()?;
    let mut missing: Vec<&(&str, Raw<'a>)> = variables.iter().collect();
    let own: Vec<OwnVariable<'_>> = container.get("env")?.unwrap_or_default();
    for OwnVariable { name } in own {
        let name = name.unwrap_or_default();
        missing.retain(|(other, _)| **other != *name);
    }
    if missing.is_empty() {
        return Ok(0);
    }
    let length = missing.iter().map(|(_, variable)| variable.longest_text()).sum();
    let missing = missing.into_iter().map(|(_, variable)| variable.clone());
    container.list_mut("env")?.splice(..0, missing);
    Ok(length)
}

/// The variable of an entry, which refers to its target: the annotation, if it has one.
fn variable(entry: &Propagation) -> Option<Variable<'_>> {
    let name = entry.env.as_deref()?;
    let annotation = entry.targets.iter().find(|target| target.kind == TargetKind::Annotation);
    let target = annotation.or(entry.targets.first())?;
    let KeyPattern::Key(key) = &target.key else { return None };
    let field_path = format!("metadata.{}['{key}']", target.kind.member());
    Some(Variable { name, value_from: ValueFrom { field_ref: FieldRef { api_version: "v1", field_path } } })
}
