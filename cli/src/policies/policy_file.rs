//! The ClusterAdmissionPolicy that settings need, as a file to review and apply.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use k8s_openapi::api::admissionregistration::v1::MatchCondition;
use node_placement_policy::{resource::Resource, settings::key::TargetKind};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    overrides::{NAME, Overrides, exempts_system},
    required_rules::{Feature, Update},
    settings_text::{cut, documents, header, or_written_anew, settings_in},
};
use crate::{
    ManagedKeys, PolicySpec,
    input::{
        documents::yaml_documents,
        json::{members, remove},
        settings::{NODE_METADATA, PLACEMENT, has, is, read},
        settings_file::SettingsFile,
    },
    output::template::render,
    requests::resource::group_of,
    wrap,
};

const TEMPLATE: &str = include_str!("policy.yml.j2");

/// The conditions of a policy that somebody added. Those that settings need are written anew: the template has their names
/// between double quotes.
pub fn own_conditions(policy: &PolicySpec) -> impl Iterator<Item = &MatchCondition> {
    let expressions = TEMPLATE.split("- name: {{").skip(1).filter_map(|rest| rest.split("}}").next());
    let names: BTreeSet<&str> = expressions.flat_map(|names| names.split('"').skip(1).step_by(2)).collect();
    policy.match_conditions.iter().filter(move |condition| !names.contains(condition.name.as_str()))
}

/// What the examples name.
const MODULE: &str = concat!("registry://ghcr.io/node-placement/policies/node-placement:v", env!("CARGO_PKG_VERSION"));

/// In seconds.
const TIMEOUT: i64 = 5;

/// Writes the policy, or the policies, for a file with settings. Of whole policies, which are one deployment, the names,
/// modules, policy-servers, namespaces and modes are kept, unless `overrides` says something else.
///
/// # Errors
/// The file has something else, or `overrides` a mistake.
pub fn policy_file(text: &str, overrides: &Overrides) -> Result<String> {
    overrides.validate()?;
    let files = SettingsFile::read_all(yaml_documents(text)?)?;
    let texts = documents(text, files.len());
    ensure!(
        files.len() == 1 || overrides.name.is_none(),
        "--name: expected one ClusterAdmissionPolicy; found {}: rename them in the file",
        files.len()
    );
    let mut written = vec![];
    for (file, text) in files.into_iter().zip(texts) {
        written.extend(policies(file, text, overrides)?);
    }
    Ok(written.join("---\n"))
}

/// The policies for one document.
fn policies(file: SettingsFile, text: String, overrides: &Overrides) -> Result<Vec<String>> {
    let SettingsFile { settings, name, metadata, policy, .. } = file;
    let (header, text) = match policy {
        Some(_) => (header(&text), settings_in(&text)),
        None => (String::new(), text),
    };
    let policy = policy.unwrap_or_default();
    let name = overrides.name.clone().or(name).unwrap_or_else(|| NAME.to_owned());
    let module = overrides.module.clone().or(policy.module.clone()).unwrap_or_else(|| MODULE.to_owned());
    let namespaces = overrides.namespaces(&policy)?;
    let mut data = json!({
        "header": header,
        "is_placeholder": module == MODULE,
        "module": module,
        "policy_server": overrides.policy_server.as_ref().or(policy.policy_server.as_ref()),
        "metadata": kept(&metadata, &["labels", "annotations"]),
        "kept": kept(&policy.spec, &["allowInsideAdmissionControllerNamespace", "message", "timeoutEvalSeconds"]),
        "timeout": policy.timeout_seconds.unwrap_or(TIMEOUT),
        "exempts_system": exempts_system(&namespaces),
        "namespaces": namespaces,
    });
    let text = or_written_anew(text, &settings);
    let mut written = vec![];
    for part in parts(&settings, &text).into_iter().filter(|part| part.guards_nodes || !policy.is_about_nodes()) {
        let called = if written.is_empty() { name.clone() } else { format!("{name}-{}", part.suffix) };
        data["name"] = called.into();
        // Those of a policy about Pods need not be met by Nodes.
        let is_kept = part.guards_nodes == policy.is_about_nodes();
        data["conditions"] = json!(own_conditions(&policy).filter(|_| is_kept).collect::<Vec<_>>());
        // Node metadata refuses nobody, and works at once.
        data["mode"] = json!(policy.mode.as_deref().or(places(&part.settings).then_some("monitor")));
        members(&part.data()).for_each(|(name, value)| data[name] = value.clone());
        written.push(render("policy.yml", TEMPLATE, data.clone())?);
        data["header"] = "".into();
    }
    Ok(written)
}

/// Fields that the settings say nothing of, as YAML of one line. What kubectl keeps for itself is not kept.
fn kept(object: &Value, fields: &[&str]) -> Vec<String> {
    let written = |field: &&str| {
        let mut value = object.get(*field).filter(|value| !value.is_null())?.clone();
        remove(&mut value, &["kubectl.kubernetes.io/last-applied-configuration"]);
        let is_empty = value.as_object().is_some_and(|members| members.is_empty());
        (!is_empty).then(|| format!("{field}: {value}"))
    };
    fields.iter().filter_map(written).collect()
}

/// A deployment.
struct Part {
    /// What it is called after the first.
    suffix: &'static str,
    settings: Value,
    text: String,
    guards_nodes: bool,
}

/// One for each `failurePolicy`, and one for Nodes.
fn parts(settings: &Value, text: &str) -> Vec<Part> {
    let part = |suffix, settings: Value, text: String, guards_nodes| {
        let text = or_written_anew(text, &settings);
        Part { suffix, settings, text, guards_nodes }
    };
    let (mut first, mut first_text) = (settings.clone(), text.to_owned());
    let mut others = vec![];
    let metadata = json!({ NODE_METADATA: settings[NODE_METADATA] });
    let is_lenient = !Feature::in_settings(&metadata).any(|(_, feature)| feature.needs_fail);
    if settings[NODE_METADATA].is_object() && places(settings) && is_lenient {
        remove(&mut first, &[NODE_METADATA]);
        let (own, rest) = cut(&first_text, 0, NODE_METADATA);
        first_text = rest;
        others.push(part("node-metadata", metadata, own, false));
    }
    if Feature::in_settings(settings).any(|(_, feature)| feature.is_about_nodes()) {
        let placement = json!({ PLACEMENT: settings[PLACEMENT] });
        others.push(part("nodes", placement, cut(text, 0, PLACEMENT).0, true));
        for field in ["onNodes", "guardedNodeLabels"] {
            remove(&mut first[PLACEMENT], &[field]);
            first_text = cut(&first_text, 2, field).1;
        }
    }
    others.insert(0, part("", first, first_text, false));
    others
}

impl Part {
    /// What the template says of its own.
    fn data(&self) -> Value {
        let settings = &self.settings;
        // Those of the other deployment are not told here.
        let features: Vec<&'static Feature> = Feature::in_settings(settings)
            .map(|(_, feature)| feature)
            .filter(|feature| feature.is_about_nodes() == self.guards_nodes)
            .collect();
        let updates: Vec<Update> = features.iter().flat_map(|feature| &feature.updates).copied().collect();
        let rules = rules(&features);
        let sends_updates =
            rules.iter().any(|rule| rule.resources.contains(&"pods") && rule.operations.contains(&"UPDATE"));
        let bound = if !sends_updates || updates.contains(&Update::Bound) {
            None
        } else if updates.contains(&Update::Tolerations) {
            Some("tolerations")
        } else {
            Some("nothing")
        };
        let kinds: BTreeSet<_> = features.iter().flat_map(|feature| feature.look_ups(settings)).collect();
        json!({
            "guards_nodes": self.guards_nodes,
            "fail": features.iter().any(|feature| feature.needs_fail),
            "variables": has(settings, "nodeMetadata.propagate[].env"),
            "kinds": kinds,
            "managed": managed_fields(&updates, settings),
            "bound": bound,
            "workloads": workload_updates(&features),
            "sends_namespaces": updates.contains(&Update::LabelsOrAnnotations),
            "rules": rules,
            "settings": textwrap::indent(self.text.trim_matches('\n'), "    "),
        })
    }
}

/// Whether the settings have more than node metadata.
fn places(settings: &Value) -> bool {
    settings.as_object().is_some_and(|blocks| blocks.iter().any(|(block, it)| block != NODE_METADATA && !it.is_null()))
}

#[derive(Serialize)]
struct Rule {
    group: &'static str,
    resources: Vec<&'static str>,
    operations: BTreeSet<&'static str>,
}

/// All that the features need, in as few rules as a reader follows.
fn rules(features: &[&'static Feature]) -> Vec<Rule> {
    let mut needed: Vec<(&str, BTreeSet<&str>)> = vec![];
    for (_, resource, operation) in features.iter().flat_map(|feature| feature.requests()) {
        match needed.iter_mut().find(|(known, _)| *known == resource) {
            Some((_, operations)) => drop(operations.insert(operation)),
            None => needed.push((resource, BTreeSet::from([operation]))),
        }
    }
    let mut rules: Vec<Rule> = vec![];
    for (resource, operations) in needed {
        let group = if group_of(resource).is_empty() { "\"\"" } else { group_of(resource) };
        match rules.iter_mut().find(|rule| (rule.group, &rule.operations) == (group, &operations)) {
            Some(rule) => rule.resources.push(resource),
            None => rules.push(Rule { group, resources: vec![resource], operations }),
        }
    }
    rules
}

/// Which updates of workloads are sent: those that change the template, the selector, or one of both. Nothing, if the
/// features need no updates of workloads.
fn workload_updates(features: &[&'static Feature]) -> Option<Value> {
    let (mut sent, mut changed) = (vec![], vec![]);
    let with = |update: Update| features.iter().filter(move |feature| feature.updates.contains(&update));
    let updates =
        [Update::Template, Update::Selector].into_iter().flat_map(|update| with(update).map(move |it| (update, it)));
    for (update, feature) in updates {
        for resource in feature.updated().filter(|resource| *resource != "pods") {
            let template = Resource::named(group_of(resource), resource)?.template();
            let change = changes(if update == Update::Template { template } else { &["spec", "selector"] });
            let resource = format!("'{resource}'");
            for (list, text) in [(&mut sent, resource), (&mut changed, change)] {
                if !list.contains(&text) {
                    list.push(text);
                }
            }
        }
    }
    let sent = format!("!(request.resource.resource in [{}])", sent.join(", "));
    let conditions = ["request.operation != 'UPDATE'".to_owned(), sent].into_iter().chain(changed.clone());
    (!changed.is_empty()).then(|| {
        json!({
            "templates": with(Update::Template).next().is_some(),
            "selectors": with(Update::Selector).next().is_some(),
            "expression": wrap(&conditions.collect::<Vec<_>>().join(" ||\n"), 112),
        })
    })
}

/// Whether what stands at a path of the object changes, which may be missing.
fn changes(path: &[&str]) -> String {
    let path = path.join(".?");
    format!("object.?{path}.orValue({{}}) != oldObject.?{path}.orValue({{}})")
}

/// Where the managed keys are that are protected until a Pod ends.
fn managed_fields(updates: &[Update], settings: &Value) -> Vec<&'static str> {
    let managed = ManagedKeys::of(&read(settings));
    let protected = updates.contains(&Update::ManagedKeys) && is(settings, "nodeMetadata.protect", "true");
    let kinds = [TargetKind::Label, TargetKind::Annotation].into_iter();
    kinds.filter(|kind| protected && managed.one(*kind).is_some()).map(TargetKind::member).collect()
}
