//! A cluster of any size, made of what a real API server was sent: every object as it is stored, and the request that
//! created it.

mod objects;

use serde_json::{Value, json};

use self::objects::{namespace_name, node, node_name, replica_set, running, stored, wishes, zone};
use crate::{admission_request, read_document, workspace::fixtures};

/// How large a cluster is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub nodes: usize,
    pub namespaces: usize,
    /// At least so many.
    pub pods: usize,
}

/// An object, and whence it came.
#[derive(Clone, Debug)]
pub struct Born {
    /// As `kubectl get` shows it.
    pub object: Value,
    /// The requests that brought it there: its creation; of a Pod that was scheduled, its Binding.
    pub requests: Vec<Value>,
}

/// A whole cluster, in the order in which `kubectl get` would list it.
pub fn cluster(size: Size) -> Vec<Born> {
    let making = Making { size, fixtures: Fixtures::load() };
    let namespaces = (0..size.namespaces).map(|index| making.namespace(index));
    let nodes = (0..size.nodes).map(|index| Born { object: node(index), requests: vec![] });
    let mut objects: Vec<Born> = namespaces.chain(nodes).collect();
    for index in 0..size.namespaces {
        objects.extend(making.apps(index));
    }
    objects
}

/// As `kubectl get -o json` prints it.
pub fn list(objects: &[Born]) -> Value {
    let items: Value = objects.iter().map(|born| born.object.clone()).collect();
    json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "" }, "items": items })
}

/// What the cluster is made of.
struct Fixtures {
    namespace: Value,
    deployment: Value,
    replica_set: Value,
    by_replica_set: Value,
    stateful_set: Value,
    by_stateful_set: Value,
    daemon_set: Value,
    by_daemon_set: Value,
    job: Value,
    by_job: Value,
    cron_job: Value,
    pod: Value,
    mirror: Value,
    binding: Value,
}

impl Fixtures {
    fn load() -> Self {
        let read = |name: &str| {
            let file = fixtures().join(format!("requests/{name}.json"));
            admission_request(&read_document(&file).expect("a fixture")).clone()
        };
        Self {
            namespace: read("namespace-create"),
            deployment: read("deployment-create"),
            replica_set: read("replicaset-create"),
            by_replica_set: read("pod-create-by-replicaset"),
            stateful_set: read("statefulset-create"),
            by_stateful_set: read("pod-create-by-statefulset"),
            daemon_set: read("daemonset-create"),
            by_daemon_set: read("pod-create-by-daemonset"),
            job: read("job-create"),
            by_job: read("pod-create-by-job"),
            cron_job: read("cronjob-create"),
            pod: read("pod-create"),
            mirror: read("pod-create-mirror-by-kubelet"),
            binding: read("binding"),
        }
    }
}

struct Making {
    size: Size,
    fixtures: Fixtures,
}

impl Making {
    fn namespace(&self, index: usize) -> Born {
        let name = namespace_name(index);
        let annotations = match index % 5 {
            0 => json!({ "scheduler.alpha.kubernetes.io/node-selector": "env=production" }),
            1 => json!({ "scheduler.alpha.kubernetes.io/node-selector": "pool in (blue,shared)" }),
            2 if index % 10 == 7 => json!({ "scheduler.alpha.kubernetes.io/node-selector": "env in production" }),
            _ => json!({ "example.com/owner": "somebody" }),
        };
        let mut request = self.fixtures.namespace.clone();
        for field in ["/name", "/namespace", "/object/metadata/name"] {
            set(&mut request, field, name.clone());
        }
        set(&mut request, "/object/metadata/labels/kubernetes.io~1metadata.name", name);
        request["object"]["metadata"]["annotations"] = annotations;
        Born { object: stored(&request["object"], index), requests: vec![request] }
    }

    /// The workloads of a namespace and their Pods. The last of its Deployments has all Pods that are still due.
    fn apps(&self, namespace: usize) -> Vec<Born> {
        let due = self.size.pods.div_ceil(self.size.namespaces);
        let mut pods = vec![self.bare(namespace), self.mirror(namespace)];
        let mut workloads = vec![self.workload(&self.fixtures.cron_job, namespace, "tick", &wishes(namespace))];
        for (index, (workload, pod)) in [
            (&self.fixtures.stateful_set, &self.fixtures.by_stateful_set),
            (&self.fixtures.daemon_set, &self.fixtures.by_daemon_set),
            (&self.fixtures.job, &self.fixtures.by_job),
        ]
        .into_iter()
        .enumerate()
        {
            let wishes = wishes(namespace + index);
            let name = workload["name"].as_str().unwrap_or_default();
            workloads.push(self.workload(workload, namespace, name, &wishes));
            pods.push(self.pod(pod, namespace, &wishes, index));
        }
        for index in 0..6 {
            let name = format!("web-{index}");
            let mut wishes = wishes(namespace / 6 + index);
            if index == 4 {
                wishes["nodeName"] = node_name(namespace % self.size.nodes).into();
            }
            workloads.push(self.workload(&self.fixtures.deployment, namespace, &name, &wishes));
            if index == 0 {
                // Some ask for ReplicaSets, too.
                let mut fixture = self.fixtures.replica_set.clone();
                set(&mut fixture, "/object/metadata/ownerReferences/0/name", name.clone());
                workloads.push(self.workload(&fixture, namespace, &replica_set(&name), &wishes));
            }
            let replicas = if index < 5 { 2 } else { due.saturating_sub(pods.len()).max(2) };
            pods.extend((0..replicas).map(|replica| self.replica(namespace, &name, &wishes, replica)));
        }
        pods.into_iter().chain(workloads).collect()
    }

    fn workload(&self, fixture: &Value, namespace: usize, name: &str, wishes: &Value) -> Born {
        let mut request = in_namespace(fixture, namespace);
        set(&mut request, "/name", name);
        set(&mut request, "/object/metadata/name", name);
        let template = ["/object/spec/jobTemplate/spec/template/spec", "/object/spec/template/spec"];
        let template = template.into_iter().find(|path| request.pointer(path).is_some()).unwrap_or_default();
        json_patch::merge(request.pointer_mut(template).expect("a template"), wishes);
        Born { object: stored(&request["object"], namespace), requests: vec![request] }
    }

    fn replica(&self, namespace: usize, deployment: &str, wishes: &Value, replica: usize) -> Born {
        let mut fixture = self.fixtures.by_replica_set.clone();
        let replica_set = replica_set(deployment);
        set(&mut fixture, "/object/metadata/generateName", format!("{replica_set}-"));
        set(&mut fixture, "/object/metadata/ownerReferences/0/name", replica_set);
        self.pod(&fixture, namespace, wishes, replica)
    }

    fn bare(&self, namespace: usize) -> Born {
        self.pod(&self.fixtures.pod, namespace, &wishes(namespace / 2), 0)
    }

    /// A kubelet's own Pod is there when its request comes.
    fn mirror(&self, namespace: usize) -> Born {
        let request = in_namespace(&self.fixtures.mirror, namespace);
        Born { object: stored(&request["object"], namespace), requests: vec![request] }
    }

    /// A Pod that was created as in `fixture`, with `wishes`, and bound; the policy of those days did its work too.
    fn pod(&self, fixture: &Value, namespace: usize, wishes: &Value, replica: usize) -> Born {
        let index = namespace * 7 + replica;
        let node = node_name(index % self.size.nodes);
        let mut request = in_namespace(fixture, namespace);
        let only = fixture["object"].pointer(REQUIRED).cloned().filter(|required| required.pointer(PINNED).is_some());
        json_patch::merge(&mut request["object"]["spec"], wishes);
        if let Some(mut only) = only {
            // Whatever a template says, the DaemonSet controller names the node instead.
            set(&mut only, PINNED, node.clone());
            request["object"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
                only;
        }
        let mut object = stored(&request["object"], index);
        if object["metadata"]["name"].is_null() {
            let start = object["metadata"]["generateName"].as_str().unwrap_or_default();
            object["metadata"]["name"] = format!("{start}{index:05}").into();
        }
        let name = object["metadata"]["name"].clone();
        let is_scheduled = object["spec"]["nodeName"].is_null();
        object["spec"]["nodeName"] = node.clone().into();
        object["status"] = running(&node);
        object["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone(index % self.size.nodes).into();
        object["metadata"]["annotations"]["example.com/zone"] = zone(index % self.size.nodes).into();
        // What was injected once; a Pod without an owner keeps it for ever.
        if request["object"]["metadata"].get("ownerReferences").is_some() {
            object["spec"]["nodeSelector"]["injected"] = "before".into();
        }
        let binding = is_scheduled.then(|| self.binding(&name, &request["namespace"], &node, index));
        Born { object, requests: [request].into_iter().chain(binding).collect() }
    }

    fn binding(&self, name: &Value, namespace: &Value, node: &str, index: usize) -> Value {
        let mut request = self.fixtures.binding.clone();
        for (field, value) in [("name", name), ("namespace", namespace)] {
            request[field] = value.clone();
            request["object"]["metadata"][field] = value.clone();
        }
        set(&mut request, "/object/target/name", node);
        request["object"]["metadata"]["labels"] = json!({
            "topology.kubernetes.io/region": "region-1",
            "topology.kubernetes.io/zone": zone(index % self.size.nodes),
        });
        request
    }
}

const REQUIRED: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
/// Below [`REQUIRED`], the node that the DaemonSet controller names.
const PINNED: &str = "/nodeSelectorTerms/0/matchFields/0/values/0";

fn in_namespace(request: &Value, namespace: usize) -> Value {
    let mut request = request.clone();
    for field in ["/namespace", "/object/metadata/namespace"] {
        set(&mut request, field, namespace_name(namespace));
    }
    request
}

/// Replaces what is there.
fn set(request: &mut Value, path: &str, value: impl Into<Value>) {
    *request.pointer_mut(path).unwrap_or_else(|| panic!("no {path}")) = value.into();
}
