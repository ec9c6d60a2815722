//! Environment variables: every container knows its node, and no manifest changes.

use serde::Deserialize;

use super::propagation::{Propagation, Propagations};
use crate::decision::Rejection;
use crate::json::{Raw, RawObject, ReadError, Text, Within};
use crate::limits::{MOST_CONTAINERS, MOST_VARIABLES};
use crate::object_meta::CONTAINERS;
use crate::review::Review;
use crate::settings::key::{KeyPattern, TargetKind};

/// As much of a variable that a container defines itself as matters.
#[derive(Default, Deserialize)]
struct OwnVariable<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

/// Gives each container and init container of the Pod the variables that it does not define itself. They come before
/// its own, so that `$(NAME)` works in these.
///
/// # Errors
/// The containers can't be read, or there are too many of them, or of their variables.
pub fn add(propagations: &Propagations, review: &mut Review<'_>) -> Result<(), Rejection> {
    let mut variables = Vec::new();
    for entry in &propagations.entries {
        variables.extend(variable(entry)?);
    }
    let Review { object, is_changed, name, .. } = review;
    if variables.is_empty() || object.member("spec").is_none() {
        return Ok(());
    }
    let spec = object.object_mut("spec").within("object")?;
    let mut count = 0;
    for list in CONTAINERS {
        if spec.member(list).is_none() {
            continue;
        }
        let path = format!("object.spec.{list}");
        let containers = spec.elements_mut(list, MOST_CONTAINERS).within("object.spec")?;
        count += containers.as_ref().map_or(MOST_CONTAINERS + 1, |containers| containers.len());
        let Some(containers) = containers.filter(|_| count <= MOST_CONTAINERS) else {
            return Err(Rejection::too_many(name, MOST_CONTAINERS, "containers", &path));
        };
        for (position, container) in containers.iter_mut().enumerate() {
            let added = add_to(container, &variables).at(position).within(&path)?;
            if added == Added::TooMany {
                return Err(Rejection::too_many(name, MOST_VARIABLES, "variables", &format!("{path}[{position}].env")));
            }
            *is_changed |= added == Added::Some;
        }
    }
    Ok(())
}

/// What came of adding variables to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    None,
    Some,
    TooMany,
}

/// Adds those of `variables` that `container` does not define.
fn add_to<'a>(container: &mut Raw<'a>, variables: &[(&str, Raw<'a>)]) -> Result<Added, ReadError> {
    let mut missing: Vec<&(&str, Raw<'a>)> = variables.iter().collect();
    let mut count = 0;
    let mut take = |own: Option<OwnVariable<'_>>| {
        count += 1;
        let name = own.unwrap_or_default().name.unwrap_or_default();
        missing.retain(|(other, _)| **other != *name);
    };
    let container = container.object_mut()?;
    container.for_each("env", &mut take)?;
    if count > MOST_VARIABLES || !missing.is_empty() && count + missing.len() > MOST_VARIABLES {
        return Ok(Added::TooMany);
    }
    if missing.is_empty() {
        return Ok(Added::None);
    }
    let missing = missing.into_iter().map(|(_, variable)| variable.clone());
    container.list_mut("env")?.splice(..0, missing);
    Ok(Added::Some)
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
