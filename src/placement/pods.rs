//! Pods: judged and completed when they are created, judged again while they may still change.

use super::holding_entry::CandidateEntries;
use super::injection::Injection;
use super::judged::{Judged, SPEC};
use super::namespace_rules::NamespaceRules;
use super::node_selection::NodeSelection;
use super::toleration_rules::TolerationRules;
use super::tolerations::{self, AddedTolerations};
use super::{conflict, whitelist};
use crate::cluster::{Answer, Cluster};
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::settings::Placement;

/// What is to be added to a Pod that is let in.
#[derive(Debug)]
pub struct Additions<'r> {
    /// On which nodes it may run then.
    pub selection: NodeSelection<'r>,
    /// What is added to its nodeSelector and node affinity.
    pub injection: Injection<'r>,
    /// What is added to its tolerations.
    pub tolerations: AddedTolerations,
}

impl Additions<'_> {
    /// Whether nothing is added.
    pub const fn are_empty(&self) -> bool {
        self.injection.is_empty() && self.tolerations.is_empty()
    }

    /// Writes all of it into `spec`, a PodSpec.
    ///
    /// # Errors
    /// `spec` can't be read.
    pub fn write(&self, spec: &mut RawObject<'_>) -> Result<(), ReadError> {
        self.injection.write(spec, &self.selection)?;
        self.tolerations.write(spec)
    }

    /// Tells the audit log what was added, and where it is demanded.
    pub fn record(&self, decision: &mut Decision<'_>) {
        self.injection.record(decision);
        self.tolerations.record(decision);
    }
}

/// Judges what is being created, and tells what its namespace adds to `spec`.
///
/// # Errors
/// The first rule that the Pod breaks.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'r>(
    spec: &RawObject<'r>,
    judged: &Judged<'_>,
    rules: &'r NamespaceRules<'_>,
    toleration_rules: &TolerationRules<'_>,
) -> Result<Additions<'r>, Rejection> {
    let own = NodeSelection::read(spec).within(judged.path)?;
    conflict::reject(&own, rules, judged.name)?;
    let injection = Injection::of(&own, rules, judged.name)?;
    let selection = injection.add_to(own);
    whitelist::check(&selection, &injection, judged.is_pinned, rules, judged.name)?;
    let tolerations = tolerations::admit(spec, judged, toleration_rules)?;
    Ok(Additions { selection, injection, tolerations })
}

/// Judges an update of a Pod: until it is bound, its nodeSelector and node affinity can still change; tolerations can be
/// added as long as it lives.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn judge_update(
    spec: &RawObject<'_>,
    old_spec: &RawObject<'_>,
    judged: &Judged<'_>,
    settings: &Placement,
    namespace: &str,
    cluster: &impl Cluster,
) -> Result<(), Rejection> {
    const OLD: &str = "oldObject.spec";
    // What the new object says of its node is not validated yet, and trusted by nobody.
    let is_bound = !old_spec.string("nodeName").within(OLD)?.is_empty();
    let selection = NodeSelection::read(spec).within(SPEC)?;
    let is_selection_judged = !is_bound && selection != NodeSelection::read(old_spec).within(OLD)?;
    let candidates = CandidateEntries::of(settings, namespace);
    let mut new_tolerations = Vec::new();
    if candidates.may_judge_tolerations() {
        let old = tolerations::read(old_spec).within(OLD)?;
        new_tolerations = tolerations::new_among(tolerations::read(spec).within(SPEC)?, &old);
    }
    if !is_selection_judged && new_tolerations.is_empty() {
        return Ok(());
    }
    let answer = Answer::new();
    let holding = candidates.look_up(cluster, &answer)?;
    let rules = NamespaceRules::of(&holding)?;
    if is_selection_judged {
        conflict::reject(&selection, &rules, judged.name)?;
        whitelist::check(&selection, &Injection::default(), judged.is_pinned, &rules, judged.name)?;
    }
    if !new_tolerations.is_empty() {
        tolerations::judge_update(spec, &new_tolerations, judged, &TolerationRules::of(&holding)?)?;
    }
    Ok(())
}
