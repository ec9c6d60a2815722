//! Settings out of what an API server's `--admission-control-config-file` names: the configurations of the in-tree
//! admission plugins PodNodeSelector and PodTolerationRestriction.
//!
//! - [`plugins`] reads them, as the plugins do.
//! - [`differences`] finds the namespaces of a cluster for which something changes.
//! - Here `placement` is written for them, with a comment wherever it decides otherwise.

pub mod differences;
pub mod plugins;

use anyhow::{Result, ensure};
use node_placement_policy::{selector::syntax::is_dns_label, toleration::Toleration};
use serde_json::{Value, json};

use self::differences::differences;
pub use self::plugins::Plugins;
use self::plugins::{PairList, PodTolerationRestriction};
use crate::{
    Manifests, Policy,
    engine::policy::mistakes,
    input::documents::yaml_documents,
    template::{comment, render},
    webhook::pods::plain_pod_request,
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

/// Writes settings that do what the plugins do, as a YAML file with comments. `from` is the file that they come from.
///
/// # Errors
/// The settings would have a mistake, or the policy failed to answer.
pub fn write_settings(plugins: &Plugins, from: &str, target: Option<&Target<'_>>) -> Result<String> {
    let mut data = data(plugins, from);
    let text = render("settings.yml", TEMPLATE, data.clone())?;
    let documents = yaml_documents(&text)?;
    let mistakes: Vec<String> = documents.iter().flat_map(mistakes).collect();
    ensure!(mistakes.is_empty(), "{}", mistakes.join("\nerror: "));
    let (Some(Target { name, cluster, policy }), [settings]) = (target, documents.as_slice()) else { return Ok(text) };
    let lines = differences(plugins, settings, cluster, policy)?;
    data["cluster"] = name.as_str().into();
    data["differences"] = lines.iter().map(|line| wrap(&comment(line), WIDTH - "# - ".len())).collect();
    render("settings.yml", TEMPLATE, data)
}

fn data(plugins: &Plugins, from: &str) -> Value {
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
            let outside = default.map(|default| default.text_outside(whitelist));
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

/// What a Pod that asks for nothing tolerates once the API server and the plugin have added their defaults, and the
/// whitelist does not allow. An empty one allows everything.
fn not_allowed(plugin: &PodTolerationRestriction) -> Vec<Toleration> {
    let Some(whitelist) = plugin.whitelist.as_ref().filter(|list| !list.is_empty()) else { return vec![] };
    let tolerations = plain_pod_request("default").json["object"]["spec"]["tolerations"].take();
    let mut tolerations: Vec<Toleration> = serde_json::from_value(tolerations).unwrap_or_default();
    tolerations.extend(plugin.default.iter().flatten().cloned());
    tolerations.retain(|toleration| !whitelist.iter().any(|allowed| allowed.covers(toleration)));
    tolerations
}
