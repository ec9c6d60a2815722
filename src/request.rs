//! The request: bytes to what is asked, about what. Nothing is copied, and nothing is read that isn't needed.

use std::borrow::Cow;

use json::{Json, Mismatch, Object, Outline};
use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Binding, Namespace, Pod, PodTemplate, ReplicationController};

use crate::decision::Rejection;
use crate::settings::Settings;

/// The group of all kubelets.
const NODES_GROUP: &str = "system:nodes";

/// What of the payload is cut in one pass.
const PAYLOAD: Outline = Outline::Object(&[("request", REQUEST), ("settings", Settings::OUTLINE)]);
const REQUEST: Outline =
    Outline::Object(&[("object", OBJECT), ("oldObject", OBJECT), ("resource", Outline::FLAT), ("userInfo", USER_INFO)]);
const USER_INFO: Outline = Outline::Object(&[("groups", Outline::List)]);
const OBJECT: Outline = Outline::Object(&[("metadata", METADATA), ("spec", SPEC), ("target", Outline::FLAT)]);
const METADATA: Outline = Outline::Object(&[("annotations", Outline::FLAT), ("labels", Outline::FLAT)]);
const SPEC: Outline =
    Outline::Object(&[("nodeSelector", Outline::FLAT), ("template", OF_PODS), ("jobTemplate", OF_JOBS)]);
const OF_JOBS: Outline = Outline::Object(&[("spec", Outline::Object(&[("template", OF_PODS)]))]);
const OF_PODS: Outline = Outline::Object(&[("spec", Outline::FLAT)]);

/// An AdmissionReview's request.
#[derive(Debug)]
pub struct Request<'a> {
    /// The resource's API group; empty for the core group.
    pub group: Cow<'a, str>,
    /// The resource, in the plural.
    pub resource: Cow<'a, str>,
    /// The subresource, or empty.
    pub sub_resource: Cow<'a, str>,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: Cow<'a, str>,
    /// The namespace, or empty. A Namespace's own name, where it is asked about.
    pub namespace: Cow<'a, str>,
    /// The object's name, or empty where the API server will make one up.
    pub name: Cow<'a, str>,
    whole: Object<'a>,
}

/// Reads what the host hands to `validate`.
///
/// # Errors
/// Code 400, if `payload` is not such a request.
pub fn read(payload: &[u8]) -> Result<(Request<'_>, Settings<'_>), Rejection> {
    let unreadable =
        |problem: &dyn std::fmt::Display| Rejection::bad_request(format!("the request can't be read: {problem}"));
    let text = std::str::from_utf8(payload).map_err(|error| unreadable(&error))?;
    let payload = Object::parse(text, &PAYLOAD)?;
    let request = needed(&payload, "request", Object::object)?;
    let request = Request::open(request).map_err(|mismatch| mismatch.within("request"))?;
    let settings = payload.object("settings")?.unwrap_or_default();
    Ok((request, Settings::of(settings)))
}

impl<'a> Request<'a> {
    fn open(whole: Object<'a>) -> Result<Self, Mismatch> {
        let string = |object: &Object<'a>, key: &str| object.read(key, Json::string);
        let resource = needed(&whole, "resource", Object::object)?;
        let group = resource.string("group").map_err(|mismatch| mismatch.within("resource"))?;
        let name = needed(&resource, "resource", string).map_err(|mismatch| mismatch.within("resource"))?;
        Ok(Self {
            resource: plural(&group, name),
            group,
            sub_resource: whole.string("subResource")?,
            operation: needed(&whole, "operation", string)?,
            namespace: whole.string("namespace")?,
            name: whole.string("name")?,
            whole,
        })
    }

    /// What is asked: group, resource, subresource, operation.
    pub fn asked(&self) -> (&str, &str, &str, &str) {
        (&self.group, &self.resource, &self.sub_resource, &self.operation)
    }

    /// The object, which must be there.
    pub fn object(&self) -> Result<Object<'a>, Mismatch> {
        needed(&self.whole, "object", Object::object)
    }

    /// The object as it was before an update, which must be there.
    pub fn old_object(&self) -> Result<Object<'a>, Mismatch> {
        needed(&self.whole, "oldObject", Object::object)
    }

    /// The object's text.
    pub fn object_text(&self) -> &'a str {
        self.whole.get("object").map_or("", Json::text)
    }

    /// The text of the object as it was before an update.
    pub fn old_object_text(&self) -> &'a str {
        self.whole.get("oldObject").map_or("", Json::text)
    }

    /// Whether a kubelet asks.
    pub fn is_from_node(&self) -> Result<bool, Mismatch> {
        let groups = self.user_info()?.list("groups").map_err(|mismatch| mismatch.within("userInfo"))?;
        Ok(groups.iter().any(|group| group.json.string().is_ok_and(|group| group == NODES_GROUP)))
    }

    fn user_info(&self) -> Result<Object<'a>, Mismatch> {
        self.whole.object("userInfo").map(Option::unwrap_or_default)
    }

    /// Whether nobody asks: the audit scanner judges what exists, and names no user.
    pub fn is_from_nobody(&self) -> Result<bool, Mismatch> {
        let user_info = self.user_info()?;
        let username = user_info.string("username").map_err(|mismatch| mismatch.within("userInfo"))?;
        Ok(username.is_empty())
    }
}

/// What `read` finds under `key` of `object`, where something must be.
fn needed<'a, T>(
    object: &Object<'a>,
    key: &str,
    read: impl FnOnce(&Object<'a>, &str) -> Result<Option<T>, Mismatch>,
) -> Result<T, Mismatch> {
    read(object, key)?.ok_or_else(|| Mismatch::new("a value", "nothing").within(key))
}

/// The plural of `resource`: Kubewarden's audit scanner puts the kind where the resource belongs.
fn plural<'a>(group: &str, resource: Cow<'a, str>) -> Cow<'a, str> {
    const fn names<T: Resource>() -> (&'static str, &'static str, &'static str) {
        (T::GROUP, T::KIND, T::URL_PATH_SEGMENT)
    }
    let kinds = [
        names::<Pod>(),
        names::<Binding>(),
        names::<Namespace>(),
        names::<PodTemplate>(),
        names::<ReplicationController>(),
        names::<Deployment>(),
        names::<ReplicaSet>(),
        names::<StatefulSet>(),
        names::<DaemonSet>(),
        names::<Job>(),
        names::<CronJob>(),
    ];
    let known = kinds.iter().find(|(own, kind, _)| *own == group && *kind == resource);
    known.map_or(resource, |(_, _, plural)| Cow::Borrowed(*plural))
}
