//! Finds the entry of the settings that applies to a namespace: the first that matches by name, by labels, or by both.

use std::rc::Rc;

use super::severity::Severity;
use crate::cluster::Lookups;
use crate::decision::{Decision, Rejection};
use crate::json::{Pairs, ReadError};
use crate::object_meta::LabelsAndAnnotations;
use crate::request::User;
use crate::selector::{self, Requirement, Selector};
use crate::settings::{Enforcement, EntryAt, Placement, Setting, SettingsError, Source};

/// The entries whose name fits a namespace, in order, up to the first that matches by its name alone.
#[derive(Debug)]
pub struct CandidateEntries<'s> {
    settings: &'s Placement,
    namespace: &'s str,
    has_name: bool,
    entries: Vec<EntryAt<'s>>,
}

/// The entries that may apply to Pods of a namespace.
#[derive(Debug)]
pub struct NamespaceEntries<'s> {
    /// The entries with a podSelector, in order.
    pub for_some_pods: Vec<MatchedEntry<'s>>,
    /// The entry that applies to all other Pods, and to the Namespace itself.
    pub for_others: MatchedEntry<'s>,
}

/// A namespace, and the entry that applies to it.
#[derive(Clone, Debug)]
pub struct MatchedEntry<'s> {
    /// The settings for all namespaces.
    pub settings: &'s Placement,
    /// The name of the namespace.
    pub namespace: &'s str,
    /// Whether the Namespace has its name yet. One that is created with `generateName` has none: settings that refer
    /// to it are not validated.
    pub has_name: bool,
    /// The labels and annotations of the Namespace.
    pub metadata: Rc<LabelsAndAnnotations<'s>>,
    /// The entry that applies, if one does.
    pub entry: Option<EntryAt<'s>>,
}

impl<'s> CandidateEntries<'s> {
    /// Returns the entries of `settings` whose name fits `namespace`.
    pub fn new(settings: &'s Placement, namespace: &'s str) -> Self {
        let mut entries = Vec::new();
        for entry in EntryAt::all(settings).filter(|entry| entry.name_fits(namespace)) {
            entries.push(entry);
            if entry.matches_by_name_alone() {
                break;
            }
        }
        Self { settings, namespace, has_name: true, entries }
    }

    /// Returns the entries for a Namespace that has no name yet, only the beginning of one: those by labels, and by
    /// `*`. Entries after one with another name are omitted, because that one may apply instead.
    pub fn for_any_name(settings: &'s Placement, beginning: &'s str) -> Self {
        let mut entries = Vec::new();
        // Entries for some Pods say nothing about the Namespace itself.
        for entry in EntryAt::all(settings).filter(|entry| entry.pod_selector.is_none()) {
            if entry.name.as_deref().is_some_and(|name| name != "*") {
                break;
            }
            if !entry.name_fits(beginning) {
                continue;
            }
            entries.push(entry);
            if entry.matches_by_name_alone() {
                break;
            }
        }
        Self { settings, namespace: beginning, has_name: false, entries }
    }

    /// Looks the Namespace up, if its labels or annotations are needed, and finds the entries that match it.
    ///
    /// # Errors
    /// It can't be read, or the settings have a mistake.
    pub fn look_up(self, lookups: &'s Lookups<'_>) -> Result<NamespaceEntries<'s>, Rejection> {
        let mut metadata = LabelsAndAnnotations::default();
        if self.settings.reads_annotations() || self.entries.iter().any(|entry| entry.reads_labels()) {
            metadata = lookups.namespace(self.namespace)?;
        }
        Ok(self.find(metadata)?)
    }

    /// Returns the entries that match the namespace with this `metadata`.
    ///
    /// # Errors
    /// A namespaceSelector can't be read.
    pub fn find(self, metadata: LabelsAndAnnotations<'s>) -> Result<NamespaceEntries<'s>, SettingsError> {
        let Self { settings, namespace, has_name, entries } = self;
        let without_entry = MatchedEntry { settings, namespace, has_name, metadata: Rc::new(metadata), entry: None };
        let mut for_some_pods = Vec::new();
        for entry in entries {
            if unmet(entry, &without_entry.metadata)?.is_some() {
                continue;
            }
            let matched = MatchedEntry { entry: Some(entry), ..without_entry.clone() };
            if entry.pod_selector.is_none() {
                return Ok(NamespaceEntries { for_some_pods, for_others: matched });
            }
            for_some_pods.push(matched);
        }
        Ok(NamespaceEntries { for_some_pods, for_others: without_entry })
    }

    /// Returns whether an entry or an annotation may limit tolerations.
    pub fn may_validate_tolerations(&self) -> bool {
        self.settings.honors_toleration_annotations() || self.entries.iter().any(|entry| entry.validates_tolerations())
    }
}

/// Returns the first requirement of the entry's namespaceSelector that the namespace does not meet.
///
/// # Errors
/// The namespaceSelector can't be read.
pub fn unmet(entry: EntryAt<'_>, namespace: &LabelsAndAnnotations<'_>) -> Result<Option<Requirement>, SettingsError> {
    let Some(text) = &entry.namespace_selector else { return Ok(None) };
    let selector = parse(entry, Setting::NamespaceSelector, text)?;
    Ok(selector.first_unmet(|key| namespace.labels.get(key)).cloned())
}

fn parse(entry: EntryAt<'_>, setting: Setting, text: &str) -> Result<Selector, SettingsError> {
    selector::parse(text).map_err(|error| SettingsError::new(&Source::Entry(entry, setting), error))
}

impl<'s> NamespaceEntries<'s> {
    /// Returns the entry that applies to a Pod. `read` reads its labels. It is called only if an entry has a podSelector.
    ///
    /// # Errors
    /// The labels can't be read, or a podSelector can't.
    pub fn for_pod<'l>(
        self,
        read: impl FnOnce() -> Result<Pairs<'l>, ReadError>,
    ) -> Result<MatchedEntry<'s>, Rejection> {
        if self.for_some_pods.is_empty() {
            return Ok(self.for_others);
        }
        let labels = read()?;
        for matched in self.for_some_pods {
            let Some(entry) = matched.entry else { continue };
            let selector = parse(entry, Setting::PodSelector, entry.pod_selector.as_deref().unwrap_or_default())?;
            if selector.matches(|key| labels.get(key)) {
                return Ok(matched);
            }
        }
        Ok(self.for_others)
    }

    /// Returns all of them, that for other Pods last.
    pub fn all(&self) -> impl Iterator<Item = &MatchedEntry<'s>> {
        self.for_some_pods.iter().chain([&self.for_others])
    }
}

impl MatchedEntry<'_> {
    /// Returns whether a user may request everything: see `Rules::for_request`.
    pub fn exempts(&self, user: &User) -> bool {
        user.is_among(&self.settings.exempt_usernames)
    }

    /// Returns how rejections are answered, as the entry says.
    pub fn severity(&self) -> Severity {
        match self.entry {
            Some(entry) if entry.enforcement == Enforcement::Warn => Severity::Report,
            _ => Severity::Reject,
        }
    }

    /// Returns the value of a verdict about an object of the namespace, or reports the rejection and returns `None`.
    ///
    /// # Errors
    /// The rejection.
    pub fn answer<T>(
        &self,
        verdict: Result<T, Rejection>,
        severity: Severity,
        decision: &mut Decision<'_>,
    ) -> Result<Option<T>, Rejection> {
        severity.answer(verdict.map_err(|rejection| rejection.in_namespace(self.namespace)), decision)
    }
}
