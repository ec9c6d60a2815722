//! Checks node selections against the whitelist and the forbidden labels of the namespace.

use super::node_affinity::{Excess, HOSTNAME, NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, Requested};
use super::node_rules::{NodeRules, SourcedForbiddenLabels, SourcedRequirement, SourcedWhitelist};
use super::subject::PodSubject;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::limits::{MOST_COMPARISONS, MOST_PAIRS};
use crate::message::{quote, shorten};

/// The in-tree sentence for a Pod that requests more than its namespace allows.
pub(super) const NOT_ALLOWED: &str = "pod node label selector labels conflict with its namespace whitelist";

/// Rejects a Pod whose `selection` is not allowed, or selects nodes by a forbidden label. Skips the requirements of the
/// entry itself, and pairs of the RuntimeClass. `added` are the requirements that the namespace added.
///
/// # Errors
/// Something is not allowed or is forbidden, or the RuntimeClass can't be read.
///
/// Upstream: `isSubset` of the `PodNodeSelector` plugin, for sets and node affinity.
pub fn validate(
    selection: &NodeSelection<'_>,
    added: &[SourcedRequirement<'_>],
    subject: &PodSubject<'_, '_>,
    nodes: &NodeRules<'_>,
) -> Result<(), Rejection> {
    let NodeRules { whitelist, forbidden, settings, .. } = nodes;
    if whitelist.is_none() && forbidden.is_none() {
        return Ok(());
    }
    if selection.node_selector.len() > MOST_PAIRS {
        return Err(subject.too_many(Excess { most: MOST_PAIRS, what: "pairs" }, NODE_SELECTOR));
    }
    let mut comparisons = 0;
    for requested in selection.requested(settings.on_node_affinity) {
        let required = forbidden.as_ref().map(|forbidden| &forbidden.required);
        for list in whitelist.iter().map(|allowed| &allowed.whitelist).chain(required) {
            comparisons += list.comparisons_on(requested.key()) * requested.size();
        }
        if comparisons > MOST_COMPARISONS {
            let is_pair = matches!(requested, Requested::Pair(..));
            let field = if is_pair { NODE_SELECTOR.to_owned() } else { REQUIRED_AFFINITY.join(".") };
            return Err(subject.too_much_to_compare(&field));
        }
        let not_allowing = whitelist.as_ref().filter(|allowed| !allows(allowed, &requested, subject));
        let forbidding = forbidden.as_ref().filter(|forbidden| forbids(forbidden, &requested, subject));
        if not_allowing.is_none() && forbidding.is_none() || is_of_class(&requested, subject)? {
            continue;
        }
        let added = added.iter().find(|added| requested.is_same_as(&added.requirement));
        if let Some(allowed) = not_allowing {
            return Err(not_allowed(&requested, added, allowed, subject));
        }
        if let Some(forbidden) = forbidding {
            return Err(forbidden_label(&requested, added, forbidden, subject));
        }
    }
    Ok(())
}

fn allows(allowed: &SourcedWhitelist<'_>, requested: &Requested<'_>, subject: &PodSubject<'_, '_>) -> bool {
    let whitelist = &allowed.whitelist;
    match requested {
        Requested::Pair(key, value) => whitelist.allows_value(key, value),
        Requested::Expression(expression) => match &expression.requirement {
            Some(requirement) => whitelist.allows(requirement),
            // An invalid expression matches no node. It is accepted only if the key may have any value.
            None => whitelist.allows_any_value(&expression.key),
        },
        Requested::Field(_) => !whitelist.is_empty() || subject.is_pinned(),
    }
}

fn forbids(forbidden: &SourcedForbiddenLabels<'_>, requested: &Requested<'_>, subject: &PodSubject<'_, '_>) -> bool {
    let SourcedForbiddenLabels { labels, required, .. } = forbidden;
    match requested {
        Requested::Pair(key, value) => labels.names(key) && !required.requires_value(key, value),
        Requested::Expression(expression) => {
            let is_required = |requirement| required.requires(requirement);
            labels.names(&expression.key) && !expression.requirement.as_ref().is_some_and(is_required)
        }
        Requested::Field(_) => labels.names(HOSTNAME) && !subject.is_pinned(),
    }
}

/// Returns whether the RuntimeClass of the Pod adds what is requested.
fn is_of_class(requested: &Requested<'_>, subject: &PodSubject<'_, '_>) -> Result<bool, Rejection> {
    match requested {
        Requested::Pair(key, value) => Ok(subject.runtime_class.scheduling()?.selects(key, value)),
        _ => Ok(false),
    }
}

/// Rejects a request that a whitelist does not allow.
fn not_allowed(
    requested: &Requested<'_>,
    added: Option<&SourcedRequirement<'_>>,
    allowed: &SourcedWhitelist<'_>,
    subject: &PodSubject<'_, '_>,
) -> Rejection {
    let SourcedWhitelist { whitelist, source, namespace, unresolved } = allowed;
    if let Some(unresolved) = unresolved {
        return unresolved.rejection().clone();
    }
    let (name, shown, allowed) = (subject.name, requested.name(), whitelist.selector().to_string());
    let whitelist = format!("{source} ({})", quote(&allowed));
    let explanation = match added {
        Some(SourcedRequirement { source, .. }) => format!(
            "{source} adds {shown} to {name}, which {whitelist} does not allow; change one of the two, or no Pod of \
             namespace {} can be created",
            quote(namespace)
        ),
        None => format!("{name} requests {shown}, which {whitelist} does not allow; remove it, or have it allowed"),
    };
    let cause = cause(requested, added).at(*source).required(&allowed);
    Rejection::with_sentence(NOT_ALLOWED, cause, explanation)
}

/// Rejects a request to select nodes by a forbidden label.
fn forbidden_label(
    requested: &Requested<'_>,
    added: Option<&SourcedRequirement<'_>>,
    forbidden: &SourcedForbiddenLabels<'_>,
    subject: &PodSubject<'_, '_>,
) -> Rejection {
    let (name, shown, source) = (subject.name, requested.name(), forbidden.source);
    let label = if let Requested::Field(_) = requested { HOSTNAME } else { requested.key() };
    let forbids = format!("{source} forbids to select nodes by {}", shorten(label));
    let explanation = match added {
        Some(SourcedRequirement { source, .. }) => format!(
            "{source} adds {shown} to {name}, but {forbids}; change one of the two, or no Pod of namespace {} can be \
             created",
            quote(forbidden.namespace)
        ),
        None => format!("{name} requests {shown}, but {forbids}; remove it"),
    };
    Rejection::forbidden(cause(requested, added).at(source).label(label), explanation)
}

/// Returns the common part of both causes. A requirement that the namespace added contradicts the setting that refuses it.
fn cause(requested: &Requested<'_>, added: Option<&SourcedRequirement<'_>>) -> Cause {
    let kind = if added.is_some() { CauseKind::Contradiction } else { CauseKind::Requests };
    let cause = Cause::new(kind).label(requested.key()).requested(requested);
    cause.at_annotation(added.map(|added| added.source))
}
