//! Adds environment variables with node metadata to all containers of a Pod.

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::propagation::{Propagation, Propagations};
use crate::decision::Rejection;
use crate::json::read::read;
use crate::json::{Bounded, FromObject, Raw, RawObject, ReadError, Text, Within};
use crate::limits::{LARGEST_OBJECT, MOST_CONTAINERS, MOST_VARIABLES};
use crate::object_meta::{CONTAINERS, ObjectName, SPEC};
use crate::review::Review;
use crate::settings::key::{KeyPattern, TargetKind};

/// The name of a variable that a container defines itself.
#[derive(Deserialize)]
struct DefinedVariable<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

/// A variable to be added: its name, and its JSON.
type Variable<'p> = (&'p str, Box<RawValue>);

/// Adds the variables to each container and init container of the Pod, unless the container defines them itself. They
/// come first, so that the container's own variables can refer to them by `$(NAME)`.
///
/// # Errors
/// The containers can't be read, there are too many containers or variables, or the Pod would be too large.
pub fn add(propagations: &Propagations<'_>, review: &mut Review<'_>) -> Result<(), Rejection> {
    let mut variables = Vec::new();
    for propagation in &propagations.entries {
        variables.extend(variable(propagation)?);
    }
    if variables.is_empty() {
        return Ok(());
    }
    let Review { object, name, .. } = &*review;
    let spec = object.object(SPEC).within("object")?.unwrap_or_default();
    let (mut count, mut size, mut changed) = (0, 0, Vec::new());
    for list in CONTAINERS {
        let path = format!("{SPEC}.{list}");
        let mut containers = spec.first::<Raw<'_>>(list, MOST_CONTAINERS).within(SPEC).within("object")?;
        count += containers.count();
        if count > MOST_CONTAINERS {
            return Err(Rejection::too_many(name, MOST_CONTAINERS, "containers", &path));
        }
        let size_before = size;
        for (position, container) in containers.elements.iter_mut().enumerate() {
            let path = format!("{path}[{position}]");
            let container = container.object_mut().within(&path).within("object")?;
            size += add_to(container, &variables, LARGEST_OBJECT.saturating_sub(size), name, &path)?;
        }
        if size > size_before {
            changed.push((list, containers.elements));
        }
    }
    if size > LARGEST_OBJECT {
        return Err(review.too_large(size));
    }
    if changed.is_empty() {
        return Ok(());
    }
    let spec = review.object.change().object_mut(SPEC).within("object")?;
    for (list, containers) in changed {
        spec.put(list, Raw::List(containers));
    }
    Ok(())
}

/// Adds those of `variables` to a container that it does not define. Returns their size. Does not add them if that is
/// more than `room`.
///
/// # Errors
/// Its variables can't be read, or there are too many.
fn add_to(
    container: &mut RawObject<'_>,
    variables: &[Variable<'_>],
    room: usize,
    pod: &ObjectName,
    path: &str,
) -> Result<usize, Rejection> {
    let (missing, defined) = lacking_variables(container, variables).within(path).within("object")?;
    if defined.has_more || !missing.is_empty() && missing.len() + defined.elements.len() > MOST_VARIABLES {
        return Err(Rejection::too_many(pod, MOST_VARIABLES, "variables", &format!("{path}.env")));
    }
    if missing.is_empty() {
        return Ok(0);
    }
    // Counts the commas too.
    let brackets = if container.member("env").is_none() { r#""env":[]"#.len() } else { 0 };
    let added = brackets + missing.iter().map(|variable| variable.get().len() + 1).sum::<usize>();
    if added <= room {
        let all: Vec<&RawValue> = missing.into_iter().chain(defined.elements).collect();
        container.set("env", &all).within(path).within("object")?;
    }
    Ok(added)
}

/// Returns those of `variables` that `container` does not define, and those that it defines.
fn lacking_variables<'v, 'a>(
    container: &RawObject<'a>,
    variables: &'v [Variable<'_>],
) -> Result<(Vec<&'v RawValue>, Bounded<&'a RawValue>), ReadError> {
    let defined: Bounded<&RawValue> = container.first("env", MOST_VARIABLES)?;
    let mut missing: Vec<&Variable<'_>> = variables.iter().collect();
    for (position, element) in defined.elements.iter().enumerate() {
        let variable: Option<FromObject<DefinedVariable<'_>>> = read(element.get()).at(position).within("env")?;
        let name = variable.and_then(|variable| variable.0.name).unwrap_or_default();
        missing.retain(|(other, _)| **other != *name);
    }
    Ok((missing.into_iter().map(|(_, variable)| &**variable).collect(), defined))
}

/// Returns the environment variable of an entry: its name, and an `EnvVar` that refers to the target, preferably the
/// annotation. The kubelet resolves it when the container starts. By then the Binding has set the value.
fn variable<'s>(propagation: &Propagation<'s>) -> Result<Option<Variable<'s>>, ReadError> {
    let Propagation { entry, targets, .. } = propagation;
    let annotation = targets.iter().find(|target| target.kind == TargetKind::Annotation);
    let (Some(name), Some(target)) = (&entry.env, annotation.or(targets.first())) else { return Ok(None) };
    let KeyPattern::Key(key) = &target.key else { return Ok(None) };
    let mut variable = RawObject::default();
    variable.set("name", name)?;
    let field = variable.object_mut_at(&["valueFrom", "fieldRef"])?;
    field.set("apiVersion", &"v1")?;
    field.set("fieldPath", &format!("metadata.{}['{key}']", target.kind.member()))?;
    let text = to_raw_value(&variable).map_err(|error| ReadError::new(error.to_string()))?;
    Ok(Some((name, text)))
}
