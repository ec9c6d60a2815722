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
use crate::settings::Settings;
use crate::workload::Workload;

/// Decides about `request`.
///
/// # Errors
/// The rejection.
pub fn decide<'a>(
    request: Request<'a>,
    settings: &Settings,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let asked = (&*request.group, &*request.resource, &*request.sub_resource, &*request.operation);
    let workload = match asked {
        ("", "pods", "", "CREATE") => return create_pod::decide(request, settings, cluster),
        ("", "pods", "", "UPDATE") => return update_pod::decide(request, settings, cluster),
        ("", "pods", "status", "UPDATE") => return update_pod::decide_about_status(request, settings),
        ("", "pods", "binding", "CREATE") | ("", "bindings", "", "CREATE") => {
            return bind_pod::decide(request, settings, cluster);
        }
        ("", "namespaces", "", "CREATE" | "UPDATE") => return judge_namespace(&request, settings),
        ("", "nodes", "", "CREATE" | "UPDATE") | ("", "nodes", "status", "UPDATE") => {
            return judge_node(&request, settings);
        }
        ("apps", "deployments", "", "CREATE" | "UPDATE") => Workload::Deployment,
        ("apps", "replicasets", "", "CREATE" | "UPDATE") => Workload::ReplicaSet,
        ("apps", "statefulsets", "", "CREATE" | "UPDATE") => Workload::StatefulSet,
        ("apps", "daemonsets", "", "CREATE" | "UPDATE") => Workload::DaemonSet,
        ("batch", "jobs", "", "CREATE" | "UPDATE") => Workload::Job,
        ("batch", "cronjobs", "", "CREATE" | "UPDATE") => Workload::CronJob,
        ("", "replicationcontrollers", "", "CREATE" | "UPDATE") => Workload::ReplicationController,
        ("", "podtemplates", "", "CREATE" | "UPDATE") => Workload::PodTemplate,
        // Other groups and kinds, DELETE, CONNECT, other subresources.
        _ => return Ok(Decision::accept()),
    };
    judge_workload::decide(workload, request, settings, cluster)
}

fn judge_namespace<'a>(request: &Request<'a>, settings: &Settings) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    if let Some(placement) = &settings.placement {
        namespaces::judge(request, placement, &mut decision)?;
    }
    Ok(decision)
}

fn judge_node<'a>(request: &Request<'a>, settings: &Settings) -> Result<Decision<'a>, Rejection> {
    if let Some(placement) = &settings.placement {
        nodes::judge(request, placement)?;
    }
    Ok(Decision::accept())
}
