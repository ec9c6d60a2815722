//! Pods that name their node, and so never pass the scheduler: labels, node affinity and taints are compared here.

use super::node_rules::NodeRules;
use super::node_selection::NodeSelection;
use super::pods::Additions;
use super::sourced::{SourcedRequirement, SourcedWhitelist};
use super::toleration_rules::TolerationRules;
use crate::cluster::{Node, NodeLookup, Scheduling};
use crate::decision::Rejection;
use crate::field_masks::FieldMasks;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::ObjectName;
use crate::request::Requester;
use crate::selector::Whitelist;
use crate::settings::OnNodeName;
use crate::toleration::{Taint, Toleration, is_extended, untolerated};

/// A Pod that names its node, which must be one that the Pod may run on.
#[derive(Debug)]
pub struct NamedNode<'r> {
    selection: &'r NodeSelection<'r>,
    /// Those that it may have wherever it runs.
    tolerations: Vec<Toleration>,
    /// Those that it may have only for the extended resources that it requests. They count where the node has the
    /// resource: no scheduler has looked.
    for_resources: Vec<Toleration>,
    /// What the Pod's RuntimeClass brings, as far as it had to be known.
    class: &'r Scheduling,
    rules: &'r NodeRules<'r>,
    name: &'r ObjectName,
}

impl<'r> NamedNode<'r> {
    /// A Pod with these `additions`, whose `own` tolerations were let in.
    pub fn of(
        own: Vec<Toleration>,
        additions: &'r Additions<'r>,
        rules: &'r NodeRules<'r>,
        toleration_rules: &TolerationRules<'_>,
        name: &'r ObjectName,
    ) -> Self {
        let all = own.into_iter().chain(additions.tolerations.iter().cloned());
        let class = &additions.class;
        // A toleration that the rules object to, on a Pod that was let in, was brought by the Pod's RuntimeClass, or added by
        // the cluster or for a resource.
        let (for_resources, tolerations) = all.partition(|toleration| {
            is_extended(&toleration.key)
                && !class.tolerates_same(toleration)
                && toleration_rules.objection_to(toleration).is_some()
        });
        Self { selection: &additions.selection, tolerations, for_resources, class, rules, name }
    }

    /// The fields that are needed of the node.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::of(FieldMasks::LABELS);
        masks.add(Node::TAINTS);
        if !self.for_resources.is_empty() {
            masks.add(Node::ALLOCATABLE);
        }
        masks
    }

    /// Rejects a Pod that names a node which it may not use.
    ///
    /// # Errors
    /// What the node lacks; or that it could not be read.
    pub fn verify(&self, node: &NodeLookup<'_>, node_name: &str) -> Result<(), Rejection> {
        let Self { rules, name, .. } = self;
        let node_name = quote(node_name);
        let node = match node {
            NodeLookup::Found(node) => node,
            NodeLookup::Failed(error) => return Err(error.reject(&format!("{name} names node {node_name}"))),
            NodeLookup::NotNeeded => return Ok(()),
        };
        if let Some(SourcedRequirement { requirement, source }) = rules.unmet_by(&node.labels) {
            let rejection = Rejection::forbidden(format!(
                "{name} names node {node_name}, but {source} demands {}, which the node does not meet; name another node, or \
                 remove nodeName",
                shorten(&requirement.to_string()),
            ));
            return Err(rejection.with_detail(labelled(node, requirement.key())));
        }
        if !self.selection.matches(node.name.as_str(), &node.labels) {
            return Err(Rejection::forbidden(format!(
                "{name} names node {node_name}, which its own nodeSelector or node affinity does not match; change one of \
                 them, or remove nodeName"
            )));
        }
        self.verify_allowed(node)?;
        self.verify_tolerated(node)
    }

    /// Rejects the Pod if it doesn't tolerate a lasting taint of the node: no scheduler has checked.
    fn verify_tolerated(&self, node: &Node<'_>) -> Result<(), Rejection> {
        let has_resource = |toleration: &&Toleration| has_resource(node, &toleration.key);
        let mut tolerations = self.tolerations.clone();
        tolerations.extend(self.for_resources.iter().filter(has_resource).cloned());
        let Some(taint) = untolerated(&tolerations, lasting_taints(node)) else { return Ok(()) };
        let rejection = Rejection::forbidden(format!(
            "{} names node {}, which has a taint that it does not tolerate; name another node, or remove nodeName",
            self.name,
            quote(node.name.as_str())
        ));
        Err(rejection.with_detail(tainted(taint)))
    }

    /// Rejects a Pod that names a node which the whitelist does not allow. Labels that the Pod may always ask for are
    /// skipped: `verify` compared its selection with the node.
    fn verify_allowed(&self, node: &Node<'_>) -> Result<(), Rejection> {
        let Some(SourcedWhitelist { whitelist, source, .. }) = &self.rules.whitelist else { return Ok(()) };
        for requirement in whitelist.selector().requirements() {
            let Some(value) = node.labels.get(requirement.key()) else { continue };
            if !requirement.accepts(Some(value)) && !self.may_always_have(requirement.key(), value, whitelist) {
                let rejection = Rejection::forbidden(format!(
                    "{} names node {}, and {source} allows only nodes with {}; name another node, or remove nodeName",
                    self.name,
                    quote(node.name.as_str()),
                    shorten(&requirement.to_string()),
                ));
                return Err(rejection.with_detail(labelled(node, requirement.key())));
            }
        }
        Ok(())
    }

    /// Whether the Pod may have `key=value` despite the whitelist: by a pair or expression that its entry requires, or
    /// by a pair of its RuntimeClass.
    fn may_always_have(&self, key: &str, value: &str, whitelist: &Whitelist) -> bool {
        let pair = self.selection.node_selector.get(key);
        let is_of_class = self.class.node_selector().get(key).is_some_and(|own| own == value);
        if pair.is_some_and(|own| **own == *value) && (is_of_class || whitelist.demands_value(key, value)) {
            return true;
        }
        let mut expressions = self.selection.terms.iter().flatten().flat_map(|term| &term.expressions);
        expressions.any(|expression| match &expression.requirement {
            Some(own) => own.key() == key && own.accepts(Some(value)) && whitelist.demands(own),
            None => false,
        })
    }
}

/// Whether a Pod that names the node `node_name` must be held to it.
///
/// # Errors
/// No Pod may name its node. No Node is looked up here: templates are treated alike, and their node may not exist yet.
pub fn must_match(
    node_name: &str,
    rules: &NodeRules<'_>,
    requester: &Requester,
    name: &ObjectName,
) -> Result<bool, Rejection> {
    let is_anything_required = rules.is_limited || !rules.select_every_node();
    if node_name.is_empty() || !is_anything_required || rules.settings.on_node_name == OnNodeName::Ignore {
        return Ok(false);
    }
    // Pods that the audit scanner sends already run: they have the name of their node from a Binding.
    if *requester == Requester::Nobody {
        return Ok(true);
    }
    // With an empty whitelist, a Pod may not name its node.
    let allowed = rules.whitelist.as_ref().filter(|allowed| allowed.whitelist.is_empty());
    if rules.settings.on_node_name == OnNodeName::Verify && allowed.is_none() {
        return Ok(true);
    }
    if let Some(unresolved) = rules.whitelist.as_ref().and_then(|allowed| allowed.unresolved.as_ref()) {
        return Err(unresolved.clone());
    }
    Err(Rejection::forbidden(format!(
        "{name} names its node, {}, which namespace {} does not permit (placement.onNodeName is Reject, or \
         allowedNodeSelector is empty); remove nodeName and let the scheduler choose",
        quote(node_name),
        quote(rules.namespace)
    )))
}

/// The taints that keep Pods away from `node`, without those that tell a passing condition.
pub(super) fn lasting_taints<'n>(node: &'n Node<'_>) -> impl Iterator<Item = &'n Taint> {
    node.taints.iter().filter(|taint| taint.keeps_pods_away() && !taint.tells_a_condition())
}

/// Whether `node` has more than zero of the resource `name` for Pods.
pub(super) fn has_resource(node: &Node<'_>, name: &str) -> bool {
    node.allocatable.0.contains(name)
}

/// A taint of a node, for the log.
pub(super) fn tainted(taint: &Taint) -> String {
    format!("the node has the taint {}", quote(&taint.key))
}

/// What a node has under `key`, for the log: a tenant may not read foreign Nodes, and reads messages.
pub(super) fn labelled(node: &Node<'_>, key: &str) -> String {
    match node.labels.get(key) {
        Some(value) => format!("the node has {}", quote_pair(key, value)),
        None => format!("the node has no label {}", quote(key)),
    }
}
