//! What the policy makes of workloads and of their Pods with some settings, before anybody looks at nodes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    placing::{PodId, Pods},
    subject::Subject,
};
use crate::{
    engine::{
        creation::Created,
        deployed::{Deployed, Enforcement, Refusal},
        gap::Gap,
        namespace_rules::{Demand, NamespaceRules},
        policy::Policy,
    },
    input::{
        manifests::{Manifest, Manifests},
        settings_file::SettingsFile,
    },
};

/// What the policy says to a workload and its Pods.
pub enum Said {
    /// That depends on what nobody knows here.
    Unknown(Gap),
    /// One of them is rejected.
    Refused(Refusal),
    /// Both are let in, or neither is sent.
    LetIn(Asked),
}

/// What a Pod asks of nodes. Several stand for one of a DaemonSet: its controller looks at nodes too.
pub struct Asked {
    /// Without the policy.
    pub before: Vec<PodId>,
    /// With the policy.
    pub after: Vec<PodId>,
    /// Whether it, or its workload, gets anything.
    pub is_changed: bool,
    /// Why the policy is not asked about its creation, if it is not. It may be about its Bindings; and what the old
    /// settings added is added no more.
    pub not_sent: Option<String>,
}

/// What is said of one thing that is judged.
pub struct Answers {
    /// With the settings as they are written.
    pub written: Said,
    /// As if every entry was enforced; nothing, where the entry that holds is.
    pub enforced: Option<Said>,
    /// What is said of its parts, in their order.
    pub parts: Vec<Self>,
}

/// The policy with one set of settings.
pub struct Round<'s> {
    /// The settings.
    pub files: &'s [SettingsFile],
    /// The policy with these.
    pub deployed: Deployed<'s>,
    /// What holds in each namespace.
    pub rules: BTreeMap<&'s str, NamespaceRules<'s>>,
}

impl<'s> Round<'s> {
    /// In front of a cluster with these namespaces.
    ///
    /// # Errors
    /// The settings have a mistake.
    pub fn new(
        policy: &'s Policy,
        files: &'s [SettingsFile],
        cluster: &'s Manifests,
        namespaces: &'s BTreeSet<String>,
    ) -> Result<Self> {
        let rules = |name: &'s String| Ok((name.as_str(), NamespaceRules::of(files, name, cluster.namespace(name))?));
        let rules = namespaces.iter().map(rules).collect::<Result<_>>()?;
        Ok(Self { files, deployed: Deployed::new(policy, files, cluster), rules })
    }

    /// Asks about a subject and its parts. What their Pods ask for is noted in `pods`.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn ask(&self, subject: &Subject<'_>, pods: &mut Pods) -> Result<Answers> {
        let object = subject.manifest.map(Manifest::parse);
        let mut said = |enforcement| {
            let created = match &object {
                Some(object) => self.deployed.create(object, None, enforcement),
                None => self.deployed.create_plain_pod(&subject.namespace, enforcement),
            };
            created.and_then(|created| self.noted(created, pods)).with_context(|| subject.to_string())
        };
        let warns = self.rules.get(&*subject.namespace).is_some_and(|rules| rules.may_warn);
        Ok(Answers {
            written: said(Enforcement::AsWritten)?,
            enforced: warns.then(|| said(Enforcement::Everywhere)).transpose()?,
            parts: subject.parts.iter().map(|part| self.ask(part, pods)).collect::<Result<_>>()?,
        })
    }

    /// The node selectors that hold in a namespace.
    pub fn demands(&self, namespace: &str) -> &[Demand] {
        self.rules.get(namespace).map(|rules| rules.demands.as_slice()).unwrap_or_default()
    }

    fn noted(&self, created: Created, pods: &mut Pods) -> Result<Said> {
        let mut ids = |specs: Vec<Value>| -> Result<Vec<PodId>> {
            specs.iter().map(|spec| pods.add(spec, self.deployed.cluster)).collect()
        };
        Ok(match created {
            Created::Unknown(gap) => Said::Unknown(gap),
            Created::Refused(refusal) => Said::Refused(refusal),
            Created::LetIn { before, after, is_changed, not_sent } => {
                Said::LetIn(Asked { before: ids(before)?, after: ids(after)?, is_changed, not_sent })
            }
        })
    }
}
