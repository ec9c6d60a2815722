//! Tolerations of Pods: what their namespace adds, what is added for extended resources, and what they may and must not
//! tolerate.

use std::collections::BTreeSet;

use super::judged::Judged;
use super::toleration_rules::{Objection, TolerationRules};
use crate::decision::{CauseKind, Rejection};
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::message::quote;
use crate::pod_spec;
use crate::settings::Source;
use crate::toleration::{self, Effect, Operator, Resources, Toleration, tolerations_of_extended};

/// How the plugin says that a Pod is rejected; then it says whose whitelist forbids the tolerations.
pub const CONFLICT: &str = "pod tolerations (possibly merged with namespace default tolerations) conflict with its";

/// The member of a PodSpec that holds them.
pub const TOLERATIONS: &str = "tolerations";

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

/// `tolerations`, as the audit log has them.
pub fn in_words(tolerations: &[Toleration]) -> String {
    tolerations.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The tolerations of `spec`, a PodSpec.
///
/// # Errors
/// They can't be read.
pub fn read(spec: &RawObject<'_>) -> Result<Vec<Toleration>, ReadError> {
    Ok(spec.get(TOLERATIONS)?.unwrap_or_default())
}

/// Judges the tolerations that a Pod has, and those that it gets. Returns the latter.
///
/// # Errors
/// The first toleration that is forbidden or not allowed.
pub fn admit(judged: &Judged<'_>, rules: &TolerationRules<'_>) -> Result<Vec<Toleration>, Rejection> {
    if rules.are_empty() {
        return Ok(Vec::new());
    }
    if let Some(unresolved) = rules.defaults.as_ref().and_then(|list| list.unresolved.as_ref()) {
        return Err(unresolved.clone());
    }
    let own = read(judged.spec).within(judged.path)?;
    let of_extended = for_extended_resources(judged, rules)?;
    let wanted = rules.defaults.as_ref().map(|list| list.tolerations.to_vec()).unwrap_or_default();
    let mut added = toleration::missing(&own, wanted);
    reject(&own, None, &of_extended, rules, judged)?;
    reject(&added, rules.defaults.as_ref().map(|list| list.source), &of_extended, rules, judged)?;
    added.extend(lacking_of_extended(&own, &added, of_extended));
    Ok(added)
}

/// Judges what the Pods of a template get from their RuntimeClass.
///
/// # Errors
/// The first toleration that is forbidden.
pub fn judge_class(judged: &Judged<'_>, rules: &TolerationRules<'_>) -> Result<(), Rejection> {
    reject(&judged.class.tolerations, None, &[], rules, judged)
}

/// Judges those tolerations of an updated Pod that it did not have before.
///
/// # Errors
/// The first that is forbidden or not allowed.
pub fn judge_new(new: &[Toleration], judged: &Judged<'_>, rules: &TolerationRules<'_>) -> Result<(), Rejection> {
    let of_extended = for_extended_resources(judged, rules)?;
    reject(new, None, &of_extended, rules, judged)
}

/// Those of `tolerations` that are not among `old`.
pub fn new_among(tolerations: Vec<Toleration>, old: &[Toleration]) -> Vec<Toleration> {
    let mut before = BTreeSet::new();
    before.extend(old);
    tolerations.into_iter().filter(|toleration| !before.contains(toleration)).collect()
}

/// The tolerations that the Pod gets for the extended resources that its containers request, in byte order; without
/// those that something forbidden overlaps.
fn for_extended_resources(judged: &Judged<'_>, rules: &TolerationRules<'_>) -> Result<Vec<Toleration>, Rejection> {
    if !rules.tolerate_extended_resources {
        return Ok(Vec::new());
    }
    let resources = pod_spec::resources_of_containers(judged.spec).within(judged.path)?;
    let mut tolerations = if judged.is_template() {
        tolerations_of_extended(resources.iter().flat_map(Resources::requested_by_template))
    } else {
        tolerations_of_extended(resources.iter().flat_map(Resources::requested))
    };
    let unresolved = rules.forbidden.as_ref().and_then(|list| list.unresolved.as_ref());
    if let Some(unresolved) = unresolved.filter(|_| !tolerations.is_empty()) {
        return Err(unresolved.clone());
    }
    tolerations.retain(|toleration| !rules.forbid(toleration));
    Ok(tolerations)
}

/// Those of `of_extended` that nothing of `own` and `defaults` covers. There may be as many as somebody writes, so they
/// are found by key.
fn lacking_of_extended(own: &[Toleration], defaults: &[Toleration], of_extended: Vec<Toleration>) -> Vec<Toleration> {
    let covering = own.iter().chain(defaults).filter(|toleration| {
        toleration.operator == Operator::Exists && matches!(toleration.effect, Effect::NoSchedule | Effect::Omitted)
    });
    let keys = keys_of(covering);
    let lacks = |toleration: &Toleration| !keys.contains("") && !keys.contains(toleration.key.as_str());
    of_extended.into_iter().filter(lacks).collect()
}

fn keys_of<'t>(tolerations: impl IntoIterator<Item = &'t Toleration>) -> BTreeSet<&'t str> {
    let mut keys = BTreeSet::new();
    // `extend`, not `collect`: collecting a set sorts first, with code for each type, and the module must stay small.
    keys.extend(tolerations.into_iter().map(|toleration| toleration.key.as_str()));
    keys
}

/// Rejects the first of `tolerations` that is forbidden or not allowed; `added_by` is where they come from, if not from
/// the Pod. Not judged are those that the cluster adds by itself, and those `of_extended` resources.
fn reject(
    tolerations: &[Toleration],
    added_by: Option<Source<'_>>,
    of_extended: &[Toleration],
    rules: &TolerationRules<'_>,
    judged: &Judged<'_>,
) -> Result<(), Rejection> {
    if !rules.judge_anything() {
        return Ok(());
    }
    let extended = keys_of(of_extended);
    for toleration in tolerations {
        let is_of_extended = extended.contains(toleration.key.as_str())
            && toleration.same_as(&Toleration::exists(&toleration.key, Effect::NoSchedule));
        if is_of_extended || toleration.is_added_by_cluster(judged.is_of_daemon_set) {
            continue;
        }
        let (what, source, remedy, is_by_whitelist) = match rules.objection_to(toleration) {
            None => continue,
            Some(Objection::Unresolved(rejection)) => return Err(rejection.clone()),
            // What the Pod's RuntimeClass brings is the administrator's.
            Some(Objection::NotAllowed { .. }) if judged.class.tolerates_same(toleration) => continue,
            Some(Objection::Forbidden { forbidding, source }) => {
                (format!("{source} forbids ({})", quote(&forbidding.to_string())), source, "remove it", false)
            }
            Some(Objection::NotAllowed { source }) => {
                (format!("{source} does not allow"), source, "remove it, or have it allowed", true)
            }
        };
        let (name, shown) = (judged.name, quote(&toleration.to_string()));
        let explanation = match added_by {
            Some(source) => format!(
                "{source} adds {shown} to {name}, which {what}; change one of the two, or no such Pod can be created"
            ),
            None => format!("{name} tolerates {shown}, which {what}; {remedy}"),
        };
        let kind = if judged.class.tolerates_same(toleration) { CauseKind::RuntimeClass } else { CauseKind::Asks };
        let rejection = Rejection::with_sentence(kind, format!("{CONFLICT} namespace whitelist"), explanation);
        let rejection = rejection.demanded_at(source).in_namespace(rules.namespace).about_taint(toleration);
        return Err(if is_by_whitelist { rejection.by_whitelist() } else { rejection });
    }
    Ok(())
}
