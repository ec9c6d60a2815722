//! What of a Pod decides where it may run: `nodeSelector`, required node affinity, `nodeName`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use json::{Element, Json, Mismatch, Object, StringMap};

use super::namespace_selector::Demanded;
use super::node_affinity::Term;
use crate::selector::Requirement;

const NODE_SELECTOR: &str = "nodeSelector";
const AFFINITY: &str = "affinity";
const NODE_AFFINITY: &str = "nodeAffinity";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const TERMS: &str = "nodeSelectorTerms";

/// The part of a PodSpec that decides where the Pod may run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodSpec<'a> {
    /// `nodeSelector`
    pub node_selector: StringMap<'a>,
    /// The terms of required node affinity, of which one must match; nothing, if there is no such affinity.
    pub terms: Option<Vec<Term<'a>>>,
    /// `nodeName`, or empty.
    pub node_name: Cow<'a, str>,
}

impl<'a> PodSpec<'a> {
    /// Reads `spec`.
    pub fn read(spec: &Object<'a>) -> Result<Self, Mismatch> {
        let terms =
            required_affinity(spec)?.map(|required| read_terms(&required).map_err(within_required)).transpose()?;
        Ok(Self {
            node_selector: spec.string_map(NODE_SELECTOR)?,
            terms: terms.map(|terms| terms.into_iter().map(|written| written.term).collect()),
            node_name: spec.string("nodeName")?,
        })
    }

    /// Whether `other` may run on the same nodes, as far as the same words tell.
    pub fn selects_as(&self, other: &Self) -> bool {
        self.node_selector == other.node_selector && self.terms == other.terms
    }

    /// Whether a node with this name and these labels is one that the Pod may run on.
    ///
    /// Upstream: `RequiredNodeAffinity.Match` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
    pub fn matches(&self, node: &str, labels: &StringMap<'_>) -> bool {
        let has = |(key, value)| labels.get(key) == Some(value);
        self.node_selector.iter().all(has)
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node, labels)))
    }

    /// Adds the pairs that are `missing` in the nodeSelector, to it and to `spec`, from which this was read.
    pub fn add_pairs(&mut self, spec: &mut Object<'a>, missing: &[Demanded<'_>]) -> Result<(), Mismatch> {
        let mut node_selector = spec.object(NODE_SELECTOR)?.unwrap_or_default();
        let mut pairs = Vec::with_capacity(missing.len());
        for demanded in missing {
            let requirement = demanded.requirement;
            let Some(value) = requirement.only_value() else { continue };
            node_selector.push_string(requirement.key(), value);
            pairs.push((Cow::Owned(requirement.key().to_owned()), Cow::Owned(value.to_owned())));
        }
        self.node_selector.extend(pairs);
        spec.set_object(NODE_SELECTOR, node_selector);
        Ok(())
    }

    /// Adds `wanted`, with their `texts`, to every term of required node affinity that can match, skipping what a term
    /// already states; without such affinity, a term of them. The same to `spec`, from which this was read. Returns what
    /// was missing somewhere.
    ///
    /// Terms are ORed, so all must be narrowed; a term without expressions and fields matches no node and stays so.
    pub fn add_expressions<'s>(
        &mut self,
        spec: &mut Object<'a>,
        wanted: &[Demanded<'s>],
        texts: &[String],
    ) -> Result<Vec<Demanded<'s>>, Mismatch> {
        let mut affinity = spec.object(AFFINITY)?.unwrap_or_default();
        let mut node_affinity = affinity.object(NODE_AFFINITY)?.unwrap_or_default();
        let mut missing = BTreeSet::new();
        let (mut required, mut terms) = match node_affinity.object(REQUIRED)? {
            Some(required) => {
                let terms = read_terms(&required).map_err(within_required)?;
                (required, terms)
            }
            None => (Object::default(), Vec::new()),
        };
        if self.terms.is_none() {
            terms.push(WrittenTerm { written: Json::NULL, object: Object::default(), term: Term::default() });
        }
        let keys = wanted.iter().map(|demanded| (Cow::Borrowed(demanded.requirement.key()), Cow::Borrowed("")));
        let keys: StringMap<'_> = keys.collect();
        for WrittenTerm { object, term, .. } in &mut terms {
            if term.is_empty() && self.terms.is_some() {
                continue;
            }
            let stated = term.stated(&keys);
            let mut added: Vec<(&Requirement, &str)> = Vec::new();
            for (demanded, text) in wanted.iter().zip(texts) {
                let identity = demanded.requirement.identity();
                if !stated.contains(&identity) {
                    added.push((demanded.requirement, text));
                    missing.insert(identity);
                }
            }
            if !added.is_empty() {
                term.add(object, &added);
            }
        }
        if terms.iter().any(|term| term.object.is_changed()) {
            let texts: Vec<String> = terms.iter().map(WrittenTerm::text).collect();
            required.set(TERMS, format!("[{}]", texts.join(",")));
        }
        node_affinity.set_object(REQUIRED, required);
        affinity.set_object(NODE_AFFINITY, node_affinity);
        spec.set_object(AFFINITY, affinity);
        self.terms = Some(terms.into_iter().map(|written| written.term).collect());
        let missing = wanted.iter().filter(|demanded| missing.contains(&demanded.requirement.identity()));
        Ok(missing.copied().collect())
    }
}

fn required_affinity<'a>(spec: &Object<'a>) -> Result<Option<Object<'a>>, Mismatch> {
    let Some(affinity) = spec.object(AFFINITY)? else { return Ok(None) };
    let Some(node_affinity) = affinity.object(NODE_AFFINITY).map_err(|mismatch| mismatch.within(AFFINITY))? else {
        return Ok(None);
    };
    node_affinity.object(REQUIRED).map_err(|mismatch| mismatch.within(NODE_AFFINITY).within(AFFINITY))
}

/// A term, and the text it was read from.
struct WrittenTerm<'a> {
    written: Json<'a>,
    object: Object<'a>,
    term: Term<'a>,
}

impl WrittenTerm<'_> {
    fn text(&self) -> String {
        if self.object.is_changed() { self.object.to_string() } else { self.written.text().to_owned() }
    }
}

fn read_terms<'a>(required: &Object<'a>) -> Result<Vec<WrittenTerm<'a>>, Mismatch> {
    let read = |element: &Element<'a>| {
        let object = if element.json.is_null() { Object::default() } else { element.object()? };
        let term = Term::read(&object)?;
        Ok(WrittenTerm { written: element.json, object, term })
    };
    Ok(required.read(TERMS, |list| list.each(read))?.unwrap_or_default())
}

fn within_required(mismatch: Mismatch) -> Mismatch {
    mismatch.within(REQUIRED).within(NODE_AFFINITY).within(AFFINITY)
}
