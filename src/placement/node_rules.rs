//! What a namespace demands of the nodes that its Pods run on.

use super::holding_entry::HoldingEntry;
use super::node_affinity::Term;
use super::node_selection::NodeSelection;
use super::sourced::{SourcedRequirement, SourcedSelector, SourcedWhitelist};
use super::term_outcome::can_match;
use crate::decision::Rejection;
use crate::json::StringMap;
use crate::message::{quote, shorten};
use crate::selector::{self, PossibleValues, Requirement, Selector, Whitelist, text};
use crate::settings::{OnDefaultConflict, OnNodeAffinity, Placement, Source};

/// The longest annotation that is read, in bytes. What it demands is added to every Pod of the namespace, and to every
/// term of its node affinity.
pub(super) const LONGEST_ANNOTATION: usize = 16 * 1024;

/// Everything that is demanded of the nodes of a namespace: by the settings, and by the Namespace's annotations.
#[derive(Debug)]
pub struct NodeRules<'s> {
    /// The settings that hold for all namespaces.
    pub settings: &'s Placement,
    /// The name of the namespace.
    pub namespace: &'s str,
    /// What Pods may ask for; nothing, if that is everything.
    pub whitelist: Option<SourcedWhitelist<'s>>,
    /// Whether the namespace has a whitelist or judges tolerations; true for exempt users too.
    pub is_limited: bool,
    node_selectors: Vec<SourcedSelector<'s>>,
    /// The default, where it yields to what Pods choose.
    yielding: Option<SourcedSelector<'s>>,
    /// The part of it that is added only to those terms of a Pod's node affinity that don't mention the label.
    partial: Option<SourcedSelector<'s>>,
}

impl<'s> NodeRules<'s> {
    /// What holds in a namespace: what the settings require; and with it the Namespace's annotations or, if there are
    /// none, what the settings have as default.
    ///
    /// # Errors
    /// An annotation is malformed; demands contradict each other; a reference can't be resolved; the settings have a
    /// mistake.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn of(holding: &'s HoldingEntry<'s>) -> Result<Self, Rejection> {
        Self::with_default_if(true, holding)
    }

    /// The same without the default, if it yields: a Binding does not show what its Pod chose.
    ///
    /// # Errors
    /// The same.
    pub fn of_binding(holding: &'s HoldingEntry<'s>) -> Result<Self, Rejection> {
        Self::with_default_if(holding.settings.on_default_conflict != OnDefaultConflict::Yield, holding)
    }

    fn with_default_if(holds: bool, holding: &'s HoldingEntry<'s>) -> Result<Self, Rejection> {
        let HoldingEntry { settings, namespace, entry, found, .. } = holding;
        let annotated = in_annotations(&settings.namespace_annotations.0, namespace, &found.annotations)?;
        let default_holds = holds && annotated.is_empty();
        let (mut required, mut default, mut whitelist) = (None, None, None);
        if let Some(at) = *entry {
            let parse = |text: &'s Option<String>, field| holding.selector(text.as_deref(), Source::Entry(at, field));
            required = parse(&at.entry.required_node_selector, "requiredNodeSelector")?;
            default = match parse(&at.entry.default_node_selector, "defaultNodeSelector") {
                // The default does not hold, so it does not matter that it can't be resolved.
                Err(rejection) if rejection.is_unresolved() && !default_holds => None,
                default => default?,
            };
            // What this entry itself demands is always allowed.
            let own = required.iter().chain(&default).flat_map(|own| own.selector.requirements()).cloned().collect();
            whitelist = match parse(&at.entry.allowed_node_selector, "allowedNodeSelector") {
                Err(rejection) if rejection.is_unresolved() => Some(SourcedWhitelist {
                    whitelist: Whitelist::new(Selector::default(), own),
                    source: Source::Entry(at, "allowedNodeSelector"),
                    unresolved: Some(rejection),
                }),
                allowed => allowed?.map(|SourcedSelector { selector, source }| SourcedWhitelist {
                    whitelist: Whitelist::new(selector, own),
                    source,
                    unresolved: None,
                }),
            };
        }
        if !default_holds {
            default = None;
        } else if default.is_none() {
            let cluster_default = settings.cluster_default_node_selector.as_deref();
            default = holding.selector(cluster_default, Source::Placement("clusterDefaultNodeSelector"))?;
        }
        let yielding = default.clone().filter(|_| settings.on_default_conflict == OnDefaultConflict::Yield);
        let node_selectors = required.into_iter().chain(default).chain(annotated).collect();
        let is_limited = whitelist.is_some();
        let rules = Self { settings, namespace, whitelist, is_limited, node_selectors, yielding, partial: None };
        rules.reject_contradictions()?;
        Ok(rules)
    }

    /// The same for a Pod with this `selection`: a default that yields does not hold for labels that the Pod chooses.
    ///
    /// A Pod chooses a label by its nodeSelector, or by every term of its node affinity that can match a node. Where
    /// only some of them choose, it holds for the others.
    pub fn yielding_to(mut self, selection: &NodeSelection<'_>) -> Self {
        let Some(default) = self.yielding.take() else { return self };
        let terms: Vec<&Term> = match &selection.terms {
            // With `onNodeAffinity: Ignore` no whitelist checks expressions, so they don't replace the default.
            Some(terms) if self.settings.on_node_affinity == OnNodeAffinity::Check => {
                terms.iter().filter(|term| can_match(term, &selection.node_selector)).collect()
            }
            _ => Vec::new(),
        };
        let (mut held, mut partial) = (Vec::new(), Vec::new());
        for requirements in default.selector.by_label() {
            let Some(key) = requirements.first().map(Requirement::key) else { continue };
            let choosing = terms.iter().filter(|term| term.chooses(key)).count();
            if selection.node_selector.contains_key(key) || (choosing > 0 && choosing == terms.len()) {
                continue;
            }
            let rest = if choosing > 0 { &mut partial } else { &mut held };
            rest.extend_from_slice(requirements);
        }
        for own in &mut self.node_selectors {
            if own.source == default.source {
                own.selector = Selector::new(std::mem::take(&mut held));
            }
        }
        self.partial = Some(SourcedSelector { selector: Selector::new(partial), source: default.source });
        self
    }

    /// Whether any node will do.
    pub fn select_every_node(&self) -> bool {
        self.node_selectors.iter().all(|own| own.selector.is_empty())
    }

    /// Every requirement that nodes must meet.
    pub fn requirements(&self) -> impl Iterator<Item = SourcedRequirement<'_>> {
        self.node_selectors.iter().flat_map(SourcedSelector::requirements)
    }

    /// What only those terms of a Pod's node affinity must demand that don't choose themselves.
    pub fn partial(&self) -> impl Iterator<Item = SourcedRequirement<'_>> {
        self.partial.iter().flat_map(SourcedSelector::requirements)
    }

    /// Everything that nodes must meet, as one selector.
    pub fn as_one_selector(&self) -> Selector {
        Selector::new(self.requirements().map(|own| own.requirement.clone()).collect())
    }

    /// The first requirement that a node with these labels does not meet.
    pub fn unmet_by(&self, labels: &StringMap<'_>) -> Option<SourcedRequirement<'_>> {
        self.requirements().find(|SourcedRequirement { requirement, .. }| {
            !requirement.accepts(labels.get(requirement.key()).map(|value| &**value))
        })
    }

    /// What is demanded of the label `key` and where, in words.
    pub fn in_words(&self, key: &str) -> String {
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
            format!("{}; no value of label {} satisfies them, change one of them", self.in_words(key), quote(key));
        let mut demanding = self.node_selectors.iter().filter(|own| !own.selector.on(key).is_empty());
        if demanding.any(|own| matches!(own.source, Source::Annotation { .. })) {
            let sentence = format!("{} annotations' node label selectors conflict", shorten(self.namespace));
            return Rejection::with_sentence(sentence, explanation);
        }
        Rejection::forbidden(format!(
            "the node selectors of namespace {} contradict each other: {explanation}",
            quote(self.namespace)
        ))
    }
}

/// What the annotations of the Namespace demand.
fn in_annotations<'s>(
    keys: &'s [String],
    namespace: &'s str,
    annotations: &StringMap<'_>,
) -> Result<Vec<SourcedSelector<'s>>, Rejection> {
    let mut selectors = Vec::new();
    for key in keys {
        let Some(text) = annotations.get(key.as_str()) else { continue };
        let source = Source::Annotation { key, namespace };
        if text.len() > LONGEST_ANNOTATION {
            return Err(Rejection::forbidden(format!(
                "{source} is not a node selector: it has {} bytes, expected at most {LONGEST_ANNOTATION}; shorten the \
                 annotation",
                text.len()
            )));
        }
        match selector::parse(text) {
            Ok(selector) => selectors.push(SourcedSelector { selector, source }),
            Err(error) => {
                return Err(Rejection::forbidden(format!(
                    "{source} is not a node selector: {error}; correct the annotation {}",
                    quote(text)
                )));
            }
        }
    }
    Ok(selectors)
}
