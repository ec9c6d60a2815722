//! Settings out of what an API server's `--admission-control-config-file` names: the configurations of the in-tree
//! admission plugins PodNodeSelector and PodTolerationRestriction.
//!
//! - [`plugins`] reads them, as the plugins do.
//! - [`differences`] finds the namespaces of a cluster for which something changes.
//! - Here `placement` is written for them, with a comment wherever it decides otherwise.

pub mod differences;
pub mod plugins;

use anyhow::{Result, ensure};
use node_placement_policy::{
    selector::syntax::is_dns_label, settings::placement_block::IN_TREE_ANNOTATION, toleration::Toleration,
};
use serde_json::{Value, json};

pub use self::plugins::Plugins;
use self::{
    differences::{differences, outside, refuses_plain_pods},
    plugins::PairList,
};
use crate::{
    Manifests, Policy,
    engine::policy::mistakes,
    input::documents::yaml_documents,
    template::{comment, render},
    wrap,
};

const TEMPLATE: &str = include_str!("settings.yml.j2");

/// No line of a comment is longer, unless a word is.
const WIDTH: usize = 120;

/// A cluster for which the settings are meant.
pub struct Target<'a> {
    /// As messages call it.
    pub name: String,
    pub cluster: &'a Manifests,
    /// What is asked about its namespaces.
    pub policy: &'a Policy,
}

/// Writes settings that do what the plugins do, as a YAML file with comments. `from` is the file that they come from. With
/// `warns`, every entry only warns, and so does one for all other namespaces.
///
/// # Errors
/// The settings would have a mistake, or the policy failed to answer.
pub fn write_settings(plugins: &Plugins, from: &str, target: Option<&Target<'_>>, warns: bool) -> Result<String> {
    let mut data = data(plugins, from, target.map(|target| target.cluster), warns);
    let text = render("settings.yml", TEMPLATE, data.clone())?;
    let documents = yaml_documents(&text)?;
    let mistakes: Vec<String> = documents.iter().flat_map(mistakes).map(|mistake| mistake.to_string()).collect();
    ensure!(mistakes.is_empty(), "{}", mistakes.join("\nerror: "));
    let (Some(Target { name, cluster, policy }), [settings]) = (target, documents.as_slice()) else { return Ok(text) };
    let lines = differences(plugins, settings, cluster, policy)?;
    data["cluster"] = name.as_str().into();
    data["differences"] = lines.iter().map(|line| wrap(&comment(line), WIDTH - "# - ".len())).collect();
    render("settings.yml", TEMPLATE, data)
}

fn data(plugins: &Plugins, from: &str, cluster: Option<&Manifests>, warns: bool) -> Value {
    let pairs = |pairs: &PairList| json!({ "text": pairs.text(), "repeated": pairs.repeated });
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
            // An annotation replaces the default.
            let is_annotated = |namespace: &Value| namespace["metadata"]["annotations"][IN_TREE_ANNOTATION].is_string();
            let has_default = !cluster.and_then(|cluster| cluster.namespace(name)).is_some_and(is_annotated);
            let outside = default.filter(|_| has_default).map(|default| default.text_outside(whitelist));
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
    if warns && entries.last().is_none_or(|last| last["name"] != "*") {
        entries.push(json!({ "name": "*", "is_for_warnings": true }));
    }
    json!({
        "from": from,
        "unknown_fields": plugins.unknown_fields,
        "node_selector": plugins.node_selector.is_some(),
        "default": default.filter(|default| !default.is_empty()).map(pairs),
        "tolerations": plugins.tolerations.as_ref().map(|plugin| json!({
            "default": plugin.default,
            "whitelist": plugin.whitelist,
            "not_allowed": not_allowed(plugins, cluster),
        })),
        "warns": warns,
        "comments": comments,
        "entries": entries,
        "judges_node_selectors": judges_node_selectors,
    })
}

/// Returns what every Pod tolerates that requests nothing, and the plugin's whitelist does not allow; nothing, if no
/// namespace of the cluster is refused such Pods.
fn not_allowed(plugins: &Plugins, cluster: Option<&Manifests>) -> Vec<Toleration> {
    let Some(plugin) = &plugins.tolerations else { return vec![] };
    let Some(whitelist) = plugin.whitelist.as_ref().filter(|list| !list.is_empty()) else { return vec![] };
    let is_contradicted =
        cluster.is_some_and(|cluster| !cluster.namespaces().any(|namespace| refuses_plain_pods(plugins, namespace)));
    if is_contradicted { vec![] } else { outside(whitelist, plugin.default.as_deref().unwrap_or_default()) }
}
