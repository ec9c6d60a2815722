//! What the policy makes of workloads and of their Pods, before anybody looks at nodes.

use anyhow::Result;
use serde_json::Value;

use super::placing::{PodId, Pods};
use crate::engine::{
    creation::{Created, Creation, LetIn},
    deployed::Enforcement,
};

/// What a Pod asks of nodes, without the policy and with it. Several stand for one of a DaemonSet: its controller looks at nodes too.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Without the policy.
    pub before: Vec<PodId>,
    /// With the policy.
    pub after: Vec<PodId>,
    /// Whether it, or its workload, gets anything.
    pub is_changed: bool,
    /// Whether it asks for other nodes than before.
    pub is_moved: bool,
}

/// Asks about one workload after the other, and notes what their Pods ask for.
pub struct Asking<'p> {
    creation: Creation<'p>,
    /// What the Pods ask for.
    pub pods: Pods,
}

impl<'p> Asking<'p> {
    /// Of what creates workloads and Pods for a trial.
    pub fn new(creation: Creation<'p>) -> Self {
        Self { creation, pods: Pods::default() }
    }

    /// About a workload, or a Pod without one.
    ///
    /// # Errors
    /// It is no such object, or the policy failed to answer.
    pub fn about(&mut self, object: &Value, enforcement: Enforcement) -> Result<Created<Asked>> {
        let created = self.creation.of(object, None, enforcement)?;
        self.note(created)
    }

    /// About a Pod in `namespace` that asks for nothing.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn about_plain_pod(&mut self, namespace: &str, enforcement: Enforcement) -> Result<Created<Asked>> {
        let created = self.creation.of_plain_pod(namespace, enforcement)?;
        self.note(created)
    }

    fn note(&mut self, created: Created) -> Result<Created<Asked>> {
        Ok(match created {
            Created::NotAsked(reason) => Created::NotAsked(reason),
            Created::Unknown(gap) => Created::Unknown(gap),
            Created::Refused(refusal) => Created::Refused(refusal),
            Created::LetIn(LetIn { stages, is_changed }) => {
                let mut asked = Asked { before: vec![], after: vec![], is_changed, is_moved: false };
                for stage in stages {
                    let before = self.pods.add(&stage.before, self.creation.cluster)?;
                    let after = self.pods.add(&stage.after, self.creation.cluster)?;
                    asked.is_moved |= self.pods.ask_for_other_nodes(before, after);
                    asked.before.push(before);
                    asked.after.push(after);
                }
                Created::LetIn(asked)
            }
        })
    }
}
