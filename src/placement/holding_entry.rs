//! Which entry of the settings holds for a namespace: the first that matches by name, by labels, or by both.

use std::borrow::Cow;

use super::sourced::{SourcedSelector, TolerationList};
use crate::cluster::{Answer, Cluster, Namespace, look_up_namespace};
use crate::decision::{Decision, Rejection};
use crate::message::{quote, shorten};
use crate::selector::{self, syntax};
use crate::settings::source::EntryAt;
use crate::settings::{Enforcement, NamespaceEntry, Placement, SettingsError, Source, reference};
use crate::toleration::Toleration;

/// The entries one of which may hold for a namespace, as far as its name tells: none follows one that matches by name alone.
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
    pub found: Namespace<'s>,
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
    pub fn look_up(self, cluster: &impl Cluster, answer: &'s Answer) -> Result<HoldingEntry<'s>, Rejection> {
        let found = if self.depend_on_namespace() {
            look_up_namespace(cluster, self.namespace, answer)?
        } else {
            Namespace::default()
        };
        Ok(self.find(found)?)
    }

    /// The entry that holds for the namespace, which was `found` in the cluster, or in a request.
    ///
    /// # Errors
    /// A namespaceSelector can't be read.
    pub fn find(self, found: Namespace<'s>) -> Result<HoldingEntry<'s>, SettingsError> {
        let Self { settings, namespace, entries } = self;
        let mut holding = None;
        for entry in entries {
            if matches(entry, &found)? {
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
        !self.settings.namespace_annotations.is_empty()
            || self.settings.honors_toleration_annotations()
            || self.entries.iter().any(|at| at.entry.namespace_selector.is_some() || at.entry.has_references())
    }
}

impl<'s> HoldingEntry<'s> {
    /// Whether what the entry says is enforced.
    pub fn is_enforced(&self) -> bool {
        self.entry.is_none_or(|at| at.entry.enforcement == Enforcement::Enforce)
    }

    /// What was `judged`; nothing, and a warning, where it was rejected by rules that are not enforced.
    ///
    /// # Errors
    /// The rejection.
    pub fn enforce<T>(
        &self,
        judged: Result<T, Rejection>,
        decision: &mut Decision<'_>,
    ) -> Result<Option<T>, Rejection> {
        match judged {
            Err(rejection) if !self.is_enforced() && rejection.is_forbidden() => {
                decision.would_reject(&rejection);
                Ok(None)
            }
            judged => judged.map(Some),
        }
    }

    /// The selector `text` of the entry, which stands at `source`, if it is there; with its references filled in.
    ///
    /// # Errors
    /// The Namespace lacks a label, or its value does not fit there; the settings have a mistake.
    pub fn selector(&self, text: Option<&str>, source: Source<'s>) -> Result<Option<SourcedSelector<'s>>, Rejection> {
        let Some(text) = text else { return Ok(None) };
        match self.resolve(text, source) {
            Err(rejection) if self.ignores_unresolved && rejection.is_unresolved() => Ok(None),
            resolved => resolved.map(Some),
        }
    }

    fn resolve(&self, text: &str, source: Source<'s>) -> Result<SourcedSelector<'s>, Rejection> {
        let filled = self.fill_in(text, source)?;
        match selector::parse(&filled) {
            Ok(selector) => Ok(SourcedSelector { selector, source }),
            Err(error) if reference::is_in(text) => Err(self.misfit(source, &filled, &error.to_string())),
            Err(error) => Err(SettingsError::new(&source, error.to_string()).into()),
        }
    }

    /// Why settings of the entry can't be resolved, each that can't.
    ///
    /// # Errors
    /// The settings have a mistake.
    pub fn unresolved(&self) -> Result<Vec<Rejection>, Rejection> {
        let Some(at) = self.entry else { return Ok(Vec::new()) };
        let NamespaceEntry { required_node_selector, default_node_selector, allowed_node_selector, .. } = at.entry;
        let mut selectors = vec![
            ("requiredNodeSelector", required_node_selector.as_ref()),
            ("defaultNodeSelector", default_node_selector.as_ref()),
            ("allowedNodeSelector", allowed_node_selector.as_ref()),
        ];
        for preferred in &at.entry.preferred_node_selector {
            selectors.push(("preferredNodeSelector", Some(&preferred.selector)));
        }
        let mut unresolved = Vec::new();
        for (field, text) in selectors {
            let Some(text) = text else { continue };
            match self.resolve(text, Source::Entry(at, field)) {
                Err(rejection) if rejection.is_unresolved() => unresolved.push(rejection),
                resolved => resolved.map(drop)?,
            }
        }
        let lists = [
            ("defaultTolerations", &at.entry.default_tolerations),
            ("allowedTolerations", &at.entry.allowed_tolerations),
            ("forbiddenTolerations", &at.entry.forbidden_tolerations),
        ];
        for (field, list) in lists {
            unresolved.extend(self.fill_in_list(list.as_ref(), Source::Entry(at, field)).err());
        }
        Ok(unresolved)
    }

    /// The tolerations `list` of the entry, which stands at `source`, if it is there; with their references filled in.
    ///
    /// # Errors
    /// The Namespace lacks a label, or its value does not fit there.
    pub fn tolerations(
        &self,
        list: Option<&'s Vec<Toleration>>,
        source: Source<'s>,
    ) -> Result<Option<TolerationList<'s>>, Rejection> {
        match self.fill_in_list(list, source) {
            Err(rejection) if self.ignores_unresolved && rejection.is_unresolved() => Ok(None),
            filled => filled,
        }
    }

    fn fill_in_list(
        &self,
        list: Option<&'s Vec<Toleration>>,
        source: Source<'s>,
    ) -> Result<Option<TolerationList<'s>>, Rejection> {
        let Some(list) = list else { return Ok(None) };
        if !list.iter().any(|toleration| reference::is_in(&toleration.value)) {
            return Ok(Some(TolerationList { tolerations: Cow::Borrowed(list), source, unresolved: None }));
        }
        let mut filled = list.clone();
        for toleration in &mut filled {
            let value = self.fill_in(&toleration.value, source)?;
            if let Err(expected) = syntax::label_value(&value) {
                return Err(self.misfit(source, &value, &format!("expected {expected}")));
            }
            toleration.value = value.into_owned();
        }
        Ok(Some(TolerationList { tolerations: Cow::Owned(filled), source, unresolved: None }))
    }

    fn fill_in<'t>(&self, text: &'t str, source: Source<'s>) -> Result<Cow<'t, str>, Rejection> {
        reference::fill_in(text, |key| {
            if key == reference::NAME {
                return Ok(Cow::Borrowed(self.namespace));
            }
            let problem = match self.found.labels.get(key) {
                None => "which is missing".to_owned(),
                Some(value) if value.is_empty() => "which is empty".to_owned(),
                // Whoever answered: an invalid value could say more than it should.
                Some(value) => match syntax::label_value(value) {
                    Ok(()) => return Ok(Cow::Borrowed(&**value)),
                    Err(expected) => format!("whose value is not valid, expected {expected}"),
                },
            };
            Err(Rejection::unresolved(format!(
                "{source} refers to label {} of namespace {}, {problem}; label the namespace",
                shorten(key),
                quote(self.namespace)
            )))
        })
    }

    fn misfit(&self, source: Source<'_>, filled: &str, problem: &str) -> Rejection {
        let labels: Vec<String> = self.references(source).map(shorten).collect();
        Rejection::unresolved(format!(
            "{source} refers to label {} of namespace {}, and becomes {}: {problem}; change the label",
            labels.join(", "),
            quote(self.namespace),
            quote(filled)
        ))
    }

    /// The labels that `source` may refer to.
    fn references(&self, source: Source<'_>) -> impl Iterator<Item = &str> {
        let keys = self.found.labels.keys().map(|key| &**key);
        keys.filter(move |key| matches!(source, Source::Entry(at, _) if at.entry.refers_to(key)))
    }
}

fn matches(at: EntryAt<'_>, namespace: &Namespace<'_>) -> Result<bool, SettingsError> {
    let Some(text) = &at.entry.namespace_selector else { return Ok(true) };
    match selector::parse(text) {
        Ok(selector) => Ok(selector.matches(|key| namespace.labels.get(key).map(|value| &**value))),
        Err(error) => Err(SettingsError::new(&format_args!("{at}.namespaceSelector"), error.to_string())),
    }
}
