//! Pods: judged and completed when they are created, judged again while they may still change.

use json::{Mismatch, Object};

use super::namespace_selector::{Demanded, NamespaceSelector};
use super::pod_spec::PodSpec;
use super::rules;
use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::metadata::Subject;
use crate::settings::PodNodeSelector;

/// The path of a Pod's spec in the request.
pub const SPEC: &str = "object.spec";

/// Judges what is being created, and adds the namespace selector to `spec`, which stands at `path`.
///
/// # Errors
/// The first rule that the Pod breaks.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'a, 's>(
    spec: &mut Object<'a>,
    path: &str,
    selector: &'s NamespaceSelector,
    rules: &PodNodeSelector<'_>,
    subject: &Subject<'_>,
) -> Result<(PodSpec<'a>, Vec<Demanded<'s>>), Rejection> {
    let mut pod = PodSpec::read(spec).map_err(|mismatch| mismatch.within(path))?;
    rules::conflict(&pod, selector, subject, rules.dialect())?;
    let injected = rules::inject(&mut pod, spec, path, selector, subject)?;
    rules::allow(&pod, &injected, rules, subject)?;
    Ok((pod, injected))
}

/// Judges an update of a Pod: until it is bound, its nodeSelector and node affinity can still change.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn update(
    spec: &Object<'_>,
    old_spec: &Object<'_>,
    rules: &PodNodeSelector<'_>,
    subject: &Subject<'_>,
    cluster: &impl Cluster,
) -> Result<(), Rejection> {
    let within_old = |mismatch: Mismatch| mismatch.within("oldObject.spec");
    // What the new object says is not validated yet, and trusted by nobody.
    if !old_spec.string("nodeName").map_err(within_old)?.is_empty() {
        return Ok(());
    }
    let pod = PodSpec::read(spec).map_err(|mismatch| mismatch.within(SPEC))?;
    let old = PodSpec::read(old_spec).map_err(within_old)?;
    if pod.selects_as(&old) {
        return Ok(());
    }
    let selector = NamespaceSelector::look_up(rules, cluster)?;
    rules::conflict(&pod, &selector, subject, rules.dialect())?;
    rules::allow(&pod, &[], rules, subject)
}

/// Tells the audit log what was added, and who demanded it.
pub fn record(decision: &mut Decision<'_>, injected: &[Demanded<'_>]) {
    let added: Vec<String> = injected.iter().map(|demanded| demanded.requirement.to_string()).collect();
    let mut sources: Vec<&str> = Vec::new();
    for demanded in injected {
        if !sources.contains(&demanded.source) {
            sources.push(demanded.source);
        }
    }
    if !added.is_empty() {
        decision.annotate("node-selector", added.join(","));
        decision.annotate("node-selector-source", sources.join(", "));
    }
}
