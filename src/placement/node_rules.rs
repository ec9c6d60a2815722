//! The rules of a namespace about nodes: the labels that are required, by its entry and by annotations or a default, and
//! the labels that Pods may request.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::entry::MatchedEntry;
use super::mode::Mode;
use super::node_affinity::{HOSTNAME, NodeSelection, Term};
use super::resolve::Unresolved;
use crate::cluster::Node;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::message::{joined, quote, shorten};
use crate::selector::{self, Requirement, Selector, Whitelist};
use crate::settings::key::ForbiddenLabels;
use crate::settings::{EntryAt, OnDefaultConflict, OnNodeAffinity, Placement, Setting, Source};

/// The rules of a namespace about nodes.
#[derive(Debug)]
pub struct NodeRules<'s> {
    /// The settings for all namespaces.
    pub settings: &'s Placement,
    /// The whitelist, or `None` if Pods may request everything.
    pub whitelist: Option<SourcedWhitelist<'s>>,
    /// The labels that Pods must not select nodes by, if there are some.
    pub forbidden: Option<SourcedForbiddenLabels<'s>>,
    /// The required labels of nodes.
    pub required: RequiredNodes<'s>,
}

/// Forbidden labels, and their setting.
#[derive(Clone, Debug)]
pub struct SourcedForbiddenLabels<'s> {
    /// The labels.
    pub labels: ForbiddenLabels<'s>,
    /// The requirements of the entry, which are never refused.
    pub required: Whitelist,
    /// The setting that lists the labels.
    pub source: Source<'s>,
    /// The name of the namespace.
    pub namespace: &'s str,
}

impl<'s> SourcedForbiddenLabels<'s> {
    fn new(matched: &MatchedEntry<'s>) -> Result<Option<Self>, Rejection> {
        let Some(entry) = matched.entry.filter(|entry| !entry.forbidden_node_labels.is_empty()) else {
            return Ok(None);
        };
        let labels = ForbiddenLabels::new(&entry.entry.forbidden_node_labels);
        let required = Whitelist::new(Selector::default(), required_by_entry(matched, entry)?);
        let source = Source::Entry(entry, Setting::ForbiddenNodeLabels);
        Ok(Some(Self { labels, required, source, namespace: matched.namespace }))
    }
}

/// Returns the requirements of the entry, with those of a default that may not apply. Omits those that can't be resolved:
/// if they apply, every Pod is rejected.
fn required_by_entry(matched: &MatchedEntry<'_>, entry: EntryAt<'_>) -> Result<Vec<Requirement>, Rejection> {
    let mut required = Vec::new();
    for (setting, text) in entry.required_node_selectors() {
        if let Ok(selector) = matched.selector(Source::Entry(entry, setting), text)? {
            required.extend(selector.into_requirements());
        }
    }
    Ok(required)
}

/// The required labels of nodes, in the order of their settings.
#[derive(Clone, Debug)]
pub struct RequiredNodes<'s> {
    /// The name of the namespace.
    pub namespace: &'s str,
    /// All requirements.
    pub requirements: Vec<SourcedRequirement<'s>>,
}

/// A whitelist, and its setting.
#[derive(Clone, Debug)]
pub struct SourcedWhitelist<'s> {
    /// The whitelist.
    pub whitelist: Whitelist,
    /// The setting.
    pub source: Source<'s>,
    /// The name of the namespace.
    pub namespace: &'s str,
    /// Set if a reference could not be resolved. The whitelist then allows nothing.
    pub unresolved: Option<Unresolved>,
}

impl<'s> SourcedWhitelist<'s> {
    /// Returns the whitelist of the entry that applies, or `None` if Pods may request everything.
    ///
    /// # Errors
    /// The settings have a mistake.
    fn new(matched: &MatchedEntry<'s>, mode: Mode) -> Result<Option<Self>, Rejection> {
        let Some(entry) = matched.entry else { return Ok(None) };
        let Some(text) = &entry.allowed_node_selector else { return Ok(None) };
        let source = Source::Entry(entry, Setting::AllowedNodeSelector);
        let (selector, unresolved) = match matched.selector(source, text)? {
            Ok(selector) => (selector, None),
            Err(_) if mode.omits_unresolved() => return Ok(None),
            Err(unresolved) => (Selector::default(), Some(unresolved)),
        };
        let whitelist = Whitelist::new(selector, required_by_entry(matched, entry)?);
        Ok(Some(Self { whitelist, source, namespace: matched.namespace, unresolved }))
    }
}

/// A requirement on nodes, and the setting or annotation that has it.
#[derive(Clone, Debug)]
pub struct SourcedRequirement<'s> {
    /// The requirement.
    pub requirement: Requirement,
    /// The setting or annotation.
    pub source: Source<'s>,
}

impl SourcedRequirement<'_> {
    /// Returns a cause of this kind: the requirement is not met.
    pub fn cause(&self, kind: CauseKind) -> Cause {
        Cause::new(kind).at(self.source).label(self.requirement.key()).required(&self.requirement)
    }
}

impl<'s> NodeRules<'s> {
    /// Returns the rules of the namespace that was `matched`.
    ///
    /// # Errors
    /// An annotation is malformed; requirements contradict each other; a reference can't be resolved; the settings have
    /// a mistake.
    pub(super) fn new(matched: &MatchedEntry<'s>, mode: Mode) -> Result<Self, Rejection> {
        let MatchedEntry { settings, namespace, .. } = *matched;
        if let Mode::Update { selects: false, .. } = mode {
            let required = RequiredNodes { namespace, requirements: Vec::new() };
            return Ok(Self { settings, whitelist: None, forbidden: None, required });
        }
        let required = RequiredNodes::read(matched, mode)?;
        if mode.is_binding() {
            // Whitelists do not apply to Bindings.
            return Ok(Self { settings, whitelist: None, forbidden: None, required });
        }
        let (whitelist, forbidden) = (SourcedWhitelist::new(matched, mode)?, SourcedForbiddenLabels::new(matched)?);
        Ok(Self { settings, whitelist, forbidden, required })
    }

    /// Returns the rules for exempt users, who may request everything.
    pub(super) fn without_limits(self) -> Self {
        Self { whitelist: None, forbidden: None, ..self }
    }

    /// Returns whether anything is required of nodes, or not everything may be requested.
    pub const fn validates_anything(&self) -> bool {
        !self.required.is_empty() || self.limits_anything()
    }

    /// Returns whether not everything may be requested.
    const fn limits_anything(&self) -> bool {
        self.whitelist.is_some() || self.forbidden.is_some()
    }

    /// Returns whether Pods must not select a node by its name.
    pub(super) fn forbids_hostname(&self) -> bool {
        self.forbidden.as_ref().is_some_and(|forbidden| forbidden.labels.names(HOSTNAME))
    }

    /// Returns whether these rules depend on the terms of a Pod's node affinity.
    pub fn reads_terms(&self) -> bool {
        let is_checked = self.limits_anything() && self.settings.on_node_affinity == OnNodeAffinity::Check;
        is_checked || !self.required.is_empty()
    }

    /// Returns the requirements on the nodes of a Pod with this `selection`. If defaults yield, omits their requirements on
    /// labels that the Pod chooses: by its nodeSelector or, if `terms_choose`, by every term of its node affinity that can
    /// match a node.
    pub fn applicable_to(&self, selection: &NodeSelection<'_>, terms_choose: bool) -> Cow<'_, RequiredNodes<'s>> {
        let RequiredNodes { namespace, requirements } = &self.required;
        let has_default = requirements.iter().any(|required| required.source.is_default());
        if !has_default || self.settings.on_default_conflict != OnDefaultConflict::Yield {
            return Cow::Borrowed(&self.required);
        }
        let NodeSelection { node_selector, terms } = selection;
        let terms: Vec<&Term> = match terms {
            // With `onNodeAffinity: Ignore` no whitelist checks expressions, so they don't replace the default.
            Some(terms) if terms_choose && self.settings.on_node_affinity == OnNodeAffinity::Check => {
                terms.iter().filter(|term| term.can_match(node_selector)).collect()
            }
            _ => Vec::new(),
        };
        let chosen = chosen_by_all(&terms);
        let mut applicable = Vec::new();
        for required in requirements {
            let key = required.requirement.key();
            if !required.source.is_default() || !node_selector.contains_key(key) && !chosen.contains(key) {
                applicable.push(required.clone());
            }
        }
        Cow::Owned(RequiredNodes { namespace, requirements: applicable })
    }
}

/// Returns the labels that all of `terms` have expressions about.
fn chosen_by_all<'t>(terms: &[&'t Term]) -> BTreeSet<&'t str> {
    let mut chosen: Option<BTreeSet<&str>> = None;
    for term in terms {
        let (mut keys, before) = (BTreeSet::new(), chosen.take());
        let was_chosen = |key: &&str| before.as_ref().is_none_or(|before| before.contains(key));
        keys.extend(term.expressions.iter().map(|expression| expression.key.as_str()).filter(was_chosen));
        chosen = Some(keys);
    }
    chosen.unwrap_or_default()
}

impl<'s> RequiredNodes<'s> {
    fn read(matched: &MatchedEntry<'s>, mode: Mode) -> Result<Self, Rejection> {
        let yields = matched.settings.on_default_conflict == OnDefaultConflict::Yield;
        let mut requirements = Vec::new();
        for (source, text) in matched.node_selectors() {
            let is_read = match mode {
                // A Binding does not show what its Pod chose, so a default that yields is not checked.
                Mode::Binding => !(source.is_annotation() || yields && source.is_default()),
                Mode::BindingByAnnotations => source.is_annotation(),
                _ => true,
            };
            if !is_read {
                continue;
            }
            match matched.selector(source, text)? {
                Ok(selector) => {
                    let read = selector.into_requirements().into_iter();
                    requirements.extend(read.map(|requirement| SourcedRequirement { requirement, source }));
                }
                Err(_) if mode.omits_unresolved() => {}
                Err(unresolved) => return Err(unresolved.into()),
            }
        }
        let required = Self { namespace: matched.namespace, requirements: without_repeats(requirements) };
        // A single pair can't contradict itself.
        if let [SourcedRequirement { requirement, .. }] = required.requirements.as_slice()
            && requirement.only_value().is_some()
        {
            return Ok(required);
        }
        // If no value of a label meets all requirements, no Pod could run.
        if let Some([first, ..]) = required.as_one_selector().contradiction() {
            return Err(required.contradiction(first.key()));
        }
        Ok(required)
    }

    /// Returns whether nothing is required.
    pub const fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns all requirements as one selector.
    pub fn as_one_selector(&self) -> Selector {
        Selector::new(self.requirements.iter().map(|required| required.requirement.clone()).collect())
    }

    /// Rejects a Pod for a `node` that it must not use. `what` begins the message, and `remedy` ends it.
    ///
    /// # Errors
    /// The first requirement that the node does not meet.
    pub fn validate_node(&self, node: &Node<'_>, what: &str, remedy: &str) -> Result<(), Rejection> {
        for unmet in &self.requirements {
            let SourcedRequirement { requirement, source } = unmet;
            let key = requirement.key();
            if requirement.accepts(node.labels.get(key)) {
                continue;
            }
            let required = shorten(&requirement.to_string());
            let explanation = format!("{what} {source} requires {required}, which the node does not meet; {remedy}");
            let cause = unmet.cause(CauseKind::NodeName).requested(&node.name.as_str());
            return Err(Rejection::forbidden(cause.detail(node.label_as_text(key)), explanation));
        }
        Ok(())
    }

    /// Returns the requirements on the label `key`.
    pub fn on(&self, key: &str) -> Vec<&SourcedRequirement<'s>> {
        self.requirements.iter().filter(|required| required.requirement.key() == key).collect()
    }

    /// Lists the requirements on the label `key`, each with its source.
    pub fn describe(&self, key: &str) -> String {
        let on_key = self.on(key);
        let by_source = on_key.chunk_by(|before, after| before.source == after.source);
        let described = by_source.filter_map(|group| {
            let required = joined(group.iter().map(|required| &required.requirement), ",");
            Some(format!("{} requires {}", group.first()?.source, shorten(&required)))
        });
        joined(described, ", and ")
    }

    fn contradiction(&self, key: &str) -> Rejection {
        let required = self.describe(key);
        let explanation = format!("{required}; no value of label {} satisfies them, change one of them", quote(key));
        let on_key = self.on(key);
        let mut cause = Cause::new(CauseKind::Contradiction).label(key);
        if let Some(of_settings) = on_key.iter().find(|required| !required.source.is_annotation()) {
            cause = cause.at(of_settings.source);
        }
        if let Some(annotated) = on_key.iter().find(|required| required.source.is_annotation()) {
            let sentence = format!("{} annotations' node label selectors conflict", shorten(self.namespace));
            let cause = cause.at(annotated.source).required(&annotated.requirement);
            return Rejection::with_sentence(sentence, cause, explanation);
        }
        // The settings were validated. Only a value that replaces a reference can contradict something.
        let namespace = quote(self.namespace);
        let contradicting = format!("the node selectors of namespace {namespace} contradict each other: ");
        Rejection::forbidden(cause, contradicting + &explanation)
    }
}

fn without_repeats(mut requirements: Vec<SourcedRequirement<'_>>) -> Vec<SourcedRequirement<'_>> {
    if requirements.len() > 1 {
        let all: Vec<&Requirement> = requirements.iter().map(|required| &required.requirement).collect();
        let mut is_new = selector::are_new(&all).into_iter();
        requirements.retain(|_| is_new.next() == Some(true));
    }
    requirements
}
