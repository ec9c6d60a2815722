//! Workloads: their Pod templates are judged as Pods made from them would be, where the person who applies them sees it.

use json::{Mismatch, Object};

use super::namespace_selector::{Demanded, NamespaceSelector};
use super::{node_name, pod};
use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::metadata::{Metadata, Subject};
use crate::request::Request;
use crate::settings::{OnDaemonSets, OnNodeName, OnWorkloads, PodNodeSelector};
use crate::text::shorten;

/// A kind of object that holds a Pod template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Its template is completed too: its controller plans one Pod per node from that, and a selector that only the Pods
    /// have leaves Pods that can never run.
    DaemonSet,
    /// Holds the template of a Job.
    CronJob,
    /// Is little else than a template.
    PodTemplate,
    /// Any other, by its kind.
    Other(&'static str),
}

/// What is done about a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// The namespace selector is added; what breaks a rule is rejected.
    Inject,
    /// What breaks a rule is rejected; what lacks the namespace selector is fine, for its Pods will get it.
    Reject,
    /// Rejected too if it lacks the namespace selector.
    RejectIncomplete,
    /// What breaks a rule gets a warning.
    Warn,
    /// A warning too if it lacks the namespace selector.
    WarnIncomplete,
}

impl Workload {
    /// Its kind, as Kubernetes spells it.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::DaemonSet => "DaemonSet",
            Self::CronJob => "CronJob",
            Self::PodTemplate => "PodTemplate",
            Self::Other(kind) => kind,
        }
    }

    /// Where its Pod template stands.
    pub const fn template(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplate => &["template"],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template"],
            Self::DaemonSet | Self::Other(_) => &["spec", "template"],
        }
    }

    fn treatment(self, rules: &PodNodeSelector<'_>) -> Result<Option<Treatment>, Rejection> {
        Ok(match self {
            Self::DaemonSet => match rules.on_daemon_sets()? {
                OnDaemonSets::Inject => Some(Treatment::Inject),
                OnDaemonSets::Reject => Some(Treatment::RejectIncomplete),
                OnDaemonSets::Warn => Some(Treatment::WarnIncomplete),
                OnDaemonSets::Ignore => None,
            },
            _ => match rules.on_workloads()? {
                OnWorkloads::Reject => Some(Treatment::Reject),
                OnWorkloads::Warn => Some(Treatment::Warn),
                OnWorkloads::Ignore => None,
            },
        })
    }
}

/// Judges a workload, and completes the template of a DaemonSet.
///
/// # Errors
/// The first rule that its Pods would break.
pub fn admit<'a>(
    workload: Workload,
    request: &Request<'a>,
    rules: &PodNodeSelector<'_>,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let Some(treatment) = workload.treatment(rules)? else { return Ok(Decision::accept()) };
    let object = request.object()?;
    let metadata = Metadata::of(&object)?;
    // What goes away must be able to: its finalizers are updates too.
    if metadata.is_terminating() || is_unchanged(workload, request, &object)? {
        return Ok(Decision::accept());
    }
    let Some(template) = object.descend(workload.template()).map_err(within)? else { return Ok(Decision::accept()) };
    let subject = Subject::TemplateOf(workload.kind(), object.clone());
    let judging = Judging { workload, rules, subject: &subject };
    if metadata.has_controller()? {
        return Ok(judging.warn_owned(&template, cluster));
    }
    judging.treat(treatment, object, template, cluster)
}

/// A template that is judged, and by what.
struct Judging<'j, 'a> {
    workload: Workload,
    rules: &'j PodNodeSelector<'j>,
    subject: &'j Subject<'a>,
}

impl Judging<'_, '_> {
    fn treat<'a>(
        &self,
        treatment: Treatment,
        mut object: Object<'a>,
        mut template: Object<'a>,
        cluster: &impl Cluster,
    ) -> Result<Decision<'a>, Rejection> {
        let mut decision = Decision::accept();
        let judged = NamespaceSelector::look_up(self.rules, cluster).and_then(|selector| {
            let (spec, injected) = self.judge(&template, &selector)?;
            match treatment {
                Treatment::Inject => {
                    pod::record(&mut decision, &injected);
                    template.set_object("spec", spec);
                    Ok(())
                }
                Treatment::RejectIncomplete | Treatment::WarnIncomplete => self.complete(&injected),
                Treatment::Reject | Treatment::Warn => Ok(()),
            }
        });
        match (judged, treatment) {
            (Err(rejection), Treatment::Warn | Treatment::WarnIncomplete) if !rejection.is_bad_request() => {
                decision.warn(&rejection.message);
            }
            (judged, _) => {
                judged?;
                object.replace(self.workload.template(), template).map_err(within)?;
                decision.mutate(object);
            }
        }
        Ok(decision)
    }

    /// Judges a template as a Pod made from it would be. Returns its spec, completed, and what it lacked.
    fn judge<'a, 's>(
        &self,
        template: &Object<'a>,
        selector: &'s NamespaceSelector,
    ) -> Result<(Object<'a>, Vec<Demanded<'s>>), Rejection> {
        let path = format!("object.{}", self.workload.template().join("."));
        let mut spec = template.object("spec").map_err(|mismatch| mismatch.within(&path))?.unwrap_or_default();
        let (pod, injected) = pod::admit(&mut spec, &format!("{path}.spec"), selector, self.rules, self.subject)?;
        // No Node is looked up for a template: nodes may come and go before a Pod is made from it.
        if self.rules.on_node_name()? == OnNodeName::Reject {
            node_name::must_verify(&pod, selector, self.rules, self.subject)?;
        }
        Ok((spec, injected))
    }

    fn complete(&self, injected: &[Demanded<'_>]) -> Result<(), Rejection> {
        let Some(demanded) = injected.first() else { return Ok(()) };
        Err(Rejection::forbidden(format!(
            "{} lacks {}, which {} demands; add it, or Pods are planned for nodes where they can never run",
            self.subject,
            shorten(&demanded.requirement.to_string()),
            demanded.source
        )))
    }

    /// What another object controls is not judged: its Pods are, and so is its owner, which would undo every change for
    /// ever. But the owner of a DaemonSet should know what its template lacks.
    fn warn_owned<'a>(&self, template: &Object<'_>, cluster: &impl Cluster) -> Decision<'a> {
        let mut decision = Decision::accept();
        if self.workload == Workload::DaemonSet {
            let judged = NamespaceSelector::look_up(self.rules, cluster).and_then(|selector| {
                // A broken rule is for its Pods to say.
                self.judge(template, &selector).map_or(Ok(()), |(_, injected)| self.complete(&injected))
            });
            if let Err(rejection) = judged {
                decision.warn(&rejection.message);
            }
        }
        decision
    }
}

/// Whether this is an update that leaves the Pod template as it was: old workloads must stay usable.
fn is_unchanged(workload: Workload, request: &Request<'_>, object: &Object<'_>) -> Result<bool, Mismatch> {
    if request.operation != "UPDATE" {
        return Ok(false);
    }
    // Both come from the same serializer: what is equal is spelled the same.
    let old = request.old_object()?.descend(workload.template()).map_err(|mismatch| mismatch.within("oldObject"))?;
    Ok(object.descend(workload.template()).map_err(within)? == old)
}

fn within(mismatch: Mismatch) -> Mismatch {
    mismatch.within("object")
}
