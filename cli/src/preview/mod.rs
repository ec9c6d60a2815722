//! What the policy would do to a cluster: it is asked about everything in it, as if that were created now.
//!
//! - [`creation`]: the requests that an API server would send; [`pod`] and [`owner`] for Pods, which must be taken back
//!   to what their controller would make; [`made`] for Pods that are not there yet.
//! - [`asking`]: who is asked what, and what comes of it; [`finding`]: what an answer means; [`fit`]: where a Pod would
//!   run; [`trial`]: whether a namespace has a rule.
//! - [`pools`]: who may run where; [`entries`]: what each entry of the settings comes to; [`unlabelled`]: namespaces that
//!   seem to lack a label; [`waiting`]: Pods that no node takes;
//!   [`runtime_class`]: what the API server makes of a Pod before webhooks see it.
//! - [`tally`]: everything, grouped and counted; [`advice`]: what to do about it; [`report`] for people, with [`table`] and in [`phrases`]; [`page`] for a
//!   browser; [`lines`] for scripts; [`changes`]: what is different with other settings.
//!
//! What the audit scanner of Kubewarden sends is the object as it is, of nobody. Where a controller would create
//! something else, this does as the controller does.

mod advice;
mod asking;
mod changes;
mod entries;
mod finding;
mod fit;
mod lines;
mod origin;
mod page;
mod phrases;
pub mod pools;
mod report;
pub mod scheduler;
mod table;
mod tally;
pub mod trial;
mod unlabelled;
mod waiting;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

pub use self::{
    advice::advice,
    changes::Changes,
    entries::EntryCount,
    finding::{Cause, Finding, Verdict, gets},
    lines::{lines, lines_of_changes},
    origin::Origin,
    page::{page, page_of_changes},
    phrases::names,
    pools::Pools,
    report::{WIDTH, report, report_of_changes},
    tally::{Group, Kind, Members, Tally},
};
pub(crate) use crate::requests::{
    admission as creation,
    delivery::delivery,
    owner::{self, Owner},
    pod, runtime_class,
};
use crate::{
    Identity, ManagedKeys, Manifests, Policy, PolicySpec, SettingsFile,
    input::kubectl::{Listed, Unreadable},
    input::settings::{Enforcement, Settings, entries},
    namespace_rules::holding_entry,
    requests::resource::{POD, Resource},
};

/// How often the progress is told.
const TICK: Duration = Duration::from_millis(20);

/// A cluster, and the policy as it would be deployed there.
pub struct Preview<'p> {
    policy: &'p Policy,
    settings: &'p Value,
    typed: &'p Settings,
    /// The same, as if every entry were enforced.
    enforced: Value,
    /// Whether an entry is not.
    has_warning_entries: bool,
    /// The same, as if defaults gave way to what Pods ask for; none, if there are no such settings, or if they do.
    yielding: Option<Value>,
    deployment: Option<&'p PolicySpec>,
    cluster: Manifests,
    /// What could not be listed.
    unreadable: Vec<Unreadable>,
    managed: ManagedKeys,
    /// All names are kept, and not only the first.
    keep_names: bool,
}

impl<'p> Preview<'p> {
    pub fn new(policy: &'p Policy, file: &'p SettingsFile, cluster: impl Into<Listed>, keep_names: bool) -> Self {
        let SettingsFile { settings, typed, policy: deployment, .. } = file;
        let Listed { manifests: cluster, unreadable } = cluster.into();
        let managed = ManagedKeys::of(typed);
        let enforced = enforced(settings);
        let has_warning_entries = enforced != *settings;
        let yielding = yielding(settings);
        Self {
            policy,
            settings,
            typed,
            enforced,
            has_warning_entries,
            yielding,
            deployment: deployment.as_ref(),
            cluster,
            unreadable,
            managed,
            keep_names,
        }
    }

    /// Asks about everything, with a thread on every core. `progress` is told now and then how many objects of how many
    /// are done.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn run(&self, progress: impl Fn(usize, usize)) -> Result<Tally> {
        // There are no threads in WASI.
        if cfg!(target_family = "wasm") {
            let mut tally = self.work(&AtomicUsize::new(0))?;
            tally.unreadable = self.unreadable.clone();
            return self.complete(tally);
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let total = self.cluster.objects().len();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(|| self.work(&next))).collect();
            while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
                progress(next.load(Ordering::Relaxed).min(total), total);
                thread::sleep(TICK);
            }
            let mut tally = Tally { unreadable: self.unreadable.clone(), ..Tally::default() };
            for worker in workers {
                let part = worker.join().map_err(|_| anyhow!("a thread of the preview failed"))?;
                tally.merge(part?, self.keep_names);
            }
            self.complete(tally)
        })
    }

    fn complete(&self, mut tally: Tally) -> Result<Tally> {
        tally.entries = self.entries();
        tally.unlabelled = self.unlabelled(&tally);
        tally.pools = self.pools(&tally)?;
        Ok(tally)
    }

    /// Whether the entry that holds for a namespace says `enforcement: Warn`.
    fn only_warns(&self, namespace: &str) -> bool {
        if !self.has_warning_entries {
            return false;
        }
        let there = self.namespace(namespace).unwrap_or(&Value::Null);
        let holding = holding_entry(self.typed, namespace, there);
        holding.is_some_and(|position| entries(self.typed)[position].enforcement == Enforcement::Warn)
    }

    /// The requests that stand for an object: its creation, and of a Pod that runs on a node the Binding to that. None,
    /// if the policy has no business with it.
    pub fn requests(&self, identity: &Identity) -> Vec<Value> {
        let resource = Resource::of(&identity.api_version, &identity.kind);
        let (Some(resource), Some(object)) = (resource, self.cluster.find(identity)) else { return vec![] };
        if resource != POD {
            return vec![creation::of(resource, object)];
        }
        let owner = Owner::of(object, &self.cluster);
        let creation = pod::creation(object, owner.as_ref(), &self.managed, &self.cluster);
        let binding = pod::binding(object, &creation["object"], |name| self.node(name));
        [creation].into_iter().chain(binding).collect()
    }

    /// Takes one object after the other, until all are taken.
    fn work(&self, next: &AtomicUsize) -> Result<Tally> {
        let mut tally = Tally::default();
        while let Some(object) = self.cluster.objects().get(next.fetch_add(1, Ordering::Relaxed)) {
            self.ask_about(object, &mut tally).with_context(|| object.identity.to_string())?;
        }
        Ok(tally)
    }

    fn namespace(&self, name: &str) -> Option<&Value> {
        self.cluster.namespace(name)
    }

    fn node(&self, name: &str) -> Option<&Value> {
        self.cluster.node(name)
    }
}

/// Settings as if they said `onDefaultConflict: Yield`.
fn yielding(settings: &Value) -> Option<Value> {
    let mut yielding = settings.clone();
    yielding.get_mut("placement")?.as_object_mut()?.insert("onDefaultConflict".to_owned(), "Yield".into());
    (yielding != *settings).then_some(yielding)
}

/// Settings as if every entry said `enforcement: Enforce`.
fn enforced(settings: &Value) -> Value {
    let mut enforced = settings.clone();
    for entry in enforced["placement"].get_mut("namespaces").and_then(Value::as_array_mut).into_iter().flatten() {
        if entry["enforcement"] == "Warn" {
            crate::input::json::remove(entry, &["enforcement"]);
        }
    }
    enforced
}
