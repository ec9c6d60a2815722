//! Which node selector holds for a namespace.

use json::StringMap;

use crate::cluster::{self, Cluster, LookupError};
use crate::decision::Rejection;
use crate::selector::Requirement;
use crate::settings::{Demand, Dialect, PodNodeSelector};
use crate::text::{quote, shorten};

/// The longest annotation that is read, in bytes. What it demands is added to every Pod of the namespace, and to every
/// term of its node affinity.
const LONGEST_ANNOTATION: usize = 16 * 1024;

/// The node selector that holds for a namespace: everything that is demanded of its Pods, and by whom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamespaceSelector {
    demands: Vec<Demand>,
}

/// One requirement of a namespace selector, and who demands it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demanded<'s> {
    /// What is demanded.
    pub requirement: &'s Requirement,
    /// Who demands it, as it stands in messages.
    pub source: &'s str,
}

impl NamespaceSelector {
    /// What holds for the namespace of `rules`: what the settings require; and with it the Namespace's annotations or, if
    /// there are none, what the settings have as default.
    ///
    /// # Errors
    /// The Namespace can't be read; an annotation is malformed; demands contradict each other.
    ///
    /// Upstream: `getNodeSelectorMap` of the `PodNodeSelector` plugin.
    pub fn look_up(rules: &PodNodeSelector<'_>, cluster: &impl Cluster) -> Result<Self, Rejection> {
        if rules.annotations()?.is_empty() {
            return Self::resolve(rules, &StringMap::new());
        }
        let failed = |error: LookupError| Rejection::internal(error.message());
        let answer = cluster::look_up_namespace(cluster, rules.namespace()).map_err(failed)?;
        let namespace = answer.object(cluster).map_err(failed)?;
        Self::resolve(rules, &namespace.annotations)
    }

    /// The same, given the Namespace's annotations.
    pub fn resolve(rules: &PodNodeSelector<'_>, annotations: &StringMap<'_>) -> Result<Self, Rejection> {
        let mut demands: Vec<Demand> = rules.required()?.into_iter().collect();
        let annotated = annotation_demands(rules, annotations)?;
        if annotated.is_empty() {
            demands.extend(rules.default()?);
        }
        let first_annotation = demands.len();
        demands.extend(annotated);
        let selector = Self { demands };
        selector.check(rules.namespace(), first_annotation)?;
        Ok(selector)
    }

    /// Whether nothing is demanded.
    pub fn is_empty(&self) -> bool {
        self.demands.iter().all(|demand| demand.selector.is_empty())
    }

    /// Everything demanded.
    pub fn demands(&self) -> impl Iterator<Item = Demanded<'_>> {
        self.demands.iter().flat_map(|Demand { selector, source }| {
            selector.requirements().iter().map(move |requirement| Demanded { requirement, source })
        })
    }

    /// Every value that one label must have, and who demands it.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.demands.iter().flat_map(|Demand { selector, source }| {
            selector.pairs().map(move |(key, value)| (key, value, source.as_str()))
        })
    }

    /// Everything demanded of the label `key`.
    pub fn on<'s>(&'s self, key: &str) -> impl Iterator<Item = Demanded<'s>> {
        self.demands.iter().flat_map(move |Demand { selector, source }| {
            selector.on(key).iter().map(move |requirement| Demanded { requirement, source })
        })
    }

    /// The first demand that a node with these labels does not meet.
    pub fn unmet<'s>(&'s self, labels: &StringMap<'_>) -> Option<Demanded<'s>> {
        self.demands().find(|demanded| {
            let value = labels.get(demanded.requirement.key());
            !demanded.requirement.accepts(value)
        })
    }

    fn check(&self, namespace: &str, first_annotation: usize) -> Result<(), Rejection> {
        for (at, demand) in self.demands.iter().enumerate() {
            for (other_at, other) in self.demands.iter().enumerate().skip(at) {
                let Some(found) = demand.selector.contradiction(&other.selector) else { continue };
                let sentence = if other_at < first_annotation {
                    format!("the node selectors of namespace {} contradict each other", quote(namespace))
                } else {
                    format!("{} annotations' node label selectors conflict", shorten(namespace))
                };
                return Err(Rejection::forbidden(format!(
                    "{sentence}: {} demands {}, and {} demands {}; change one of them",
                    demand.source,
                    shorten(&format!("{}={}", found.key, found.one)),
                    other.source,
                    shorten(&format!("{}={}", found.key, found.other)),
                )));
            }
        }
        Ok(())
    }
}

fn annotation_demands(rules: &PodNodeSelector<'_>, annotations: &StringMap<'_>) -> Result<Vec<Demand>, Rejection> {
    let keys = rules.annotations()?;
    let present = keys.iter().filter_map(|key| Some((key, annotations.get(key)?)));
    let demands = present.map(|(key, text)| {
        let source = format!("annotation {key} of namespace {}", quote(rules.namespace()));
        if rules.dialect() == Dialect::Full && text.len() > LONGEST_ANNOTATION {
            return Err(Rejection::forbidden(format!(
                "{source} is not a node selector: it has {} bytes, expected at most {LONGEST_ANNOTATION}; shorten the annotation",
                text.len()
            )));
        }
        match rules.dialect().parse(text) {
            Ok(selector) => Ok(Demand { selector, source }),
            Err(error) => Err(Rejection::forbidden(format!(
                "{source} is not a node selector: {error}; correct the annotation {}",
                quote(text)
            ))),
        }
    });
    demands.collect()
}
