//! To whom an object belongs.

use serde_json::Value;

use crate::input::{
    json::text,
    manifests::{Identity, Manifests},
};

/// The controlling owner of an object; that of a ReplicaSet or a Job in its place, as far as the cluster has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// To nobody.
    ToNobody,
    /// To an object of the cluster: the first on the way up that stands for itself.
    To(Identity),
    /// To something that the cluster lacks.
    ToAbsent {
        /// As `Rollout`.
        kind: String,
        /// Its name.
        name: String,
    },
}

/// An owner's own owner, and so on: Kubernetes' chains have three members (a CronJob, its Job, the Pod).
const LONGEST_CHAIN: usize = 8;

impl Belongs {
    /// To what `object` belongs.
    pub fn of(object: &Value, cluster: &Manifests) -> Self {
        let mut found = Self::ToNobody;
        let mut current = object;
        for _ in 0..LONGEST_CHAIN {
            let Some(reference) = controller(current) else { return found };
            let identity = identity(reference, current);
            let candidates = [Some(identity.clone()), deployment_behind(&identity, current)];
            let present = |candidate: Identity| cluster.find(&candidate).map(|owner| (candidate, owner));
            let Some((identity, owner)) = candidates.into_iter().flatten().find_map(present) else {
                // What is there stands for what is above it, and gone.
                let Identity { kind, name, .. } = identity;
                return if found == Self::ToNobody { Self::ToAbsent { kind, name } } else { found };
            };
            let is_part = is_part_of_its_owner(&identity);
            found = Self::To(identity);
            if !is_part {
                return found;
            }
            current = owner;
        }
        found
    }
}

/// What makes a Pod, if the cluster has it: its controller, or the Deployment behind that.
pub fn maker_of<'c>(pod: &Value, cluster: &'c Manifests) -> Option<&'c Value> {
    let owner = identity(controller(pod)?, pod);
    cluster.find(&owner).or_else(|| cluster.find(&deployment_behind(&owner, pod)?))
}

/// The Deployment of a ReplicaSet that owns `pod`. ReplicaSets are seldom listed, and need not be: their name is that of
/// the Deployment, and the hash of its template, which the Pod has as a label.
fn deployment_behind(replica_set: &Identity, pod: &Value) -> Option<Identity> {
    let hash = text(&pod["metadata"]["labels"]["pod-template-hash"]);
    if replica_set.kind != "ReplicaSet" || hash.is_empty() {
        return None;
    }
    let name = replica_set.name.strip_suffix(hash)?.strip_suffix('-')?;
    Some(Identity { kind: "Deployment".to_owned(), name: name.to_owned(), ..replica_set.clone() })
}

/// What people think of as a part of whatever owns it. All other workloads stand for themselves, whoever made them.
pub fn is_part_of_its_owner(identity: &Identity) -> bool {
    let kind = (identity.api_version.as_str(), identity.kind.as_str());
    [("apps/v1", "ReplicaSet"), ("batch/v1", "Job"), ("v1", "Pod")].contains(&kind)
}

/// The reference to the owner that controls the object.
pub fn controller(object: &Value) -> Option<&Value> {
    let mut owners = object["metadata"]["ownerReferences"].as_array()?.iter();
    owners.find(|owner| owner["controller"] == true)
}

fn identity(reference: &Value, object: &Value) -> Identity {
    Identity {
        api_version: text(&reference["apiVersion"]).to_owned(),
        kind: text(&reference["kind"]).to_owned(),
        // The owner of a mirror Pod is its Node; all others are in the object's namespace.
        namespace: object["metadata"]["namespace"].as_str().filter(|_| reference["kind"] != "Node").map(str::to_owned),
        name: text(&reference["name"]).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, name: &str, owner: Option<(&str, &str, &str)>) -> Value {
        let owners = owner.map(|(api_version, kind, name)| {
            json!([{ "apiVersion": api_version, "kind": kind, "name": name, "controller": true }])
        });
        let metadata = json!({
            "name": name,
            "namespace": "team-a",
            "ownerReferences": owners,
            "labels": { "pod-template-hash": "5d9c" },
        });
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
    }

    fn cluster() -> Manifests {
        Manifests::from_iter([
            object("apps/v1", "Deployment", "web", None),
            object("apps/v1", "Deployment", "api", None),
            object("apps/v1", "ReplicaSet", "web-5d9c", Some(("apps/v1", "Deployment", "web"))),
            object("apps/v1", "ReplicaSet", "alone", None),
            object("batch/v1", "CronJob", "nightly", None),
            object("batch/v1", "Job", "nightly-1", Some(("batch/v1", "CronJob", "nightly"))),
            object("batch/v1", "Job", "orphan", Some(("batch/v1", "CronJob", "gone"))),
        ])
    }

    #[rstest]
    #[case::a_deployment("apps/v1", "ReplicaSet", "web-5d9c", ("apps/v1", "Deployment", "web"))]
    #[case::a_deployment_whose_replica_set_is_not_listed(
        "apps/v1", "ReplicaSet", "api-5d9c", ("apps/v1", "Deployment", "api")
    )]
    #[case::a_replica_set("apps/v1", "ReplicaSet", "alone", ("apps/v1", "ReplicaSet", "alone"))]
    #[case::a_cron_job("batch/v1", "Job", "nightly-1", ("batch/v1", "CronJob", "nightly"))]
    #[case::a_job_whose_cron_job_is_gone("batch/v1", "Job", "orphan", ("batch/v1", "Job", "orphan"))]
    fn a_pod_belongs_to_the_topmost_that_is_there(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] name: &str,
        #[case] (top_version, top_kind, top): (&str, &str, &str),
    ) {
        let pod = object("v1", "Pod", "p", Some((api_version, kind, name)));
        let expected = Identity::new(top_version, top_kind, Some("team-a"), top);
        assert_eq!(Belongs::of(&pod, &cluster()), Belongs::To(expected));
    }

    #[test]
    fn an_owner_that_is_not_there_is_named() {
        let pod = object("v1", "Pod", "p", Some(("argoproj.io/v1alpha1", "Rollout", "web")));
        let absent = Belongs::ToAbsent { kind: "Rollout".to_owned(), name: "web".to_owned() };
        assert_eq!(Belongs::of(&pod, &cluster()), absent);
        assert_eq!(Belongs::of(&object("v1", "Pod", "p", None), &cluster()), Belongs::ToNobody);
    }
}
