//! The settings that choose one of a few behaviours.

use json::{Json, Object};

use super::Mistake;
use crate::text::quote;

/// A setting with a handful of values.
pub(super) trait Choice: Copy + Default + 'static {
    /// Its name in the settings.
    const FIELD: &'static str;
    /// How its values are written.
    const NAMES: &'static [&'static str];
    /// Its values, in the same order.
    const VALUES: &'static [Self];

    /// Reads the setting from `block`, which stands at `path`.
    fn read(block: &Object<'_>, path: &'static str) -> Result<Self, Mistake> {
        let chosen = read(block, path, Self::FIELD, Self::NAMES)?;
        Ok(chosen.and_then(|at| Self::VALUES.get(at)).copied().unwrap_or_default())
    }
}

/// Which of `names` stands under `field`; nothing, if nothing does.
fn read(block: &Object<'_>, path: &'static str, field: &str, names: &[&str]) -> Result<Option<usize>, Mistake> {
    let text = block.read(field, Json::string).map_err(|mismatch| Mistake::of(&path, mismatch))?;
    let Some(text) = text else { return Ok(None) };
    names.iter().position(|name| *name == text).map(Some).ok_or_else(|| {
        let problem = format!("found {}, expected one of {}", quote(&text), names.join(", "));
        Mistake::new(&format_args!("{path}.{field}"), &problem)
    })
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident as $field:literal { $($(#[$value_doc:meta])* $value:ident),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$value_doc])* $value),+ }

        impl Choice for $name {
            const FIELD: &'static str = $field;
            const NAMES: &'static [&'static str] = &[$(stringify!($value)),+];
            const VALUES: &'static [Self] = &[$(Self::$value),+];
        }
    };
}

choice! {
    /// What happens with node affinity that asks for more than the whitelist allows.
    OnNodeAffinity as "onNodeAffinity" {
        /// It is rejected, like such a nodeSelector.
        #[default]
        Check,
        /// It is free.
        Ignore
    }
}
choice! {
    /// What happens with a Pod that names its node, and so passes no scheduler.
    OnNodeName as "onNodeName" {
        /// The node is looked up, and must be one that the Pod may use.
        #[default]
        Verify,
        /// Rejected.
        Reject,
        /// Accepted.
        Ignore
    }
}
choice! {
    /// What happens with a workload whose Pods would be rejected.
    OnWorkloads as "onWorkloads" {
        /// Rejected.
        #[default]
        Reject,
        /// Accepted with a warning.
        Warn,
        /// Accepted; only its Pods are judged.
        Ignore
    }
}
choice! {
    /// What happens with the template of a DaemonSet.
    OnDaemonSets as "onDaemonSets" {
        /// The namespace selector is added to it; what would be rejected is rejected.
        #[default]
        Inject,
        /// Rejected unless it needs no injection.
        Reject,
        /// Accepted with a warning.
        Warn,
        /// Accepted.
        Ignore
    }
}
choice! {
    /// What happens with a Namespace whose annotations are malformed or not allowed.
    OnNamespaces as "onNamespaces" {
        /// Rejected.
        #[default]
        Reject,
        /// Accepted with a warning.
        Warn,
        /// Accepted.
        Ignore
    }
}
choice! {
    /// What happens with a Binding to a node that the namespace may not use.
    OnBindings as "onBindings" {
        /// The node is looked up, and must match the namespace selector.
        Verify,
        /// Accepted.
        #[default]
        Ignore
    }
}
choice! {
    /// What happens when the Node that metadata comes from can't be read.
    OnLookupFailure as "onLookupFailure" {
        /// Rejected; the scheduler tries again.
        #[default]
        Reject,
        /// Accepted with a warning; only defaults are written.
        Ignore
    }
}
