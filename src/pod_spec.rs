//! PodSpecs: the parts of them that both placement and node metadata look at.

use json::{Mismatch, Object, Outline, Within};

/// The members that list containers which are there from the start.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The node that `pod` names; empty, if it names none.
///
/// # Errors
/// The spec can't be read.
pub fn node_name(pod: &Object) -> Result<String, Mismatch> {
    match pod.object("spec")? {
        Some(spec) => Ok(spec.string("nodeName").within("spec")?.into_owned()),
        None => Ok(String::new()),
    }
}

/// What `read` makes of the resources of each container of `spec` that has some.
///
/// # Errors
/// The containers, or their resources, can't be read.
pub fn resources_of_containers<'s, T>(
    spec: &'s Object,
    read: fn(&'s Object) -> Result<T, Mismatch>,
) -> Result<Vec<T>, Mismatch> {
    let mut results = Vec::new();
    for list in CONTAINERS {
        for (position, container) in spec.objects(list)?.into_iter().enumerate() {
            if let Some(resources) = container.object("resources").at(position).within(list)? {
                results.push(read(resources).within("resources").at(position).within(list)?);
            }
        }
    }
    Ok(results)
}

/// Edits each container of `spec`. What `edit` will look at is named by `outline`, of a list of containers.
///
/// # Errors
/// The containers can't be read, or `edit` fails.
pub fn edit_containers(
    spec: &mut Object,
    outline: &Outline,
    mut edit: impl FnMut(&mut Object) -> Result<(), Mismatch>,
) -> Result<(), Mismatch> {
    for list in CONTAINERS {
        // To edit a list that is absent would make one.
        if spec.get(list).is_none() {
            continue;
        }
        spec.take_apart(list, outline);
        for (position, container) in spec.list_mut(list)?.objects_mut().enumerate() {
            edit(container.within(list)?).at(position).within(list)?;
        }
    }
    Ok(())
}
