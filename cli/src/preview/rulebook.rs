//! A deployment of the policy in front of a cluster, and what holds in each namespace by it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
};

use anyhow::Result;
use node_placement_policy::{selector::Requirement, settings::EntryAt};

use crate::{
    cluster::manifests::Manifests,
    engine::policy::Policy,
    input::settings::{entries_at, is_for_the_rest},
    rules::namespace::NamespaceRules,
    webhook::{deployment::Deployment, settings_file::SettingsFile},
};

/// A deployment of the policy, and what holds in each namespace by it.
pub struct Rulebook<'s> {
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

impl<'s> Rulebook<'s> {
    /// Makes the rules of a cluster with these namespaces.
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

    /// Returns whether anything becomes of Pods of a namespace; with `warned`, or would become of them.
    pub fn depends_on_pods_of(&self, namespace: &str, warned: bool) -> bool {
        self.rules(namespace).has_any(warned) || self.files.iter().any(|it| it.typed.node_metadata.is_some())
    }

    /// Returns what a namespace requires of labels of nodes.
    pub fn required(&self, namespace: &str) -> Vec<Requirement> {
        self.rules(namespace).requirements()
    }

    /// Returns what holds in a namespace.
    pub fn rules(&self, namespace: &str) -> &NamespaceRules<'s> {
        self.namespaces.get(namespace).unwrap_or(&self.nowhere)
    }

    /// Returns the entries for all Pods that hold in no namespace, each with those that it matches. One for the rest
    /// may match none.
    pub fn idle_entries(&self) -> Vec<(EntryAt<'s>, Vec<&'s str>)> {
        let placing = self.files.iter().filter(|file| file.places_pods());
        let all = placing.filter_map(|file| file.typed.placement.as_ref()).flat_map(entries_at);
        let holds = |entry| self.namespaces.values().any(|rules| rules.held().any(|at| ptr::eq(at.entry, entry)));
        let idle = all.filter(|at| at.entry.pod_selector.is_none() && !is_for_the_rest(at.entry) && !holds(at.entry));
        let matched = idle.map(|at| {
            let matched = self.namespaces.iter().filter(|(_, rules)| rules.matches(at.entry));
            (at, matched.map(|(name, _)| *name).collect())
        });
        matched.collect()
    }
}
