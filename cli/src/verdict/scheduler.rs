//! Where Pods can run, and whether the policies let them be bound there.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use anyhow::Result;
use node_placement_policy::selector::Requirement;
use serde_json::{Value, json};

use super::{Draft, Verdict};
use crate::{
    cluster::manifests::Manifests,
    places::{
        fit::{Fit, Unevaluated},
        node_map::{Machines, NodeMap, NodeTraits, Place, Pool},
        node_pool::NodePool,
        pod::{PodNeeds, SpecNeeds},
    },
    rules::namespace::NamespaceRules,
    webhook::{
        binding_rules::BindingRules,
        deployment::{Admission, Deployment, Scenario, ScenarioId, Target},
        pods::{ANY_POD, CREATED},
    },
};

/// Every place, and whether a Pod can run there.
pub type Fits = Rc<[(Place, Fit)]>;

/// What namespaces require of labels of nodes, by scenario and namespace.
type Required = HashMap<(ScenarioId, String), Rc<[Requirement]>>;

/// Stands for the scheduler: where a Pod can run, and whether it can be bound there.
///
/// One Binding stands for all Pods of a namespace and all nodes of a pool.
pub struct Scheduler<'c> {
    cluster: &'c Manifests,
    /// The name of the Pod in Bindings.
    pod: &'c str,
    /// The nodes, in pools that give one answer each.
    pub map: NodeMap,
    fits: RefCell<HashMap<*const PodNeeds, (Rc<PodNeeds>, Fits)>>,
    /// By scenario, namespace and node; of a node that Karpenter would create, the whole object.
    bindings: RefCell<HashMap<(ScenarioId, String, String), Admission>>,
    required: RefCell<Required>,
}

impl<'c> Scheduler<'c> {
    /// Sorts the nodes of a cluster into pools: by the labels of these keys, by what Pods require, and by what decides on
    /// Bindings in the deployments.
    ///
    /// # Errors
    /// A Node or a NodePool can't be read.
    pub fn new<'p>(
        cluster: &'c Manifests,
        labels: BTreeSet<String>,
        deployments: &[&Deployment<'_>],
        pods: impl IntoIterator<Item = &'p PodNeeds>,
    ) -> Result<Self> {
        let mut traits = NodeTraits { labels, each_node: false };
        for BindingRules { labels, is_of_each_node, reads_target, .. } in deployments.iter().map(|it| &it.binding_rules)
        {
            traits.labels.extend(labels.iter().cloned());
            traits.each_node |= *is_of_each_node || *reads_target;
        }
        let map = NodeMap::new(Machines::read(cluster)?, traits, pods)?;
        let (fits, bindings, required) = (RefCell::default(), RefCell::default(), RefCell::default());
        Ok(Self { cluster, pod: ANY_POD, map, fits, bindings, required })
    }

    /// Returns the same with the name of a Pod, the only one that it is asked about.
    #[must_use]
    pub fn for_pod(self, name: Option<&'c str>) -> Self {
        Self { pod: name.unwrap_or(ANY_POD), ..self }
    }

    /// Returns where a Pod of a namespace can run, and be bound.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn places(&self, namespace: &str, pod: &Rc<PodNeeds>, scenario: Scenario<'_>) -> Result<Fits> {
        let fits = self.fits(pod);
        let may_refuse = scenario.deployment().is_some_and(|deployment| deployment.binding_rules.may_refuse());
        if !may_refuse || !fits.iter().any(|(_, fit)| fit.is_accepted()) {
            return Ok(fits);
        }
        let binder = Binder { scheduler: self, namespace, scenario };
        let mut bound = Vec::with_capacity(fits.len());
        for (place, fit) in fits.iter() {
            let refused = if fit.is_accepted() { binder.refused_at(pod, *place)? } else { None };
            bound.push((*place, refused.unwrap_or_else(|| fit.clone())));
        }
        Ok(bound.into())
    }

    /// Returns what becomes of a draft, and where its Pods can run and be bound.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn verdict(&self, namespace: &str, draft: &Draft, scenario: Scenario<'_>) -> Result<Verdict> {
        let Draft { admission, needs } = draft;
        let places = needs.as_ref().map(|needs| self.places(namespace, needs, scenario)).transpose()?;
        // A Pod that was created without asking the policy may still be refused at its Binding.
        let requires_metadata = scenario.deployment().is_some_and(|it| it.binding_rules.require_metadata());
        let may_depend = requires_metadata || matches!(admission, Admission::NotSent(_));
        Ok(Verdict {
            admission: admission.clone(),
            needs: needs.clone(),
            places: places.unwrap_or_default(),
            depends_on_bindings: may_depend && self.may_refuse_bindings(namespace, scenario)?,
        })
    }

    /// Returns whether a policy gets Bindings of a namespace, and may refuse them.
    fn may_refuse_bindings(&self, namespace: &str, scenario: Scenario<'_>) -> Result<bool> {
        if !scenario.deployment().is_some_and(|deployment| deployment.binding_rules.may_refuse()) {
            return Ok(false);
        }
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": CREATED } });
        let binder = Binder { scheduler: self, namespace, scenario };
        Ok(!matches!(binder.bind_to_created(&node)?, Admission::NotSent(_)))
    }

    /// Returns where a Pod could run if no policy judged its Binding. The answer is kept for each `pod`.
    fn fits(&self, pod: &Rc<PodNeeds>) -> Fits {
        let mut known = self.fits.borrow_mut();
        let (_, fits) = known.entry(Rc::as_ptr(pod)).or_insert_with(|| (pod.clone(), self.map.fits(pod).into()));
        fits.clone()
    }
}

/// Sends the Bindings of a namespace.
struct Binder<'b> {
    scheduler: &'b Scheduler<'b>,
    namespace: &'b str,
    scenario: Scenario<'b>,
}

impl Binder<'_> {
    /// Returns why a Pod can't be bound in a place where it could run, or why that could not be evaluated.
    fn refused_at(&self, pod: &PodNeeds, place: Place) -> Result<Option<Fit>> {
        let Some(pool) = self.scheduler.map.pools.get(place.pool()) else { return Ok(None) };
        match (place, &pool.creates, pod.own()) {
            (Place::NodePool(_), Some(node_pool), Some(own)) => self.refused_by(pod, own, node_pool),
            _ => Ok(refused(self.bind_to_node_of(pool)?)),
        }
    }

    /// Returns why a Pod can't be bound to a node that Karpenter would create. The answer is that of the nodes of the
    /// NodePool which accept the Pod; without such, that of a node with what the NodePool says.
    fn refused_by(&self, pod: &PodNeeds, own: &SpecNeeds, node_pool: &NodePool) -> Result<Option<Fit>> {
        let map = &self.scheduler.map;
        let reads_target = self.scenario.deployment().is_some_and(|it| it.binding_rules.reads_target);
        let is_of_it = |other: &&Pool| {
            !reads_target && other.node_pool.as_ref() == Some(&node_pool.name) && !other.nodes.is_empty()
        };
        let accepts = |other: &&Pool| map.fit_nodes(other, pod).is_some_and(|fit| fit.is_accepted());
        let known = map.pools.iter().filter(is_of_it).find(accepts);
        let node = match known.and_then(|pool| self.scheduler.cluster.node(&pool.nodes.first()?.name)) {
            Some(node) => node.clone(),
            None => node_pool.node_for(own),
        };
        let first = match known {
            Some(pool) => self.bind_to_node_of(pool)?,
            None => self.bind_to_created(&node)?,
        };
        match first {
            Admission::Refused(refusal) if known.is_none() && refusal.is_about_metadata() => {
                return Ok(Some(Fit::Unknown(Unevaluated::Created(refusal))));
            }
            Admission::Refused(_) | Admission::Unknown(_) => return Ok(refused(first)),
            Admission::NotSent(_) | Admission::Admitted { .. } => {}
        }
        // Where the node may have other values than the namespace requires, it may be refused.
        for (key, value) in node_pool.labels_against(own, self.required()?.iter()) {
            let mut other = node.clone();
            other["metadata"]["labels"][key] = value.into();
            match self.bind_to_created(&other)? {
                Admission::Refused(refusal) => return Ok(Some(Fit::Unknown(Unevaluated::Created(refusal)))),
                Admission::Unknown(gap) => return Ok(Some(Fit::Unknown(Unevaluated::Binding(gap)))),
                Admission::NotSent(_) | Admission::Admitted { .. } => {}
            }
        }
        Ok(None)
    }

    /// Returns what the namespace requires of labels of nodes. The answer is kept.
    fn required(&self) -> Result<Rc<[Requirement]>> {
        let key = (self.scenario.id(), self.namespace.to_owned());
        if let Some(known) = self.scheduler.required.borrow().get(&key) {
            return Ok(known.clone());
        }
        let files = self.scenario.deployment().map(|deployment| deployment.files).unwrap_or_default();
        let namespace = self.scheduler.cluster.namespace(self.namespace);
        let required: Rc<[Requirement]> = NamespaceRules::new(files, self.namespace, namespace)?.requirements().into();
        self.scheduler.required.borrow_mut().insert(key, required.clone());
        Ok(required)
    }

    fn bind_to_node_of(&self, pool: &Pool) -> Result<Admission> {
        match pool.nodes.first() {
            Some(node) => self.bind(node.name.clone(), Target::Existing(&node.name)),
            None => Ok(Admission::default()),
        }
    }

    fn bind_to_created(&self, node: &Value) -> Result<Admission> {
        self.bind(node.to_string(), Target::Created(node))
    }

    fn bind(&self, node: String, target: Target<'_>) -> Result<Admission> {
        let Scheduler { cluster, pod, bindings, .. } = self.scheduler;
        let key = (self.scenario.id(), self.namespace.to_owned(), node);
        if let Some(known) = bindings.borrow().get(&key) {
            return Ok(known.clone());
        }
        let admission = self.scenario.bind(self.namespace, pod, target, cluster)?.admission;
        bindings.borrow_mut().insert(key, admission.clone());
        Ok(admission)
    }
}

/// Returns what a Binding that is not accepted means for the place.
fn refused(admission: Admission) -> Option<Fit> {
    match admission {
        Admission::Refused(refusal) => Some(Fit::Unbindable(refusal)),
        Admission::Unknown(gap) => Some(Fit::Unknown(Unevaluated::Binding(gap))),
        Admission::NotSent(_) | Admission::Admitted { .. } => None,
    }
}
