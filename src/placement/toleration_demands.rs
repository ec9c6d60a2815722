//! What a namespace demands of the tolerations of its Pods.

use json::StringMap;

use super::demands::LONGEST_ANNOTATION;
use crate::decision::Rejection;
use crate::message::quote;
use crate::settings::{
    NamespaceEntry, OnExtendedResources, OnTolerationAnnotations, Origin, Placement, TolerationList,
};
use crate::toleration::{DEFAULTS_ANNOTATION, Toleration, WHITELIST_ANNOTATION, from_annotation};

/// What is added to the tolerations of Pods, and what they may and must not tolerate.
#[derive(Clone, Debug)]
pub struct TolerationDemands {
    /// What is added to Pods that lack it.
    pub defaults: Option<TolerationList>,
    /// The defaults of the settings, which are never judged, even where an annotation replaces them.
    pub defaults_of_settings: Option<TolerationList>,
    /// What Pods may tolerate: each list must allow a toleration.
    pub allowed: Vec<TolerationList>,
    /// What Pods must not tolerate.
    pub forbidden: Option<TolerationList>,
    /// Whether Pods tolerate taints of the extended resources that they request.
    pub tolerate_extended_resources: bool,
}

/// Why a Pod may not have a toleration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objection<'d> {
    /// A forbidden one overlaps it.
    Forbidden {
        /// That one.
        forbidding: &'d Toleration,
        /// Who forbids it.
        origin: &'d Origin,
    },
    /// No allowed one covers it.
    NotAllowed {
        /// Whose list has none.
        origin: &'d Origin,
    },
}

impl TolerationDemands {
    /// What `settings`, the `entry` that holds for the namespace, and its annotations demand.
    ///
    /// # Errors
    /// An annotation is malformed, or the settings have a mistake.
    pub fn read(
        settings: &Placement<'_>,
        entry: Option<&NamespaceEntry<'_>>,
        namespace: &str,
        annotations: &StringMap,
    ) -> Result<Self, Rejection> {
        let mut defaults_of_settings = None;
        let mut allowed = Vec::new();
        let mut forbidden = None;
        if let Some(entry) = entry {
            defaults_of_settings = entry.default_tolerations()?;
            allowed.extend(entry.allowed_tolerations()?);
            forbidden = entry.forbidden_tolerations()?;
        }
        if defaults_of_settings.is_none() {
            defaults_of_settings = settings.cluster_default_tolerations()?;
        }
        let mut defaults = defaults_of_settings.clone();
        if settings.on_toleration_annotations()? == OnTolerationAnnotations::Honor {
            if let Some(annotated) = in_annotation(DEFAULTS_ANNOTATION, namespace, annotations)? {
                defaults = Some(annotated);
            }
            let whitelist = in_annotation(WHITELIST_ANNOTATION, namespace, annotations)?;
            // An empty one allows everything, as in-tree: it can only narrow.
            allowed.extend(whitelist.filter(|whitelist| !whitelist.tolerations.is_empty()));
        }
        let tolerate_extended_resources = settings.on_extended_resources()? == OnExtendedResources::Tolerate;
        Ok(Self { defaults, defaults_of_settings, allowed, forbidden, tolerate_extended_resources })
    }

    /// Whether anything may or must not be tolerated.
    pub fn judge_anything(&self) -> bool {
        let forbids = self.forbidden.as_ref().is_some_and(|forbidden| !forbidden.tolerations.is_empty());
        forbids || !self.allowed.is_empty()
    }

    /// Whether a forbidden toleration overlaps this.
    pub fn forbids(&self, toleration: &Toleration) -> bool {
        self.forbidden.iter().flat_map(|list| &list.tolerations).any(|own| own.overlaps(toleration))
    }

    /// Why no Pod of the namespace may have `toleration` of its own accord; nothing, if it may.
    pub fn objection_to(&self, toleration: &Toleration) -> Option<Objection<'_>> {
        let mut defaults = self.defaults_of_settings.iter().flat_map(|list| &list.tolerations);
        if defaults.any(|default| default.same_as(toleration)) {
            return None;
        }
        if let Some(list) = &self.forbidden
            && let Some(forbidding) = list.tolerations.iter().find(|own| own.overlaps(toleration))
        {
            return Some(Objection::Forbidden { forbidding, origin: &list.origin });
        }
        let list = self.allowed.iter().find(|list| !list.tolerations.iter().any(|own| own.covers(toleration)))?;
        Some(Objection::NotAllowed { origin: &list.origin })
    }

    /// Whether anything is added, or judged.
    pub fn are_empty(&self) -> bool {
        self.defaults.is_none() && !self.judge_anything() && !self.tolerate_extended_resources
    }
}

/// What the annotation `key` of the Namespace lists, if it is there.
///
/// # Errors
/// It is no list of tolerations that the API server would accept.
fn in_annotation(
    key: &'static str,
    namespace: &str,
    annotations: &StringMap,
) -> Result<Option<TolerationList>, Rejection> {
    let Some(text) = annotations.get(key) else { return Ok(None) };
    let origin = Origin::Annotation { key: key.to_owned(), namespace: namespace.to_owned() };
    if text.len() > LONGEST_ANNOTATION {
        let problem = format!("it has {} bytes, expected at most {LONGEST_ANNOTATION}", text.len());
        return Err(malformed(&origin, &problem, text));
    }
    let tolerations = match from_annotation(text) {
        Ok(tolerations) => tolerations,
        Err(error) => return Err(malformed(&origin, &error.to_string(), text)),
    };
    for (position, toleration) in tolerations.iter().enumerate() {
        if let Some(invalid) = toleration.check().first() {
            return Err(malformed(&origin, &format!("[{position}].{invalid}"), text));
        }
    }
    Ok(Some(TolerationList { tolerations, origin }))
}

fn malformed(origin: &Origin, problem: &str, text: &str) -> Rejection {
    Rejection::forbidden(format!(
        "{origin} is not a list of tolerations: {problem}; correct the annotation {}",
        quote(text)
    ))
}
