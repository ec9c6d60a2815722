//! Workloads: their Pod templates are judged as Pods made from them would be, where the person who applies them sees it.
//! What another object controls is left to its owner, but for DaemonSets.

use super::additions::Additions;
use super::holding_entry::{CandidateEntries, HoldingEntry};
use super::judged::Judged;
use super::node_selection::NodeSelection;
use super::rules::Rules;
use super::{pods, runtime_classes};
use crate::cluster::Answer;
use crate::decision::Rejection;
use crate::json::{ReadError, Within};
use crate::message::{quote, shorten};
use crate::object_meta::{self, ObjectName};
use crate::resource::Resource;
use crate::review::Review;
use crate::settings::{OnDaemonSets, OnWorkloads, Placement};

/// What is done about a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// What its namespace demands is added; what breaks a rule is rejected. For DaemonSets: their controller plans one
    /// Pod per node from the template, and a selector that only the Pods have leaves Pods that can never run.
    Inject,
    /// What breaks a rule is rejected; what lacks the namespace's selector is fine, for its Pods will get it.
    Reject,
    /// Rejected too if it lacks the namespace's selector.
    RejectIncomplete,
    /// What breaks a rule gets a warning.
    Warn,
    /// A warning too if it lacks the namespace's selector.
    WarnIncomplete,
    /// What breaks a rule is rejected; what lacks the namespace's selector gets a warning, since the owner of the
    /// workload would undo every change for ever.
    WarnOwner,
    /// It is not looked at.
    Ignore,
}

impl Treatment {
    fn of(resource: Resource, is_owned: bool, settings: &Placement) -> Self {
        if resource != Resource::DaemonSet {
            return match settings.on_workloads {
                // The Pods of what another object controls are judged, and so is its owner.
                _ if is_owned => Self::Ignore,
                OnWorkloads::Reject => Self::Reject,
                OnWorkloads::Warn => Self::Warn,
                OnWorkloads::Ignore => Self::Ignore,
            };
        }
        match settings.on_daemon_sets {
            OnDaemonSets::Ignore => Self::Ignore,
            OnDaemonSets::Warn => Self::WarnIncomplete,
            // Anybody can claim an owner, and Pods of a DaemonSet can't be judged by their affinity: its controller
            // replaces it. So the template is judged.
            OnDaemonSets::Inject | OnDaemonSets::Reject if is_owned => Self::WarnOwner,
            OnDaemonSets::Inject => Self::Inject,
            OnDaemonSets::Reject => Self::RejectIncomplete,
        }
    }

    const fn only_warns(self) -> bool {
        matches!(self, Self::Warn | Self::WarnIncomplete)
    }
}

/// Judges a workload, and completes the template of a DaemonSet.
///
/// # Errors
/// The first rule that its Pods would break.
pub fn admit(review: &mut Review<'_>, settings: &Placement) -> Result<(), Rejection> {
    let Review { request, object, resource, .. } = &*review;
    let is_owned = object_meta::kind_of_controller(object).within("object")?.is_some();
    let treatment = Treatment::of(*resource, is_owned, settings);
    // An object that is being deleted is let through: to remove a finalizer is an update.
    if treatment == Treatment::Ignore || request.is_about_terminating()? || is_unchanged(review)? {
        return Ok(());
    }
    let Some(template) = object.object_at(resource.template()).within("object")? else { return Ok(()) };
    let path = format!("object.{}.spec", resource.template().join("."));
    let spec = template.object("spec").within(&path)?.cloned().unwrap_or_default();
    let name = ObjectName::TemplateOf(*resource, object_meta::name(object).unwrap_or_default());
    let (namespace, requester) = (request.namespace.clone(), request.requester.clone());
    let mut template = Judged::new(&name, (&path, &spec), &requester, settings)?;
    template.is_of_daemon_set = *resource == Resource::DaemonSet;

    let answer = Answer::new();
    let treated = match CandidateEntries::of(settings, &namespace).look_up(review.cluster, &answer) {
        Ok(holding) => {
            let treated = treat(&mut template, treatment, &holding, review);
            if treatment.only_warns() { treated } else { holding.enforce(treated, &mut review.decision).map(drop) }
        }
        Err(rejection) => Err(rejection),
    };
    match treated {
        Err(rejection) if treatment.only_warns() && !rejection.is_bad_request() => {
            review.decision.warn_instead(&rejection);
            Ok(())
        }
        treated => treated,
    }
}

/// Judges `template` as a Pod made from it would be, and does about what it lacks what the settings say.
fn treat(
    template: &mut Judged<'_>,
    treatment: Treatment,
    holding: &HoldingEntry<'_>,
    review: &mut Review<'_>,
) -> Result<(), Rejection> {
    let own = NodeSelection::read(template.spec).within(template.path)?;
    let rules = Rules::of(holding, template.requester)?;
    runtime_classes::resolve_for(template, &rules, review.cluster)?;
    // Labels of its class count as chosen.
    let rules = rules.for_pod(&own.clone().with_pairs(template.class.node_selector()));
    let additions = pods::admit(own, template, &rules)?;
    if additions.are_empty() {
        return Ok(());
    }
    match treatment {
        Treatment::Ignore | Treatment::Reject | Treatment::Warn => {}
        Treatment::RejectIncomplete | Treatment::WarnIncomplete => return Err(incomplete(template.name, &additions)),
        Treatment::WarnOwner => review.decision.warn_instead(&incomplete(template.name, &additions)),
        Treatment::Inject if !holding.is_enforced() => review.decision.would_add(&additions.in_words()),
        Treatment::Inject => {
            additions.record(&mut review.decision);
            let written = review.object.object_mut_at(review.resource.template()).within("object")?;
            additions.write(written.object_mut("spec")?).within(template.path)?;
            review.is_changed = true;
        }
    }
    Ok(())
}

/// What the template lacks of `additions`, which are not empty.
fn incomplete(name: &ObjectName, additions: &Additions<'_>) -> Rejection {
    let mut missing = Vec::new();
    for toleration in &additions.tolerations {
        missing.push(format!("the toleration {}, which its namespace adds to Pods", quote(&toleration.to_string())));
    }
    for demanded in additions.injection.requirements() {
        missing.push(format!("{}, which {} demands", shorten(&demanded.requirement.to_string()), demanded.source));
    }
    Rejection::forbidden(format!(
        "{name} lacks {}; add it to the template, or its Pods are planned for the wrong nodes",
        missing.join(", and ")
    ))
}

/// Whether this is an update that leaves the Pod template as it was: old workloads must stay usable.
fn is_unchanged(review: &Review<'_>) -> Result<bool, ReadError> {
    let Review { request, object, resource, .. } = review;
    if !request.is_update() {
        return Ok(false);
    }
    let old = request.old_object()?.object_at(resource.template()).within("oldObject")?;
    Ok(object.object_at(resource.template()).within("object")? == old)
}
