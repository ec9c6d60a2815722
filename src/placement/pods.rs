//! Pods: judged and completed when they are created, judged again while they may still change.

use super::holding_entry::CandidateEntries;
use super::injection::Injection;
use super::judged::{Judged, SPEC};
use super::node_rules::NodeRules;
use super::node_selection::NodeSelection;
use super::preferences::{self, Preference};
use super::runtime_classes;
use super::toleration_rules::TolerationRules;
use super::tolerations::{self, AddedTolerations};
use super::{conflict, whitelist};
use crate::cluster::{Answer, Cluster, Scheduling};
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::request::Request;
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
    /// What is added to its preferences.
    pub preferences: Vec<Preference>,
    /// What its RuntimeClass brings, as far as it had to be known.
    pub class: Scheduling,
}

impl Additions<'_> {
    /// Whether nothing is added.
    pub const fn are_empty(&self) -> bool {
        self.injection.is_empty() && self.tolerations.is_empty() && self.preferences.is_empty()
    }

    /// Writes all of it into `spec`, a PodSpec.
    ///
    /// # Errors
    /// `spec` can't be read.
    pub fn write(&self, spec: &mut RawObject<'_>) -> Result<(), ReadError> {
        self.injection.write(spec, &self.selection)?;
        preferences::write(&self.preferences, spec)?;
        self.tolerations.write(spec)
    }

    /// All of it in words, as the audit log has them.
    pub fn in_words(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let requirements: Vec<String> = self.injection.requirements().map(|own| own.requirement.to_string()).collect();
        if !requirements.is_empty() {
            words.push(format!("node-selector {}", requirements.join(",")));
        }
        let preferences: Vec<String> = self.preferences.iter().map(|own| own.selector.to_string()).collect();
        if !preferences.is_empty() {
            words.push(format!("preferred {}", preferences.join("; ")));
        }
        let tolerations: Vec<String> = self.tolerations.iter().map(ToString::to_string).collect();
        if !tolerations.is_empty() {
            words.push(format!("tolerations {}", tolerations.join(",")));
        }
        words.join("; ")
    }

    /// Tells the audit log what was added, and where it is demanded.
    pub fn record(&self, decision: &mut Decision<'_>) {
        self.injection.record(decision);
        self.tolerations.record(decision);
    }
}

/// Judges what is being created, and tells what its namespace adds to `spec`, which asks for `own` nodes.
///
/// # Errors
/// The first rule that the Pod breaks.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'r>(
    own: NodeSelection<'r>,
    spec: &RawObject<'_>,
    judged: &Judged<'_>,
    rules: &'r NodeRules<'_>,
    toleration_rules: &TolerationRules<'_>,
) -> Result<Additions<'r>, Rejection> {
    if judged.is_template() {
        // Its Pods have what their class brings.
        conflict::reject(&own.clone().with_pairs(judged.class.node_selector()), rules, judged)?;
        tolerations::judge_class(judged, toleration_rules)?;
    } else {
        conflict::reject(&own, rules, judged)?;
    }
    let injection = Injection::of(&own, rules, judged.name)?;
    let selection = injection.add_to(own);
    whitelist::check(&selection, &injection, judged, rules)?;
    let tolerations = tolerations::admit(spec, judged, toleration_rules)?;
    Ok(Additions { selection, injection, tolerations, preferences: Vec::new(), class: judged.class.clone() })
}

/// Judges an update of a Pod: until it is bound, its nodeSelector and node affinity can still change; tolerations can
/// be added as long as it lives.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn judge_update(
    spec: &RawObject<'_>,
    old_spec: &RawObject<'_>,
    judged: &Judged<'_>,
    request: &Request<'_>,
    settings: &Placement,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<(), Rejection> {
    const OLD: &str = "oldObject.spec";
    // The new object's nodeName is not validated yet. Only the old one counts.
    let is_bound = !old_spec.string("nodeName").within(OLD)?.is_empty();
    let selection = NodeSelection::read(spec).within(SPEC)?;
    let is_selection_judged = !is_bound && selection != NodeSelection::read(old_spec).within(OLD)?;
    let candidates = CandidateEntries::of(settings, &request.namespace);
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
    let class_name = runtime_classes::name_to_resolve(old_spec, settings).within(OLD)?;
    let is_exempt = request.requester.is_among(&settings.exempt_usernames);
    let judge = || {
        let mut rules = NodeRules::of(&holding)?.yielding_to(&selection);
        rules.whitelist = rules.whitelist.filter(|_| !is_exempt);
        runtime_classes::judge_with_class(&class_name, cluster, |class| {
            let judged = Judged { class, class_name: &class_name, ..*judged };
            if is_selection_judged {
                conflict::reject(&selection, &rules, &judged)?;
                whitelist::check(&selection, &Injection::default(), &judged, &rules)?;
            }
            if !new_tolerations.is_empty() && !is_exempt {
                tolerations::judge_update(spec, &new_tolerations, &judged, &TolerationRules::of(&holding)?)?;
            }
            Ok(())
        })
    };
    holding.enforce(judge(), decision).map(drop)
}
