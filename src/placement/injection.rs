//! Injection: what a namespace demands is added to its Pods.

use std::collections::BTreeSet;

use super::node_affinity::{EXPRESSIONS, Term, expression_of};
use super::node_rules::NodeRules;
use super::node_selection::{NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, TERMS};
use super::sourced::SourcedRequirement;
use super::term_outcome::can_match;
use crate::decision::{Decision, Rejection};
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::object_meta::ObjectName;
use crate::selector::Requirement;
use crate::size::LARGEST_OBJECT;

/// What is to be added to a Pod's nodeSelector and node affinity.
#[derive(Clone, Debug, Default)]
pub struct Injection<'r> {
    /// Simple requirements, for the nodeSelector.
    pairs: Vec<SourcedRequirement<'r>>,
    /// The others, for node affinity; those that a term lacks.
    expressions: Vec<SourcedRequirement<'r>>,
    terms: Terms<'r>,
}

/// What becomes of the terms of required node affinity.
#[derive(Clone, Debug, Default)]
enum Terms<'r> {
    /// They stay as they are.
    #[default]
    Unchanged,
    /// There are none, and this is added.
    New(Vec<&'r Requirement>),
    /// For some of them, by position, what is added.
    Narrowed(Vec<(usize, Vec<&'r Requirement>)>),
}

impl<'r> Injection<'r> {
    /// What `rules` demand and `own` lacks. Simple requirements go into the nodeSelector, the others into required node
    /// affinity.
    ///
    /// # Errors
    /// The Pod would become too large.
    pub fn of(own: &NodeSelection<'_>, rules: &'r NodeRules<'_>, name: &ObjectName) -> Result<Self, Rejection> {
        let mut seen = BTreeSet::new();
        let mut injection = Self::default();
        let mut wanted = Vec::new();
        for demanded in rules.requirements() {
            if !seen.insert(demanded.requirement.identity()) {
                continue;
            }
            match demanded.requirement.only_value() {
                None => wanted.push(demanded),
                Some(_) if own.node_selector.contains_key(demanded.requirement.key()) => {}
                Some(_) => injection.pairs.push(demanded),
            }
        }
        let partial: Vec<SourcedRequirement<'r>> = rules.partial().collect();
        if !wanted.is_empty() || !partial.is_empty() {
            reject_too_many(wanted.iter().chain(&partial), own, name)?;
            injection.narrow_terms(own, wanted, partial);
        }
        Ok(injection)
    }

    /// Terms are ORed, so all must be narrowed; a term without expressions and fields matches no node and stays so.
    /// What a term already states is skipped. What is `partial` is for terms that can match, and say nothing of the
    /// label.
    fn narrow_terms(
        &mut self,
        own: &NodeSelection<'_>,
        wanted: Vec<SourcedRequirement<'r>>,
        partial: Vec<SourcedRequirement<'r>>,
    ) {
        let Some(terms) = &own.terms else {
            self.terms = Terms::New(wanted.iter().map(|demanded| demanded.requirement).collect());
            self.expressions = wanted;
            return;
        };
        let mut keys = BTreeSet::new();
        for demanded in &wanted {
            keys.insert(demanded.requirement.key());
        }
        let count = wanted.len();
        let all: Vec<SourcedRequirement<'r>> = wanted.into_iter().chain(partial).collect();
        let mut narrowed = Vec::new();
        let mut is_missing_somewhere = vec![false; all.len()];
        for (position, term) in terms.iter().enumerate() {
            if term.is_empty() {
                continue;
            }
            let stated = term.stated_about(&keys);
            let may_be_narrowed = all.len() > count && can_match(term, &own.node_selector);
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
            if !missing.is_empty() {
                narrowed.push((position, missing));
            }
        }
        let missing = all.iter().zip(is_missing_somewhere).filter(|(_, is_missing)| *is_missing);
        self.expressions = missing.map(|(demanded, _)| *demanded).collect();
        if !narrowed.is_empty() {
            self.terms = Terms::Narrowed(narrowed);
        }
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

    /// What a Pod that had `selection` has then.
    pub fn add_to<'s>(&self, mut selection: NodeSelection<'s>) -> NodeSelection<'s> {
        for requirement in self.pairs.iter().map(|demanded| demanded.requirement) {
            if let Some(value) = requirement.only_value() {
                selection.node_selector.insert(requirement.key().into(), value.into());
            }
        }
        match &self.terms {
            Terms::Unchanged => {}
            Terms::New(requirements) => selection.terms = Some(vec![Term::of(requirements)]),
            Terms::Narrowed(narrowed) => {
                for (position, requirements) in narrowed {
                    if let Some(term) = selection.terms.as_mut().and_then(|terms| terms.get_mut(*position)) {
                        term.add(requirements);
                    }
                }
            }
        }
        selection
    }

    /// Writes it into `spec`, given the `selection` that results.
    ///
    /// # Errors
    /// `spec` can't be read.
    pub fn write(&self, spec: &mut RawObject<'_>, selection: &NodeSelection<'_>) -> Result<(), ReadError> {
        if !self.pairs.is_empty() {
            spec.set(NODE_SELECTOR, &selection.node_selector)?;
        }
        match &self.terms {
            Terms::Unchanged => {}
            Terms::New(requirements) => {
                let terms = spec.object_mut_at(&REQUIRED_AFFINITY)?.list_mut(TERMS)?;
                let mut term = RawObject::default();
                add_expressions(&mut term, requirements)?;
                terms.push(Raw::Object(term));
            }
            Terms::Narrowed(narrowed) => {
                let terms = spec.object_mut_at(&REQUIRED_AFFINITY)?.list_mut(TERMS)?;
                for (position, requirements) in narrowed {
                    if let Some(term) = terms.get_mut(*position) {
                        add_expressions(term.object_mut().at(*position)?, requirements)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells the audit log what was added, and where it is demanded.
    pub fn record(&self, decision: &mut Decision<'_>) {
        if self.is_empty() {
            return;
        }
        let added: Vec<String> = self.requirements().map(|demanded| demanded.requirement.to_string()).collect();
        let mut sources: Vec<String> = Vec::new();
        for demanded in self.requirements() {
            let source = demanded.source.to_string();
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        decision.audit("node-selector", added.join(","));
        decision.audit("node-selector-source", sources.join(", "));
    }
}

fn add_expressions(term: &mut RawObject<'_>, requirements: &[&Requirement]) -> Result<(), ReadError> {
    let list = term.list_mut(EXPRESSIONS)?;
    for requirement in requirements {
        list.push(expression_of(requirement)?);
    }
    Ok(())
}

/// Terms times expressions can exceed the limit, so their size is checked before they are written.
fn reject_too_many<'r>(
    wanted: impl Iterator<Item = &'r SourcedRequirement<'r>>,
    selection: &NodeSelection<'_>,
    name: &ObjectName,
) -> Result<(), Rejection> {
    let terms = selection.terms.as_ref().map_or(1, Vec::len);
    let (mut length, mut count) = (0_usize, 0);
    for demanded in wanted {
        length += expression_of(demanded.requirement)?.longest_text();
        count += 1;
    }
    if length.saturating_mul(terms) <= LARGEST_OBJECT {
        return Ok(());
    }
    Err(Rejection::forbidden(format!(
        "{name} has {terms} terms of node affinity, to each of which {count} expressions of its namespace would be added, \
         more than can be stored; shorten one of the two"
    )))
}
