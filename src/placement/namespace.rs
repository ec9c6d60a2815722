//! Namespaces: their annotations are judged where they are written, not first where a Pod fails.

use json::{Mismatch, Object, StringMap};

use super::namespace_selector::NamespaceSelector;
use super::pod;
use crate::decision::{Decision, Rejection};
use crate::metadata::{Metadata, Subject};
use crate::request::Request;
use crate::settings::{OnNamespaces, PodNodeSelector};

/// Judges a Namespace that is created, or whose annotations change.
///
/// # Errors
/// What is wrong with the annotations.
pub fn admit<'a>(
    request: &Request<'a>,
    metadata: &Metadata<'a>,
    rules: &PodNodeSelector<'_>,
) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let on_namespaces = rules.on_namespaces()?;
    if on_namespaces == OnNamespaces::Ignore {
        return Ok(decision);
    }
    let annotations = read(metadata)?;
    let keys = rules.annotations()?;
    if keys.iter().all(|key| !annotations.contains_key(key)) {
        return Ok(decision);
    }
    if request.operation == "UPDATE" {
        let old = read(&Metadata::of(&request.old_object()?)?)?;
        if keys.iter().all(|key| annotations.get(key) == old.get(key)) {
            return Ok(decision);
        }
    }
    match judge(&annotations, rules) {
        Err(rejection) if on_namespaces == OnNamespaces::Warn => decision.warn(&rejection.message),
        judged => judged?,
    }
    Ok(decision)
}

fn read<'a>(metadata: &Metadata<'a>) -> Result<StringMap<'a>, Mismatch> {
    metadata.0.string_map("annotations").map_err(|mismatch| mismatch.within("object.metadata"))
}

/// Judges a Pod that asks for nothing, and so gets what the annotations say.
fn judge(annotations: &StringMap<'_>, rules: &PodNodeSelector<'_>) -> Result<(), Rejection> {
    let selector = NamespaceSelector::resolve(rules, annotations)?;
    pod::admit(&mut Object::default(), pod::SPEC, &selector, rules, &Subject::EveryPod).map(drop)
}
