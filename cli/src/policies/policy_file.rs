//! The ClusterAdmissionPolicy that settings need, as a file to review and apply.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow, bail, ensure};
use k8s_openapi::{
    api::admissionregistration::v1::MatchCondition, apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement,
};
use node_placement_policy::{resource::Resource, selector::syntax::is_subdomain, settings::key::TargetKind};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    ManagedKeys, PolicySpec,
    engine::native::{Operator, parse_selector},
    input::documents::yaml_documents,
    input::json::{list_of, members},
    input::settings::{NODE_METADATA, PLACEMENT, has, is, read},
    input::settings_file::SettingsFile,
    input::yaml::with_quoted_booleans,
    output::template::render,
    policies::backstop::Backstop,
    policies::required_rules::{Feature, Kind, Update},
    requests::resource::group_of,
    wrap,
};

const TEMPLATE: &str = include_str!("policy.yml.j2");

/// What the examples name.
const MODULE: &str = concat!("registry://ghcr.io/node-placement/policies/node-placement:v", env!("CARGO_PKG_VERSION"));

/// What a policy is called if nobody says it.
const NAME: &str = "node-placement";

/// What a cluster needs to start again by itself.
const SPARED: [&str; 3] = ["kube-system", "kube-node-lease", KUBEWARDEN];
/// Where Kubewarden is installed, as its documentation has it.
const KUBEWARDEN: &str = "kubewarden";
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The order in which rules are written.
const RESOURCES: [&str; 15] = [
    "pods",
    "namespaces",
    "replicationcontrollers",
    "podtemplates",
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "pods/binding",
    "bindings",
    "nodes",
    "nodes/status",
    "pods/status",
];

/// The names of the conditions that are written, for all settings. Others are somebody's own, and kept.
const CONDITIONS: [&str; 11] = [
    "a-kubelet-changes-labels",
    "not-being-deleted",
    "not-being-deleted-or-annotations-change",
    "not-being-deleted-or-labels-change",
    "not-being-deleted-or-labels-or-annotations-change",
    "placement-or-tolerations-can-still-change",
    "placement-can-still-change",
    "pod-template-changes",
    "selector-changes",
    "pod-template-or-selector-changes",
    "namespace-labels-or-annotations-change",
];

/// What the API server takes as the name of a policy.
pub const NAME_OF_AN_OBJECT: &str =
    "lowercase letters, digits, '-' and '.', beginning and ending with a letter or digit, at most 253 of them";

/// What the settings do not say.
#[derive(Debug, Default)]
pub struct Around {
    pub name: Option<String>,
    pub module: Option<String>,
    pub policy_server: Option<String>,
    /// The namespaces that the policy covers: a selector of their labels.
    pub namespaces: Option<String>,
}

impl Around {
    /// What Kubernetes would refuse, or no policy-server could find.
    fn validate(&self) -> Result<()> {
        if let Some(name) = &self.name {
            ensure!(is_subdomain(name), "--name: expected {NAME_OF_AN_OBJECT}; found {name:?}");
        }
        for (option, text) in [("--module", &self.module), ("--policy-server", &self.policy_server)] {
            if let Some(text) = text {
                let is_one_line = !text.trim().is_empty() && !text.contains(char::is_control);
                ensure!(is_one_line, "{option}: expected a text of one line; found {text:?}");
            }
        }
        Ok(())
    }
}

/// Writes the policy, or the policies, for a file with settings. Of whole policies, which are one deployment, the names,
/// modules, policy-servers, namespaces and modes are kept, unless `around` says something else.
///
/// # Errors
/// The file has something else, or `around` a mistake.
pub fn policy_file(text: &str, around: &Around) -> Result<String> {
    around.validate()?;
    let files = SettingsFile::read_all(yaml_documents(text)?)?;
    let texts = texts(text, files.len());
    ensure!(
        files.len() == 1 || around.name.is_none(),
        "--name: expected one ClusterAdmissionPolicy; found {}: rename them in the file",
        files.len()
    );
    let mut documents = vec![];
    for (file, text) in files.into_iter().zip(texts) {
        let written = Written::read(&text, file, around)?;
        let mut parts = parts(&written.settings, &written.settings_text);
        if written.guards_nodes {
            parts.retain(|part| part.guards_nodes);
        }
        for (place, part) in parts.iter().enumerate() {
            let name = &written.name;
            let called = if place == 0 { name.clone() } else { format!("{name}-{}", part.suffix) };
            documents.push(written.render(&called, part, place == 0)?);
        }
    }
    Ok(documents.join("---\n"))
}

/// The text of each document. Those of a `List` are not told apart: their comments are lost.
fn texts(text: &str, documents: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    for line in text.trim_start_matches('\u{feff}').lines() {
        match texts.last_mut() {
            Some(last) if line.trim_end() != "---" => *last += &format!("{line}\n"),
            _ => texts.push(String::new()),
        }
    }
    let says_something = |text: &String| text.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
    // What stands before a document that says nothing itself belongs to it.
    let mut comments = String::new();
    texts.retain_mut(|text| {
        if says_something(text) {
            text.insert_str(0, &std::mem::take(&mut comments));
            return true;
        }
        comments += text;
        false
    });
    if texts.len() == documents { texts } else { vec![String::new(); documents] }
}

/// Writes the backstop of the policy that [`policy_file`] writes: for settings, or for the one policy in a file that
/// places Pods.
///
/// # Errors
/// The file has something else, or `around` a mistake; or there is no backstop for these settings.
pub fn backstop_file(text: &str, around: &Around) -> Result<String> {
    around.validate()?;
    let is_about_nodes = |file: &SettingsFile| file.policy.as_ref().is_some_and(PolicySpec::is_about_nodes);
    let mut files = SettingsFile::read_all(yaml_documents(text)?)?;
    files.retain(|file| file.typed.placement.is_some() && !is_about_nodes(file));
    ensure!(files.len() <= 1, "expected one policy that places Pods; found {}", files.len());
    let Some(SettingsFile { name, policy, typed, .. }) = files.pop() else {
        bail!("nothing to hold: a backstop is about requiredNodeSelector of placement.namespaces");
    };
    let conditions = policy.iter().flat_map(own_conditions).cloned().collect();
    let spec = policy.map(|policy| policy.spec).unwrap_or_default();
    let mut namespaces = match spec["namespaceSelector"].is_null() && spec.is_object() && around.namespaces.is_none() {
        // The policy covers all.
        true => vec![],
        false => covered_namespaces(&spec, around)?,
    };
    // Kubewarden leaves its own namespace out of every webhook. A backstop that did not would keep policy-servers from
    // starting.
    if spec["allowInsideAdmissionControllerNamespace"] != true
        && !namespaces.iter().any(Expression::excludes_kubewarden)
    {
        let values = vec![KUBEWARDEN.to_owned()];
        namespaces.push(Expression { key: NAMESPACE_NAME.to_owned(), operator: "NotIn".to_owned(), values });
    }
    let namespaces = namespaces.into_iter().map(|Expression { key, operator, values }| LabelSelectorRequirement {
        key,
        operator,
        values: (!values.is_empty()).then_some(values),
    });
    let name = around.name.clone().or(name).unwrap_or_else(|| NAME.to_owned());
    let placement = typed.placement.unwrap_or_default();
    Backstop { name: &name, placement: &placement, namespaces: namespaces.collect(), conditions }.write()
}

/// The conditions that are not written for settings.
fn own_conditions(policy: &PolicySpec) -> impl Iterator<Item = &MatchCondition> {
    policy.match_conditions.written().filter(|condition| !CONDITIONS.contains(&condition.name.as_str()))
}

/// The namespaces that a policy covers, or is to cover.
fn covered_namespaces(spec: &Value, around: &Around) -> Result<Vec<Expression>> {
    match &around.namespaces {
        Some(selector) => expressions(selector).context("--namespaces"),
        None => Ok(expressions_in(&spec["namespaceSelector"]).unwrap_or_else(spared)),
    }
}

/// A file with settings, and what is around them.
struct Written {
    settings: Value,
    settings_text: String,
    /// The comments that a whole policy begins with.
    header: String,
    name: String,
    module: String,
    policy_server: Option<String>,
    mode: Option<String>,
    namespaces: Vec<Expression>,
    conditions: Vec<OwnCondition>,
    /// Its rules are about Nodes alone: another policy places.
    guards_nodes: bool,
}

/// A condition that somebody wrote.
#[derive(Clone, Debug, Serialize)]
struct OwnCondition {
    name: String,
    /// On one line, if its lines can't be told apart from spaces.
    expression: String,
    lines: Vec<String>,
}

impl From<&MatchCondition> for OwnCondition {
    fn from(MatchCondition { name, expression }: &MatchCondition) -> Self {
        let lines = wrap(expression, 112);
        let lines = if lines.join(" ") == *expression { lines } else { vec![] };
        Self { name: name.clone(), expression: expression.clone(), lines }
    }
}

/// A requirement on labels, as Kubernetes writes it in objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl Expression {
    fn excludes_kubewarden(&self) -> bool {
        self.key == NAMESPACE_NAME && self.operator == "NotIn" && self.values.iter().any(|value| value == KUBEWARDEN)
    }
}

impl Written {
    fn read(text: &str, file: SettingsFile, around: &Around) -> Result<Self> {
        let spec = file.policy.as_ref().map(|deployment| deployment.spec.clone()).unwrap_or_default();
        let kept = |field: &str| spec[field].as_str().map(str::to_owned);
        let settings_text = if file.policy.is_some() { settings_in(text) } else { without_marker(text) };
        let namespaces = covered_namespaces(&spec, around)?;
        Ok(Self {
            settings_text: or_written_anew(settings_text, &file.settings),
            settings: file.settings,
            header: if spec.is_null() { String::new() } else { header(text) },
            name: around.name.clone().or(file.name).unwrap_or_else(|| NAME.to_owned()),
            module: around.module.clone().or(kept("module")).unwrap_or_else(|| MODULE.to_owned()),
            policy_server: around.policy_server.clone().or(kept("policyServer")),
            mode: kept("mode"),
            namespaces,
            conditions: file.policy.iter().flat_map(own_conditions).map(OwnCondition::from).collect(),
            guards_nodes: file.policy.as_ref().is_some_and(PolicySpec::is_about_nodes),
        })
    }

    fn render(&self, name: &str, part: &Part, is_first: bool) -> Result<String> {
        let settings = &part.settings;
        // Those of the other deployment are not told here.
        let features: Vec<&Feature> =
            Feature::of(settings).filter(|feature| feature.is_about_nodes() == part.guards_nodes).collect();
        let updates: Vec<Update> = features.iter().flat_map(|feature| feature.updates).copied().collect();
        let rules = rules(&features);
        let sends_updates =
            rules.iter().any(|rule| rule.resources.contains(&"pods") && rule.operations.contains(&"UPDATE"));
        let bound = match () {
            () if !sends_updates || updates.contains(&Update::Bound) => None,
            () if updates.contains(&Update::Tolerations) => Some("tolerations"),
            () => Some("nothing"),
        };
        let mut kinds: Vec<Kind> = features.iter().flat_map(|feature| feature.look_ups(settings)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let kinds: Vec<_> =
            kinds.into_iter().map(|kind| json!({ "api_version": kind.api_version(), "kind": kind.name() })).collect();
        // Node metadata refuses nobody, and works at once.
        let mode = self.mode.as_deref().or(places(settings).then_some("monitor"));
        let data = json!({
            "header": if is_first { self.header.as_str() } else { "" },
            "name": name,
            "module": self.module,
            "policy_server": self.policy_server,
            "mode": mode,
            "guards_nodes": part.guards_nodes,
            "fail": features.iter().any(|feature| feature.needs_fail),
            "variables": has(settings, "nodeMetadata.propagate[].env"),
            "is_placeholder": self.module == MODULE,
            "kinds": kinds,
            "spares_system": self.namespaces == spared(),
            "namespaces": self.namespaces,
            "managed": managed_fields(&updates, settings),
            "bound": bound,
            "workloads": WorkloadUpdates::new(&features),
            "sends_namespaces": features.iter().any(|feature| feature.updates.contains(&Update::LabelsOrAnnotations)),
            // Those of a policy about Pods need not be met by Nodes.
            "conditions": if part.guards_nodes == self.guards_nodes { self.conditions.as_slice() } else { &[] },
            "rules": rules,
            "settings": indented(&part.text),
        });
        render("policy.yml", TEMPLATE, data)
    }
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
    let metadata_alone = settings[NODE_METADATA].is_object().then(|| json!({ NODE_METADATA: settings[NODE_METADATA] }));
    let metadata =
        metadata_alone.filter(|metadata| places(settings) && !Feature::of(metadata).any(|feature| feature.needs_fail));
    let guards_nodes = Feature::of(settings).any(Feature::is_about_nodes);
    let (mut first, mut first_text) = (settings.clone(), text.to_owned());
    if metadata.is_some() {
        remove(&mut first, NODE_METADATA);
        first_text = block(&first_text, |key| key != NODE_METADATA);
    }
    if guards_nodes {
        for field in ["onNodes", "guardedNodeLabels"] {
            remove(&mut first[PLACEMENT], field);
            first_text = without_field(&first_text, field);
        }
    }
    let mut parts = vec![part("", first, first_text, false)];
    if let Some(metadata) = metadata {
        parts.push(part("node-metadata", metadata, block(text, |key| key == NODE_METADATA), false));
    }
    if guards_nodes {
        let placement = json!({ PLACEMENT: settings[PLACEMENT] });
        parts.push(part("nodes", placement, block(text, |key| key == PLACEMENT), true));
    }
    parts
}

/// Whether the settings have more than node metadata.
fn places(settings: &Value) -> bool {
    settings.as_object().is_some_and(|blocks| blocks.iter().any(|(block, it)| block != NODE_METADATA && !it.is_null()))
}

fn remove(object: &mut Value, field: &str) {
    object.as_object_mut().map(|fields: &mut Map<String, Value>| fields.remove(field));
}

#[derive(Serialize)]
struct Rule {
    group: &'static str,
    resources: Vec<&'static str>,
    operations: Vec<&'static str>,
}

/// All that the features need, in as few rules as a reader follows.
fn rules(features: &[&Feature]) -> Vec<Rule> {
    let mut needed: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
    for (_, resource, operation) in features.iter().flat_map(|feature| feature.requests()) {
        let operations = needed.entry(resource).or_default();
        if !operations.contains(&operation) {
            operations.push(operation);
            operations.sort_unstable();
        }
    }
    let mut rules: Vec<Rule> = vec![];
    for resource in RESOURCES {
        let Some(operations) = needed.remove(resource) else { continue };
        let group = if group_of(resource).is_empty() { "\"\"" } else { group_of(resource) };
        // Both ways to bind a Pod have a comment, and so a rule of their own.
        let binds = |resource: &str| resource.contains("binding");
        let same = rules.iter_mut().find(|rule| {
            (rule.group, &rule.operations) == (group, &operations)
                && rule.resources.iter().all(|other| binds(other) == binds(resource))
        });
        match same {
            Some(rule) => rule.resources.push(resource),
            None => rules.push(Rule { group, resources: vec![resource], operations }),
        }
    }
    rules
}

/// Which updates of workloads are sent: those that change one of these fields.
#[derive(Serialize)]
struct WorkloadUpdates {
    /// What changes, for the name of the condition.
    name: &'static str,
    /// The comment before it.
    sends_templates: bool,
    /// The lines of the condition.
    expression: Vec<String>,
}

impl WorkloadUpdates {
    /// Nothing, if the features need no updates of workloads.
    fn new(features: &[&Feature]) -> Option<Self> {
        let updated = |update: Update| {
            let features = features.iter().filter(move |feature| feature.updates.contains(&update));
            let updated: BTreeSet<&str> =
                features.flat_map(|feature| feature.updated()).filter(|resource| *resource != "pods").collect();
            updated
        };
        let (templates, selectors) = (updated(Update::Template), updated(Update::Selector));
        let name = match (templates.is_empty(), selectors.is_empty()) {
            (true, true) => return None,
            (false, true) => "pod-template-changes",
            (true, false) => "selector-changes",
            (false, false) => "pod-template-or-selector-changes",
        };
        let sent = RESOURCES.iter().filter(|resource| templates.contains(*resource) || selectors.contains(*resource));
        let sent: Vec<String> = sent.map(|resource| format!("'{resource}'")).collect();
        let mut fields: Vec<&[&str]> = vec![];
        for resource in RESOURCES.iter().filter(|resource| templates.contains(*resource)) {
            fields.extend(Resource::named(group_of(resource), resource).map(Resource::template));
        }
        if !selectors.is_empty() {
            fields.push(&["spec", "selector"]);
        }
        let mut conditions = vec![
            "request.operation != 'UPDATE'".to_owned(),
            format!("!(request.resource.resource in [{}])", sent.join(", ")),
        ];
        for change in fields.into_iter().map(changes) {
            if !conditions.contains(&change) {
                conditions.push(change);
            }
        }
        Some(Self { name, sends_templates: !templates.is_empty(), expression: wrap(&conditions.join(" ||\n"), 112) })
    }
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

fn spared() -> Vec<Expression> {
    let values = SPARED.map(str::to_owned).to_vec();
    vec![Expression { key: NAMESPACE_NAME.to_owned(), operator: "NotIn".to_owned(), values }]
}

/// A selector as an object has it.
fn expressions(selector: &str) -> Result<Vec<Expression>> {
    let selector = parse_selector(selector).map_err(|error| anyhow!(error))?;
    let expressions = selector.requirements().iter().map(|requirement| {
        let operator = match requirement.operator().as_set() {
            Operator::In => "In",
            Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            _ => return Err(anyhow!("{requirement}: a namespaceSelector can't compare numbers")),
        };
        let (key, mut values) = (requirement.key().to_owned(), requirement.values().to_vec());
        // `x in ()` asks for the empty value, and so does `x=`.
        if values.is_empty() && ["In", "NotIn"].contains(&operator) {
            values.push(String::new());
        }
        Ok(Expression { key, operator: operator.to_owned(), values })
    });
    let expressions: Vec<_> = expressions.collect::<Result<_>>()?;
    ensure!(!expressions.is_empty(), "expected a selector, such as tenant=blue");
    Ok(expressions)
}

/// Those of a policy that is written already.
fn expressions_in(selector: &Value) -> Option<Vec<Expression>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // Kubewarden reads expressions only.
    let labels = members(&selector["matchLabels"]).map(|(key, value)| Expression {
        key: key.clone(),
        operator: "In".to_owned(),
        values: vec![text(value)],
    });
    let expressions = list_of(&selector["matchExpressions"]).iter().map(|expression| Expression {
        key: text(&expression["key"]),
        operator: text(&expression["operator"]),
        values: list_of(&expression["values"]).iter().map(text).collect(),
    });
    let all: Vec<Expression> = labels.chain(expressions).collect();
    (!all.is_empty()).then_some(all)
}

/// The comments before the first field.
fn header(text: &str) -> String {
    let comments = text.lines().take_while(|line| line.starts_with('#') || line.is_empty());
    comments.map(|line| format!("{line}\n")).collect()
}

fn without_marker(text: &str) -> String {
    text.lines().filter(|line| *line != "---").map(|line| format!("{line}\n")).collect()
}

/// What stands below `settings:` of a policy, as somebody wrote it.
fn settings_in(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim_end() != "  settings:").skip(1);
    let lines: Vec<&str> = lines.take_while(|line| line.trim().is_empty() || indentation(line) > 2).collect();
    let least =
        lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indentation(line)).min().unwrap_or_default();
    lines.iter().map(|line| format!("{}\n", line.get(least..).unwrap_or_default())).collect()
}

/// The parts of a text whose top-level keys `keep` wants, with the comments before them.
fn block(text: &str, keep: impl Fn(&str) -> bool) -> String {
    let (mut kept, mut comments, mut keeps) = (String::new(), String::new(), false);
    for line in text.lines() {
        if line.starts_with('#') || line.trim().is_empty() {
            comments.push_str(line);
            comments.push('\n');
            continue;
        }
        if indentation(line) == 0 {
            keeps = keep(line.split(':').next().unwrap_or_default());
        }
        if keeps {
            kept.push_str(&comments);
            kept.push_str(line);
            kept.push('\n');
        }
        comments.clear();
    }
    kept
}

/// A text without a field of one of its blocks, and the comments before it.
fn without_field(text: &str, field: &str) -> String {
    let (mut kept, mut comments) = (String::new(), String::new());
    let mut below: Option<usize> = None;
    for line in text.lines() {
        if below.is_some_and(|indent| !line.trim().is_empty() && indentation(line) <= indent) {
            below = None;
        }
        if line.trim_start().starts_with('#') && below.is_none() {
            comments.push_str(line);
            comments.push('\n');
            continue;
        }
        if below.is_none() && indentation(line) == 2 && line.trim_start().starts_with(&format!("{field}:")) {
            below = Some(2);
        } else if below.is_none() {
            kept.push_str(&comments);
            kept.push_str(line);
            kept.push('\n');
        }
        comments.clear();
    }
    kept + &comments
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A text that somebody wrote, if it says the same as the settings; else the settings, written anew.
fn or_written_anew(text: String, settings: &Value) -> String {
    let is_block_style = !text.trim_start().starts_with(['{', '[']);
    let text = match yaml_documents(&text) {
        Ok(documents) if is_block_style && documents == [settings.clone()] => text,
        _ => yaml_serde::to_string(settings).unwrap_or_default(),
    };
    with_quoted_booleans(&text)
}

fn indented(text: &str) -> String {
    let lines = text.trim_matches('\n').lines();
    let lines: Vec<String> =
        lines.map(|line| if line.trim().is_empty() { String::new() } else { format!("    {line}") }).collect();
    lines.join("\n")
}
