//! Pods that name their node, and so never pass the scheduler.

use json::{Mismatch, Object, Within};

use super::demands::NamespaceDemands;
use super::node_selection::NodeSelection;
use super::pods::{self, Admitted};
use super::tolerations;
use crate::cluster::{LookupError, Node};
use crate::decision::Rejection;
use crate::field_masks::FieldMasks;
use crate::look_up;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::Named;
use crate::request::Requester;
use crate::selector::Whitelist;
use crate::settings::OnNodeName;
use crate::toleration::{Taint, Toleration, is_above_zero, is_extended, untolerated};

/// The field mask for taints.
pub(super) const TAINTS: &str = "spec.taints";

/// The field mask for what of its resources a node has for Pods.
pub(super) const ALLOCATABLE: &str = "status.allocatable";

/// A Pod that names its node, which must be one that the Pod may run on.
#[derive(Debug)]
pub struct NamedNode<'d> {
    selection: NodeSelection,
    /// Those that it may have wherever it runs.
    tolerations: Vec<Toleration>,
    /// Those that it may have only for the extended resources that it requests. They count where the node has the
    /// resource: no scheduler has looked.
    for_resources: Vec<Toleration>,
    demands: &'d NamespaceDemands<'d>,
}

impl<'d> NamedNode<'d> {
    /// Rejects a Pod that names its node, `node_name`, where none may. Returns what is to be [verified](Self::verify) of
    /// the node, if that must be looked up: of a Pod that is `admitted`, with its completed `spec`.
    ///
    /// # Errors
    /// Such a rejection, or a mistake in the settings.
    pub fn of(
        node_name: &str,
        admitted: &Admitted<'d>,
        spec: &Object,
        demands: &'d NamespaceDemands<'d>,
        requester: Requester,
        named: &Named,
    ) -> Result<Option<Self>, Rejection> {
        match on_node_name(node_name, demands, requester)? {
            OnNodeName::Ignore => Ok(None),
            OnNodeName::Verify => {
                let rules = demands.tolerations()?;
                let all = tolerations::read(spec).within(pods::SPEC)?;
                // What the rules object to, and was let in, the cluster adds or the policy does for a resource.
                let (for_resources, tolerations) = all
                    .into_iter()
                    .partition(|toleration| is_extended(&toleration.key) && rules.objection_to(toleration).is_some());
                Ok(Some(Self { selection: admitted.selection.clone(), tolerations, for_resources, demands }))
            }
            OnNodeName::Reject => Err(not_permitted(node_name, demands, named)),
        }
    }

    /// The fields that are needed of the node.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::of(FieldMasks::LABELS);
        masks.add(TAINTS);
        if !self.for_resources.is_empty() {
            masks.add(ALLOCATABLE);
        }
        masks
    }

    /// Rejects a Pod that names a node which it may not use.
    ///
    /// # Errors
    /// What the node lacks; or that it could not be read.
    pub fn verify(&self, node: Result<&Node, &LookupError>, node_name: &str, named: &Named) -> Result<(), Rejection> {
        let node = match node {
            Ok(node) => node,
            Err(error) => {
                return Err(look_up::unreadable_node(error, &format!("{named} names node {}", quote(node_name))));
            }
        };
        if let Some(demanded) = self.demands.unmet_by(&node.labels) {
            let rejection = Rejection::forbidden(format!(
                "{named} names node {}, but {} demands {}, which the node does not meet; name another node, or remove \
                 nodeName",
                quote(node_name),
                demanded.origin,
                shorten(&demanded.requirement.to_string()),
            ));
            return Err(rejection.with_detail(labelled(node, demanded.requirement.key())));
        }
        if !self.selection.matches(node_name, &node.labels) {
            return Err(Rejection::forbidden(format!(
                "{named} names node {}, which its own nodeSelector or node affinity does not match; change one of them, or \
                 remove nodeName",
                quote(node_name)
            )));
        }
        self.verify_allowed(node, named)?;
        self.verify_tolerated(node, named)
    }

    /// A Pod that names its node walks past its taints.
    fn verify_tolerated(&self, node: &Node, named: &Named) -> Result<(), Rejection> {
        let mut tolerations = self.tolerations.clone();
        for toleration in &self.for_resources {
            if has_resource(node, &toleration.key)? {
                tolerations.push(toleration.clone());
            }
        }
        let taints = lasting_taints(node)?;
        let Some(taint) = untolerated(&tolerations, &taints) else { return Ok(()) };
        let rejection = Rejection::forbidden(format!(
            "{named} names node {}, which has a taint that it does not tolerate; name another node, or remove nodeName",
            quote(node.name.as_str())
        ));
        Err(rejection.with_detail(tainted(taint)))
    }

    /// Rejects a Pod that names a node which the whitelist does not allow. What the Pod says of a label and may always say
    /// was held against the node before.
    fn verify_allowed(&self, node: &Node, named: &Named) -> Result<(), Rejection> {
        let Some((whitelist, origin)) = self.demands.whitelist()? else { return Ok(()) };
        for requirement in whitelist.selector().requirements() {
            let Some(value) = node.labels.get(requirement.key()) else { continue };
            if !requirement.accepts(Some(value)) && !self.may_always_have(requirement.key(), value, &whitelist) {
                let rejection = Rejection::forbidden(format!(
                    "{named} names node {}, and {origin} allows only nodes with {}; name another node, or remove nodeName",
                    quote(node.name.as_str()),
                    shorten(&requirement.to_string()),
                ));
                return Err(rejection.with_detail(labelled(node, requirement.key())));
            }
        }
        Ok(())
    }

    /// Whether the Pod has a pair or expression that its entry demands, and by which label `key` may be `value`.
    fn may_always_have(&self, key: &str, value: &str, whitelist: &Whitelist) -> bool {
        let has_pair = self.selection.node_selector.get(key) == Some(value) && whitelist.demands_value(key, value);
        let mut expressions = self.selection.terms.iter().flatten().flat_map(|term| &term.expressions);
        has_pair
            || expressions.any(|expression| match &expression.requirement {
                Some(own) => own.key() == key && own.accepts(Some(value)) && whitelist.demands(own),
                None => false,
            })
    }
}

/// What is done about a Pod that names its node, where its namespace demands anything.
fn on_node_name(
    node_name: &str,
    demands: &NamespaceDemands<'_>,
    requester: Requester,
) -> Result<OnNodeName, Rejection> {
    if node_name.is_empty() {
        return Ok(OnNodeName::Ignore);
    }
    let whitelist = demands.whitelist()?;
    let is_anything_demanded =
        !demands.select_every_node() || whitelist.is_some() || demands.tolerations()?.judge_anything();
    if !is_anything_demanded {
        return Ok(OnNodeName::Ignore);
    }
    let chosen = demands.settings.on_node_name()?;
    // Who may choose nothing, may name no node. What the audit scanner sends is bound, which is how it got its node.
    let names_no_node = whitelist.is_some_and(|(whitelist, _)| whitelist.is_empty());
    Ok(match chosen {
        OnNodeName::Reject if requester == Requester::Nobody => OnNodeName::Verify,
        OnNodeName::Verify if names_no_node && requester != Requester::Nobody => OnNodeName::Reject,
        chosen => chosen,
    })
}

/// Rejects a template that names a node, where no Pod may. No Node is looked up for a template: nodes may come and go
/// before a Pod is made from it.
///
/// # Errors
/// Such a rejection, or a mistake in the settings.
pub fn reject_in_template(
    node_name: &str,
    demands: &NamespaceDemands<'_>,
    requester: Requester,
    named: &Named,
) -> Result<(), Rejection> {
    match on_node_name(node_name, demands, requester)? {
        OnNodeName::Reject => Err(not_permitted(node_name, demands, named)),
        OnNodeName::Verify | OnNodeName::Ignore => Ok(()),
    }
}

fn not_permitted(node_name: &str, demands: &NamespaceDemands<'_>, named: &Named) -> Rejection {
    Rejection::forbidden(format!(
        "{named} names its node, {}, which namespace {} does not permit (placement.onNodeName is Reject, or \
         allowedNodeSelector is empty); remove nodeName and let the scheduler choose",
        quote(node_name),
        quote(&demands.namespace)
    ))
}

/// The taints that keep Pods away from `node`, without those that tell a passing condition.
///
/// # Errors
/// They can't be read.
pub(super) fn lasting_taints(node: &Node) -> Result<Vec<Taint>, Rejection> {
    let mut taints = match taints_of(node) {
        Ok(taints) => taints,
        Err(mismatch) => return Err(unreadable(node, &mismatch)),
    };
    taints.retain(|taint| taint.keeps_pods_away() && !taint.tells_a_condition());
    Ok(taints)
}

fn taints_of(node: &Node) -> Result<Vec<Taint>, Mismatch> {
    let Some(spec) = node.object.object("spec")? else { return Ok(Vec::new()) };
    let Some(list) = spec.list("taints").within("spec")? else { return Ok(Vec::new()) };
    let taints: Result<Vec<Taint>, Mismatch> =
        list.iter().enumerate().map(|(position, taint)| Taint::read(taint).at(position)).collect();
    taints.within(TAINTS)
}

/// Whether `node` has more than zero of the resource `name` for Pods.
///
/// # Errors
/// That can't be read.
pub(super) fn has_resource(node: &Node, name: &str) -> Result<bool, Rejection> {
    let quantity = match node.object.object_at(&["status", "allocatable"]) {
        Ok(allocatable) => allocatable.and_then(|allocatable| allocatable.get(name)),
        Err(mismatch) => return Err(unreadable(node, &mismatch)),
    };
    match quantity.map(is_above_zero) {
        None => Ok(false),
        Some(Ok(is_above_zero)) => Ok(is_above_zero),
        Some(Err(mismatch)) => Err(unreadable(node, &mismatch.within(name).within(ALLOCATABLE))),
    }
}

fn unreadable(node: &Node, mismatch: &Mismatch) -> Rejection {
    Rejection::internal(format!("Node {} can't be read: {mismatch}", quote(node.name.as_str())))
}

/// A taint of a node, for the log.
pub(super) fn tainted(taint: &Taint) -> String {
    format!("the node has the taint {}", quote(&taint.key))
}

/// What a node has under `key`, for the log: a tenant may not read foreign Nodes, and reads messages.
pub(super) fn labelled(node: &Node, key: &str) -> String {
    match node.labels.get(key) {
        Some(value) => format!("the node has {}", quote_pair(key, value)),
        None => format!("the node has no label {}", quote(key)),
    }
}
