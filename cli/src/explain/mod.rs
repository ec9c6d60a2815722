//! What applies in a namespace, and where its Pods run, wait, or are refused: as data, which `docs/explain.schema.json`
//! describes.
//!
//! - [`rules`]: which entry applies, and what is required
//! - [`subject`]: the Pod or workload that is explained
//! - [`fit`]: which pools can run it
//! - [`reason`]: what excludes it from the others

pub mod fit;
pub mod reason;
pub mod rules;
pub mod subject;

use std::rc::Rc;

use anyhow::{Context, Result};
use node_placement_policy::{
    resource::Resource,
    selector::{Requirement, Selector},
};
use serde::Serialize;
use serde_json::Value;

use self::{
    fit::{Fence, Fit, Refused},
    rules::Rules,
    subject::{ExplainedSubject, SubjectName, find},
};
use crate::{
    cluster::{
        Cluster, Gap, Kind, Workload,
        controllers::controller_of,
        manifests::{Identity, Manifests},
        pod_template::{check_types, template},
    },
    engine::policy::Policy,
    input::json::{remove, text, title},
    places::pod::PodNeeds,
    rules::{Rule, RuleKind},
    verdict::{Created, PodSpecs, Scheduler, Subject, World},
    webhook::{
        deployment::{Deployment, Of, Scenario},
        settings_file::{SettingsFile, label_keys_of_files},
    },
};

/// What applies in a namespace, and what becomes of one of its Pods.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The name of the namespace.
    pub namespace: String,
    #[serde(flatten)]
    pub rules: Rules,
    /// A Pod of the namespace, or a workload.
    pub subject: ExplainedSubject,
    /// What keeps the namespace, or the subject, away from the policy; null, if nothing does.
    pub not_asked: Option<String>,
    /// What could not be evaluated, since the cluster as given lacks something.
    pub unknown: Vec<String>,
    /// Commands that tell more.
    #[serde(skip)]
    pub commands: Vec<String>,
    /// Whether the subject could not be evaluated.
    #[serde(skip)]
    pub is_unknown: bool,
}

/// Returns what applies in `namespace`, and what becomes of one of its Pods or workloads; of a Pod that requests nothing,
/// if none is named.
///
/// # Errors
/// The namespace or the subject is not there, or the policy failed to answer.
pub fn explain(
    policy: &Policy,
    files: &[SettingsFile],
    cluster: &Manifests,
    namespace: &str,
    subject: Option<&SubjectName>,
) -> Result<Explanation> {
    let namespace_object = find(Resource::Namespace, None, namespace, cluster)?;
    let object = subject.map(|subject| find(subject.resource, Some(namespace), &subject.name, cluster)).transpose()?;
    let pod = object.map(|object| template(object).unwrap_or(object));
    let (rules, of_namespace) = Rules::read(files, namespace, namespace_object, pod)?;
    let unlisted = cluster.unlisted.iter();
    let mut explanation = Explanation {
        namespace: namespace.to_owned(),
        rules,
        subject: ExplainedSubject::new(subject, object, cluster),
        unknown: unlisted.map(|it| format!("{} could not be listed: {}", it.resource, it.reason)).collect(),
        ..Explanation::default()
    };
    explanation.unknown.extend(unread_node_pools(cluster));
    let controller = object.and_then(|object| controller_of(object, cluster));
    for object in object.into_iter().chain(controller) {
        check_types(object).with_context(|| title(object))?;
    }
    let deployment = Deployment::new(policy, files);
    let world = World::new(cluster);
    let explainer = Explainer { deployment: &deployment, world: &world, files, namespace, object, controller };
    let created = explainer.create(Scenario::With(&deployment))?;
    explanation.add_fit(&explainer, &created, &of_namespace)?;
    let refused = explainer.refusal(&created)?;
    if is_refusal(refused.as_ref()) {
        explanation.subject.with_policy = Fit::default();
    }
    explanation.subject.with_policy.refused = refused;
    explanation.add_commands();
    Ok(explanation)
}

/// What is explained, and the policies that are asked about it.
struct Explainer<'c> {
    deployment: &'c Deployment<'c>,
    world: &'c World<'c>,
    files: &'c [SettingsFile],
    namespace: &'c str,
    /// Nothing for a Pod that requests nothing.
    object: Option<&'c Value>,
    /// What makes the object, if the cluster has it.
    controller: Option<&'c Value>,
}

impl Explainer<'_> {
    fn create(&self, scenario: Scenario<'_>) -> Result<Created> {
        let subject = match self.object {
            Some(object) => Subject::Anew { object, maker: self.controller, others: None },
            None => Subject::Plain(self.namespace),
        };
        self.world.create(subject, scenario)
    }

    /// Returns why the subject, or a part of it, is refused; or would be, were everything enforced.
    fn refusal(&self, created: &Created) -> Result<Option<Refused>> {
        let enforced = Scenario::Enforced(self.deployment);
        let mut refusal = refused(created, &self.create(enforced)?, "");
        let parts = self.object.map(|object| older_parts(object, self.world.cluster)).transpose()?;
        for part in parts.into_iter().flatten() {
            let name = format!("its {} {}: ", text(&part["kind"]), text(&part["metadata"]["name"]));
            let subject = Subject::Anew { object: &part, maker: None, others: None };
            let created = self.world.create(subject, Scenario::With(self.deployment))?;
            let of_part = refused(&created, &self.world.create(subject, enforced)?, &name);
            if !is_refusal(refusal.as_ref()) && of_part.is_some() {
                refusal = of_part;
            }
        }
        Ok(refusal)
    }

    /// Returns the PodSpecs of the subject without the policy.
    fn specs_without_policy(&self) -> Result<PodSpecs> {
        let Some(pod) = self.object.filter(|object| object["kind"] == "Pod") else {
            return Ok(self.create(Scenario::Without)?.specs().unwrap_or_default());
        };
        let mut spec = pod["spec"].clone();
        // Nothing says who chose the node of a Pod that is bound.
        remove(&mut spec, &["nodeName"]);
        Ok(vec![spec])
    }

    fn needs(&self, specs: &[Value]) -> Result<Rc<PodNeeds>> {
        self.world.needs(specs).with_context(|| self.object.map_or_else(|| "a Pod".to_owned(), title))
    }
}

/// Returns the NodePools of a version that is not read.
fn unread_node_pools(cluster: &Manifests) -> impl Iterator<Item = String> {
    let is_unread = |identity: &&Identity| {
        Kind::of_any_version(identity.group(), &identity.kind) == Some(Kind::NodePool)
            && identity.api_version != Kind::NodePool.api_version()
    };
    let identities = cluster.objects().iter().map(|object| &object.identity).filter(is_unread);
    identities.map(|identity| {
        let version = &identity.api_version;
        format!("{identity} has apiVersion {version}, which is not read; list it anew, as nodepools.v1.karpenter.sh")
    })
}

fn is_refusal(refused: Option<&Refused>) -> bool {
    refused.is_some_and(|refused| !refused.would_be)
}

/// Returns why something is refused, if it is, or would be. It may be a `part` of the subject.
fn refused(created: &Created, enforced: &Created, part: &str) -> Option<Refused> {
    if created.unknown().is_some() {
        return None;
    }
    let (would_be, refusal) = match (created.refusal(), enforced.refusal()) {
        (Some(refusal), _) => (false, refusal),
        (None, Some(refusal)) if enforced.unknown().is_none() => (true, refusal),
        (None, _) => return None,
    };
    let is_of_pods = refusal.of == Of::ItsPods;
    let pods = if is_of_pods { "its Pods are refused: " } else { "" };
    let text = format!("{part}{pods}{}", refusal.message);
    Some(Refused { text, would_be, is_of_pods: is_of_pods && part.is_empty() })
}

/// Returns the ReplicaSets or Jobs of a workload that still make Pods from an older template.
fn older_parts(object: &Value, cluster: &Manifests) -> Result<Vec<Value>> {
    let cluster = Cluster::new(cluster)?;
    let is_it = |workload: &&Workload| {
        let (kind, identity) = (&object["kind"], &workload.json.identity);
        *kind == identity.kind.as_str()
            && object["metadata"]["name"] == identity.name.as_str()
            && object["metadata"]["namespace"].as_str() == identity.namespace.as_deref()
    };
    let revisions = cluster.workloads.iter().find(is_it).map(|workload| workload.revisions.as_slice());
    let templates = revisions.unwrap_or_default().iter().filter_map(|revision| revision.template.as_ref().ok());
    Ok(templates.map(|template| template.json.parse()).collect())
}

/// Finds the places of a subject.
struct PlaceFinder<'f> {
    scheduler: Scheduler<'f>,
    explainer: &'f Explainer<'f>,
    rules: &'f [Rule],
}

impl PlaceFinder<'_> {
    /// Returns where a Pod fits. If `is_fenced`, its labels may be those that the policy requires.
    fn find(&self, pod: &Rc<PodNeeds>, scenario: Scenario<'_>, is_fenced: bool) -> Result<Fit> {
        let Self { scheduler, explainer, rules } = self;
        let rules = if is_fenced { *rules } else { &[] };
        let mut fit = Fit::new(&scheduler.map, &scheduler.places(explainer.namespace, pod, scenario)?, rules);
        if fit.usable().next().is_none() && !fit.too_small.is_empty() {
            let unfenced = pod.without(&required(rules));
            let places = Fit::new(&scheduler.map, &scheduler.map.fits(&unfenced), &[]);
            fit.fence = Fence::new(&places, rules);
        }
        Ok(fit)
    }
}

/// Returns what settings and annotations require of labels of nodes.
fn required(rules: &[Rule]) -> Vec<Requirement> {
    let required = rules.iter().filter(|rule| rule.kind == RuleKind::Required);
    required.flat_map(|rule| &rule.selector).flat_map(Selector::requirements).cloned().collect()
}

impl Explanation {
    /// Finds the pools that the subject fits, as it is and as it would be created now.
    fn add_fit(&mut self, explainer: &Explainer<'_>, created: &Created, rules: &[Rule]) -> Result<()> {
        let Explainer { deployment, world, files, .. } = explainer;
        let specs_without = explainer.specs_without_policy()?;
        let as_is = explainer.needs(&specs_without)?;
        let unknown = created.unknown();
        let specs = created.specs().filter(|_| unknown.is_none() && created.refusal().is_none());
        let as_new = specs.as_ref().map(|specs| explainer.needs(specs)).transpose()?;
        let required = required(rules);
        let unfenced: Vec<PodNeeds> =
            [Some(&as_is), as_new.as_ref()].into_iter().flatten().map(|needs| needs.without(&required)).collect();
        let pods = [&as_is].into_iter().chain(&as_new).map(|needs| &**needs).chain(&unfenced);
        let scheduler = Scheduler::new(world.cluster, label_keys_of_files(files), &[deployment], pods)?;
        let name = self.subject.name.clone().filter(|_| self.subject.is_pod());
        let places = PlaceFinder { scheduler: scheduler.for_pod(name.as_deref()), explainer, rules };
        if places.scheduler.map.pools.is_empty() {
            self.unknown.push(Gap::Nodes.advice());
        }
        let subject = &mut self.subject;
        // The scheduler binds a Pod that waits, or one that is created now, only where the policy lets it.
        let bound = if subject.is_waiting() { Scenario::With(deployment) } else { Scenario::Without };
        // A Pod's own selector and an injected one look alike; only the new Pod shows what the policy added.
        subject.without_policy = places.find(&as_is, bound, subject.is_pod())?;
        if let Some(as_new) = &as_new {
            subject.with_policy = places.find(as_new, Scenario::With(deployment), true)?;
        }
        if let Some(gap) = unknown {
            self.is_unknown = true;
            self.unknown.push(gap.advice());
        } else if let Some(specs) = specs {
            self.not_asked = created.not_sent().map(ToString::to_string);
            let mut pools = subject.without_policy.pools.iter().zip(&subject.with_policy.pools);
            subject.leaves_nodes =
                specs.len() > 1 && specs_without != specs && pools.any(|(without, with)| without.fits && !with.fits);
        }
        Ok(())
    }

    /// Returns whether the subject can't be created now.
    pub fn is_refused(&self) -> bool {
        is_refusal(self.subject.with_policy.refused.as_ref())
    }

    /// Events of the cluster tell what can't be computed here: how full nodes are, what a volume needs.
    fn add_commands(&mut self) {
        let ExplainedSubject { name, without_policy, .. } = &self.subject;
        let Some(name) = name else { return };
        let waits_for_something_else = self.subject.is_waiting() && without_policy.pools.iter().any(|pool| pool.fits);
        if waits_for_something_else || !self.subject.is_pod() {
            // A workload has no events of the scheduler; its name is a prefix of those of its Pods, which kubectl takes.
            self.commands.push(format!("kubectl describe pod {name} -n {}", self.namespace));
        }
    }
}
