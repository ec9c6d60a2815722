//! The request: bytes to what is asked, about what. Only what is surely read is taken apart.

use json::{Mismatch, Object, Outline, Within};
use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Binding, Namespace, Node, Pod, PodTemplate, ReplicationController};

use crate::decision::Rejection;
use crate::object_meta;
use crate::settings::Settings;

/// The group of all kubelets.
const NODES_GROUP: &str = "system:nodes";

/// As whom the DaemonSet controller asks, if each controller has a service account of its own.
const DAEMON_SET_CONTROLLER: &str = "system:serviceaccount:kube-system:daemon-set-controller";

/// As whom all controllers ask otherwise.
const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";

/// As whom the scheduler of the cluster asks (`KubeScheduler`).
const SCHEDULER: &str = "system:kube-scheduler";

/// What of the payload is taken apart while it is read.
const PAYLOAD: Outline = Outline::Object(&[("request", REQUEST), ("settings", Settings::OUTLINE)]);
const REQUEST: Outline = Outline::Object(&[
    ("object", OBJECT),
    ("oldObject", OBJECT),
    ("resource", Outline::FLAT),
    ("userInfo", Outline::Object(&[("groups", Outline::List(&Outline::Whole))])),
]);
const OBJECT: Outline = Outline::Object(&[("metadata", METADATA), ("spec", SPEC), ("target", Outline::FLAT)]);
const METADATA: Outline = Outline::Object(&[("annotations", Outline::FLAT), ("labels", Outline::FLAT)]);
const SPEC: Outline =
    Outline::Object(&[("nodeSelector", Outline::FLAT), ("template", TEMPLATE), ("jobTemplate", JOB_TEMPLATE)]);
const JOB_TEMPLATE: Outline = Outline::Object(&[("spec", Outline::Object(&[("template", TEMPLATE)]))]);
const TEMPLATE: Outline = Outline::Object(&[("spec", Outline::FLAT)]);

/// An AdmissionReview's request.
#[derive(Debug)]
pub struct Request {
    /// What is asked.
    pub action: Action,
    /// The namespace, or empty. A Namespace's own name, where it is asked about.
    pub namespace: String,
    whole: Object,
}

/// What is asked.
#[derive(Debug)]
pub struct Action {
    /// The resource's API group; empty for the core group.
    pub group: String,
    /// The resource, in the plural.
    pub resource: String,
    /// The subresource, or empty.
    pub sub_resource: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// A kubelet, by its group.
    Kubelet,
    /// Nobody: the audit scanner judges what exists, and names no user.
    Nobody,
    /// The controller that makes the Pods of DaemonSets.
    DaemonSetController,
    /// The scheduler of the cluster, which compares taints with the Pod's own tolerations.
    Scheduler,
    /// Anybody else.
    Somebody,
}

/// Reads what the host hands to `validate`.
///
/// # Errors
/// Code 400, if `payload` is not such a request.
pub fn read(payload: &[u8]) -> Result<(Request, Settings), Rejection> {
    let text = match std::str::from_utf8(payload) {
        Ok(text) => text,
        Err(error) => return Err(Rejection::bad_request(format!("the request can't be read: {error}"))),
    };
    let mut payload = Object::parse(text, &PAYLOAD)?;
    payload.required_object("request")?;
    let settings = payload.object("settings")?.is_some();
    let settings = if settings { std::mem::take(payload.object_mut("settings")?) } else { Object::new() };
    let request = Request::read(std::mem::take(payload.object_mut("request")?)).within("request")?;
    Ok((request, Settings::of(settings)))
}

impl Request {
    fn read(request: Object) -> Result<Self, Mismatch> {
        Ok(Self {
            action: Action::read(&request)?,
            namespace: request.string("namespace")?.into_owned(),
            whole: request,
        })
    }

    /// The object, which must be there.
    pub fn object(&self) -> Result<&Object, Mismatch> {
        self.whole.required_object("object")
    }

    /// The object as it was before an update, which must be there.
    pub fn old_object(&self) -> Result<&Object, Mismatch> {
        self.whole.required_object("oldObject")
    }

    /// The object, which must be there, to edit. The request has none afterwards.
    pub fn take_object(&mut self) -> Result<Object, Mismatch> {
        self.whole.required_object("object")?;
        let object = self.whole.object_mut("object").map(std::mem::take)?;
        self.whole.remove("object");
        Ok(object)
    }

    /// Who asks.
    pub fn requester(&self) -> Result<Requester, Mismatch> {
        Requester::read(&self.whole)
    }

    /// Whether `pod` is one that the DaemonSet controller makes. Owners alone can be forged; of the audit scanner, which
    /// names nobody, they are believed.
    pub fn is_about_pod_of_daemon_set(&self, pod: &Object) -> Result<bool, Mismatch> {
        let is_believed = matches!(self.requester()?, Requester::DaemonSetController | Requester::Nobody);
        Ok(is_believed
            && object_meta::kind_of_controller(pod).within("object")?.is_some_and(|kind| kind == "DaemonSet"))
    }

    /// Whether this updates an object that is on its way out: it must be able to go, and its finalizers are updates too.
    /// What the new object says about that is a claim, at its creation too.
    pub fn is_about_terminating(&self) -> Result<bool, Mismatch> {
        Ok(self.is_update() && object_meta::is_terminating(self.old_object()?).within("oldObject")?)
    }

    /// Whether this is an update.
    pub fn is_update(&self) -> bool {
        self.action.operation == "UPDATE"
    }

    /// Whether `object` is a mirror Pod, which stands for one that a kubelet already runs. From anyone else than a
    /// kubelet, or the audit scanner that judges what exists, the annotation exempts nobody.
    pub fn is_about_mirror(&self, object: &Object) -> Result<bool, Mismatch> {
        let is_believed = matches!(self.requester()?, Requester::Kubelet | Requester::Nobody);
        Ok(is_believed && object_meta::is_annotated_as_mirror(object).within("object")?)
    }
}

impl Action {
    fn read(request: &Object) -> Result<Self, Mismatch> {
        let resource = request.required_object("resource")?;
        let group = resource.string("group").within("resource")?;
        let name = resource.required_string("resource").within("resource")?;
        let resource = match Known::in_group(&group).find(|known| known.resource == name || known.kind == name) {
            // Kubewarden's audit scanner puts the kind where the resource belongs.
            Some(known) => known.resource.to_owned(),
            None => named_by_kind(request, &group)?.map_or_else(|| name.into_owned(), str::to_owned),
        };
        Ok(Self {
            resource,
            group: group.into_owned(),
            sub_resource: request.string("subResource")?.into_owned(),
            operation: request.required_string("operation")?.into_owned(),
        })
    }
}

impl Requester {
    fn read(request: &Object) -> Result<Self, Mismatch> {
        let Some(user_info) = request.object("userInfo")? else { return Ok(Self::Nobody) };
        if let Some(groups) = user_info.list("groups").within("userInfo")?
            && groups.iter().any(|group| group.string().is_ok_and(|group| group == NODES_GROUP))
        {
            return Ok(Self::Kubelet);
        }
        let username = user_info.string("username").within("userInfo")?;
        Ok(match username.as_ref() {
            "" => Self::Nobody,
            DAEMON_SET_CONTROLLER | CONTROLLER_MANAGER => Self::DaemonSetController,
            SCHEDULER => Self::Scheduler,
            _ => Self::Somebody,
        })
    }
}

/// A resource that is somebody's business, and its kind.
struct Known {
    group: &'static str,
    kind: &'static str,
    resource: &'static str,
}

impl Known {
    const ALL: [Self; 12] = [
        Self::of::<Pod>(),
        Self::of::<Binding>(),
        Self::of::<Namespace>(),
        Self::of::<Node>(),
        Self::of::<PodTemplate>(),
        Self::of::<ReplicationController>(),
        Self::of::<Deployment>(),
        Self::of::<ReplicaSet>(),
        Self::of::<StatefulSet>(),
        Self::of::<DaemonSet>(),
        Self::of::<Job>(),
        Self::of::<CronJob>(),
    ];

    const fn of<T: Resource>() -> Self {
        Self { group: T::GROUP, kind: T::KIND, resource: T::URL_PATH_SEGMENT }
    }

    fn in_group(group: &str) -> impl Iterator<Item = &'static Self> {
        Self::ALL.iter().filter(move |known| known.group == group)
    }
}

/// The resource by its kind, where `resource` names none that is known: `kwctl scaffold admission-request` asks no cluster
/// what the plural is, and writes something in its place.
fn named_by_kind(request: &Object, group: &str) -> Result<Option<&'static str>, Mismatch> {
    for member in ["kind", "requestKind"] {
        let Some(kind) = request.object(member)? else { continue };
        let name = kind.string("kind").within(member)?;
        let is_in_group = kind.string("group").within(member)? == group;
        let known = Known::in_group(group).find(|known| is_in_group && known.kind == name);
        return Ok(known.map(|known| known.resource));
    }
    Ok(None)
}
