//! The rules of a namespace about tolerations.

use super::entry::{MatchedEntry, read_annotation};
use super::rules::Mode;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::limits::LONGEST_ANNOTATION;
use crate::message::quote;
use crate::settings::{NamespaceEntry, OnExtendedResources, Setting, Source, reference};
use crate::toleration::{Toleration, Tolerations, from_annotation};

/// The annotation of a namespace that holds what is added to its Pods (`NSDefaultTolerations`).
pub const DEFAULTS_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";

/// The annotation of a namespace that holds what its Pods may tolerate (`NSWLTolerations`).
pub const WHITELIST_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// The tolerations that are added, allowed and forbidden.
#[derive(Clone, Debug, Default)]
pub struct TolerationRules<'s> {
    /// The tolerations that are added.
    pub defaults: Option<TolerationList<'s>>,
    /// The defaults of the settings. Pods may have them even if an annotation replaces them.
    pub defaults_of_settings: Tolerations<'s>,
    /// The whitelists, all of which must allow a toleration.
    pub allowed: Vec<TolerationList<'s>>,
    /// The forbidden tolerations.
    pub forbidden: Option<TolerationList<'s>>,
    /// Whether Pods tolerate taints of the extended resources that they request.
    pub tolerate_extended_resources: bool,
}

/// A list of tolerations, and the setting or annotation that has it. With an unresolved reference, a whitelist is empty,
/// and a list of forbidden tolerations has `Exists` in place of the value.
#[derive(Clone, Debug)]
pub struct TolerationList<'s> {
    /// The tolerations, in order.
    pub tolerations: Tolerations<'s>,
    /// The setting or annotation.
    pub source: Source<'s>,
    /// Set if a reference could not be resolved.
    pub unresolved: Option<Rejection>,
}

/// Why a Pod must not have a toleration.
#[derive(Clone, Copy, Debug)]
pub struct Objection<'r> {
    /// The list that forbids it or does not allow it.
    pub list: &'r TolerationList<'r>,
    /// The forbidden toleration that overlaps it, or `None` for a whitelist.
    pub forbidding: Option<&'r Toleration>,
}

impl<'s> TolerationRules<'s> {
    /// Returns the rules of the settings, of the entry that applies, and of the annotations.
    ///
    /// # Errors
    /// An annotation is malformed; a default is forbidden.
    pub fn new(matched: &MatchedEntry<'s>, mode: Mode) -> Result<Self, Rejection> {
        let settings = matched.settings;
        let mut rules = Self::default();
        if mode != Mode::BindingByAnnotations {
            rules = Self::of_settings(matched, mode)?;
        }
        if settings.honors_toleration_annotations() && mode != Mode::Binding {
            rules.defaults = TolerationList::in_annotation(DEFAULTS_ANNOTATION, matched)?.or(rules.defaults);
            let whitelist = TolerationList::in_annotation(WHITELIST_ANNOTATION, matched)?;
            // An empty one allows everything, as in-tree: it can only narrow.
            rules.allowed.extend(whitelist.filter(|whitelist| !whitelist.tolerations.is_empty()));
        }
        Ok(rules)
    }

    /// Returns the rules of the settings, and of the entry that applies.
    fn of_settings(matched: &MatchedEntry<'s>, mode: Mode) -> Result<Self, Rejection> {
        let settings = matched.settings;
        let tolerate_extended_resources = settings.on_extended_resources == OnExtendedResources::Tolerate;
        let mut rules = Self { tolerate_extended_resources, ..Self::default() };
        if let Some(at) = matched.entry {
            let NamespaceEntry { default_tolerations, allowed_tolerations, forbidden_tolerations, .. } = at.entry;
            let read = |list: &'s Option<Vec<Toleration>>, setting| {
                TolerationList::read(list.as_deref()?, Source::Entry(at, setting), matched, mode)
            };
            rules.defaults = read(default_tolerations, Setting::DefaultTolerations);
            rules.allowed.extend(read(allowed_tolerations, Setting::AllowedTolerations));
            rules.forbidden = forbidden_tolerations.as_deref().and_then(|list| {
                TolerationList::read_forbidden(list, Source::Entry(at, Setting::ForbiddenTolerations), matched, mode)
            });
        }
        if let (None, Some(list)) = (&rules.defaults, &settings.cluster_default_tolerations) {
            let source = Source::Placement(Setting::ClusterDefaultTolerations);
            rules.defaults = TolerationList::read(list, source, matched, mode);
        }
        rules.reject_forbidden_defaults()?;
        rules.defaults_of_settings = rules.defaults.as_ref().map(|list| list.tolerations.clone()).unwrap_or_default();
        Ok(rules)
    }

    /// Returns the rules for exempt users. They may tolerate everything, and get the same defaults.
    pub(super) fn without_limits(self) -> Self {
        Self { allowed: Vec::new(), forbidden: None, ..self }
    }

    /// Rejects a default that is forbidden. `validate_settings` finds those without references.
    fn reject_forbidden_defaults(&self) -> Result<(), Rejection> {
        let (Some(forbidden), Some(defaults)) = (&self.forbidden, &self.defaults) else { return Ok(()) };
        let is_forbidden = |default: &&Toleration| forbidden.tolerations.first_overlapping(default).is_some();
        let Some(default) = defaults.tolerations.iter().find(is_forbidden) else { return Ok(()) };
        forbidden.reject_unresolved()?;
        let explanation = format!(
            "{} adds {} to Pods, which {} forbids; change one of the two, or no Pod can be created",
            defaults.source,
            quote(&default.to_string()),
            forbidden.source
        );
        let cause = Cause {
            kind: CauseKind::Contradiction,
            setting: forbidden.source.setting(),
            taint: Some(default.to_string()),
            ..Cause::default()
        };
        Err(Rejection::forbidden(cause, explanation))
    }

    /// Returns whether tolerations are limited.
    pub fn validates_anything(&self) -> bool {
        let forbids = self.forbidden.as_ref().is_some_and(|forbidden| !forbidden.tolerations.is_empty());
        forbids || !self.allowed.is_empty()
    }

    /// Returns the most comparisons that it takes to validate one toleration or taint.
    pub fn comparisons(&self) -> usize {
        let lists = self.allowed.iter().chain(&self.forbidden).map(|list| list.tolerations.len());
        let of_list = |length: usize| 1 + length.checked_ilog2().unwrap_or_default() as usize;
        lists.chain([self.defaults_of_settings.len()]).map(of_list).sum()
    }

    /// Returns why no Pod may have `toleration`, unless the cluster or its RuntimeClass added it.
    pub fn objection_to(&self, toleration: &Toleration) -> Option<Objection<'_>> {
        if self.defaults_of_settings.has_same(toleration) {
            return None;
        }
        if let Some(objection) = self.prohibition_of(toleration) {
            return Some(objection);
        }
        let list = self.allowed.iter().find(|list| !list.tolerations.covers(toleration))?;
        Some(Objection { list, forbidding: None })
    }

    /// Returns the list that forbids `toleration`. With an unresolved reference, every toleration is forbidden.
    pub fn prohibition_of(&self, toleration: &Toleration) -> Option<Objection<'_>> {
        let list = self.forbidden.as_ref()?;
        let forbidding = match list.unresolved {
            Some(_) => list.tolerations.first(),
            None => list.tolerations.first_overlapping(toleration),
        };
        Some(Objection { list, forbidding: Some(forbidding?) })
    }

    /// Returns whether nothing is added or validated.
    pub fn is_empty(&self) -> bool {
        self.defaults.is_none() && !self.validates_anything() && !self.tolerate_extended_resources
    }
}

impl<'s> TolerationList<'s> {
    /// Reads `list` of the settings, with its references filled in. Returns an empty list if one can't be resolved, or
    /// `None` if `mode` omits it.
    fn read(list: &'s [Toleration], source: Source<'s>, matched: &MatchedEntry<'s>, mode: Mode) -> Option<Self> {
        if !list.iter().any(|toleration| reference::is_in(&toleration.value)) {
            return Some(Self { tolerations: Tolerations::new(list), source, unresolved: None });
        }
        let mut filled = Vec::with_capacity(list.len());
        for toleration in list {
            match matched.toleration(source, toleration) {
                Ok(toleration) => filled.push(toleration),
                Err(error) if mode.omits(&error) => return None,
                Err(error) => {
                    return Some(Self { tolerations: Tolerations::default(), source, unresolved: Some(error) });
                }
            }
        }
        Some(Self { tolerations: Tolerations::new(filled), source, unresolved: None })
    }

    /// Reads `list` of the settings as forbidden tolerations. Keys and effects have no references: a toleration that can't
    /// be filled in may be meant for every value of its key.
    fn read_forbidden(
        list: &'s [Toleration],
        source: Source<'s>,
        matched: &MatchedEntry<'s>,
        mode: Mode,
    ) -> Option<Self> {
        let forbidden = Self::read(list, source, matched, mode)?;
        if forbidden.unresolved.is_none() {
            return Some(forbidden);
        }
        let mut every_meant = Vec::with_capacity(list.len());
        for toleration in list {
            let every_value = Toleration::exists(&toleration.key, &toleration.effect);
            every_meant.push(matched.toleration(source, toleration).unwrap_or(every_value));
        }
        Some(Self { tolerations: Tolerations::new(every_meant), ..forbidden })
    }

    /// Reads the annotation `key`. Returns `None` if it is missing.
    fn in_annotation(key: &'s str, matched: &MatchedEntry<'s>) -> Result<Option<Self>, Rejection> {
        let Some(text) = matched.found.annotations.get(key) else { return Ok(None) };
        let source = Source::Annotation { key, namespace: matched.namespace };
        let read = read_annotation("a list of tolerations", source, text, LONGEST_ANNOTATION, from_annotation);
        Ok(Some(Self { tolerations: Tolerations::new(read?), source, unresolved: None }))
    }

    /// Rejects the request if a reference could not be resolved.
    ///
    /// # Errors
    /// The missing label.
    pub fn reject_unresolved(&self) -> Result<(), Rejection> {
        self.unresolved.clone().map_or(Ok(()), Err)
    }
}
