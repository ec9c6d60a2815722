//! Adds environment variables with node metadata to all containers of a Pod.

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::propagation::{Propagation, Propagations};
use crate::decision::Rejection;
use crate::json::read::read;
use crate::json::{Bounded, FromObject, Raw, RawObject, ReadError, Text, Within};
use crate::limits::{LARGEST_OBJECT, MOST_CONTAINERS, MOST_VARIABLES};
use crate::object_meta::CONTAINERS;
use crate::review::Review;
use crate::settings::key::{KeyPattern, TargetKind};

/// The name of a variable that a container defines itself.
#[derive(Deserialize)]
struct OwnVariable<'a> {
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
    let Review { object, is_changed, name, .. } = review;
    if variables.is_empty() || object.member("spec").is_none() {
        return Ok(());
    }
    let spec = object.object_mut("spec").within("object")?;
    let (mut count, mut size, mut left_out) = (0, 0, 0);
    for list in CONTAINERS {
        if spec.member(list).is_none() {
            continue;
        }
        let path = format!("object.spec.{list}");
        let mut containers = spec.first::<Raw<'_>>(list, MOST_CONTAINERS).within("object.spec")?;
        count += containers.count();
        if count > MOST_CONTAINERS {
            return Err(Rejection::too_many(name, MOST_CONTAINERS, "containers", &path));
        }
        for (position, container) in containers.elements.iter_mut().enumerate() {
            let container = container.object_mut().at(position).within(&path)?;
            let (missing, own) = lacking_variables(container, &variables).at(position).within(&path)?;
            if own.has_more || !missing.is_empty() && missing.len() + own.elements.len() > MOST_VARIABLES {
                return Err(Rejection::too_many(name, MOST_VARIABLES, "variables", &format!("{path}[{position}].env")));
            }
            if missing.is_empty() {
                continue;
            }
            // Counts the commas too. Once the Pod is too large, only adds up the size, for the message.
            let brackets = if container.member("env").is_none() { r#""env":[]"#.len() } else { 0 };
            let added = brackets + missing.iter().map(|variable| variable.get().len() + 1).sum::<usize>();
            if size + added > LARGEST_OBJECT {
                left_out += added;
                continue;
            }
            size += added;
            let all: Vec<&RawValue> = missing.into_iter().chain(own.elements).collect();
            container.set("env", &all).at(position).within(&path)?;
            *is_changed = true;
        }
        spec.put(list, Raw::List(containers.elements));
    }
    if left_out > 0 { Err(review.too_large(left_out)) } else { Ok(()) }
}

/// Returns those of `variables` that `container` does not define, and the container's own.
fn lacking_variables<'v, 'a>(
    container: &RawObject<'a>,
    variables: &'v [Variable<'_>],
) -> Result<(Vec<&'v RawValue>, Bounded<&'a RawValue>), ReadError> {
    let own: Bounded<&RawValue> = container.first("env", MOST_VARIABLES)?;
    let mut missing: Vec<&Variable<'_>> = variables.iter().collect();
    for (position, element) in own.elements.iter().enumerate() {
        let variable: Option<FromObject<OwnVariable<'_>>> = read(element.get()).at(position).within("env")?;
        let name = variable.and_then(|variable| variable.0.name).unwrap_or_default();
        missing.retain(|(other, _)| **other != *name);
    }
    Ok((missing.into_iter().map(|(_, variable)| &**variable).collect(), own))
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
