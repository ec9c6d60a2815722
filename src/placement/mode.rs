//! The kinds of requests: which rules are read for each.

/// The kind of a request. It decides which rules are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Creates a Pod.
    Create,
    /// Updates a Pod. What stays the same is not validated, so that a malformed annotation stops no other update.
    Update {
        /// Whether the nodeSelector or the required node affinity changes.
        selects: bool,
        /// Whether tolerations are added.
        tolerates: bool,
    },
    /// Writes an object with a Pod template.
    Template,
    /// Writes a Namespace. Settings that refer to a missing label are omitted: controllers often add labels after the
    /// creation.
    Namespace,
    /// Binds a Pod to a node. A Binding does not show the Pod, so several entries may apply. Annotations are omitted.
    Binding,
    /// Binds a Pod to a node. Only annotations are read, which apply with each entry.
    BindingByAnnotations,
}

impl Mode {
    /// Returns whether settings that can't be resolved are omitted.
    pub fn omits_unresolved(self) -> bool {
        self == Self::Namespace
    }

    /// Returns whether this is about a Binding.
    pub const fn is_binding(self) -> bool {
        matches!(self, Self::Binding | Self::BindingByAnnotations)
    }
}
