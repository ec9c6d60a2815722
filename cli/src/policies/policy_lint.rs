//! What is wrong with a policy around its settings.

use std::collections::{BTreeMap, BTreeSet};

use node_placement_policy::settings::{OnDaemonSets, key::TargetKind};
use serde_json::{Value, json};

use crate::{
    ManagedKeys, PolicySpec,
    input::match_conditions::Passage,
    input::settings::{PLACEMENT, entries, has, read},
    policies::crd_validation::crd_mistakes,
    policies::required_rules::{Feature, Update, lacks},
    requests::resource::group_of,
};

/// What there is to say, a line each.
#[derive(Debug, Default)]
pub struct Findings {
    /// What the API server refuses, and what breaks the policy or lets it be bypassed.
    pub mistakes: Vec<String>,
    /// What may be intended.
    pub remarks: Vec<String>,
}

const USELESS_RULES: &str = "spec.rules: no setting needs the requests of these rules; the policy does nothing";

/// Looks at all of a deployment.
pub fn lint(settings: &Value, deployment: &PolicySpec) -> Findings {
    let mut findings = Findings { mistakes: crd_mistakes(&deployment.spec), remarks: vec![] };
    let lacks = lacks(settings, deployment);
    findings.mistakes.extend(lacks.context_aware_resources);
    findings.find_useless_rules(settings, deployment);
    findings.find_bypassed_failure_policy(settings, deployment);
    findings.find_conditions_that_hide(settings, deployment);
    findings.find_dropped_labels(deployment);
    findings.find_defaults(settings, deployment);
    findings.find_validating(settings, deployment);
    findings.find_audit_of_subresources(deployment);
    // Reports about some kinds are reports, too; and of rules that are all wrong, no more need be said.
    let are_rules_told = deployment.only_reports() || findings.mistakes.iter().any(|line| line == USELESS_RULES);
    findings.remarks.extend(lacks.rules.into_iter().filter(|_| !are_rules_told));
    findings
}

impl Findings {
    fn mistake(&mut self, line: impl Into<String>) {
        self.mistakes.push(line.into());
    }

    fn remark(&mut self, line: impl Into<String>) {
        self.remarks.push(line.into());
    }

    /// Of a rule that sends nothing useful, that is said; where there is no other, it is a mistake.
    fn find_useless_rules(&mut self, settings: &Value, deployment: &PolicySpec) {
        let needed: Vec<_> = Feature::of(settings).flat_map(Feature::requests).chain(OPT_IN).collect();
        let is_useful = |rule: &crate::input::policy_spec::Rule| needed.iter().any(|request| rule.covers(*request));
        if needed.is_empty() || deployment.rules.is_empty() {
            return;
        }
        if !deployment.rules.iter().any(is_useful) {
            self.mistake(USELESS_RULES);
            return;
        }
        for (place, _) in deployment.rules.iter().enumerate().filter(|(_, rule)| !is_useful(rule)) {
            self.remark(format!("spec.rules[{place}]: no setting needs these requests; remove the rule"));
        }
    }

    fn find_bypassed_failure_policy(&mut self, settings: &Value, deployment: &PolicySpec) {
        if deployment.spec["failurePolicy"] != "Ignore" || deployment.only_reports() {
            return;
        }
        let mut told = vec![];
        for feature in Feature::of(settings).filter(|feature| feature.needs_fail) {
            // One line for each block is enough.
            let setting = feature.named(settings);
            let block = setting.split_once('.').map_or(setting, |(block, _)| block);
            let name = if block == PLACEMENT { block } else { setting };
            if told.contains(&name) {
                continue;
            }
            told.push(name);
            let problem = format!(
                "spec.failurePolicy: Ignore, but {name} needs Fail: with Ignore, users can bypass a healthy policy"
            );
            match deployment.only_monitors() {
                true => self.remark(format!("{problem}, as soon as its mode is protect")),
                false => self.mistake(problem),
            }
        }
    }

    /// Sends a sample of each request that a setting is about.
    fn find_conditions_that_hide(&mut self, settings: &Value, deployment: &PolicySpec) {
        let conditions = &deployment.match_conditions;
        if conditions.is_empty() {
            return;
        }
        // What each keeps away is told once, of the first setting that needs it.
        let (mut hiding, mut told, mut unchecked) =
            (BTreeMap::<_, BTreeSet<String>>::new(), BTreeSet::new(), BTreeSet::new());
        for feature in Feature::of(settings) {
            for sample in samples(feature, settings).into_iter().filter(|sample| sample.is_sent(deployment)) {
                let passages: Vec<Passage> =
                    namespaces(settings).iter().map(|name| conditions.evaluate(&sample.request(name))).collect();
                if passages.contains(&Passage::Passes) {
                    continue;
                }
                // What can't be evaluated may let it pass.
                let unknown = passages.iter().position(|passage| matches!(passage, Passage::Unknown(..)));
                match passages.into_iter().nth(unknown.unwrap_or_default()) {
                    Some(Passage::Unknown(name, reason)) => drop(unchecked.insert((name, reason))),
                    Some(Passage::KeptAway(name)) if told.insert((name.clone(), sample.title.clone())) => {
                        hiding.entry((name, feature.named(settings))).or_default().insert(sample.title);
                    }
                    _ => {}
                }
            }
        }
        for ((name, setting), titles) in hiding {
            let titles = titles.into_iter().collect::<Vec<_>>().join(", ");
            self.mistake(format!(
                "spec.matchConditions: {name:?} excludes {titles}, which {setting} needs; remove the condition"
            ));
        }
        for (name, reason) in unchecked {
            self.remark(format!("spec.matchConditions: {name:?} was not checked: {reason}"));
        }
    }

    /// Upstream: `policy_subreconciler_webhook.go` of Kubewarden's controller.
    fn find_dropped_labels(&mut self, deployment: &PolicySpec) {
        if deployment.spec["namespaceSelector"]["matchLabels"].as_object().is_some_and(|labels| !labels.is_empty()) {
            self.mistake(
                "spec.namespaceSelector.matchLabels: Kubewarden drops it, and so the policy covers other namespaces; \
                 write matchExpressions",
            );
        }
    }

    fn find_defaults(&mut self, settings: &Value, deployment: &PolicySpec) {
        let spec = &deployment.spec;
        if spec["namespaceSelector"].is_null() && !deployment.is_about_nodes() {
            self.remark(
                "spec.namespaceSelector: missing, and so the policy covers every namespace but Kubewarden's, \
                 kube-system too",
            );
        }
        if spec["failurePolicy"].is_null() {
            self.remark("spec.failurePolicy: missing, and so it is Fail");
        }
        if spec["mode"].is_null()
            && has(settings, PLACEMENT)
            && !deployment.is_about_nodes()
            && spec["mutating"] == true
        {
            self.remark("spec.mode: missing, and so it is protect; start with monitor");
        }
    }

    fn find_validating(&mut self, settings: &Value, deployment: &PolicySpec) {
        if deployment.spec["mutating"] == false && !deployment.only_reports() && writes(settings, deployment) {
            self.remark(
                "spec.mutating: false, and so what the settings would write is rejected; examples/verify.yml does that \
                 to prove that nothing is missing",
            );
        }
    }

    /// It is true where nothing is said.
    fn find_audit_of_subresources(&mut self, deployment: &PolicySpec) {
        let mut resources = deployment.rules.iter().flat_map(|rule| &rule.resources);
        if resources.any(|resource| resource.contains('/')) && deployment.spec["backgroundAudit"] != false {
            self.remark(
                "spec.backgroundAudit: true, but the audit scanner counts a policy whose rules have subresources as \
                 errored; say false",
            );
        }
    }
}

/// Rules that do something, and that no feature needs.
const OPT_IN: [(&str, &str, &str); 1] = [("", "pods/status", "UPDATE")];

/// Whether the settings write something into what the rules send.
fn writes(settings: &Value, deployment: &PolicySpec) -> bool {
    let sends = |resource, operation| deployment.sends((group_of(resource), resource, operation));
    let settings = read(settings);
    let injects = settings.placement.is_some_and(|placement| placement.on_daemon_sets == OnDaemonSets::Inject);
    let binds = sends("pods/binding", "CREATE") || sends("bindings", "CREATE");
    let completes = sends("daemonsets", "CREATE") || sends("daemonsets", "UPDATE");
    sends("pods", "CREATE") || settings.node_metadata.is_some() && binds || injects && completes
}

/// A request that a setting is about.
struct Sample {
    /// `updates of bound Pods`
    title: String,
    resource: &'static str,
    operation: &'static str,
    username: &'static str,
    groups: &'static [&'static str],
    object: Value,
    old_object: Value,
}

const USERS: &[&str] = &["system:authenticated"];
const KUBELETS: &[&str] = &["system:nodes", "system:authenticated"];

/// One of each kind of request that the feature is about.
fn samples(feature: &Feature, settings: &Value) -> Vec<Sample> {
    let mut samples = vec![];
    for (_, resource, operation) in feature.requests() {
        if (resource, operation) == ("pods", "UPDATE") {
            continue;
        }
        let (username, groups) = match resource {
            "nodes" | "nodes/status" => ("system:node:node-a", KUBELETS),
            "pods/binding" | "bindings" => ("system:kube-scheduler", USERS),
            _ => ("ada", USERS),
        };
        let (old_object, object) = before_and_after(resource);
        let old_object = if operation == "UPDATE" { old_object } else { Value::Null };
        let title = format!("{operation} of {resource}");
        samples.push(Sample { title, resource, operation, username, groups, object, old_object });
    }
    for update in feature.updates {
        samples.extend(updates(*update, settings));
    }
    samples
}

/// An object, and the same after a change of all that a rule may be about.
fn before_and_after(resource: &str) -> (Value, Value) {
    let metadata = |value: &str| json!({ "name": "sample", "labels": { "a": value }, "annotations": { "a": value } });
    let object = |value: &str| {
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "nodeSelector": { "a": value } });
        let template = json!({ "metadata": { "labels": { "a": value } }, "spec": spec });
        match resource {
            "pods" => json!({ "metadata": metadata(value), "spec": spec }),
            "pods/binding" | "bindings" => {
                json!({ "metadata": metadata(value), "target": { "kind": "Node", "name": "node-a" } })
            }
            "namespaces" | "nodes" | "nodes/status" => json!({ "metadata": metadata(value), "spec": {} }),
            "podtemplates" => json!({ "metadata": metadata(value), "template": template }),
            "cronjobs" => {
                json!({ "metadata": metadata(value), "spec": { "jobTemplate": { "spec": { "template": template } } } })
            }
            _ => json!({
                "metadata": metadata(value),
                "spec": { "selector": { "matchLabels": { "a": value } }, "template": template },
            }),
        }
    };
    (object("before"), object("after"))
}

fn updates(update: Update, settings: &Value) -> Vec<Sample> {
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
    let mut bound = spec.clone();
    bound["nodeName"] = "node-a".into();
    let mut tolerating = bound.clone();
    tolerating["tolerations"] = json!([{ "operator": "Exists" }]);
    let mut chosen = spec.clone();
    chosen["nodeSelector"] = json!({ "a": "b" });
    let plain = json!({ "name": "sample" });
    let (title, specs) = match update {
        Update::Unbound => ("of Pods that are not bound", [spec, chosen]),
        Update::Tolerations => ("of bound Pods that add tolerations", [bound, tolerating]),
        Update::Bound => ("of bound Pods", [bound.clone(), bound]),
        Update::ManagedKeys => return updates_of_managed_keys(&bound, settings),
    };
    let [old, new] = specs.map(|spec| json!({ "metadata": plain, "spec": spec }));
    vec![update_of_a_pod(title, old, new)]
}

/// A Pod runs on for as long as its grace period says, and must not change its marks then.
fn updates_of_managed_keys(spec: &Value, settings: &Value) -> Vec<Sample> {
    let managed = ManagedKeys::of(&read(settings));
    let samples = [TargetKind::Label, TargetKind::Annotation].into_iter().filter_map(|kind| {
        let (field, key) = (kind.member(), managed.one(kind)?);
        let [old, new] = ["true", "forged"].map(|value| {
            let mut metadata = json!({ "name": "sample", "deletionTimestamp": "2026-01-01T00:00:00Z" });
            metadata[field] = json!({ key.as_str(): value });
            json!({ "metadata": metadata, "spec": spec })
        });
        Some(update_of_a_pod(&format!("of Pods being deleted that change {field}"), old, new))
    });
    samples.collect()
}

fn update_of_a_pod(title: &str, old_object: Value, object: Value) -> Sample {
    Sample {
        title: format!("UPDATE {title}"),
        resource: "pods",
        operation: "UPDATE",
        username: "ada",
        groups: USERS,
        object,
        old_object,
    }
}

impl Sample {
    fn is_sent(&self, deployment: &PolicySpec) -> bool {
        deployment.sends((group_of(self.resource), self.resource, self.operation))
    }

    fn request(&self, namespace: &str) -> Value {
        let (resource, sub_resource) = self.resource.split_once('/').unwrap_or((self.resource, ""));
        let mut request = json!({
            "uid": "00000000-0000-0000-0000-000000000000",
            "operation": self.operation,
            "resource": { "group": group_of(self.resource), "version": "v1", "resource": resource },
            "subResource": sub_resource,
            "name": "sample",
            "userInfo": { "username": self.username, "groups": self.groups },
            "dryRun": false,
            "object": self.object,
            "oldObject": self.old_object,
        });
        if resource == "namespaces" {
            request["name"] = namespace.into();
        }
        if resource == "nodes" {
            return request;
        }
        request["namespace"] = namespace.into();
        for object in ["object", "oldObject"] {
            if request[object].is_object() && resource != "namespaces" {
                request[object]["metadata"]["namespace"] = namespace.into();
            }
        }
        request
    }
}

/// Names of namespaces that entries are about, and one that nobody has heard of: a condition may leave some out.
fn namespaces(settings: &Value) -> Vec<String> {
    let settings = read(settings);
    let names = entries(&settings).iter().filter_map(|entry| entry.name.as_ref());
    names.map(|name| name.replace('*', "a")).chain(["default".to_owned()]).collect()
}
