//! Injection: adds what a namespace requires of nodes to its Pods. And everything that is added to a Pod.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::node_affinity::{NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, TERMS, Term};
use super::node_rules::{RequiredNodes, SourcedRequirement};
use super::preferences::{self, Preference};
use super::rules::Rules;
use super::subject::PodSubject;
use super::tolerations;
use crate::decision::{Decision, Rejection};
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::limits::{MOST_EXPRESSIONS, SHORT_LIST};
use crate::message::joined;
use crate::toleration::Toleration;

/// What is added to a Pod that is accepted, and the rules that accepted it.
#[derive(Debug)]
pub struct PodMutation<'p, 'r> {
    /// What is added to its nodeSelector and node affinity.
    pub added: Vec<SourcedRequirement<'r>>,
    /// The nodeSelector and node affinity that it has then.
    pub selection: NodeSelection<'p>,
    /// What is added to its tolerations.
    pub tolerations: Vec<Toleration>,
    /// What is added to its preferences.
    pub preferences: Vec<Preference>,
    /// The rules.
    pub rules: &'r Rules<'r>,
    /// What is required of its node.
    pub required: Cow<'r, RequiredNodes<'r>>,
}

/// Adds to `selection` what is `required` and it lacks, and returns that. Simple requirements go into the nodeSelector,
/// the others into required node affinity.
///
/// # Errors
/// There would be more expressions than are read.
pub fn inject<'r>(
    selection: &mut NodeSelection<'_>,
    required: &RequiredNodes<'r>,
    subject: &PodSubject<'_, '_>,
) -> Result<Vec<SourcedRequirement<'r>>, Rejection> {
    let (mut added, mut expressions) = (Vec::new(), Vec::new());
    for sourced in &required.requirements {
        let key = sourced.requirement.key();
        match sourced.requirement.only_value() {
            Some(value) if selection.node_selector.get(key) == Some(value) => {}
            Some(value) => {
                selection.node_selector.insert(key.into(), value.into());
                added.push(sourced.clone());
            }
            None => expressions.push(sourced),
        }
    }
    if !expressions.is_empty() {
        added.extend(narrow_terms(&mut selection.terms, &expressions, subject)?);
    }
    Ok(added)
}

/// Adds `expressions` to required node affinity, and returns those that some term lacked. Terms are ORed, so all are
/// narrowed; a term without expressions and fields matches no node and stays so.
fn narrow_terms<'r>(
    terms: &mut Option<Vec<Term>>,
    expressions: &[&SourcedRequirement<'r>],
    subject: &PodSubject<'_, '_>,
) -> Result<Vec<SourcedRequirement<'r>>, Rejection> {
    let has_terms = terms.is_some();
    let terms = terms.get_or_insert_with(|| vec![Term::default()]);
    let mut size: usize = terms.iter().map(Term::size).sum();
    let mut is_lacked = vec![false; expressions.len()];
    // A few are looked for among a term's expressions as they are; many by what they say, as one text each.
    let mut identities = Vec::new();
    if expressions.len() > SHORT_LIST {
        identities.extend(expressions.iter().map(|own| own.requirement.identity()));
    }
    for term in terms.iter_mut().filter(|term| !has_terms || !term.is_empty()) {
        let stated = if identities.is_empty() { BTreeSet::new() } else { term.stated() };
        for (position, SourcedRequirement { requirement, .. }) in expressions.iter().enumerate() {
            let is_stated = match identities.get(position) {
                Some(identity) => stated.contains(identity),
                None => term.states(requirement),
            };
            if is_stated {
                continue;
            }
            if let Some(is_lacked) = is_lacked.get_mut(position) {
                *is_lacked = true;
            }
            size += 1 + requirement.values().len();
            if size > MOST_EXPRESSIONS {
                let field = REQUIRED_AFFINITY.join(".");
                return Err(subject.too_many(MOST_EXPRESSIONS, "expressions and values", &field));
            }
            term.add(requirement);
        }
    }
    let lacked = expressions.iter().zip(is_lacked).filter(|(_, is_lacked)| *is_lacked);
    Ok(lacked.map(|(own, _)| (*own).clone()).collect())
}

impl PodMutation<'_, '_> {
    /// Returns whether nothing is added.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.tolerations.is_empty() && self.preferences.is_empty()
    }

    /// Writes all of it into `spec`, a PodSpec, and tells the audit log.
    ///
    /// # Errors
    /// `spec` can't be read.
    pub fn apply(&self, spec: &mut RawObject<'_>, decision: &mut Decision<'_>) -> Result<(), ReadError> {
        self.record(decision);
        self.write_selection(spec)?;
        preferences::write(&self.preferences, spec)?;
        tolerations::write(&self.tolerations, spec)
    }

    fn write_selection(&self, spec: &mut RawObject<'_>) -> Result<(), ReadError> {
        let added = self.added.iter().map(|demanded| &demanded.requirement);
        let pairs = added.filter_map(|requirement| Some((requirement.key(), requirement.only_value()?)));
        let mut pairs = pairs.peekable();
        if pairs.peek().is_some() {
            spec.rewrite(NODE_SELECTOR, &|_, _| true, &mut pairs)?;
        }
        if !self.selection.terms.iter().flatten().any(Term::is_added_to) {
            return Ok(());
        }
        let terms = spec.object_mut_at(&REQUIRED_AFFINITY)?.list_mut(TERMS)?;
        for (position, term) in self.selection.terms.iter().flatten().enumerate() {
            if position == terms.len() {
                terms.push(Raw::Object(RawObject::default()));
            }
            if let Some(written) = terms.get_mut(position)
                && term.is_added_to()
            {
                term.write_added(written.object_mut().at(position)?)?;
            }
        }
        Ok(())
    }

    /// Returns what is added to nodeSelector and node affinity, as text.
    fn added_to_selection(&self) -> String {
        joined(self.added.iter().map(|demanded| &demanded.requirement), ",")
    }

    /// Returns all of it as text, as the audit log has it.
    pub fn as_text(&self) -> String {
        let parts = [
            ("node-selector", self.added_to_selection()),
            ("preferred", preferences::as_text(&self.preferences)),
            ("tolerations", joined(&self.tolerations, ",")),
        ];
        let added = parts.iter().filter(|(_, text)| !text.is_empty());
        joined(added.map(|(what, text)| format!("{what} {text}")), "; ")
    }

    /// Tells the audit log what was added, and where it is demanded.
    fn record(&self, decision: &mut Decision<'_>) {
        let mut sources: Vec<String> = Vec::new();
        for source in self.added.iter().map(|demanded| demanded.source.to_string()) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        if !sources.is_empty() {
            decision.audit("node-selector", &self.added_to_selection());
            decision.audit("node-selector-source", &sources.join(", "));
        }
        if !self.tolerations.is_empty() {
            decision.audit("tolerations", &joined(&self.tolerations, ","));
        }
    }
}
