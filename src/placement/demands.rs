//! What a namespace demands of its Pods.

use json::StringMap;

use crate::cluster::{self, Cluster};
use crate::decision::Rejection;
use crate::field_masks::FieldMasks;
use crate::message::{quote, shorten};
use crate::selector::{Requirement, Whitelist};
use crate::settings::{Demand, Mistake, Mode, NamespaceEntry, Origin, Placement};

/// The longest annotation that is read, in bytes. What it demands is added to every Pod of the namespace, and to every
/// term of its node affinity.
const LONGEST_ANNOTATION: usize = 16 * 1024;

/// Everything that is demanded of the Pods of a namespace: by the settings, and by the Namespace's annotations.
#[derive(Debug)]
pub struct NamespaceDemands<'s> {
    /// The settings that hold for all namespaces.
    pub settings: &'s Placement<'s>,
    /// The namespace.
    pub namespace: String,
    entry: Option<NamespaceEntry<'s>>,
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
    /// What holds for `namespace`: what the settings require; and with it the Namespace's annotations or, if there are none,
    /// what the settings have as default. Looks the Namespace up where annotations can matter.
    ///
    /// # Errors
    /// The Namespace can't be read; an annotation is malformed; demands contradict each other.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn look_up(settings: &'s Placement<'s>, namespace: &str, cluster: &impl Cluster) -> Result<Self, Rejection> {
        if settings.annotations()?.is_empty() {
            return Self::of(settings, namespace, &StringMap::new());
        }
        let masks = FieldMasks::of(FieldMasks::ANNOTATIONS);
        match cluster::look_up_namespace(cluster, namespace, &masks) {
            Ok(found) => Self::of(settings, namespace, &found.annotations),
            Err(error) => Err(Rejection::internal(error.message())),
        }
    }

    /// The same, given the Namespace's annotations.
    ///
    /// # Errors
    /// An annotation is malformed; demands contradict each other.
    pub fn of(settings: &'s Placement<'s>, namespace: &str, annotations: &StringMap) -> Result<Self, Rejection> {
        let entry = settings.entry(namespace)?;
        let mut node_selectors = Vec::new();
        if let Some(entry) = &entry {
            node_selectors.extend(entry.required()?);
        }
        let annotated = in_annotations(settings, namespace, annotations)?;
        if annotated.is_empty() {
            node_selectors.extend(default_of(settings, entry.as_ref())?);
        }
        node_selectors.extend(annotated);
        let demands = Self { settings, namespace: namespace.to_owned(), entry, node_selectors };
        demands.reject_contradictions()?;
        Ok(demands)
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

    fn reject_contradictions(&self) -> Result<(), Rejection> {
        for (position, one) in self.node_selectors.iter().enumerate() {
            for other in self.node_selectors.iter().skip(position) {
                if let Some(found) = one.selector.contradiction(&other.selector) {
                    return Err(Rejection::forbidden(format!(
                        "{}: {} demands {}, and {} demands {}; change one of them",
                        self.contradiction_sentence(other),
                        one.origin,
                        shorten(&format!("{}={}", found.key, found.one)),
                        other.origin,
                        shorten(&format!("{}={}", found.key, found.other)),
                    )));
                }
            }
        }
        Ok(())
    }

    /// The in-tree sentence, where an annotation takes part.
    fn contradiction_sentence(&self, other: &Demand) -> String {
        match other.origin {
            Origin::Annotation { .. } => {
                format!("{} annotations' node label selectors conflict", shorten(&self.namespace))
            }
            Origin::Setting(..) | Origin::PluginConfig(_) => {
                format!("the node selectors of namespace {} contradict each other", quote(&self.namespace))
            }
        }
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
    settings: &Placement<'_>,
    namespace: &str,
    annotations: &StringMap,
) -> Result<Vec<Demand>, Rejection> {
    let mut demands = Vec::new();
    for key in settings.annotations()? {
        let Some(text) = annotations.get(&key) else { continue };
        let origin = Origin::Annotation { key: key.into_owned(), namespace: namespace.to_owned() };
        if settings.mode == Mode::Placement && text.len() > LONGEST_ANNOTATION {
            return Err(Rejection::forbidden(format!(
                "{origin} is not a node selector: it has {} bytes, expected at most {LONGEST_ANNOTATION}; shorten the \
                 annotation",
                text.len()
            )));
        }
        match settings.mode.parse(text) {
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
