//! The request: bytes to what is asked, by whom, about what.

use crate::json::read::{ReadError, Within, read as read_json};
use crate::json::{Raw, RawObject};
use crate::object_meta;
use crate::resource::Resource;

/// The group of all kubelets.
const NODES_GROUP: &str = "system:nodes";

/// As whom the DaemonSet controller asks, if each controller has a service account of its own.
const DAEMON_SET_CONTROLLER: &str = "system:serviceaccount:kube-system:daemon-set-controller";

/// As whom all controllers ask otherwise.
const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";

/// As whom the scheduler of every cluster asks.
const SCHEDULER: &str = "system:kube-scheduler";

/// The annotation of a Pod that stands for one which a kubelet runs from a file (`ConfigMirrorAnnotationKey`).
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What is asked, and about what.
#[derive(Debug)]
pub struct Request<'a> {
    /// The resource, if the policy has rules for it.
    pub resource: Option<Resource>,
    /// The subresource, or empty.
    pub sub_resource: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// The namespace, or empty. A Namespace's own name, where it is asked about.
    pub namespace: String,
    /// Who asks.
    pub requester: Requester,
    object: Option<Raw<'a>>,
    old_object: Option<Raw<'a>>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requester {
    /// A kubelet, by its group.
    Kubelet,
    /// Nobody: the audit scanner judges what exists, and names no user.
    Nobody,
    /// The controller that makes the Pods of DaemonSets.
    DaemonSetController,
    /// The scheduler that every cluster has.
    Scheduler,
    /// Anybody else, by name.
    User(String),
}

/// Reads what the host hands to `validate`: the request, and the text of the settings, if there are some.
///
/// # Errors
/// `payload` is not such a request.
pub fn read(payload: &[u8]) -> Result<(Request<'_>, Option<&str>), ReadError> {
    let text = std::str::from_utf8(payload).map_err(|error| ReadError::new(error.to_string()))?;
    let mut payload = read_json::<Raw<'_>>(text)?;
    let payload = payload.object_mut()?;
    let request = required(payload.take("request")).and_then(Request::read).within("request")?;
    Ok((request, payload.text("settings")))
}

impl<'a> Request<'a> {
    fn read(mut request: Raw<'a>) -> Result<Self, ReadError> {
        let request = request.object_mut()?;
        let resource: Raw<'_> = required(request.get("resource")?).within("resource")?;
        let resource = resource.object().within("resource")?;
        let group = resource.string("group").within("resource")?;
        let named: String = required(resource.get("resource").within("resource")?).within("resource.resource")?;
        Ok(Self {
            resource: resource_named(&group, &named, request)?,
            sub_resource: request.string("subResource")?,
            operation: required(request.get("operation")?).within("operation")?,
            namespace: request.string("namespace")?,
            requester: Requester::read(request)?,
            object: request.take("object"),
            old_object: request.take("oldObject"),
        })
    }

    /// The object as it was before an update, which must be there.
    ///
    /// # Errors
    /// It is not, or is no object.
    pub fn old_object(&self) -> Result<&RawObject<'a>, ReadError> {
        required(self.old_object.as_ref()).and_then(Raw::object).within("oldObject")
    }

    /// The object, which must be there, to be changed. The request has none afterwards.
    ///
    /// # Errors
    /// It is not there, or is no object.
    pub fn take_object(&mut self) -> Result<RawObject<'a>, ReadError> {
        match required(self.object.take()).within("object")? {
            Raw::Object(object) => Ok(object),
            other => Err(ReadError::mismatch("an object", other.kind()).within("object")),
        }
    }

    /// Whether this is an update.
    pub fn is_update(&self) -> bool {
        self.operation == "UPDATE"
    }

    /// Whether the object is on its way out. Only the old object tells: anybody can claim it of a new one.
    ///
    /// # Errors
    /// The old object's metadata can't be read.
    pub fn is_about_terminating(&self) -> Result<bool, ReadError> {
        if !self.is_update() {
            return Ok(false);
        }
        let timestamp = self.old_object()?.get_at::<String>(&["metadata", "deletionTimestamp"]).within("oldObject")?;
        Ok(timestamp.is_some())
    }

    /// Whether `pod` is one that the DaemonSet controller makes. Owners alone can be forged; of the audit scanner,
    /// which names nobody, they are believed.
    ///
    /// # Errors
    /// The owners can't be read.
    pub fn is_about_pod_of_daemon_set(&self, pod: &RawObject<'_>) -> Result<bool, ReadError> {
        let is_believed = matches!(self.requester, Requester::DaemonSetController | Requester::Nobody);
        Ok(is_believed
            && object_meta::kind_of_controller(pod).within("object")?.is_some_and(|kind| kind == "DaemonSet"))
    }

    /// Whether `object` is a mirror Pod, which stands for one that a kubelet already runs. From anyone else than a
    /// kubelet, or the audit scanner that judges what exists, the annotation exempts nobody.
    ///
    /// # Errors
    /// The annotations can't be read.
    pub fn is_about_mirror(&self, object: &RawObject<'_>) -> Result<bool, ReadError> {
        let is_believed = matches!(self.requester, Requester::Kubelet | Requester::Nobody);
        Ok(is_believed && object_meta::annotations(object).within("object")?.contains_key(MIRROR))
    }
}

fn required<T>(value: Option<T>) -> Result<T, ReadError> {
    value.ok_or_else(|| ReadError::mismatch("a value", "nothing"))
}

/// The resource that is asked about. Where its name is not known, its kind decides: `kwctl scaffold admission-request`
/// writes a placeholder for the name.
fn resource_named(group: &str, named: &str, request: &RawObject<'_>) -> Result<Option<Resource>, ReadError> {
    if let Some(known) = Resource::named(group, named) {
        return Ok(Some(known));
    }
    let kind = if request.member("kind").is_some() { "kind" } else { "requestKind" };
    let name: String = request.get_at(&[kind, "kind"])?.unwrap_or_default();
    let own: String = request.get_at(&[kind, "group"])?.unwrap_or_default();
    Ok(Resource::named(group, &name).filter(|_| own == group))
}

impl Requester {
    /// Whether this is one of the users of these names.
    pub fn is_among(&self, usernames: &[String]) -> bool {
        match self {
            Self::User(name) => usernames.contains(name),
            Self::Kubelet | Self::Nobody | Self::DaemonSetController | Self::Scheduler => false,
        }
    }

    /// Reads `userInfo` of a request.
    fn read(request: &RawObject<'_>) -> Result<Self, ReadError> {
        let groups: Vec<String> = request.get_at(&["userInfo", "groups"])?.unwrap_or_default();
        if groups.iter().any(|group| group == NODES_GROUP) {
            return Ok(Self::Kubelet);
        }
        let name: String = request.get_at(&["userInfo", "username"])?.unwrap_or_default();
        Ok(match name.as_str() {
            "" => Self::Nobody,
            DAEMON_SET_CONTROLLER | CONTROLLER_MANAGER => Self::DaemonSetController,
            SCHEDULER => Self::Scheduler,
            _ => Self::User(name),
        })
    }
}
