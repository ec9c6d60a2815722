//! What the policy makes of workloads and of their Pods with some settings, before anybody looks at nodes.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    placing::{PodId, Pods},
    subject::{Part, Subject, Subjects},
};
use crate::{
    engine::{
        creation::Created,
        deployed::{Deployed, Enforcement, Refusal},
        gap::Gap,
        namespace_rules::NamespaceRules,
        policy::Policy,
    },
    input::{manifests::Manifests, settings_file::SettingsFile},
    requests::template,
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
    /// With the policy.
    pub after: Vec<PodId>,
    /// Whether the policy is asked about its creation.
    pub is_sent: bool,
    /// Whether it, or its workload, gets anything.
    pub is_changed: bool,
}

/// What is said of one thing that is judged.
pub struct Answers {
    /// With the settings as they are written.
    pub written: Said,
    /// As if every entry was enforced; nothing, where the entry that holds is.
    pub enforced: Option<Said>,
}

/// What is said of a workload, and of those of its parts that make other Pods.
pub struct Answered<'s> {
    /// Of the workload.
    pub own: Answers,
    /// Of its parts.
    pub parts: Vec<(&'s Part<'s>, Answers)>,
}

/// What the policy says of all that is judged, with one set of settings.
pub struct Round<'s> {
    /// The settings.
    pub files: &'s [SettingsFile],
    /// The policy with these.
    pub deployed: Deployed<'s>,
    /// What holds in each namespace.
    pub rules: BTreeMap<String, NamespaceRules<'s>>,
    /// What is said of the workloads, in their order.
    pub workloads: Vec<Answered<'s>>,
    /// What is said of a Pod that asks for nothing, for each namespace in the order of `rules`.
    pub namespaces: Vec<Answers>,
}

impl<'s> Round<'s> {
    /// Asks about one subject after the other; what their Pods ask for is noted in `pods`. `told` is called for each.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn of(
        policy: &'s Policy,
        files: &'s [SettingsFile],
        cluster: &'s Manifests,
        subjects: &'s Subjects<'_>,
        pods: &mut Pods,
        told: impl Fn(),
    ) -> Result<Self> {
        let rules = |name: &'s String| Ok((name.clone(), NamespaceRules::of(files, name, cluster.namespace(name))?));
        let rules = subjects.namespaces.iter().map(rules).collect::<Result<BTreeMap<_, _>>>()?;
        let deployed = Deployed::new(policy, files, cluster);
        let mut asking = Asking { deployed: &deployed, pods };
        let (mut workloads, mut namespaces) = (vec![], vec![]);
        for subject in &subjects.all {
            told();
            let warns = rules.get(subject.namespace()).is_some_and(|rules| rules.warns);
            workloads.push(asking.about_subject(subject, warns)?);
        }
        for (name, rules) in &rules {
            told();
            let answers = asking.about(rules.warns, |how| deployed.create_plain_pod(name, how));
            namespaces.push(answers.with_context(|| format!("a new Pod in {name}"))?);
        }
        Ok(Self { files, deployed, rules, workloads, namespaces })
    }
}

/// Asks, and notes what Pods ask for.
struct Asking<'a> {
    deployed: &'a Deployed<'a>,
    pods: &'a mut Pods,
}

impl Asking<'_> {
    fn about_subject<'s>(&mut self, subject: &'s Subject<'_>, warns: bool) -> Result<Answered<'s>> {
        let (object, deployed) = (subject.manifest.parse(), self.deployed);
        let own = self.about(warns, |how| deployed.create(&object, None, how));
        let mut answered = Answered { own: own.with_context(|| subject.manifest.identity.to_string())?, parts: vec![] };
        for part in &subject.parts {
            let made = part.manifest.parse();
            if template::differ(&object, &made) {
                let answers = self.about(warns, |how| deployed.create(&made, None, how));
                answered.parts.push((part, answers.with_context(|| part.manifest.identity.to_string())?));
            }
        }
        Ok(answered)
    }

    fn about(&mut self, warns: bool, create: impl Fn(Enforcement) -> Result<Created>) -> Result<Answers> {
        let written = create(Enforcement::AsWritten)?;
        let enforced = warns.then(|| create(Enforcement::Everywhere)).transpose()?;
        let written = self.noted(written)?;
        Ok(Answers { written, enforced: enforced.map(|created| self.noted(created)).transpose()? })
    }

    fn noted(&mut self, created: Created) -> Result<Said> {
        Ok(match created {
            Created::NotAsked { reason, specs } => {
                let before = self.add_all(&specs)?;
                Said::NotAsked(reason, Asked { after: before.clone(), before, is_sent: false, is_changed: false })
            }
            Created::Unknown(gap) => Said::Unknown(gap),
            Created::Refused(refusal) => Said::Refused(refusal),
            Created::LetIn { before, after, is_changed } => {
                let (before, after) = (self.add_all(&before)?, self.add_all(&after)?);
                Said::LetIn(Asked { before, after, is_sent: true, is_changed })
            }
        })
    }

    fn add_all(&mut self, specs: &[Value]) -> Result<Vec<PodId>> {
        specs.iter().map(|spec| self.pods.add(spec, self.deployed.cluster)).collect()
    }
}
