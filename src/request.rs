//! Reads the request of the host.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json::read::read as read_json;
use crate::json::{FromObject, Raw, RawObject, ReadError, Text, Within, null_is_default};
use crate::object_meta;
use crate::resource::Resource;

/// The group of all kubelets.
const NODES_GROUP: &str = "system:nodes";

/// The user name of the DaemonSet controller where each controller has a service account of its own.
const DAEMON_SET_CONTROLLER: &str = "system:serviceaccount:kube-system:daemon-set-controller";

/// The user name of all controllers where they share one.
const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";

/// The user name of the scheduler that every cluster has.
const SCHEDULER: &str = "system:kube-scheduler";

/// The annotation of a Pod that stands for one which a kubelet runs from a file (`ConfigMirrorAnnotationKey`).
pub const MIRROR: &str = "kubernetes.io/config.mirror";

/// The request (`AdmissionRequest` of `admission.k8s.io/v1`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request<'a> {
    #[serde(borrow)]
    resource: FromObject<GroupAndName<'a>>,
    kind: Option<FromObject<GroupAndName<'a>>>,
    #[serde(rename = "requestKind")]
    sent_kind: Option<FromObject<GroupAndName<'a>>>,
    /// The subresource, or empty.
    #[serde(default, deserialize_with = "null_is_default")]
    pub sub_resource: Text<'a>,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: Text<'a>,
    /// The namespace, or empty. For a Namespace, its own name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub namespace: Text<'a>,
    /// The requester.
    #[serde(default, deserialize_with = "null_is_default", rename = "userInfo")]
    pub user: User,
    object: Option<Raw<'a>>,
    old_object: Option<Raw<'a>>,
}

/// The requester.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum User {
    /// A kubelet, by its group.
    Kubelet,
    /// The audit scanner, which validates what exists, and names no user.
    #[default]
    AuditScanner,
    /// The controller that makes the Pods of DaemonSets.
    DaemonSetController,
    /// The scheduler that every cluster has.
    Scheduler,
    /// Anybody else, by name.
    Named(String),
}

/// The payload of `validate`.
#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    request: FromObject<Request<'a>>,
    settings: Option<&'a RawValue>,
}

/// `GroupVersionResource`, or `GroupVersionKind`
#[derive(Deserialize)]
struct GroupAndName<'a> {
    #[serde(borrow, default, deserialize_with = "null_is_default")]
    group: Text<'a>,
    resource: Option<Text<'a>>,
    kind: Option<Text<'a>>,
}

/// `UserInfo`
#[derive(Default, Deserialize)]
#[serde(default)]
struct UserInfo<'a> {
    #[serde(borrow, deserialize_with = "null_is_default")]
    username: Text<'a>,
    #[serde(deserialize_with = "null_is_default")]
    groups: Vec<Text<'a>>,
}

/// Reads what the host hands to `validate`: the request, and the text of the settings, if there are some.
///
/// # Errors
/// `payload` is not such a request.
pub fn read(payload: &[u8]) -> Result<(Request<'_>, Option<&str>), ReadError> {
    let text = std::str::from_utf8(payload).map_err(|error| ReadError::new(error.to_string()))?;
    let FromObject(Payload { request: FromObject(request), settings }) = read_json(text)?;
    required(request.resource.0.resource.as_ref()).within("request.resource.resource")?;
    Ok((request, settings.map(RawValue::get)))
}

impl<'a> Request<'a> {
    /// Returns the resource, if the policy has rules for it. Where its name is not known, its kind decides: `kwctl
    /// scaffold admission-request` writes a placeholder for the name.
    pub fn resource(&self) -> Option<Resource> {
        let GroupAndName { group, resource, .. } = &self.resource.0;
        let known = Resource::named(group, resource.as_deref().unwrap_or_default());
        known.or_else(|| {
            let kind = &self.kind.as_ref().or(self.sent_kind.as_ref())?.0;
            Resource::named(group, kind.kind.as_ref()?).filter(|_| kind.group == *group)
        })
    }

    /// Returns the object as it was before an update, which must be there.
    ///
    /// # Errors
    /// It is not, or is no object.
    pub fn old_object(&self) -> Result<&RawObject<'a>, ReadError> {
        match required(self.old_object.as_ref()).within("oldObject")? {
            Raw::Object(object) => Ok(object),
            other => Err(ReadError::mismatch("an object", other.kind()).within("oldObject")),
        }
    }

    /// Returns the object, which must be there, to be changed. The request has none afterwards.
    ///
    /// # Errors
    /// It is not there, or is no object.
    pub fn take_object(&mut self) -> Result<RawObject<'a>, ReadError> {
        let mut object = required(self.object.take()).within("object")?;
        object.object_mut().map(std::mem::take).within("object")
    }

    /// Returns whether this is an update.
    pub fn is_update(&self) -> bool {
        &*self.operation == "UPDATE"
    }

    /// Returns whether the object is being deleted. Reads the old object, since a new one can claim anything.
    ///
    /// # Errors
    /// The old object's metadata can't be read.
    pub fn is_for_terminating_object(&self) -> Result<bool, ReadError> {
        if !self.is_update() {
            return Ok(false);
        }
        let timestamp =
            self.old_object()?.get_at::<Text<'_>>(&["metadata", "deletionTimestamp"]).within("oldObject")?;
        Ok(timestamp.is_some())
    }

    /// Returns whether `pod` is one that the DaemonSet controller makes. Owners alone can be forged. They are trusted from
    /// the audit scanner, which names no user.
    ///
    /// # Errors
    /// The owners can't be read.
    pub fn is_about_pod_of_daemon_set(&self, pod: &RawObject<'_>) -> Result<bool, ReadError> {
        let is_believed = matches!(self.user, User::DaemonSetController | User::AuditScanner);
        Ok(is_believed
            && object_meta::kind_of_controller(pod).within("object")?.is_some_and(|kind| kind == "DaemonSet"))
    }

    /// Returns whether `object` is a mirror Pod, which stands for one that a kubelet already runs. The annotation is
    /// trusted from kubelets, and from the audit scanner.
    ///
    /// # Errors
    /// The annotations can't be read.
    pub fn is_about_mirror(&self, object: &RawObject<'_>) -> Result<bool, ReadError> {
        let is_believed = matches!(self.user, User::Kubelet | User::AuditScanner);
        Ok(is_believed && object_meta::annotations(object).within("object")?.contains_key(MIRROR))
    }
}

fn required<T>(value: Option<T>) -> Result<T, ReadError> {
    value.ok_or_else(|| ReadError::mismatch("a value", "nothing"))
}

impl<'de> Deserialize<'de> for User {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let FromObject(UserInfo { username, groups }) = FromObject::deserialize(deserializer)?;
        if groups.iter().any(|group| &**group == NODES_GROUP) {
            return Ok(Self::Kubelet);
        }
        Ok(match &*username {
            "" => Self::AuditScanner,
            DAEMON_SET_CONTROLLER | CONTROLLER_MANAGER => Self::DaemonSetController,
            SCHEDULER => Self::Scheduler,
            name => Self::Named(name.to_owned()),
        })
    }
}

impl User {
    /// Returns whether this is one of the users of these names.
    pub fn is_among(&self, usernames: &[String]) -> bool {
        matches!(self, Self::Named(name) if usernames.contains(name))
    }
}
