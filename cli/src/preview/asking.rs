//! What the policy makes of workloads and of their Pods, before anybody looks at nodes.

use anyhow::Result;
use serde_json::Value;

use super::placing::{PodId, Pods};
use crate::engine::{
    creation::{Created, Creation, LetIn},
    deployed::{Enforcement, Refusal},
    gap::Gap,
};

/// What the policy says to a workload and its Pods.
#[derive(Clone, Debug)]
pub enum Said {
    /// Neither is sent, and why; and what it asks for, if the old settings added tolerations, which it no longer gets.
    NotAsked(String, Option<Asked>),
    /// That depends on what nobody knows here.
    Unknown(Gap),
    /// One of them is rejected.
    Refused(Refusal),
    /// Both are let in.
    LetIn(Asked),
}

/// What a Pod asks of nodes. Several stand for one of a DaemonSet: its controller looks at nodes too.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Without the policy.
    pub before: Vec<PodId>,
    /// With the old settings; nothing without such, and where they don't let it in.
    pub old: Option<Vec<PodId>>,
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
    /// With the old settings, if new ones are compared with them.
    old: Option<Creation<'p>>,
    /// What the Pods ask for.
    pub pods: Pods,
}

impl<'p> Asking<'p> {
    /// Of what creates workloads and Pods for a trial.
    pub fn new(creation: Creation<'p>, old: Option<Creation<'p>>) -> Self {
        Self { creation, old, pods: Pods::default() }
    }

    /// About a workload, or a Pod without one.
    ///
    /// # Errors
    /// It is no such object, or the policy failed to answer.
    pub fn about(&mut self, object: &Value, enforcement: Enforcement) -> Result<Said> {
        let created = self.creation.of(object, None, enforcement)?;
        // The old settings are what runs.
        let old = self.old.as_ref().map(|old| old.of(object, None, Enforcement::AsWritten)).transpose()?;
        self.note(created, old)
    }

    /// About a Pod in `namespace` that asks for nothing.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn about_plain_pod(&mut self, namespace: &str, enforcement: Enforcement) -> Result<Said> {
        let created = self.creation.of_plain_pod(namespace, enforcement)?;
        let old = self.old.as_ref().map(|old| old.of_plain_pod(namespace, Enforcement::AsWritten)).transpose()?;
        self.note(created, old)
    }

    fn note(&mut self, created: Created, old: Option<Created>) -> Result<Said> {
        Ok(match created {
            Created::NotAsked(reason) => Said::NotAsked(reason, self.no_longer_added(old)?),
            Created::Unknown(gap) => Said::Unknown(gap),
            Created::Refused(refusal) => Said::Refused(refusal),
            Created::LetIn(LetIn { stages, is_changed }) => {
                let mut asked = Asked { before: vec![], old: None, after: vec![], is_changed, is_moved: false };
                for stage in stages {
                    let before = self.pods.add(&stage.before, self.creation.cluster)?;
                    let after = self.pods.add(&stage.after, self.creation.cluster)?;
                    asked.is_moved |= self.pods.ask_for_other_nodes(before, after);
                    asked.before.push(before);
                    asked.after.push(after);
                }
                if let Some(Created::LetIn(LetIn { stages, .. })) = old {
                    let specs = stages.iter().map(|stage| self.pods.add(&stage.after, self.creation.cluster));
                    let old = specs.collect::<Result<Vec<_>>>()?;
                    // The policy opens nodes to a Pod by tolerations alone: only where one is gone, nodes may be lost.
                    let mut stages = asked.after.iter().zip(&old);
                    asked.is_moved |= stages.any(|(after, old)| !self.pods.tolerates_all_of(*after, *old));
                    asked.old = Some(old);
                }
                Said::LetIn(asked)
            }
        })
    }

    /// What a Pod asks for that is no longer sent to the policy, if that added tolerations.
    fn no_longer_added(&mut self, old: Option<Created>) -> Result<Option<Asked>> {
        let Some(Created::LetIn(LetIn { stages, .. })) = old else { return Ok(None) };
        let (mut without, mut with) = (vec![], vec![]);
        for stage in stages {
            without.push(self.pods.add(&stage.before, self.creation.cluster)?);
            with.push(self.pods.add(&stage.after, self.creation.cluster)?);
        }
        let mut stages = without.iter().zip(&with);
        if stages.all(|(without, with)| self.pods.tolerates_all_of(*without, *with)) {
            return Ok(None);
        }
        let (before, after) = (without.clone(), without);
        Ok(Some(Asked { before, old: Some(with), after, is_changed: false, is_moved: true }))
    }
}
