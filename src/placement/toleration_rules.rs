//! The rules of a namespace about tolerations.

use super::entry::MatchedEntry;
use super::mode::Mode;
use super::resolve::{Unresolved, read_annotation};
use crate::decision::{Cause, CauseKind, Rejection};
use crate::limits::LONGEST_ANNOTATION;
use crate::message::quote;
use crate::settings::{OnExtendedResources, Setting, Source, reference};
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
    pub unresolved: Option<Unresolved>,
}

/// The reason that a Pod must not have a toleration.
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
        let of_settings = match mode {
            Mode::BindingByAnnotations => Self::default(),
            _ => Self::of_settings(matched, mode)?,
        };
        if mode == Mode::Binding || !matched.settings.honors_toleration_annotations() {
            return Ok(of_settings);
        }
        let defaults = TolerationList::in_annotation(DEFAULTS_ANNOTATION, matched)?.or(of_settings.defaults);
        let whitelist = TolerationList::in_annotation(WHITELIST_ANNOTATION, matched)?;
        let mut allowed = of_settings.allowed;
        // An empty one allows everything, as in-tree: it can only narrow.
        allowed.extend(whitelist.filter(|whitelist| !whitelist.tolerations.is_empty()));
        Ok(Self { defaults, allowed, ..of_settings })
    }

    /// Returns the rules of the settings, and of the entry that applies.
    fn of_settings(matched: &MatchedEntry<'s>, mode: Mode) -> Result<Self, Rejection> {
        let settings = matched.settings;
        let read = |setting| TolerationList::of_entry(setting, matched, mode);
        let cluster_defaults = || {
            let source = Source::Placement(Setting::ClusterDefaultTolerations);
            TolerationList::read(settings.cluster_default_tolerations.as_deref()?, source, matched, mode)
        };
        let defaults = read(Setting::DefaultTolerations).or_else(cluster_defaults);
        let forbidden = read(Setting::ForbiddenTolerations);
        reject_forbidden_default(defaults.as_ref(), forbidden.as_ref())?;
        Ok(Self {
            defaults_of_settings: defaults.as_ref().map(|list| list.tolerations.clone()).unwrap_or_default(),
            defaults,
            allowed: read(Setting::AllowedTolerations).into_iter().collect(),
            forbidden,
            tolerate_extended_resources: settings.on_extended_resources == OnExtendedResources::Tolerate,
        })
    }

    /// Returns the rules for exempt users. They may tolerate everything, and get the same defaults.
    pub(super) fn without_limits(self) -> Self {
        Self { allowed: Vec::new(), forbidden: None, ..self }
    }

    /// Returns whether tolerations are limited.
    pub fn validates_anything(&self) -> bool {
        let forbids = self.forbidden.as_ref().is_some_and(|forbidden| !forbidden.tolerations.is_empty());
        forbids || !self.allowed.is_empty()
    }

    /// Returns the most comparisons that it takes to validate so many taints.
    pub fn comparisons(&self, taints: usize) -> usize {
        let lists = self.allowed.iter().chain(&self.forbidden).map(|list| list.tolerations.comparisons(taints));
        // Defaults are searched for what tolerates the taint, and for what equals its narrowest toleration.
        lists.sum::<usize>() + self.defaults_of_settings.comparisons(2 * taints)
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

/// Rejects a default that is forbidden. `validate_settings` finds those without references.
fn reject_forbidden_default(
    defaults: Option<&TolerationList<'_>>,
    forbidden: Option<&TolerationList<'_>>,
) -> Result<(), Rejection> {
    let (Some(defaults), Some(forbidden)) = (defaults, forbidden) else { return Ok(()) };
    let is_forbidden = |default: &&Toleration| forbidden.tolerations.first_overlapping(default).is_some();
    let Some(default) = defaults.tolerations.iter().find(is_forbidden) else { return Ok(()) };
    forbidden.reject_unresolved()?;
    let explanation = format!(
        "{} adds {} to Pods, which {} forbids; change one of the two, or no Pod can be created",
        defaults.source,
        quote(&default.to_string()),
        forbidden.source
    );
    let cause = Cause::new(CauseKind::Contradiction).at(forbidden.source).taint(default);
    Err(Rejection::forbidden(cause, explanation))
}

impl<'s> TolerationList<'s> {
    /// Returns the list `setting` of the entry that applies, as [`read`](Self::read) does.
    fn of_entry(setting: Setting, matched: &MatchedEntry<'s>, mode: Mode) -> Option<Self> {
        let entry = matched.entry?;
        let (_, list) = entry.entry.toleration_lists().find(|(listed, _)| *listed == setting)?;
        Self::read(list, Source::Entry(entry, setting), matched, mode)
    }

    /// Reads `list` of the settings, with its references filled in. Returns `None` if one can't be resolved, and `mode`
    /// omits the list.
    ///
    /// Keys and effects have no references: a forbidden toleration that can't be filled in may be meant for every value of
    /// its key.
    fn read(list: &'s [Toleration], source: Source<'s>, matched: &MatchedEntry<'s>, mode: Mode) -> Option<Self> {
        if !list.iter().any(|toleration| reference::is_in(&toleration.value)) {
            return Some(Self { tolerations: Tolerations::new(list), source, unresolved: None });
        }
        let forbids = matches!(source, Source::Entry(_, Setting::ForbiddenTolerations));
        let (mut filled, mut unresolved) = (Vec::with_capacity(list.len()), None);
        for toleration in list {
            match matched.toleration(source, toleration) {
                Ok(toleration) => filled.push(toleration),
                Err(_) if mode.omits_unresolved() => return None,
                Err(error) if !forbids => {
                    return Some(Self { tolerations: Tolerations::default(), source, unresolved: Some(error) });
                }
                Err(error) => {
                    unresolved.get_or_insert(error);
                    filled.push(Toleration::exists(&toleration.key, &toleration.effect));
                }
            }
        }
        Some(Self { tolerations: Tolerations::new(filled), source, unresolved })
    }

    /// Reads the annotation `key`. Returns `None` if it is missing.
    fn in_annotation(key: &'s str, matched: &MatchedEntry<'s>) -> Result<Option<Self>, Rejection> {
        let Some(text) = matched.metadata.annotations.get(key) else { return Ok(None) };
        let source = Source::Annotation { key, namespace: matched.namespace };
        let read = read_annotation("a list of tolerations", source, text, LONGEST_ANNOTATION, from_annotation);
        Ok(Some(Self { tolerations: Tolerations::new(read?), source, unresolved: None }))
    }

    /// Rejects the request if a reference could not be resolved.
    ///
    /// # Errors
    /// The missing label.
    pub fn reject_unresolved(&self) -> Result<(), Rejection> {
        self.unresolved.clone().map_or(Ok(()), |unresolved| Err(unresolved.into()))
    }
}
