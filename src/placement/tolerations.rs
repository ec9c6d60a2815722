//! Tolerations of Pods: what their namespace adds, and what they may and must not tolerate.

use std::collections::BTreeSet;

use json::{Mismatch, Object, Within};

use super::pods::Judged;
use super::toleration_demands::{Objection, TolerationDemands};
use crate::decision::{Decision, Rejection};
use crate::message::quote;
use crate::pod_spec;
use crate::settings::Origin;
use crate::toleration::{
    self, CONFLICT, Effect, Operator, Toleration, requested, requested_by_template, tolerations_of_extended,
};

/// The member of a PodSpec that holds them.
const TOLERATIONS: &str = "tolerations";

/// What was added to the tolerations of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedTolerations {
    /// The defaults.
    defaults: Vec<Toleration>,
    /// Those for extended resources.
    of_extended: Vec<Toleration>,
}

impl AddedTolerations {
    /// The first of it.
    pub fn first(&self) -> Option<&Toleration> {
        self.defaults.iter().chain(&self.of_extended).next()
    }

    /// Tells the audit log what was added.
    pub fn record(&self, decision: &mut Decision) {
        let added: Vec<String> = self.defaults.iter().chain(&self.of_extended).map(ToString::to_string).collect();
        if !added.is_empty() {
            decision.audit("tolerations", added.join(","));
        }
    }
}

/// The tolerations of `spec`, a PodSpec.
///
/// # Errors
/// They can't be read.
pub fn read(spec: &Object) -> Result<Vec<Toleration>, Mismatch> {
    match spec.get(TOLERATIONS) {
        Some(list) => toleration::tolerations(list).within(TOLERATIONS),
        None => Ok(Vec::new()),
    }
}

/// Adds to `spec` the tolerations that `demands` has for it, and judges all it has then.
///
/// # Errors
/// The first toleration that is forbidden or not allowed.
pub fn admit(
    spec: &mut Object,
    judged: &Judged<'_>,
    demands: &TolerationDemands,
) -> Result<AddedTolerations, Rejection> {
    let path = judged.path;
    if demands.are_empty() {
        return Ok(AddedTolerations::default());
    }
    let own = read(spec).within(path)?;
    let of_extended = for_extended_resources(spec, judged, demands).within(path)?;
    let wanted = demands.defaults.as_ref().map(|list| list.tolerations.clone()).unwrap_or_default();
    let defaults = toleration::missing(&own, wanted);
    let lacking = lacking_of_extended(&own, &defaults, &of_extended);
    let added = AddedTolerations { defaults, of_extended: lacking };
    for toleration in added.defaults.iter().chain(&added.of_extended) {
        spec.list_mut(TOLERATIONS).within(path)?.push(Object::from(toleration));
    }
    let judge = Judge { demands, of_extended: &of_extended, judged };
    judge.reject(&own, None)?;
    judge.reject(&added.defaults, demands.defaults.as_ref().map(|list| &list.origin))?;
    Ok(added)
}

/// Judges those tolerations of an updated Pod that it did not have before.
///
/// # Errors
/// The first that is forbidden or not allowed.
pub fn judge_update(
    spec: &Object,
    new: &[Toleration],
    judged: &Judged<'_>,
    demands: &TolerationDemands,
) -> Result<(), Rejection> {
    let of_extended = for_extended_resources(spec, judged, demands).within(judged.path)?;
    Judge { demands, of_extended: &of_extended, judged }.reject(new, None)
}

/// Those of `tolerations` that are not among `old`.
pub fn new_among(tolerations: Vec<Toleration>, old: &[Toleration]) -> Vec<Toleration> {
    let mut before = BTreeSet::new();
    before.extend(old);
    tolerations.into_iter().filter(|toleration| !before.contains(toleration)).collect()
}

/// The tolerations that the Pod gets for the extended resources that its containers request, in byte order; without those
/// that something forbidden overlaps.
fn for_extended_resources(
    spec: &Object,
    judged: &Judged<'_>,
    demands: &TolerationDemands,
) -> Result<Vec<Toleration>, Mismatch> {
    if !demands.tolerate_extended_resources {
        return Ok(Vec::new());
    }
    let names = if judged.is_template() { requested_by_template } else { requested };
    let requested = pod_spec::resources_of_containers(spec, names)?;
    let mut tolerations = tolerations_of_extended(requested.into_iter().flatten());
    tolerations.retain(|toleration| !demands.forbids(toleration));
    Ok(tolerations)
}

/// Those of `of_extended` that nothing of `own` and `defaults` covers. There may be as many as somebody writes, so they are
/// found by key.
fn lacking_of_extended(own: &[Toleration], defaults: &[Toleration], of_extended: &[Toleration]) -> Vec<Toleration> {
    let covering = own.iter().chain(defaults).filter(|toleration| {
        toleration.operator == Operator::Exists && matches!(toleration.effect, Effect::NoSchedule | Effect::Omitted)
    });
    let keys = keys_of(covering);
    if keys.contains("") {
        return Vec::new();
    }
    of_extended.iter().filter(|toleration| !keys.contains(toleration.key.as_str())).cloned().collect()
}

fn keys_of<'t>(tolerations: impl IntoIterator<Item = &'t Toleration>) -> BTreeSet<&'t str> {
    let mut keys = BTreeSet::new();
    // To collect a set is to sort first, and code that sorts is long, for each type anew.
    keys.extend(tolerations.into_iter().map(|toleration| toleration.key.as_str()));
    keys
}

/// What tolerations of a Pod are judged by.
struct Judge<'j> {
    demands: &'j TolerationDemands,
    /// What the Pod gets for its extended resources, which is not judged.
    of_extended: &'j [Toleration],
    judged: &'j Judged<'j>,
}

impl Judge<'_> {
    /// Rejects the first of `tolerations` that is forbidden or not allowed; `origin` is who had them added.
    fn reject(&self, tolerations: &[Toleration], origin: Option<&Origin>) -> Result<(), Rejection> {
        if !self.demands.judge_anything() {
            return Ok(());
        }
        let extended = keys_of(self.of_extended);
        for toleration in tolerations {
            if self.is_exempt(toleration, &extended) {
                continue;
            }
            let (what, remedy) = match self.demands.objection_to(toleration) {
                None => continue,
                Some(Objection::Forbidden { forbidding, origin }) => {
                    (format!("{origin} forbids ({})", quote(&forbidding.to_string())), "remove it")
                }
                Some(Objection::NotAllowed { origin }) => {
                    (format!("{origin} does not allow"), "remove it, or have it allowed")
                }
            };
            return Err(self.rejection(toleration, &what, remedy, origin));
        }
        Ok(())
    }

    /// Whether it is not the requester's: the cluster adds it by itself, or the policy does for a resource.
    fn is_exempt(&self, toleration: &Toleration, extended: &BTreeSet<&str>) -> bool {
        let is_of_extended = extended.contains(toleration.key.as_str())
            && toleration.same_as(&Toleration::exists(&toleration.key, Effect::NoSchedule));
        is_of_extended || self.judged.added_to.has(toleration)
    }

    fn rejection(&self, toleration: &Toleration, what: &str, remedy: &str, origin: Option<&Origin>) -> Rejection {
        let shown = quote(&toleration.to_string());
        let named = self.judged.named;
        let problem = match origin {
            Some(origin) => format!(
                "{origin} adds {shown} to {named}, which {what}; change one of the two, or no such Pod can be created"
            ),
            None => format!("{named} tolerates {shown}, which {what}; {remedy}"),
        };
        Rejection::with_sentence(format!("{CONFLICT} namespace whitelist"), problem)
    }
}
