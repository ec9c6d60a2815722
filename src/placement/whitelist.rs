//! Whitelists: what the Pods of a namespace may ask for.

use super::injection::Injection;
use super::node_affinity::{Expression, Term};
use super::node_rules::{NodeRules, SourcedWhitelist};
use super::node_selection::NODE_SELECTOR;
use super::references::SourcedRequirement;
use super::subject::PodSubject;
use crate::decision::{CauseKind, Rejection};
use crate::limits::MOST_PAIRS;
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
/// What is not allowed; or the RuntimeClass can't be read.
///
/// Upstream: `isSubset` of the `PodNodeSelector` plugin, for sets and node affinity.
pub fn check(injection: &Injection<'_>, subject: &PodSubject<'_, '_>, rules: &NodeRules<'_>) -> Result<(), Rejection> {
    let Some(allowed) = &rules.whitelist else { return Ok(()) };
    let (selection, whitelist) = (&injection.selection, &allowed.whitelist);
    if selection.node_selector.len() > MOST_PAIRS {
        let field = format!("{}.{NODE_SELECTOR}", subject.path);
        return Err(Rejection::too_many(subject.name, MOST_PAIRS, "pairs", &field));
    }
    let reject = |key: &str, what: &str, asked: &str, added| {
        // A whitelist that nobody can read allows nothing: that is the cause, whatever is asked for.
        if let Some(unresolved) = &allowed.unresolved {
            return Err(unresolved.clone());
        }
        let shown = format!("{what}{}", quote(asked));
        let rejection = rejection(&shown, added, allowed, rules.namespace, subject.name);
        Err(rejection.about_label(key).asking_for(&asked))
    };
    for (key, value) in selection.node_selector.iter() {
        // Of a repeated key the last counts.
        if selection.node_selector.get(key) != Some(value) {
            continue;
        }
        if whitelist.allows_value(key, value) || subject.runtime_class.scheduling()?.selects(key, value) {
            continue;
        }
        let requirement = Requirement::new(key.to_owned(), Operator::Equals, vec![value.to_owned()]).ok();
        let added = requirement.and_then(|requirement| injection.find(&requirement));
        return reject(key, "", &format!("{key}={value}"), added);
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
        && !subject.is_pinned()
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
    let SourcedWhitelist { whitelist, source, .. } = allowed;
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
    rejection.in_namespace(namespace).demanding(&allowed)
}
