//! What holds in a namespace, and where its Pods run, wait, or are refused: as data, which `docs/explain.schema.json`
//! describes.
//!
//! - [`rules`]: which entry holds, and what is demanded
//! - [`subject`]: the Pod or workload that is explained
//! - [`fit`]: which pools take it, and what excludes it from the others

pub mod fit;
pub mod rules;
pub mod subject;

use anyhow::{Context, Result};
use node_placement_policy::resource::Resource;
use serde::Serialize;
use serde_json::Value;

use self::{
    fit::{BindingReview, Fit, PodNeeds, pools_for},
    rules::Rules,
    subject::{ExplainedSubject, SubjectName, find},
};
use crate::{
    demands::Demand,
    engine::{
        creation::{Admitted, Created, pod_creation_request},
        policy::Policy,
        policy_chain::PolicyChain,
        reply::Gap,
    },
    input::{
        json::{remove, text, title},
        kubectl::Listed,
        manifests::Manifests,
        settings_file::SettingsFile,
    },
    preview::is_left_out,
    requests::{
        admission::is_terminating,
        controllers::controller_of,
        pod::{ANY_POD, plain_pod_request},
        template,
    },
};

/// What a refusal begins with that is none yet: `enforcement` is `Warn`.
pub const WOULD_BE: &str = "would be rejected: ";

/// What holds in a namespace, and what becomes of one of its Pods.
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
    /// What keeps the namespace, or the subject, away from the policy, if something does.
    pub not_asked: Option<String>,
    /// What can't be told, since the cluster as given lacks something.
    pub unknown: Vec<String>,
    /// Commands that tell more.
    #[serde(skip)]
    pub commands: Vec<String>,
    /// Whether it can't be told what becomes of the subject.
    #[serde(skip)]
    pub is_unknown: bool,
}

/// What holds in `namespace`, and what becomes of one of its Pods or workloads; of a Pod that asks for nothing, if none
/// is named.
///
/// # Errors
/// The namespace or the subject is not there, or the policy failed to answer.
pub fn explain(
    policy: &Policy,
    files: &[SettingsFile],
    listed: &Listed,
    namespace: &str,
    subject: Option<&SubjectName>,
) -> Result<Explanation> {
    let cluster = &listed.manifests;
    let namespace_object = find(Resource::Namespace, None, namespace, listed)?;
    let object = subject.map(|subject| find(subject.resource, Some(namespace), &subject.name, listed)).transpose()?;
    let pod = object.map(|object| template::template(object).unwrap_or(object));
    let (rules, demands) = Rules::read(files, namespace, namespace_object, pod)?;
    let unreadable = listed.unreadable.iter();
    let mut explanation = Explanation {
        namespace: namespace.to_owned(),
        rules,
        subject: ExplainedSubject::new(subject, object, cluster),
        unknown: unreadable.map(|it| format!("{} could not be listed: {}", it.resource, it.reason)).collect(),
        ..Explanation::default()
    };
    let controller = object.and_then(|object| controller_of(object, cluster));
    for object in object.into_iter().chain(controller) {
        template::check_types(object).with_context(|| title(object))?;
    }
    let chain = PolicyChain::new(policy, files, cluster);
    let explainer = Explainer { chain: &chain, files, namespace, object, controller };
    let created = explainer.create(&chain)?;
    explanation.add_fit(&explainer, &created, &demands)?;
    let refused = if is_terminating(namespace_object) {
        Some("the namespace is being deleted, and the API server creates nothing in it".to_owned())
    } else {
        explainer.refusal(&created)?
    };
    if is_refusal(refused.as_deref()) {
        explanation.subject.as_new = Fit::default();
    }
    explanation.subject.as_new.refused = refused;
    explanation.add_commands();
    Ok(explanation)
}

/// What is explained, and the policies that are asked about it.
struct Explainer<'c> {
    chain: &'c PolicyChain<'c>,
    files: &'c [SettingsFile],
    namespace: &'c str,
    /// Nothing for a Pod that asks for nothing.
    object: Option<&'c Value>,
    /// What makes the object, if the cluster has it.
    controller: Option<&'c Value>,
}

impl Explainer<'_> {
    fn create(&self, chain: &PolicyChain<'_>) -> Result<Created> {
        match self.object {
            Some(object) => chain.create(object, self.controller),
            None => chain.create_plain_pod(self.namespace),
        }
    }

    /// Why the subject, or a part of it, is refused; or would be, were everything enforced.
    fn refusal(&self, created: &Created) -> Result<Option<String>> {
        let enforced = self.chain.enforced();
        let mut refusal = refusal_message(created, &self.create(&enforced)?, "");
        for part in self.object.into_iter().flat_map(|object| older_parts(object, self.chain.cluster)) {
            let name = format!("its {} {}: ", text(&part["kind"]), text(&part["metadata"]["name"]));
            let of_part = refusal_message(&self.chain.create(&part, None)?, &enforced.create(&part, None)?, &name);
            if !is_refusal(refusal.as_deref()) && of_part.is_some() {
                refusal = of_part;
            }
        }
        Ok(refusal)
    }

    /// The PodSpec of the subject without the policy.
    fn spec_without_policy(&self) -> Result<Value> {
        let Some(object) = self.object else { return Ok(plain_pod_request(self.namespace)["object"]["spec"].take()) };
        if object["kind"] != "Pod" {
            return Ok(pod_creation_request(object, self.chain.cluster)?["object"]["spec"].take());
        }
        let mut spec = object["spec"].clone();
        // It can't be told who chose the node of a Pod that is bound.
        remove(&mut spec, &["nodeName"]);
        Ok(spec)
    }

    fn needs(&self, specs: &[Value]) -> Result<PodNeeds> {
        let name = || self.object.map_or_else(|| "a Pod".to_owned(), title);
        let kind = self.object.map_or("Pod", |object| text(&object["kind"]));
        PodNeeds::read(kind, specs, self.chain.cluster).with_context(name)
    }
}

fn is_refusal(message: Option<&str>) -> bool {
    message.is_some_and(|message| !message.starts_with(WOULD_BE))
}

/// Why something is refused, if it is, or would be. It may be a part of the subject.
fn refusal_message(created: &Created, enforced: &Created, part: &str) -> Option<String> {
    match (created, enforced) {
        (Created::Refused(refusal), _) => Some(format!("{part}{}", refusal.message_for_user())),
        (Created::LetIn(_), Created::Refused(refusal)) => {
            Some(format!("{WOULD_BE}{part}{}", refusal.message_for_user()))
        }
        _ => None,
    }
}

/// The ReplicaSets or Jobs of a workload that still make Pods from an older template.
fn older_parts(object: &Value, cluster: &Manifests) -> Vec<Value> {
    let parts = cluster.objects().iter().filter(|part| ["ReplicaSet", "Job"].contains(&&*part.identity.kind));
    let is_older = |part: &Value| {
        controller_of(part, cluster) == Some(object) && !is_left_out(part) && template::makes_other_pods(object, part)
    };
    parts.map(|part| part.parse()).filter(is_older).collect()
}

impl Explanation {
    /// Finds the pools that the subject fits, as it is and as it would be created now.
    fn add_fit(&mut self, explainer: &Explainer<'_>, created: &Created, demands: &[Demand]) -> Result<()> {
        let Explainer { chain, files, namespace, .. } = explainer;
        let as_is = explainer.needs(&[explainer.spec_without_policy()?])?;
        let as_new = match created {
            Created::LetIn(Admitted { after, .. }) => Some(explainer.needs(after)?),
            Created::Refused(_) | Created::Unknown(_) => None,
        };
        let pools = pools_for(files, [&as_is].into_iter().chain(&as_new), chain.cluster)?;
        if pools.pools.is_empty() {
            self.unknown.push(Gap::Nodes.advice());
        }
        let subject = &mut self.subject;
        let pod = subject.name.clone().unwrap_or_else(|| ANY_POD.to_owned());
        let review = BindingReview { chain, namespace, pod: &pod };
        // The scheduler binds a Pod that waits, or one that is created now, only where the policy lets it.
        let binds = subject.is_waiting().then_some(&review);
        // A Pod's own selector and an injected one look alike; only the new Pod shows what the policy added.
        subject.as_is = as_is.fit(&pools, if subject.is_pod() { demands } else { &[] }, binds)?;
        subject.as_new = as_new.map(|pod| pod.fit(&pools, demands, Some(&review))).transpose()?.unwrap_or_default();
        match created {
            Created::Unknown(gap) => {
                self.is_unknown = true;
                self.unknown.push(gap.advice());
            }
            Created::LetIn(Admitted { before, after, not_sent, .. }) => {
                self.not_asked.clone_from(not_sent);
                let is_daemon_set = after.len() > 1;
                let mut pools = subject.as_is.pools.iter().zip(&subject.as_new.pools);
                subject.leaves_nodes =
                    is_daemon_set && before != after && pools.any(|(without, with)| without.fits && !with.fits);
            }
            Created::Refused(_) => {}
        }
        Ok(())
    }

    /// Whether the subject can't be created now.
    pub fn is_refused(&self) -> bool {
        is_refusal(self.subject.as_new.refused.as_deref())
    }

    /// Events of the cluster tell what can't be computed here: how full nodes are, what a volume needs.
    fn add_commands(&mut self) {
        let ExplainedSubject { name, as_is, .. } = &self.subject;
        let Some(name) = name else { return };
        let waits_for_something_else = self.subject.is_waiting() && as_is.pools.iter().any(|pool| pool.fits);
        if waits_for_something_else || !self.subject.is_pod() {
            // A workload has no events of the scheduler; its name is a prefix of those of its Pods, which kubectl takes.
            self.commands.push(format!("kubectl describe pod {name} -n {}", self.namespace));
        }
    }
}
