//! Injection: what a namespace demands is added to its Pods.

use std::collections::BTreeSet;

use super::node_affinity::Term;
use super::node_rules::NodeRules;
use super::node_selection::{NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, TERMS};
use super::sourced::SourcedRequirement;
use super::term_outcome::can_match;
use crate::decision::Decision;
use crate::json::{Raw, RawObject, ReadError, Within};
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
    pub fn of(own: NodeSelection<'r>, rules: &'r NodeRules<'_>) -> Self {
        let mut seen = BTreeSet::new();
        let mut injection = Self::nothing(own);
        let mut wanted = Vec::new();
        for demanded in rules.requirements() {
            if !seen.insert(demanded.requirement.identity()) {
                continue;
            }
            match demanded.requirement.only_value() {
                None => wanted.push(demanded),
                Some(_) if injection.selection.node_selector.contains_key(demanded.requirement.key()) => {}
                Some(_) => injection.pairs.push(demanded),
            }
        }
        let partial: Vec<SourcedRequirement<'r>> = rules.partial().collect();
        if !wanted.is_empty() || !partial.is_empty() {
            injection.narrow_terms(wanted, partial);
        }
        // Not before: a term is narrowed by what the Pod itself chooses.
        for requirement in injection.pairs.iter().map(|demanded| demanded.requirement) {
            if let Some(value) = requirement.only_value() {
                injection.selection.node_selector.insert(requirement.key().into(), value.into());
            }
        }
        injection
    }

    /// Terms are ORed, so all must be narrowed; a term without expressions and fields matches no node and stays so.
    /// What a term already states is skipped. What is `partial` is for terms that can match, and say nothing of the
    /// label.
    fn narrow_terms(&mut self, wanted: Vec<SourcedRequirement<'r>>, partial: Vec<SourcedRequirement<'r>>) {
        let NodeSelection { node_selector, terms } = &mut self.selection;
        let Some(terms) = terms else {
            *terms = Some(vec![Term::of(wanted.iter().map(|demanded| demanded.requirement))]);
            self.expressions = wanted;
            return;
        };
        let (is_any_partial, count) = (!partial.is_empty(), wanted.len());
        let all: Vec<SourcedRequirement<'r>> = wanted.into_iter().chain(partial).collect();
        let mut is_missing_somewhere = vec![false; all.len()];
        for term in terms.iter_mut().filter(|term| !term.is_empty()) {
            let stated = term.stated();
            let may_be_narrowed = is_any_partial && can_match(term, node_selector);
            let mut missing = Vec::new();
            for (index, (demanded, is_missing)) in all.iter().zip(&mut is_missing_somewhere).enumerate() {
                let lacks = if index < count {
                    !stated.contains(&demanded.requirement.identity())
                } else {
                    may_be_narrowed && !term.chooses(demanded.requirement.key())
                };
                if lacks {
                    missing.push(demanded.requirement);
                    *is_missing = true;
                }
            }
            term.add(missing);
        }
        let missing = all.into_iter().zip(is_missing_somewhere).filter(|(_, is_missing)| *is_missing);
        self.expressions = missing.map(|(demanded, _)| demanded).collect();
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
            spec.set(NODE_SELECTOR, &self.selection.node_selector)?;
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
                term.write_added(written.object_mut().at(position)?)?;
            }
        }
        Ok(())
    }

    /// What is added, as text.
    pub fn in_words(&self) -> String {
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
        decision.audit("node-selector", self.in_words());
        decision.audit("node-selector-source", sources.join(", "));
    }
}
