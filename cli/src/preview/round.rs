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
    engine::{creation::Created, policy::Policy, policy_chain::PolicyChain},
    input::{
        manifests::{Manifest, Manifests},
        settings::{entries_at, is_for_the_rest},
        settings_file::SettingsFile,
    },
    requests::controllers::controller_of,
};

/// What becomes of one thing that is judged when it is created.
pub struct Creation {
    /// With the settings as they are.
    pub real: Created<Rc<PodShape>>,
    /// The creation as if every entry was enforced; `None` where no entry warns.
    pub enforced: Option<Created<Rc<PodShape>>>,
    /// What becomes of its parts, in their order.
    pub parts: Vec<Self>,
}

/// The policy with one set of settings.
pub struct Round<'s> {
    /// The settings.
    pub files: &'s [SettingsFile],
    /// The policy with these.
    pub chain: PolicyChain<'s>,
    /// As if every entry was enforced.
    pub enforced: PolicyChain<'s>,
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
        let chain = PolicyChain::new(policy, files, cluster);
        Ok(Self { files, enforced: chain.enforced(), chain, namespaces, nowhere: NamespaceRules::default() })
    }

    /// Creates a subject and its parts. What their Pods ask of nodes is kept in `shapes`.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn create(&self, subject: &Subject<'_>, shapes: &mut PodShapes) -> Result<Creation> {
        let object = subject.manifest.map(Manifest::parse);
        // The policy may have changed a Pod that is there; of a ReplicaSet or a Job of a custom resource, the template counts.
        let maker = object.as_ref().and_then(|object| controller_of(object, self.chain.cluster));
        let mut create = |chain: &PolicyChain<'_>| {
            let created = match &object {
                Some(object) => chain.create(object, maker),
                None => chain.create_plain_pod(&subject.namespace),
            };
            let created =
                created.and_then(|created| created.try_map(|specs| shapes.add(subject.kind(), &specs, chain.cluster)));
            created.with_context(|| subject.to_string())
        };
        Ok(Creation {
            real: create(&self.chain)?,
            enforced: self.rules(&subject.namespace).may_warn().then(|| create(&self.enforced)).transpose()?,
            parts: subject.parts.iter().map(|part| self.create(part, shapes)).collect::<Result<_>>()?,
        })
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
