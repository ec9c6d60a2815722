//! The settings that choose one of a few behaviours.

use super::Mistake;
use super::fields::Fields;
use crate::message::quote;

/// A setting with a handful of values.
pub(super) trait Choice: Copy + Default + 'static {
    /// Its name in the settings.
    const FIELD: &'static str;
    /// Its values, each as it is written.
    const VALUES: &'static [(&'static str, Self)];

    /// Reads the setting from `fields`.
    fn read(fields: &Fields<'_>) -> Result<Self, Mistake> {
        let Some(written) = fields.value(Self::FIELD) else { return Ok(Self::default()) };
        let found = match written.string() {
            Ok(text) => match Self::VALUES.iter().find(|(name, _)| *name == text) {
                Some((_, value)) => return Ok(*value),
                None => quote(&text),
            },
            Err(_) => written.kind().to_string(),
        };
        let names: Vec<&str> = Self::VALUES.iter().map(|(name, _)| *name).collect();
        Err(fields.mistake(Self::FIELD, &format!("found {found}, expected one of {}", names.join(", "))))
    }
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident as $field:literal { $($(#[$value_doc:meta])* $value:ident),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$value_doc])* $value),+ }

        impl Choice for $name {
            const FIELD: &'static str = $field;
            const VALUES: &'static [(&'static str, Self)] = &[$((stringify!($value), Self::$value)),+];
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
        /// The namespace's node selector is added to it; what would be rejected is rejected.
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
        /// The node is looked up, and must match the namespace's node selector.
        Verify,
        /// Accepted.
        #[default]
        Ignore
    }
}
choice! {
    /// What happens where a kubelet gives its Node a label that a node selector of the settings names.
    OnNodes as "onNodes" {
        /// Rejected, the creation of a Node with such a label too.
        Reject,
        /// Rejected; but a Node may be created with such a label.
        RejectChanges,
        /// Accepted.
        #[default]
        Ignore
    }
}
choice! {
    /// What the annotations of namespaces about tolerations count for.
    OnTolerationAnnotations as "onTolerationAnnotations" {
        /// Their defaults are added to Pods, and their whitelist narrows what the settings allow.
        Honor,
        /// Nothing.
        #[default]
        Ignore
    }
}
choice! {
    /// What is done for Pods that request extended resources, such as GPUs.
    OnExtendedResources as "onExtendedResources" {
        /// They tolerate taints with the resource as key.
        Tolerate,
        /// Nothing.
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
