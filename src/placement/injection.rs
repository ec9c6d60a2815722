//! Injection: what a namespace demands is added to its Pods.

use std::collections::BTreeSet;

use json::{Mismatch, Object, Value, Within};

use super::demands::{Demanded, NamespaceDemands};
use super::node_affinity::{EXPRESSIONS, Term, expression_of};
use super::node_selection::{NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, TERMS};
use crate::decision::{Decision, Rejection};
use crate::object_meta::Named;
use crate::selector::Requirement;
use crate::size;

/// What was added to a Pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Injected<'d>(Vec<Demanded<'d>>);

impl<'d> Injected<'d> {
    /// The first of it.
    pub fn first(&self) -> Option<Demanded<'d>> {
        self.0.first().copied()
    }

    /// Who had `requirement` added; nobody, if the Pod asked for it itself.
    pub fn demanded(&self, requirement: &Requirement) -> Option<Demanded<'d>> {
        self.0.iter().find(|demanded| demanded.requirement.same_as(requirement)).copied()
    }

    /// Tells the audit log what was added, and who demanded it.
    pub fn record(&self, decision: &mut Decision) {
        if self.0.is_empty() {
            return;
        }
        let added: Vec<String> = self.0.iter().map(|demanded| demanded.requirement.to_string()).collect();
        let mut origins: Vec<String> = Vec::new();
        for demanded in &self.0 {
            let origin = demanded.origin.to_string();
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        decision.audit("node-selector", added.join(","));
        decision.audit("node-selector-source", origins.join(", "));
    }
}

/// Adds what `demands` has and `selection` lacks to `spec`, from which that was read, and which stands at `path`.
///
/// Simple requirements go into the nodeSelector, the others into required node affinity.
///
/// # Errors
/// `spec` would become too large.
pub fn inject<'d>(
    spec: &mut Object,
    path: &str,
    selection: &NodeSelection,
    demands: &'d NamespaceDemands<'_>,
    named: &Named,
) -> Result<Injected<'d>, Rejection> {
    let mut seen = BTreeSet::new();
    let (mut pairs, mut expressions) = (Vec::new(), Vec::new());
    for demanded in demands.requirements() {
        if !seen.insert(demanded.requirement.identity()) {
            continue;
        }
        match demanded.requirement.only_value() {
            None => expressions.push(demanded),
            Some(_) if selection.node_selector.contains_key(demanded.requirement.key()) => {}
            Some(_) => pairs.push(demanded),
        }
    }
    add_pairs(spec, &pairs).within(path)?;
    let mut injected = pairs;
    if !expressions.is_empty() {
        let values: Vec<Value> = expressions.iter().map(|demanded| expression_of(demanded.requirement)).collect();
        reject_too_many(&values, selection, named)?;
        injected.extend(add_expressions(spec, selection, &expressions, &values).within(path)?);
    }
    Ok(Injected(injected))
}

fn add_pairs(spec: &mut Object, missing: &[Demanded<'_>]) -> Result<(), Mismatch> {
    for demanded in missing {
        if let Some(value) = demanded.requirement.only_value() {
            spec.object_mut(NODE_SELECTOR)?.push(demanded.requirement.key(), value);
        }
    }
    Ok(())
}

/// A few terms and a few expressions make a Pod that is too large, and that before all of it is written.
fn reject_too_many(expressions: &[Value], selection: &NodeSelection, named: &Named) -> Result<(), Rejection> {
    let terms = selection.terms.as_ref().map_or(1, Vec::len);
    let length: usize = expressions.iter().map(Value::text_len).sum();
    if length.saturating_mul(terms) <= size::LARGEST {
        return Ok(());
    }
    Err(Rejection::forbidden(format!(
        "{named} has {terms} terms of node affinity, to each of which {} expressions of its namespace would be added, more \
         than can be stored; shorten one of the two",
        expressions.len()
    )))
}

/// Adds `wanted`, as `values`, to every term of required node affinity that can match, skipping what a term already states;
/// without such affinity, a term of them. Returns what was missing somewhere.
///
/// Terms are ORed, so all must be narrowed; a term without expressions and fields matches no node and stays so.
fn add_expressions<'d>(
    spec: &mut Object,
    selection: &NodeSelection,
    wanted: &[Demanded<'d>],
    values: &[Value],
) -> Result<Vec<Demanded<'d>>, Mismatch> {
    let Some(terms) = &selection.terms else {
        let terms = spec.object_mut_at(&REQUIRED_AFFINITY)?.list_mut(TERMS)?;
        terms.push(Object::new());
        add_to_term(terms.object_mut(terms.len() - 1)?, values.iter())?;
        return Ok(wanted.to_vec());
    };
    let mut keys = BTreeSet::new();
    for demanded in wanted {
        keys.insert(demanded.requirement.key());
    }
    let mut missing_somewhere = BTreeSet::new();
    for (position, term) in terms.iter().enumerate() {
        let missing = missing_in(term, &keys, wanted);
        if missing.is_empty() {
            continue;
        }
        let term = spec.object_mut_at(&REQUIRED_AFFINITY)?.list_mut(TERMS)?.object_mut(position)?;
        add_to_term(term, missing.iter().filter_map(|position| values.get(*position)))?;
        missing_somewhere.extend(missing);
    }
    Ok(missing_somewhere.into_iter().filter_map(|position| wanted.get(position).copied()).collect())
}

/// The positions in `wanted` of what `term` does not state.
fn missing_in(term: &Term, keys: &BTreeSet<&str>, wanted: &[Demanded<'_>]) -> Vec<usize> {
    if term.is_empty() {
        return Vec::new();
    }
    let stated = term.stated_about(keys);
    let missing = wanted.iter().enumerate().filter(|(_, demanded)| !stated.contains(&demanded.requirement.identity()));
    missing.map(|(position, _)| position).collect()
}

fn add_to_term<'v>(term: &mut Object, expressions: impl Iterator<Item = &'v Value>) -> Result<(), Mismatch> {
    let list = term.list_mut(EXPRESSIONS)?;
    for expression in expressions {
        list.push(expression.clone());
    }
    Ok(())
}
