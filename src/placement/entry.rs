//! Finds the entry of the settings that applies to a namespace: the first that matches by name, by labels, or by both.
//! Reads its selectors and the annotations of the Namespace, and fills in references to labels.

use std::borrow::Cow;
use std::fmt::Display;
use std::rc::Rc;

use super::rules::Severity;
use crate::cluster::Lookups;
use crate::decision::{Cause, CauseKind, Decision, Rejection};
use crate::json::{Pairs, ReadError};
use crate::limits::{LONGEST_ANNOTATION, MOST_REQUIREMENTS, MOST_VALUES};
use crate::message::{quote, shorten};
use crate::object_meta::LabelsAndAnnotations;
use crate::request::User;
use crate::selector::{self, Requirement, Selector, syntax};
use crate::settings::{Enforcement, EntryAt, Placement, Setting, SettingsError, Source, reference};
use crate::toleration::Toleration;

/// The entries whose name fits a namespace, in order, up to the first that matches by its name alone.
#[derive(Debug)]
pub struct CandidateEntries<'s> {
    settings: &'s Placement,
    namespace: &'s str,
    has_name: bool,
    entries: Vec<EntryAt<'s>>,
}

/// The entries that may apply to Pods of a namespace, in order: those with a podSelector, and the first without.
#[derive(Debug)]
pub struct NamespaceEntries<'s> {
    settings: &'s Placement,
    namespace: &'s str,
    has_name: bool,
    found: Rc<LabelsAndAnnotations<'s>>,
    entries: Vec<EntryAt<'s>>,
}

/// A namespace, and the entry that applies to it.
#[derive(Debug)]
pub struct MatchedEntry<'s> {
    /// The settings for all namespaces.
    pub settings: &'s Placement,
    /// The name of the namespace.
    pub namespace: &'s str,
    /// The entry that applies, if one does.
    pub entry: Option<EntryAt<'s>>,
    /// The labels and annotations of the Namespace.
    pub found: Rc<LabelsAndAnnotations<'s>>,
    /// Whether the Namespace has its name yet. One that is created with `generateName` has none: settings that refer
    /// to it are not validated.
    pub has_name: bool,
}

impl<'s> CandidateEntries<'s> {
    /// Returns the entries of `settings` whose name fits `namespace`.
    pub fn new(settings: &'s Placement, namespace: &'s str) -> Self {
        Self { settings, namespace, has_name: true, entries: entries_for(settings, namespace, true) }
    }

    /// Returns the entries for a Namespace that has no name yet, only the beginning of one: those by labels, and by
    /// `*`. Entries after one with another name are omitted, because that one may apply instead.
    pub fn for_any_name(settings: &'s Placement, beginning: &'s str) -> Self {
        Self { settings, namespace: beginning, has_name: false, entries: entries_for(settings, beginning, false) }
    }

    /// Looks the Namespace up, if its labels or annotations are needed, and finds the entries that match it.
    ///
    /// # Errors
    /// It can't be read, or the settings have a mistake.
    pub fn look_up(self, lookups: &'s Lookups<'_>) -> Result<NamespaceEntries<'s>, Rejection> {
        let mut found = LabelsAndAnnotations::default();
        if self.settings.reads_annotations() || self.entries.iter().any(|at| at.entry.reads_labels()) {
            found = lookups.namespace(self.namespace)?;
        }
        Ok(self.find(found)?)
    }

    /// Returns the entries that match the namespace, whose labels and annotations are `found`.
    ///
    /// # Errors
    /// A namespaceSelector can't be read.
    pub fn find(self, found: LabelsAndAnnotations<'s>) -> Result<NamespaceEntries<'s>, SettingsError> {
        let Self { settings, namespace, has_name, entries: candidates } = self;
        let mut entries = Vec::new();
        for at in candidates {
            if unmet(at, &found)?.is_some() {
                continue;
            }
            entries.push(at);
            if at.entry.pod_selector.is_none() {
                break;
            }
        }
        Ok(NamespaceEntries { settings, namespace, has_name, found: Rc::new(found), entries })
    }

    /// Returns whether an entry or an annotation may limit tolerations.
    pub fn may_validate_tolerations(&self) -> bool {
        self.settings.honors_toleration_annotations() || self.entries.iter().any(|at| at.entry.validates_tolerations())
    }
}

fn entries_for<'s>(settings: &'s Placement, namespace: &str, has_name: bool) -> Vec<EntryAt<'s>> {
    let mut entries = Vec::new();
    for (position, entry) in settings.namespaces.iter().enumerate() {
        // Those for some Pods say nothing about the Namespace itself.
        if !has_name && entry.pod_selector.is_some() {
            continue;
        }
        if !has_name && entry.name.as_deref().is_some_and(|name| name != "*") {
            break;
        }
        if !entry.name_fits(namespace) {
            continue;
        }
        entries.push(EntryAt { position, entry });
        if entry.matches_by_name_alone() {
            break;
        }
    }
    entries
}

/// Returns the first requirement of the entry's namespaceSelector that the namespace does not meet.
///
/// # Errors
/// The namespaceSelector can't be read.
pub fn unmet(at: EntryAt<'_>, namespace: &LabelsAndAnnotations<'_>) -> Result<Option<Requirement>, SettingsError> {
    let Some(text) = &at.entry.namespace_selector else { return Ok(None) };
    match selector::parse(text) {
        Ok(selector) => Ok(selector.first_unmet(|key| namespace.labels.get(key)).cloned()),
        Err(error) => Err(SettingsError::new(&Source::Entry(at, Setting::NamespaceSelector), error)),
    }
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
        let Some(first) = self.entries.first().copied() else { return Ok(self.matched(None)) };
        if first.entry.pod_selector.is_none() {
            return Ok(self.matched(Some(first)));
        }
        let labels = read()?;
        for at in self.entries.iter().copied() {
            let text = at.entry.pod_selector.as_deref().unwrap_or_default();
            let source = Source::Entry(at, Setting::PodSelector);
            let selector = selector::parse(text).map_err(|error| SettingsError::new(&source, error))?;
            if selector.matches(|key| labels.get(key)) {
                return Ok(self.matched(Some(at)));
            }
        }
        Ok(self.matched(None))
    }

    /// Returns the entry that applies to the namespace itself: the first for all of its Pods.
    pub fn for_namespace(self) -> MatchedEntry<'s> {
        let for_all = self.entries.last().copied().filter(|at| at.entry.pod_selector.is_none());
        self.matched(for_all)
    }

    /// Returns each entry that may apply to a Pod whose labels are not known. The last has no entry if none is for all
    /// Pods.
    pub fn alternatives(self) -> Vec<MatchedEntry<'s>> {
        let Self { settings, namespace, has_name, ref found, .. } = self;
        let mut alternatives = Vec::new();
        for at in self.entries.iter().copied().filter(|at| at.entry.pod_selector.is_some()) {
            alternatives.push(MatchedEntry { settings, namespace, has_name, found: found.clone(), entry: Some(at) });
        }
        alternatives.push(self.for_namespace());
        alternatives
    }

    fn matched(self, entry: Option<EntryAt<'s>>) -> MatchedEntry<'s> {
        let Self { settings, namespace, has_name, found, .. } = self;
        MatchedEntry { settings, namespace, entry, found, has_name }
    }
}

impl<'s> MatchedEntry<'s> {
    /// Returns whether a user may request everything: see `Rules::for_request`.
    pub fn exempts(&self, user: &User) -> bool {
        user.is_among(&self.settings.exempt_usernames)
    }

    /// Returns how rejections are answered, as the entry says.
    pub fn severity(&self) -> Severity {
        match self.entry {
            Some(at) if at.entry.enforcement == Enforcement::Warn => Severity::WouldBe,
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

    /// Returns the texts of the node selectors: the required one, then the annotations or else the default of the entry or
    /// of the cluster.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn node_selectors(&self) -> Vec<(Source<'s>, &str)> {
        let Self { settings, namespace, entry, ref found, .. } = *self;
        let mut selectors = Vec::new();
        let cluster_default = settings.cluster_default_node_selector.as_deref();
        let mut default = cluster_default.map(|text| (Source::Placement(Setting::ClusterDefaultNodeSelector), text));
        if let Some(at) = entry {
            let required = at.entry.required_node_selector.as_deref();
            selectors.extend(required.map(|text| (Source::Entry(at, Setting::RequiredNodeSelector), text)));
            let own = at.entry.default_node_selector.as_deref();
            default = own.map(|text| (Source::Entry(at, Setting::DefaultNodeSelector), text)).or(default);
        }
        let annotated = |key: &'s String| Some((Source::Annotation { key, namespace }, found.annotations.get(key)?));
        let mut annotated = settings.namespace_annotations.0.iter().filter_map(annotated).peekable();
        if annotated.peek().is_none() {
            selectors.extend(default);
        }
        selectors.extend(annotated);
        selectors
    }

    /// Reads the node selector `text` of `source`, with its references filled in.
    ///
    /// # Errors
    /// The Namespace lacks a label, or its value does not fit there; the annotation is malformed; the settings have a
    /// mistake.
    pub fn selector(&self, source: Source<'s>, text: &str) -> Result<Selector, Rejection> {
        if let Source::Annotation { .. } = source {
            return read_annotation("a node selector", source, text, LONGEST_ANNOTATION, bounded_selector);
        }
        let filled = self.fill_in(source, text)?;
        match selector::parse(&filled) {
            Ok(selector) => Ok(selector),
            Err(error) if reference::is_in(text) => Err(self.misfit(source, (text, &filled), &error)),
            Err(error) => Err(SettingsError::new(&source, error).into()),
        }
    }

    /// Returns a toleration of a list at `source`, with the references in its value filled in.
    ///
    /// # Errors
    /// The Namespace lacks a label, or its value does not fit there.
    pub fn toleration(&self, source: Source<'s>, toleration: &Toleration) -> Result<Toleration, Rejection> {
        let value = self.fill_in(source, &toleration.value)?;
        if let Err(expected) = syntax::label_value(&value) {
            return Err(self.misfit(source, (&toleration.value, &value), &format!("expected {expected}")));
        }
        Ok(Toleration { value: value.into_owned(), ..toleration.clone() })
    }

    fn fill_in<'t>(&self, source: Source<'s>, text: &'t str) -> Result<Cow<'t, str>, Rejection> {
        reference::fill_in(text, |key| {
            let problem = match self.found.labels.get(key) {
                _ if key == reference::NAME && self.has_name => return Ok(Cow::Borrowed(self.namespace)),
                None => "which is missing".to_owned(),
                Some("") => "which is empty".to_owned(),
                // An invalid value could add requirements to the selector.
                Some(value) => match syntax::label_value(value) {
                    Ok(()) => return Ok(Cow::Borrowed(value)),
                    Err(expected) => format!("whose value is not valid, expected {expected}"),
                },
            };
            let explanation = format!(
                "{source} refers to label {} of namespace {}, {problem}; label the namespace",
                shorten(key),
                quote(self.namespace)
            );
            Err(unresolved(source, key, None, explanation))
        })
    }

    fn misfit(&self, source: Source<'_>, (text, filled): (&str, &str), problem: &str) -> Rejection {
        let mut labels: Vec<String> = Vec::new();
        for key in reference::keys(text).map(shorten) {
            if !labels.contains(&key) {
                labels.push(key);
            }
        }
        let labels = labels.join(", ");
        let explanation = format!(
            "{source} refers to label {labels} of namespace {}, and becomes {}: {problem}; change the label",
            quote(self.namespace),
            quote(filled)
        );
        unresolved(source, &labels, Some(filled.to_owned()), explanation)
    }
}

/// Returns the rejection of a setting that refers to `label` of the Namespace, and can't be filled in with it.
fn unresolved(source: Source<'_>, label: &str, required: Option<String>, explanation: String) -> Rejection {
    let cause = Cause {
        kind: CauseKind::MissingLabel,
        setting: source.setting(),
        label: Some(label.to_owned()),
        required,
        ..Cause::default()
    };
    Rejection::forbidden(cause, explanation)
}

/// Parses the selector of an annotation, within limits. Requirements that say the same count once.
fn bounded_selector(text: &str) -> Result<Selector, String> {
    let mut selector = selector::parse(text)?;
    if selector.requirements().len() > MOST_REQUIREMENTS || selector.count_values() > MOST_VALUES {
        selector = selector.without_repeats();
    }
    let (requirements, values) = (selector.requirements().len(), selector.count_values());
    if requirements > MOST_REQUIREMENTS {
        return Err(format!("it has {requirements} different requirements, expected at most {MOST_REQUIREMENTS}"));
    }
    if values > MOST_VALUES {
        return Err(format!("it has {values} values, expected at most {MOST_VALUES}"));
    }
    Ok(selector)
}

/// Returns the value of an annotation of a Namespace: `what` it must be, as `parse` reads its `text`.
///
/// # Errors
/// It is malformed, or longer than `longest` bytes.
pub fn read_annotation<'t, T, E: Display>(
    what: &str,
    source: Source<'_>,
    text: &'t str,
    longest: usize,
    parse: impl FnOnce(&'t str) -> Result<T, E>,
) -> Result<T, Rejection> {
    let problem = if text.len() > longest {
        format!("it has {} bytes, expected at most {longest}", text.len())
    } else {
        match parse(text) {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        }
    };
    let explanation = format!("{source} is not {what}: {problem}; correct the annotation {}", quote(text));
    let cause = Cause {
        kind: CauseKind::Annotation,
        annotation: source.annotation(),
        requested: Some(shorten(text)),
        ..Cause::default()
    };
    Err(Rejection::forbidden(cause, explanation))
}
