//! What a namespace demands of the tolerations of its Pods.

use std::borrow::Cow;

use super::holding_entry::HoldingEntry;
use super::namespace_rules::LONGEST_ANNOTATION;
use crate::decision::Rejection;
use crate::json::StringMap;
use crate::message::quote;
use crate::settings::{OnExtendedResources, Source};
use crate::toleration::{DEFAULTS_ANNOTATION, Toleration, WHITELIST_ANNOTATION, from_annotation};

/// What is added to the tolerations of Pods, and what they may and must not tolerate.
#[derive(Clone, Debug)]
pub struct TolerationRules<'s> {
    /// What is added to Pods that lack it.
    pub defaults: Option<TolerationList<'s>>,
    /// The defaults of the settings, which are never judged, even where an annotation replaces them.
    pub defaults_of_settings: &'s [Toleration],
    /// What Pods may tolerate: each list must allow a toleration.
    pub allowed: Vec<TolerationList<'s>>,
    /// What Pods must not tolerate.
    pub forbidden: Option<TolerationList<'s>>,
    /// Whether Pods tolerate taints of the extended resources that they request.
    pub tolerate_extended_resources: bool,
}

/// Tolerations, and where they are listed.
#[derive(Clone, Debug)]
pub struct TolerationList<'s> {
    /// In order.
    pub tolerations: Cow<'s, [Toleration]>,
    /// Where they are listed.
    pub source: Source<'s>,
}

/// Why a Pod may not have a toleration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objection<'r> {
    /// A forbidden one overlaps it.
    Forbidden {
        /// That one.
        forbidding: &'r Toleration,
        /// Where it is forbidden.
        source: Source<'r>,
    },
    /// No allowed one covers it.
    NotAllowed {
        /// Where the list stands.
        source: Source<'r>,
    },
}

impl<'s> TolerationRules<'s> {
    /// What the settings, the entry that holds for the namespace, and its annotations demand.
    ///
    /// # Errors
    /// An annotation is malformed.
    pub fn of(holding: &'s HoldingEntry<'s>) -> Result<Self, Rejection> {
        let HoldingEntry { settings, namespace, entry, found } = holding;
        let (mut defaults, mut allowed, mut forbidden) = (None, Vec::new(), None);
        if let Some(at) = *entry {
            let list = |list, field| in_settings(list, Source::Entry(at, field));
            defaults = list(at.entry.default_tolerations.as_ref(), "defaultTolerations");
            allowed.extend(list(at.entry.allowed_tolerations.as_ref(), "allowedTolerations"));
            forbidden = list(at.entry.forbidden_tolerations.as_ref(), "forbiddenTolerations");
        }
        if defaults.is_none() {
            let source = Source::Placement("clusterDefaultTolerations");
            defaults = in_settings(settings.cluster_default_tolerations.as_ref(), source);
        }
        let own = entry.and_then(|at| at.entry.default_tolerations.as_ref());
        let defaults_of_settings = own.or(settings.cluster_default_tolerations.as_ref());
        if settings.honors_toleration_annotations() {
            if let Some(annotated) = in_annotation(DEFAULTS_ANNOTATION, namespace, &found.annotations)? {
                defaults = Some(annotated);
            }
            let whitelist = in_annotation(WHITELIST_ANNOTATION, namespace, &found.annotations)?;
            // An empty one allows everything, as in-tree: it can only narrow.
            allowed.extend(whitelist.filter(|whitelist| !whitelist.tolerations.is_empty()));
        }
        Ok(Self {
            defaults,
            defaults_of_settings: defaults_of_settings.map(Vec::as_slice).unwrap_or_default(),
            allowed,
            forbidden,
            tolerate_extended_resources: settings.on_extended_resources == OnExtendedResources::Tolerate,
        })
    }

    /// Whether anything may or must not be tolerated.
    pub fn judge_anything(&self) -> bool {
        let forbids = self.forbidden.as_ref().is_some_and(|forbidden| !forbidden.tolerations.is_empty());
        forbids || !self.allowed.is_empty()
    }

    /// Whether a forbidden toleration overlaps this.
    pub fn forbid(&self, toleration: &Toleration) -> bool {
        self.forbidden.iter().flat_map(|list| list.tolerations.iter()).any(|own| own.overlaps(toleration))
    }

    /// Why no Pod of the namespace may have `toleration` of its own accord; nothing, if it may.
    pub fn objection_to(&self, toleration: &Toleration) -> Option<Objection<'_>> {
        if self.defaults_of_settings.iter().any(|default| default.same_as(toleration)) {
            return None;
        }
        if let Some(TolerationList { tolerations, source }) = &self.forbidden
            && let Some(forbidding) = tolerations.iter().find(|own| own.overlaps(toleration))
        {
            return Some(Objection::Forbidden { forbidding, source: *source });
        }
        let list = self.allowed.iter().find(|list| !list.tolerations.iter().any(|own| own.covers(toleration)))?;
        Some(Objection::NotAllowed { source: list.source })
    }

    /// Whether anything is added, or judged.
    pub fn are_empty(&self) -> bool {
        self.defaults.is_none() && !self.judge_anything() && !self.tolerate_extended_resources
    }
}

fn in_settings<'s>(list: Option<&'s Vec<Toleration>>, source: Source<'s>) -> Option<TolerationList<'s>> {
    list.map(|list| TolerationList { tolerations: Cow::Borrowed(list), source })
}

/// What the annotation `key` of the Namespace lists, if it is there.
///
/// # Errors
/// It is no list of tolerations that the API server would accept.
fn in_annotation<'s>(
    key: &'static str,
    namespace: &'s str,
    annotations: &StringMap<'_>,
) -> Result<Option<TolerationList<'s>>, Rejection> {
    let Some(text) = annotations.get(key) else { return Ok(None) };
    let source = Source::Annotation { key, namespace };
    if text.len() > LONGEST_ANNOTATION {
        let problem = format!("it has {} bytes, expected at most {LONGEST_ANNOTATION}", text.len());
        return Err(malformed(source, &problem, text));
    }
    let tolerations = match from_annotation(text) {
        Ok(tolerations) => tolerations,
        Err(error) => return Err(malformed(source, &error.to_string(), text)),
    };
    for (position, toleration) in tolerations.iter().enumerate() {
        if let Some(invalid) = toleration.check().first() {
            return Err(malformed(source, &format!("[{position}].{invalid}"), text));
        }
    }
    Ok(Some(TolerationList { tolerations: Cow::Owned(tolerations), source }))
}

fn malformed(source: Source<'_>, problem: &str, text: &str) -> Rejection {
    Rejection::forbidden(format!(
        "{source} is not a list of tolerations: {problem}; correct the annotation {}",
        quote(text)
    ))
}
