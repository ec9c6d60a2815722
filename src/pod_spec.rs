//! PodSpecs: the parts of them that both placement and node metadata look at.

use serde::Deserialize;

use crate::json::{RawObject, ReadError};
use crate::toleration::Resources;

/// The members that list containers which are there from the start.
pub const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The node that `pod` names; empty, if it names none.
///
/// # Errors
/// The spec can't be read.
pub fn node_name(pod: &RawObject<'_>) -> Result<String, ReadError> {
    Ok(pod.get_at(&["spec", "nodeName"])?.unwrap_or_default())
}

/// `Container`
#[derive(Deserialize)]
struct Container {
    resources: Option<Resources>,
}

/// The resources of each container of `spec` that has some.
///
/// # Errors
/// The containers, or their resources, can't be read.
pub fn resources_of_containers(spec: &RawObject<'_>) -> Result<Vec<Resources>, ReadError> {
    let mut resources = Vec::new();
    for list in CONTAINERS {
        let containers: Vec<Container> = spec.get(list)?.unwrap_or_default();
        resources.extend(containers.into_iter().filter_map(|container| container.resources));
    }
    Ok(resources)
}
