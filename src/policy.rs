//! The routing table: which function decides about which request. What joins placement and node metadata, which do not
//! know each other, is in a file for each kind of request.

mod bind_pod;
mod create_pod;
mod judge_workload;
mod update_pod;

use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::placement::{namespaces, nodes};
use crate::request::Request;
use crate::resource::Resource;
use crate::review::Review;
use crate::settings::Settings;

/// Decides about `request`.
///
/// # Errors
/// The rejection.
pub fn decide<'a>(
    request: Request<'a>,
    settings: &Settings,
    cluster: &'a dyn Cluster,
) -> Result<Decision<'a>, Rejection> {
    let Some(resource) = request.resource else { return Ok(Decision::default()) };
    let judge = match (resource, &*request.sub_resource, &*request.operation) {
        (Resource::Pod, "", "CREATE") => create_pod::judge,
        (Resource::Pod, "", "UPDATE") => update_pod::judge,
        (Resource::Pod, "status", "UPDATE") => update_pod::judge_status,
        (Resource::Pod, "binding", "CREATE") | (Resource::Binding, "", "CREATE") => bind_pod::judge,
        (Resource::Namespace, "", "CREATE" | "UPDATE") => namespaces::judge,
        (Resource::Node, "", "CREATE" | "UPDATE") | (Resource::Node, "status", "UPDATE") => nodes::judge,
        // Bindings are only created.
        (Resource::Binding, ..) => return Ok(Decision::default()),
        // All others hold a Pod template.
        (_, "", "CREATE" | "UPDATE") => judge_workload::judge,
        _ => return Ok(Decision::default()),
    };
    let mut review = Review::of(request, resource, cluster)?;
    judge(&mut review, settings)?;
    Ok(review.into_decision())
}
