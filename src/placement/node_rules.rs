//! What a namespace demands of the nodes that its Pods run on: what its entry requires and, as default, what its
//! annotations, its entry or the whole cluster say.

use super::entry::MatchedEntry;
use super::node_affinity::Term;
use super::node_selection::NodeSelection;
use super::references::{SourcedRequirement, SourcedSelector};
use crate::cluster::Node;
use crate::decision::{CauseKind, Rejection};
use crate::message::{quote, shorten};
use crate::selector::{PossibleValues, Requirement, Selector, Whitelist, text};
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
    /// Whether the namespace has a whitelist; for exempt users too. [`Rules`](super::rules::Rules) make it true where
    /// the namespace judges tolerations.
    pub is_limited: bool,
    node_selectors: Vec<SourcedSelector<'s>>,
    /// The default, where it yields to what Pods choose.
    yielding: Option<SourcedSelector<'s>>,
}

/// A whitelist, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedWhitelist<'s> {
    /// What Pods may ask for.
    pub whitelist: Whitelist,
    /// Where that is said.
    pub source: Source<'s>,
    /// Why nobody knows what may be asked for, if so: then the whitelist is empty.
    pub unresolved: Option<Rejection>,
}

impl<'s> NodeRules<'s> {
    /// What holds in a namespace: what the settings require; and with it the Namespace's annotations or, if there are
    /// none, what the settings have as default, `with_default`.
    ///
    /// # Errors
    /// An annotation is malformed; demands contradict each other; a reference can't be resolved; the settings have a
    /// mistake.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn of(matched: &MatchedEntry<'s>, with_default: bool) -> Result<Self, Rejection> {
        let MatchedEntry { settings, namespace, entry, .. } = *matched;
        let mut node_selectors = Vec::new();
        let mut default = None;
        for source in matched.node_selector_sources() {
            if !source.is_default() {
                node_selectors.extend(matched.selector_at(source)?);
            } else if with_default {
                default = matched.selector_at(source)?;
                node_selectors.extend(default.clone());
            }
        }
        let mut whitelist = None;
        if let Some(at) = entry {
            let parse = |text: &'s Option<String>, field| matched.selector(text.as_deref(), Source::Entry(at, field));
            // What this entry itself demands is always allowed, even where its default does not hold; then it does not
            // matter that it can't be resolved.
            let mut own: Vec<Requirement> = Vec::new();
            for field in ["requiredNodeSelector", "defaultNodeSelector"] {
                match matched.selector_at(Source::Entry(at, field)) {
                    Err(rejection) if rejection.is_unresolved() => {}
                    demanded => own.extend(demanded?.iter().flat_map(|own| own.selector.requirements()).cloned()),
                }
            }
            let (selector, unresolved) = match parse(&at.entry.allowed_node_selector, "allowedNodeSelector") {
                Err(rejection) if rejection.is_unresolved() => (Some(Selector::default()), Some(rejection)),
                allowed => (allowed?.map(|allowed| allowed.selector), None),
            };
            let source = Source::Entry(at, "allowedNodeSelector");
            whitelist = selector.map(|selector| {
                let whitelist = Whitelist::new(selector, own);
                SourcedWhitelist { whitelist, source, unresolved }
            });
        }
        let yielding = default.filter(|_| settings.on_default_conflict == OnDefaultConflict::Yield);
        let is_limited = whitelist.is_some();
        let rules = Self { settings, namespace, whitelist, is_limited, node_selectors, yielding };
        rules.reject_contradictions()?;
        Ok(rules)
    }

    /// Whether these rules depend on the terms of a Pod's node affinity.
    pub fn reads_terms(&self) -> bool {
        let is_checked = self.whitelist.is_some() && self.settings.on_node_affinity == OnNodeAffinity::Check;
        is_checked || !self.selects_every_node()
    }

    /// The same for a Pod with this `selection`: a default that yields does not hold for labels that the Pod chooses, by
    /// its nodeSelector, or by every term of its node affinity that can match a node, if terms choose.
    pub fn yielding_to(mut self, selection: &NodeSelection<'_>, terms_choose: bool) -> Self {
        let Some(default) = self.yielding.take() else { return self };
        let terms: Vec<&Term> = match &selection.terms {
            // With `onNodeAffinity: Ignore` no whitelist checks expressions, so they don't replace the default.
            Some(terms) if terms_choose && self.settings.on_node_affinity == OnNodeAffinity::Check => {
                terms.iter().filter(|term| term.can_match(&selection.node_selector)).collect()
            }
            _ => Vec::new(),
        };
        let mut demanded = Vec::new();
        for requirements in default.selector.by_label() {
            let Some(key) = requirements.first().map(Requirement::key) else { continue };
            let is_chosen_by_terms = !terms.is_empty() && terms.iter().all(|term| term.chooses(key));
            if !selection.node_selector.contains_key(key) && !is_chosen_by_terms {
                demanded.extend_from_slice(requirements);
            }
        }
        for own in &mut self.node_selectors {
            if own.source == default.source {
                own.selector = Selector::new(std::mem::take(&mut demanded));
            }
        }
        self
    }

    /// Whether any node will do.
    pub fn selects_every_node(&self) -> bool {
        self.node_selectors.iter().all(|own| own.selector.is_empty())
    }

    /// Every requirement that nodes must meet.
    pub fn requirements(&self) -> impl Iterator<Item = SourcedRequirement<'_>> {
        self.node_selectors.iter().flat_map(SourcedSelector::requirements)
    }

    /// Everything that nodes must meet, as one selector.
    pub fn as_one_selector(&self) -> Selector {
        Selector::new(self.requirements().map(|own| own.requirement.clone()).collect())
    }

    /// Rejects a Pod for a `node` that it may not use; `what` is how the message begins, and `remedy` how it ends.
    ///
    /// # Errors
    /// The first requirement that the node does not meet.
    pub fn verify(&self, node: &Node<'_>, what: &str, remedy: &str) -> Result<(), Rejection> {
        let is_unmet = |SourcedRequirement { requirement, .. }: &SourcedRequirement<'_>| {
            !requirement.accepts(node.labels.get(requirement.key()))
        };
        let Some(SourcedRequirement { requirement, source }) = self.requirements().find(is_unmet) else {
            return Ok(());
        };
        let explanation = format!(
            "{what} {source} demands {}, which the node does not meet; {remedy}",
            shorten(&requirement.to_string()),
        );
        let rejection = Rejection::forbidden(CauseKind::NodeName, explanation).demanded_at(source);
        let rejection = rejection.in_namespace(self.namespace).about_label(requirement.key()).demanding(requirement);
        Err(rejection.asking_for(&node.name.as_str()).with_detail(node.label_as_text(requirement.key())))
    }

    /// What is demanded of the label `key` and where, in words.
    pub fn demands_on(&self, key: &str) -> String {
        let mut words = Vec::new();
        for SourcedSelector { selector, source } in &self.node_selectors {
            let requirements = selector.on(key);
            if !requirements.is_empty() {
                words.push(format!("{source} demands {}", shorten(&text(requirements))));
            }
        }
        words.join(", and ")
    }

    /// Where nothing meets all that is demanded of a label, no Pod could run, whatever it asks for.
    fn reject_contradictions(&self) -> Result<(), Rejection> {
        for SourcedSelector { selector, .. } in &self.node_selectors {
            for requirements in selector.by_label() {
                let Some(key) = requirements.first().map(Requirement::key) else { continue };
                let all = self.node_selectors.iter().flat_map(|own| own.selector.on(key));
                if PossibleValues::of(all).is_empty() {
                    return Err(self.contradiction(key));
                }
            }
        }
        Ok(())
    }

    fn contradiction(&self, key: &str) -> Rejection {
        let explanation =
            format!("{}; no value of label {} satisfies them, change one of them", self.demands_on(key), quote(key));
        let mut demanding = self.node_selectors.iter().filter(|own| !own.selector.on(key).is_empty());
        let rejection = match demanding.find(|own| matches!(own.source, Source::Annotation { .. })) {
            Some(annotated) => {
                let sentence = format!("{} annotations' node label selectors conflict", shorten(self.namespace));
                let rejection = Rejection::with_sentence(CauseKind::Annotation, sentence, explanation);
                rejection.demanded_at(annotated.source).demanding(&text(annotated.selector.on(key)))
            }
            // The settings were validated: only what references are filled in with can contradict something.
            None => Rejection::forbidden(
                CauseKind::MissingLabel,
                format!(
                    "the node selectors of namespace {} contradict each other: {explanation}",
                    quote(self.namespace)
                ),
            ),
        };
        rejection.in_namespace(self.namespace).about_label(key)
    }
}
