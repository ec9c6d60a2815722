//! Reads the selectors of the settings, and finds contradictions.

use std::collections::BTreeSet;

use crate::message::quote;
use crate::selector::{self, Requirement, Selector};
use crate::settings::reference::{self, StandIns};

/// The problem of an empty selector, which may come from a template that rendered to nothing. It must not remove a
/// restriction.
pub const NOTHING_REQUIRED: &str = "expected at least one requirement on labels; omit the field if nothing is required";

/// A node selector of the settings, whose values may have references.
#[derive(Clone, Debug, Default)]
pub struct SettingSelector {
    /// The selector, with stand-ins in place of references.
    pub selector: Selector,
    /// The labels with a reference in a value. Only a request shows what is required of them.
    unknown: BTreeSet<String>,
}

impl SettingSelector {
    /// Reads `text` as a selector that does not contradict itself.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        reject_control_characters(text)?;
        let selector = parse(text, &reference::with_stand_ins(text, StandIns::Usual)?)?;
        let mut unknown = BTreeSet::new();
        if reference::is_in(text) {
            // With other stand-ins, requirements that have references are different.
            let other = parse(text, &reference::with_stand_ins(text, StandIns::Other)?)?;
            for (one, other) in selector.requirements().iter().zip(other.requirements()) {
                if one.key() != other.key() {
                    return Err("a reference can't stand in the key of a label, only in its value".to_owned());
                }
                if one != other {
                    unknown.insert(one.key().to_owned());
                }
            }
        }
        let read = Self { selector, unknown };
        reject_contradiction(&read.known())?;
        Ok(read)
    }

    /// Reads `text` as a selector that has requirements and does not contradict itself.
    pub fn read_required(text: &str) -> Result<Self, String> {
        let read = Self::read(text)?;
        if read.selector.is_empty() { Err(NOTHING_REQUIRED.to_owned()) } else { Ok(read) }
    }

    /// Returns the requirements on labels without references.
    pub fn known(&self) -> Selector {
        let requirements = self.selector.requirements().iter();
        Selector::new(requirements.filter(|requirement| self.is_known(requirement.key())).cloned().collect())
    }

    /// Returns whether no value of the label `key` has a reference.
    pub fn is_known(&self, key: &str) -> bool {
        !self.unknown.contains(key)
    }
}

/// Reads `text`, which can't have references, as a selector that does not contradict itself.
pub fn consistent(text: &str) -> Result<Selector, String> {
    reject_control_characters(text)?;
    let selector = parse(text, text)?;
    reject_contradiction(&selector)?;
    Ok(selector)
}

/// Parses `text`, whose references are replaced in `filled`.
fn parse(text: &str, filled: &str) -> Result<Selector, String> {
    selector::parse(filled).map_err(|error| reference::with_references(text, &error))
}

fn reject_contradiction(selector: &Selector) -> Result<(), String> {
    let Some(contradiction) = selector.contradiction() else { return Ok(()) };
    let (label, requirements) = (label(contradiction), quote(&selector::text(contradiction)));
    Err(format!("contradicts itself: no value of label {label} satisfies {requirements}"))
}

/// Rejects control characters. The parser of Kubernetes ends at a NUL and drops what follows, so that a fence would be
/// shorter than it looks.
fn reject_control_characters(text: &str) -> Result<(), String> {
    let is_space = |character| matches!(character, ' ' | '\t' | '\r' | '\n');
    match text.chars().find(|character| character.is_control() && !is_space(*character)) {
        Some(character) => {
            Err(format!("a selector can't have the control character {}", quote(&character.to_string())))
        }
        None => Ok(()),
    }
}

/// Describes the contradiction between two selectors, or returns `None` if there is none. Neither contradicts itself.
pub fn contradiction(one: &Selector, other: &Selector) -> Option<String> {
    let (of_one, of_other) = one.contradiction_with(other)?;
    let (label, one, other) = (label(of_one), quote(&selector::text(of_one)), quote(&selector::text(of_other)));
    Some(format!("no value of label {label} satisfies both {one} and {other}"))
}

/// Returns the label that all of `requirements` are on.
fn label(requirements: &[Requirement]) -> String {
    quote(requirements.first().map(Requirement::key).unwrap_or_default())
}
