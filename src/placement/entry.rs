//! Which entry of the settings applies to a namespace: the first that matches by name, by labels, or by both. For that,
//! the Namespace is looked up where it can make a difference. And what `enforcement: Warn` makes of a rejection.

use crate::cluster::{Cluster, LookupBuffer, look_up_namespace};
use crate::decision::{Decision, Rejection};
use crate::object_meta::LabelsAndAnnotations;
use crate::selector::{self, Requirement};
use crate::settings::source::EntryAt;
use crate::settings::{Enforcement, Placement, SettingsError};

/// The entries one of which may hold for a namespace, as far as its name tells: none follows one that matches by name
/// alone.
#[derive(Debug)]
pub struct CandidateEntries<'s> {
    settings: &'s Placement,
    namespace: &'s str,
    entries: Vec<EntryAt<'s>>,
}

/// A namespace, and the entry that holds for it.
#[derive(Debug)]
pub struct MatchedEntry<'s> {
    /// The settings that hold for all namespaces.
    pub settings: &'s Placement,
    /// The name of the namespace.
    pub namespace: &'s str,
    /// The entry, if one matches.
    pub entry: Option<EntryAt<'s>>,
    /// What is known of the Namespace.
    pub found: LabelsAndAnnotations<'s>,
    /// Whether settings that refer to what the Namespace lacks are left out.
    pub ignores_unresolved: bool,
    /// Whether the Namespace has its name yet. One that is created with `generateName` has none: what refers to it is not
    /// judged.
    pub has_name: bool,
}

impl<'s> CandidateEntries<'s> {
    /// The entries of `settings` that may hold for `namespace`.
    pub fn new(settings: &'s Placement, namespace: &'s str) -> Self {
        let mut entries = Vec::new();
        for (position, entry) in settings.namespaces.iter().enumerate() {
            if !entry.name_fits(namespace) {
                continue;
            }
            entries.push(EntryAt { position, entry });
            if entry.namespace_selector.is_none() {
                break;
            }
        }
        Self { settings, namespace, entries }
    }

    /// The entries that hold for a Namespace that has no name yet: those by labels, and by `*`. Those by other names match
    /// none; what stands after one may not be what will hold, so that it judges nothing.
    pub fn for_any_name(settings: &'s Placement, namespace: &'s str) -> Self {
        let mut entries = Vec::new();
        for (position, entry) in settings.namespaces.iter().enumerate() {
            if entry.name.as_deref().is_some_and(|name| name != "*") {
                break;
            }
            entries.push(EntryAt { position, entry });
            if entry.namespace_selector.is_none() {
                break;
            }
        }
        Self { settings, namespace, entries }
    }

    /// Looks the Namespace up, if it can make a difference what it says, and finds the entry that holds.
    ///
    /// # Errors
    /// It can't be read, or the settings have a mistake.
    pub fn look_up(self, cluster: &dyn Cluster, buffer: &'s LookupBuffer) -> Result<MatchedEntry<'s>, Rejection> {
        let found = if self.depends_on_namespace() {
            look_up_namespace(cluster, self.namespace, buffer)?
        } else {
            LabelsAndAnnotations::default()
        };
        Ok(self.find(found)?)
    }

    /// The entry that holds for the namespace, which was `found` in the cluster, or in a request.
    ///
    /// # Errors
    /// A namespaceSelector can't be read.
    pub fn find(self, found: LabelsAndAnnotations<'s>) -> Result<MatchedEntry<'s>, SettingsError> {
        let Self { settings, namespace, entries } = self;
        let mut matched = None;
        for entry in entries {
            if unmet(entry, &found)?.is_none() {
                matched = Some(entry);
                break;
            }
        }
        Ok(MatchedEntry { settings, namespace, entry: matched, found, ignores_unresolved: false, has_name: true })
    }

    /// Whether one of them may say what Pods may or must not tolerate, or an annotation.
    pub fn may_validate_tolerations(&self) -> bool {
        self.settings.honors_toleration_annotations() || self.entries.iter().any(|at| at.entry.validates_tolerations())
    }

    /// Whether what the Namespace says can make a difference, as far as the settings and its name tell.
    fn depends_on_namespace(&self) -> bool {
        self.settings.reads_annotations() || self.entries.iter().any(|at| at.entry.reads_labels())
    }
}

impl MatchedEntry<'_> {
    /// Whether what the entry says is enforced.
    pub fn is_enforced(&self) -> bool {
        self.entry.is_none_or(|at| at.entry.enforcement == Enforcement::Enforce)
    }

    /// The `verdict`; nothing, and a warning, where it was rejected by rules that are not enforced.
    ///
    /// # Errors
    /// The rejection.
    pub fn enforce<T>(
        &self,
        verdict: Result<T, Rejection>,
        decision: &mut Decision<'_>,
    ) -> Result<Option<T>, Rejection> {
        match verdict {
            Err(rejection) if !self.is_enforced() && rejection.is_forbidden() => {
                decision.would_reject(&rejection);
                Ok(None)
            }
            verdict => verdict.map(Some),
        }
    }
}

/// What the entry asks of the labels of its Namespaces, and this one does not have.
pub fn unmet(at: EntryAt<'_>, namespace: &LabelsAndAnnotations<'_>) -> Result<Option<Requirement>, SettingsError> {
    let Some(text) = &at.entry.namespace_selector else { return Ok(None) };
    match selector::parse(text) {
        Ok(selector) => Ok(selector.first_unmet(|key| namespace.labels.get(key)).cloned()),
        Err(error) => Err(SettingsError::new(&format_args!("{at}.namespaceSelector"), error.to_string())),
    }
}
