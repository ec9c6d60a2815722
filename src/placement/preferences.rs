//! Adds the preferred node labels of a namespace to its Pods. They are never validated.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::entry::MatchedEntry;
use super::node_affinity::{self, Term};
use super::subject::PodSubject;
use crate::decision::{Decision, Rejection};
use crate::json::read::read as read_json;
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::message::joined;
use crate::settings::{Setting, Source};

const AFFINITY: [&str; 2] = ["affinity", "nodeAffinity"];
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// A preference of a Pod (`PreferredSchedulingTerm`).
#[derive(Clone, Debug)]
pub struct Preference {
    /// The weight, from 1 to 100.
    weight: i64,
    /// The preferred nodes.
    term: Term,
    /// The weight and the expressions as text, to find repeats. `None` for a term that no entry could have.
    identity: Option<String>,
}

/// Returns the preferences of the entry that the Pod lacks. Returns none if the Pod names its node. Omits preferences that
/// can't be resolved, with a warning.
///
/// # Errors
/// The Pod's preferences can't be read, or there are too many; or the settings have a mistake.
pub fn missing(
    subject: &PodSubject<'_, '_>,
    matched: &MatchedEntry<'_>,
    decision: &mut Decision<'_>,
) -> Result<Vec<Preference>, Rejection> {
    let Some(entry) = matched.entry.filter(|entry| !entry.preferred_node_selector.is_empty()) else {
        return Ok(Vec::new());
    };
    if !subject.node_name()?.is_empty() {
        return Ok(Vec::new());
    }
    let affinity = subject.spec.object_at(&AFFINITY).within(subject.path).within("object")?.unwrap_or_default();
    let path = AFFINITY.join(".");
    let too_many = |excess| subject.too_many(excess, &format!("{path}.{PREFERRED}"));
    let read = node_affinity::read_list(&affinity, PREFERRED, Preference::read);
    let read = read.within(&path).within(subject.path).within("object")?;
    let (present, mut size) = read.map_err(too_many)?;
    let mut identities = BTreeSet::new();
    identities.extend(present.iter().filter_map(|preference| preference.identity.clone()));
    let mut missing = Vec::new();
    for preferred in &entry.preferred_node_selector {
        match matched.selector(Source::Entry(entry, Setting::PreferredNodeSelector), &preferred.selector)? {
            Err(unresolved) => decision.warn_instead(unresolved.rejection()),
            Ok(selector) => {
                let preference = Preference::new(preferred.weight, Term::from_requirements(selector.requirements()));
                if preference.identity.as_ref().is_none_or(|identity| identities.insert(identity.clone())) {
                    size += preference.term.size();
                    missing.push(preference);
                }
            }
        }
    }
    if !missing.is_empty() {
        node_affinity::check_amount(present.len() + missing.len(), size).map_err(too_many)?;
    }
    Ok(missing)
}

/// Writes `preferences` into `spec`.
///
/// # Errors
/// It can't be read.
pub fn write(preferences: &[Preference], spec: &mut RawObject<'_>) -> Result<(), ReadError> {
    if preferences.is_empty() {
        return Ok(());
    }
    let list = spec.object_mut_at(&AFFINITY)?.list_mut(PREFERRED)?;
    for Preference { weight, term, .. } in preferences {
        let mut preferred = RawObject::default();
        preferred.set("weight", weight)?;
        term.write_added(preferred.object_mut("preference")?)?;
        list.push(Raw::Object(preferred));
    }
    Ok(())
}

/// Returns `preferences`, as the audit log has them.
pub fn as_text(preferences: &[Preference]) -> String {
    joined(preferences.iter().filter_map(|preference| preference.term.selector()), "; ")
}

impl Preference {
    fn new(weight: i64, term: Term) -> Self {
        let is_by_labels = term.selector().is_some() && term.fields.is_empty();
        let identity = is_by_labels.then(|| format!("{weight} {}", joined(term.stated(), ",")));
        Self { weight, term, identity }
    }

    fn read(text: &str, size: &mut usize) -> Result<Self, ReadError> {
        let preferred: Raw<'_> = read_json(text)?;
        let preferred = preferred.object()?;
        let weight = preferred.get("weight")?.unwrap_or_default();
        let term = preferred.get::<&RawValue>("preference")?.map_or("null", RawValue::get);
        let term = Term::read(term, size).within("preference")?;
        Ok(Self::new(weight, term))
    }
}
