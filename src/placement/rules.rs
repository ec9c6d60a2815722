//! All rules for one request, built once.

use super::entry::MatchedEntry;
use super::mode::Mode;
use super::node_rules::NodeRules;
use super::toleration_rules::TolerationRules;
use crate::decision::Rejection;
use crate::request::User;
use crate::settings::OnNodeName;

/// The rules for one request.
#[derive(Debug)]
pub struct Rules<'s> {
    /// The nodes that are required, and those that may be requested.
    pub nodes: NodeRules<'s>,
    /// The tolerations that are added, and those that may be requested.
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
