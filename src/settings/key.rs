//! Keys of labels and annotations, and the patterns that name many of them.

use std::collections::BTreeSet;

use crate::message::quote;
use crate::selector::syntax;

/// A label or annotation key, or every key with one prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyPattern {
    /// This key.
    Key(String),
    /// Every key that begins so; the prefix ends with its slash. Written with a trailing `*`.
    Prefix(String),
}

/// Labels that Pods must not select nodes by: keys, and prefixes with their slash.
#[derive(Clone, Debug, Default)]
pub struct ForbiddenLabels<'s>(BTreeSet<&'s str>);

impl<'s> ForbiddenLabels<'s> {
    /// Reads the elements of `forbiddenNodeLabels`.
    pub fn new(elements: &'s [String]) -> Self {
        let mut labels = BTreeSet::new();
        labels.extend(elements.iter().map(|element| element.strip_suffix('*').unwrap_or(element)));
        Self(labels)
    }

    /// Returns whether `key` is one of them, or has one of the prefixes.
    pub fn names(&self, key: &str) -> bool {
        self.0.contains(key) || prefix_of(key).is_some_and(|prefix| self.0.contains(prefix))
    }
}

/// The place on a Pod that a value is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetKind {
    /// `metadata.annotations`
    Annotation,
    /// `metadata.labels`
    Label,
}

/// Prefixes of labels that workload controllers and charts select Pods by. A Pod whose selected label changes
/// is orphaned, and its controller creates another.
const SELECTED_BY_WORKLOADS: [&str; 5] = [
    "app.kubernetes.io/",
    "apps.kubernetes.io/",
    "batch.kubernetes.io/",
    "statefulset.kubernetes.io/",
    "controller.kubernetes.io/",
];

/// Annotations that the kubelet trusts: what a Pod is, and where it came from (`ConfigMirrorAnnotationKey` and others).
const KUBELET_ANNOTATIONS: &str = "kubernetes.io/config.";

/// Annotations whose values the API server validates at every update of a Pod (`ValidatePodSpecificAnnotations`), and
/// not when a Binding adds them. A Pod with an invalid one can't be changed any more.
const VALIDATED_ANNOTATIONS: [&str; 3] = [
    "scheduler.alpha.kubernetes.io/tolerations",
    "seccomp.security.alpha.kubernetes.io/",
    "container.apparmor.security.beta.kubernetes.io/",
];

/// Returns what is before the name in `key`, with the slash: what a [`KeyPattern::Prefix`] is compared with.
pub fn prefix_of(key: &str) -> Option<&str> {
    key.get(..=key.find('/')?)
}

impl KeyPattern {
    /// Returns `text` as a key, or as a prefix and `*`; whether there can be such keys is not [checked](Self::check).
    pub fn new(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.to_owned()),
            None => Self::Key(text.to_owned()),
        }
    }

    /// Checks that there can be such keys of this kind.
    pub fn check(&self, kind: TargetKind) -> Result<(), String> {
        let Self::Prefix(before) = self else { return kind.check(self.text()) };
        match before.strip_suffix('/') {
            // A prefix is valid if it is one of some valid key.
            Some(prefix) if !prefix.is_empty() && !prefix.contains('*') => kind.check(&format!("{prefix}/x")),
            _ => Err(format!(
                "{} is invalid: a '*' stands directly after a prefix and its slash, as in example.com/*",
                quote(&format!("{before}*"))
            )),
        }
    }

    /// Returns whether this names many keys.
    pub const fn is_prefix(&self) -> bool {
        matches!(self, Self::Prefix(_))
    }

    /// Returns the rest of `key` after the prefix, or an empty text for a single key. Returns `None` if this pattern does
    /// not name it.
    pub fn rest<'k>(&self, key: &'k str) -> Option<&'k str> {
        match self {
            Self::Key(named) => (named == key).then_some(""),
            Self::Prefix(prefix) => key.strip_prefix(prefix.as_str()),
        }
    }

    /// Returns the key that this pattern names, given what follows its prefix.
    pub fn with_rest(&self, rest: &str) -> String {
        match self {
            Self::Key(key) => key.clone(),
            Self::Prefix(prefix) => format!("{prefix}{rest}"),
        }
    }

    /// Returns the pattern's text, without the `*`.
    pub fn text(&self) -> &str {
        match self {
            Self::Key(text) | Self::Prefix(text) => text,
        }
    }
}

impl TargetKind {
    /// Returns the member of `metadata` that holds the keys.
    pub const fn member(self) -> &'static str {
        match self {
            Self::Annotation => "annotations",
            Self::Label => "labels",
        }
    }

    /// Returns its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Label => "label",
        }
    }

    /// Checks that `key` is one that Kubernetes accepts.
    pub fn check(self, key: &str) -> Result<(), String> {
        let (checked, name) = match self {
            Self::Annotation => (syntax::annotation_key(key), "an annotation key"),
            Self::Label => (syntax::label_key(key), "a label key"),
        };
        checked.map_err(|expected| format!("{} is not {name}, expected {expected}", quote(key)))
    }

    /// Returns whether the API server validates the value of `key`.
    pub fn validates_value_of(self, key: &str) -> bool {
        self == Self::Annotation && VALIDATED_ANNOTATIONS.iter().any(|beginning| key.starts_with(beginning))
    }

    /// Returns whether `key` is an annotation that tells the kubelet where a Pod came from.
    pub fn is_for_kubelets(self, key: &str) -> bool {
        self == Self::Annotation && key.starts_with(KUBELET_ANNOTATIONS)
    }

    /// Returns why the policy must never write `key`, or keys that begin with it, to a Pod. Returns `None` if it can.
    pub fn refuses(self, key: &str) -> Option<&'static str> {
        match self {
            _ if self.is_for_kubelets(key) => {
                Some("annotations kubernetes.io/config.* tell the kubelet where a Pod came from, and are never written")
            }
            Self::Annotation if self.validates_value_of(key) => {
                Some("the API server validates its value, and a Pod with an invalid one could not be changed any more")
            }
            Self::Label if !key.contains('/') => Some(
                "a label without a prefix may be one that a workload selects its Pods by; give it a prefix, as in example.com/zone",
            ),
            Self::Label if SELECTED_BY_WORKLOADS.iter().any(|prefix| key.starts_with(prefix)) => Some(
                "workloads select their Pods by labels with this prefix, and a Pod whose label changes is orphaned; use a prefix of your own",
            ),
            _ => None,
        }
    }
}
