//! The policy with one set of settings, in front of a cluster: what it makes of workloads and of their Pods, before nodes
//! are looked at, and what holds in each namespace.

use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
    rc::Rc,
};

use anyhow::{Context, Result};
use node_placement_policy::settings::EntryAt;

use super::{
    namespace_rules::NamespaceRules,
    pod_shape::{PodShape, PodShapes},
    subject::Subject,
};
use crate::{
    engine::policy::Policy,
    gap::Gap,
    input::{
        manifests::{Manifest, Manifests},
        settings::{entries_at, is_for_the_rest},
        settings_file::SettingsFile,
    },
    verdict::{self, PodSpecs, World},
    webhook::{
        controllers::controller_of,
        delivery::KeptAway,
        deployment::{Deployment, Refusal, Scenario},
    },
};

/// What becomes of a workload and its Pods, or of a Pod.
pub enum Created {
    /// That depends on what is not known here.
    Unknown(Gap),
    /// One of them is refused.
    Refused(Refusal),
    /// Both are accepted, or neither is sent.
    Accepted(Accepted),
}

/// A Pod that is accepted.
pub struct Accepted {
    /// As it is without the policy.
    pub before: Rc<PodShape>,
    /// As it is with it.
    pub after: Rc<PodShape>,
    /// Whether the Pod, or its workload, gets anything.
    pub is_changed: bool,
    /// Why neither is sent, if so. The policy may still be asked about Bindings.
    pub not_sent: Option<KeptAway>,
}

/// What becomes of one thing that is judged when it is created.
pub struct Creation {
    /// With the settings as they are.
    pub real: Created,
    /// The creation as if every entry was enforced; `None` where no entry warns.
    pub enforced: Option<Created>,
    /// What becomes of its parts, in their order.
    pub parts: Vec<Self>,
}

/// The policy with one set of settings.
pub struct Round<'s> {
    /// The settings.
    pub files: &'s [SettingsFile],
    /// The policy with these.
    pub deployment: Deployment<'s>,
    /// What its look-ups reach.
    pub cluster: &'s Manifests,
    /// What holds in each namespace.
    pub namespaces: BTreeMap<&'s str, NamespaceRules<'s>>,
    nowhere: NamespaceRules<'s>,
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
        let rules = |name: &'s String| Ok((name.as_str(), NamespaceRules::new(files, name, cluster.namespace(name))?));
        let namespaces = namespaces.iter().map(rules).collect::<Result<_>>()?;
        let deployment = Deployment::new(policy, files);
        Ok(Self { files, deployment, cluster, namespaces, nowhere: NamespaceRules::default() })
    }

    /// Creates a subject and its parts. What their Pods ask of nodes is kept in `shapes`.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn create(&self, subject: &Subject<'_>, shapes: &mut PodShapes) -> Result<Creation> {
        let object = subject.manifest.map(Manifest::parse);
        // The policy may have changed a Pod that is there; of a ReplicaSet or a Job of a custom resource, the template counts.
        let maker = object.as_ref().and_then(|object| controller_of(object, self.cluster));
        let created = match &object {
            Some(object) => verdict::Subject::Anew { object, maker },
            None => verdict::Subject::Plain(&subject.namespace),
        };
        let mut create = |scenario| self.create_in(scenario, created, shapes).with_context(|| subject.to_string());
        Ok(Creation {
            real: create(Scenario::With(&self.deployment))?,
            enforced: self
                .rules(&subject.namespace)
                .may_warn()
                .then(|| create(Scenario::Enforced(&self.deployment)))
                .transpose()?,
            parts: subject.parts.iter().map(|part| self.create(part, shapes)).collect::<Result<_>>()?,
        })
    }

    fn create_in(
        &self,
        scenario: Scenario<'_>,
        subject: verdict::Subject<'_>,
        shapes: &mut PodShapes,
    ) -> Result<Created> {
        let world = World { cluster: self.cluster };
        let created = world.create(subject, scenario)?;
        let not_sent = created.not_sent().cloned();
        if let Some(gap) = created.unknown() {
            return Ok(Created::Unknown(gap.clone()));
        }
        if let Some(refusal) = created.refusal() {
            return Ok(Created::Refused(refusal));
        }
        let without = world.create(subject, Scenario::Without)?;
        let mut shape = |specs: Option<PodSpecs>| shapes.add(&specs.unwrap_or_default(), self.cluster);
        let (before, after) = (shape(without.specs())?, shape(created.specs())?);
        Ok(Created::Accepted(Accepted { before, after, is_changed: created.is_changed(), not_sent }))
    }

    /// Whether anything becomes of Pods of a namespace; with `warned`, or would become of them.
    pub fn depends_on_pods_of(&self, namespace: &str, warned: bool) -> bool {
        self.rules(namespace).demands_anything(warned) || self.files.iter().any(|it| it.typed.node_metadata.is_some())
    }

    /// What holds in a namespace.
    pub fn rules(&self, namespace: &str) -> &NamespaceRules<'s> {
        self.namespaces.get(namespace).unwrap_or(&self.nowhere)
    }

    /// The entries that hold in no namespace, each with those that it matches. One for the rest may match none.
    pub fn idle_entries(&self) -> Vec<(EntryAt<'s>, Vec<&'s str>)> {
        let placing = self.files.iter().filter(|file| file.places_pods());
        let all = placing.filter_map(|file| file.typed.placement.as_ref()).flat_map(entries_at);
        let holds = |entry| self.namespaces.values().any(|rules| rules.held().any(|at| ptr::eq(at.entry, entry)));
        let idle = all.filter(|at| !is_for_the_rest(at.entry) && !holds(at.entry));
        let matched = idle.map(|at| {
            let matched = self.namespaces.iter().filter(|(_, rules)| rules.matches(at.entry));
            (at, matched.map(|(name, _)| *name).collect())
        });
        matched.collect()
    }
}
