//! The block `nodeMetadata`.

use std::collections::BTreeSet;
use std::fmt;

use json::{Json, Object};

use super::choice::Choice;
use super::mistake::{elements, field, unknown_fields};
use super::{FieldPath, KeyPattern, Mistake, OnLookupFailure, TargetKind};
use crate::selector::syntax;
use crate::text::quote;

pub(super) const BLOCK: &str = "nodeMetadata";

pub(super) const PROPAGATE: &str = "propagate";
const PROTECT: &str = "protect";
const NODE_LABEL: &str = "nodeLabel";
const NODE_ANNOTATION: &str = "nodeAnnotation";
const NODE_FIELD: &str = "nodeField";
const POD_ANNOTATION: &str = "podAnnotation";
const POD_LABEL: &str = "podLabel";
const DEFAULT: &str = "default";
const REQUIRED: &str = "required";

/// What Pods learn about their node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMetadata {
    /// In order; of two that write the same key the later wins.
    pub propagate: Vec<Propagate>,
    /// What happens when the Node can't be read.
    pub on_lookup_failure: OnLookupFailure,
    /// Whether the keys written belong to the policy alone.
    pub protect: bool,
}

/// One thing that Pods learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Propagate {
    /// Where it stands on the Node.
    pub source: Source,
    /// Where it goes on the Pod: at least one place. All are prefixes if the source is one, and none otherwise.
    pub targets: Vec<(TargetKind, KeyPattern)>,
    /// What happens where the Node lacks it.
    pub fallback: Fallback,
}

/// Where on a Node something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In `metadata.labels`.
    Label(KeyPattern),
    /// In `metadata.annotations`.
    Annotation(KeyPattern),
    /// In a field.
    Field(FieldPath),
}

/// What happens where the Node lacks the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Nothing is written.
    Skip,
    /// This is written.
    Default(String),
    /// The request is rejected.
    Required,
}

impl NodeMetadata {
    /// Reads the block; entries with mistakes, which are added to `mistakes`, are left out.
    pub(super) fn read(block: &Object<'_>, mistakes: &mut Vec<Mistake>) -> Self {
        unknown_fields(block, &BLOCK, &[PROPAGATE, OnLookupFailure::FIELD, PROTECT], mistakes);
        let on_lookup_failure = OnLookupFailure::read(block, BLOCK).unwrap_or_else(|mistake| {
            mistakes.push(mistake);
            OnLookupFailure::default()
        });
        let protect = Self::protects(block).unwrap_or_else(|mistake| {
            mistakes.push(mistake);
            false
        });
        let before = mistakes.len();
        let entries = elements(block, BLOCK, PROPAGATE, json::Element::object, mistakes);
        if block.get(PROPAGATE).is_some() && entries.is_empty() && mistakes.len() == before {
            mistakes.push(Mistake::new(&format_args!("{BLOCK}.{PROPAGATE}"), "expected at least one entry"));
        }
        let mut propagate = Vec::new();
        let mut targets = BTreeSet::new();
        for (place, entry) in entries {
            let before = mistakes.len();
            let entry = Propagate::read(&entry, &place, mistakes);
            for (kind, pattern) in entry.iter().flat_map(|entry| &entry.targets) {
                if !targets.insert(kind.path_of(pattern.text())) {
                    let problem = format!("{} is the target of an earlier entry", quote(pattern.text()));
                    mistakes.push(Mistake::new(&place, &problem));
                }
            }
            propagate.extend(entry.filter(|_| mistakes.len() == before));
        }
        Self { propagate, on_lookup_failure, protect }
    }

    /// Whether managed keys belong to the policy alone.
    pub(super) fn protects(block: &Object<'_>) -> Result<bool, Mistake> {
        let protect = block.read(PROTECT, Json::boolean).map_err(|mismatch| Mistake::of(&BLOCK, mismatch));
        protect.map(Option::unwrap_or_default)
    }
}

impl Propagate {
    fn read(entry: &Object<'_>, path: &dyn fmt::Display, mistakes: &mut Vec<Mistake>) -> Option<Self> {
        let known = [NODE_LABEL, NODE_ANNOTATION, NODE_FIELD, POD_ANNOTATION, POD_LABEL, DEFAULT, REQUIRED];
        unknown_fields(entry, path, &known, mistakes);
        let source = read_source(entry, path, mistakes);
        let targets = read_targets(entry, path, source.as_ref(), mistakes);
        let fallback = read_fallback(entry, path, source.as_ref(), &targets, mistakes);
        Some(Self { source: source?, targets, fallback })
    }
}

impl Source {
    fn is_prefix(&self) -> bool {
        match self {
            Self::Label(pattern) | Self::Annotation(pattern) => pattern.is_prefix(),
            Self::Field(_) => false,
        }
    }
}

fn read_source(entry: &Object<'_>, path: &dyn fmt::Display, mistakes: &mut Vec<Mistake>) -> Option<Source> {
    let present: Vec<&str> =
        [NODE_LABEL, NODE_ANNOTATION, NODE_FIELD].into_iter().filter(|key| entry.get(key).is_some()).collect();
    let [key] = present.as_slice() else {
        let found = if present.is_empty() { "none".to_owned() } else { present.join(" and ") };
        let problem =
            format!("expected exactly one of {NODE_LABEL}, {NODE_ANNOTATION} and {NODE_FIELD}, found {found}");
        mistakes.push(Mistake::new(path, &problem));
        return None;
    };
    let text = field(entry, path, key, Json::string, mistakes)?;
    let source = match *key {
        NODE_LABEL => KeyPattern::parse(&text, TargetKind::Label).map(Source::Label),
        NODE_ANNOTATION => KeyPattern::parse(&text, TargetKind::Annotation).map(Source::Annotation),
        _ => FieldPath::parse(&text).map(Source::Field),
    };
    source.map_err(|problem| mistakes.push(Mistake::new(&format_args!("{path}.{key}"), &problem))).ok()
}

fn read_targets(
    entry: &Object<'_>,
    path: &dyn fmt::Display,
    source: Option<&Source>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<(TargetKind, KeyPattern)> {
    let mut targets = Vec::new();
    for (key, kind) in [(POD_ANNOTATION, TargetKind::Annotation), (POD_LABEL, TargetKind::Label)] {
        let Some(text) = field(entry, path, key, Json::string, mistakes) else { continue };
        match KeyPattern::parse(&text, kind) {
            Ok(pattern) => targets.push((Some(key), kind, pattern)),
            Err(problem) => mistakes.push(Mistake::new(&format_args!("{path}.{key}"), &problem)),
        }
    }
    if entry.get(POD_ANNOTATION).is_none() && entry.get(POD_LABEL).is_none() {
        match source {
            Some(Source::Field(_)) => {
                let problem = format!("a {NODE_FIELD} needs a {POD_ANNOTATION} or a {POD_LABEL} to be written to");
                mistakes.push(Mistake::new(path, &problem));
            }
            Some(Source::Label(pattern) | Source::Annotation(pattern)) => {
                targets.push((None, TargetKind::Annotation, pattern.clone()));
            }
            None => {}
        }
    }
    for (key, kind, pattern) in &targets {
        let mut mistake = |problem: &str| match key {
            Some(key) => mistakes.push(Mistake::new(&format_args!("{path}.{key}"), problem)),
            None => mistakes.push(Mistake::new(path, problem)),
        };
        if let Some(reason) = kind.refuses(pattern.text()) {
            mistake(&format!("{} can't be a target: {reason}", quote(pattern.text())));
        }
        if source.is_some_and(|source| source.is_prefix() != pattern.is_prefix()) {
            mistake("source and target must both end with '*', or neither");
        }
    }
    targets.into_iter().map(|(_, kind, pattern)| (kind, pattern)).collect()
}

fn read_fallback(
    entry: &Object<'_>,
    path: &dyn fmt::Display,
    source: Option<&Source>,
    targets: &[(TargetKind, KeyPattern)],
    mistakes: &mut Vec<Mistake>,
) -> Fallback {
    let required = field(entry, path, REQUIRED, Json::boolean, mistakes).unwrap_or_default();
    let Some(default) = field(entry, path, DEFAULT, Json::string, mistakes) else {
        return if required { Fallback::Required } else { Fallback::Skip };
    };
    let mut mistake = |problem: String| mistakes.push(Mistake::new(&format_args!("{path}.{DEFAULT}"), &problem));
    if required {
        mistake(format!("a default is never used where {REQUIRED} is true; remove one of them"));
    }
    if source.is_some_and(Source::is_prefix) {
        mistake("a default needs a single key to be written to, and the source ends with '*'".to_owned());
    }
    if targets.iter().any(|(kind, _)| *kind == TargetKind::Label)
        && let Err(expected) = syntax::label_value(&default)
    {
        mistake(format!("{} can't be the value of a {POD_LABEL}, expected {expected}", quote(&default)));
    }
    Fallback::Default(default.into_owned())
}
