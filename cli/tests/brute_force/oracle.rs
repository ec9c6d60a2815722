//! What becomes of each workload, found by brute force: the policy is asked for each Pod, and each Node and NodePool is
//! tried, one by one. Nothing here is shared with the preview.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cli::{Evaluation, Policy};
use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
use serde_json::{Value, json};

use super::matching::{node_pool_takes, node_takes, node_takes_now};

const REQUIRED: &str = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";

/// Where the policy looks things up.
struct Objects(Vec<Value>);

impl Cluster for Objects {
    fn get_resource(&self, GetResourceRequest { kind, name, .. }: &GetResourceRequest) -> Result<String> {
        let is_it = |object: &&Value| object["kind"] == kind.as_str() && object["metadata"]["name"] == name.as_str();
        let object = self.0.iter().find(is_it).map(ToString::to_string);
        object.with_context(|| format!("Cannot find v1/{kind} named '{name}' inside of namespace 'None'"))
    }

    fn log(&self, _: LogLevel, _: &str) {}
}

/// Nobody knows which of a NodePool's labels a node would have.
pub const WHATEVER: &str = "Whatever";

/// The name of an outcome, and whether it only would be.
pub type Outcome = (String, bool);

pub struct Oracle<'o> {
    pub policy: &'o Policy,
    pub objects: &'o [Value],
    settings: Value,
    enforced: Value,
}

/// What the policy says.
enum Said {
    Lacking,
    Refused,
    LetIn(Value),
}

impl<'o> Oracle<'o> {
    pub fn new(policy: &'o Policy, objects: &'o [Value], settings: &Value) -> Self {
        let mut enforced = settings.clone();
        for entry in enforced["placement"]["namespaces"].as_array_mut().into_iter().flatten() {
            entry["enforcement"] = "Enforce".into();
        }
        Self { policy, objects, settings: settings.clone(), enforced }
    }

    /// Every workload's outcome, by `Kind namespace/name`.
    pub fn workloads(&self) -> Result<BTreeMap<String, Outcome>> {
        let mut outcomes = BTreeMap::new();
        for object in self.objects.iter().filter(|object| is_judged(object)) {
            let metadata = &object["metadata"];
            let (kind, namespace, name) =
                (text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]));
            let mut worst = self.outcome(object)?;
            for part in self.parts(object) {
                let outcome = self.outcome(part)?;
                if badness(&outcome) > badness(&worst) {
                    worst = outcome;
                }
            }
            if kind == "Pod" && waits(object) {
                // Nothing creates it again.
                if badness(&worst).0 {
                    worst = ("Unchanged".to_owned(), false);
                }
                worst = self.standing(object, object)?.unwrap_or(worst);
            } else {
                for pod in self.pods_of(object).into_iter().filter(|pod| waits(pod)) {
                    let name = text(&pod["metadata"]["name"]);
                    let row = format!("Pod {namespace}/{name}");
                    outcomes.extend(self.standing(pod, object)?.map(|outcome| (row, outcome)));
                }
            }
            outcomes.insert(format!("{kind} {namespace}/{name}"), worst);
        }
        Ok(outcomes)
    }

    /// What is wrong with a Pod that waits, as it is.
    fn standing(&self, pod: &Value, workload: &Value) -> Result<Option<Outcome>> {
        if let Some(real) = self.bound_as_it_is(pod, workload, &self.settings)? {
            return Ok(Some((real.to_owned(), false)));
        }
        if !self.only_warns(text(&pod["metadata"]["namespace"])) {
            return Ok(None);
        }
        let enforced = self.bound_as_it_is(pod, workload, &self.enforced)?;
        Ok(enforced.map(|outcome| (outcome.to_owned(), true)))
    }

    fn bound_as_it_is(&self, pod: &Value, workload: &Value, settings: &Value) -> Result<Option<&'static str>> {
        let is_large = |taker: &String| {
            taker.starts_with('/') || self.find("Node", taker).is_some_and(|node| is_large_enough(&pod["spec"], node))
        };
        let takers: Vec<String> = self.takers(&pod["spec"]).into_iter().filter(is_large).collect();
        let has_pool = takers.iter().any(|taker| taker.starts_with('/'));
        if has_pool && (settings["placement"]["onBindings"] == "Verify" || self.requires_rack()) {
            return Ok(Some(WHATEVER));
        }
        let mut allowed = has_pool;
        for node in takers.iter().filter(|taker| !taker.starts_with('/')) {
            allowed |= self.may_be_bound(pod, node, settings)?;
        }
        if allowed || takers.is_empty() {
            return Ok(None);
        }
        Ok(Some(match self.judge(workload, settings)? {
            WHATEVER => WHATEVER,
            // Whether it is the Nodes that could not be evaluated is not looked at.
            "CannotTell" | "LeavesNodes" => WHATEVER,
            "Refused" => "Waits",
            _ if self.has_places(workload, settings)? => "Misplaced",
            _ => "Waits",
        }))
    }

    /// Whether a Pod of a workload that is accepted has a place, sooner or later.
    fn has_places(&self, object: &Value, settings: &Value) -> Result<bool> {
        let mut template = template(object).context("a template")?;
        if text(&object["kind"]) != "Pod"
            && let Said::LetIn(after) = self.ask(&creation(object), settings)?
        {
            template = self::template(&after).context("a template")?;
        }
        let class = self.find("RuntimeClass", text(&template["spec"]["runtimeClassName"]));
        let spec = merged(&template["spec"], class.unwrap_or(&Value::Null));
        let pod = self.pod(object, with(&spec, &self.added_by_others(object)));
        let Said::LetIn(after) = self.ask(&creation(&pod), settings)? else { return Ok(false) };
        let spec =
            if object["kind"] == "DaemonSet" { tolerating_cordons(&after["spec"]) } else { after["spec"].clone() };
        for taker in self.takers(&spec) {
            let is_large = self.find("Node", &taker).is_some_and(|node| is_large_enough(&spec, node));
            if taker.starts_with('/') || is_large && self.may_be_bound(object, &taker, settings)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Every namespace's outcome: that of a Pod that asks for nothing.
    pub fn namespaces(&self) -> Result<BTreeMap<String, Outcome>> {
        let named = self.objects.iter().filter_map(|object| match text(&object["kind"]) {
            "Namespace" => object["metadata"]["name"].as_str(),
            _ => object["metadata"]["namespace"].as_str(),
        });
        let mut outcomes = BTreeMap::new();
        for name in named {
            let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
            let metadata = json!({ "generateName": "new-", "namespace": name });
            let plain = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
            outcomes.insert(name.to_owned(), self.outcome(&plain)?);
        }
        Ok(outcomes)
    }

    fn outcome(&self, object: &Value) -> Result<Outcome> {
        let real = self.judge(object, &self.settings)?;
        if real == WHATEVER {
            return Ok((real.to_owned(), false));
        }
        let enforced = self.judge(object, &self.enforced)?;
        let warns = self.only_warns(text(&object["metadata"]["namespace"]));
        let knows_namespace = self.find("Namespace", text(&object["metadata"]["namespace"])).is_some();
        let lacks_class = template(object).is_some_and(|template| {
            let name = text(&template["spec"]["runtimeClassName"]);
            !name.is_empty() && self.find("RuntimeClass", name).is_none()
        });
        // Node metadata is not warned of, nor what nobody knows; but of a class placement alone depends.
        let only_warns = lacks_class && knows_namespace && !self.requires_rack();
        if warns && ["Refused", "Waits", "LeavesNodes", "Misplaced", "CannotTell"].contains(&real) && !only_warns {
            return Ok((real.to_owned(), false));
        }
        Ok((enforced.to_owned(), warns))
    }

    fn judge(&self, object: &Value, settings: &Value) -> Result<&'static str> {
        let kind = text(&object["kind"]);
        let class = |spec: &Value| match text(&spec["runtimeClassName"]) {
            "" => Some(Value::Null),
            name => self.find("RuntimeClass", name).cloned(),
        };
        let template = template(object).context("a template")?;
        let class = class(&template["spec"]);
        let mut changed = false;
        let mut completed = template.clone();
        if kind != "Pod" {
            match self.ask(&creation(object), settings)? {
                Said::Lacking => return Ok("CannotTell"),
                Said::Refused => return Ok("Refused"),
                Said::LetIn(object_after) => {
                    let after = self::template(&object_after).context("a template")?;
                    changed |= after != template;
                    completed = after;
                }
            }
        }
        let Some(class) = class else { return Ok("CannotTell") };
        if kind == "DaemonSet" {
            return self.judge_daemon_set(object, &template["spec"], &completed["spec"], &class, changed, settings);
        }
        let before = with(&merged(&template["spec"], &class), &self.added_by_others(object));
        let pod = self.pod(object, before.clone());
        let after = match self.ask(&creation(&pod), settings)? {
            Said::Lacking => return Ok("CannotTell"),
            Said::Refused => return Ok("Refused"),
            Said::LetIn(after) => after,
        };
        changed |= after != pod;
        let after = &after["spec"];
        if self.depends_on_nodes(&before, after, object) {
            return Ok("CannotTell");
        }
        let takes_before = self.takers(&before);
        // Karpenter gives a node a rack of its own if a Pod asks for any but some.
        let names_rack = [&before, after].iter().any(|spec| spec.to_string().contains("\"rack\""));
        if names_rack && self.creates_nodes_without_rack() {
            return Ok(WHATEVER);
        }
        let (mut takes_after, mut some_refuse) = (vec![], false);
        for taker in self.takers(after) {
            let is_pool = taker.starts_with('/');
            some_refuse |= is_pool && self.creates_nodes_without_rack();
            if is_pool || self.may_be_bound(object, &taker, settings)? {
                takes_after.push(taker);
            } else {
                some_refuse = true;
            }
        }
        if self.chance(after, &takes_after) < self.chance(&before, &takes_before) {
            return Ok("Waits");
        }
        if let Some(known) = self.misses_its_volume(object, (&before, &takes_before), (after, &takes_after)) {
            return Ok(known);
        }
        // Whether nodes take it at all does not depend on how many of its Pods are there.
        if self.lacks_pods(object) && (differs(&before, after) || self.requires_rack()) {
            return Ok("CannotTell");
        }
        let moves = self.nodes_of(object).iter().any(|node| takes_before.contains(node) && !takes_after.contains(node));
        Ok(if moves {
            "Misplaced"
        } else if some_refuse {
            "CannotTell"
        } else if changed {
            "Changed"
        } else {
            "Unchanged"
        })
    }

    /// Every node is tried with a Pod of its own, as the DaemonSet controller makes it.
    fn judge_daemon_set(
        &self,
        object: &Value,
        before: &Value,
        after: &Value,
        class: &Value,
        mut changed: bool,
        settings: &Value,
    ) -> Result<&'static str> {
        let pinned = |spec: &Value, node: &str| {
            let mut spec = spec.clone();
            let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
            let term = json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] });
            spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = term;
            merged(&spec, class)
        };
        let names: Vec<&str> = self.places("Node").map(|node| text(&node["metadata"]["name"])).collect();
        let others = self.added_by_others(object);
        let (mut reached_before, mut reached_after) = (false, false);
        let (mut lost, mut kept, mut had, mut narrowed) = (false, false, false, false);
        let (mut some_refuse, mut had_now, mut kept_now) = (false, false, false);
        for name in names.iter().copied().chain(["any-node"]) {
            let pod_before = with(&pinned(before, name), &others);
            let pod_after = self.pod(object, with(&pinned(after, name), &others));
            let completed = match self.ask(&creation(&pod_after), settings)? {
                Said::Lacking => return Ok("CannotTell"),
                Said::Refused => return Ok("Refused"),
                Said::LetIn(completed) => completed,
            };
            changed |= completed != pod_after;
            let completed = &completed["spec"];
            narrowed |= differs(before, after) || differs(&pod_before, completed);
            if let Some(node) = self.find("Node", name) {
                let did = node_takes(before, node) && node_takes(&pod_before, node);
                let does = node_takes(after, node) && node_takes(completed, node);
                let is_refused = does && !self.may_be_bound(object, name, settings)?;
                some_refuse |= is_refused;
                let does = does && !is_refused;
                let is_ready = |spec: &Value| node_takes_now(&tolerating_cordons(spec), node);
                lost |= did && !does;
                let (did, does) = (did && is_large_enough(&pod_before, node), does && is_large_enough(completed, node));
                had_now |= did && is_ready(&pod_before);
                kept_now |= does && is_ready(completed);
                (had, kept) = (had || did, kept || does);
                reached_before |= did && self.volume_of(object).is_some_and(|volume| is_reached(volume, node));
                reached_after |= does && self.volume_of(object).is_some_and(|volume| is_reached(volume, node));
                continue;
            }
            for pool in self.places("NodePool") {
                let takes = |spec: &Value| node_pool_takes(&tolerating_cordons(&unpinned(spec)), pool);
                let did = takes(before) && takes(&pod_before);
                let does = takes(after) && takes(completed);
                some_refuse |= does && self.creates_nodes_without_rack();
                (had_now, kept_now) = (had_now || did, kept_now || does);
                (had, kept, lost) = (had || did, kept || does, lost || did && !does);
            }
        }
        let knows_nodes =
            self.knows_nodes() && self.nodes_of(object).iter().all(|node| self.find("Node", node).is_some());
        let depends = narrowed || self.requires_rack();
        let misses_its_volume = reached_before && !reached_after && self.runs_with_its_volume(object);
        Ok(if had && !kept || had_now && !kept_now {
            "Waits"
        } else if misses_its_volume && self.places("NodePool").next().is_some() {
            WHATEVER
        } else if misses_its_volume {
            "Waits"
        } else if lost {
            "LeavesNodes"
        } else if some_refuse || depends && (!knows_nodes || self.lacks_pods(object)) {
            "CannotTell"
        } else if changed {
            "Changed"
        } else {
            "Unchanged"
        })
    }

    /// Whether a Pod has a place now (2), later (1), or never (0): one that is large enough.
    fn chance(&self, spec: &Value, takers: &[String]) -> usize {
        let chance = |taker: &String| match self.find("Node", taker) {
            _ if taker.starts_with('/') => 2,
            Some(node) if is_large_enough(spec, node) => 1 + usize::from(node_takes_now(spec, node)),
            _ => 0,
        };
        takers.iter().map(chance).max().unwrap_or_default()
    }

    /// What becomes of a workload whose Pods reached their volume and no longer do, if that is so.
    fn misses_its_volume(
        &self,
        object: &Value,
        before: (&Value, &[String]),
        after: (&Value, &[String]),
    ) -> Option<&'static str> {
        let volume = self.volume_of(object).filter(|_| self.runs_with_its_volume(object))?;
        let reaches = |(spec, takers): (&Value, &[String])| {
            let mut nodes = takers.iter().filter_map(|taker| self.find("Node", taker));
            nodes.any(|node| is_large_enough(spec, node) && is_reached(volume, node))
        };
        let creates = |(_, takers): (&Value, &[String])| takers.iter().any(|taker| taker.starts_with('/'));
        match (reaches(before), reaches(after)) {
            // Which labels a created node has depends on more than is looked at here.
            _ if creates(before) || creates(after) => Some(WHATEVER),
            (true, false) => Some("Waits"),
            _ => None,
        }
    }

    fn volume_of(&self, object: &Value) -> Option<&'o Value> {
        let namespace = text(&object["metadata"]["namespace"]);
        self.find("PersistentVolume", &format!("of-{namespace}"))
    }

    /// Whether a Pod of a workload has the claim, and has a node; a Pod without a workload needs none.
    fn runs_with_its_volume(&self, object: &Value) -> bool {
        let has_claim = |pod: &&Value| pod["spec"]["volumes"].is_array();
        // A ReplicaSet or Job of an older template is judged without.
        let is_part = object["metadata"].get("ownerReferences").is_some();
        if object["kind"] == "Pod" {
            return has_claim(&object);
        }
        !is_part && self.pods_of(object).into_iter().any(|pod| has_claim(&pod) && !waits(pod))
    }

    /// What the newest Pod of a workload has, and the template has not: something else adds it.
    fn added_by_others(&self, workload: &Value) -> Value {
        let is_part = workload["metadata"].get("ownerReferences").is_some();
        if workload["kind"] == "Pod" || is_part {
            return json!({});
        }
        let Some(template) = template(workload) else { return json!({}) };
        let is_current = |pod: &&&Value| {
            let owner = &pod["metadata"]["ownerReferences"][0];
            let makers = self.objects.iter().filter(|object| {
                in_namespace(object, text(&pod["metadata"]["namespace"]))
                    && object["kind"] == owner["kind"]
                    && object["metadata"]["name"] == owner["name"]
            });
            makers.filter_map(self::template).all(|own| own["spec"] == template["spec"])
        };
        let pods = self.pods_of(workload);
        let Some(newest) = pods.iter().rfind(is_current) else { return json!({}) };
        let (own, spec) = (&template["spec"], &newest["spec"]);
        let mut added = json!({});
        for (key, value) in spec["nodeSelector"].as_object().into_iter().flatten() {
            if own["nodeSelector"].get(key) != Some(value) {
                added["nodeSelector"][key] = value.clone();
            }
        }
        let known = own["tolerations"].as_array().cloned().unwrap_or_default();
        let all = spec["tolerations"].as_array().into_iter().flatten();
        added["tolerations"] = all.filter(|it| !known.contains(it)).cloned().collect();
        added
    }

    /// Whether the policy lets the scheduler bind a Pod of this workload to a node.
    fn may_be_bound(&self, object: &Value, node: &str, settings: &Value) -> Result<bool> {
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "name": "pod", "namespace": object["metadata"]["namespace"] },
            "target": { "kind": "Node", "name": node },
        });
        let mut request = creation(&binding);
        request["resource"]["resource"] = "pods".into();
        request["subResource"] = "binding".into();
        request["userInfo"] = json!({ "username": "system:kube-scheduler", "groups": ["system:authenticated"] });
        Ok(matches!(self.ask(&request, settings)?, Said::LetIn(_)))
    }

    /// Returns the nodes that an ordinary user could bind Pods of a namespace to, if the policy verified that. None, if the
    /// namespace is not known.
    pub fn usable_nodes(&self, namespace: &str) -> Result<Option<BTreeSet<String>>> {
        let mut settings = self.settings.clone();
        settings["placement"]["onBindings"] = "Verify".into();
        settings.as_object_mut().context("settings")?.remove("nodeMetadata");
        let mut usable = BTreeSet::new();
        for node in self.of_kind("Node").filter(|node| node["metadata"].get("deletionTimestamp").is_none()) {
            let name = text(&node["metadata"]["name"]);
            let binding = json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": { "name": "pod", "namespace": namespace },
                "target": { "kind": "Node", "name": name },
            });
            let mut request = creation(&binding);
            request["resource"]["resource"] = "pods".into();
            request["subResource"] = "binding".into();
            request["userInfo"] = json!({ "username": "somebody", "groups": ["system:authenticated"] });
            match self.ask(&request, &settings)? {
                Said::Lacking => return Ok(None),
                Said::Refused => {}
                Said::LetIn(_) => usable.extend([name.to_owned()]),
            }
        }
        Ok(Some(usable))
    }

    fn knows_nodes(&self) -> bool {
        self.places("Node").next().is_some() || self.places("NodePool").next().is_some()
    }

    fn depends_on_nodes(&self, before: &Value, after: &Value, object: &Value) -> bool {
        let unknown = self.nodes_of(object).iter().any(|node| self.find("Node", node).is_none());
        (differs(before, after) || self.requires_rack()) && (!self.knows_nodes() || unknown)
    }

    /// The names of all Nodes that take a Pod, and of all NodePools, with a slash before.
    fn takers(&self, spec: &Value) -> Vec<String> {
        let name = |object: &Value| text(&object["metadata"]["name"]).to_owned();
        let nodes = self.places("Node").filter(|node| node_takes(spec, node)).map(name);
        let pools = self.places("NodePool").filter(|pool| node_pool_takes(spec, pool));
        nodes.chain(pools.map(|pool| format!("/{}", name(pool)))).collect()
    }

    /// Nodes or NodePools that are there to stay: not about to go, and not without replicas.
    fn places(&self, kind: &'o str) -> impl Iterator<Item = &'o Value> {
        self.of_kind(kind).filter(|place| {
            place["metadata"].get("deletionTimestamp").is_none()
                && place["spec"]["replicas"] != 0
                && place["status"]["conditions"][0]["status"] != "False"
        })
    }

    /// ReplicaSets and Jobs of a workload that make other Pods.
    fn parts(&self, workload: &'o Value) -> Vec<&'o Value> {
        let is_part = |object: &&Value| {
            let owner = &object["metadata"]["ownerReferences"][0];
            ["ReplicaSet", "Job"].contains(&text(&object["kind"]))
                && object["metadata"]["namespace"] == workload["metadata"]["namespace"]
                && owner["kind"] == workload["kind"]
                && owner["name"] == workload["metadata"]["name"]
                && template(object) != template(workload)
        };
        self.objects.iter().filter(is_part).collect()
    }

    fn requires_rack(&self) -> bool {
        self.settings.get("nodeMetadata").is_some()
    }

    /// Whether nobody knows if nodes that Karpenter creates can be bound to.
    fn creates_nodes_without_rack(&self) -> bool {
        let gives_rack = |pool: &Value| pool["spec"]["template"]["metadata"]["labels"].get("rack").is_some();
        self.requires_rack() && !self.places("NodePool").all(gives_rack)
    }

    /// Whether a workload says that it has more Pods than there are. Nobody knows to which part of it they belong.
    fn lacks_pods(&self, workload: &Value) -> bool {
        let owner = &workload["metadata"]["ownerReferences"][0];
        let is_owner = |object: &&Value| {
            let namespace = text(&workload["metadata"]["namespace"]);
            in_namespace(object, namespace)
                && object["kind"] == owner["kind"]
                && object["metadata"]["name"] == owner["name"]
        };
        let workload = self.objects.iter().find(is_owner).unwrap_or(workload);
        let status = &workload["status"];
        let said = status["replicas"].as_u64().or(status["currentNumberScheduled"].as_u64()).unwrap_or_default();
        said > self.pods_of(workload).len() as u64
    }

    /// Where Pods of a workload run.
    /// The nodes of its Pods, but for those that were deleted: other Nodes are there.
    fn nodes_of(&self, workload: &Value) -> Vec<String> {
        let nodes = self.pods_of(workload).into_iter().filter_map(|pod| pod["spec"]["nodeName"].as_str());
        let lists_nodes = self.objects.iter().any(|object| object["kind"] == "Node");
        nodes.filter(|node| !lists_nodes || self.find("Node", node).is_some()).map(str::to_owned).collect()
    }

    fn pods_of(&self, workload: &Value) -> Vec<&'o Value> {
        let (kind, namespace) = (text(&workload["kind"]), text(&workload["metadata"]["namespace"]));
        let name = text(&workload["metadata"]["name"]);
        let mut makers = vec![(kind.to_owned(), name.to_owned())];
        for object in self.objects.iter().filter(|object| text(&object["kind"]) != "Pod") {
            let owner = &object["metadata"]["ownerReferences"][0];
            if in_namespace(object, namespace) && text(&owner["kind"]) == kind && text(&owner["name"]) == name {
                makers.push((text(&object["kind"]).to_owned(), text(&object["metadata"]["name"]).to_owned()));
            }
        }
        let is_of = |pod: &Value| {
            let owner = &pod["metadata"]["ownerReferences"][0];
            let by_owner = makers.contains(&(text(&owner["kind"]).to_owned(), text(&owner["name"]).to_owned()));
            by_owner || kind == "Pod" && text(&pod["metadata"]["name"]) == name
        };
        self.of_kind("Pod").filter(|pod| in_namespace(pod, namespace) && is_of(pod)).collect()
    }

    fn of_kind(&self, kind: &'o str) -> impl Iterator<Item = &'o Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    fn find(&self, kind: &str, name: &str) -> Option<&'o Value> {
        self.objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
    }

    fn ask(&self, request: &Value, settings: &Value) -> Result<Said> {
        let Evaluation { answer, record, .. } =
            self.policy.validate(request, settings, Objects(self.objects.to_vec()))?;
        let lacks = record.lookups.iter().any(|lookup| self.find(&lookup.kind, &lookup.name).is_none());
        Ok(match (lacks, answer.accepted) {
            (true, _) => Said::Lacking,
            (false, false) => Said::Refused,
            (false, true) => Said::LetIn(answer.mutated_object.unwrap_or_else(|| request["object"].clone())),
        })
    }

    /// A Pod as its controller makes it.
    fn pod(&self, workload: &Value, spec: Value) -> Value {
        let (kind, name) = (text(&workload["kind"]), text(&workload["metadata"]["name"]));
        let mut metadata =
            json!({ "namespace": workload["metadata"]["namespace"], "generateName": format!("{name}-") });
        let (version, maker) = match kind {
            "Deployment" => ("apps/v1", "ReplicaSet"),
            "CronJob" => ("batch/v1", "Job"),
            "Job" => ("batch/v1", "Job"),
            "Pod" => ("", ""),
            _ => ("apps/v1", kind),
        };
        if !maker.is_empty() {
            metadata["ownerReferences"] =
                json!([{ "apiVersion": version, "kind": maker, "name": name, "uid": "u", "controller": true }]);
        }
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
    }

    /// Whether the first entry that matches says `enforcement: Warn`.
    fn only_warns(&self, namespace: &str) -> bool {
        let team = self.find("Namespace", namespace).and_then(|found| found["metadata"]["labels"]["team"].as_str());
        let known = self.find("Namespace", namespace).is_some();
        let entries = self.settings["placement"]["namespaces"].as_array();
        let first = entries.into_iter().flatten().find(|entry| match entry["namespaceSelector"].as_str() {
            Some("team=a") => team == Some("a"),
            Some("team") => team.is_some(),
            Some(_) => known && team.is_none(),
            None => entry["name"] == namespace || entry["name"] == "*",
        });
        first.is_some_and(|entry| entry["enforcement"] == "Warn")
    }
}

/// The worse, the more; what is no trouble is all the same, and what only would be is less than what is.
fn badness((outcome, would_be): &Outcome) -> (bool, bool, usize) {
    let worst_last = ["CannotTell", "Misplaced", "LeavesNodes", "Waits", "Refused"];
    match worst_last.iter().position(|known| known == outcome) {
        Some(place) => (true, !would_be, place),
        None => (false, false, 0),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn in_namespace(object: &Value, namespace: &str) -> bool {
    object["metadata"]["namespace"] == namespace
}

/// Whether a Pod has no node yet.
fn waits(pod: &Value) -> bool {
    pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty)
}

/// Workloads and Pods that nothing in the cluster owns.
fn is_judged(object: &Value) -> bool {
    let kinds = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"];
    kinds.contains(&text(&object["kind"])) && object["metadata"].get("ownerReferences").is_none()
}

fn template(object: &Value) -> Option<Value> {
    match text(&object["kind"]) {
        "Pod" => {
            let mut pod = json!({ "spec": object["spec"] });
            pod["spec"].as_object_mut()?.remove("nodeName");
            Some(pod)
        }
        "CronJob" => object.pointer("/spec/jobTemplate/spec/template").cloned(),
        _ => object.pointer("/spec/template").cloned(),
    }
}

/// What the API server's admission plugin for RuntimeClasses makes of a Pod.
fn merged(spec: &Value, class: &Value) -> Value {
    let mut spec = spec.clone();
    for (key, value) in class["scheduling"]["nodeSelector"].as_object().into_iter().flatten() {
        spec["nodeSelector"][key] = value.clone();
    }
    if let Some(tolerations) = class["scheduling"]["tolerations"].as_array() {
        let mut own = spec["tolerations"].as_array().cloned().unwrap_or_default();
        own.extend(tolerations.iter().filter(|toleration| !own.contains(toleration)).cloned().collect::<Vec<_>>());
        spec["tolerations"] = own.into();
    }
    spec
}

/// A PodSpec with what others add to it.
fn with(spec: &Value, others: &Value) -> Value {
    let mut spec = spec.clone();
    for (key, value) in others["nodeSelector"].as_object().into_iter().flatten() {
        spec["nodeSelector"][key] = value.clone();
    }
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    let added: Vec<Value> = others["tolerations"].as_array().cloned().unwrap_or_default();
    tolerations.extend(added.into_iter().filter(|it| !tolerations.contains(it)).collect::<Vec<_>>());
    if !tolerations.is_empty() {
        spec["tolerations"] = tolerations.into();
    }
    spec
}

/// Whether a node has as much CPU as the only container of a Pod requests; one that lists nothing has.
fn is_large_enough(spec: &Value, node: &Value) -> bool {
    let thousandths = |quantity: &Value| -> f64 {
        let quantity = text(quantity);
        match quantity.strip_suffix('m') {
            Some(number) => number.parse().unwrap_or_default(),
            None => quantity.parse().map_or(0.0, |number: f64| number * 1000.0),
        }
    };
    let resources = &spec["containers"][0]["resources"];
    let requested = ["requests", "limits"].map(|list| &resources[list]["cpu"]).into_iter().find(|it| !it.is_null());
    let status = &node["status"];
    let has = ["allocatable", "capacity"].map(|list| &status[list]["cpu"]).into_iter().find(|it| !it.is_null());
    requested.zip(has).is_none_or(|(requested, has)| thousandths(requested) <= thousandths(has))
}

/// Whether a node reaches a PersistentVolume: a term with one expression.
fn is_reached(volume: &Value, node: &Value) -> bool {
    let expression = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0];
    let values = expression["values"].as_array();
    values.into_iter().flatten().any(|value| node["metadata"]["labels"].get(text(&expression["key"])) == Some(value))
}

/// Whether Pods of these specs may go to other nodes, for what they demand of them.
fn differs(before: &Value, after: &Value) -> bool {
    before["nodeSelector"] != after["nodeSelector"] || before.pointer(REQUIRED) != after.pointer(REQUIRED)
}

/// Without the node that the DaemonSet controller names.
fn unpinned(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let Some(terms) = spec.pointer_mut(&format!("{REQUIRED}/nodeSelectorTerms")).and_then(Value::as_array_mut) else {
        return spec;
    };
    let mut was_pinned = false;
    for term in terms.iter_mut() {
        was_pinned |= term.as_object_mut().is_some_and(|term| term.remove("matchFields").is_some());
    }
    let is_empty = terms.iter().all(|term| term["matchExpressions"].as_array().is_none_or(Vec::is_empty));
    if was_pinned && is_empty {
        let affinity = spec["affinity"]["nodeAffinity"].as_object_mut();
        affinity.map(|affinity| affinity.remove("requiredDuringSchedulingIgnoredDuringExecution"));
    }
    spec
}

/// What the DaemonSet controller has its Pods tolerate, of the taints that are here.
fn tolerating_cordons(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    tolerations
        .push(json!({ "key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule" }));
    spec["tolerations"] = tolerations.into();
    spec
}

/// The request that creates an object: a workload by an administrator, a Pod by its controller, or by anybody.
fn creation(object: &Value) -> Value {
    let kind = text(&object["kind"]);
    let (group, version) = text(&object["apiVersion"]).split_once('/').unwrap_or(("", "v1"));
    let controller = match text(&object["metadata"]["ownerReferences"][0]["kind"]) {
        "ReplicaSet" => "replicaset-controller",
        "StatefulSet" => "statefulset-controller",
        "DaemonSet" => "daemon-set-controller",
        "Job" => "job-controller",
        _ => "",
    };
    let user = match controller {
        "" if kind == "Pod" => json!({ "username": "somebody", "groups": ["system:authenticated"] }),
        "" => json!({ "username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"] }),
        name => {
            json!({ "username": format!("system:serviceaccount:kube-system:{name}"), "groups": ["system:authenticated"] })
        }
    };
    json!({
        "uid": "u",
        "kind": { "group": group, "version": version, "kind": kind },
        "resource": { "group": group, "version": version, "resource": format!("{}s", kind.to_lowercase()) },
        "namespace": object["metadata"]["namespace"],
        "name": object["metadata"]["name"],
        "operation": "CREATE",
        "userInfo": user,
        "object": object,
    })
}
