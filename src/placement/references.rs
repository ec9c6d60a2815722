//! What an entry and the annotations of a Namespace say, read. The labels of the Namespace are filled into what its entry
//! says, where that refers to them.

use std::borrow::Cow;
use std::fmt::Display;

use super::entry::MatchedEntry;
use crate::decision::{CauseKind, Rejection};
use crate::json::Pairs;
use crate::limits::LONGEST_ANNOTATION;
use crate::message::{quote, shorten};
use crate::selector::{self, Requirement, Selector, syntax};
use crate::settings::{NamespaceEntry, SettingsError, Source, reference};
use crate::toleration::Toleration;

/// A node selector, and where it is demanded.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedSelector<'s> {
    /// What is demanded.
    pub selector: Selector,
    /// Where.
    pub source: Source<'s>,
}

impl SourcedSelector<'_> {
    /// Its requirements, each with where it is demanded.
    pub fn requirements(&self) -> impl Iterator<Item = SourcedRequirement<'_>> {
        let Self { selector, source } = self;
        selector.requirements().iter().map(|requirement| SourcedRequirement { requirement, source: *source })
    }
}

/// One requirement that nodes must meet, and where it is demanded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourcedRequirement<'r> {
    /// What is demanded.
    pub requirement: &'r Requirement,
    /// Where.
    pub source: Source<'r>,
}

/// Tolerations, and where they are listed.
#[derive(Clone, Debug)]
pub struct TolerationList<'s> {
    /// In order.
    pub tolerations: Cow<'s, [Toleration]>,
    /// Where they are listed.
    pub source: Source<'s>,
    /// Why nobody knows all that is listed, if so: then the list allows nothing, or forbids everything.
    pub unresolved: Option<Rejection>,
}

impl<'s> MatchedEntry<'s> {
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

    /// Where the node selectors of the namespace stand, in order: what its entry requires; and with it its annotations
    /// or, if there are none, the default of the entry or of the cluster.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn node_selector_sources(&self) -> Vec<Source<'s>> {
        let Self { settings, namespace, entry, ref found, .. } = *self;
        let field_of_entry = |field, text: fn(&NamespaceEntry) -> &Option<String>| {
            entry.filter(|at| text(at.entry).is_some()).map(|at| Source::Entry(at, field))
        };
        let mut sources = Vec::new();
        sources.extend(field_of_entry("requiredNodeSelector", |entry| &entry.required_node_selector));
        let keys = settings.namespace_annotations.0.iter().filter(|key| found.annotations.contains_key(key.as_str()));
        let annotated: Vec<Source<'s>> = keys.map(|key| Source::Annotation { key, namespace }).collect();
        if annotated.is_empty() {
            let cluster_default = settings.cluster_default_node_selector.as_ref();
            let default = field_of_entry("defaultNodeSelector", |entry| &entry.default_node_selector);
            sources.extend(default.or(cluster_default.map(|_| Source::Placement("clusterDefaultNodeSelector"))));
        }
        sources.extend(annotated);
        sources
    }

    /// The node selector at `source`, if there is one; with its references filled in.
    ///
    /// # Errors
    /// The Namespace lacks a label, or its value does not fit there; the annotation is malformed; the settings have a
    /// mistake.
    pub fn selector_at(&self, source: Source<'s>) -> Result<Option<SourcedSelector<'s>>, Rejection> {
        if let Source::Annotation { key, namespace } = source {
            let what = ("a node selector", key);
            let read = read_annotation(what, namespace, &self.found.annotations, LONGEST_ANNOTATION, selector::parse)?;
            return Ok(read.map(|(selector, source)| SourcedSelector { selector, source }));
        }
        self.selector(self.text_at(source), source)
    }

    /// The text of the node selector at `source`, if there is one.
    pub fn text_at(&self, source: Source<'s>) -> Option<&str> {
        match source {
            Source::Annotation { key, .. } => self.found.annotations.get(key),
            Source::Entry(at, "requiredNodeSelector") => at.entry.required_node_selector.as_deref(),
            Source::Entry(at, "defaultNodeSelector") => at.entry.default_node_selector.as_deref(),
            Source::Entry(at, _) => at.entry.allowed_node_selector.as_deref(),
            Source::Placement(_) | Source::PluginConfig(_) => self.settings.cluster_default_node_selector.as_deref(),
        }
    }

    fn resolve(&self, text: &str, source: Source<'s>) -> Result<SourcedSelector<'s>, Rejection> {
        let filled = self.fill_in(text, source)?;
        match selector::parse(&filled) {
            Ok(selector) => Ok(SourcedSelector { selector, source }),
            Err(error) if reference::is_in(text) => Err(self.misfit(source, (text, &filled), &error.to_string())),
            Err(error) => Err(SettingsError::new(&source, error.to_string()).into()),
        }
    }

    /// Why settings of the entry can't be resolved, each that can't.
    ///
    /// # Errors
    /// The settings have a mistake.
    pub fn unresolved(&self) -> Result<Vec<Rejection>, Rejection> {
        let Some(at) = self.entry else { return Ok(Vec::new()) };
        // A name that is still to be given is no label that is lacking.
        let is_known = |text: &str| self.has_name || !reference::keys(text).any(|key| key == reference::NAME);
        let preferred = at.entry.preferred_node_selector.iter();
        let preferred = preferred.map(|preferred| ("preferredNodeSelector", &preferred.selector));
        let mut unresolved = Vec::new();
        for (field, text) in at.entry.node_selectors().chain(preferred).filter(|(_, text)| is_known(text)) {
            match self.resolve(text, Source::Entry(at, field)) {
                Err(rejection) if rejection.is_unresolved() => unresolved.push(rejection),
                resolved => resolved.map(drop)?,
            }
        }
        for (field, list) in at.entry.toleration_lists() {
            if list.iter().all(|toleration| is_known(&toleration.value)) {
                unresolved.extend(self.fill_in_list(list, Source::Entry(at, field)).err());
            }
        }
        Ok(unresolved)
    }

    /// `list` of the settings with its references filled in; empty, if one can't be.
    pub fn tolerations(&self, list: &'s Option<Vec<Toleration>>, source: Source<'s>) -> Option<TolerationList<'s>> {
        match self.fill_in_list(list.as_ref()?, source) {
            Ok(tolerations) => Some(TolerationList { tolerations, source, unresolved: None }),
            Err(_) if self.ignores_unresolved => None,
            Err(unresolved) => {
                Some(TolerationList { tolerations: Cow::default(), source, unresolved: Some(unresolved) })
            }
        }
    }

    /// Forbidden tolerations, `list` of the settings, with its references filled in. Keys and effects can't hold any: one
    /// that can't be filled in forbids every value of its key.
    pub fn forbidden_tolerations(
        &self,
        list: &'s Option<Vec<Toleration>>,
        source: Source<'s>,
    ) -> Option<TolerationList<'s>> {
        let mut forbidden = self.tolerations(list, source)?;
        if forbidden.unresolved.is_some() {
            for toleration in list.iter().flatten() {
                let filled = self.fill_in_toleration(toleration, source);
                forbidden
                    .tolerations
                    .to_mut()
                    .push(filled.unwrap_or_else(|_| Toleration::exists(&toleration.key, toleration.effect.clone())));
            }
        }
        Some(forbidden)
    }

    fn fill_in_list(&self, list: &'s [Toleration], source: Source<'s>) -> Result<Cow<'s, [Toleration]>, Rejection> {
        if !list.iter().any(|toleration| reference::is_in(&toleration.value)) {
            return Ok(Cow::Borrowed(list));
        }
        let mut filled = Vec::with_capacity(list.len());
        for toleration in list {
            filled.push(self.fill_in_toleration(toleration, source)?);
        }
        Ok(Cow::Owned(filled))
    }

    fn fill_in_toleration(&self, toleration: &Toleration, source: Source<'s>) -> Result<Toleration, Rejection> {
        let value = self.fill_in(&toleration.value, source)?;
        if let Err(expected) = syntax::label_value(&value) {
            return Err(self.misfit(source, (&toleration.value, &value), &format!("expected {expected}")));
        }
        Ok(Toleration { value: value.into_owned(), ..toleration.clone() })
    }

    fn fill_in<'t>(&self, text: &'t str, source: Source<'s>) -> Result<Cow<'t, str>, Rejection> {
        reference::fill_in(text, |key| {
            let problem = match self.found.labels.get(key) {
                _ if key == reference::NAME && self.has_name => return Ok(Cow::Borrowed(self.namespace)),
                None => "which is missing".to_owned(),
                Some("") => "which is empty".to_owned(),
                // Whoever answered: an invalid value could say more than it should.
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
            Err(self.unresolved_at(source, explanation).about_label(key))
        })
    }

    fn misfit(&self, source: Source<'_>, (text, filled): (&str, &str), problem: &str) -> Rejection {
        let mut labels: Vec<String> = Vec::new();
        for key in reference::keys(text).map(shorten) {
            if !labels.contains(&key) {
                labels.push(key);
            }
        }
        let explanation = format!(
            "{source} refers to label {} of namespace {}, and becomes {}: {problem}; change the label",
            labels.join(", "),
            quote(self.namespace),
            quote(filled)
        );
        self.unresolved_at(source, explanation).about_label(&labels.join(", ")).demanding(&filled)
    }

    fn unresolved_at(&self, source: Source<'_>, explanation: String) -> Rejection {
        Rejection::unresolved(explanation).demanded_at(source).in_namespace(self.namespace)
    }
}

/// `what` the annotation `key` holds, as `parse` reads it, and where it stands; nothing, if it is not there.
///
/// # Errors
/// It is malformed, or longer than `longest` bytes.
pub fn read_annotation<'s, T, E: Display>(
    (what, key): (&str, &'s str),
    namespace: &'s str,
    annotations: &Pairs<'_>,
    longest: usize,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<(T, Source<'s>)>, Rejection> {
    let Some(text) = annotations.get(key) else { return Ok(None) };
    let source = Source::Annotation { key, namespace };
    let problem = if text.len() > longest {
        format!("it has {} bytes, expected at most {longest}", text.len())
    } else {
        match parse(text) {
            Ok(value) => return Ok(Some((value, source))),
            Err(error) => error.to_string(),
        }
    };
    let explanation = format!("{source} is not {what}: {problem}; correct the annotation {}", quote(text));
    Err(Rejection::forbidden(CauseKind::Annotation, explanation).demanded_at(source).asking_for(&shorten(text)))
}
