//! The containers of a PodSpec.

use json::{Mismatch, Object, Within};

/// The members of a PodSpec that list containers which are there from the start.
pub const LISTS: [&str; 2] = ["containers", "initContainers"];

/// What `read` makes of the resources of each container of `spec` that has some.
///
/// # Errors
/// The containers, or their resources, can't be read.
pub fn of_resources<'s, T>(spec: &'s Object, read: fn(&'s Object) -> Result<T, Mismatch>) -> Result<Vec<T>, Mismatch> {
    let mut results = Vec::new();
    for list in LISTS {
        for (position, container) in spec.objects(list)?.into_iter().enumerate() {
            if let Some(resources) = container.object("resources").at(position).within(list)? {
                results.push(read(resources).within("resources").at(position).within(list)?);
            }
        }
    }
    Ok(results)
}
