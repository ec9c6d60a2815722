//! Workloads: their Pod templates are judged as Pods made from them would be, where the person who applies them sees
//! it. What another object controls is left to its owner, but for DaemonSets.

use super::additions::Additions;
use super::holding_entry::{CandidateEntries, HoldingEntry};
use super::judged::{self, Judged};
use super::node_selection::NodeSelection;
use super::rules::Rules;
use super::sourced::SourcedRequirement;
use super::{pods, runtime_classes};
use crate::cluster::Answer;
use crate::decision::{CauseKind, Rejection};
use crate::json::{ReadError, Within};
use crate::message::{quote, shorten};
use crate::object_meta::{self, ObjectName};
use crate::resource::Resource;
use crate::review::Review;
use crate::settings::{OnDaemonSets, OnWorkloads, Placement};

/// Judges a workload, and completes the template of a DaemonSet.
///
/// # Errors
/// The first rule that its Pods would break.
pub fn admit(review: &mut Review<'_>, settings: &Placement) -> Result<(), Rejection> {
    let Review { request, object, resource, .. } = &*review;
    let is_owned = object_meta::kind_of_controller(object).within("object")?.is_some();
    let is_of_daemon_set = *resource == Resource::DaemonSet;
    let (is_ignored, only_warns) = if is_of_daemon_set {
        (settings.on_daemon_sets == OnDaemonSets::Ignore, settings.on_daemon_sets == OnDaemonSets::Warn)
    } else {
        // The Pods of what another object controls are judged, and so is its owner.
        (is_owned || settings.on_workloads == OnWorkloads::Ignore, settings.on_workloads == OnWorkloads::Warn)
    };
    // An object that is being deleted is let through: to remove a finalizer is an update.
    if is_ignored || request.is_about_terminating()? || is_unchanged(review)? {
        return Ok(());
    }
    let Some(template) = object.object_at(resource.template()).within("object")? else { return Ok(()) };
    let path = format!("object.{}.spec", resource.template().join("."));
    let spec = template.object("spec").within(&path)?.cloned().unwrap_or_default();
    let name = ObjectName::TemplateOf(*resource, object_meta::name(object).within("object")?);
    let (namespace, requester) = (request.namespace.clone(), request.requester.clone());
    let class_name = judged::class_name(&spec, settings).within(&path)?;
    let mut template = Judged::new(&name, (&path, &spec), &requester, class_name);
    template.is_of_daemon_set = is_of_daemon_set;

    let answer = Answer::new();
    let completed = match CandidateEntries::of(settings, &namespace).look_up(review.cluster, &answer) {
        Ok(holding) => {
            let completed = complete(&mut template, is_owned, &holding, review);
            if only_warns { completed } else { holding.enforce(completed, &mut review.decision).map(drop) }
        }
        Err(rejection) => Err(rejection),
    };
    match completed {
        Err(rejection) if only_warns && !rejection.is_bad_request() => {
            review.decision.warn_instead(&rejection);
            Ok(())
        }
        completed => completed,
    }
}

/// Judges `template` as a Pod made from it would be. What that of a DaemonSet lacks is added, or a reason to reject it:
/// its controller plans one Pod per node from the template, and a selector that only the Pods have leaves Pods that can
/// never run.
fn complete(
    template: &mut Judged<'_>,
    is_owned: bool,
    holding: &HoldingEntry<'_>,
    review: &mut Review<'_>,
) -> Result<(), Rejection> {
    let own = NodeSelection::read(template.spec).within(template.path)?;
    let rules = Rules::of(holding, template.requester)?;
    runtime_classes::resolve_for(template, &rules, review.cluster)?;
    // Labels of its class count as chosen.
    let rules = rules.for_pod(&own.clone().with_pairs(&template.class.node_selector));
    let additions = pods::admit(own, template, &rules)?;
    // What other templates lack, their Pods get.
    if additions.are_empty() || !template.is_of_daemon_set {
        return Ok(());
    }
    match holding.settings.on_daemon_sets {
        // Anybody can claim an owner, and Pods of a DaemonSet can't be judged by their affinity, which its controller
        // replaces. So the template is judged; but the owner would undo every change for ever.
        OnDaemonSets::Inject | OnDaemonSets::Reject if is_owned => {
            review.decision.warn_instead(&incomplete(template.name, &additions));
        }
        OnDaemonSets::Inject if holding.is_enforced() => {
            additions.record(&mut review.decision);
            let written = review.object.object_mut_at(review.resource.template()).within("object")?;
            additions.write(written.object_mut("spec")?).within(template.path)?;
            review.is_changed = true;
        }
        OnDaemonSets::Inject => review.decision.would_add(&additions.in_words()),
        OnDaemonSets::Reject | OnDaemonSets::Warn | OnDaemonSets::Ignore => {
            return Err(incomplete(template.name, &additions));
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
    let explanation = format!(
        "{name} lacks {}; add it to the template, or its Pods are planned for the wrong nodes",
        missing.join(", and ")
    );
    let rejection = Rejection::forbidden(CauseKind::Asks, explanation);
    match (additions.injection.requirements().next(), additions.tolerations.first()) {
        (Some(SourcedRequirement { requirement, source }), _) => {
            rejection.demanded_at(source).about_label(requirement.key()).demanding(requirement)
        }
        (None, Some(toleration)) => rejection.about_taint(toleration).by_setting("placement.onDaemonSets"),
        (None, None) => rejection,
    }
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
