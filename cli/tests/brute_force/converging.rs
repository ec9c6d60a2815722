//! Advice converges: whoever follows each piece of it literally, one after the other, cures whom it is about, makes nothing
//! worse, never gets the same advice twice, and ends with a policy that can be enforced.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use cli::{
    Manifests, Policy, SettingsFile,
    cluster::{Gap, Kind},
    preview::{Accepted, Advice, AffectedObject, Outcome, Preview, PreviewInput, WayOut},
};
use node_placement_policy::{resource::Resource, selector::parse};
use serde_json::{Value, json};

use super::{any_case, cluster::Dice};

/// So many clusters are tried in every run, and so many by the test that is ignored.
const CASES: usize = 100;
const MORE_CASES: usize = 1000;
/// No world needs more advice than this.
const ROUNDS: usize = 60;

/// A cluster, and the settings that somebody tries out on it.
#[derive(Clone)]
struct World {
    settings: Value,
    objects: Vec<Value>,
    accepted: Vec<Accepted>,
    /// The nodes that somebody added: they were in nobody's way before.
    added: BTreeSet<String>,
}

/// What became of a piece of advice.
enum Followed {
    Yes,
    /// Nobody can follow it here, such as advice to list what this cluster does not have.
    No,
}

impl World {
    fn preview(&self, policy: &Policy) -> Result<Preview> {
        let answer = policy.validate_settings(&self.settings)?;
        ensure!(answer.valid, "the settings have a mistake: {:?}", answer.message);
        let files = SettingsFile::read_all(vec![self.settings.clone()])?;
        let cluster = self.objects.iter().cloned().collect::<Manifests>();
        let accepted = self.accepted.as_slice();
        let input = PreviewInput { policy, files: &files, old: None, cluster: &cluster, accepted, fixed_nodes: false };
        input.preview(|_, _| {})
    }

    fn entries(&mut self) -> Result<&mut Vec<Value>> {
        self.settings["placement"]["namespaces"].as_array_mut().context("entries")
    }

    /// The entry that a path such as `placement.namespaces[1].defaultTolerations` is about.
    fn entry_at(&mut self, path: &str) -> Result<Option<(usize, &mut Value)>> {
        let Some(rest) = path.strip_prefix("placement.namespaces[") else { return Ok(None) };
        let position: usize = rest.split(']').next().context("a position")?.parse()?;
        Ok(Some((position, self.entries()?.get_mut(position).context("an entry")?)))
    }

    fn remove_setting(&mut self, path: &str) -> Result<()> {
        let field = path.rsplit('.').next().context("a field")?.to_owned();
        let members = match self.entry_at(path)? {
            Some((_, entry)) => entry.as_object_mut(),
            None => self.settings["placement"].as_object_mut(),
        };
        members.context("settings")?.remove(&field).with_context(|| format!("{path} is not set"))?;
        Ok(())
    }

    fn object(&mut self, about: &AffectedObject) -> Result<&mut Value> {
        let is_it = |object: &&mut Value| {
            let metadata = &object["metadata"];
            object["kind"] == about.kind.as_str()
                && metadata["name"] == about.name.as_str()
                && metadata["namespace"] == about.namespace.as_str()
        };
        self.objects.iter_mut().find(is_it).with_context(|| format!("no {about}"))
    }

    fn namespace(&mut self, name: &str) -> Result<&mut Value> {
        let is_it = |object: &&mut Value| object["kind"] == "Namespace" && object["metadata"]["name"] == name;
        self.objects.iter_mut().find(is_it).with_context(|| format!("no Namespace {name}"))
    }

    /// Changes the PodSpecs of objects, with those of the ReplicaSets, Jobs and Pods that they own.
    fn change_specs(&mut self, about: &[AffectedObject], change: &dyn Fn(&mut Value)) -> Result<()> {
        for it in about.iter().filter(|it| !it.kind.is_empty()) {
            change(spec(self.object(it)?)?);
            // A rollout replaces what is made from older templates.
            let mut makers = vec![it.name.clone()];
            for _ in 0..2 {
                for object in &mut self.objects {
                    let owner = object["metadata"]["ownerReferences"][0]["name"].as_str().unwrap_or_default();
                    if object["metadata"]["namespace"] == it.namespace.as_str() && makers.iter().any(|own| own == owner)
                    {
                        makers.extend(object["metadata"]["name"].as_str().map(str::to_owned));
                        change(spec(object)?);
                    }
                }
                makers.sort();
                makers.dedup();
            }
        }
        Ok(())
    }

    /// Adds a node with labels that meet a selector.
    fn add_node(&mut self, labels: &str) -> Result<()> {
        let selector = parse(labels).map_err(anyhow::Error::msg)?;
        let mut own = json!({});
        for on_label in selector.by_label() {
            let listed = on_label.iter().flat_map(|one| one.values().to_vec());
            let numbers = listed.clone().filter_map(|value| value.parse::<i64>().ok());
            let beside = numbers.flat_map(|number| [(number - 1).to_string(), (number + 1).to_string()]);
            let values: Vec<String> = listed.chain(beside).chain(["some".to_owned()]).collect();
            let accepts = |value: Option<&str>| on_label.iter().all(|one| one.accepts(value));
            if accepts(None) {
                continue;
            }
            let value = values.into_iter().find(|value| accepts(Some(value))).context("a value")?;
            own[on_label.first().context("a label")?.key()] = value.into();
        }
        let name = format!("added-{}", self.added.len());
        // Whoever runs nodes labels them with what node metadata needs.
        if self.settings.get("nodeMetadata").is_some() {
            own["rack"] = own["rack"].as_str().unwrap_or("r1").into();
        }
        self.objects.push(json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": own } }));
        self.added.insert(name);
        Ok(())
    }

    /// Does what a piece of advice says.
    fn follow(&mut self, advice: &Advice) -> Result<Followed> {
        let (about, cause) = (advice.about.as_slice(), &advice.cause);
        let setting = cause.setting.as_deref().unwrap_or_default();
        let first = about.first().map(|it| it.namespace.clone());
        let namespace = cause.namespace.clone().or(first).unwrap_or_default();
        match &advice.way_out {
            WayOut::Said | WayOut::NameAnotherNode | WayOut::AvoidControlPlane | WayOut::TolerateInPods => {
                return Ok(Followed::No);
            }
            WayOut::Provide(gap) => return self.provide(gap),
            WayOut::LabelNamespace { namespace, label, value } => {
                let value = value.as_deref().unwrap_or("a");
                self.namespace(namespace)?["metadata"]["labels"][label] = value.into();
            }
            WayOut::FixAnnotation { namespace, annotation } => {
                let annotations = self.namespace(namespace)?["metadata"]["annotations"].as_object_mut();
                annotations.and_then(|it| it.remove(annotation)).context("the annotation is not there")?;
            }
            WayOut::UseAnotherClass => self.change_specs(about, &|spec| drop_member(spec, "runtimeClassName"))?,
            WayOut::NoDefault { position, .. } => self.entries()?[*position]["defaultNodeSelector"] = "".into(),
            WayOut::OwnEntryWithoutDefault { namespace } => {
                self.entries()?.push(json!({ "name": namespace, "defaultNodeSelector": "" }));
            }
            WayOut::Allow { setting, .. } => self.remove_setting(setting)?,
            WayOut::Remove { requested, .. } => self.change_specs(about, &|spec| remove_request(spec, requested))?,
            WayOut::AddToTemplate { tolerations, .. } => {
                ensure!(!tolerations.is_empty(), "nothing to add");
                self.change_specs(about, &|spec| add_tolerations(spec, &json!(tolerations)))?;
            }
            WayOut::Tolerate { tolerations, .. } => match self.entry_at(setting)? {
                Some((_, entry)) => entry["defaultTolerations"] = json!(tolerations),
                None => {
                    let own = json!({ "name": namespace, "defaultTolerations": tolerations });
                    self.entries()?.push(own);
                }
            },
            WayOut::Annotate { .. } => return Ok(Followed::No),
            WayOut::Enforce { .. } => {
                self.entry_at(setting)?.context("an entry")?.1["enforcement"] = "Enforce".into();
            }
            WayOut::Unforbid { .. } => self.remove_setting(setting)?,
            WayOut::OwnEntry { namespace, .. } => self.own_entry(setting, namespace, cause.taint.as_deref())?,
            WayOut::TolerateForGood => self.tolerate_for_good(about)?,
            WayOut::LabelNodes { labels, .. } => self.add_node(labels)?,
            WayOut::ChangeSelector | WayOut::ChangeOne if !setting.is_empty() => self.remove_setting(setting)?,
            WayOut::ChangeSelector | WayOut::ChangeOne => self.change_specs(about, &remove_selectors)?,
            WayOut::FixAffinity => self.change_specs(about, &|spec| drop_member(spec, "affinity"))?,
            WayOut::MakeRoom(_) => return Ok(Followed::No),
            WayOut::ExemptDaemonSet { namespace, .. } => {
                for it in about {
                    let labels = &mut self.object(it)?["spec"]["template"]["metadata"]["labels"];
                    labels["app"] = it.name.clone().into();
                }
                let pods =
                    format!("app in ({})", about.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(","));
                self.entries()?.insert(0, json!({ "name": namespace, "podSelector": pods, "defaultNodeSelector": "" }));
            }
            WayOut::AcceptLeaving => self.accepted.push(Accepted::LeavesNodes),
            WayOut::Recreate => {
                for it in about {
                    let position = self.objects.iter().position(|object| {
                        object["kind"] == "Pod"
                            && object["metadata"]["name"] == it.name.as_str()
                            && object["metadata"]["namespace"] == it.namespace.as_str()
                    });
                    self.objects.remove(position.with_context(|| format!("no {it}"))?);
                }
            }
            WayOut::LabelNodesWithMetadata => {
                for object in self.objects.iter_mut().filter(|object| object["kind"] == "Node") {
                    if object["metadata"]["labels"]["rack"].is_null() {
                        object["metadata"]["labels"]["rack"] = "r1".into();
                    }
                }
                for object in self.objects.iter_mut().filter(|object| object["kind"] == "NodePool") {
                    object["spec"]["template"]["metadata"]["labels"]["rack"] = "r1".into();
                }
            }
        }
        Ok(Followed::Yes)
    }

    /// Provides what the cluster as given lacks.
    fn provide(&mut self, gap: &Gap) -> Result<Followed> {
        match gap {
            Gap::Object(Kind::Of(Resource::Namespace), name) => self.objects.push(
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": {}, "annotations": {} } }),
            ),
            Gap::Object(Kind::RuntimeClass, name) => self.objects.push(
                json!({ "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": { "name": name }, "handler": "h" }),
            ),
            Gap::Nodes => self.add_node("pool=a")?,
            Gap::Object(Kind::Of(Resource::Node), name) => self.objects.push(
                json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "pool": "a", "rack": "r1" } } }),
            ),
            Gap::Pods => {
                // The others were just being replaced.
                self.objects.iter_mut().for_each(|object| drop_member(object, "status"));
                for pod in self.objects.iter_mut().filter(|object| object["kind"] == "Pod") {
                    pod["status"] = json!({ "phase": "Running" });
                }
            }
            _ => return Ok(Followed::No),
        }
        Ok(Followed::Yes)
    }

    /// Copies an entry for one of its namespaces, with a toleration more.
    fn own_entry(&mut self, setting: &str, namespace: &str, taint: Option<&str>) -> Result<()> {
        let (position, entry) = self.entry_at(setting)?.context("an entry")?;
        let mut own = entry.clone();
        drop_member(&mut own, "namespaceSelector");
        own["name"] = namespace.into();
        let (pair, effect) = taint.context("a taint")?.rsplit_once(':').context("an effect")?;
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let mut list = own["defaultTolerations"].as_array().cloned().unwrap_or_default();
        list.push(match value {
            "" => json!({ "key": key, "operator": "Exists", "effect": effect }),
            value => json!({ "key": key, "operator": "Equal", "value": value, "effect": effect }),
        });
        own["defaultTolerations"] = list.into();
        self.entries()?.insert(position, own);
        Ok(())
    }

    fn tolerate_for_good(&mut self, about: &[AffectedObject]) -> Result<()> {
        let without_seconds = |list: &mut Value| {
            list.as_array_mut().into_iter().flatten().for_each(|it| drop_member(it, "tolerationSeconds"));
        };
        self.change_specs(about, &|spec| without_seconds(&mut spec["tolerations"]))?;
        for entry in self.entries()? {
            if entry["defaultTolerations"].is_array() {
                without_seconds(&mut entry["defaultTolerations"]);
            }
        }
        Ok(())
    }
}

fn spec(object: &mut Value) -> Result<&mut Value> {
    let pointer = match object["kind"].as_str().unwrap_or_default() {
        "Pod" => "/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    object.pointer_mut(pointer).context("a PodSpec")
}

fn drop_member(value: &mut Value, name: &str) {
    value.as_object_mut().map(|members| members.remove(name));
}

fn add_tolerations(spec: &mut Value, added: &Value) {
    let mut all = spec["tolerations"].as_array().cloned().unwrap_or_default();
    all.extend(added.as_array().into_iter().flatten().cloned());
    spec["tolerations"] = all.into();
}

fn remove_selectors(spec: &mut Value) {
    drop_member(spec, "nodeSelector");
    drop_member(spec, "affinity");
}

/// Removes `pool=a`, a whole expression, or a toleration.
fn remove_request(spec: &mut Value, requested: &str) {
    let is_toleration = |it: &Value| {
        let (key, value) = (it["key"].as_str().unwrap_or("*"), it["value"].as_str().unwrap_or_default());
        let text = if value.is_empty() { key.to_owned() } else { format!("{key}={value}") };
        requested == "the toleration of everything" && key == "*" || requested.split(':').next() == Some(&*text)
    };
    let before = spec.clone();
    if let Some(tolerations) = spec.get_mut("tolerations").and_then(Value::as_array_mut) {
        tolerations.retain(|it| !is_toleration(it));
    }
    if let Some((key, value)) = requested.split_once('=')
        && let Some(pairs) = spec.get_mut("nodeSelector").filter(|pairs| pairs[key] == value)
    {
        drop_member(pairs, key);
    }
    if *spec == before {
        drop_member(spec, "affinity");
    }
}

/// What is trouble, by its name.
fn troubles(preview: &Preview, added: &BTreeSet<String>) -> BTreeMap<String, (Outcome, bool)> {
    let mut found = BTreeMap::new();
    for it in &preview.workloads {
        let forecast = it.finding.forecast;
        let is_of_added = !it.nodes.is_empty() && it.nodes.iter().all(|node| added.contains(node));
        if forecast.outcome.is_trouble() && !is_of_added {
            found.insert(format!("{} {}/{}", it.kind, it.namespace, it.name), (forecast.outcome, forecast.would_be));
        }
    }
    for it in &preview.namespaces {
        let forecast = it.finding.forecast;
        if forecast.outcome.is_trouble() {
            found.insert(it.name.clone(), (forecast.outcome, forecast.would_be));
        }
    }
    found
}

/// What makes advice the same: the cause, whom it is about, and what to do.
fn identity(advice: &Advice) -> String {
    format!("{:?} {:?} {:?}", advice.cause, advice.about, advice.way_out)
}

/// Whom a piece of advice is about, as [`troubles`] calls them.
fn subjects(advice: &Advice) -> BTreeSet<String> {
    let name = |it: &AffectedObject| match it.kind.as_str() {
        "" => it.namespace.clone(),
        kind => format!("{kind} {}/{}", it.namespace, it.name),
    };
    advice.about.iter().map(name).collect()
}

fn is_about_trouble(advice: &Advice, troubles: &BTreeMap<String, (Outcome, bool)>) -> bool {
    subjects(advice).iter().any(|subject| troubles.contains_key(subject))
        || matches!(advice.way_out, WayOut::Provide(_))
}

/// Follows advice until there is none left about trouble. Returns the names of the ways out, and what could not be followed.
fn converge(world: &mut World, policy: &Policy, met: &mut BTreeMap<String, usize>) -> Result<()> {
    let mut given: BTreeSet<String> = BTreeSet::new();
    let mut unfollowed: BTreeSet<String> = BTreeSet::new();
    let mut history = vec![];
    for _ in 0..ROUNDS {
        let preview = world.preview(policy).with_context(|| history.join("\n"))?;
        let before = troubles(&preview, &world.added);
        let is_next = |it: &&Advice| is_about_trouble(it, &before) && !unfollowed.contains(&identity(it));
        let Some(advice) = preview.advice.iter().find(is_next) else {
            return ready_or_accepted(world, policy, &before, &unfollowed).with_context(|| history.join("\n"));
        };
        history.push(advice.text.clone());
        ensure!(given.insert(identity(advice)), "advice comes twice:\n{}", history.join("\n"));
        let followed = world.follow(advice).with_context(|| history.join("\n"))?;
        let way_out = format!("{:?}", advice.way_out).split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        if let Followed::No = followed {
            unfollowed.insert(identity(advice));
            *met.entry(format!("not {way_out}")).or_default() += 1;
            continue;
        }
        *met.entry(way_out).or_default() += 1;
        let preview = world.preview(policy).with_context(|| history.join("\n"))?;
        let after = troubles(&preview, &world.added);
        let own = subjects(advice);
        // What is provided shows what nobody could tell before.
        let is_known = !matches!(advice.way_out, WayOut::Provide(_));
        // Something else could use a node that was added, if it was not for the policy.
        let adds_nodes = matches!(advice.way_out, WayOut::LabelNodes { .. });
        let is_worse = |(name, (outcome, _)): &(&String, &(Outcome, bool))| {
            is_known && !before.contains_key(*name) && !(adds_nodes && *outcome == Outcome::Waits)
        };
        let worse: Vec<_> = after.iter().filter(is_worse).collect();
        ensure!(worse.is_empty(), "{worse:?} got worse:\n{}\n{:?}", history.join("\n"), texts(&preview));
        let same = |name: &&String| {
            before.contains_key(*name)
                && preview.advice.iter().any(|it| it.cause == advice.cause && subjects(it).contains(*name))
        };
        let uncured: Vec<_> = own.iter().filter(same).collect();
        ensure!(uncured.is_empty(), "{uncured:?} is not cured:\n{}\n{:?}", history.join("\n"), texts(&preview));
    }
    bail!("no end:\n{}", history.join("\n"))
}

fn texts(preview: &Preview) -> Vec<&String> {
    preview.advice.iter().map(|it| &it.text).collect()
}

/// What is left when no advice is left: nothing, or what is misplaced, which the script replaces once that is accepted.
fn ready_or_accepted(
    world: &mut World,
    policy: &Policy,
    left: &BTreeMap<String, (Outcome, bool)>,
    unfollowed: &BTreeSet<String>,
) -> Result<()> {
    let others: Vec<_> = left.iter().filter(|(_, (outcome, _))| *outcome != Outcome::Misplaced).collect();
    let leaves = |outcome: Outcome| outcome == Outcome::LeavesNodes && world.accepted.contains(&Accepted::LeavesNodes);
    let others: Vec<_> = others.into_iter().filter(|(_, (outcome, _))| !leaves(*outcome)).collect();
    ensure!(others.is_empty() || !unfollowed.is_empty(), "no advice for {others:?}");
    if !others.is_empty() {
        return Ok(());
    }
    world.accepted.extend([Accepted::Misplaced, Accepted::LeavesNodes]);
    let preview = world.preview(policy)?;
    ensure!(preview.verdict.ready, "not ready, though all is accepted: {}", preview.verdict.text);
    // The script, once the policy enforces: new Pods wait for a node, and find one.
    for restart in preview.restarts.iter().filter(|restart| restart.obstacle.is_none()) {
        let name = format!("{} {}/{}", restart.kind, restart.namespace, restart.name);
        ensure!(left.contains_key(&name) || left.keys().any(|it| it.starts_with("Pod ")), "{name} is not misplaced");
        let owned = |object: &Value| {
            let owner = object["metadata"]["ownerReferences"][0]["name"].as_str().unwrap_or_default();
            object["metadata"]["namespace"] == restart.namespace.as_str()
                && object["kind"] == "Pod"
                && (owner == restart.name || owner.strip_suffix("-1") == Some(&restart.name))
        };
        world.objects.retain(|object| !owned(object));
        for object in world.objects.iter_mut().filter(|object| object["metadata"]["name"] == restart.name.as_str()) {
            drop_member(object, "status");
        }
    }
    let preview = world.preview(policy)?;
    if let Some(restart) = preview.restarts.iter().find(|restart| restart.obstacle.is_none()) {
        bail!("{} {} is to be restarted again", restart.kind, restart.name);
    }
    ensure!(preview.verdict.ready, "not ready after the script: {}", preview.verdict.text);
    Ok(())
}

fn converges(seed: u64, cases: usize) -> Result<()> {
    let (policy, mut dice, mut met) = (Policy::native(), Dice(seed, true), BTreeMap::new());
    let mut failed = vec![];
    for case in 0..cases {
        let (settings, objects) = any_case(&mut dice, &policy)?;
        let mut world = World { settings, objects, accepted: vec![], added: BTreeSet::new() };
        if let Err(error) = converge(&mut world, &policy, &mut met) {
            failed.push(format!("case {case}: {error:#}"));
        }
    }
    ensure!(failed.is_empty(), "{} of {cases}:\n{}\n{met:?}", failed.len(), failed.join("\n\n"));
    for way_out in ["Remove", "LabelNodes", "Tolerate", "AcceptLeaving", "LabelNamespace", "FixAnnotation", "Provide"] {
        ensure!(met.get(way_out).is_some_and(|count| *count > 0), "{way_out} was never advised: {met:?}");
    }
    Ok(())
}

#[test]
fn whoever_follows_advice_ends_with_a_policy_that_can_be_enforced() -> Result<()> {
    converges(5, CASES)
}

#[test]
#[ignore = "it takes minutes"]
fn whoever_follows_advice_ends_well_on_a_thousand_clusters() -> Result<()> {
    converges(7, MORE_CASES)
}
