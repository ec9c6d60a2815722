//! The namespaces of a cluster whose Pods the plugins and `placement` treat differently, because of their annotations or
//! of a whitelist that a Pod which asks for nothing can't satisfy.

use anyhow::Result;
use node_placement_policy::{
    placement::toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION},
    resource::Resource,
    selector::parse,
    settings::placement::IN_TREE_ANNOTATION,
    toleration::Toleration,
};
use serde_json::{Map, Value};

use super::plugins::{PairList, Plugins};
use crate::{
    Manifests, Policy,
    input::json::text,
    webhook::{
        pods::plain_pod_request,
        request::{Request, workload_request},
    },
};

/// A line for each namespace and difference. `settings` are those that `plugins` were converted to; the policy is asked
/// what it makes of each Namespace, and of a Pod there that asks for nothing.
///
/// # Errors
/// The policy failed to answer.
pub fn differences(plugins: &Plugins, settings: &Value, cluster: &Manifests, policy: &Policy) -> Result<Vec<String>> {
    let refusal = |request: Request| -> Result<Option<String>> {
        let answer = policy.validate(&request.json, settings, cluster.clone())?.answer;
        Ok((!answer.accepted).then(|| answer.message.unwrap_or_default()))
    };
    let mut lines = vec![];
    for namespace in cluster.namespaces() {
        let name = text(&namespace["metadata"]["name"]);
        let annotated = Annotated { plugins, namespace };
        let own = match refusal(workload_request(Resource::Namespace, namespace))? {
            Some(message) => vec![format!("{message}{}", annotated.as_the_plugins_read())],
            None => {
                let refused = refusal(plain_pod_request(name))?;
                let refused = refused.map(|message| format!("a Pod that asks for nothing is refused: {message}"));
                let lines = [annotated.set_based_selector(), annotated.wider_whitelist(), refused];
                lines.into_iter().flatten().collect()
            }
        };
        lines.extend(own.iter().map(|line| format!("{name}: {line}")));
    }
    Ok(lines)
}

/// A Namespace, as the plugins look at it.
struct Annotated<'a> {
    plugins: &'a Plugins,
    namespace: &'a Value,
}

impl Annotated<'_> {
    /// An annotation, if the plugin that reads it is configured.
    fn get(&self, key: &str) -> Option<&str> {
        let is_read = match key {
            IN_TREE_ANNOTATION => self.plugins.node_selector.is_some(),
            _ => self.plugins.tolerations.is_some(),
        };
        self.namespace["metadata"]["annotations"][key].as_str().filter(|_| is_read)
    }

    /// What the plugins make of annotations that are malformed here, or that contradict something.
    fn as_the_plugins_read(&self) -> String {
        let mut readings = vec![];
        if let Some(text) = self.get(IN_TREE_ANNOTATION) {
            readings.push(match PairList::read(text) {
                Ok(pairs) => format!("PodNodeSelector reads {:?}", pairs.text()),
                Err(_) => "PodNodeSelector can't read the annotation".to_owned(),
            });
        }
        for (name, key) in [("defaultTolerations", DEFAULTS_ANNOTATION), ("tolerationsWhitelist", WHITELIST_ANNOTATION)]
        {
            let Some(text) = self.get(key) else { continue };
            let list = read_leniently(text).map(|list| format!("reads {}", listed(&list)));
            let reading = list.unwrap_or_else(|| "can't read the list".to_owned());
            readings.push(format!("of {name} PodTolerationRestriction {reading}"));
        }
        if readings.is_empty() { String::new() } else { format!(" ({})", readings.join("; ")) }
    }

    /// How a node selector is read here that the plugin can't read.
    fn set_based_selector(&self) -> Option<String> {
        let text = self.get(IN_TREE_ANNOTATION)?;
        let (here, error) = (parse(text).ok()?, PairList::read(text).err()?);
        Some(format!(
            "{IN_TREE_ANNOTATION} is {here} here; PodNodeSelector can't read it ({error}), and refuses all Pods"
        ))
    }

    /// The annotation's whitelist takes the place of the cluster's in the plugin, and stands beside it here.
    fn wider_whitelist(&self) -> Option<String> {
        let allowed = self.plugins.tolerations.as_ref()?.whitelist.as_ref().filter(|allowed| !allowed.is_empty())?;
        let mut annotated = read_leniently(self.get(WHITELIST_ANNOTATION)?)?;
        let what = if annotated.is_empty() {
            "everything".to_owned()
        } else {
            annotated.retain(|toleration| !allowed.iter().any(|allowed| allowed.covers(toleration)));
            (!annotated.is_empty()).then(|| listed(&annotated))?
        };
        Some(format!(
            "its tolerationsWhitelist allows {what} in the plugin; here allowedTolerations must allow it, too"
        ))
    }
}

/// An annotation's list as Go's `encoding/json` reads it: fields in any case, unknown ones passed over.
fn read_leniently(text: &str) -> Option<Vec<Toleration>> {
    const FIELDS: [&str; 5] = ["key", "operator", "value", "effect", "tolerationSeconds"];
    let text = if text.is_empty() { "[]" } else { text };
    let list: Option<Vec<Option<Map<String, Value>>>> = serde_json::from_str(text).ok()?;
    let toleration = |fields: Option<Map<String, Value>>| {
        let known = fields.into_iter().flatten().filter_map(|(name, value)| {
            let field = FIELDS.into_iter().find(|field| field.eq_ignore_ascii_case(&name))?;
            Some((field, value))
        });
        serde_json::from_value(known.collect()).ok()
    };
    list.unwrap_or_default().into_iter().map(toleration).collect()
}

/// As taints are written for `kubectl taint`.
fn listed(tolerations: &[Toleration]) -> String {
    let texts: Vec<String> = tolerations.iter().map(ToString::to_string).collect();
    if texts.is_empty() { "no tolerations".to_owned() } else { texts.join(", ") }
}
