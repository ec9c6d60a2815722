//! Adds the required node labels of a namespace to its Pods, and writes everything that is added to a Pod.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::node_affinity::{Excess, NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, TERMS, Term};
use super::node_rules::{RequiredNodes, SourcedRequirement};
use super::preferences::{self, Preference};
use super::rules::Rules;
use super::subject::PodSubject;
use super::tolerations;
use crate::decision::{Decision, Rejection};
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::limits::{LARGEST_OBJECT, MOST_EXPRESSIONS, SHORT_LIST};
use crate::message::joined;
use crate::settings::Source;
use crate::toleration::Toleration;

/// The additions to an accepted Pod, and the rules that accepted it.
#[derive(Debug)]
pub struct PodMutation<'p, 'r> {
    /// The requirements that are added to its nodeSelector and node affinity.
    pub added: Vec<SourcedRequirement<'r>>,
    /// Its nodeSelector and node affinity, with these requirements.
    pub selection: NodeSelection<'p>,
    /// The tolerations that are added.
    pub tolerations: Vec<Toleration>,
    /// The preferences that are added.
    pub preferences: Vec<Preference>,
    /// The rules.
    pub rules: &'r Rules<'r>,
    /// The requirements on its node.
    pub required: Cow<'r, RequiredNodes<'r>>,
}

/// Adds the missing requirements to `selection`, and returns them. Simple requirements go into the nodeSelector, the others
/// into required node affinity.
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
    let mut narrowed: Vec<&mut Term> = terms.iter_mut().filter(|term| !has_terms || !term.is_empty()).collect();
    let mut is_lacked = vec![false; expressions.len()];
    for (term, position) in lacking(&narrowed, expressions, subject)? {
        if let (Some(term), Some(lacked)) = (narrowed.get_mut(term), expressions.get(position)) {
            term.add(&lacked.requirement);
        }
        if let Some(is_lacked) = is_lacked.get_mut(position) {
            *is_lacked = true;
        }
    }
    let lacked = expressions.iter().zip(is_lacked).filter(|(_, is_lacked)| *is_lacked);
    Ok(lacked.map(|(expression, _)| (*expression).clone()).collect())
}

/// Returns the position of each of `terms` with those of the `expressions` that it lacks. They are counted before one is
/// copied: a thousand keys may be added to a thousand terms.
///
/// # Errors
/// There would be more expressions than are read, or more bytes than an object may have.
fn lacking(
    terms: &[&mut Term],
    expressions: &[&SourcedRequirement<'_>],
    subject: &PodSubject<'_, '_>,
) -> Result<Vec<(usize, usize)>, Rejection> {
    let mut size: usize = terms.iter().map(|term| term.size()).sum();
    let (mut bytes, mut lacking) = (0, Vec::new());
    // A few are compared with each expression of a term. Many are looked up by their identities.
    let mut identities = Vec::new();
    if expressions.len() > SHORT_LIST {
        identities.extend(expressions.iter().map(|expression| expression.requirement.identity()));
    }
    for (term_position, term) in terms.iter().enumerate() {
        let stated = if identities.is_empty() { BTreeSet::new() } else { term.stated() };
        for (position, SourcedRequirement { requirement, .. }) in expressions.iter().enumerate() {
            let is_stated = match identities.get(position) {
                Some(identity) => stated.contains(identity),
                None => term.states(requirement),
            };
            if is_stated {
                continue;
            }
            size += 1 + requirement.values().len();
            bytes += requirement.text_length();
            if size > MOST_EXPRESSIONS || bytes > LARGEST_OBJECT {
                return Err(too_much(bytes > LARGEST_OBJECT, subject));
            }
            lacking.push((term_position, position));
        }
    }
    Ok(lacking)
}

fn too_much(has_bytes: bool, subject: &PodSubject<'_, '_>) -> Rejection {
    let excess = if has_bytes {
        Excess { most: LARGEST_OBJECT, what: "bytes" }
    } else {
        Excess { most: MOST_EXPRESSIONS, what: "expressions and values" }
    };
    subject.too_many(excess, &REQUIRED_AFFINITY.join("."))
}

impl PodMutation<'_, '_> {
    /// Returns whether nothing is added.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.tolerations.is_empty() && self.preferences.is_empty()
    }

    /// Writes all of it into `spec`, a PodSpec, and adds audit annotations.
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
        let added = self.added.iter().map(|added| &added.requirement);
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

    /// Returns the added requirements as text.
    fn added_to_selection(&self) -> String {
        joined(self.added.iter().map(|added| &added.requirement), ",")
    }

    /// Returns all of it as text, as in audit annotations.
    pub fn as_text(&self) -> String {
        let parts = [
            ("node-selector", self.added_to_selection()),
            ("preferred", preferences::as_text(&self.preferences)),
            ("tolerations", joined(&self.tolerations, ",")),
        ];
        let added = parts.iter().filter(|(_, text)| !text.is_empty());
        joined(added.map(|(what, text)| format!("{what} {text}")), "; ")
    }

    /// Adds audit annotations with the additions and their sources.
    fn record(&self, decision: &mut Decision<'_>) {
        let mut sources: Vec<Source<'_>> = Vec::new();
        for source in self.added.iter().map(|added| added.source) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        if !sources.is_empty() {
            decision.audit("node-selector", &self.added_to_selection());
            decision.audit("node-selector-source", &joined(sources, ", "));
        }
        if !self.tolerations.is_empty() {
            decision.audit("tolerations", &joined(&self.tolerations, ","));
        }
    }
}
