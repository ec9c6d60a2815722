//! Workloads: their Pod templates are judged as Pods made from them would be, where the person who applies them sees it.
//! What another object controls is left to its owner, but for DaemonSets.

use super::holding_entry::{CandidateEntries, HoldingEntry};
use super::judged::Judged;
use super::node_selection::NodeSelection;
use super::pods::{self, Additions};
use super::rules::Rules;
use super::{named_node, runtime_classes};
use crate::cluster::{Answer, Cluster};
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::message::{quote, shorten};
use crate::object_meta::{self, ObjectName};
use crate::request::{Request, Requester};
use crate::settings::{OnDaemonSets, OnWorkloads, Placement};
use crate::toleration::AddedTo;
use crate::workload::Workload;

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
    fn of(workload: Workload, is_owned: bool, settings: &Placement) -> Self {
        if workload != Workload::DaemonSet {
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
}

impl Treatment {
    const fn only_warns(self) -> bool {
        matches!(self, Self::Warn | Self::WarnIncomplete)
    }
}

/// Judges a workload, and completes the template of a DaemonSet in `object`. Returns whether anything was added.
///
/// # Errors
/// The first rule that its Pods would break.
pub fn admit(
    workload: Workload,
    request: &Request<'_>,
    object: &mut RawObject<'_>,
    settings: &Placement,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<bool, Rejection> {
    let is_owned = object_meta::kind_of_controller(object).within("object")?.is_some();
    let treatment = Treatment::of(workload, is_owned, settings);
    // An object that is being deleted is let through: to remove a finalizer is an update.
    if treatment == Treatment::Ignore || request.is_about_terminating()? || is_unchanged(workload, request, object)? {
        return Ok(false);
    }
    let Some(template) = object.object_at(workload.template()).within("object")? else { return Ok(false) };
    let path = format!("object.{}", workload.template().join("."));
    let spec = template.object("spec").within(&path)?.cloned().unwrap_or_default();
    let name = ObjectName::template_of(workload.kind(), object);
    let template = Template { workload, requester: &request.requester, name, path: format!("{path}.spec"), spec };

    let candidates = CandidateEntries::of(settings, &request.namespace);
    let answer = Answer::new();
    let holding = match candidates.look_up(cluster, &answer) {
        Ok(holding) => holding,
        Err(rejection) => return warn_or_reject(treatment, rejection, decision),
    };
    let admitted = template.admit_and_treat(treatment, &holding, object, cluster, decision);
    match admitted {
        Err(rejection) if treatment.only_warns() => warn_or_reject(treatment, rejection, decision),
        admitted => Ok(holding.enforce(admitted, decision)?.unwrap_or_default()),
    }
}

fn warn_or_reject(treatment: Treatment, rejection: Rejection, decision: &mut Decision<'_>) -> Result<bool, Rejection> {
    if !treatment.only_warns() || rejection.is_bad_request() {
        return Err(rejection);
    }
    decision.warn_instead(&rejection);
    Ok(false)
}

/// A Pod template that is judged.
struct Template<'t> {
    workload: Workload,
    requester: &'t Requester,
    name: ObjectName,
    /// Where its PodSpec stands.
    path: String,
    spec: RawObject<'t>,
}

impl Template<'_> {
    /// Judges the template as a Pod made from it would be, and does what the settings say. Returns whether anything was
    /// written into `object`.
    fn admit_and_treat(
        &self,
        treatment: Treatment,
        holding: &HoldingEntry<'_>,
        object: &mut RawObject<'_>,
        cluster: &impl Cluster,
        decision: &mut Decision<'_>,
    ) -> Result<bool, Rejection> {
        let Self { requester, name, path, spec, .. } = self;
        let own = NodeSelection::read(spec).within(path)?;
        let class_name = runtime_classes::name_to_resolve(spec, holding.settings).within(path)?;
        let rules = Rules::of(holding, requester)?;
        let class = runtime_classes::of_template(&class_name, &rules.nodes, &rules.tolerations, cluster)?;
        // Labels of its class count as chosen.
        let rules = rules.for_pod(&own.clone().with_pairs(class.node_selector()));
        let Rules { nodes, tolerations } = &rules;
        let added_to = if self.workload == Workload::DaemonSet { AddedTo::DaemonSetPod } else { AddedTo::AnyPod };
        let judged = Judged { name, path, added_to, is_pinned: false, class: &class, class_name: &class_name };
        let additions = pods::admit(own, spec, &judged, nodes, tolerations)?;
        let node_name = spec.string("nodeName").within(path)?;
        named_node::must_match(&node_name, nodes, requester, name)?;
        if holding.is_enforced() || additions.are_empty() {
            return self.treat(treatment, &additions, object, decision);
        }
        match treatment {
            Treatment::Inject => decision.would_add(&additions.in_words()),
            _ => return self.treat(treatment, &additions, object, decision),
        }
        Ok(false)
    }

    /// Does about `additions` what the settings say. Returns whether anything was written into `object`.
    fn treat(
        &self,
        treatment: Treatment,
        additions: &Additions<'_>,
        object: &mut RawObject<'_>,
        decision: &mut Decision<'_>,
    ) -> Result<bool, Rejection> {
        if additions.are_empty() {
            return Ok(false);
        }
        match treatment {
            Treatment::Ignore | Treatment::Reject | Treatment::Warn => Ok(false),
            Treatment::RejectIncomplete | Treatment::WarnIncomplete => Err(self.incomplete(additions)),
            Treatment::WarnOwner => {
                decision.warn_instead(&self.incomplete(additions));
                Ok(false)
            }
            Treatment::Inject => {
                additions.record(decision);
                let template = object.object_mut_at(self.workload.template()).within("object")?;
                additions.write(template.object_mut("spec")?).within(&self.path)?;
                Ok(true)
            }
        }
    }

    /// What the template lacks of `additions`, which are not empty.
    fn incomplete(&self, additions: &Additions<'_>) -> Rejection {
        let name = &self.name;
        let mut missing = Vec::new();
        for toleration in additions.tolerations.iter() {
            missing
                .push(format!("the toleration {}, which its namespace adds to Pods", quote(&toleration.to_string())));
        }
        for demanded in additions.injection.requirements() {
            missing.push(format!("{}, which {} demands", shorten(&demanded.requirement.to_string()), demanded.source));
        }
        Rejection::forbidden(format!(
            "{name} lacks {}; add it to the template, or its Pods are planned for the wrong nodes",
            missing.join(", and ")
        ))
    }
}

/// Whether this is an update that leaves the Pod template as it was: old workloads must stay usable.
fn is_unchanged(workload: Workload, request: &Request<'_>, object: &RawObject<'_>) -> Result<bool, ReadError> {
    if !request.is_update() {
        return Ok(false);
    }
    let old = request.old_object()?.object_at(workload.template()).within("oldObject")?;
    Ok(object.object_at(workload.template()).within("object")? == old)
}
