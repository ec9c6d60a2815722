//! The block `nodeMetadata`.

use std::borrow::Cow;

use json::Outline;

use super::choice::Choice;
use super::fields::Fields;
use super::{FieldPath, KeyPattern, Mistake, OnLookupFailure, TargetKind};

pub(super) const BLOCK: &str = "nodeMetadata";
pub(super) const PROPAGATE: &str = "propagate";
const PROTECT: &str = "protect";
pub(super) const NODE_LABEL: &str = "nodeLabel";
pub(super) const NODE_ANNOTATION: &str = "nodeAnnotation";
const NODE_FIELD: &str = "nodeField";
pub(super) const POD_ANNOTATION: &str = "podAnnotation";
pub(super) const POD_LABEL: &str = "podLabel";
pub(super) const DEFAULT: &str = "default";
pub(super) const REQUIRED: &str = "required";
pub(super) const ENV: &str = "env";

/// The most that is written onto a Pod, in bytes of keys and values. A Pod may hold 256 KiB of annotations, and a Binding
/// does not show what it holds already.
pub const MOST_WRITTEN: usize = 16 * 1024;

/// What of the block is taken apart while the request is read.
pub(super) const OUTLINE: Outline = Outline::Object(&[(PROPAGATE, Outline::OBJECTS)]);

/// What the settings say about node metadata. Each setting is read when it is asked for.
#[derive(Debug)]
pub struct NodeMetadataBlock<'s> {
    pub(super) fields: Fields<'s>,
}

/// One thing that Pods learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Propagate {
    /// Where it stands on the Node.
    pub source: Source,
    /// Where it goes on the Pod: at least one place. All are prefixes if the source is one, and none otherwise.
    pub targets: Vec<Target>,
    /// What happens where the Node lacks it.
    pub fallback: Fallback,
    /// The environment variable that every container has it as.
    pub env: Option<String>,
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

/// Where on a Pod something goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// To its annotations, or its labels.
    pub kind: TargetKind,
    /// Under which key or keys.
    pub key: KeyPattern,
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

impl<'s> NodeMetadataBlock<'s> {
    pub(super) const fn new(fields: Fields<'s>) -> Self {
        Self { fields }
    }

    /// `propagate`: in order; of two that write the same key the later wins.
    ///
    /// # Errors
    /// The first value of a wrong type. Keys are not checked again: what is written is.
    pub fn propagate(&self) -> Result<Vec<Propagate>, Mistake> {
        let Some(list) = self.fields.list(PROPAGATE)? else { return Ok(Vec::new()) };
        let mut entries = Vec::with_capacity(list.len());
        for (position, element) in list.iter().enumerate() {
            entries.push(Propagate::read(&self.fields.element(PROPAGATE, position, element)?)?);
        }
        Ok(entries)
    }

    /// Whether any entry of `propagate` has an `env`.
    pub fn has_env(&self) -> bool {
        let Ok(Some(list)) = self.fields.list(PROPAGATE) else { return false };
        list.objects().flatten().any(|entry| entry.get(ENV).is_some())
    }

    /// `onLookupFailure`
    pub fn on_lookup_failure(&self) -> Result<OnLookupFailure, Mistake> {
        OnLookupFailure::read(&self.fields)
    }

    /// `protect`: whether managed keys belong to the policy alone.
    pub fn protect(&self) -> Result<bool, Mistake> {
        self.fields.boolean(PROTECT).map(Option::unwrap_or_default)
    }
}

impl Propagate {
    /// How much its default comes to, in bytes of keys and values.
    pub fn size_of_defaults(&self) -> usize {
        self.targets.iter().map(|target| self.size_of_default(target)).sum()
    }

    /// The same for one of its targets.
    pub fn size_of_default(&self, target: &Target) -> usize {
        match &self.fallback {
            Fallback::Default(default) => target.key.text().len() + default.len(),
            Fallback::Skip | Fallback::Required => 0,
        }
    }

    fn read(fields: &Fields<'_>) -> Result<Self, Mistake> {
        let source = read_source(fields)?;
        let mut targets = Vec::with_capacity(2);
        targets.extend(read_target(fields, TargetKind::Annotation)?);
        targets.extend(read_target(fields, TargetKind::Label)?);
        if targets.is_empty() {
            targets.push(own_target(fields, &source)?);
        }
        let fallback = match (read_default(fields)?, read_required(fields)?) {
            (Some(default), _) => Fallback::Default(default),
            (None, true) => Fallback::Required,
            (None, false) => Fallback::Skip,
        };
        Ok(Self { source, targets, fallback, env: fields.string(ENV)?.map(Cow::into_owned) })
    }
}

pub(super) fn read_source(fields: &Fields<'_>) -> Result<Source, Mistake> {
    let label = fields.string(NODE_LABEL)?;
    let annotation = fields.string(NODE_ANNOTATION)?;
    let field = fields.string(NODE_FIELD)?;
    match (label, annotation, field) {
        (Some(key), None, None) => Ok(Source::Label(KeyPattern::new(&key))),
        (None, Some(key), None) => Ok(Source::Annotation(KeyPattern::new(&key))),
        (None, None, Some(path)) => match FieldPath::parse(&path) {
            Ok(path) => Ok(Source::Field(path)),
            Err(problem) => Err(fields.mistake(NODE_FIELD, &problem)),
        },
        _ => {
            let present: Vec<&str> =
                [NODE_LABEL, NODE_ANNOTATION, NODE_FIELD].into_iter().filter(|name| fields.has(name)).collect();
            let found = if present.is_empty() { "none".to_owned() } else { present.join(" and ") };
            let problem =
                format!("expected exactly one of {NODE_LABEL}, {NODE_ANNOTATION} and {NODE_FIELD}, found {found}");
            Err(Mistake::new(&fields.place, &problem))
        }
    }
}

pub(super) fn read_target(fields: &Fields<'_>, kind: TargetKind) -> Result<Option<Target>, Mistake> {
    let Some(key) = fields.string(target_field(kind))? else { return Ok(None) };
    Ok(Some(Target { kind, key: KeyPattern::new(&key) }))
}

pub(super) const fn target_field(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::Annotation => POD_ANNOTATION,
        TargetKind::Label => POD_LABEL,
    }
}

/// The target of an entry that names none: the annotation of the source's key.
pub(super) fn own_target(fields: &Fields<'_>, source: &Source) -> Result<Target, Mistake> {
    match source {
        Source::Label(key) | Source::Annotation(key) => Ok(Target { kind: TargetKind::Annotation, key: key.clone() }),
        Source::Field(_) => {
            let problem = format!("a {NODE_FIELD} needs a {POD_ANNOTATION} or a {POD_LABEL} to be written to");
            Err(Mistake::new(&fields.place, &problem))
        }
    }
}

pub(super) fn read_default(fields: &Fields<'_>) -> Result<Option<String>, Mistake> {
    Ok(fields.string(DEFAULT)?.map(Cow::into_owned))
}

pub(super) fn read_required(fields: &Fields<'_>) -> Result<bool, Mistake> {
    Ok(fields.boolean(REQUIRED)?.unwrap_or_default())
}

impl Source {
    pub(super) const fn is_prefix(&self) -> bool {
        match self {
            Self::Label(key) | Self::Annotation(key) => key.is_prefix(),
            Self::Field(_) => false,
        }
    }
}
