//! What a namespace demands of the nodes that its Pods run on: what its entry requires and, as default, what its
//! annotations, its entry or the whole cluster say.

use super::entry::MatchedEntry;
use super::node_affinity::{NodeSelection, Term};
use crate::cluster::Node;
use crate::decision::{CauseKind, Rejection};
use crate::message::{joined, quote, shorten};
use crate::request::User;
use crate::selector::{Requirement, Selector, Whitelist};
use crate::settings::{OnDefaultConflict, OnNodeAffinity, Placement, Source};

/// Everything that is demanded of the nodes of a namespace: by the settings, and by the Namespace's annotations.
#[derive(Debug)]
pub struct NodeRules<'s> {
    /// The settings that hold for all namespaces.
    pub settings: &'s Placement,
    /// The name of the namespace.
    pub namespace: &'s str,
    /// What Pods may ask for; nothing, if that is everything.
    pub whitelist: Option<SourcedWhitelist<'s>>,
    /// Whether Pods are held to the node that they name, even if any will do: there is a whitelist, for exempt users
    /// too, or their tolerations are validated.
    pub is_limited: bool,
    /// All that nodes must meet, in the order in which it is demanded.
    pub requirements: Vec<SourcedRequirement<'s>>,
}

/// A whitelist, and where it stands.
#[derive(Clone, Debug)]
pub struct SourcedWhitelist<'s> {
    /// What Pods may ask for.
    pub whitelist: Whitelist,
    /// Where that is said.
    pub source: Source<'s>,
    /// For which namespace.
    pub namespace: &'s str,
    /// Why nobody knows what may be asked for, if so: then the whitelist is empty.
    pub unresolved: Option<Rejection>,
}

impl<'s> SourcedWhitelist<'s> {
    /// The whitelist of the entry that holds; nothing, if Pods may ask for everything.
    ///
    /// # Errors
    /// The settings have a mistake.
    pub fn new(matched: &MatchedEntry<'s>) -> Result<Option<Self>, Rejection> {
        let Some(at) = matched.entry else { return Ok(None) };
        let Some(text) = &at.entry.allowed_node_selector else { return Ok(None) };
        let source = Source::Entry(at, "allowedNodeSelector");
        let (selector, unresolved) = match matched.selector(source, text) {
            Err(rejection) if matched.ignores(&rejection) => return Ok(None),
            Err(rejection) if rejection.is_unresolved() => (Selector::default(), Some(rejection)),
            selector => (selector?, None),
        };
        // What this entry itself demands is always allowed, even where its default does not hold; then it does not
        // matter that it can't be resolved.
        let mut demanded = Vec::new();
        for (field, text) in at.entry.demanded_node_selectors() {
            match matched.selector(Source::Entry(at, field), text) {
                Err(rejection) if rejection.is_unresolved() => {}
                selector => demanded.extend_from_slice(selector?.requirements()),
            }
        }
        let whitelist = Whitelist::new(selector, demanded);
        Ok(Some(Self { whitelist, source, namespace: matched.namespace, unresolved }))
    }
}

/// One requirement that nodes must meet, and where it is demanded.
#[derive(Clone, Debug)]
pub struct SourcedRequirement<'s> {
    /// What is demanded.
    pub requirement: Requirement,
    /// Where.
    pub source: Source<'s>,
}

impl<'s> NodeRules<'s> {
    /// What holds for Pods that `user` asks for. Exempt users are held to no whitelist.
    ///
    /// # Errors
    /// An annotation is malformed; demands contradict each other; a reference can't be resolved; the settings have a
    /// mistake.
    pub fn new(matched: &MatchedEntry<'s>, user: &User) -> Result<Self, Rejection> {
        let mut rules = Self::read(matched, true)?;
        rules.whitelist = SourcedWhitelist::new(matched)?;
        rules.is_limited = rules.whitelist.is_some();
        if matched.exempts(user) {
            rules.whitelist = None;
        }
        Ok(rules)
    }

    /// What holds for Bindings. They don't show what their Pods chose, so that a default which yields can't be held to.
    ///
    /// # Errors
    /// An annotation is malformed; demands contradict each other; a reference can't be resolved; the settings have a
    /// mistake.
    pub fn for_bindings(matched: &MatchedEntry<'s>) -> Result<Self, Rejection> {
        Self::read(matched, matched.settings.on_default_conflict != OnDefaultConflict::Yield)
    }

    fn read(matched: &MatchedEntry<'s>, with_default: bool) -> Result<Self, Rejection> {
        let mut requirements = Vec::new();
        for (source, text) in matched.node_selectors() {
            if source.is_default() && !with_default {
                continue;
            }
            match matched.selector(source, text) {
                Err(rejection) if matched.ignores(&rejection) => {}
                selector => {
                    let own = selector?.requirements().to_vec().into_iter();
                    requirements.extend(own.map(|requirement| SourcedRequirement { requirement, source }));
                }
            }
        }
        let MatchedEntry { settings, namespace, .. } = *matched;
        let rules = Self { settings, namespace, whitelist: None, is_limited: false, requirements };
        // Where nothing meets all that is demanded of a label, no Pod could run, whatever it asks for.
        if let Some([first, ..]) = rules.as_one_selector().contradiction() {
            return Err(rules.contradiction(first.key()));
        }
        Ok(rules)
    }

    /// Whether these rules depend on the terms of a Pod's node affinity.
    pub fn reads_terms(&self) -> bool {
        let is_checked = self.whitelist.is_some() && self.settings.on_node_affinity == OnNodeAffinity::Check;
        is_checked || !self.selects_every_node()
    }

    /// Leaves out, where defaults yield, what they demand of labels that a Pod with this `selection` chooses: by its
    /// nodeSelector, or by every term of its node affinity that can match a node, if terms choose.
    pub fn yield_to(&mut self, selection: &NodeSelection<'_>, terms_choose: bool) {
        let has_default = self.requirements.iter().any(|own| own.source.is_default());
        if !has_default || self.settings.on_default_conflict != OnDefaultConflict::Yield {
            return;
        }
        let NodeSelection { node_selector, terms } = selection;
        let terms: Vec<&Term> = match terms {
            // With `onNodeAffinity: Ignore` no whitelist checks expressions, so they don't replace the default.
            Some(terms) if terms_choose && self.settings.on_node_affinity == OnNodeAffinity::Check => {
                terms.iter().filter(|term| term.can_match(node_selector)).collect()
            }
            _ => Vec::new(),
        };
        let is_chosen = |key: &str| {
            node_selector.contains_key(key) || !terms.is_empty() && terms.iter().all(|term| term.chooses(key))
        };
        self.requirements.retain(|own| !own.source.is_default() || !is_chosen(own.requirement.key()));
    }

    /// Whether any node will do.
    pub const fn selects_every_node(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Everything that nodes must meet, as one selector.
    pub fn as_one_selector(&self) -> Selector {
        Selector::new(self.requirements.iter().map(|own| own.requirement.clone()).collect())
    }

    /// Rejects a Pod for a `node` that it may not use; `what` is how the message begins, and `remedy` how it ends.
    ///
    /// # Errors
    /// The first requirement that the node does not meet.
    pub fn validate_node(&self, node: &Node<'_>, what: &str, remedy: &str) -> Result<(), Rejection> {
        for SourcedRequirement { requirement, source } in &self.requirements {
            let key = requirement.key();
            if requirement.accepts(node.labels.get(key)) {
                continue;
            }
            let demanded = shorten(&requirement.to_string());
            let explanation = format!("{what} {source} demands {demanded}, which the node does not meet; {remedy}");
            let rejection = Rejection::forbidden(CauseKind::NodeName, explanation).demanded_at(*source);
            let rejection = rejection.about_label(key).demanding(requirement);
            return Err(rejection.asking_for(&node.name.as_str()).with_detail(node.label_as_text(key)));
        }
        Ok(())
    }

    /// What is demanded of the label `key` and where, in words.
    pub fn demands_on(&self, key: &str) -> String {
        let own: Vec<_> = self.requirements.iter().filter(|own| own.requirement.key() == key).collect();
        let by_source = own.chunk_by(|before, after| before.source.path() == after.source.path());
        let words = by_source.filter_map(|own| {
            let demanded = joined(own.iter().map(|own| &own.requirement), ",");
            Some(format!("{} demands {}", own.first()?.source, shorten(&demanded)))
        });
        joined(words, ", and ")
    }

    fn contradiction(&self, key: &str) -> Rejection {
        let (demands, namespace) = (self.demands_on(key), quote(self.namespace));
        let explanation = format!("{demands}; no value of label {} satisfies them, change one of them", quote(key));
        let mut own = self.requirements.iter().filter(|own| own.requirement.key() == key);
        let annotated = own.find(|own| matches!(own.source, Source::Annotation { .. }));
        let rejection = if let Some(SourcedRequirement { requirement, source }) = annotated {
            let sentence = format!("{} annotations' node label selectors conflict", shorten(self.namespace));
            let rejection = Rejection::with_sentence(CauseKind::Annotation, sentence, explanation);
            rejection.demanded_at(*source).demanding(requirement)
        } else {
            // The settings were validated: only what references are filled in with can contradict something.
            let contradicting = format!("the node selectors of namespace {namespace} contradict each other: ");
            Rejection::forbidden(CauseKind::MissingLabel, contradicting + &explanation)
        };
        rejection.about_label(key)
    }
}
