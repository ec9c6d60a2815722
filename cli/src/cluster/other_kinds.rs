//! Objects of kinds whose Pods are not known: of custom kinds, and of Kubernetes' own kinds that are misspelt, or of another
//! version.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PodSpec;
use node_placement_policy::resource::Resource;
use serde_json::Value;

use super::{
    Kind, Owner, Problem, Unjudged,
    manifests::{Identity, Manifest},
    pod::thinned,
};
use crate::input::json::{list_of, part};

/// API groups whose unknown kinds are reported. `app` and `core` are common misspellings.
const API_GROUPS: [&str; 8] = ["", "app", "apps", "batch", "extensions", "core", "node.k8s.io", "karpenter.sh"];

/// The suffix of Kubernetes' own groups: `storage.k8s.io`.
const OWN_GROUPS: &str = ".k8s.io";

/// The suffix of groups of the Kubernetes project that custom resources serve: `jobset.x-k8s.io`.
const CUSTOM_GROUPS: &str = ".x-k8s.io";

/// Kinds of these groups that no outcome depends on, one a line.
const WITHOUT_EFFECT: &str = include_str!("kinds_without_effect.txt");

/// Returns whether Kubernetes has a kind of this name, whose objects make no Pods.
pub fn makes_no_pods(kind: &str) -> bool {
    WITHOUT_EFFECT.lines().any(|known| known.eq_ignore_ascii_case(kind))
}

/// Returns whether an API group is served by custom resources: it is none of Kubernetes' own.
pub(super) fn is_custom(group: &str) -> bool {
    let is_own = group.ends_with(OWN_GROUPS) && !group.ends_with(CUSTOM_GROUPS);
    !API_GROUPS.contains(&group) && !is_own && group != "policy"
}

/// Returns why an object that is not looked at can't be judged, though it has one of Kubernetes' own kinds, spelt
/// otherwise, of another version, or written down without the rest of it. It must not be forgotten.
pub(super) fn misnamed(identity: &Identity) -> Option<Problem> {
    let (group, kind) = (identity.group(), &identity.kind);
    if kind == "PartialObjectMetadata" {
        return Some(Problem::MetadataAlone);
    }
    let is_own = API_GROUPS.iter().any(|own| own.eq_ignore_ascii_case(group));
    if is_looked_at(identity) || !is_own || WITHOUT_EFFECT.lines().any(|known| known == kind) {
        return None;
    }
    let is_meant = |known: &Kind| {
        kind.eq_ignore_ascii_case(known.name()) || kind.eq_ignore_ascii_case(&format!("{}s", known.name()))
    };
    Some(match Kind::all().filter(|kind| decides(*kind)).find(is_meant) {
        Some(known) if kind == known.name() => Problem::Version,
        Some(known) => Problem::Misspelt(known),
        None => Problem::NoSuchKind,
    })
}

/// Returns whether an outcome may depend on objects of a kind.
fn decides(kind: Kind) -> bool {
    let others = [Kind::Of(Resource::Namespace), Kind::Of(Resource::Node), Kind::RuntimeClass, Kind::NodePool];
    kind.makes_pods() || others.contains(&kind)
}

pub(super) fn is_looked_at(Identity { api_version, kind, .. }: &Identity) -> bool {
    Kind::of(api_version, kind).is_some_and(decides)
}

/// Returns an object of a custom kind, if it contains PodSpecs and no Pod belongs to it.
pub(super) fn unjudged(manifest: &Manifest, owning: &BTreeSet<String>) -> Option<Unjudged> {
    let identity = &manifest.identity;
    if owning.contains(&identity.to_string()) {
        return None;
    }
    let mut specs = vec![];
    add_pod_specs(&manifest.parse(), &mut specs);
    let owner =
        Owner { api_version: identity.api_version.clone(), kind: identity.kind.clone(), name: identity.name.clone() };
    (!specs.is_empty()).then(|| Unjudged { owner, namespace: identity.namespace.clone(), specs })
}

/// Adds all PodSpecs in a value: what has `containers` with an `image`.
fn add_pod_specs(value: &Value, specs: &mut Vec<PodSpec>) {
    if list_of(&value["containers"]).iter().any(|container| container["image"].is_string()) {
        specs.push(part(value, "").map(thinned).unwrap_or_default());
        return;
    }
    match value {
        Value::Object(members) => members.values().for_each(|member| add_pod_specs(member, specs)),
        Value::Array(elements) => elements.iter().for_each(|element| add_pod_specs(element, specs)),
        _ => {}
    }
}
