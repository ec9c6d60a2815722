//! Settings for what the plugins' configurations say, with comments, as a file to review.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Toleration;
use node_placement_policy::toleration::Toleration as PolicyToleration;
use serde_json::{Value, json};

use super::plugins::{PairList, Plugins, PodNodeSelector, PodTolerationRestriction};
use crate::{
    engine::native::mistakes,
    input::{documents::yaml_documents, yaml::with_quoted_booleans},
    output::template::render,
    wrap,
};

const TEMPLATE: &str = include_str!("settings.yml.j2");

/// What the API server itself adds to every Pod, before the plugins see it (`DefaultTolerationSeconds`).
const ADDED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// No line of a comment is longer, unless a word is.
const WIDTH: usize = 120;

/// The namespaces of a cluster for which something changes.
#[derive(Debug)]
pub struct ClusterReport<'a> {
    /// What people call the cluster.
    pub cluster: &'a str,
    /// A line for each change.
    pub differences: &'a [String],
}

impl ClusterReport<'_> {
    /// A list, as lines of a comment.
    fn lines(&self) -> Vec<String> {
        let items = self.differences.iter().map(|difference| wrap(&escaped(difference), WIDTH - "# - ".len()));
        let mark = |(position, line): (usize, String)| format!("{} {line}", if position == 0 { "-" } else { " " });
        items.flat_map(|lines| lines.into_iter().enumerate().map(mark).collect::<Vec<_>>()).collect()
    }
}

/// Writes settings that do what the plugins do, as a YAML file with comments. `from` is the file that they come from.
///
/// # Errors
/// The settings would have a mistake.
pub fn write_settings(plugins: &Plugins, from: &str, report: Option<&ClusterReport<'_>>) -> Result<String> {
    let text = with_quoted_booleans(&render("settings.yml", TEMPLATE, data(plugins, from, report)?)?);
    let mistakes: Vec<String> = yaml_documents(&text)?.iter().flat_map(mistakes).collect();
    ensure!(mistakes.is_empty(), "{}", mistakes.join("\nerror: "));
    Ok(text)
}

fn data(plugins: &Plugins, from: &str, report: Option<&ClusterReport<'_>>) -> Result<Value> {
    let default = plugins.node_selector.as_ref().map(|plugin| &plugin.cluster_default);
    let mut comments = vec![];
    let mut entries = vec![];
    for (name, whitelist) in plugins.node_selector.iter().flat_map(|plugin| &plugin.whitelists) {
        // A name with a * is no pattern for the plugin.
        if !is_namespace(name) {
            comments.push(format!("Left out, since no namespace can be called {name:?}: {:?}.", whitelist.text()));
        } else if whitelist.is_empty() {
            comments.push(format!("Left out, since an empty selector allows everything in the plugin: {name}."));
        } else {
            let outside = default.map(|default| default.outside(whitelist).text());
            entries.push(json!({
                "name": quoted(name)?,
                "selector": pairs(whitelist)?,
                "outside": outside.filter(|text| !text.is_empty()),
            }));
        }
    }
    let judges_node_selectors = !entries.is_empty();
    if let Some(PodTolerationRestriction { whitelist: Some(whitelist), .. }) = &plugins.tolerations {
        if whitelist.is_empty() {
            comments.push("The plugin's whitelist of tolerations is empty, which allows everything there.".to_owned());
        } else {
            entries.push(json!({ "name": quoted("*")? }));
        }
    }
    Ok(json!({
        "from": escaped(from),
        "cluster": report.map(|report| escaped(report.cluster)),
        "differences": report.map(ClusterReport::lines),
        "unknown_fields": plugins.unknown_fields.iter().map(|field| escaped(field)).collect::<Vec<_>>(),
        "node_selector": plugins.node_selector.as_ref().map(node_selector).transpose()?,
        "tolerations": plugins.tolerations.as_ref().map(tolerations).transpose()?,
        "comments": comments.iter().map(|comment| escaped(comment)).collect::<Vec<_>>(),
        "entries": entries,
        "judges_node_selectors": judges_node_selectors,
    }))
}

fn node_selector(plugin: &PodNodeSelector) -> Result<Value> {
    let default = &plugin.cluster_default;
    Ok(json!({ "default": if default.is_empty() { Value::Null } else { pairs(default)? } }))
}

fn tolerations(plugin: &PodTolerationRestriction) -> Result<Value> {
    let not_allowed = not_allowed(&plugin.default, plugin.allowed());
    Ok(json!({
        "default": plugin.default.iter().map(flow).collect::<Result<Vec<_>>>()?,
        "whitelist": plugin.allowed().iter().map(flow).collect::<Result<Vec<_>>>()?,
        "not_allowed": not_allowed.iter().map(flow).collect::<Result<Vec<_>>>()?,
    }))
}

/// What a Pod that asks for nothing tolerates once it has the plugin's `default`, and `whitelist` does not allow; an
/// empty one allows everything.
pub(super) fn not_allowed(default: &[Toleration], whitelist: &[Toleration]) -> Vec<Toleration> {
    if whitelist.is_empty() {
        return vec![];
    }
    let allowed: Vec<PolicyToleration> = whitelist.iter().filter_map(as_the_policy_reads).collect();
    let is_allowed = |toleration: &Toleration| {
        as_the_policy_reads(toleration).is_some_and(|own| allowed.iter().any(|allowed| allowed.covers(&own)))
    };
    let added = ADDED.map(|key| Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: Some(300),
        value: None,
    });
    added.iter().chain(default).filter(|toleration| !is_allowed(toleration)).cloned().collect()
}

/// None, if it can't be read.
pub(super) fn as_the_policy_reads(toleration: &Toleration) -> Option<PolicyToleration> {
    serde_json::from_value(json!(toleration)).ok()
}

fn is_namespace(name: &str) -> bool {
    node_placement_policy::selector::syntax::is_dns_label(name)
}

fn pairs(pairs: &PairList) -> Result<Value> {
    Ok(json!({ "text": quoted(&pairs.text())?, "repeated": pairs.repeated }))
}

/// A text of YAML, always in quotes.
fn quoted(text: &str) -> Result<String> {
    Ok(serde_json::to_string(text)?)
}

/// A toleration in one line of YAML, with the fields in Kubernetes' order.
fn flow(toleration: &Toleration) -> Result<String> {
    let Toleration { key, operator, value, effect, toleration_seconds } = toleration;
    let texts = [("key", key), ("operator", operator), ("value", value), ("effect", effect)];
    let mut fields = vec![];
    for (field, text) in texts {
        if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
            let text =
                if field == "value" { quoted(text)? } else { yaml_serde::to_string(text)?.trim_end().to_owned() };
            fields.push(format!("{field}: {text}"));
        }
    }
    fields.extend(toleration_seconds.map(|seconds| format!("tolerationSeconds: {seconds}")));
    Ok(if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) })
}

/// A comment stays one line, and shows what it has.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_hidden = matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if letter.is_control() || is_hidden { escaped.extend(letter.escape_default()) } else { escaped.push(letter) }
    }
    escaped
}
