//! Environment variables: every container knows its node, and no manifest changes.

use std::borrow::Cow;

use json::{Mismatch, Object, Outline, Value, Within};

use super::NodeMetadata;
use crate::pod_spec;
use crate::settings::{KeyPattern, Propagate, TargetKind};
use crate::size;

/// What is looked at in a list of containers.
const NAMES_IN_ENV: Outline = Outline::List(&Outline::Object(&[("env", Outline::ListBy("name"))]));

/// Gives each container and init container of `pod` the variables that it does not define itself. The kubelet resolves
/// them when the container starts: by then the Binding has brought the values.
///
/// They come before the container's own, so that `$(NAME)` works in these. Where they alone are more than is let in, the rest
/// of them is not added: such a Pod is refused whatever it gets, and thousands of containers would take seconds.
///
/// # Errors
/// The containers can't be read.
pub fn add(settings: &NodeMetadata, pod: &mut Object) -> Result<(), Mismatch> {
    let variables: Vec<(&str, Value)> = settings.propagate.iter().filter_map(variable).collect();
    let Some(shortest) = variables.iter().map(|(_, variable)| variable.text_len()).min() else { return Ok(()) };
    if pod.object("spec")?.is_none() {
        return Ok(());
    }
    let mut added = 0;
    let spec = pod.object_mut("spec")?;
    let edited = pod_spec::edit_containers(spec, &NAMES_IN_ENV, |container| {
        if added * shortest <= size::LARGEST {
            added += add_to(container, &variables)?;
        }
        Ok(())
    });
    edited.within("spec")
}

/// Adds those of `variables` that `container` does not define. Returns how many.
fn add_to(container: &mut Object, variables: &[(&str, Value)]) -> Result<usize, Mismatch> {
    let mut missing: Vec<&(&str, Value)> = variables.iter().collect();
    if let Some(own) = container.list("env")? {
        for (position, (name, variable)) in own.by("name").enumerate() {
            let name = match name {
                Some(name) => name,
                None => name_of(variable).at(position).within("env")?,
            };
            missing.retain(|(other, _)| *other != name);
        }
    }
    if missing.is_empty() {
        return Ok(0);
    }
    let env = container.list_mut("env")?;
    for (position, (_, variable)) in missing.iter().enumerate() {
        env.insert(position, variable.clone());
    }
    Ok(missing.len())
}

/// The name of a variable in which the list found none: empty, if it is absent.
fn name_of(variable: &Value) -> Result<Cow<'_, str>, Mismatch> {
    variable.object()?.string("name")
}

/// The variable of an entry, which refers to its target (`EnvVar`).
fn variable(entry: &Propagate) -> Option<(&str, Value)> {
    let name = entry.env.as_deref()?;
    let annotation = entry.targets.iter().find(|target| target.kind == TargetKind::Annotation);
    let target = annotation.or(entry.targets.first())?;
    let KeyPattern::Key(key) = &target.key else { return None };
    let mut field_ref = Object::new();
    field_ref.push("apiVersion", "v1");
    field_ref.push("fieldPath", format!("metadata.{}['{key}']", target.kind.member()).as_str());
    let mut value_from = Object::new();
    value_from.push("fieldRef", field_ref);
    let mut variable = Object::new();
    variable.push("name", name);
    variable.push("valueFrom", value_from);
    // As a text it is written at once, into one container after the other.
    Some((name, Value::from(variable).as_if_read()))
}
