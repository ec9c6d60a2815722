//! The rules of a namespace about nodes: the labels that are required, by its entry and by annotations or a default, and
//! the labels that Pods may request.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::entry::MatchedEntry;
use super::node_affinity::{NodeSelection, Term};
use super::requests::HOSTNAME;
use super::rules::Mode;
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
    /// The requirements of the entry itself, which are never refused.
    pub own: Whitelist,
    /// The setting that lists the labels.
    pub source: Source<'s>,
    /// The name of the namespace.
    pub namespace: &'s str,
}

impl<'s> SourcedForbiddenLabels<'s> {
    fn new(matched: &MatchedEntry<'s>) -> Result<Option<Self>, Rejection> {
        let Some(at) = matched.entry.filter(|at| !at.entry.forbidden_node_labels.is_empty()) else { return Ok(None) };
        let labels = ForbiddenLabels::new(&at.entry.forbidden_node_labels);
        let own = Whitelist::new(Selector::default(), required_by_entry(matched, at)?);
        let source = Source::Entry(at, Setting::ForbiddenNodeLabels);
        Ok(Some(Self { labels, own, source, namespace: matched.namespace }))
    }
}

/// Returns the requirements of the entry itself, with those of a default that may not apply. Omits those that can't be
/// resolved: if they apply, every Pod is rejected.
fn required_by_entry(matched: &MatchedEntry<'_>, at: EntryAt<'_>) -> Result<Vec<Requirement>, Rejection> {
    let mut required = Vec::new();
    for (setting, text) in at.entry.required_node_selectors() {
        match matched.selector(Source::Entry(at, setting), text) {
            Err(rejection) if rejection.is_unresolved() => {}
            selector => required.extend(selector?.into_requirements()),
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
    pub unresolved: Option<Rejection>,
}

impl<'s> SourcedWhitelist<'s> {
    /// Returns the whitelist of the entry that applies, or `None` if Pods may request everything.
    ///
    /// # Errors
    /// The settings have a mistake.
    fn new(matched: &MatchedEntry<'s>, mode: Mode) -> Result<Option<Self>, Rejection> {
        let Some(at) = matched.entry else { return Ok(None) };
        let Some(text) = &at.entry.allowed_node_selector else { return Ok(None) };
        let source = Source::Entry(at, Setting::AllowedNodeSelector);
        let (selector, unresolved) = match matched.selector(source, text) {
            Err(rejection) if mode.omits(&rejection) => return Ok(None),
            Err(rejection) if rejection.is_unresolved() => (Selector::default(), Some(rejection)),
            selector => (selector?, None),
        };
        let whitelist = Whitelist::new(selector, required_by_entry(matched, at)?);
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

impl<'s> NodeRules<'s> {
    /// Returns the rules of the namespace that was `matched`.
    ///
    /// # Errors
    /// An annotation is malformed; requirements contradict each other; a reference can't be resolved; the settings have
    /// a mistake.
    pub(super) fn new(matched: &MatchedEntry<'s>, mode: Mode) -> Result<Self, Rejection> {
        let MatchedEntry { settings, namespace, .. } = *matched;
        let required = RequiredNodes { namespace, requirements: Vec::new() };
        let mut nodes = Self { settings, whitelist: None, forbidden: None, required };
        if let Mode::Update { selects: false, .. } = mode {
            return Ok(nodes);
        }
        nodes.required = RequiredNodes::read(matched, mode)?;
        // Bindings are not held to whitelists.
        if !mode.is_binding() {
            nodes.whitelist = SourcedWhitelist::new(matched, mode)?;
            nodes.forbidden = SourcedForbiddenLabels::new(matched)?;
        }
        Ok(nodes)
    }

    /// Returns the rules for exempt users, who may request everything.
    pub(super) fn without_limits(self) -> Self {
        Self { whitelist: None, forbidden: None, ..self }
    }

    /// Returns whether anything is required of nodes, or not everything may be requested.
    pub const fn validates_anything(&self) -> bool {
        !self.required.is_empty() || self.whitelist.is_some() || self.forbidden.is_some()
    }

    /// Returns whether Pods must not select a node by its name.
    pub(super) fn forbids_hostname(&self) -> bool {
        self.forbidden.as_ref().is_some_and(|forbidden| forbidden.labels.names(HOSTNAME))
    }

    /// Returns whether these rules depend on the terms of a Pod's node affinity.
    pub fn reads_terms(&self) -> bool {
        let is_limited = self.whitelist.is_some() || self.forbidden.is_some();
        let is_checked = is_limited && self.settings.on_node_affinity == OnNodeAffinity::Check;
        is_checked || !self.required.is_empty()
    }

    /// Returns the requirements on the nodes of a Pod with this `selection`. If defaults yield, omits their requirements on
    /// labels that the Pod chooses: by its nodeSelector or, if `terms_choose`, by every term of its node affinity that can
    /// match a node.
    pub fn applicable_to(&self, selection: &NodeSelection<'_>, terms_choose: bool) -> Cow<'_, RequiredNodes<'s>> {
        let RequiredNodes { namespace, requirements } = &self.required;
        let has_default = requirements.iter().any(|own| own.source.is_default());
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
        let is_chosen = |key: &str| node_selector.contains_key(key) || chosen.contains(key);
        let holds = |own: &&SourcedRequirement<'_>| !own.source.is_default() || !is_chosen(own.requirement.key());
        let requirements = requirements.iter().filter(holds).cloned().collect();
        Cow::Owned(RequiredNodes { namespace, requirements })
    }
}

/// Returns the labels that all of `terms` have expressions about.
fn chosen_by_all<'t>(terms: &[&'t Term]) -> BTreeSet<&'t str> {
    let mut chosen: Option<BTreeSet<&str>> = None;
    for term in terms {
        let (mut keys, before) = (BTreeSet::new(), chosen.take());
        let was_chosen = |key: &&str| before.as_ref().is_none_or(|before| before.contains(key));
        keys.extend(term.expressions.iter().map(|own| own.key.as_str()).filter(was_chosen));
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
            match matched.selector(source, text) {
                Err(rejection) if mode.omits(&rejection) => {}
                selector => {
                    let own = selector?.into_requirements().into_iter();
                    requirements.extend(own.map(|requirement| SourcedRequirement { requirement, source }));
                }
            }
        }
        if requirements.len() > 1 {
            let all: Vec<&Requirement> =
                requirements.iter().map(|own: &SourcedRequirement<'_>| &own.requirement).collect();
            let mut is_new = selector::are_new(&all).into_iter();
            requirements.retain(|_| is_new.next() == Some(true));
        }
        let required = Self { namespace: matched.namespace, requirements };
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
        Selector::new(self.requirements.iter().map(|own| own.requirement.clone()).collect())
    }

    /// Rejects a Pod for a `node` that it must not use. `what` begins the message, and `remedy` ends it.
    ///
    /// # Errors
    /// The first requirement that the node does not meet.
    pub fn validate_node(&self, node: &Node<'_>, what: &str, remedy: &str) -> Result<(), Rejection> {
        for SourcedRequirement { requirement, source } in &self.requirements {
            let key = requirement.key();
            if requirement.accepts(node.labels.get(key)) {
                continue;
            }
            let required = shorten(&requirement.to_string());
            let explanation = format!("{what} {source} requires {required}, which the node does not meet; {remedy}");
            let cause = Cause {
                label: Some(key.to_owned()),
                required: Some(requirement.to_string()),
                requested: Some(node.name.as_str().to_owned()),
                detail: Some(node.label_as_text(key)),
                ..Cause::at(CauseKind::NodeName, *source)
            };
            return Err(Rejection::forbidden(cause, explanation));
        }
        Ok(())
    }

    /// Returns the requirements on the label `key` and their sources, in words.
    pub fn words_on(&self, key: &str) -> String {
        let own: Vec<_> = self.requirements.iter().filter(|own| own.requirement.key() == key).collect();
        let by_source = own.chunk_by(|before, after| before.source.to_string() == after.source.to_string());
        let words = by_source.filter_map(|own| {
            let required = joined(own.iter().map(|own| &own.requirement), ",");
            Some(format!("{} requires {}", own.first()?.source, shorten(&required)))
        });
        joined(words, ", and ")
    }

    fn contradiction(&self, key: &str) -> Rejection {
        let (required, namespace) = (self.words_on(key), quote(self.namespace));
        let explanation = format!("{required}; no value of label {} satisfies them, change one of them", quote(key));
        let on_key = || self.requirements.iter().filter(|own| own.requirement.key() == key);
        let setting = on_key().find_map(|own| own.source.setting());
        let annotated = on_key().find(|own| own.source.annotation().is_some());
        let cause = Cause {
            kind: CauseKind::Contradiction,
            setting,
            annotation: annotated.and_then(|own| own.source.annotation()),
            label: Some(key.to_owned()),
            required: annotated.map(|own| own.requirement.to_string()),
            ..Cause::default()
        };
        if annotated.is_some() {
            let sentence = format!("{} annotations' node label selectors conflict", shorten(self.namespace));
            return Rejection::with_sentence(sentence, cause, explanation);
        }
        // The settings were validated. Only a value that replaces a reference can contradict something.
        let contradicting = format!("the node selectors of namespace {namespace} contradict each other: ");
        Rejection::forbidden(cause, contradicting + &explanation)
    }
}
