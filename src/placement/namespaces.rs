//! Namespaces: their annotations are judged where they are written, not first where a Pod fails.

use json::{Mismatch, Object, Within};

use super::demands::NamespaceDemands;
use super::pods::{self, Judged};
use super::possible_demands::PossibleDemands;
use crate::cluster::Namespace;
use crate::decision::{Decision, Rejection};
use crate::object_meta::{self, Named};
use crate::request::Request;
use crate::settings::{Mistake, OnNamespaces, OnTolerationAnnotations, Placement, first_matching};
use crate::toleration::{AddedTo, DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION};

/// Judges a Namespace that is created, whose annotations change, or that comes under another entry of the settings.
///
/// # Errors
/// What is wrong with the annotations.
pub fn judge(request: &Request, settings: &Placement<'_>) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let object = request.object()?;
    let on_namespaces = settings.on_namespaces()?;
    if on_namespaces == OnNamespaces::Ignore || request.is_about_terminating()? {
        return Ok(decision);
    }
    let name = object_meta::name(object).within("object")?;
    let namespace = read(object).within("object")?;
    if !must_be_judged(request, settings, &name, &namespace)? {
        return Ok(decision);
    }
    let possible = PossibleDemands::read(settings, &name)?;
    let judged = NamespaceDemands::of(possible, namespace).and_then(|demands| {
        // A Pod that asks for nothing gets what the annotations say.
        let judged = Judged { named: &Named::EveryPod, path: pods::SPEC, added_to: AddedTo::AnyPod, is_pinned: false };
        pods::admit(&mut Object::new(), &judged, &demands).map(drop)
    });
    match judged {
        Err(rejection) if on_namespaces == OnNamespaces::Warn => decision.warn_instead(&rejection),
        judged => judged?,
    }
    Ok(decision)
}

/// Whether an annotation that counts is there, and was not before, or another entry holds now.
fn must_be_judged(
    request: &Request,
    settings: &Placement<'_>,
    name: &str,
    namespace: &Namespace,
) -> Result<bool, Rejection> {
    let mut keys = settings.annotations()?;
    if settings.on_toleration_annotations()? == OnTolerationAnnotations::Honor {
        keys.extend([DEFAULTS_ANNOTATION.into(), WHITELIST_ANNOTATION.into()]);
    }
    if !keys.iter().any(|key| namespace.annotations.contains_key(key)) {
        return Ok(false);
    }
    if !request.is_update() {
        return Ok(true);
    }
    let old = read(request.old_object()?).within("oldObject")?;
    if keys.iter().any(|key| namespace.annotations.get(key) != old.annotations.get(key)) {
        return Ok(true);
    }
    Ok(namespace.labels != old.labels && entry_of(settings, name, namespace)? != entry_of(settings, name, &old)?)
}

/// Where the entry stands that holds for the namespace.
fn entry_of(settings: &Placement<'_>, name: &str, namespace: &Namespace) -> Result<Option<String>, Mistake> {
    let entry = first_matching(settings.candidates(name)?, &namespace.labels)?;
    Ok(entry.map(|entry| entry.place().to_string()))
}

fn read(object: &Object) -> Result<Namespace, Mismatch> {
    Ok(Namespace { annotations: object_meta::annotations(object)?, labels: object_meta::labels(object)? })
}
