//! Whitelists: what the Pods of a namespace may ask for.

use super::injection::Injection;
use super::judged::Judged;
use super::node_affinity::{Expression, Term};
use super::node_rules::NodeRules;
use super::sourced::{SourcedRequirement, SourcedWhitelist};
use crate::decision::{CauseKind, Rejection};
use crate::message::quote;
use crate::object_meta::ObjectName;
use crate::selector::{Operator, Requirement, Whitelist};
use crate::settings::OnNodeAffinity;

/// The in-tree sentence for a Pod that asks for more than its namespace allows.
pub(super) const NOT_ALLOWED: &str = "pod node label selector labels conflict with its namespace whitelist";

/// Rejects a Pod that, after `injection`, asks for more than the whitelist of its namespace allows. Pairs of the Pod's
/// RuntimeClass are the administrator's. A Pod of a DaemonSet matches the name of its node because the controller wrote
/// that.
///
/// # Errors
/// What is not allowed.
///
/// Upstream: `isSubset` of the `PodNodeSelector` plugin, for sets and node affinity.
pub fn check(injection: &Injection<'_>, judged: &Judged<'_>, rules: &NodeRules<'_>) -> Result<(), Rejection> {
    let Some(allowed) = &rules.whitelist else { return Ok(()) };
    let (selection, whitelist, class_pairs) = (&injection.selection, &allowed.whitelist, &judged.class.node_selector);
    let reject = |key: &str, what: &str, asked: &str, added| {
        let shown = format!("{what}{}", quote(asked));
        let rejection = rejection(&shown, added, allowed, rules.namespace, judged.name);
        Err(rejection.about_label(key).asking_for(&asked))
    };
    for (key, value) in &selection.node_selector {
        if !whitelist.allows_value(key, value) && class_pairs.get(&**key).is_none_or(|own| **own != **value) {
            let requirement = Requirement::new(key.to_string(), Operator::Equals, vec![value.to_string()]).ok();
            let added = requirement.and_then(|requirement| injection.find(&requirement));
            return reject(key, "", &format!("{}={}", &**key, &**value), added);
        }
    }
    if rules.settings.on_node_affinity == OnNodeAffinity::Ignore {
        return Ok(());
    }
    for expression in selection.terms.iter().flatten().flat_map(|term| &term.expressions) {
        if !allows(whitelist, expression) {
            let added = expression.requirement.as_ref().and_then(|requirement| injection.find(requirement));
            return reject(&expression.key, "node affinity ", &expression.to_string(), added);
        }
    }
    let mut fields = selection.terms.iter().flatten().filter_map(Term::first_field);
    if whitelist.is_empty()
        && !judged.is_pinned()
        && let Some(field) = fields.next()
    {
        return reject(&field.key, "node affinity by matchFields ", &field.parts(), None);
    }
    Ok(())
}

fn allows(whitelist: &Whitelist, expression: &Expression) -> bool {
    match &expression.requirement {
        Some(requirement) => whitelist.allows(requirement),
        // An invalid expression matches no node. It is accepted only if the key may have any value.
        None => whitelist.allows_any_value(&expression.key),
    }
}

/// The rejection of what is `asked`, or was `added`.
fn rejection(
    asked: &str,
    added: Option<SourcedRequirement<'_>>,
    allowed: &SourcedWhitelist<'_>,
    namespace: &str,
    name: &ObjectName,
) -> Rejection {
    let SourcedWhitelist { whitelist, source, unresolved } = allowed;
    if let Some(unresolved) = unresolved {
        return unresolved.clone();
    }
    let allowed = whitelist.selector().to_string();
    let whitelist = format!("{source} ({})", quote(&allowed));
    let explanation = match added {
        Some(SourcedRequirement { source, .. }) => format!(
            "{source} adds {asked} to {name}, which {whitelist} does not allow; change one of the two, or no Pod of namespace \
             {} can be created",
            quote(namespace)
        ),
        None => format!("{name} asks for {asked}, which {whitelist} does not allow; remove it, or have it allowed"),
    };
    let rejection = Rejection::with_sentence(CauseKind::Asks, NOT_ALLOWED, explanation).demanded_at(*source);
    rejection.in_namespace(namespace).demanding(&allowed).by_whitelist()
}
