//! Forbidden labels: Pods must not select nodes by them, whatever else is allowed.

use super::node_affinity::{NODE_SELECTOR, NodeSelection};
use super::node_rules::{NodeRules, SourcedForbiddenLabels, SourcedRequirement};
use super::subject::PodSubject;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::limits::MOST_PAIRS;
use crate::message::{quote, shorten};
use crate::settings::OnNodeAffinity;

/// The label that the name of a node stands in. `matchFields` select by that name, too.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// Rejects a Pod whose `selection`, to which its namespace has `added` something, selects nodes by a forbidden label.
/// What its entry itself requires is not refused, whoever wrote it. Pairs of the Pod's RuntimeClass are the
/// administrator's, and a Pod of a DaemonSet has the name of its node from the controller.
///
/// # Errors
/// The first label; or the RuntimeClass can't be read.
pub fn validate(
    selection: &NodeSelection<'_>,
    added: &[SourcedRequirement<'_>],
    subject: &PodSubject<'_, '_>,
    nodes: &NodeRules<'_>,
) -> Result<(), Rejection> {
    let Some(forbidden) = &nodes.forbidden else { return Ok(()) };
    let SourcedForbiddenLabels { labels, own, .. } = forbidden;
    if selection.node_selector.len() > MOST_PAIRS {
        return Err(subject.too_many(MOST_PAIRS, "pairs", NODE_SELECTOR));
    }
    for (key, value) in selection.node_selector.iter().filter(|(key, _)| labels.names(key)) {
        if own.demands_value(key, value) || subject.runtime_class.scheduling()?.selects(key, value) {
            continue;
        }
        let mut added = added.iter().filter(|own| own.requirement.key() == key);
        let added = added.find(|own| own.requirement.only_value() == Some(value));
        return Err(rejection(key, "", &format!("{key}={value}"), added, forbidden, subject));
    }
    if nodes.settings.on_node_affinity == OnNodeAffinity::Ignore {
        return Ok(());
    }
    let terms = || selection.terms.iter().flatten();
    for expression in terms().flat_map(|term| &term.expressions).filter(|own| labels.names(&own.key)) {
        let requirement = expression.requirement.as_ref();
        if requirement.is_some_and(|requirement| own.demands(requirement)) {
            continue;
        }
        let added = added.iter().find(|own| requirement.is_some_and(|it| it.same_as(&own.requirement)));
        let requested = expression.to_string();
        return Err(rejection(&expression.key, "node affinity ", &requested, added, forbidden, subject));
    }
    let mut fields = terms().flat_map(|term| &term.fields);
    if labels.names(HOSTNAME)
        && !subject.is_pinned()
        && let Some(field) = fields.next()
    {
        return Err(rejection(HOSTNAME, "node affinity by matchFields ", &field.parts(), None, forbidden, subject));
    }
    Ok(())
}

/// Returns the rejection of `what` is `requested` about the label `key`, or was `added`.
fn rejection(
    key: &str,
    what: &str,
    requested: &str,
    added: Option<&SourcedRequirement<'_>>,
    forbidden: &SourcedForbiddenLabels<'_>,
    subject: &PodSubject<'_, '_>,
) -> Rejection {
    let (name, shown, source) = (subject.name, format!("{what}{}", quote(requested)), forbidden.source);
    let forbids = format!("{source} forbids to select nodes by {}", shorten(key));
    let explanation = match added {
        Some(SourcedRequirement { source, .. }) => format!(
            "{source} adds {shown} to {name}, but {forbids}; change one of the two, or no Pod of namespace {} can be \
             created",
            quote(forbidden.namespace)
        ),
        None => format!("{name} requests {shown}, but {forbids}; remove it"),
    };
    let cause = Cause {
        kind: if added.is_some() { CauseKind::Contradiction } else { CauseKind::Requests },
        setting: source.setting(),
        annotation: added.and_then(|own| own.source.annotation()),
        label: Some(key.to_owned()),
        requested: Some(requested.to_owned()),
        ..Cause::default()
    };
    Rejection::forbidden(cause, explanation)
}
