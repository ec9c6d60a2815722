//! Validates Pod templates like Pods, so that mistakes show at `kubectl apply`. Skips workloads that another object
//! controls, except DaemonSets.

use super::entry::CandidateEntries;
use super::injection::PodMutation;
use super::mode::Mode;
use super::node_rules::SourcedRequirement;
use super::pods;
use super::rules::Rules;
use super::severity::Severity;
use super::subject::{PodSubject, RuntimeClass};
use crate::decision::{Cause, CauseKind, Rejection};
use crate::json::{ReadError, Within};
use crate::message::{quote, shorten};
use crate::object_meta::{self, ObjectName, SPEC};
use crate::resource::Resource;
use crate::review::Review;
use crate::settings::{OnDaemonSets, OnRejectedPods, Placement, Setting, SettingPath};

/// Validates a workload, and completes the template of a DaemonSet.
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
        // The Pods of what another object controls are validated, and so is its owner.
        (is_owned || settings.on_workloads == OnRejectedPods::Ignore, settings.on_workloads == OnRejectedPods::Warn)
    };
    // Objects that are being deleted are accepted: removing a finalizer is an update.
    if is_ignored || request.is_for_terminating_object()? || is_template_unchanged(review)? {
        return Ok(());
    }
    complete(review, settings, is_owned, only_warns)
}

/// Validates the template like a Pod. Adds the missing parts to the template of a DaemonSet, or rejects it: its controller
/// plans one Pod per node from the template, and a selector that only its Pods have leaves Pods that can never run.
fn complete(review: &mut Review<'_>, settings: &Placement, is_owned: bool, only_warns: bool) -> Result<(), Rejection> {
    let Review { request, resource, object, decision, lookups, .. } = review;
    let Some(template) = object.object_at(resource.template()).within("object")? else { return Ok(()) };
    let template_path = resource.template().join(".");
    let path = format!("{template_path}.{SPEC}");
    let spec = template.object(SPEC).within(&template_path).within("object")?.unwrap_or_default();
    let name = ObjectName::TemplateOf(*resource, object_meta::name(object).within("object")?);
    let runtime_class = RuntimeClass::new(&spec, settings, lookups).within(&path).within("object")?;
    let is_of_daemon_set = *resource == Resource::DaemonSet;
    let subject = PodSubject {
        name: &name,
        is_template: true,
        path: &path,
        spec: &spec,
        user: Some(&request.user),
        is_of_daemon_set,
        runtime_class,
    };

    let base = if only_warns { Severity::Warn } else { Severity::Reject };
    let entries = CandidateEntries::new(settings, &request.namespace).look_up(lookups);
    let labels = || object_meta::labels(&template).within(&template_path).within("object");
    let matched = entries.and_then(|entries| entries.for_pod(labels));
    let Some(matched) = base.answer(matched, decision)? else { return Ok(()) };
    let severity = if only_warns { base } else { matched.severity() };
    let rules = Rules::for_request(&matched, subject.user, Mode::Template);
    let Some(rules) = matched.answer(rules, severity, decision)? else { return Ok(()) };
    let mutation = matched.answer(pods::admit(&subject, &rules), severity, decision)?;
    let Some(mutation) = mutation else { return Ok(()) };
    // The parts that other templates lack are added to their Pods.
    if mutation.is_empty() || !is_of_daemon_set {
        return Ok(());
    }
    match settings.on_daemon_sets {
        // Anybody can claim an owner, and Pods of a DaemonSet can't be validated by their affinity, which its controller
        // replaces. So the template is validated; but the owner would undo every change for ever.
        OnDaemonSets::Inject | OnDaemonSets::Reject if is_owned => {
            decision.warn_instead(&incomplete(&name, &mutation));
        }
        OnDaemonSets::Inject if severity == Severity::Reject => {
            let written = object.change().object_mut_at(resource.template()).within("object")?;
            mutation.apply(written.object_mut(SPEC)?, decision).within(&path).within("object")?;
        }
        OnDaemonSets::Inject => decision.would_add(&mutation.as_text()),
        OnDaemonSets::Reject | OnDaemonSets::Warn | OnDaemonSets::Ignore => {
            matched.answer::<()>(Err(incomplete(&name, &mutation)), severity, decision)?;
        }
    }
    Ok(())
}

/// Rejects a template that lacks the parts of `mutation`.
fn incomplete(name: &ObjectName, mutation: &PodMutation<'_, '_>) -> Rejection {
    let mut missing = Vec::new();
    for toleration in &mutation.tolerations {
        missing.push(format!("the toleration {}, which its namespace adds to Pods", quote(&toleration.to_string())));
    }
    for SourcedRequirement { requirement, source } in &mutation.added {
        missing.push(format!("{}, which {source} requires", shorten(&requirement.to_string())));
    }
    let explanation = format!(
        "{name} lacks {}; add it to the template, or its Pods are planned for the wrong nodes",
        missing.join(", and ")
    );
    let cause = match (mutation.added.first(), mutation.tolerations.first()) {
        (Some(required), _) => required.cause(CauseKind::Requests),
        (None, missing) => {
            let setting = SettingPath::Placement(Setting::OnDaemonSets);
            let cause = Cause::new(CauseKind::Requests).setting(setting);
            if let Some(toleration) = missing { cause.taint(toleration) } else { cause }
        }
    };
    Rejection::forbidden(cause, explanation)
}

/// Returns whether this is an update that leaves the Pod template as it was: old workloads must stay usable.
fn is_template_unchanged(review: &Review<'_>) -> Result<bool, ReadError> {
    let Review { request, object, resource, .. } = review;
    if !request.is_update() {
        return Ok(false);
    }
    let old = request.old_object()?.object_at(resource.template()).within("oldObject")?;
    Ok(object.object_at(resource.template()).within("object")? == old)
}
