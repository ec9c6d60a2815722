//! What a namespace demands of the nodes that its Pods run on.

use super::holding_entry::HoldingEntry;
use crate::decision::Rejection;
use crate::json::StringMap;
use crate::message::{quote, shorten};
use crate::selector::{self, PossibleValues, Requirement, Selector, Whitelist, text};
use crate::settings::{Placement, SettingsError, Source};

/// The longest annotation that is read, in bytes. What it demands is added to every Pod of the namespace, and to every
/// term of its node affinity.
pub(super) const LONGEST_ANNOTATION: usize = 16 * 1024;

/// Everything that is demanded of the nodes of a namespace: by the settings, and by the Namespace's annotations.
#[derive(Debug)]
pub struct NamespaceRules<'s> {
    /// The settings that hold for all namespaces.
    pub settings: &'s Placement,
    /// The name of the namespace.
    pub namespace: &'s str,
    /// What Pods may ask for; nothing, if that is everything.
    pub whitelist: Option<SourcedWhitelist<'s>>,
    node_selectors: Vec<SourcedSelector<'s>>,
}

/// A node selector, and where it is demanded.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedSelector<'s> {
    /// What is demanded.
    pub selector: Selector,
    /// Where.
    pub source: Source<'s>,
}

/// One requirement that nodes must meet, and where it is demanded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourcedRequirement<'r> {
    /// What is demanded.
    pub requirement: &'r Requirement,
    /// Where.
    pub source: Source<'r>,
}

/// A whitelist, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedWhitelist<'s> {
    /// What Pods may ask for.
    pub whitelist: Whitelist,
    /// Where that is said.
    pub source: Source<'s>,
}

impl<'s> NamespaceRules<'s> {
    /// What holds in a namespace: what the settings require; and with it the Namespace's annotations or, if there are none,
    /// what the settings have as default.
    ///
    /// # Errors
    /// An annotation is malformed; demands contradict each other; the settings have a mistake.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn of(holding: &'s HoldingEntry<'s>) -> Result<Self, Rejection> {
        let HoldingEntry { settings, namespace, entry, found } = holding;
        let (mut required, mut default, mut allowed) = (None, None, None);
        if let Some(at) = *entry {
            let parse = |text: &Option<String>, field| parse(text.as_deref(), Source::Entry(at, field));
            required = parse(&at.entry.required_node_selector, "requiredNodeSelector")?;
            default = parse(&at.entry.default_node_selector, "defaultNodeSelector")?;
            allowed = parse(&at.entry.allowed_node_selector, "allowedNodeSelector")?;
        }
        let whitelist = allowed.map(|SourcedSelector { selector, source }| {
            // What this entry itself demands is always allowed.
            let own = required.iter().chain(&default).flat_map(|own| own.selector.requirements()).cloned();
            SourcedWhitelist { whitelist: Whitelist::new(selector, own.collect()), source }
        });
        let annotated = in_annotations(&settings.namespace_annotations, namespace, &found.annotations)?;
        if !annotated.is_empty() {
            default = None;
        } else if default.is_none() {
            let cluster_default = settings.cluster_default_node_selector.as_deref();
            default = parse(cluster_default, Source::Placement("clusterDefaultNodeSelector"))?;
        }
        let node_selectors = required.into_iter().chain(default).chain(annotated).collect();
        let rules = Self { settings, namespace, whitelist, node_selectors };
        rules.reject_contradictions()?;
        Ok(rules)
    }

    /// Whether any node will do.
    pub fn select_every_node(&self) -> bool {
        self.node_selectors.iter().all(|own| own.selector.is_empty())
    }

    /// Every requirement that nodes must meet.
    pub fn requirements(&self) -> impl Iterator<Item = SourcedRequirement<'_>> {
        self.node_selectors.iter().flat_map(|SourcedSelector { selector, source }| {
            selector.requirements().iter().map(move |requirement| SourcedRequirement { requirement, source: *source })
        })
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
            format!("{}; nothing that label {} can be meets that, change one of them", self.in_words(key), quote(key));
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

/// The selector `text` of the settings, if it is there.
fn parse<'s>(text: Option<&str>, source: Source<'s>) -> Result<Option<SourcedSelector<'s>>, SettingsError> {
    let Some(text) = text else { return Ok(None) };
    match selector::parse(text) {
        Ok(selector) => Ok(Some(SourcedSelector { selector, source })),
        Err(error) => Err(SettingsError::new(&source, error.to_string())),
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
