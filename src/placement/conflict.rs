//! Conflict: a Pod that contradicts its namespace matches no node.

use super::demands::{Demanded, NamespaceDemands};
use super::node_selection::NodeSelection;
use crate::decision::Rejection;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::Named;
use crate::selector::Requirement;
use crate::settings::Mode;

/// The in-tree sentence for a Pod that contradicts its namespace.
const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

/// Rejects a Pod whose nodeSelector has a value that its namespace rejects; and every Pod, where demands leave each other
/// no value: it would conflict with what was injected into it.
///
/// # Errors
/// The conflict.
///
/// Upstream: `labels.Conflicts`, for sets.
pub fn reject(selection: &NodeSelection, demands: &NamespaceDemands<'_>, named: &Named) -> Result<(), Rejection> {
    for Demanded { requirement, origin } in demands.requirements() {
        let key = requirement.key();
        if let Some(value) = selection.node_selector.get(key)
            && !requirement.accepts(Some(value))
        {
            return Err(in_tree_sentence(demands.settings.mode, CONFLICT, || {
                format!(
                    "the nodeSelector of {named} asks for {}, but {origin} demands {}; {}",
                    quote_pair(key, value),
                    shorten(&requirement.to_string()),
                    remedy(requirement)
                )
            }));
        }
    }
    reject_demands_without_a_value(demands, named)
}

fn reject_demands_without_a_value(demands: &NamespaceDemands<'_>, named: &Named) -> Result<(), Rejection> {
    for Demanded { requirement, origin } in demands.requirements() {
        let Some(value) = requirement.only_value() else { continue };
        let mut others = demands.requirements_on(requirement.key());
        if let Some(other) = others.find(|other| !other.requirement.accepts(Some(value))) {
            return Err(in_tree_sentence(demands.settings.mode, CONFLICT, || {
                format!(
                    "no node can be right for {named}: {origin} demands {}, and {} demands {}; change one of them",
                    quote_pair(requirement.key(), value),
                    other.origin,
                    shorten(&other.requirement.to_string())
                )
            }));
        }
    }
    Ok(())
}

/// The in-tree sentence, which stands alone where the policy is the in-tree plugin, and is explained otherwise.
pub(super) fn in_tree_sentence(mode: Mode, sentence: &str, explanation: impl FnOnce() -> String) -> Rejection {
    match mode {
        Mode::Plugin => Rejection::forbidden(sentence),
        Mode::Placement => Rejection::forbidden(format!("{sentence}: {}", explanation())),
    }
}

fn remedy(requirement: &Requirement) -> String {
    let key = shorten(requirement.key());
    match requirement.only_value() {
        Some(value) => format!("remove {key} from the nodeSelector, or set it to {}", quote(value)),
        None => format!("remove {key} from the nodeSelector, or choose a value that is accepted"),
    }
}
