//! Settings for what the plugins' configurations say, with comments, as a file to review.

use anyhow::{Result, ensure};
use node_placement_policy::{
    placement::tolerations::UNTIL_EVICTED,
    selector::syntax::is_dns_label,
    toleration::{NO_EXECUTE, Toleration},
};
use serde_json::{Value, json};

use super::plugins::{PairList, Plugins, PodTolerationRestriction};
use crate::{
    engine::policy::mistakes,
    input::{documents::yaml_documents, yaml::quoted},
    output::template::{comment, render},
    wrap,
};

const TEMPLATE: &str = include_str!("settings.yml.j2");

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

/// Writes settings that do what the plugins do, as a YAML file with comments. `from` is the file that they come from.
///
/// # Errors
/// The settings would have a mistake.
pub fn write_settings(plugins: &Plugins, from: &str, report: Option<&ClusterReport<'_>>) -> Result<String> {
    let text = quoted(&render("settings.yml", TEMPLATE, data(plugins, from, report))?);
    let mistakes: Vec<String> = yaml_documents(&text)?.iter().flat_map(mistakes).collect();
    ensure!(mistakes.is_empty(), "{}", mistakes.join("\nerror: "));
    Ok(text)
}

fn data(plugins: &Plugins, from: &str, report: Option<&ClusterReport<'_>>) -> Value {
    let pairs = |pairs: &PairList| json!({ "text": pairs.text(), "repeated": pairs.repeated });
    let lines = |text: &String| wrap(&comment(text), WIDTH - "# - ".len());
    let default = plugins.node_selector.as_ref().map(|plugin| &plugin.cluster_default);
    let mut comments = vec![];
    let mut entries = vec![];
    for (name, whitelist) in plugins.node_selector.iter().flat_map(|plugin| &plugin.whitelists) {
        // A name with a * is no pattern for the plugin.
        if !is_dns_label(name) {
            comments.push(format!("Left out, since no namespace can be called {name:?}: {:?}.", whitelist.text()));
        } else if whitelist.is_empty() {
            comments.push(format!("Left out, since an empty selector allows everything in the plugin: {name}."));
        } else {
            let outside = default.map(|default| default.outside(whitelist).text());
            entries.push(json!({ "name": name, "selector": pairs(whitelist), "outside": outside }));
        }
    }
    let judges_node_selectors = !entries.is_empty();
    match plugins.tolerations.as_ref().and_then(|plugin| plugin.whitelist.as_deref()) {
        None => {}
        Some([]) => {
            comments.push("The plugin's whitelist of tolerations is empty, which allows everything there.".to_owned())
        }
        Some(_) => entries.push(json!({ "name": "*" })),
    }
    json!({
        "from": from,
        "cluster": report.map(|report| report.cluster),
        "differences": report.map(|report| report.differences.iter().map(lines).collect::<Vec<_>>()),
        "unknown_fields": plugins.unknown_fields,
        "node_selector": plugins.node_selector.is_some(),
        "default": default.filter(|default| !default.is_empty()).map(pairs),
        "tolerations": plugins.tolerations.as_ref().map(|plugin| json!({
            "default": plugin.default,
            "whitelist": plugin.whitelist,
            "not_allowed": not_allowed(plugin),
        })),
        "comments": comments,
        "entries": entries,
        "judges_node_selectors": judges_node_selectors,
    })
}

/// What a Pod that asks for nothing tolerates once it has the plugin's default, and the whitelist does not allow; an empty
/// one allows everything.
fn not_allowed(plugin: &PodTolerationRestriction) -> Vec<Toleration> {
    let Some([allowed @ .., last]) = plugin.whitelist.as_deref() else { return vec![] };
    let is_allowed = |toleration: &Toleration| allowed.iter().chain([last]).any(|allowed| allowed.covers(toleration));
    let added =
        UNTIL_EVICTED.map(|key| Toleration { toleration_seconds: Some(300), ..Toleration::exists(key, NO_EXECUTE) });
    added.iter().chain(plugin.default.iter().flatten()).filter(|toleration| !is_allowed(toleration)).cloned().collect()
}
