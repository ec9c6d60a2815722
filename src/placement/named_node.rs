//! Pods that name their node, and so never pass the scheduler: labels, node affinity and taints are compared here.

use super::additions::Additions;
use super::judged::Judged;
use super::node_rules::NodeRules;
use super::node_selection::NodeSelection;
use super::rules::Rules;
use super::sourced::SourcedWhitelist;
use super::tolerations;
use crate::cluster::{Node, NodeLookup};
use crate::decision::{CauseKind, Rejection};
use crate::field_masks::FieldMasks;
use crate::json::{ReadError, Within};
use crate::message::{quote, shorten};
use crate::request::Requester;
use crate::selector::Whitelist;
use crate::settings::OnNodeName;
use crate::toleration::{Toleration, is_extended, untolerated};

/// A Pod that names its node, which must be one that the Pod may run on.
#[derive(Debug)]
pub struct NamedNode<'r> {
    judged: &'r Judged<'r>,
    node_name: String,
    selection: &'r NodeSelection<'r>,
    /// Those that it may have wherever it runs.
    tolerations: Vec<Toleration>,
    /// Those that it may have only for the extended resources that it requests. They count where the node has the
    /// resource: no scheduler has looked.
    for_resources: Vec<Toleration>,
    rules: &'r NodeRules<'r>,
}

impl<'r> NamedNode<'r> {
    /// A Pod that was let in with these `additions`; nothing, if it is not held to the node that it names.
    ///
    /// # Errors
    /// The Pod's tolerations can't be read.
    pub fn of(
        judged: &'r Judged<'r>,
        additions: &'r Additions<'r>,
        rules: &'r Rules<'r>,
    ) -> Result<Option<Self>, ReadError> {
        if !additions.must_match_node {
            return Ok(None);
        }
        let own = tolerations::read(judged.spec).within(judged.path)?;
        let all = own.into_iter().chain(additions.tolerations.iter().cloned());
        // A toleration that the rules object to, on a Pod that was let in, was brought by the Pod's RuntimeClass, or
        // added by the cluster or for a resource.
        let (for_resources, tolerations) = all.partition(|toleration| {
            is_extended(&toleration.key)
                && !judged.class.tolerates_same(toleration)
                && rules.tolerations.objection_to(toleration).is_some()
        });
        let (node_name, selection) = (judged.node_name()?, &additions.injection.selection);
        Ok(Some(Self { judged, node_name, selection, tolerations, for_resources, rules: &rules.nodes }))
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
    pub fn verify(&self, node: &NodeLookup<'_>) -> Result<(), Rejection> {
        let names_node = self.names_node();
        let node = match node {
            NodeLookup::Found(node) => node,
            NodeLookup::Failed(error) => return Err(error.reject(&names_node)),
            NodeLookup::NotNeeded => return Ok(()),
        };
        self.rules.verify(node, &format!("{names_node}, but"), "name another node, or remove nodeName")?;
        if !self.selection.matches(node.name.as_str(), &node.labels) {
            let explanation = format!(
                "{names_node}, which its own nodeSelector or node affinity does not match; change one of them, or remove \
                 nodeName"
            );
            return Err(self.rejection(explanation));
        }
        self.verify_allowed(node)?;
        self.verify_tolerated(node)
    }

    /// How messages begin.
    fn names_node(&self) -> String {
        format!("{} names node {}", self.judged.name, quote(&self.node_name))
    }

    fn rejection(&self, explanation: String) -> Rejection {
        let rejection = Rejection::forbidden(CauseKind::NodeName, explanation);
        rejection.in_namespace(self.rules.namespace).asking_for(&self.node_name)
    }

    /// Rejects the Pod if it doesn't tolerate a lasting taint of the node: no scheduler has checked.
    fn verify_tolerated(&self, node: &Node<'_>) -> Result<(), Rejection> {
        let has_resource = |toleration: &&Toleration| node.has_resource(&toleration.key);
        let mut tolerations = self.tolerations.clone();
        tolerations.extend(self.for_resources.iter().filter(has_resource).cloned());
        let Some(taint) = untolerated(&tolerations, node.lasting_taints()) else { return Ok(()) };
        let explanation = format!(
            "{}, which has a taint that it does not tolerate; name another node, or remove nodeName",
            self.names_node()
        );
        Err(self.rejection(explanation).about_taint(taint).with_detail(Node::taint_in_words(taint)))
    }

    /// Rejects a Pod that names a node which the whitelist does not allow. Labels that the Pod may always ask for are
    /// skipped: `verify` compared its selection with the node.
    fn verify_allowed(&self, node: &Node<'_>) -> Result<(), Rejection> {
        let Some(SourcedWhitelist { whitelist, source, .. }) = &self.rules.whitelist else { return Ok(()) };
        for requirement in whitelist.selector().requirements() {
            let Some(value) = node.labels.get(requirement.key()) else { continue };
            if !requirement.accepts(Some(value)) && !self.may_always_have(requirement.key(), value, whitelist) {
                let explanation = format!(
                    "{}, and {source} allows only nodes with {}; name another node, or remove nodeName",
                    self.names_node(),
                    shorten(&requirement.to_string()),
                );
                let rejection = self.rejection(explanation).demanded_at(*source).about_label(requirement.key());
                let detail = node.label_in_words(requirement.key());
                return Err(rejection.demanding(requirement).with_detail(detail));
            }
        }
        Ok(())
    }

    /// Whether the Pod may have `key=value` despite the whitelist: by a pair or expression that its entry requires, or
    /// by a pair of its RuntimeClass.
    fn may_always_have(&self, key: &str, value: &str, whitelist: &Whitelist) -> bool {
        let pair = self.selection.node_selector.get(key);
        let is_of_class = self.judged.class.node_selector.get(key).is_some_and(|own| own == value);
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

/// Whether a Pod must be held to the node that it names.
///
/// # Errors
/// No Pod may name its node. No Node is looked up here: templates are treated alike, and their node may not exist yet.
pub fn must_match(judged: &Judged<'_>, rules: &NodeRules<'_>) -> Result<bool, Rejection> {
    let node_name = judged.node_name()?;
    let is_anything_required = rules.is_limited || !rules.select_every_node();
    if node_name.is_empty() || !is_anything_required || rules.settings.on_node_name == OnNodeName::Ignore {
        return Ok(false);
    }
    // Pods that the audit scanner sends already run: they have the name of their node from a Binding.
    if *judged.requester == Requester::Nobody {
        return Ok(true);
    }
    // With an empty whitelist, a Pod may not name its node.
    let refusing = rules.whitelist.as_ref().filter(|allowed| allowed.whitelist.is_empty());
    if rules.settings.on_node_name == OnNodeName::Verify && refusing.is_none() {
        return Ok(true);
    }
    if let Some(unresolved) = rules.whitelist.as_ref().and_then(|allowed| allowed.unresolved.as_ref()) {
        return Err(unresolved.clone());
    }
    let explanation = format!(
        "{} names its node, {}, which namespace {} does not permit (placement.onNodeName is Reject, or \
         allowedNodeSelector is empty); remove nodeName and let the scheduler choose",
        judged.name,
        quote(&node_name),
        quote(rules.namespace)
    );
    let rejection = Rejection::forbidden(CauseKind::NodeName, explanation);
    let rejection = rejection.in_namespace(rules.namespace).asking_for(&node_name);
    Err(match refusing {
        Some(allowed) => rejection.demanded_at(allowed.source),
        None => rejection.by_setting("placement.onNodeName"),
    })
}
