//! Pods that name their node, and so never pass the scheduler: labels, node affinity and taints are compared here.

use super::mutation::PodMutation;
use super::node_rules::{NodeRules, SourcedWhitelist};
use super::node_selection::NodeSelection;
use super::rules::Rules;
use super::subject::PodSubject;
use super::tolerations;
use crate::cluster::{FieldMasks, Node, NodeLookup};
use crate::decision::{CauseKind, Rejection};
use crate::message::{quote, shorten};
use crate::request::User;
use crate::selector::Whitelist;
use crate::settings::OnNodeName;
use crate::toleration::{Toleration, is_extended, untolerated};

/// A Pod that names its node, which must be one that the Pod may run on.
#[derive(Debug)]
pub struct NamedNode<'s> {
    /// How messages begin.
    names_node: String,
    node_name: String,
    selection: NodeSelection<'s>,
    /// Pairs of its nodeSelector that its RuntimeClass brings, as far as a whitelist would refuse them.
    pairs_of_class: Vec<(String, String)>,
    /// Those that it may have wherever it runs.
    tolerations: Vec<Toleration>,
    /// Those that it may have only for the extended resources that it requests. They count where the node has the
    /// resource: no scheduler has looked.
    for_resources: Vec<Toleration>,
}

impl<'s> NamedNode<'s> {
    /// A Pod that was let in with this `mutation`, and is held to the node that it names.
    ///
    /// # Errors
    /// The Pod's tolerations can't be read, or are too many; its RuntimeClass can't be read.
    pub fn of(subject: &PodSubject<'_, '_>, mutation: &PodMutation<'s>, rules: &Rules<'_>) -> Result<Self, Rejection> {
        let mut tolerations = tolerations::of_pod(subject)?;
        tolerations.extend(mutation.tolerations.iter().cloned());
        let mut for_resources = Vec::new();
        // Schedulers have brought the Pods there that the audit scanner sends. With DRA, extended resources stand in no
        // Node's `allocatable` (KEP-5004).
        if *subject.user != User::Nobody {
            let mut of_pod = Vec::new();
            for toleration in tolerations {
                // A toleration that the rules object to, on a Pod that was let in, was brought by the Pod's
                // RuntimeClass, or added by the cluster or for a resource.
                let is_for_resource = is_extended(&toleration.key)
                    && rules.tolerations.objection_to(&toleration).is_some()
                    && !subject.runtime_class.scheduling()?.tolerates_same(&toleration);
                if is_for_resource { &mut for_resources } else { &mut of_pod }.push(toleration);
            }
            tolerations = of_pod;
        }
        let selection = mutation.injection.selection.clone();
        let pairs = selection.node_selector.iter();
        let of_class = pairs.filter(|(key, value)| subject.runtime_class.is_known_to_bring(key, value));
        let pairs_of_class = of_class.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let node_name = subject.node_name()?;
        let names_node = format!("{} names node {}", subject.name, quote(&node_name));
        Ok(Self { names_node, node_name, selection, pairs_of_class, tolerations, for_resources })
    }

    /// The fields that are needed of the node.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::of(FieldMasks::LABELS);
        masks.add(FieldMasks::TAINTS);
        if !self.for_resources.is_empty() {
            masks.add(FieldMasks::ALLOCATABLE);
        }
        masks
    }

    /// Rejects a Pod that names a node which it may not use.
    ///
    /// # Errors
    /// What the node lacks; or that it could not be read.
    pub fn verify(&self, node: &NodeLookup<'_>, rules: &NodeRules<'_>) -> Result<(), Rejection> {
        let names_node = &self.names_node;
        let node = match node {
            NodeLookup::Found(node) => node,
            NodeLookup::Failed(error) => return Err(error.reject(names_node)),
            NodeLookup::NotNeeded => return Ok(()),
        };
        rules.verify(node, &format!("{names_node}, but"), "name another node, or remove nodeName")?;
        if !self.selection.matches(node.name.as_str(), &node.labels) {
            let explanation = format!(
                "{names_node}, which its own nodeSelector or node affinity does not match; change one of them, or remove \
                 nodeName"
            );
            return Err(self.rejection(explanation, rules));
        }
        self.verify_allowed(node, rules)?;
        self.verify_tolerated(node, rules)
    }

    fn rejection(&self, explanation: String, rules: &NodeRules<'_>) -> Rejection {
        let rejection = Rejection::forbidden(CauseKind::NodeName, explanation);
        rejection.in_namespace(rules.namespace).asking_for(&self.node_name)
    }

    /// Rejects the Pod if it doesn't tolerate a lasting taint of the node: no scheduler has checked.
    fn verify_tolerated(&self, node: &Node<'_>, rules: &NodeRules<'_>) -> Result<(), Rejection> {
        let has_resource = |toleration: &&Toleration| node.has_resource(&toleration.key);
        let mut tolerations = self.tolerations.clone();
        tolerations.extend(self.for_resources.iter().filter(has_resource).cloned());
        let taints = node.lasting_taints().map_err(|problem| {
            let explanation = format!("{}, which {problem}; name another node, or remove nodeName", self.names_node);
            Rejection::forbidden(CauseKind::Limit, explanation).in_namespace(rules.namespace)
        })?;
        let Some(taint) = untolerated(&tolerations, taints) else { return Ok(()) };
        let explanation = format!(
            "{}, which has a taint that it does not tolerate; name another node, or remove nodeName",
            self.names_node
        );
        Err(self.rejection(explanation, rules).about_taint(taint).with_detail(Node::taint_as_text(taint)))
    }

    /// Rejects a Pod that names a node which the whitelist does not allow. Labels that the Pod may always ask for are
    /// skipped: `verify` compared its selection with the node.
    fn verify_allowed(&self, node: &Node<'_>, rules: &NodeRules<'_>) -> Result<(), Rejection> {
        let Some(SourcedWhitelist { whitelist, source, .. }) = &rules.whitelist else { return Ok(()) };
        for requirement in whitelist.selector().requirements() {
            let key = requirement.key();
            let Some(value) = node.labels.get(key) else { continue };
            if requirement.accepts(Some(value)) || self.may_always_have(key, value, whitelist) {
                continue;
            }
            let explanation = format!(
                "{}, and {source} allows only nodes with {}; name another node, or remove nodeName",
                self.names_node,
                shorten(&requirement.to_string()),
            );
            let rejection = self.rejection(explanation, rules).demanded_at(*source).about_label(key);
            return Err(rejection.demanding(requirement).with_detail(node.label_as_text(key)));
        }
        Ok(())
    }

    /// Whether the Pod may have `key=value` despite the whitelist: by a pair or expression that its entry requires, or
    /// by a pair of its RuntimeClass.
    fn may_always_have(&self, key: &str, value: &str, whitelist: &Whitelist) -> bool {
        let is_of_class = self.pairs_of_class.iter().any(|(own, pair)| own == key && pair == value);
        let is_pair = self.selection.node_selector.get(key) == Some(value);
        if is_pair && (is_of_class || whitelist.demands_value(key, value)) {
            return true;
        }
        let mut expressions = self.selection.terms.iter().flatten().flat_map(|term| &term.expressions);
        expressions.any(|expression| match &expression.requirement {
            Some(own) => own.key() == key && own.accepts(Some(value)) && whitelist.demands(own),
            None => false,
        })
    }
}

/// Whether a Pod is held to the node that it names, or may name none: some rule is about its node.
///
/// # Errors
/// The Pod's spec can't be read.
pub fn is_judged(subject: &PodSubject<'_, '_>, rules: &NodeRules<'_>) -> Result<bool, Rejection> {
    let is_anything_required = rules.is_limited || !rules.selects_every_node();
    let is_ignored = rules.settings.on_node_name == OnNodeName::Ignore;
    Ok(is_anything_required && !is_ignored && !subject.node_name()?.is_empty())
}

/// Rejects a Pod that names its node where none may. No Node is looked up here: templates are treated alike, and their
/// node may not exist yet.
///
/// # Errors
/// No Pod may name its node.
pub fn reject_unless_verified(subject: &PodSubject<'_, '_>, rules: &NodeRules<'_>) -> Result<(), Rejection> {
    // Pods that the audit scanner sends already run: they have the name of their node from a Binding.
    if *subject.user == User::Nobody {
        return Ok(());
    }
    // With an empty whitelist, a Pod may not name its node.
    let refusing = rules.whitelist.as_ref().filter(|allowed| allowed.whitelist.is_empty());
    if rules.settings.on_node_name == OnNodeName::Verify && refusing.is_none() {
        return Ok(());
    }
    if let Some(unresolved) = rules.whitelist.as_ref().and_then(|allowed| allowed.unresolved.as_ref()) {
        return Err(unresolved.clone());
    }
    let node_name = subject.node_name()?;
    let explanation = format!(
        "{} names its node, {}, which namespace {} does not permit (placement.onNodeName is Reject, or \
         allowedNodeSelector is empty); remove nodeName and let the scheduler choose",
        subject.name,
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
