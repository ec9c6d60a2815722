//! A trial: requests are put to the policies of a deployment, in front of a cluster that is written down.
//!
//! `test` compares what they answer with what is expected; `try` shows it, with what becomes of the Pods of a workload.

use anyhow::{Context, Result, ensure};
use node_placement_policy::resource::Resource;
use serde::Serialize;
use serde_json::Value;

use crate::{
    Answer, Evaluation, Identity, ManagedKeys, Manifests, SettingsFile,
    cluster::{Gap, Kind},
    engine::additions::additions,
    explain::{
        fit::{Fit, PoolFit},
        rules::Rules,
    },
    input::json::text,
    verdict::{PodSpecs, Scheduler, Subject, World},
    webhook::{
        deployment::{Admission, Deployment, Review, Scenario, Target},
        pods::{ANY_POD, bound_pod, environment},
        request::Request,
        settings_file::label_keys_of_files,
    },
};

/// A deployment of the policy, and the cluster in which it looks things up.
pub struct Trial<'p> {
    pub deployment: &'p Deployment<'p>,
    /// The objects that can be looked up.
    pub known: &'p Manifests,
}

/// What becomes of a request.
pub struct TrialResult {
    /// `CREATE pods team-a/web`
    pub name: String,
    /// What becomes of the object.
    pub review: Review,
    /// The Pod that is created, or the Pods of the workload; none, if the request is not accepted.
    pub pods: Option<Pods>,
    /// What is not known, so that it could not be evaluated what becomes of the object, or of its Pods.
    pub gap: Option<Gap>,
}

/// What becomes of Pods.
#[derive(Default)]
pub struct Pods {
    /// What they get, and where they could run, for people.
    pub lines: Vec<String>,
    /// The answer that rejects the Pods of a workload that is accepted, if one does.
    pub rejection: Option<Answer>,
    /// Where they can run.
    pub places: Places,
    /// The same, pool by pool.
    pub fit: Option<Fit>,
    /// A Pod as it is created, if it is accepted.
    pub pod: Option<Value>,
    /// The PodSpecs that must fit a node.
    specs: Option<PodSpecs>,
}

/// Where Pods can run, by the names of Nodes and NodePools; nothing, where that is not known.
#[derive(Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Places {
    /// The Nodes that can run them now.
    pub nodes: Option<Vec<String>>,
    /// The NodePools of which Karpenter would create a node for them.
    pub node_pools: Option<Vec<String>>,
    /// The Nodes that could, and are cordoned, not ready, or draining.
    pub not_now: Option<Vec<String>>,
    /// The Nodes that fit, and have less than the Pods request.
    pub too_small: Option<Vec<String>>,
}

impl Pods {
    /// Returns Pods of which only these lines are known.
    fn unknown(lines: Vec<String>) -> Self {
        Self { lines, ..Self::default() }
    }
}

impl Places {
    /// Returns the Nodes that can run them, now or when a passing condition ends.
    pub fn takers(&self) -> impl Iterator<Item = &String> {
        self.nodes.iter().chain(&self.not_now).flatten()
    }
}

/// What becomes of all manifests, for programs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "Try"))]
pub struct Results {
    /// One for each manifest.
    pub results: Vec<ResultEntry>,
}

/// What becomes of a manifest.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Result"))]
#[serde(rename_all = "camelCase")]
pub struct ResultEntry {
    /// Its kind.
    pub kind: String,
    /// Its namespace; null for objects of the whole cluster.
    pub namespace: Option<String>,
    /// Its name; null if it has only a generateName.
    pub name: Option<String>,
    /// What is done with it: `CREATE`, `UPDATE`. Null if the policy does not handle its kind.
    pub operation: Option<String>,
    /// Whether it is accepted; null if that could not be evaluated.
    pub accepted: Option<bool>,
    /// Why it is refused, if it is.
    pub refused: Option<String>,
    /// Why the policy is not asked, or why it could not be evaluated.
    pub reason: Option<String>,
    /// What is added to it.
    pub added: Vec<String>,
    /// What the user is warned of.
    pub warnings: Vec<String>,
    /// What becomes of its Pods; null if it has none, or is refused.
    pub pods: Option<PodsEntry>,
}

/// What becomes of the Pods of a manifest.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Pods"))]
#[serde(rename_all = "camelCase")]
pub struct PodsEntry {
    /// Why the Pods of a workload that is accepted are refused, if they are.
    pub refused: Option<String>,
    #[serde(flatten)]
    pub places: Places,
}

impl ResultEntry {
    /// Returns a manifest of a kind that the policy does not handle.
    pub fn skipped(object: &Value, reason: String) -> Self {
        let named = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        Self {
            kind: text(&object["kind"]).to_owned(),
            namespace: named("namespace"),
            name: named("name"),
            operation: None,
            accepted: Some(true),
            refused: None,
            reason: Some(reason),
            added: vec![],
            warnings: vec![],
            pods: None,
        }
    }

    /// Returns what became of a request.
    pub fn new(TrialResult { review, pods, gap, .. }: &TrialResult) -> Self {
        let request = &review.request;
        let object = if request["object"].is_object() { &request["object"] } else { &request["oldObject"] };
        let answers = || review.answers.iter().map(|(_, evaluation)| evaluation);
        let rejection = answers().map(|evaluation| &evaluation.answer).find(|answer| !answer.accepted);
        Self {
            operation: Some(text(&request["operation"]).to_owned()),
            accepted: (gap.is_none() || pods.is_some() || rejection.is_some()).then(|| review.is_accepted()),
            refused: rejection.map(Answer::reason),
            reason: match &review.admission {
                Admission::NotSent(by) => Some(by.to_string()),
                Admission::Unknown(gap) => Some(gap.advice()),
                _ => gap.as_ref().map(Gap::advice),
            },
            added: answers().flat_map(additions).collect(),
            warnings: answers().flat_map(|evaluation| evaluation.answer.warnings.iter().flatten()).cloned().collect(),
            pods: pods.as_ref().and_then(PodsEntry::new),
            ..Self::skipped(object, String::new())
        }
    }
}

impl PodsEntry {
    fn new(pods: &Pods) -> Option<Self> {
        let refused = pods.rejection.as_ref().map(Answer::reason);
        if refused.is_none() && pods.pod.is_none() && pods.lines.is_empty() {
            return None;
        }
        Some(Self { refused, places: pods.places.clone() })
    }
}

impl Trial<'_> {
    /// Returns what was looked up, and does not exist.
    pub fn missing(&self, evaluation: &Evaluation) -> impl Iterator<Item = Identity> {
        evaluation.looked_up().filter(|object| self.known.find(object).is_none())
    }

    /// Returns what was looked up and does not exist, a line each.
    pub fn missing_lines(&self, evaluation: &Evaluation) -> Vec<String> {
        let lacking = if self.known.is_partial { "without a cluster (-c), there is no" } else { "the cluster has no" };
        self.missing(evaluation).map(|object| format!("{lacking} {object}")).collect()
    }

    /// Sends a request, and those of the Pods that come of it, to the policies.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn judge(&self, request: &Request) -> Result<TrialResult> {
        let name = request.title();
        let world = World::new(self.known);
        let created = world.create(Subject::Request(request), Scenario::With(self.deployment))?;
        let gap = created.unevaluated(request.is_complete).cloned();
        let specs = created.specs().filter(|_| gap.is_none());
        let (review, of_workload) = match (created.object, created.pod) {
            (Some(object), pod) => (object, pod),
            (None, Some(pod)) => (pod, None),
            (None, None) => return Ok(TrialResult { name, review: Review::default(), pods: None, gap }),
        };
        let pods = match of_workload {
            _ if !review.is_accepted() => None,
            Some(pod) => Some(match &gap {
                Some(gap) => Pods::unknown(vec![format!("its Pods could not be evaluated: {}", gap.advice())]),
                None => Pods { specs, ..self.pods_of_workload(pod) },
            }),
            None if gap.is_some() => None,
            None if request.is_pod_creation() => {
                Some(Pods { pod: Some(review.object().clone()), specs, ..Pods::default() })
            }
            None => Some(Pods::default()),
        };
        Ok(TrialResult { name, review, pods, gap })
    }

    /// Does the same, and finds the nodes that can run the Pods.
    ///
    /// # Errors
    /// A policy failed to answer, or a Pod or a node can't be read.
    pub fn judge_with_nodes(&self, request: &Request) -> Result<TrialResult> {
        let mut result = self.judge(request)?;
        if let Some(pods) = &mut result.pods {
            self.find_nodes(pods)?;
        }
        Ok(result)
    }

    /// Returns the environment of the Pods of a request, after a Binding to each of the nodes that can run them.
    ///
    /// # Errors
    /// A policy failed to answer, or no node can run them.
    pub fn environments(&self, request: &Request) -> Result<Vec<Value>> {
        let pods = self.judge_with_nodes(request)?.pods.unwrap_or_default();
        let pod = pods.pod.context("expected a Pod, or a workload, that is accepted")?;
        let namespace = text(&pod["metadata"]["namespace"]);
        let name = pod["metadata"]["name"].as_str().unwrap_or(ANY_POD);
        let mut environments = vec![];
        for node in pods.places.takers() {
            let target = Target::Existing(node);
            let review = Scenario::With(self.deployment).bind(namespace, name, target, self.known)?;
            environments.push(environment(&bound_pod(&pod, review.object())).into());
        }
        ensure!(!environments.is_empty(), "no node of the cluster can run its Pods");
        Ok(environments)
    }

    /// Returns what becomes of the Pods of a workload that is accepted.
    fn pods_of_workload(&self, review: Review) -> Pods {
        let mut answers = review.answers.iter().map(|(_, evaluation)| evaluation);
        if let Some(evaluation) = answers.clone().find(|evaluation| self.missing(evaluation).next().is_some()) {
            return Pods::unknown(self.missing_lines(evaluation));
        }
        if let Some(Evaluation { answer, .. }) = answers.clone().find(|evaluation| !evaluation.answer.accepted) {
            let reason = answer.reason();
            let lines = vec![format!("its Pods would be rejected: {reason}")];
            return Pods { rejection: Some(answer.clone()), ..Pods::unknown(lines) };
        }
        let line = match &review.admission {
            Admission::Unknown(gap) => {
                return Pods::unknown(vec![format!("its Pods could not be evaluated: {}", gap.advice())]);
            }
            Admission::NotSent(by) => format!("its Pods are not sent to the policy: {by}"),
            _ => self.changes(&mut answers),
        };
        Pods { pod: Some(review.object().clone()), ..Pods::unknown(vec![line]) }
    }

    /// Returns what the Pods of a workload get: at once, and when they are bound, as far as their Nodes have it.
    fn changes<'e>(&self, evaluations: &mut impl Iterator<Item = &'e Evaluation>) -> String {
        let now = evaluations.flat_map(additions).collect::<Vec<_>>().join("; ");
        let sends_bindings = |file: &&SettingsFile| {
            file.policy.as_ref().is_none_or(|policy| policy.sends(("", "pods/binding", "CREATE")))
        };
        let files = self.deployment.files.iter().filter(sends_bindings);
        let bound: Vec<String> = files.flat_map(|file| ManagedKeys::from_settings(&file.typed).named()).collect();
        let bound = bound.join(", ");
        match (now.is_empty(), bound.is_empty()) {
            (true, true) => "its Pods would stay as they are".to_owned(),
            (false, true) => format!("its Pods would get {now}"),
            (true, false) => format!("its Pods would get {bound} when they are bound"),
            (false, false) => format!("its Pods would get {now}; and when they are bound, {bound}"),
        }
    }

    /// Finds the nodes of the cluster, if it has some, that can run the Pods.
    fn find_nodes(&self, pods: &mut Pods) -> Result<()> {
        let (Some(pod), Some(specs)) = (&pods.pod, &pods.specs) else { return Ok(()) };
        if !self.has_nodes() {
            return Ok(());
        }
        let (files, namespace) = (self.deployment.files, text(&pod["metadata"]["namespace"]));
        let of_namespace = match self.known.namespace(namespace) {
            Some(object) => Rules::read(files, namespace, object, Some(pod))?.1,
            None => vec![],
        };
        let needs = World::new(self.known).needs(specs)?;
        let scheduler = Scheduler::new(self.known, label_keys_of_files(files), &[self.deployment], [&*needs])?;
        let scheduler = scheduler.for_pod(pod["metadata"]["name"].as_str());
        let places = scheduler.places(namespace, &needs, Scenario::With(self.deployment))?;
        let fit = Fit::new(&scheduler.map, &places, &of_namespace);
        let nodes = |of: fn(&PoolFit) -> &[String]| fit.pools.iter().flat_map(of).cloned().collect::<Vec<_>>();
        pods.places = Places {
            nodes: Some(nodes(PoolFit::usable)),
            node_pools: Some(fit.pools.iter().filter_map(|pool| pool.creates.clone()).collect()),
            not_now: Some(nodes(PoolFit::not_now)),
            too_small: Some(nodes(PoolFit::too_small)),
        };
        pods.fit = Some(fit);
        Ok(())
    }

    /// Returns whether the cluster has nodes, or NodePools.
    pub fn has_nodes(&self) -> bool {
        let kind = |identity: &Identity| Kind::of(&identity.api_version, &identity.kind);
        let is_node = |kind| matches!(kind, Some(Kind::Of(Resource::Node) | Kind::NodePool));
        self.known.objects().iter().any(|object| is_node(kind(&object.identity)))
    }
}
