//! Bindings: schedulers, and users who bind Pods themselves, are held to the namespace's node selector too, and users to
//! the taints of the node.

use super::demands::NamespaceDemands;
use super::named_node::{ALLOCATABLE, TAINTS, has_resource, labelled, lasting_taints, tainted};
use super::toleration_demands::{Objection, TolerationDemands};
use crate::cluster::{LookupError, Node, NodeName};
use crate::decision::Rejection;
use crate::field_masks::FieldMasks;
use crate::look_up;
use crate::message::{quote, shorten};
use crate::object_meta::Named;
use crate::request::Requester;
use crate::toleration::{Effect, Operator, Taint, Toleration, is_extended};

/// What the node of a Binding is held to.
#[derive(Debug)]
pub struct BindingRules<'s> {
    demands: NamespaceDemands<'s>,
    /// Where the namespace judges tolerations, and the requester is not the scheduler, which has compared the taints with
    /// the Pod's own: a Binding does not show the Pod.
    tolerations: Option<TolerationDemands>,
}

impl<'s> BindingRules<'s> {
    /// What a namespace demands of the nodes that `requester` binds its Pods to; nothing, if any node will do.
    ///
    /// # Errors
    /// An annotation is malformed, or the settings have a mistake.
    pub fn of(demands: NamespaceDemands<'s>, requester: Requester) -> Result<Option<Self>, Rejection> {
        let tolerations = match requester {
            Requester::Scheduler => None,
            _ => Some(demands.tolerations()?).filter(TolerationDemands::judge_anything),
        };
        if demands.select_every_node() && tolerations.is_none() {
            return Ok(None);
        }
        Ok(Some(Self { demands, tolerations }))
    }

    /// The fields that are needed of the node.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::default();
        if !self.demands.select_every_node() {
            masks.add(FieldMasks::LABELS);
        }
        if let Some(tolerations) = &self.tolerations {
            masks.add(TAINTS);
            if tolerations.tolerate_extended_resources {
                masks.add(ALLOCATABLE);
            }
        }
        masks
    }

    /// Rejects the Binding of a Pod to a node that the namespace may not use.
    ///
    /// # Errors
    /// What the node lacks; or that it could not be read.
    pub fn verify(&self, node: Result<&Node, &LookupError>, target: &NodeName, pod: &Named) -> Result<(), Rejection> {
        let target = quote(target.as_str());
        let node = match node {
            Ok(node) => node,
            Err(error) => {
                return Err(look_up::unreadable_node(error, &format!("{pod} is bound to node {target}")));
            }
        };
        if let Some(demanded) = self.demands.unmet_by(&node.labels) {
            let rejection = Rejection::forbidden(format!(
                "{pod} can't be bound to node {target}: {} demands {}, which the node does not meet; recreate the Pod if the \
                 demand is newer than it",
                demanded.origin,
                shorten(&demanded.requirement.to_string()),
            ));
            return Err(rejection.with_detail(labelled(node, demanded.requirement.key())));
        }
        let Some(tolerations) = &self.tolerations else { return Ok(()) };
        for taint in lasting_taints(node)? {
            let objection = match objection_to(&taint, node, tolerations)? {
                None => continue,
                Some(Objection::Forbidden { origin, .. }) => format!("{origin} forbids it"),
                Some(Objection::NotAllowed { origin }) => format!("{origin} does not allow it"),
            };
            let rejection = Rejection::forbidden(format!(
                "{pod} can't be bound to node {target}: it has a taint that no Pod of namespace {} may tolerate, since \
                 {objection}; bind it to another node",
                quote(&self.demands.namespace)
            ));
            return Err(rejection.with_detail(tainted(&taint)));
        }
        Ok(())
    }
}

/// Why no Pod of the namespace may tolerate `taint` of `node`; nothing, if one may.
fn objection_to<'d>(
    taint: &Taint,
    node: &Node,
    demands: &'d TolerationDemands,
) -> Result<Option<Objection<'d>>, Rejection> {
    let mut defaults = demands.defaults_of_settings.iter().flat_map(|list| &list.tolerations);
    if defaults.any(|default| default.tolerates(taint)) || is_for_resource(taint, node, demands)? {
        return Ok(None);
    }
    // The least that tolerates it, for as short as any whitelist wants.
    let seconds = (taint.effect == Effect::NoExecute).then_some(i64::MIN);
    Ok(demands.objection_to(&Toleration {
        key: taint.key.clone(),
        operator: Operator::Equal,
        value: taint.value.clone(),
        effect: taint.effect.clone(),
        seconds,
    }))
}

/// Whether a Pod would get a toleration of `taint` for requesting a resource that `node` has.
fn is_for_resource(taint: &Taint, node: &Node, demands: &TolerationDemands) -> Result<bool, Rejection> {
    let toleration = Toleration::exists(&taint.key, Effect::NoSchedule);
    Ok(demands.tolerate_extended_resources
        && is_extended(&taint.key)
        && toleration.tolerates(taint)
        && !demands.forbids(&toleration)
        && has_resource(node, &taint.key)?)
}
