//! Whitelists: what the Pods of a namespace may ask for.

use super::node_affinity::{Expression, NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY};
use super::node_rules::{NodeRules, SourcedRequirement, SourcedWhitelist};
use super::subject::PodSubject;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::limits::{MOST_COMPARISONS, MOST_PAIRS};
use crate::message::quote;
use crate::selector::{Requirement, Whitelist};
use crate::settings::OnNodeAffinity;

/// The in-tree sentence for a Pod that asks for more than its namespace allows.
pub(super) const NOT_ALLOWED: &str = "pod node label selector labels conflict with its namespace whitelist";

/// Rejects a Pod that asks for more than the whitelist of its namespace allows: by its `selection`, to which its
/// namespace has `added` something. Pairs of the Pod's RuntimeClass are the administrator's. A Pod of a DaemonSet
/// matches the name of its node because the controller wrote that.
///
/// # Errors
/// What is not allowed; or the RuntimeClass can't be read.
///
/// Upstream: `isSubset` of the `PodNodeSelector` plugin, for sets and node affinity.
pub fn validate(
    selection: &NodeSelection<'_>,
    added: &[SourcedRequirement<'_>],
    subject: &PodSubject<'_, '_>,
    nodes: &NodeRules<'_>,
) -> Result<(), Rejection> {
    let Some(allowed) = &nodes.whitelist else { return Ok(()) };
    let whitelist = &allowed.whitelist;
    if selection.node_selector.len() > MOST_PAIRS {
        return Err(subject.too_many(MOST_PAIRS, "pairs", NODE_SELECTOR));
    }
    let mut comparisons = 0;
    for (key, value) in selection.node_selector.iter() {
        comparisons += whitelist.comparisons_on(key);
        if comparisons > MOST_COMPARISONS {
            return Err(subject.too_much_to_compare(NODE_SELECTOR));
        }
        if whitelist.allows_value(key, value) || subject.runtime_class.scheduling()?.selects(key, value) {
            continue;
        }
        let is_demanded = |own: &Requirement| own.key() == key && own.only_value() == Some(value);
        let added = added.iter().find(|own| is_demanded(&own.requirement));
        return Err(rejection(key, "", &format!("{key}={value}"), added, allowed, subject));
    }
    if nodes.settings.on_node_affinity == OnNodeAffinity::Ignore {
        return Ok(());
    }
    for expression in selection.terms.iter().flatten().flat_map(|term| &term.expressions) {
        comparisons += whitelist.comparisons_on(&expression.key) * expression.size();
        if comparisons > MOST_COMPARISONS {
            return Err(subject.too_much_to_compare(&REQUIRED_AFFINITY.join(".")));
        }
        if !allows(whitelist, expression) {
            let is_demanded = |own: &Requirement| expression.requirement.as_ref().is_some_and(|it| it.same_as(own));
            let added = added.iter().find(|own| is_demanded(&own.requirement));
            let (key, asked) = (&expression.key, expression.to_string());
            return Err(rejection(key, "node affinity ", &asked, added, allowed, subject));
        }
    }
    let mut fields = selection.terms.iter().flatten().flat_map(|term| &term.fields);
    if whitelist.is_empty()
        && !subject.is_pinned()
        && let Some(field) = fields.next()
    {
        return Err(rejection(&field.key, "node affinity by matchFields ", &field.parts(), None, allowed, subject));
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

/// The rejection of `what` is `asked` about the label or field `key`, or was `added`.
fn rejection(
    key: &str,
    what: &str,
    asked: &str,
    added: Option<&SourcedRequirement<'_>>,
    allowed: &SourcedWhitelist<'_>,
    subject: &PodSubject<'_, '_>,
) -> Rejection {
    let SourcedWhitelist { whitelist, source, namespace, unresolved } = allowed;
    if let Some(unresolved) = unresolved {
        return unresolved.clone();
    }
    let (name, allowed) = (subject.name, whitelist.selector().to_string());
    let (shown, whitelist) = (format!("{what}{}", quote(asked)), format!("{source} ({})", quote(&allowed)));
    let explanation = match added {
        Some(SourcedRequirement { source, .. }) => format!(
            "{source} adds {shown} to {name}, which {whitelist} does not allow; change one of the two, or no Pod of \
             namespace {} can be created",
            quote(namespace)
        ),
        None => format!("{name} asks for {shown}, which {whitelist} does not allow; remove it, or have it allowed"),
    };
    let cause = Cause {
        kind: if added.is_some() { CauseKind::Contradiction } else { CauseKind::Requests },
        setting: source.setting(),
        annotation: added.and_then(|own| own.source.annotation()),
        label: Some(key.to_owned()),
        required: Some(allowed),
        requested: Some(asked.to_owned()),
        ..Cause::default()
    };
    Rejection::with_sentence(NOT_ALLOWED, cause, explanation)
}
