//! What a namespace prefers of nodes: added to its Pods, and never judged.

use std::collections::BTreeSet;

use super::entry::MatchedEntry;
use super::node_affinity::Term;
use super::subject::PodSubject;
use crate::decision::{Decision, Rejection};
use crate::json::read::read as read_json;
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::limits::{MOST_EXPRESSIONS, MOST_TERMS};
use crate::selector::{Requirement, Selector};
use crate::settings::Source;

const AFFINITY: [&str; 2] = ["affinity", "nodeAffinity"];
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Nodes that a Pod is to prefer.
#[derive(Clone, Debug)]
pub struct Preference {
    /// From 1 to 100.
    weight: i64,
    /// Which nodes.
    pub selector: Selector,
}

/// What the entry prefers and the Pod does not. What can't be resolved is left out, with a warning.
///
/// # Errors
/// The Pod's preferences can't be read, or there are too many; or the settings have a mistake.
pub fn missing(
    subject: &PodSubject<'_, '_>,
    matched: &MatchedEntry<'_>,
    decision: &mut Decision<'_>,
) -> Result<Vec<Preference>, Rejection> {
    let Some(at) = matched.entry.filter(|at| !at.entry.preferred_node_selector.is_empty()) else {
        return Ok(Vec::new());
    };
    let (mut own, mut count, mut size) = read(subject)?;
    let mut missing: Vec<Preference> = Vec::new();
    for preferred in &at.entry.preferred_node_selector {
        let source = Source::Entry(at, "preferredNodeSelector");
        let selector = match matched.selector(Some(&preferred.selector), source) {
            Ok(selector) => selector.map(|own| own.selector).unwrap_or_default(),
            Err(rejection) if rejection.is_unresolved() => {
                decision.warn_instead(&rejection);
                continue;
            }
            Err(rejection) => return Err(rejection),
        };
        let identity = (preferred.weight, identities(&selector));
        if !own.contains(&identity) {
            own.push(identity);
            count += 1;
            size += Term::of(selector.requirements()).size();
            missing.push(Preference { weight: preferred.weight, selector });
        }
    }
    if missing.is_empty() { Ok(missing) } else { reject_too_many(count, size, subject).map(|()| missing) }
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
    for Preference { weight, selector } in preferences {
        let mut preferred = RawObject::default();
        preferred.set("weight", weight)?;
        Term::of(selector.requirements()).write_added(preferred.object_mut("preference")?)?;
        list.push(Raw::Object(preferred));
    }
    Ok(())
}

/// A preference, as it is compared: its weight, and what its expressions say.
type Identity = (i64, BTreeSet<String>);

/// The Pod's own preferences, how many they are, and how many expressions and values they have. Those by fields, and
/// invalid ones, are none that an entry could have.
fn read(subject: &PodSubject<'_, '_>) -> Result<(Vec<Identity>, usize, usize), Rejection> {
    let path = format!("{}.{}", subject.path, AFFINITY.join("."));
    let Some(affinity) = subject.spec.object_at(&AFFINITY).within(subject.path)? else {
        return Ok((Vec::new(), 0, 0));
    };
    let list = affinity.first(PREFERRED, MOST_TERMS).within(&path)?;
    let (count, mut size) = (list.elements.len() + usize::from(list.has_more), 0);
    let mut own = Vec::new();
    for (position, preferred) in list.elements.into_iter().enumerate() {
        own.extend(read_term(preferred.get(), &mut size).at(position).within(PREFERRED).within(&path)?);
        reject_too_many(count, size, subject)?;
    }
    Ok((own, count, size))
}

fn reject_too_many(count: usize, size: usize, subject: &PodSubject<'_, '_>) -> Result<(), Rejection> {
    let (most, what) = match (count, size) {
        (..=MOST_TERMS, ..=MOST_EXPRESSIONS) => return Ok(()),
        (..=MOST_TERMS, _) => (MOST_EXPRESSIONS, "expressions and values"),
        _ => (MOST_TERMS, "terms"),
    };
    Err(Rejection::too_many(subject.name, most, what, &format!("{}.{}.{PREFERRED}", subject.path, AFFINITY.join("."))))
}

/// Reads the `text` of a preference (`PreferredSchedulingTerm`).
fn read_term(text: &str, size: &mut usize) -> Result<Option<Identity>, ReadError> {
    let preferred: Raw<'_> = read_json(text)?;
    let preferred = preferred.object()?;
    let weight: Option<i64> = preferred.get("weight")?;
    let Some(term) = preferred.text("preference") else { return Ok(None) };
    let term = Term::read(term, size).within("preference")?;
    Ok(match (weight, term.selector(), term.first_field()) {
        (Some(weight), Some(selector), None) => Some((weight, identities(&selector))),
        _ => None,
    })
}

fn identities(selector: &Selector) -> BTreeSet<String> {
    let mut identities = BTreeSet::new();
    identities.extend(selector.requirements().iter().map(Requirement::identity));
    identities
}
