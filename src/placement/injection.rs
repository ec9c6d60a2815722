//! Injection: what a namespace demands of nodes is added to its Pods.

use std::collections::BTreeSet;

use super::node_affinity::Term;
use super::node_rules::NodeRules;
use super::node_selection::{NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, TERMS, TermsError};
use super::references::SourcedRequirement;
use crate::decision::Decision;
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::limits::MOST_EXPRESSIONS;
use crate::selector::Requirement;

/// What is to be added to a Pod's nodeSelector and node affinity, and what the Pod has then.
#[derive(Clone, Debug)]
pub struct Injection<'r> {
    /// Simple requirements, for the nodeSelector.
    pairs: Vec<SourcedRequirement<'r>>,
    /// The others, for node affinity; those that a term lacks.
    expressions: Vec<SourcedRequirement<'r>>,
    /// What the Pod has then.
    pub selection: NodeSelection<'r>,
}

impl<'r> Injection<'r> {
    /// Adds nothing to `selection`.
    pub const fn nothing(selection: NodeSelection<'r>) -> Self {
        Self { pairs: Vec::new(), expressions: Vec::new(), selection }
    }

    /// Adds to `own` what `rules` demand and it lacks. Simple requirements go into the nodeSelector, the others into
    /// required node affinity.
    ///
    /// # Errors
    /// There would be more expressions than are read.
    pub fn of(own: NodeSelection<'r>, rules: &'r NodeRules<'_>) -> Result<Self, TermsError> {
        let mut seen = BTreeSet::new();
        let mut injection = Self::nothing(own);
        let mut expressions = Vec::new();
        for demanded in rules.requirements() {
            if !seen.insert(demanded.requirement.identity()) {
                continue;
            }
            let Some(value) = demanded.requirement.only_value() else {
                expressions.push(demanded);
                continue;
            };
            if injection.selection.node_selector.get(demanded.requirement.key()) != Some(value) {
                injection.pairs.push(demanded);
            }
        }
        for SourcedRequirement { requirement, .. } in &injection.pairs {
            let value = requirement.only_value().unwrap_or_default();
            injection.selection.node_selector.insert(requirement.key().into(), value.into());
        }
        if !expressions.is_empty() {
            injection.narrow_terms(expressions)?;
        }
        Ok(injection)
    }

    /// Terms are ORed, so all must be narrowed; a term without expressions and fields matches no node and stays so.
    /// What a term already states is skipped.
    fn narrow_terms(&mut self, wanted: Vec<SourcedRequirement<'r>>) -> Result<(), TermsError> {
        let Some(terms) = &mut self.selection.terms else {
            self.selection.terms = Some(vec![Term::of(wanted.iter().map(|demanded| demanded.requirement))]);
            self.expressions = wanted;
            return Ok(());
        };
        let mut size: usize = terms.iter().map(Term::size).sum();
        let mut is_missing_somewhere = vec![false; wanted.len()];
        for term in terms.iter_mut().filter(|term| !term.is_empty()) {
            let stated = term.stated();
            for (demanded, is_missing) in wanted.iter().zip(&mut is_missing_somewhere) {
                if stated.contains(&demanded.requirement.identity()) {
                    continue;
                }
                *is_missing = true;
                size += 1 + demanded.requirement.values().len();
                if size > MOST_EXPRESSIONS {
                    return Err(TermsError::TooMany(MOST_EXPRESSIONS, "expressions and values"));
                }
                term.add(demanded.requirement);
            }
        }
        let missing = wanted.into_iter().zip(is_missing_somewhere).filter(|(_, is_missing)| *is_missing);
        self.expressions = missing.map(|(demanded, _)| demanded).collect();
        Ok(())
    }

    /// All that is added.
    pub fn requirements(&self) -> impl Iterator<Item = SourcedRequirement<'r>> {
        self.pairs.iter().chain(&self.expressions).copied()
    }

    /// Where `requirement` is demanded; nowhere, if the Pod asked for it itself.
    pub fn find(&self, requirement: &Requirement) -> Option<SourcedRequirement<'r>> {
        self.requirements().find(|demanded| demanded.requirement.same_as(requirement))
    }

    /// Whether nothing is added.
    pub const fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.expressions.is_empty()
    }

    /// Writes it into `spec`, the one that it was made for.
    ///
    /// # Errors
    /// `spec` can't be read.
    pub fn write(&self, spec: &mut RawObject<'_>) -> Result<(), ReadError> {
        if !self.pairs.is_empty() {
            let pairs = self.pairs.iter().map(|SourcedRequirement { requirement, .. }| *requirement);
            let mut added = pairs.filter_map(|requirement| Some((requirement.key(), requirement.only_value()?)));
            spec.rewrite(NODE_SELECTOR, &|_, _| true, &mut added)?;
        }
        if self.expressions.is_empty() {
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
                term.write_added(written.take_apart()?.object_mut().at(position)?)?;
            }
        }
        Ok(())
    }

    /// What is added, as text.
    pub fn as_text(&self) -> String {
        let added: Vec<String> = self.requirements().map(|demanded| demanded.requirement.to_string()).collect();
        added.join(",")
    }

    /// Tells the audit log what was added, and where it is demanded.
    pub fn record(&self, decision: &mut Decision<'_>) {
        if self.is_empty() {
            return;
        }
        let mut sources: Vec<String> = Vec::new();
        for demanded in self.requirements() {
            let source = demanded.source.to_string();
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        decision.audit("node-selector", self.as_text());
        decision.audit("node-selector-source", sources.join(", "));
    }
}
