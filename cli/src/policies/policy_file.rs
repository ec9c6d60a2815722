//! The ClusterAdmissionPolicy that settings need, as a file to review and apply.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use node_placement_policy::{resource::Resource, settings::key::TargetKind};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    overrides::{Overrides, exempts_system, name_with},
    required_rules::{Feature, Request, Update},
    settings_text::{documents, header, settings_in, yaml_of},
};
use crate::{
    ManagedKeys, PolicySpec,
    input::{
        documents::yaml_documents,
        json::{members, remove},
        settings::{NODE_METADATA, PLACEMENT, is_set, read},
        yaml,
    },
    lists::distinct,
    template::render,
    webhook::{conditions::Condition, resource::group_of, settings_file::SettingsFile},
    wrap,
};

const TEMPLATE: &str = include_str!("policy.yml.j2");

/// The names of the conditions that the template writes, as the settings need them.
const CONDITIONS: [&str; 11] = [
    "a-kubelet-changes-labels",
    "namespace-labels-or-annotations-change",
    "not-being-deleted",
    "not-being-deleted-or-annotations-change",
    "not-being-deleted-or-labels-change",
    "not-being-deleted-or-labels-or-annotations-change",
    "placement-can-still-change",
    "placement-or-tolerations-can-still-change",
    "pod-template-changes",
    "pod-template-or-selector-changes",
    "selector-changes",
];

/// Returns the conditions that were added to a policy. Those that settings need are written anew.
pub fn own_conditions(policy: &PolicySpec) -> impl Iterator<Item = &Condition> {
    policy.match_conditions.iter().filter(|condition| !CONDITIONS.contains(&condition.name.as_str()))
}

/// The module that the examples name.
const MODULE: &str = concat!("registry://ghcr.io/node-placement/policies/node-placement:v", env!("CARGO_PKG_VERSION"));

/// In seconds.
const TIMEOUT: i64 = 5;

/// Writes the policy, or the policies, for a file with settings. Comments and order of the settings are kept, unless they are
/// divided between several policies. What is written is read again, and its settings compared with those of the file. Of whole policies, which are one deployment, the names,
/// modules, policy-servers, namespaces and modes are kept, unless `overrides` says something else.
///
/// # Errors
/// The file has neither settings nor ClusterAdmissionPolicies, `overrides` has a mistake, or it names one of several
/// policies.
pub fn policy_file(text: &str, overrides: &Overrides) -> Result<String> {
    overrides.validate()?;
    let files = SettingsFile::read_all(yaml_documents(text)?)?;
    let texts = documents(text, files.len());
    ensure!(
        files.len() == 1 || overrides.name.is_none(),
        "--name: expected one ClusterAdmissionPolicy; found {}: rename them in the file",
        files.len()
    );
    let (mut all, mut expected) = (vec![], vec![]);
    for (file, text) in files.into_iter().zip(texts) {
        for (settings, policy) in policies(file, text, overrides)? {
            expected.push(settings);
            all.push(policy);
        }
    }
    let written = all.join("---\n");
    let read = SettingsFile::read_all(yaml_documents(&written).context("what was written can't be read")?)?;
    let read: Vec<Value> = read.into_iter().map(|file| file.settings).collect();
    ensure!(
        read == expected,
        "the settings can't be written into a policy so that they say the same: write them as plain YAML, without tags and \
         unusual line breaks"
    );
    Ok(written)
}

/// Returns the policies that are written for settings alone.
///
/// # Errors
/// They can't be written.
pub fn written_policies(settings: &Value) -> Result<Vec<SettingsFile>> {
    let text = policy_file(&yaml::write(settings)?, &Overrides::default())?;
    SettingsFile::read_all(yaml_documents(&text)?)
}

/// Returns the policies for one document, each with its settings.
fn policies(file: SettingsFile, text: String, overrides: &Overrides) -> Result<Vec<(Value, String)>> {
    let SettingsFile { settings, name, metadata, policy, .. } = file;
    let (header, text) = match policy {
        Some(_) => (header(&text), settings_in(&text)),
        None => (String::new(), text),
    };
    let policy = policy.unwrap_or_default();
    let name = overrides.name_of_policy(name);
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
    let mut policies = vec![];
    let parts: Vec<Part> =
        parts(&settings).into_iter().filter(|part| part.guards_nodes || !policy.is_about_nodes()).collect();
    data["is_divided"] = (parts.len() > 1).into();
    // The comments of settings that are divided belong to no part.
    let text = if parts.len() > 1 { String::new() } else { text };
    for part in parts {
        data["name"] = if policies.is_empty() { name.clone() } else { name_with(&name, part.suffix)? }.into();
        // Those of a policy about Pods need not be met by Nodes.
        let is_kept = part.guards_nodes == policy.is_about_nodes();
        data["conditions"] = json!(own_conditions(&policy).filter(|_| is_kept).collect::<Vec<_>>());
        // Node metadata refuses nobody, and works at once.
        data["mode"] = json!(policy.mode.as_deref().or(has_others(&part.settings).then_some("monitor")));
        members(&part.data(&text)).for_each(|(name, value)| data[name] = value.clone());
        policies.push((part.settings, render("policy.yml", TEMPLATE, data.clone())?));
        data["header"] = "".into();
    }
    Ok(policies)
}

/// Fields that the settings say nothing of, as YAML of one line. What kubectl keeps for itself is not kept.
fn kept(object: &Value, fields: &[&str]) -> Vec<String> {
    let line = |field: &&str| {
        let mut value = object.get(*field).filter(|value| !value.is_null())?.clone();
        remove(&mut value, &["kubectl.kubernetes.io/last-applied-configuration"]);
        let is_empty = value.as_object().is_some_and(|members| members.is_empty());
        (!is_empty).then(|| format!("{field}: {value}"))
    };
    fields.iter().filter_map(line).collect()
}

/// One of the policies that settings become.
struct Part {
    /// The suffix of its name; empty for the first.
    suffix: &'static str,
    guards_nodes: bool,
    settings: Value,
}

/// Returns a part for each `failurePolicy`, and one for Nodes.
fn parts(settings: &Value) -> Vec<Part> {
    let mut first = Part { suffix: "", guards_nodes: false, settings: settings.clone() };
    let mut others = vec![];
    if Feature::in_settings(settings).any(|(_, feature)| feature.is_about_nodes()) {
        let placement = json!({ PLACEMENT: settings[PLACEMENT] });
        others.push(Part { suffix: "nodes", guards_nodes: true, settings: placement });
        for field in Feature::fields_about_nodes(PLACEMENT) {
            remove(&mut first.settings[PLACEMENT], &[field]);
        }
    }
    let metadata = json!({ NODE_METADATA: settings[NODE_METADATA] });
    let is_lenient = !Feature::in_settings(&metadata).any(|(_, feature)| feature.needs_fail);
    if settings[NODE_METADATA].is_object() && has_others(settings) && is_lenient {
        remove(&mut first.settings, &[NODE_METADATA]);
        others.insert(0, Part { suffix: "node-metadata", guards_nodes: false, settings: metadata });
    }
    others.insert(0, first);
    others
}

impl Part {
    /// Returns what the template says of this part alone.
    fn data(&self, text: &str) -> Value {
        let settings = &self.settings;
        // Those of the other policies are not theirs.
        let features = Feature::in_settings(settings).map(|(_, feature)| feature);
        let features: Vec<_> = features.filter(|feature| feature.is_about_nodes() == self.guards_nodes).collect();
        let updates: BTreeSet<Update> = features.iter().flat_map(|feature| &feature.updates).copied().collect();
        let look_ups: BTreeSet<_> = features.iter().flat_map(|feature| feature.look_ups(settings)).collect();
        let managed = ManagedKeys::from_settings(&read(settings));
        let managed =
            [TargetKind::Label, TargetKind::Annotation].into_iter().filter(|kind| managed.one(*kind).is_some());
        let text = yaml_of(settings, text);
        json!({
            "guards_nodes": self.guards_nodes,
            "fail": features.iter().any(|feature| feature.needs_fail),
            "variables": is_set(settings, "nodeMetadata.propagate[].env"),
            "look_ups": look_ups,
            "updates": updates,
            "managed": managed.map(TargetKind::member).collect::<Vec<_>>(),
            "workload_updates": wrap(&workload_updates(&features), 112),
            "rules": rules(&features),
            "settings": textwrap::indent(text.trim_matches('\n'), "    "),
        })
    }
}

/// Returns whether the settings have more than node metadata.
fn has_others(settings: &Value) -> bool {
    members(settings).any(|(block, value)| block != NODE_METADATA && !value.is_null())
}

#[derive(Serialize)]
struct GroupedRule {
    group: &'static str,
    resources: Vec<&'static str>,
    operations: BTreeSet<&'static str>,
}

/// Returns all that the features need, in as few rules as a reader follows.
fn rules(features: &[&'static Feature]) -> Vec<GroupedRule> {
    let requests: Vec<Request> = features.iter().flat_map(|feature| feature.requests()).collect();
    let mut rules: Vec<GroupedRule> = vec![];
    for (group, resource) in distinct(requests.iter().map(|(group, resource, _)| (*group, *resource))) {
        let operations = requests.iter().filter(|(_, own, _)| *own == resource).map(|(.., operation)| *operation);
        let operations: BTreeSet<&str> = operations.collect();
        match rules.iter_mut().find(|rule| rule.group == group && rule.operations == operations) {
            Some(rule) => rule.resources.push(resource),
            None => rules.push(GroupedRule { group, resources: vec![resource], operations }),
        }
    }
    rules
}

/// Lets an update of a workload pass only if it changes what features are about: the template, the selector, or one of both.
fn workload_updates(features: &[&'static Feature]) -> String {
    let updated = |update: Update| {
        let features = features.iter().filter(move |feature| feature.updates.contains(&update));
        features.flat_map(|feature| feature.updated()).filter(|resource| *resource != "pods").collect::<Vec<_>>()
    };
    let (templates, selectors) = (updated(Update::Template), updated(Update::Selector));
    let template_of = |resource: &&str| Some(Resource::named(group_of(resource), resource)?.template());
    let paths = templates.iter().filter_map(template_of).chain(selectors.iter().map(|_| &["spec", "selector"][..]));
    let changes = distinct(paths.map(|path| path.join(".?")))
        .into_iter()
        // What is missing is as if it were empty.
        .map(|path| format!("object.?{path}.orValue({{}}) != oldObject.?{path}.orValue({{}})"));
    let resources = distinct(templates.iter().chain(&selectors).map(|resource| format!("'{resource}'")));
    let is_other = format!("!(request.resource.resource in [{}])", resources.join(", "));
    let conditions = ["request.operation != 'UPDATE'".to_owned(), is_other].into_iter().chain(changes);
    conditions.collect::<Vec<_>>().join(" ||\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_writes_conditions_of_these_names() {
        let names = TEMPLATE.lines().filter_map(|line| line.strip_prefix("    - name: "));
        let names: BTreeSet<&str> = names.filter(|name| !name.starts_with("{{")).collect();
        assert_eq!(names, BTreeSet::from(CONDITIONS));
    }
}
