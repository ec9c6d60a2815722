//! What a namespace demands of the tolerations of its Pods.

use std::borrow::Cow;

use super::entry::MatchedEntry;
use super::references::{TolerationList, read_annotation};
use crate::decision::{CauseKind, Rejection};
use crate::limits::LONGEST_ANNOTATION;
use crate::message::quote;
use crate::settings::{NamespaceEntry, OnExtendedResources, Source};
use crate::toleration::{Operator, Toleration, from_annotation};

/// The annotation of a namespace that holds what is added to its Pods (`NSDefaultTolerations`).
pub const DEFAULTS_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";

/// The annotation of a namespace that holds what its Pods may tolerate (`NSWLTolerations`).
pub const WHITELIST_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// What is added to the tolerations of Pods, and what they may and must not tolerate.
#[derive(Clone, Debug, Default)]
pub struct TolerationRules<'s> {
    /// The name of the namespace.
    pub namespace: &'s str,
    /// What is added to Pods that lack it.
    pub defaults: Option<TolerationList<'s>>,
    /// The defaults of the settings, which are never judged, even where an annotation replaces them.
    pub defaults_of_settings: Vec<Toleration>,
    /// What Pods may tolerate: each list must allow a toleration.
    pub allowed: Vec<TolerationList<'s>>,
    /// What Pods must not tolerate.
    pub forbidden: Option<TolerationList<'s>>,
    /// Whether Pods tolerate taints of the extended resources that they request.
    pub tolerate_extended_resources: bool,
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
    /// Nobody knows what is allowed or forbidden.
    Unresolved(&'r Rejection),
}

impl<'s> TolerationRules<'s> {
    /// What the settings, the entry that holds for the namespace, and its annotations demand.
    ///
    /// # Errors
    /// An annotation is malformed.
    pub fn of(matched: &MatchedEntry<'s>) -> Result<Self, Rejection> {
        let MatchedEntry { settings, namespace, entry, .. } = *matched;
        let mut rules = Self {
            namespace,
            tolerate_extended_resources: settings.on_extended_resources == OnExtendedResources::Tolerate,
            ..Self::default()
        };
        let mut defaults = None;
        if let Some(at) = entry {
            let NamespaceEntry { default_tolerations, allowed_tolerations, forbidden_tolerations, .. } = at.entry;
            let source = |field| Source::Entry(at, field);
            defaults = matched.tolerations(default_tolerations, source("defaultTolerations"));
            rules.allowed.extend(matched.tolerations(allowed_tolerations, source("allowedTolerations")));
            rules.forbidden = matched.forbidden_tolerations(forbidden_tolerations, source("forbiddenTolerations"));
        }
        if defaults.is_none() {
            let source = Source::Placement("clusterDefaultTolerations");
            defaults = matched.tolerations(&settings.cluster_default_tolerations, source);
        }
        rules.reject_forbidden_defaults(defaults.as_ref())?;
        if let Some(forbidden) = rules.forbidden.as_mut().filter(|list| list.unresolved.is_some()) {
            // What a Pod asks for is refused: nobody knows whether it may.
            let everything = Toleration { operator: Operator::Exists, ..Toleration::default() };
            forbidden.tolerations = vec![everything].into();
        }
        rules.defaults_of_settings = defaults.as_ref().map(|list| list.tolerations.to_vec()).unwrap_or_default();
        rules.defaults = defaults;
        if settings.honors_toleration_annotations() {
            rules.defaults = in_annotation(DEFAULTS_ANNOTATION, matched)?.or(rules.defaults);
            let whitelist = in_annotation(WHITELIST_ANNOTATION, matched)?;
            // An empty one allows everything, as in-tree: it can only narrow.
            rules.allowed.extend(whitelist.filter(|whitelist| !whitelist.tolerations.is_empty()));
        }
        Ok(rules)
    }

    /// What `validate_settings` refuses where it can tell, and here where references are filled in. What can't be filled
    /// in may forbid any value of its key.
    fn reject_forbidden_defaults(&self, defaults: Option<&TolerationList<'_>>) -> Result<(), Rejection> {
        let Some(TolerationList { tolerations: forbidden, source: forbidding, unresolved }) = &self.forbidden else {
            return Ok(());
        };
        let Some(TolerationList { tolerations, source, .. }) = defaults else { return Ok(()) };
        let is_forbidden = |default: &&Toleration| forbidden.iter().any(|own| own.overlaps(default));
        let Some(default) = tolerations.iter().find(is_forbidden) else { return Ok(()) };
        if let Some(unresolved) = unresolved {
            return Err(unresolved.clone());
        }
        let explanation = format!(
            "{source} adds {} to Pods, which {forbidding} forbids; change one of the two, or no Pod can be created",
            quote(&default.to_string())
        );
        let rejection = Rejection::forbidden(CauseKind::Taint, explanation).demanded_at(*forbidding);
        Err(rejection.in_namespace(self.namespace).about_taint(default))
    }

    /// The same for whom no whitelist and nothing forbidden holds.
    pub fn without_validation(mut self) -> Self {
        self.allowed.clear();
        self.forbidden = None;
        self
    }

    /// Whether anything may or must not be tolerated.
    pub fn validates_anything(&self) -> bool {
        let forbids = self.forbidden.as_ref().is_some_and(|forbidden| !forbidden.tolerations.is_empty());
        forbids || !self.allowed.is_empty()
    }

    /// Whether a forbidden toleration overlaps this.
    pub fn forbids(&self, toleration: &Toleration) -> bool {
        self.forbidden.iter().flat_map(|list| list.tolerations.iter()).any(|own| own.overlaps(toleration))
    }

    /// Why no Pod of the namespace may have `toleration` of its own accord; nothing, if it may.
    pub fn objection_to(&self, toleration: &Toleration) -> Option<Objection<'_>> {
        if self.defaults_of_settings.iter().any(|default| default.same_as(toleration)) {
            return None;
        }
        if let Some(TolerationList { tolerations, source, unresolved }) = &self.forbidden
            && let Some(forbidding) = tolerations.iter().find(|own| own.overlaps(toleration))
        {
            if let Some(unresolved) = unresolved {
                return Some(Objection::Unresolved(unresolved));
            }
            return Some(Objection::Forbidden { forbidding, source: *source });
        }
        let list = self.allowed.iter().find(|list| !list.tolerations.iter().any(|own| own.covers(toleration)))?;
        match &list.unresolved {
            Some(unresolved) => Some(Objection::Unresolved(unresolved)),
            None => Some(Objection::NotAllowed { source: list.source }),
        }
    }

    /// Whether anything is added, or judged.
    pub fn is_empty(&self) -> bool {
        self.defaults.is_none() && !self.validates_anything() && !self.tolerate_extended_resources
    }
}

/// What the annotation `key` holds, if it is there.
fn in_annotation<'s>(key: &'s str, matched: &MatchedEntry<'s>) -> Result<Option<TolerationList<'s>>, Rejection> {
    let what = ("a list of tolerations", key);
    let (namespace, annotations) = (matched.namespace, &matched.found.annotations);
    let read = read_annotation(what, namespace, annotations, LONGEST_ANNOTATION, from_annotation)?;
    Ok(read.map(|(tolerations, source)| TolerationList {
        tolerations: Cow::Owned(tolerations),
        source,
        unresolved: None,
    }))
}
