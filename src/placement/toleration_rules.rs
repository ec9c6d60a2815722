//! What a namespace demands of the tolerations of its Pods.

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

/// What is added to the tolerations of Pods, and what they may and must not tolerate.
#[derive(Clone, Debug, Default)]
pub struct TolerationRules<'s> {
    /// What is added to Pods that lack it.
    pub defaults: Option<TolerationList<'s>>,
    /// The defaults of the settings, which are never validated, even where an annotation replaces them.
    pub defaults_of_settings: Tolerations<'s>,
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
    /// In order. If a reference could not be resolved: none, or of forbidden ones all that may be meant.
    pub tolerations: Tolerations<'s>,
    /// Where they are listed.
    pub source: Source<'s>,
    /// Set if a reference could not be resolved. The list then allows nothing, or forbids everything.
    pub unresolved: Option<Rejection>,
}

/// Why a Pod may not have a toleration.
#[derive(Clone, Copy, Debug)]
pub struct Objection<'r> {
    /// The list that forbids it, or does not allow it.
    pub list: &'r TolerationList<'r>,
    /// What overlaps it, of a list that forbids it.
    pub forbidding: Option<&'r Toleration>,
}

impl<'s> TolerationRules<'s> {
    /// Returns what the settings, the entry that holds for the namespace, and its annotations say.
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

    /// Returns what the settings say, with the entry that applies.
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

    /// Returns what holds for exempt users: they may tolerate everything, and get what is added to Pods.
    pub(super) fn without_limits(self) -> Self {
        Self { allowed: Vec::new(), forbidden: None, ..self }
    }

    /// Returns what `validate_settings` refuses where it can tell, and here where references are filled in. What can't
    /// be filled in may forbid any value of its key.
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

    /// Returns whether anything may or must not be tolerated.
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

    /// Returns why no Pod of the namespace may have `toleration` of its own accord, or nothing if it may.
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

    /// Returns what forbids `toleration`. Everything is forbidden where nobody knows what is.
    pub fn prohibition_of(&self, toleration: &Toleration) -> Option<Objection<'_>> {
        let list = self.forbidden.as_ref()?;
        let forbidding = match list.unresolved {
            Some(_) => list.tolerations.first(),
            None => list.tolerations.first_overlapping(toleration),
        };
        Some(Objection { list, forbidding: Some(forbidding?) })
    }

    /// Returns whether anything is added, or validated.
    pub fn is_empty(&self) -> bool {
        self.defaults.is_none() && !self.validates_anything() && !self.tolerate_extended_resources
    }
}

impl<'s> TolerationList<'s> {
    /// Returns `list` of the settings with its references filled in: empty, or left out, if one can't be.
    fn read(list: &'s [Toleration], source: Source<'s>, matched: &MatchedEntry<'s>, mode: Mode) -> Option<Self> {
        if !list.iter().any(|toleration| reference::is_in(&toleration.value)) {
            return Some(Self { tolerations: Tolerations::new(list), source, unresolved: None });
        }
        let mut filled = Vec::with_capacity(list.len());
        for toleration in list {
            match matched.toleration(source, toleration) {
                Ok(toleration) => filled.push(toleration),
                Err(error) if mode.leaves_out(&error) => return None,
                Err(error) => {
                    return Some(Self { tolerations: Tolerations::default(), source, unresolved: Some(error) });
                }
            }
        }
        Some(Self { tolerations: Tolerations::new(filled), source, unresolved: None })
    }

    /// Reads `list` of the settings as forbidden tolerations. Keys and effects can't hold references: a toleration that
    /// can't be filled in may be meant for every value of its key.
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

    /// Returns what the annotation `key` holds, if it is there.
    fn in_annotation(key: &'s str, matched: &MatchedEntry<'s>) -> Result<Option<Self>, Rejection> {
        let Some(text) = matched.found.annotations.get(key) else { return Ok(None) };
        let source = Source::Annotation { key, namespace: matched.namespace };
        let read = read_annotation("a list of tolerations", source, text, LONGEST_ANNOTATION, from_annotation);
        Ok(Some(Self { tolerations: Tolerations::new(read?), source, unresolved: None }))
    }

    /// Rejects what depends on this, if nobody knows all that is listed.
    ///
    /// # Errors
    /// What is lacking to know it.
    pub fn reject_unresolved(&self) -> Result<(), Rejection> {
        self.unresolved.clone().map_or(Ok(()), Err)
    }
}
