//! Environment variables: every container knows its node, and no manifest changes.

use serde::Deserialize;

use super::propagation::{Propagation, Propagations};
use crate::json::{Raw, RawObject, ReadError, Text, Within};
use crate::pod_spec::CONTAINERS;
use crate::review::Review;
use crate::settings::key::{KeyPattern, TargetKind};
use crate::size::LARGEST_OBJECT;

/// As much of a variable that a container defines itself as matters.
#[derive(Deserialize)]
struct OwnVariable<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

/// Gives each container and init container of the Pod the variables that it does not define itself. They come before
/// its own, so that `$(NAME)` works in these.
///
/// Where they alone are more than is let in, the rest of them is not added: such a Pod is refused whatever it gets, and
/// thousands of containers would take seconds.
///
/// # Errors
/// The containers can't be read.
pub fn add(propagations: &Propagations, review: &mut Review<'_>) -> Result<(), ReadError> {
    let mut variables = Vec::new();
    for entry in &propagations.entries {
        variables.extend(variable(entry)?);
    }
    if variables.is_empty() || review.object.object("spec")?.is_none() {
        return Ok(());
    }
    let spec = review.object.object_mut("spec")?;
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
    review.is_changed |= added > 0;
    Ok(())
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

/// The variable of an entry (`EnvVar`), and its name. Its `fieldRef` is to the entry's target, the annotation if there
/// is one. The kubelet resolves it when the container starts: by then the Binding has brought the value.
fn variable<'a>(entry: &Propagation) -> Result<Option<(&str, Raw<'a>)>, ReadError> {
    let annotation = entry.targets.iter().find(|target| target.kind == TargetKind::Annotation);
    let (Some(name), Some(target)) = (&entry.env, annotation.or(entry.targets.first())) else { return Ok(None) };
    let KeyPattern::Key(key) = &target.key else { return Ok(None) };
    let mut variable = RawObject::default();
    variable.set("name", name)?;
    let field = variable.object_mut_at(&["valueFrom", "fieldRef"])?;
    field.set("apiVersion", &"v1")?;
    field.set("fieldPath", &format!("metadata.{}['{key}']", target.kind.member()))?;
    Ok(Some((name, Raw::written(&variable)?)))
}
