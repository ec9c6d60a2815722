//! What a namespace demands of its Pods.

use std::borrow::Cow;

use json::StringMap;

use super::possible_demands::PossibleDemands;
use super::toleration_demands::TolerationDemands;
use crate::cluster::Namespace;
use crate::decision::Rejection;
use crate::message::{quote, shorten};
use crate::selector::{PossibleValues, Requirement, Selector, Whitelist, text};
use crate::settings::{Demand, Mistake, Mode, NamespaceEntry, Origin, Placement, first_matching};

/// The longest annotation that is read, in bytes. What it demands is added to every Pod of the namespace, and to every
/// term of its node affinity.
pub(super) const LONGEST_ANNOTATION: usize = 16 * 1024;

/// Everything that is demanded of the Pods of a namespace: by the settings, and by the Namespace's annotations.
#[derive(Debug)]
pub struct NamespaceDemands<'s> {
    /// The settings that hold for all namespaces.
    pub settings: &'s Placement<'s>,
    /// The namespace.
    pub namespace: String,
    entry: Option<NamespaceEntry<'s>>,
    annotations: StringMap,
    node_selectors: Vec<Demand>,
}

/// One requirement that nodes must meet, and who demands it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demanded<'d> {
    /// What is demanded.
    pub requirement: &'d Requirement,
    /// Who demands it.
    pub origin: &'d Origin,
}

impl<'s> NamespaceDemands<'s> {
    /// What holds in a namespace: what the settings require; and with it the Namespace's annotations or, if there are none,
    /// what the settings have as default.
    ///
    /// # Errors
    /// An annotation is malformed; demands contradict each other.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn of(possible: PossibleDemands<'s>, found: Namespace) -> Result<Self, Rejection> {
        let PossibleDemands { settings, namespace, candidates, annotations: keys } = possible;
        let Namespace { labels, annotations } = found;
        let entry = first_matching(candidates, &labels)?;
        let mut node_selectors = Vec::new();
        if let Some(entry) = &entry {
            node_selectors.extend(entry.required()?);
        }
        let annotated = in_annotations(settings.mode, keys, &namespace, &annotations)?;
        if annotated.is_empty() {
            node_selectors.extend(default_of(settings, entry.as_ref())?);
        }
        node_selectors.extend(annotated);
        let demands = Self { settings, namespace, entry, annotations, node_selectors };
        demands.reject_contradictions()?;
        Ok(demands)
    }

    /// What is demanded of the tolerations of Pods.
    ///
    /// # Errors
    /// An annotation is malformed, or the settings have a mistake.
    pub fn tolerations(&self) -> Result<TolerationDemands, Rejection> {
        TolerationDemands::read(self.settings, self.entry.as_ref(), &self.namespace, &self.annotations)
    }

    /// Whether any node will do.
    pub fn select_every_node(&self) -> bool {
        self.node_selectors.iter().all(|demand| demand.selector.is_empty())
    }

    /// Every requirement that nodes must meet.
    pub fn requirements(&self) -> impl Iterator<Item = Demanded<'_>> {
        self.node_selectors.iter().flat_map(|Demand { selector, origin }| {
            selector.requirements().iter().map(move |requirement| Demanded { requirement, origin })
        })
    }

    /// Everything that nodes must meet, as one selector.
    pub fn as_one_selector(&self) -> Selector {
        Selector::new(self.requirements().map(|demanded| demanded.requirement.clone()).collect())
    }

    /// Every requirement on the label `key`.
    pub fn requirements_on<'d>(&'d self, key: &str) -> impl Iterator<Item = Demanded<'d>> {
        self.node_selectors.iter().flat_map(move |Demand { selector, origin }| {
            selector.on(key).iter().map(move |requirement| Demanded { requirement, origin })
        })
    }

    /// The first requirement that a node with these labels does not meet.
    pub fn unmet_by(&self, labels: &StringMap) -> Option<Demanded<'_>> {
        self.requirements().find(|demanded| {
            let value = labels.get(demanded.requirement.key());
            !demanded.requirement.accepts(value)
        })
    }

    /// What Pods of the namespace may ask for, and who says so; nothing, if that is everything.
    ///
    /// # Errors
    /// A mistake in that setting.
    pub fn whitelist(&self) -> Result<Option<(Whitelist, Origin)>, Mistake> {
        match &self.entry {
            Some(entry) => entry.allowed(),
            None => self.settings.plugin_whitelist(&self.namespace),
        }
    }

    /// Who demands what of the label `key`, in words.
    pub fn in_words(&self, key: &str) -> String {
        let mut words = Vec::new();
        for Demand { selector, origin } in &self.node_selectors {
            let requirements = selector.on(key);
            if !requirements.is_empty() {
                words.push(format!("{origin} demands {}", shorten(&text(requirements))));
            }
        }
        words.join(", and ")
    }

    /// Where nothing meets all that is demanded of a label, no Pod could run, whatever it asks for.
    fn reject_contradictions(&self) -> Result<(), Rejection> {
        for demand in &self.node_selectors {
            for requirements in demand.selector.by_label() {
                let Some(key) = requirements.first().map(Requirement::key) else { continue };
                let demanded = self.requirements_on(key).map(|demanded| demanded.requirement);
                if PossibleValues::of(demanded).is_empty() {
                    return Err(self.contradiction(key));
                }
            }
        }
        Ok(())
    }

    fn contradiction(&self, key: &str) -> Rejection {
        let explanation =
            format!("{}; nothing that label {} can be meets that, change one of them", self.in_words(key), quote(key));
        let mut origins = self.requirements_on(key).map(|demanded| demanded.origin);
        if origins.any(|origin| matches!(origin, Origin::Annotation { .. })) {
            let sentence = format!("{} annotations' node label selectors conflict", shorten(&self.namespace));
            return Rejection::with_sentence(sentence, explanation);
        }
        Rejection::forbidden(format!(
            "the node selectors of namespace {} contradict each other: {explanation}",
            quote(&self.namespace)
        ))
    }
}

/// What the settings have for namespaces without annotations.
fn default_of(settings: &Placement<'_>, entry: Option<&NamespaceEntry<'_>>) -> Result<Option<Demand>, Mistake> {
    if let Some(entry) = entry
        && let Some(default) = entry.default()?
    {
        return Ok(Some(default));
    }
    settings.cluster_default()
}

/// What the annotations of the Namespace demand.
fn in_annotations(
    mode: Mode,
    keys: Vec<Cow<'_, str>>,
    namespace: &str,
    annotations: &StringMap,
) -> Result<Vec<Demand>, Rejection> {
    let mut demands = Vec::new();
    for key in keys {
        let Some(text) = annotations.get(&key) else { continue };
        let origin = Origin::Annotation { key: key.into_owned(), namespace: namespace.to_owned() };
        if mode == Mode::Placement && text.len() > LONGEST_ANNOTATION {
            return Err(Rejection::forbidden(format!(
                "{origin} is not a node selector: it has {} bytes, expected at most {LONGEST_ANNOTATION}; shorten the \
                 annotation",
                text.len()
            )));
        }
        match mode.parse(text) {
            Ok(selector) => demands.push(Demand { selector, origin }),
            Err(error) => {
                return Err(Rejection::forbidden(format!(
                    "{origin} is not a node selector: {error}; correct the annotation {}",
                    quote(text)
                )));
            }
        }
    }
    Ok(demands)
}
