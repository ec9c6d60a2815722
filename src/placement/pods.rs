//! Pods: judged and completed when they are created, judged again while they may still change.

use json::{Mismatch, Object, Within};

use super::asked::SpecAt;
use super::demands::NamespaceDemands;
use super::injection::{self, Injected};
use super::node_selection::NodeSelection;
use super::possible_demands::PossibleDemands;
use super::tolerations::{self, AddedTolerations};
use super::{conflict, whitelist};
use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::object_meta::Named;
use crate::request::Request;
use crate::settings::Placement;
use crate::toleration::{AddedTo, Toleration};

/// The path of a Pod's spec in the request.
pub const SPEC: &str = "object.spec";

/// What is judged: a Pod, or the template of Pods.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'j> {
    /// What messages call it.
    pub named: &'j Named,
    /// Where its PodSpec stands.
    pub path: &'j str,
    /// What the cluster adds to the tolerations of such Pods by itself.
    pub added_to: AddedTo,
    /// Whether the DaemonSet controller pinned it to its node, by `matchFields`.
    pub is_pinned: bool,
}

impl<'j> Judged<'j> {
    /// A Pod that `request` is about.
    ///
    /// # Errors
    /// Who made it can't be read.
    pub fn pod(pod: &Object, named: &'j Named, request: &Request) -> Result<Self, Mismatch> {
        // Only that controller pins Pods to a node.
        let is_pinned = request.is_about_pod_of_daemon_set(pod)?;
        let added_to = if is_pinned { AddedTo::DaemonSetPod } else { AddedTo::AnyPod };
        Ok(Self { named, path: SPEC, added_to, is_pinned })
    }

    /// Whether it is a template.
    pub const fn is_template(&self) -> bool {
        matches!(self.named, Named::TemplateOf(..))
    }
}

/// What became of a Pod that is let in.
#[derive(Debug)]
pub struct Admitted<'d> {
    /// On which nodes it may run now.
    pub selection: NodeSelection,
    /// What was added to its nodeSelector and node affinity.
    pub injected: Injected<'d>,
    /// What was added to its tolerations.
    pub tolerations: AddedTolerations,
}

impl Admitted<'_> {
    /// Whether anything was added.
    pub fn is_changed(&self) -> bool {
        self.injected.first().is_some() || self.tolerations.first().is_some()
    }

    /// Tells the audit log what was added, and who demanded it.
    pub fn record(&self, decision: &mut Decision) {
        self.injected.record(decision);
        self.tolerations.record(decision);
    }
}

/// Judges what is being created, and adds what its namespace demands to `spec`.
///
/// # Errors
/// The first rule that the Pod breaks.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'d>(
    spec: &mut Object,
    judged: &Judged<'_>,
    demands: &'d NamespaceDemands<'_>,
) -> Result<Admitted<'d>, Rejection> {
    let Judged { named, path, is_pinned, .. } = *judged;
    let own = NodeSelection::read(spec).within(path)?;
    conflict::reject(&own, demands, named)?;
    let injected = injection::inject(spec, path, &own, demands, named)?;
    let selection = if injected.first().is_some() { NodeSelection::read(spec).within(path)? } else { own };
    whitelist::check(&selection, &injected, is_pinned, demands, named)?;
    let tolerations = tolerations::admit(spec, judged, &demands.tolerations()?)?;
    Ok(Admitted { selection, injected, tolerations })
}

/// Judges an update of a Pod: until it is bound, its nodeSelector and node affinity can still change; tolerations can be
/// added as long as it lives.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn judge_update(
    spec: &Object,
    old_spec: &Object,
    judged: &Judged<'_>,
    settings: &Placement<'_>,
    namespace: &str,
    cluster: &impl Cluster,
) -> Result<(), Rejection> {
    const OLD: &str = "oldObject.spec";
    let named = judged.named;
    // What the new object says of its node is not validated yet, and trusted by nobody.
    let is_bound = !old_spec.string("nodeName").within(OLD)?.is_empty();
    let selection = NodeSelection::read(spec).within(SPEC)?;
    let is_selection_judged = !is_bound && selection != NodeSelection::read(old_spec).within(OLD)?;
    let possible = PossibleDemands::read(settings, namespace)?;
    let new_tolerations = if possible.judge_tolerations()? {
        tolerations::new_among(tolerations::read(spec).within(SPEC)?, &tolerations::read(old_spec).within(OLD)?)
    } else {
        Vec::new()
    };
    if !is_selection_judged && new_tolerations.is_empty() {
        return Ok(());
    }
    let demands = possible.look_up(Some(SpecAt { spec, path: SPEC }), cluster)?;
    if is_selection_judged {
        conflict::reject(&selection, &demands, named)?;
        whitelist::check(&selection, &Injected::default(), judged.is_pinned, &demands, named)?;
    }
    judge_new_tolerations(spec, &new_tolerations, judged, &demands)
}

fn judge_new_tolerations(
    spec: &Object,
    new: &[Toleration],
    judged: &Judged<'_>,
    demands: &NamespaceDemands<'_>,
) -> Result<(), Rejection> {
    if new.is_empty() {
        return Ok(());
    }
    tolerations::judge_update(spec, new, judged, &demands.tolerations()?)
}
