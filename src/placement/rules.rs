//! All rules for one request, built once, and how a rejection is answered.

use super::entry::MatchedEntry;
use super::node_rules::NodeRules;
use super::toleration_rules::TolerationRules;
use crate::decision::{Decision, Rejection};
use crate::request::User;
use crate::settings::OnNodeName;

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
    /// Returns whether a setting is omitted because it could not be resolved.
    pub fn omits(self, rejection: &Rejection) -> bool {
        self == Self::Namespace && rejection.is_unresolved()
    }

    /// Returns whether this is about a Binding.
    pub const fn is_binding(self) -> bool {
        matches!(self, Self::Binding | Self::BindingByAnnotations)
    }
}

/// How the rejection of a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The request is rejected.
    Reject,
    /// The entry has `enforcement: Warn`: the request is accepted as it came, and a warning says what would happen.
    WouldBe,
    /// An `on…` setting is `Warn`: the request is accepted with a warning.
    WarnInstead,
}

/// The rules for one request.
#[derive(Debug)]
pub struct Rules<'s> {
    /// Which nodes are required and may be requested.
    pub nodes: NodeRules<'s>,
    /// Which tolerations are added and may be requested.
    pub tolerations: TolerationRules<'s>,
    /// Whether the node that a Pod names is checked although no node selector is required. This is the same for exempt
    /// users.
    pub limits_named_nodes: bool,
}

impl<'s> Rules<'s> {
    /// Returns the rules of the namespace for a request by `user`. Without a user, nobody is exempt.
    ///
    /// # Errors
    /// An annotation is malformed; requirements contradict each other; a reference can't be resolved; a default is
    /// forbidden; the settings have a mistake.
    pub fn for_request(matched: &MatchedEntry<'s>, user: Option<&User>, mode: Mode) -> Result<Self, Rejection> {
        let is_exempt = user.is_some_and(|user| matched.exempts(user));
        let nodes = NodeRules::new(matched, mode)?;
        let mut tolerations = TolerationRules::default();
        // If exempt users get no tolerations, annotations about them are not read. The scheduler has compared the taints
        // with the Pod's own tolerations.
        let reads_tolerations = match mode {
            Mode::Create | Mode::Template | Mode::Namespace => true,
            Mode::Update { tolerates, .. } => tolerates && !is_exempt,
            Mode::Binding | Mode::BindingByAnnotations => !is_exempt && user != Some(&User::Scheduler),
        };
        if reads_tolerations {
            tolerations = TolerationRules::new(matched, mode)?;
        }
        let refuses_names = matched.settings.on_node_name == OnNodeName::Reject && nodes.forbids_hostname();
        let limits_named_nodes = nodes.whitelist.is_some() || tolerations.validates_anything() || refuses_names;
        if is_exempt {
            let (nodes, tolerations) = (nodes.without_limits(), tolerations.without_limits());
            return Ok(Self { nodes, tolerations, limits_named_nodes });
        }
        Ok(Self { nodes, tolerations, limits_named_nodes })
    }
}

impl Severity {
    /// Returns the value of a verdict, or reports the rejection and returns `None`.
    ///
    /// # Errors
    /// The rejection.
    pub fn answer<T>(self, verdict: Result<T, Rejection>, decision: &mut Decision<'_>) -> Result<Option<T>, Rejection> {
        match verdict {
            Ok(value) => Ok(Some(value)),
            Err(rejection) => self.report(rejection, decision).map(|()| None),
        }
    }

    fn report(self, rejection: Rejection, decision: &mut Decision<'_>) -> Result<(), Rejection> {
        match self {
            Self::WouldBe if rejection.is_forbidden() => decision.would_reject(&rejection),
            Self::WarnInstead if !rejection.is_bad_request() => decision.warn_instead(&rejection),
            _ => return Err(rejection),
        }
        Ok(())
    }
}
