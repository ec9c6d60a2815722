//! Namespaces: their annotations are judged where they are written, not first where a Pod fails.

use json::{Mismatch, Object, StringMap, Within};

use super::demands::NamespaceDemands;
use super::pods;
use crate::decision::{Decision, Rejection};
use crate::object_meta::{self, Named};
use crate::request::Request;
use crate::settings::{OnNamespaces, Placement};

/// Judges a Namespace that is created, or whose annotations change.
///
/// # Errors
/// What is wrong with the annotations.
pub fn judge(request: &Request, settings: &Placement<'_>) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let namespace = request.object()?;
    let on_namespaces = settings.on_namespaces()?;
    // What goes away must be able to.
    if on_namespaces == OnNamespaces::Ignore || object_meta::is_terminating(namespace).within("object")? {
        return Ok(decision);
    }
    let annotations = annotations_of(namespace).within("object")?;
    if !are_written(request, settings, &annotations)? {
        return Ok(decision);
    }
    let name = object_meta::name(namespace).within("object")?;
    let judged = NamespaceDemands::of(settings, &name, &annotations).and_then(|demands| {
        // A Pod that asks for nothing gets what the annotations say.
        pods::admit(&mut Object::new(), pods::SPEC, &demands, &Named::EveryPod).map(drop)
    });
    match judged {
        Err(rejection) if on_namespaces == OnNamespaces::Warn => decision.warn(&rejection.message),
        judged => judged?,
    }
    Ok(decision)
}

/// Whether one of the annotations that hold selectors is there, and was not before.
fn are_written(request: &Request, settings: &Placement<'_>, annotations: &StringMap) -> Result<bool, Rejection> {
    let keys = settings.annotations()?;
    if !keys.iter().any(|key| annotations.contains_key(key)) {
        return Ok(false);
    }
    if !request.is_update() {
        return Ok(true);
    }
    let old = annotations_of(request.old_object()?).within("oldObject")?;
    Ok(keys.iter().any(|key| annotations.get(key) != old.get(key)))
}

fn annotations_of(namespace: &Object) -> Result<StringMap, Mismatch> {
    match namespace.object("metadata")? {
        Some(metadata) => metadata.string_map("annotations").within("metadata"),
        None => Ok(StringMap::new()),
    }
}
