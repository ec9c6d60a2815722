//! Workloads: their Pod templates are judged as Pods made from them would be, where the person who applies them sees it.

use json::{Mismatch, Object, Within};

use super::asked::SpecAt;
use super::demands::NamespaceDemands;
use super::pods::{Admitted, Judged};
use super::possible_demands::PossibleDemands;
use super::{named_node, pods};
use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::message::{quote, shorten};
use crate::object_meta::{self, Named};
use crate::request::{Request, Requester};
use crate::settings::{OnDaemonSets, OnWorkloads, Placement};
use crate::toleration::AddedTo;
use crate::workload::Workload;

/// What is done about a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// What its namespace demands is added; what breaks a rule is rejected. For DaemonSets: their controller plans one Pod
    /// per node from the template, and a selector that only the Pods have leaves Pods that can never run.
    Inject,
    /// What breaks a rule is rejected; what lacks the namespace's selector is fine, for its Pods will get it.
    Reject,
    /// Rejected too if it lacks the namespace's selector.
    RejectIncomplete,
    /// What breaks a rule gets a warning.
    Warn,
    /// A warning too if it lacks the namespace's selector.
    WarnIncomplete,
}

impl Treatment {
    /// That of `workload`; nothing, where that is not looked at.
    fn of(workload: Workload, settings: &Placement<'_>) -> Result<Option<Self>, Rejection> {
        if workload == Workload::DaemonSet {
            return Ok(match settings.on_daemon_sets()? {
                OnDaemonSets::Inject => Some(Self::Inject),
                OnDaemonSets::Reject => Some(Self::RejectIncomplete),
                OnDaemonSets::Warn => Some(Self::WarnIncomplete),
                OnDaemonSets::Ignore => None,
            });
        }
        Ok(match settings.on_workloads()? {
            OnWorkloads::Reject => Some(Self::Reject),
            OnWorkloads::Warn => Some(Self::Warn),
            OnWorkloads::Ignore => None,
        })
    }

    const fn only_warns(self) -> bool {
        matches!(self, Self::Warn | Self::WarnIncomplete)
    }

    const fn must_be_complete(self) -> bool {
        matches!(self, Self::RejectIncomplete | Self::WarnIncomplete)
    }
}

/// Judges a workload, and completes the template of a DaemonSet in `object`.
///
/// # Errors
/// The first rule that its Pods would break.
pub fn admit(
    workload: Workload,
    request: &Request,
    object: &mut Object,
    settings: &Placement<'_>,
    cluster: &impl Cluster,
) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let Some(treatment) = Treatment::of(workload, settings)? else { return Ok(decision) };
    if request.is_about_terminating()? || is_unchanged(workload, request, object)? {
        return Ok(decision);
    }
    let is_owned = object_meta::kind_of_controller(object).within("object")?.is_some();
    // The Pods of what another object controls are judged, and so is its owner. But anybody can claim an owner, and the
    // Pods of a DaemonSet can't be judged by their affinity: its controller replaces it.
    if is_owned && workload != Workload::DaemonSet {
        return Ok(decision);
    }
    let Some(template) = object.object_at(workload.template()).within("object")? else { return Ok(decision) };
    let template = Template {
        workload,
        settings,
        namespace: &request.namespace,
        requester: request.requester()?,
        named: Named::template_of(workload.kind(), object),
        spec: template.object("spec").within(&path_of(workload))?.cloned().unwrap_or_default(),
    };
    let judged = if is_owned {
        template.treat_owned(cluster, &mut decision)
    } else {
        template.treat(treatment, object, cluster, &mut decision)
    };
    match judged {
        Err(rejection) if treatment.only_warns() && !rejection.is_bad_request() => {
            decision.warn_instead(&rejection);
            Ok(decision)
        }
        Err(rejection) => Err(rejection),
        Ok(()) => Ok(decision),
    }
}

/// A Pod template that is judged, and by what.
struct Template<'t> {
    workload: Workload,
    settings: &'t Placement<'t>,
    namespace: &'t str,
    requester: Requester,
    named: Named,
    spec: Object,
}

impl<'t> Template<'t> {
    fn treat(
        mut self,
        treatment: Treatment,
        object: &mut Object,
        cluster: &impl Cluster,
        decision: &mut Decision,
    ) -> Result<(), Rejection> {
        let demands = self.look_up(cluster)?;
        let admitted = self.admit(&demands)?;
        if treatment.must_be_complete() {
            self.reject_incomplete(&admitted)?;
        }
        if treatment == Treatment::Inject && admitted.is_changed() {
            admitted.record(decision);
            object.object_mut_at(self.workload.template()).within("object")?.set("spec", self.spec);
        }
        Ok(())
    }

    fn look_up(&self, cluster: &impl Cluster) -> Result<NamespaceDemands<'t>, Rejection> {
        let path = format!("{}.spec", path_of(self.workload));
        let spec = SpecAt { spec: &self.spec, path: &path };
        PossibleDemands::read(self.settings, self.namespace)?.look_up(Some(spec), cluster)
    }

    /// Judges the template as a Pod made from it would be, and adds to its spec what that would get.
    fn admit<'d>(&mut self, demands: &'d NamespaceDemands<'_>) -> Result<Admitted<'d>, Rejection> {
        let path = format!("{}.spec", path_of(self.workload));
        let added_to = if self.workload == Workload::DaemonSet { AddedTo::DaemonSetPod } else { AddedTo::AnyPod };
        let judged = Judged { named: &self.named, path: &path, added_to, is_pinned: false };
        let admitted = pods::admit(&mut self.spec, &judged, demands)?;
        let node_name = self.spec.string("nodeName").within(&path)?;
        named_node::reject_in_template(&node_name, demands, self.requester, &self.named)?;
        Ok(admitted)
    }

    fn reject_incomplete(&self, admitted: &Admitted<'_>) -> Result<(), Rejection> {
        if let Some(toleration) = admitted.tolerations.first() {
            return Err(Rejection::forbidden(format!(
                "{} lacks the toleration {}, which its namespace adds to Pods; add it, or no Pods are planned for the nodes \
                 that need it",
                self.named,
                quote(&toleration.to_string())
            )));
        }
        let Some(demanded) = admitted.injected.first() else { return Ok(()) };
        Err(Rejection::forbidden(format!(
            "{} lacks {}, which {} demands; add it, or Pods are planned for nodes where they can never run",
            self.named,
            shorten(&demanded.requirement.to_string()),
            demanded.origin
        )))
    }

    /// A DaemonSet that another object controls is judged as any other, and never changed: its owner would undo every
    /// change for ever. It should know what the template lacks.
    fn treat_owned(mut self, cluster: &impl Cluster, decision: &mut Decision) -> Result<(), Rejection> {
        let demands = self.look_up(cluster)?;
        let admitted = self.admit(&demands)?;
        if let Err(incomplete) = self.reject_incomplete(&admitted) {
            decision.warn_instead(&incomplete);
        }
        Ok(())
    }
}

fn path_of(workload: Workload) -> String {
    format!("object.{}", workload.template().join("."))
}

/// Whether this is an update that leaves the Pod template as it was: old workloads must stay usable.
fn is_unchanged(workload: Workload, request: &Request, object: &Object) -> Result<bool, Mismatch> {
    if !request.is_update() {
        return Ok(false);
    }
    // Both come from the same serializer: what is equal is spelled the same.
    let old = request.old_object()?.object_at(workload.template()).within("oldObject")?;
    Ok(object.object_at(workload.template()).within("object")? == old)
}
