//! Which entry of the settings applies to a namespace: the first that matches by name, by labels, or by both. For that,
//! the Namespace is looked up where it can make a difference.

use crate::cluster::{Answer, Cluster, look_up_namespace};
use crate::decision::Rejection;
use crate::object_meta::LabelsAndAnnotations;
use crate::selector::{self, Requirement};
use crate::settings::source::EntryAt;
use crate::settings::{Placement, SettingsError};

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
pub struct HoldingEntry<'s> {
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
}

impl<'s> CandidateEntries<'s> {
    /// The entries of `settings` that may hold for `namespace`.
    pub fn of(settings: &'s Placement, namespace: &'s str) -> Self {
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

    /// Looks the Namespace up, if it can make a difference what it says, and finds the entry that holds.
    ///
    /// # Errors
    /// It can't be read, or the settings have a mistake.
    pub fn look_up(self, cluster: &dyn Cluster, answer: &'s Answer) -> Result<HoldingEntry<'s>, Rejection> {
        let found = if self.depend_on_namespace() {
            look_up_namespace(cluster, self.namespace, answer)?
        } else {
            LabelsAndAnnotations::default()
        };
        Ok(self.find(found)?)
    }

    /// The entry that holds for the namespace, which was `found` in the cluster, or in a request.
    ///
    /// # Errors
    /// A namespaceSelector can't be read.
    pub fn find(self, found: LabelsAndAnnotations<'s>) -> Result<HoldingEntry<'s>, SettingsError> {
        let Self { settings, namespace, entries } = self;
        let mut holding = None;
        for entry in entries {
            if unmet(entry, &found)?.is_none() {
                holding = Some(entry);
                break;
            }
        }
        Ok(HoldingEntry { settings, namespace, entry: holding, found, ignores_unresolved: false })
    }

    /// Whether one of them may say what Pods may or must not tolerate, or an annotation.
    pub fn may_judge_tolerations(&self) -> bool {
        self.settings.honors_toleration_annotations() || self.entries.iter().any(|at| at.entry.judges_tolerations())
    }

    /// Whether what the Namespace says can make a difference, as far as the settings and its name tell.
    fn depend_on_namespace(&self) -> bool {
        self.settings.reads_annotations() || self.entries.iter().any(|at| at.entry.reads_labels())
    }
}

/// What the entry asks of the labels of its Namespaces, and this one does not have.
pub fn unmet(at: EntryAt<'_>, namespace: &LabelsAndAnnotations<'_>) -> Result<Option<Requirement>, SettingsError> {
    let Some(text) = &at.entry.namespace_selector else { return Ok(None) };
    match selector::parse(text) {
        Ok(selector) => Ok(selector.first_unmet(|key| namespace.labels.get(key).map(|value| &**value)).cloned()),
        Err(error) => Err(SettingsError::new(&format_args!("{at}.namespaceSelector"), error.to_string())),
    }
}
