//! Pods: judged and completed when they are created, judged again while they may still change.

use json::{Object, Within};

use super::demands::NamespaceDemands;
use super::injection::{self, Injected};
use super::node_selection::NodeSelection;
use super::{conflict, whitelist};
use crate::cluster::Cluster;
use crate::decision::Rejection;
use crate::object_meta::Named;
use crate::settings::Placement;

/// The path of a Pod's spec in the request.
pub const SPEC: &str = "object.spec";

/// What became of a Pod that is let in.
#[derive(Debug)]
pub struct Admitted<'d> {
    /// On which nodes it may run now.
    pub selection: NodeSelection,
    /// What was added.
    pub injected: Injected<'d>,
}

/// Judges what is being created, and adds what its namespace demands to `spec`, which stands at `path`.
///
/// # Errors
/// The first rule that the Pod breaks.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'d>(
    spec: &mut Object,
    path: &str,
    demands: &'d NamespaceDemands<'_>,
    named: &Named,
) -> Result<Admitted<'d>, Rejection> {
    let own = NodeSelection::read(spec).within(path)?;
    conflict::reject(&own, demands, named)?;
    let injected = injection::inject(spec, path, &own, demands, named)?;
    let selection = if injected.first().is_some() { NodeSelection::read(spec).within(path)? } else { own };
    whitelist::check(&selection, &injected, demands, named)?;
    Ok(Admitted { selection, injected })
}

/// Judges an update of a Pod: until it is bound, its nodeSelector and node affinity can still change.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn judge_update(
    spec: &Object,
    old_spec: &Object,
    settings: &Placement<'_>,
    namespace: &str,
    named: &Named,
    cluster: &impl Cluster,
) -> Result<(), Rejection> {
    // What the new object says is not validated yet, and trusted by nobody.
    if !old_spec.string("nodeName").within("oldObject.spec")?.is_empty() {
        return Ok(());
    }
    let selection = NodeSelection::read(spec).within(SPEC)?;
    if selection == NodeSelection::read(old_spec).within("oldObject.spec")? {
        return Ok(());
    }
    let demands = NamespaceDemands::look_up(settings, namespace, cluster)?;
    conflict::reject(&selection, &demands, named)?;
    whitelist::check(&selection, &Injected::default(), &demands, named)
}
