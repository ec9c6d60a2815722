//! Checks the node that a Pod names. No scheduler checks it, so labels, node affinity and taints are compared here.

use super::injection::PodMutation;
use super::node_rules::{RequiredNodes, SourcedWhitelist};
use super::rules::Rules;
use super::subject::PodSubject;
use super::tolerations;
use crate::cluster::{ALLOCATABLE, FieldMasks, LABELS, Node, NodeLookup, TAINTS};
use crate::decision::{Cause, CauseKind, Rejection};
use crate::message::{quote, shorten};
use crate::selector::{Selector, Whitelist};
use crate::settings::{OnNodeName, Setting, Source};
use crate::toleration::{Toleration, is_extended, untolerated};

/// A Pod that names its node, which must be one that the Pod may run on.
pub struct NamedNode<'p, 'r> {
    subject: &'p PodSubject<'p, 'p>,
    mutation: &'p PodMutation<'p, 'r>,
    node_name: String,
    /// The tolerations that are allowed on every node.
    tolerations: Vec<Toleration>,
    /// The tolerations that are allowed only for the extended resources that the Pod requests. They count if the node has
    /// the resource.
    for_resources: Vec<Toleration>,
}

/// Returns whether the node that a Pod names is checked.
///
/// # Errors
/// The Pod's spec can't be read.
pub fn is_checked(
    subject: &PodSubject<'_, '_>,
    rules: &Rules<'_>,
    required: &RequiredNodes<'_>,
) -> Result<bool, Rejection> {
    let is_anything_required = rules.limits_named_nodes || !required.is_empty();
    let is_ignored = rules.nodes.settings.on_node_name == OnNodeName::Ignore;
    Ok(is_anything_required && !is_ignored && !subject.node_name()?.is_empty())
}

/// Rejects a Pod that names its node although no Pod may. Looks up no Node, because this is for templates too.
///
/// # Errors
/// No Pod may name its node.
pub fn validate_naming(
    subject: &PodSubject<'_, '_>,
    rules: &Rules<'_>,
    required: &RequiredNodes<'_>,
) -> Result<(), Rejection> {
    // Pods from the audit scanner run already. A Binding named their node.
    if !is_checked(subject, rules, required)? || subject.is_scanned() {
        return Ok(());
    }
    // With an empty whitelist, a Pod must not name its node.
    let refusing = rules.nodes.whitelist.as_ref().filter(|allowed| allowed.whitelist.is_empty());
    if rules.nodes.settings.on_node_name == OnNodeName::Verify && refusing.is_none() {
        return Ok(());
    }
    if let Some(unresolved) = refusing.and_then(|allowed| allowed.unresolved.clone()) {
        return Err(unresolved.into());
    }
    let node_name = subject.node_name()?;
    let (source, value) = match refusing {
        Some(allowed) => (allowed.source, "empty"),
        None => (Source::Placement(Setting::OnNodeName), "Reject"),
    };
    let explanation = format!(
        "{} names its node, {}, which namespace {} does not permit: {source} is {value}; remove nodeName and let the \
         scheduler choose",
        subject.name,
        quote(&node_name),
        quote(required.namespace)
    );
    let cause = Cause::new(CauseKind::NodeName).at(source).requested(&node_name);
    Err(Rejection::forbidden(cause, explanation))
}

impl<'p, 'r> NamedNode<'p, 'r> {
    /// Returns the node that an accepted Pod names, or `None` if no rule checks it.
    ///
    /// # Errors
    /// The Pod's tolerations can't be read, or are too many; its RuntimeClass can't be read.
    pub fn new(subject: &'p PodSubject<'p, 'p>, mutation: &'p PodMutation<'p, 'r>) -> Result<Option<Self>, Rejection> {
        if !is_checked(subject, mutation.rules, &mutation.required)? {
            return Ok(None);
        }
        let (mut tolerations, mut for_resources) = (Vec::new(), Vec::new());
        for toleration in tolerations::of_pod(subject)?.into_iter().chain(mutation.tolerations.iter().cloned()) {
            // If the rules object to a toleration of an accepted Pod, the RuntimeClass or the cluster added it, or a
            // resource allows it. Pods from the audit scanner run already, so their resources are not checked: with DRA,
            // no Node lists extended resources in `allocatable` (KEP-5004).
            let is_for_resource = !subject.is_scanned()
                && is_extended(&toleration.key)
                && mutation.rules.tolerations.objection_to(&toleration).is_some()
                && !subject.runtime_class.scheduling()?.tolerates_same(&toleration);
            if is_for_resource { &mut for_resources } else { &mut tolerations }.push(toleration);
        }
        Ok(Some(Self { subject, mutation, node_name: subject.node_name()?, tolerations, for_resources }))
    }

    /// Returns the fields that are needed of the node.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::new();
        masks.extend([LABELS, TAINTS].map(str::to_owned));
        if !self.for_resources.is_empty() {
            masks.insert(ALLOCATABLE.to_owned());
        }
        masks
    }

    /// Rejects a Pod that names a node which it must not use.
    ///
    /// # Errors
    /// The Pod must not use the node, or the node could not be read.
    pub fn validate(&self, node: &NodeLookup<'_>) -> Result<(), Rejection> {
        let names_node = format!("{} names node {}", self.subject.name, quote(&self.node_name));
        let Some(node) = node.required_by(&names_node)? else { return Ok(()) };
        self.mutation.required.validate_node(
            node,
            &format!("{names_node}, but"),
            "name another node, or remove nodeName",
        )?;
        let selection = &self.mutation.selection;
        if !selection.matches_node(node.name.as_str(), |key| node.labels.get(key)) {
            let explanation = format!(
                "{names_node}, which its own nodeSelector or node affinity does not match; change one of them, or \
                 remove nodeName"
            );
            return Err(Rejection::forbidden(self.cause(), explanation));
        }
        self.validate_labels(node, &names_node)?;
        self.validate_taints(node, &names_node)
    }

    /// Returns the common part of all causes.
    fn cause(&self) -> Cause {
        Cause::new(CauseKind::NodeName).requested(&self.node_name)
    }

    /// Rejects the Pod if it doesn't tolerate a lasting taint of the node: no scheduler has checked.
    fn validate_taints(&self, node: &Node<'_>, names_node: &str) -> Result<(), Rejection> {
        let has_resource = |toleration: &&Toleration| node.has_resource(&toleration.key);
        let mut tolerations = self.tolerations.clone();
        tolerations.extend(self.for_resources.iter().filter(has_resource).cloned());
        let taints = node.lasting_taints().map_err(|problem| {
            let explanation = format!("{names_node}, which {problem}; name another node, or remove nodeName");
            Rejection::forbidden(CauseKind::Limit, explanation)
        })?;
        let Some(taint) = untolerated(&tolerations, taints) else { return Ok(()) };
        let explanation =
            format!("{names_node}, which has a taint that it does not tolerate; name another node, or remove nodeName");
        let cause = self.cause().taint(taint).detail(Node::taint_as_text(taint));
        Err(Rejection::forbidden(cause, explanation))
    }

    /// Rejects a Pod that names a node which the whitelist does not allow. Skips labels that the Pod may always request:
    /// `validate` compared its selection with the node.
    fn validate_labels(&self, node: &Node<'_>, names_node: &str) -> Result<(), Rejection> {
        let Some(SourcedWhitelist { whitelist, source, .. }) = &self.mutation.rules.nodes.whitelist else {
            return Ok(());
        };
        let mut always_allowed = None;
        for requirement in whitelist.selector().requirements() {
            let key = requirement.key();
            let Some(value) = node.labels.get(key).filter(|value| !requirement.accepts(Some(value))) else { continue };
            if self.has_allowed_pair(key, value, whitelist) {
                continue;
            }
            let expressions = always_allowed.get_or_insert_with(|| self.allowed_expressions(whitelist));
            if expressions.on(key).iter().any(|allowed| allowed.accepts(Some(value))) {
                continue;
            }
            let explanation = format!(
                "{names_node}, and {source} allows only nodes with {}; name another node, or remove nodeName",
                shorten(&requirement.to_string()),
            );
            let cause = self.cause().at(*source).label(key).required(requirement);
            return Err(Rejection::forbidden(cause.detail(node.label_as_text(key)), explanation));
        }
        Ok(())
    }

    /// Returns whether the Pod selects `key=value` by a pair that its entry requires, or one of its RuntimeClass.
    fn has_allowed_pair(&self, key: &str, value: &str, whitelist: &Whitelist) -> bool {
        self.mutation.selection.node_selector.get(key) == Some(value)
            && (whitelist.requires_value(key, value) || self.subject.runtime_class.is_known_to_add(key, value))
    }

    /// Returns the expressions of the Pod's node affinity that its entry requires.
    fn allowed_expressions(&self, whitelist: &Whitelist) -> Selector {
        let expressions = self.mutation.selection.terms.iter().flatten().flat_map(|term| &term.expressions);
        let requirements = expressions.filter_map(|expression| expression.requirement.as_ref());
        let required = requirements.filter(|requirement| whitelist.requires(requirement));
        Selector::new(required.cloned().collect()).without_repeats()
    }
}
