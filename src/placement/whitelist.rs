//! Whitelists: what the Pods of a namespace may ask for.

use super::conflict::in_tree_sentence;
use super::demands::NamespaceDemands;
use super::injection::Injected;
use super::node_affinity::Expression;
use super::node_selection::NodeSelection;
use crate::decision::Rejection;
use crate::message::{quote, quote_pair};
use crate::object_meta::Named;
use crate::selector::{Operator, Requirement, Whitelist};
use crate::settings::{OnNodeAffinity, Origin};

/// The in-tree sentence for a Pod that asks for more than its namespace allows.
const NOT_ALLOWED: &str = "pod node label selector labels conflict with its namespace whitelist";

/// Rejects a Pod that, after injection, asks for more than the whitelist of its namespace allows; `injected` is what it
/// did not ask for itself.
///
/// # Errors
/// What is not allowed, or a mistake in the settings.
///
/// Upstream: `isSubset` of the `PodNodeSelector` plugin, for sets and node affinity.
pub fn check(
    selection: &NodeSelection,
    injected: &Injected<'_>,
    demands: &NamespaceDemands<'_>,
    named: &Named,
) -> Result<(), Rejection> {
    let Some((whitelist, origin)) = demands.whitelist()? else { return Ok(()) };
    let refusal = Refusal { whitelist: &whitelist, origin: &origin, injected, demands, named };
    for (key, value) in selection.node_selector.iter() {
        if !whitelist.allows_value(key, value) {
            let requirement = Requirement::new(key.to_owned(), Operator::Equals, vec![value.to_owned()]).ok();
            return Err(refusal.of(&quote_pair(key, value), requirement.as_ref()));
        }
    }
    if demands.settings.on_node_affinity()? == OnNodeAffinity::Ignore {
        return Ok(());
    }
    for expression in selection.terms.iter().flatten().flat_map(|term| &term.expressions) {
        if !allows(&whitelist, expression) {
            let asked = format!("node affinity {}", quote(&expression.to_string()));
            return Err(refusal.of(&asked, expression.requirement.as_ref()));
        }
    }
    Ok(())
}

fn allows(whitelist: &Whitelist, expression: &Expression) -> bool {
    match &expression.requirement {
        Some(requirement) => whitelist.allows(requirement),
        // It matches no node; but only where any value goes is it nobody's business.
        None => whitelist.allows_any_value(&expression.key),
    }
}

/// Words for what a whitelist does not allow.
struct Refusal<'r> {
    whitelist: &'r Whitelist,
    origin: &'r Origin,
    injected: &'r Injected<'r>,
    demands: &'r NamespaceDemands<'r>,
    named: &'r Named,
}

impl Refusal<'_> {
    /// The rejection of `asked`, which is `requirement`, if it is one at all.
    fn of(&self, asked: &str, requirement: Option<&Requirement>) -> Rejection {
        let whitelist = format!("{} ({})", self.origin, quote(&self.whitelist.selector().to_string()));
        let added = requirement.and_then(|requirement| self.injected.demanded(requirement));
        in_tree_sentence(self.demands.settings.mode, NOT_ALLOWED, || match added {
            Some(demanded) => format!(
                "{} adds {asked} to {}, which {whitelist} does not allow; change one of the two, or no Pod of namespace {} \
                 can be created",
                demanded.origin,
                self.named,
                quote(&self.demands.namespace)
            ),
            None => {
                format!(
                    "{} asks for {asked}, which {whitelist} does not allow; remove it, or have it allowed",
                    self.named
                )
            }
        })
    }
}
