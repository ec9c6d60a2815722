//! Finds workloads and Pods: which objects are judged by themselves, and which Pods each workload has.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use anyhow::Result;
use k8s_openapi::{api::core::v1 as core, jiff::Timestamp};
use node_placement_policy::{request::MIRROR, resource::Resource};
use serde_json::Value;

use super::{
    Cluster, Finished, Gap, Kind, LocatedGap, OlderTemplate, Owner, Pod, Problem, Revision, Workload,
    family::{Family, Member},
    manifests::{Identity, Manifest, Manifests},
    other_kinds::{is_custom, is_looked_at, misnamed, unjudged},
    pod_template::makes_other_pods,
    workload::Object,
};

/// An object that is a Pod, or creates some.
struct Found {
    identity: Identity,
    owner: Option<Owner>,
    labels: BTreeMap<String, String>,
    what: What,
}

enum What {
    Pod(Box<Pod>),
    Workload(Box<Workload>),
    /// A Pod that is being deleted.
    Leaving,
    /// Something that creates nothing any more.
    Gone,
}

#[derive(Default)]
struct Search {
    cluster: Cluster,
    terminating: BTreeSet<String>,
    family: Family,
    found: Vec<Found>,
    /// The PodSpec that a Pod of each owner had last: most others of it are the same.
    specs: HashMap<Identity, Arc<core::PodSpec>>,
    /// Objects of custom kinds.
    custom: Vec<Arc<Manifest>>,
    finished: Vec<Found>,
}

/// Returns the namespaces, workloads, Pods and gaps among objects.
///
/// # Errors
/// A field has a wrong type: of which object, where, and what was expected.
pub(super) fn found(objects: &Manifests) -> Result<Cluster> {
    let mut search = Search::default();
    for namespace in objects.of_kind("v1", "Namespace") {
        search.add_namespace(namespace)?;
    }
    for object in objects.objects() {
        search.add(object)?;
    }
    for identity in objects.conflicting_duplicates.iter().filter(|it| is_looked_at(it)) {
        search.note(identity, Problem::Contradiction);
    }
    Ok(search.finish())
}

impl Search {
    fn add_namespace(&mut self, manifest: &Manifest) -> Result<()> {
        let core::Namespace { metadata, status, .. } = manifest.typed()?;
        let phase = status.and_then(|status| status.phase);
        let is_leaving = metadata.deletion_timestamp.is_some() || phase.as_deref() == Some("Terminating");
        let names = if is_leaving { &mut self.terminating } else { &mut self.cluster.namespaces };
        names.insert(manifest.identity.name.clone());
        Ok(())
    }

    fn add(&mut self, manifest: &Arc<Manifest>) -> Result<()> {
        let identity = &manifest.identity;
        let Some(Kind::Of(resource)) = Kind::of(&identity.api_version, &identity.kind).filter(|it| it.makes_pods())
        else {
            if is_custom(identity.group()) {
                self.custom.push(manifest.clone());
            } else if let Some(problem) = misnamed(identity) {
                self.note(identity, problem);
            }
            return Ok(());
        };
        let Some(namespace) = identity.namespace.clone() else {
            self.note(identity, Problem::NoNamespace);
            return Ok(());
        };
        if self.terminating.contains(&namespace) {
            self.family.add(identity.clone(), Member { resource, owner: None, is_left_out: true });
            return Ok(());
        }
        match resource {
            Resource::Pod => self.add_pod(manifest, &namespace),
            resource => self.add_workload(manifest, resource, &namespace),
        }
    }

    fn add_pod(&mut self, manifest: &Arc<Manifest>, namespace: &str) -> Result<()> {
        let pod: core::Pod = manifest.typed()?;
        let identity = manifest.identity.clone();
        let owner = Owner::of(&pod.metadata);
        let labels = pod.metadata.labels.clone().unwrap_or_default();
        let is_leaving = pod.metadata.deletion_timestamp.is_some();
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let is_finished = matches!(phase, Some("Succeeded" | "Failed"));
        if pod.spec.is_none() && !is_leaving && !is_finished {
            self.note(&identity, Problem::NoSpec);
        }
        let is_left_out =
            is_leaving || is_finished || pod.metadata.annotations.as_ref().is_some_and(|own| own.contains_key(MIRROR));
        self.family.add(identity.clone(), Member { resource: Resource::Pod, owner: owner.clone(), is_left_out });
        let may_come_again = is_finished && !is_leaving && owner.as_ref().is_some_and(|owner| is_custom(owner.group()));
        let what = match (is_left_out, may_come_again) {
            (true, false) if is_finished => return Ok(()),
            (true, false) => What::Leaving,
            _ => What::Pod(Box::new(self.shared(Pod::new(manifest.clone(), pod), owner.as_ref()))),
        };
        let found = Found { identity, owner, labels, what };
        self.keep(found, may_come_again, !is_left_out, namespace);
        Ok(())
    }

    /// Keeps what was `found`; apart, if it is finished and its controller may create more. One that counts names its
    /// namespace.
    fn keep(&mut self, found: Found, may_come_again: bool, counts: bool, namespace: &str) {
        if may_come_again {
            self.finished.push(found);
            return;
        }
        if counts {
            self.cluster.namespaces.insert(namespace.to_owned());
        }
        self.found.push(found);
    }

    /// Returns the Pod with the PodSpec of the one before it, if that is the same.
    fn shared(&mut self, mut pod: Pod, owner: Option<&Owner>) -> Pod {
        let Some(owner) = owner.map(|owner| owner.identity(pod.namespace())) else { return pod };
        let last = self.specs.entry(owner).or_insert_with(|| pod.spec.clone());
        if *last == pod.spec {
            pod.spec = last.clone();
        } else {
            *last = pod.spec.clone();
        }
        pod
    }

    fn add_workload(&mut self, manifest: &Arc<Manifest>, resource: Resource, namespace: &str) -> Result<()> {
        let object: Object = manifest.typed()?;
        let identity = manifest.identity.clone();
        let owner = Owner::of(&object.metadata);
        let is_leaving = object.metadata.deletion_timestamp.is_some();
        let is_done = resource == Resource::Job && object.has_ended();
        let is_left_out = is_leaving || is_done || is_left_behind(resource, &object, owner.as_ref());
        self.family.add(identity.clone(), Member { resource, owner: owner.clone(), is_left_out });
        if let Some(selector) = object.selector().filter(|_| resource == Resource::Deployment) {
            self.family.add_selector(namespace, &identity.name, selector.clone());
        }
        let may_come_again = is_done && !is_leaving && owner.as_ref().is_some_and(|owner| is_custom(owner.group()));
        let workload = Workload::new(manifest.clone(), resource, object);
        let what = match workload.filter(|_| !is_left_out || may_come_again) {
            Some(workload) => What::Workload(Box::new(workload)),
            None => What::Gone,
        };
        let found = Found { identity, owner, labels: BTreeMap::new(), what };
        self.keep(found, may_come_again, !is_left_out, namespace);
        Ok(())
    }

    fn note(&mut self, identity: &Identity, problem: Problem) {
        let (gap, namespace) = (Gap::Unusable(vec![identity.clone()], problem), identity.namespace.clone());
        self.cluster.gaps.push(LocatedGap { gap, namespace });
    }

    fn finish(mut self) -> Cluster {
        let mut children: HashMap<Identity, Children> = HashMap::new();
        let (mut workloads, mut parts, mut absent) = (vec![], vec![], BTreeSet::new());
        let mut owning: BTreeSet<String> = BTreeSet::new();
        for Found { identity, owner, labels, what } in std::mem::take(&mut self.found) {
            let namespace = identity.namespace.clone().unwrap_or_default();
            owning.extend(owner.as_ref().map(|owner| owner.identity(&namespace).to_string()));
            let nearest = owner.as_ref().map(|owner| self.family.owner_of(owner, &namespace, &labels));
            let is_pod = identity.kind == Resource::Pod.kind();
            let is_absent = nearest.as_ref().is_some_and(|nearest| !self.family.has(nearest));
            // The owner of a Pod that goes may be gone already.
            if is_absent && !matches!(what, What::Leaving) {
                absent.extend(owner.as_ref().and_then(Owner::workload_kind));
            }
            let is_part = is_pod || matches!(identity.kind.as_str(), "ReplicaSet" | "Job");
            let owners = if is_part { self.family.owners(&identity, nearest) } else { vec![] };
            match (what, owners.first(), owners.last()) {
                (What::Pod(mut pod), None, _) => {
                    pod.owner = owner;
                    self.cluster.pods.push(*pod);
                }
                (What::Pod(pod), Some(nearest), _) => children.entry(nearest.clone()).or_default().pods.push(*pod),
                (What::Workload(workload), _, None) => workloads.push(*workload),
                (What::Workload(workload), _, Some(top)) => parts.push((top.clone(), *workload)),
                (What::Leaving, _, Some(top)) => children.entry(top.clone()).or_default().leaving += 1,
                (What::Leaving | What::Gone, ..) => {}
            }
        }
        for (top, mut part) in parts {
            part.pods = children.remove(&part.json.identity).unwrap_or_default().pods;
            children.entry(top).or_default().parts.push(part);
        }
        for workload in &mut workloads {
            let own = children.remove(&workload.json.identity).unwrap_or_default();
            own.add_to(workload, &self.family);
        }
        self.cluster.workloads = workloads;
        self.add_finished();
        let gaps = self.family.missing_kinds(&absent).into_iter();
        self.cluster.gaps.extend(gaps.map(|kind| LocatedGap { gap: Gap::None(kind), namespace: None }));
        let custom = std::mem::take(&mut self.custom);
        self.cluster.unjudged = custom.iter().filter_map(|it| unjudged(it, &owning)).collect();
        let Cluster { workloads, pods, gaps, .. } = &mut self.cluster;
        // In whatever order a cluster is listed, the preview is the same.
        workloads.sort_by(|one, other| order(&one.json.identity).cmp(&order(&other.json.identity)));
        pods.sort_by(|one, other| order(&one.json.identity).cmp(&order(&other.json.identity)));
        gaps.sort();
        gaps.dedup();
        self.cluster
    }

    /// Adds the newest of each group of finished Pods or Jobs: those of one kind of owners that are alike.
    fn add_finished(&mut self) {
        let mut groups: Vec<(String, core::PodSpec, Found, usize)> = vec![];
        let mut finished = std::mem::take(&mut self.finished);
        finished.sort_by_key(|found| std::cmp::Reverse(created(found)));
        for found in finished {
            let Some(owner) = &found.owner else { continue };
            let group = format!(
                "{} {} {} of {}",
                found.identity.namespace.as_deref().unwrap_or_default(),
                owner.api_version,
                owner.kind,
                found.identity.kind
            );
            let shape = shape(&found);
            match groups.iter_mut().find(|(own, own_shape, ..)| *own == group && *own_shape == shape) {
                Some((.., others)) => *others += 1,
                None => groups.push((group, shape, found, 0)),
            }
        }
        for (_, _, found, others) in groups {
            self.cluster.namespaces.insert(found.identity.namespace.clone().unwrap_or_default());
            let finished = Some(Finished { others });
            match found.what {
                What::Pod(pod) => self.cluster.pods.push(Pod { owner: found.owner, finished, ..*pod }),
                What::Workload(workload) => self.cluster.workloads.push(Workload { finished, ..*workload }),
                What::Leaving | What::Gone => {}
            }
        }
    }
}

/// The parts of a workload.
#[derive(Default)]
struct Children {
    pods: Vec<Pod>,
    /// The number of Pods that are being deleted.
    leaving: usize,
    /// ReplicaSets and Jobs, with their Pods.
    parts: Vec<Workload>,
}

impl Children {
    fn add_to(self, workload: &mut Workload, family: &Family) {
        let Self { pods, leaving, parts } = self;
        let there = pods.len() + parts.iter().map(|part| part.pods.len()).sum::<usize>();
        // All other controllers no longer count Pods that leave.
        let counts_leaving = matches!(workload.resource, Resource::StatefulSet | Resource::DaemonSet);
        let counted = there + if counts_leaving { leaving } else { 0 };
        workload.lacks_pods = expected_pods(workload, &parts, counted, family) > counted;
        workload.pods.extend(pods);
        let object = if parts.is_empty() { Value::Null } else { workload.json.parse() };
        for part in parts {
            let Workload { json, template, pods, .. } = part;
            if makes_other_pods(&object, &json.parse()) {
                let name = json.identity.name.clone();
                workload.revisions.push(Revision { name, template: Ok(template), pods });
            } else {
                workload.pods.extend(pods);
            }
        }
        workload.revisions.sort_by(|one, other| one.name.cmp(&other.name));
        let older = workload.reported.older.clone();
        let is_there = older == Some(OlderTemplate::ReplicaSet) && !workload.revisions.is_empty();
        if let Some(older) = older.filter(|_| !is_there) {
            let name = older.name().to_owned();
            let gap = Gap::OlderTemplate(workload.json.identity.clone(), older);
            workload.revisions.push(Revision { name, template: Err(gap), pods: vec![] });
        }
    }
}

/// Returns how many Pods a workload has by its status; where that is missing and some of its Pods are there, by its spec.
fn expected_pods(workload: &Workload, parts: &[Workload], there: usize, family: &Family) -> usize {
    let by_status = |workload: &Workload| workload.reported.pods.unwrap_or_default();
    if workload.resource == Resource::CronJob {
        let is_absent = |job: &&String| !family.has(&Identity::new("batch/v1", "Job", Some(workload.namespace()), job));
        return parts.iter().map(by_status).sum::<usize>() + workload.reported.jobs.iter().filter(is_absent).count();
    }
    if workload.reported.pods.is_none() && there > 0 && workload.resource != Resource::Job {
        return workload.replicas.and_then(|replicas| replicas.try_into().ok()).unwrap_or_default();
    }
    by_status(workload)
}

fn order(identity: &Identity) -> (&Option<String>, &str, &str) {
    (&identity.namespace, &identity.kind, &identity.name)
}

/// Returns whether an object is a ReplicaSet without replicas that a Deployment keeps to roll back.
fn is_left_behind(resource: Resource, object: &Object, owner: Option<&Owner>) -> bool {
    resource == Resource::ReplicaSet
        && object.wants_no_pods()
        && owner.and_then(Owner::workload_kind) == Some(Kind::Of(Resource::Deployment))
}

/// Returns when an object was created: the newest of a group stands for all.
fn created(found: &Found) -> Option<Timestamp> {
    match &found.what {
        What::Pod(pod) => pod.created,
        What::Workload(workload) => workload.reported.created,
        What::Leaving | What::Gone => None,
    }
}

/// Returns what a verdict depends on of a finished Pod or Job: two that are alike in it are one.
fn shape(found: &Found) -> core::PodSpec {
    let mut spec = match &found.what {
        What::Pod(pod) => (*pod.spec).clone(),
        What::Workload(workload) => workload.template.spec.clone(),
        What::Leaving | What::Gone => core::PodSpec::default(),
    };
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        (container.name, container.image, container.ports) = (String::new(), None, None);
    }
    core::PodSpec { volumes: None, hostname: None, subdomain: None, ..spec }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// Returns an object in the namespace `a`: `Deployment web`, `Pod p of ReplicaSet web-5d9c`.
    fn object(text: &str, rest: &Value) -> Value {
        let words: Vec<&str> = text.split(' ').collect();
        let api_version = |kind: &str| match kind {
            "TaskRun" | "Rollout" => "example.com/v1",
            kind => Resource::all().find(|it| it.kind() == kind).map_or("v1", Resource::api_version),
        };
        let owner = words.get(3).map(|kind| {
            json!([{
                "apiVersion": api_version(kind), "kind": kind, "name": words[4], "uid": "u", "controller": true,
            }])
        });
        let pod = json!({ "containers": [{ "name": "c", "image": "i" }] });
        let template = json!({ "metadata": { "labels": { "app": "web" } }, "spec": pod });
        let spec = match words[0] {
            "Pod" => pod,
            "CronJob" => json!({ "schedule": "@daily", "jobTemplate": { "spec": { "template": template } } }),
            "Job" => json!({ "template": template }),
            _ => json!({ "selector": { "matchLabels": { "app": "web" } }, "template": template }),
        };
        let mut object = json!({
            "apiVersion": api_version(words[0]),
            "kind": words[0],
            "metadata": { "name": words[1], "namespace": "a", "labels": { "app": "web" }, "ownerReferences": owner },
            "spec": spec,
        });
        json_patch::merge(&mut object, rest);
        object
    }

    fn judged(objects: Vec<Value>) -> Vec<String> {
        let cluster = found(&Manifests::from_iter(objects)).unwrap();
        let names = |pods: &[Pod]| pods.iter().map(|pod| pod.name().to_owned()).collect::<Vec<_>>().join(" ");
        let owner = |owner: &Option<Owner>| owner.as_ref().map(|own| format!(" of {own}")).unwrap_or_default();
        let workloads = cluster.workloads.iter().map(|it| {
            let revisions = it.revisions.iter().map(|it| format!(" {} [{}]", it.name, names(&it.pods)));
            format!(
                "{} {}{} [{}]{}",
                it.resource.kind(),
                it.name(),
                owner(&it.owner),
                names(&it.pods),
                revisions.collect::<String>()
            )
        });
        let pods = cluster.pods.iter().map(|pod| format!("Pod {}{}", pod.name(), owner(&pod.owner)));
        workloads.chain(pods).collect()
    }

    #[rstest]
    #[case::a_deployment_with_its_replica_set(
        &["Deployment web", "ReplicaSet web-5d9c of Deployment web", "Pod p of ReplicaSet web-5d9c"],
        &["Deployment web [p]"]
    )]
    #[case::a_replica_set_that_is_missing(&["Deployment web", "Pod p of ReplicaSet web-5d9c"], &["Deployment web [p]"])]
    #[case::of_several_deployments_the_one_with_the_longest_name(
        &["Deployment web", "Deployment web-api", "Pod p of ReplicaSet web-api-5d9c"],
        &["Deployment web []", "Deployment web-api [p]"]
    )]
    #[case::a_replica_set_of_another_name(
        &["Deployment web", "Pod p of ReplicaSet webapi-5d9c"],
        &["Deployment web []", "Pod p of ReplicaSet webapi-5d9c"]
    )]
    #[case::a_cron_job(&["CronJob c", "Job c-1 of CronJob c", "Pod p of Job c-1"], &["CronJob c [p]"])]
    #[case::a_job_whose_cron_job_is_gone(&["Job c-1 of CronJob c", "Pod p of Job c-1"], &["Job c-1 of CronJob c [p]"])]
    #[case::a_custom_owner(
        &["ReplicaSet r of Rollout web", "Pod p of ReplicaSet r"], &["ReplicaSet r of Rollout web [p]"]
    )]
    #[case::a_pod_of_a_custom_owner(&["Pod p of TaskRun t"], &["Pod p of TaskRun t"])]
    #[case::a_pod_of_a_pod(&["Pod driver", "Pod p of Pod driver"], &["Pod driver", "Pod p of Pod driver"])]
    #[case::a_job_that_owns_itself(&["Job j of Job j"], &["Job j of Job j []"])]
    #[case::a_stateful_set_that_owns_itself(
        &["StatefulSet s of StatefulSet s"], &["StatefulSet s of StatefulSet s []"]
    )]
    #[case::with_pods(&["ReplicaSet r of ReplicaSet r", "Pod p of ReplicaSet r"], &["ReplicaSet r of ReplicaSet r [p]"])]
    #[case::two_that_own_each_other(
        &["ReplicaSet r of ReplicaSet s", "ReplicaSet s of ReplicaSet r", "Pod p of ReplicaSet r"],
        &["ReplicaSet r of ReplicaSet s [p]", "ReplicaSet s of ReplicaSet r []"]
    )]
    #[case::a_circle_of_kinds(
        &["ReplicaSet r of Job j", "Job j of ReplicaSet r"], &["Job j of ReplicaSet r []", "ReplicaSet r of Job j []"]
    )]
    fn an_object_is_judged_by_itself_or_with_its_owner(#[case] objects: &[&str], #[case] expected: &[&str]) {
        let objects: Vec<Value> = objects.iter().map(|text| object(text, &json!({}))).collect();
        assert_eq!(judged(objects.iter().rev().cloned().collect()), expected, "in whatever order");
        assert_eq!(judged(objects), expected);
    }

    fn complete() -> Value {
        json!({ "status": { "conditions": [{ "type": "Complete", "status": "True" }] } })
    }

    #[test]
    fn an_owner_that_makes_nothing_any_more_has_no_parts() {
        let terminating = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"] } });
        let set = object("ReplicaSet r of Deployment d", &json!({}));
        assert_eq!(judged(vec![object("Deployment d", &terminating), set]), ["ReplicaSet r of Deployment d []"]);
        let set = object("ReplicaSet r of Job j", &json!({}));
        assert_eq!(judged(vec![object("Job j", &complete()), set]), ["ReplicaSet r of Job j []"]);
    }

    #[test]
    fn an_older_replica_set_is_a_revision() {
        let older = json!({ "spec": { "template": { "spec": { "nodeSelector": { "pool": "b" } } } } });
        let objects = vec![
            object("Deployment web", &json!({})),
            object("ReplicaSet web-1 of Deployment web", &older),
            object("ReplicaSet web-2 of Deployment web", &json!({})),
            object("ReplicaSet web-0 of Deployment web", &json!({ "spec": { "replicas": 0 } })),
            object("Pod old of ReplicaSet web-1", &json!({})),
            object("Pod new of ReplicaSet web-2", &json!({})),
        ];
        assert_eq!(judged(objects), ["Deployment web [new] web-1 [old]"]);
    }

    #[test]
    fn what_has_finished_is_one_subject_for_each_kind_of_custom_owners_and_shape() {
        let ended = |created: &str, pool: &str| {
            json!({
                "metadata": { "creationTimestamp": created },
                "spec": { "nodeSelector": { "pool": pool } },
                "status": { "phase": "Succeeded" },
            })
        };
        let objects = vec![
            object("Pod a of TaskRun one", &ended("2026-01-01T00:00:00Z", "a")),
            object("Pod b of TaskRun two", &ended("2026-01-03T00:00:00Z", "a")),
            object("Pod c of TaskRun three", &ended("2026-01-02T00:00:00Z", "b")),
            object("Pod d of Job gone", &ended("2026-01-02T00:00:00Z", "b")),
            object("Pod e", &ended("2026-01-02T00:00:00Z", "b")),
            object("Job j of Rollout r", &complete()),
            object("Job alone", &complete()),
        ];
        let cluster = found(&Manifests::from_iter(objects.clone())).unwrap();
        assert_eq!(judged(objects), ["Job j of Rollout r []", "Pod b of TaskRun two", "Pod c of TaskRun three"]);
        let others: Vec<_> = cluster.pods.iter().map(|pod| pod.finished.as_ref().unwrap().others).collect();
        assert_eq!(others, [1, 0]);
    }

    #[test]
    fn custom_kinds_with_a_template_are_found_at_any_depth() {
        let pod = json!({ "nodeSelector": { "pool": "b" }, "containers": [{ "name": "c", "image": "i" }] });
        let job = json!({
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": { "name": "v", "namespace": "a" },
            "spec": { "tasks": [{ "template": { "spec": pod } }, { "template": { "spec": pod } }] },
        });
        let other = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "t" } });
        let owner = object("Rollout web", &json!({}));
        let objects = vec![job, other, owner, object("Pod p of Rollout web", &json!({}))];
        let cluster = found(&Manifests::from_iter(objects)).unwrap();
        let unjudged: Vec<_> = cluster.unjudged.iter().map(|it| (it.owner.to_string(), it.specs.len())).collect();
        assert_eq!(unjudged, [("Job v".to_owned(), 2)]);
    }

    #[test]
    fn what_can_not_be_judged_is_a_gap() {
        let mut deployment = object("Deployment web", &json!({}));
        deployment["metadata"]["namespace"] = Value::Null;
        let mut older = object("Deployment old", &json!({}));
        older["apiVersion"] = "apps/v1beta1".into();
        let rolling = json!({ "status": { "replicas": 2, "updatedReplicas": 1 } });
        let objects =
            vec![deployment, older, object("Deployment rolling", &rolling), object("Pod p of Job j", &json!({}))];
        let cluster = found(&Manifests::from_iter(objects)).unwrap();
        let problem = |identity: Identity, problem| Gap::Unusable(vec![identity], problem);
        let gaps: Vec<Gap> = cluster.gaps.into_iter().map(|located| located.gap).collect();
        let expected = [
            Gap::None(Kind::Of(Resource::Job)),
            problem(Identity::new("apps/v1", "Deployment", None, "web"), Problem::NoNamespace),
            problem(Identity::new("apps/v1beta1", "Deployment", Some("a"), "old"), Problem::Version),
        ];
        assert_eq!(gaps, expected);
        let revision = cluster.workloads[0].revisions[0].template.clone().unwrap_err();
        let identity = Identity::new("apps/v1", "Deployment", Some("a"), "rolling");
        assert_eq!(revision, Gap::OlderTemplate(identity, OlderTemplate::ReplicaSet));
    }
}
