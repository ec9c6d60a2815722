//! The routing table: which request is whose business. What is done about each joins placement and node metadata, which
//! do not know each other, and is in a file of its own.

mod bind_pod;
mod create_pod;
mod judge_workload;
mod update_pod;

use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::placement::{namespaces, nodes};
use crate::request::Request;
use crate::settings::Settings;
use crate::workload::Workload;

/// Decides about `request`.
///
/// # Errors
/// The rejection.
pub fn decide(request: &mut Request, settings: &Settings, cluster: &impl Cluster) -> Result<Decision, Rejection> {
    let action = &request.action;
    let asked = (&*action.group, &*action.resource, &*action.sub_resource, &*action.operation);
    let workload = match asked {
        ("", "pods", "", "CREATE") => return create_pod::decide(request, settings, cluster),
        ("", "pods", "", "UPDATE") => return update_pod::decide(request, settings, cluster),
        ("", "pods", "status", "UPDATE") => return update_pod::decide_about_status(request, settings),
        ("", "pods", "binding", "CREATE") | ("", "bindings", "", "CREATE") => {
            return bind_pod::decide(request, settings, cluster);
        }
        ("", "namespaces", "", "CREATE" | "UPDATE") => return judge_namespace(request, settings),
        ("", "nodes", "", "CREATE" | "UPDATE") | ("", "nodes", "status", "UPDATE") => {
            return judge_node(request, settings);
        }
        ("apps", "deployments", "", "CREATE" | "UPDATE") => Workload::Deployment,
        ("apps", "replicasets", "", "CREATE" | "UPDATE") => Workload::ReplicaSet,
        ("apps", "statefulsets", "", "CREATE" | "UPDATE") => Workload::StatefulSet,
        ("apps", "daemonsets", "", "CREATE" | "UPDATE") => Workload::DaemonSet,
        ("batch", "jobs", "", "CREATE" | "UPDATE") => Workload::Job,
        ("batch", "cronjobs", "", "CREATE" | "UPDATE") => Workload::CronJob,
        ("", "replicationcontrollers", "", "CREATE" | "UPDATE") => Workload::ReplicationController,
        ("", "podtemplates", "", "CREATE" | "UPDATE") => Workload::PodTemplate,
        // Nobody's business: other groups and kinds, DELETE, CONNECT, other subresources.
        _ => return Ok(Decision::accept()),
    };
    judge_workload::decide(workload, request, settings, cluster)
}

fn judge_namespace(request: &Request, settings: &Settings) -> Result<Decision, Rejection> {
    match settings.placement()? {
        Some(placement) => namespaces::judge(request, &placement),
        None => Ok(Decision::accept()),
    }
}

fn judge_node(request: &Request, settings: &Settings) -> Result<Decision, Rejection> {
    if let Some(placement) = settings.placement()? {
        nodes::judge(request, &placement)?;
    }
    Ok(Decision::accept())
}
