//! Finds all mistakes in the settings, except those that their types find.
//!
//! - `placement`: mistakes in the block `placement`.
//! - `node_metadata`: mistakes in the block `nodeMetadata`.
//! - `pods`: mistakes about labels of Pods, and about labels that Pods must not select nodes by.
//! - `amounts`: settings that add too much to every Pod.

use std::fmt::Display;

use super::source::NODE_SELECTOR_PLUGIN;
use super::{NODE_METADATA, PLACEMENT, Settings, SettingsError};
use crate::message::quote;
use crate::selector::{self, Requirement, Selector, parse_pairs};
use crate::settings::reference;

mod amounts;
mod node_metadata;
mod placement;
mod pods;

pub use placement::first_not_allowed;

/// Finds all mistakes in `text`, the settings as JSON. If it can't be read into the types of the settings, the result is
/// the first mistake.
pub fn mistakes(text: &str) -> Vec<SettingsError> {
    match Settings::read(Some(text)) {
        Ok(settings) => check(&settings).0,
        Err(error) => vec![error],
    }
}

fn check(settings: &Settings) -> Mistakes {
    let mut mistakes = Mistakes::default();
    let node_selector_plugin = &settings.pod_node_selector_plugin_config;
    if settings.placement.is_some() && node_selector_plugin.is_some() {
        mistakes.add(&"", &format_args!("{PLACEMENT} and {NODE_SELECTOR_PLUGIN} exclude each other; keep one of them"));
    }
    if settings.placement.is_none() && node_selector_plugin.is_none() && settings.node_metadata.is_none() {
        let blocks = [PLACEMENT, NODE_SELECTOR_PLUGIN, NODE_METADATA];
        mistakes.add(&"", &format_args!("expected at least one of {}", blocks.join(", ")));
    }
    if let Some(placement) = &settings.placement {
        let propagate = settings.node_metadata.as_ref().map(|node_metadata| node_metadata.propagate.as_slice());
        placement::check(placement, propagate.unwrap_or_default(), &mut mistakes);
    }
    for (namespace, text) in node_selector_plugin.iter().flatten() {
        let pairs = parse_pairs(text.as_deref().unwrap_or_default());
        mistakes.check(&format_args!("{NODE_SELECTOR_PLUGIN}.{namespace}"), pairs);
    }
    if let Some(node_metadata) = &settings.node_metadata {
        node_metadata::check(node_metadata, &mut mistakes);
    }
    mistakes
}

/// The mistakes that were found.
#[derive(Debug, Default)]
pub struct Mistakes(pub Vec<SettingsError>);

impl Mistakes {
    /// Records a problem at `path`.
    #[cold]
    #[inline(never)]
    pub fn add(&mut self, path: &dyn Display, problem: &dyn Display) {
        self.0.push(SettingsError::new(path, problem.to_string()));
    }

    /// Records the problem at `path`, if there is one.
    pub fn add_if_some(&mut self, path: &dyn Display, problem: Option<String>) {
        if let Some(problem) = problem {
            self.add(path, &problem);
        }
    }

    /// Returns the value, or records the problem at `path` and returns `None`.
    pub fn check<T>(&mut self, path: &dyn Display, checked: Result<T, impl Display>) -> Option<T> {
        checked.map_err(|problem| self.add(path, &problem)).ok()
    }

    /// Returns the value, or records the mistake and returns `None`.
    pub fn ok_or_record<T>(&mut self, read: Result<T, SettingsError>) -> Option<T> {
        read.map_err(|mistake| self.0.push(mistake)).ok()
    }
}

/// The problem of an empty selector, which may come from a template that rendered to nothing. It must not remove a
/// restriction.
pub const NOTHING_REQUIRED: &str = "expected at least one requirement on labels; omit the field if nothing is required";

/// Reads `text` as a selector that does not contradict itself.
pub fn consistent(text: &str) -> Result<Selector, String> {
    reject_contradiction(read(text, text)?)
}

/// Reads `text`, which may have references, as a selector that does not contradict itself. References are replaced by
/// stand-ins.
pub fn consistent_with_references(text: &str) -> Result<Selector, String> {
    reject_control_characters(text)?;
    let selector = read(text, &reference::with_stand_ins(text)?)?;
    if selector.requirements().iter().any(|requirement| reference::stands_in(requirement.key())) {
        return Err("a reference can't stand in the key of a label, only in its value".to_owned());
    }
    reject_contradiction(selector)
}

/// Reads `text`, whose references are replaced in `filled`.
fn read(text: &str, filled: &str) -> Result<Selector, String> {
    reject_control_characters(text)?;
    selector::parse(filled).map_err(|error| reference::name_again(text, &error))
}

fn reject_contradiction(selector: Selector) -> Result<Selector, String> {
    let known = known(&selector);
    let Some(own) = known.contradiction() else { return Ok(selector) };
    let (label, own) = (label(own), quote(&selector::text(own)));
    Err(format!("contradicts itself: no value of label {label} satisfies {own}"))
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

/// Reads `text`, which may have references, as a selector that has requirements and does not contradict itself.
pub fn required_selector(text: &str) -> Result<Selector, String> {
    let selector = consistent_with_references(text)?;
    if selector.is_empty() { Err(NOTHING_REQUIRED.to_owned()) } else { Ok(selector) }
}

/// Returns the requirements on labels without references. The others can only be checked in a request.
pub fn known(selector: &Selector) -> Selector {
    let known = selector.by_label().filter(|requirements| !have_references(requirements));
    Selector::new(known.flatten().cloned().collect())
}

/// Returns whether one of the values has a reference.
pub fn have_references(requirements: &[Requirement]) -> bool {
    requirements.iter().flat_map(Requirement::values).any(|value| reference::stands_in(value))
}

/// Words the contradiction between two selectors, or returns `None` if there is none. Neither contradicts itself.
pub fn contradiction(one: &Selector, other: &Selector) -> Option<String> {
    let (own, others) = one.contradiction_with(other)?;
    let (label, own, others) = (label(own), quote(&selector::text(own)), quote(&selector::text(others)));
    Some(format!("no value of label {label} satisfies both {own} and {others}"))
}

/// Returns the label that all of `requirements` are on.
fn label(requirements: &[Requirement]) -> String {
    quote(requirements.first().map(Requirement::key).unwrap_or_default())
}
