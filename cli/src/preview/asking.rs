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
    /// Neither is sent, and why. Its Bindings may be; and it may no longer get the tolerations of the old settings.
    NotAsked(String, Asked),
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
    /// Whether the policy is asked about its creation.
    pub is_sent: bool,
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
        let old = match old {
            Some(Created::LetIn(LetIn { stages, .. })) => Some(self.add_all(stages.iter().map(|stage| &stage.after))?),
            _ => None,
        };
        Ok(match created {
            Created::NotAsked { reason, specs } => {
                let pods = self.add_all(specs.iter())?;
                let is_moved = self.loses_tolerations(&pods, old.as_ref());
                let asked =
                    Asked { before: pods.clone(), old, after: pods, is_sent: false, is_changed: false, is_moved };
                Said::NotAsked(reason, asked)
            }
            Created::Unknown(gap) => Said::Unknown(gap),
            Created::Refused(refusal) => Said::Refused(refusal),
            Created::LetIn(LetIn { stages, is_changed }) => {
                let before = self.add_all(stages.iter().map(|stage| &stage.before))?;
                let after = self.add_all(stages.iter().map(|stage| &stage.after))?;
                let mut pairs = before.iter().zip(&after);
                let is_moved = pairs.any(|(before, after)| self.pods.ask_for_other_nodes(*before, *after))
                    || self.loses_tolerations(&after, old.as_ref());
                Said::LetIn(Asked { before, old, after, is_sent: true, is_changed, is_moved })
            }
        })
    }

    fn add_all<'v>(&mut self, specs: impl Iterator<Item = &'v Value>) -> Result<Vec<PodId>> {
        specs.map(|spec| self.pods.add(spec, self.creation.cluster)).collect()
    }

    /// Whether Pods lack a toleration that they have with the old settings. The policy opens nodes to a Pod by
    /// tolerations alone: only where one is gone, nodes may be lost.
    fn loses_tolerations(&self, now: &[PodId], old: Option<&Vec<PodId>>) -> bool {
        let mut pairs = now.iter().zip(old.into_iter().flatten());
        pairs.any(|(now, old)| !self.pods.tolerates_all_of(*now, *old))
    }
}
