//! All rules that hold for one request, built once; and how what breaks them is answered.

use super::entry::MatchedEntry;
use super::node_rules::NodeRules;
use super::toleration_rules::TolerationRules;
use crate::decision::{Decision, Rejection};
use crate::request::User;
use crate::settings::OnNodeName;

/// What a request does. It decides which rules are read.
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
    /// Writes a Namespace. Settings that refer to a label which it lacks are left out: controllers often add labels
    /// after the creation.
    Namespace,
    /// Binds a Pod to a node. A Binding does not show the Pod, so several entries may apply. Annotations are left out.
    Binding,
    /// Binds a Pod to a node. Only annotations are read: what they say holds whichever entry applies.
    BindingByAnnotations,
}

impl Mode {
    /// Returns whether a setting is left out that could not be resolved, for this `rejection`.
    pub fn leaves_out(self, rejection: &Rejection) -> bool {
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

/// The rules that hold for one request.
#[derive(Debug)]
pub struct Rules<'s> {
    /// Which nodes are required and may be requested.
    pub nodes: NodeRules<'s>,
    /// Which tolerations are added and may be requested.
    pub tolerations: TolerationRules<'s>,
    /// Whether a Pod must not name just any node, even if none is required: for exempt users too, the namespace has a
    /// whitelist, or limits tolerations, or no Pod may name a node, nor select it by its name.
    pub limits_named_nodes: bool,
}

impl<'s> Rules<'s> {
    /// Returns the rules of the namespace for a request by `user`; without one, those for everybody.
    ///
    /// # Errors
    /// An annotation is malformed; requirements contradict each other; a reference can't be resolved; a default is
    /// forbidden; the settings have a mistake.
    pub fn for_request(matched: &MatchedEntry<'s>, user: Option<&User>, mode: Mode) -> Result<Self, Rejection> {
        let is_exempt = user.is_some_and(|user| matched.exempts(user));
        let nodes = NodeRules::new(matched, mode)?;
        let mut tolerations = TolerationRules::default();
        // Of exempt users who get no tolerations, annotations about them are not even read. The scheduler has compared
        // the taints with the Pod's own tolerations.
        let reads_tolerations = match mode {
            Mode::Create | Mode::Template | Mode::Namespace => true,
            Mode::Update { tolerates, .. } => tolerates && !is_exempt,
            Mode::Binding | Mode::BindingByAnnotations => !is_exempt && user != Some(&User::Scheduler),
        };
        if reads_tolerations {
            tolerations = TolerationRules::new(matched, mode)?;
        }
        let refuses_names = matched.settings.on_node_name == OnNodeName::Reject && nodes.forbid_hostname();
        let limits_named_nodes = nodes.whitelist.is_some() || tolerations.validates_anything() || refuses_names;
        if is_exempt {
            let (nodes, tolerations) = (nodes.without_limits(), tolerations.without_limits());
            return Ok(Self { nodes, tolerations, limits_named_nodes });
        }
        Ok(Self { nodes, tolerations, limits_named_nodes })
    }
}

impl Severity {
    /// Returns the verdict, or nothing after a rejection that is only reported.
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
