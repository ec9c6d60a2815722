//! Reads the selectors and tolerations of the entry that applies, with references to labels of the Namespace filled in;
//! and the annotations of the Namespace.

use std::borrow::Cow;
use std::fmt::Display;

use super::entry::MatchedEntry;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::limits::{LONGEST_ANNOTATION, MOST_REQUIREMENTS, MOST_VALUES};
use crate::message::{quote, shorten};
use crate::selector::{self, Selector, syntax};
use crate::settings::{Setting, SettingsError, Source, reference};
use crate::toleration::Toleration;

/// The reason that a setting can't be resolved: it refers to a label that the Namespace lacks, or whose value does not fit
/// there. A request that needs the setting is rejected.
#[derive(Clone, Debug)]
pub struct Unresolved(Rejection);

impl Unresolved {
    fn new(source: Source<'_>, label: &str, explanation: String) -> Self {
        Self(Rejection::forbidden(Cause::new(CauseKind::MissingLabel).at(source).label(label), explanation))
    }

    /// Returns the rejection of a request that needs the setting.
    pub const fn rejection(&self) -> &Rejection {
        &self.0
    }
}

impl From<Unresolved> for Rejection {
    fn from(unresolved: Unresolved) -> Self {
        unresolved.0
    }
}

impl<'s> MatchedEntry<'s> {
    /// Returns the texts of the node selectors: the required one, then the annotations or else the default of the entry or
    /// of the cluster.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn node_selectors(&self) -> Vec<(Source<'s>, &str)> {
        let Self { settings, namespace, entry, ref metadata, .. } = *self;
        let mut selectors = Vec::new();
        let cluster_default = settings.cluster_default_node_selector.as_deref();
        let mut default = cluster_default.map(|text| (Source::Placement(Setting::ClusterDefaultNodeSelector), text));
        if let Some(entry) = entry {
            let required = entry.entry.required_node_selector.as_deref();
            selectors.extend(required.map(|text| (Source::Entry(entry, Setting::RequiredNodeSelector), text)));
            let of_entry = entry.entry.default_node_selector.as_deref();
            default = of_entry.map(|text| (Source::Entry(entry, Setting::DefaultNodeSelector), text)).or(default);
        }
        let before = selectors.len();
        for key in &settings.namespace_annotations.0 {
            let text = metadata.annotations.get(key);
            selectors.extend(text.map(|text| (Source::Annotation { key, namespace }, text)));
        }
        if selectors.len() == before {
            selectors.extend(default);
        }
        selectors
    }

    /// Reads the node selector `text` of `source`, with its references filled in.
    ///
    /// # Errors
    /// The annotation is malformed, or the settings have a mistake.
    pub fn selector(&self, source: Source<'s>, text: &str) -> Result<Result<Selector, Unresolved>, Rejection> {
        if source.is_annotation() {
            return read_annotation("a node selector", source, text, LONGEST_ANNOTATION, bounded_selector).map(Ok);
        }
        let filled = match self.fill_in(source, text) {
            Ok(filled) => filled,
            Err(unresolved) => return Ok(Err(unresolved)),
        };
        match selector::parse(&filled) {
            Ok(selector) => Ok(Ok(selector)),
            Err(error) if reference::is_in(text) => Ok(Err(self.misfit(source, (text, &filled), &error))),
            Err(error) => Err(SettingsError::new(&source, error).into()),
        }
    }

    /// Returns a toleration of a list at `source`, with the references in its value filled in.
    ///
    /// # Errors
    /// The Namespace lacks a label, or its value does not fit there.
    pub fn toleration(&self, source: Source<'s>, toleration: &Toleration) -> Result<Toleration, Unresolved> {
        let value = self.fill_in(source, &toleration.value)?;
        if let Err(expected) = syntax::label_value(&value) {
            return Err(self.misfit(source, (&toleration.value, &value), &format!("expected {expected}")));
        }
        Ok(Toleration { value: value.into_owned(), ..toleration.clone() })
    }

    fn fill_in<'t>(&self, source: Source<'s>, text: &'t str) -> Result<Cow<'t, str>, Unresolved> {
        reference::fill_in(text, |key| {
            let problem = match self.metadata.labels.get(key) {
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
            Err(Unresolved::new(source, key, explanation))
        })
    }

    /// Returns the problem that `text` is not valid when it is `filled` in.
    fn misfit(&self, source: Source<'_>, (text, filled): (&str, &str), problem: &str) -> Unresolved {
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
        let cause = Cause::new(CauseKind::MissingLabel).at(source).label(&labels).required(&filled);
        Unresolved(Rejection::forbidden(cause, explanation))
    }
}

/// Parses the selector of an annotation, within limits. Repeated requirements count once.
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
    let cause = Cause::new(CauseKind::Annotation).at(source).requested(&shorten(text));
    Err(Rejection::forbidden(cause, explanation))
}
