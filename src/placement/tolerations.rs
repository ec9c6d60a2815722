//! Validates the tolerations of Pods, and adds those of their namespace and of extended resources.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::node_affinity::Excess;
use super::subject::PodSubject;
use super::toleration_rules::{Objection, TolerationRules};
use crate::decision::{Cause, CauseKind, Rejection};
use crate::json::{FromObject, Raw, RawObject, ReadError, Within};
use crate::limits::{MOST_CONTAINERS, MOST_EXTENDED_RESOURCES, MOST_TOLERATIONS};
use crate::message::quote;
use crate::object_meta::CONTAINERS;
use crate::settings::Source;
use crate::toleration::{
    self, EXISTS, NO_EXECUTE, NO_SCHEDULE, Resources, TOLERATIONS, Toleration, Tolerations, read_first,
    tolerations_of_extended,
};

/// The in-tree sentence for a toleration that is not allowed.
const TOLERATIONS_CONFLICT: &str =
    "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist";

/// The taints of unready nodes, which the `DefaultTolerationSeconds` plugin has every Pod tolerate for some minutes.
pub const UNTIL_EVICTED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// The taint that the `PodTolerationRestriction` plugin and the DaemonSet controller have Pods tolerate.
const MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";

/// The taints that Pods of DaemonSets tolerate too (`AddOrUpdateDaemonPodTolerations`).
const ON_DAEMON_SETS: [&str; 4] = [
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/network-unavailable",
];

/// Writes `added` into `spec`, a PodSpec.
///
/// # Errors
/// `spec` can't be read.
pub fn write(added: &[Toleration], spec: &mut RawObject<'_>) -> Result<(), ReadError> {
    if added.is_empty() {
        return Ok(());
    }
    let list = spec.list_mut(TOLERATIONS)?;
    for toleration in added {
        list.push(Raw::written(toleration)?);
    }
    Ok(())
}

/// Returns the tolerations that a Pod has, in order.
///
/// # Errors
/// They can't be read, or there are too many.
pub fn of_pod(subject: &PodSubject<'_, '_>) -> Result<Vec<Toleration>, Rejection> {
    let (tolerations, has_more) = read_first(subject.spec, MOST_TOLERATIONS).within(subject.path).within("object")?;
    if has_more { Err(too_many_tolerations(subject)) } else { Ok(tolerations) }
}

/// Returns the tolerations of an updated Pod that `old_spec` does not have. Of `old_spec`, at most as many are read as a
/// Pod may have.
///
/// # Errors
/// They can't be read, or there are too many.
pub fn new_of_pod(subject: &PodSubject<'_, '_>, old_spec: &RawObject<'_>) -> Result<Vec<Toleration>, Rejection> {
    // Unchanged tolerations are not read.
    if subject.spec.member(TOLERATIONS) == old_spec.member(TOLERATIONS) {
        return Ok(Vec::new());
    }
    let mut new = of_pod(subject)?;
    let (old, _) = read_first(old_spec, MOST_TOLERATIONS).within("oldObject.spec")?;
    let old = Tolerations::new(old);
    new.retain(|toleration| !old.contains(toleration));
    Ok(new)
}

fn too_many_tolerations(subject: &PodSubject<'_, '_>) -> Rejection {
    subject.too_many(Excess { most: MOST_TOLERATIONS, what: TOLERATIONS }, TOLERATIONS)
}

/// Validates the tolerations that a Pod has, and those that it gets. Returns the latter.
///
/// # Errors
/// The first toleration that is forbidden or not allowed; or something can't be read, or is too much.
pub fn admit(subject: &PodSubject<'_, '_>, rules: &TolerationRules<'_>) -> Result<Vec<Toleration>, Rejection> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    if subject.is_template && rules.validates_anything() {
        // The API server adds the RuntimeClass's tolerations to the Pods.
        validate(&subject.runtime_class.scheduling()?.tolerations, None, &[], rules, subject)?;
    }
    let present = of_pod(subject)?;
    let of_extended = for_extended_resources(subject, rules)?;
    validate(&present, None, &of_extended, rules, subject)?;
    let mut added = Vec::new();
    if let Some(defaults) = &rules.defaults {
        defaults.reject_unresolved()?;
        added = toleration::missing(&present, defaults.tolerations.to_vec());
        validate(&added, Some(defaults.source), &of_extended, rules, subject)?;
    }
    if !of_extended.is_empty() {
        let all = [present.as_slice(), &added].concat();
        added.extend(toleration::missing(&all, of_extended));
    }
    if !added.is_empty() && present.len() + added.len() > MOST_TOLERATIONS {
        return Err(too_many_tolerations(subject));
    }
    Ok(added)
}

/// Validates those tolerations of an updated Pod that it did not have before.
///
/// # Errors
/// The first that is forbidden or not allowed.
pub fn validate_new(
    new: &[Toleration],
    subject: &PodSubject<'_, '_>,
    rules: &TolerationRules<'_>,
) -> Result<(), Rejection> {
    validate(new, None, &for_extended_resources(subject, rules)?, rules, subject)
}

/// `Container`
#[derive(Deserialize)]
struct Container {
    resources: Option<FromObject<Resources>>,
}

/// Returns the tolerations that the Pod gets for the extended resources that its containers request, in byte order;
/// without those that something forbidden overlaps.
fn for_extended_resources(
    subject: &PodSubject<'_, '_>,
    rules: &TolerationRules<'_>,
) -> Result<Vec<Toleration>, Rejection> {
    if !rules.tolerate_extended_resources {
        return Ok(Vec::new());
    }
    let too_many = |most, what| {
        let [containers, init_containers] = CONTAINERS;
        Err(subject.too_many(Excess { most, what }, &format!("{containers} and {}.{init_containers}", subject.path)))
    };
    let (mut names, mut count) = (BTreeSet::new(), 0);
    for list in CONTAINERS {
        let containers = subject.spec.first::<Option<FromObject<Container>>>(list, MOST_CONTAINERS);
        let containers = containers.within(subject.path).within("object")?;
        count += containers.count();
        if count > MOST_CONTAINERS {
            return too_many(MOST_CONTAINERS, "containers");
        }
        for FromObject(resources) in
            containers.elements.into_iter().flatten().filter_map(|container| container.0.resources)
        {
            // The API server writes the limits of Pods among their requests, and not those of templates
            // (`SetDefaults_Pod`).
            let limits = resources.limits.filter(|_| subject.is_template);
            for resource in resources.requests.into_iter().chain(limits).flat_map(|above_zero| above_zero.extended) {
                names.insert(resource);
            }
            if names.len() > MOST_EXTENDED_RESOURCES {
                return too_many(MOST_EXTENDED_RESOURCES, "extended resources");
            }
        }
    }
    let mut permitted = Vec::new();
    for toleration in tolerations_of_extended(&names) {
        match rules.prohibition_of(&toleration) {
            Some(Objection { list, .. }) => list.reject_unresolved()?,
            None => permitted.push(toleration),
        }
    }
    Ok(permitted)
}

/// Returns whether the cluster adds `toleration` by itself, to any Pod or, if it is `of_daemon_set`, to one that the
/// DaemonSet controller makes. Seconds are not compared: they are configured on the API server.
pub fn is_added_by_cluster(toleration: &Toleration, of_daemon_set: bool) -> bool {
    if toleration.operator != EXISTS {
        return false;
    }
    let key = toleration.key.as_str();
    match toleration.effect.as_str() {
        NO_EXECUTE => UNTIL_EVICTED.contains(&key),
        NO_SCHEDULE => key == MEMORY_PRESSURE || of_daemon_set && ON_DAEMON_SETS.contains(&key),
        _ => false,
    }
}

/// Rejects the first of `tolerations` that is forbidden or not allowed. Skips those that the cluster adds, and those
/// `of_extended` resources. `added_by` is the source of tolerations that are not the Pod's own.
fn validate(
    tolerations: &[Toleration],
    added_by: Option<Source<'_>>,
    of_extended: &[Toleration],
    rules: &TolerationRules<'_>,
    subject: &PodSubject<'_, '_>,
) -> Result<(), Rejection> {
    if !rules.validates_anything() {
        return Ok(());
    }
    for toleration in tolerations {
        if of_extended.binary_search(toleration).is_ok() || is_added_by_cluster(toleration, subject.is_of_daemon_set) {
            continue;
        }
        let Some(Objection { list, forbidding }) = rules.objection_to(toleration) else { continue };
        list.reject_unresolved()?;
        // Administrators write RuntimeClasses, so their tolerations are allowed.
        if forbidding.is_none() && subject.runtime_class.scheduling()?.tolerates_same(toleration) {
            continue;
        }
        let (name, shown, source) = (subject.name, quote(&toleration.to_string()), list.source);
        let (what, remedy) = match forbidding {
            Some(forbidding) => (format!("{source} forbids ({})", quote(&forbidding.to_string())), "remove it"),
            None => (format!("{source} does not allow"), "remove it, or have it allowed"),
        };
        let explanation = match added_by {
            Some(adding) => format!(
                "{adding} adds {shown} to {name}, which {what}; change one of the two, or no such Pod can be created"
            ),
            None => format!("{name} tolerates {shown}, which {what}; {remedy}"),
        };
        let kind = if added_by.is_some() { CauseKind::Contradiction } else { CauseKind::Requests };
        let cause = Cause::new(kind).at_annotation(added_by).at(source).taint(toleration);
        return Err(Rejection::with_sentence(TOLERATIONS_CONFLICT, cause, explanation));
    }
    Ok(())
}
