//! The namespaces of a cluster whose Pods the plugins and `placement` treat differently, because of their annotations or
//! of a whitelist that a Pod which asks for nothing can't satisfy.

use anyhow::Result;
use node_placement_policy::{
    placement::toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION},
    resource::Resource,
    selector::{parse, syntax::is_dns_label},
    settings::placement_block::IN_TREE_ANNOTATION,
    toleration::Toleration,
};
use serde_json::{Map, Value};

use super::plugins::{PairList, Plugins};
use crate::{
    Manifests, Policy,
    input::json::text,
    lists::listed as listed_names,
    webhook::{
        pods::plain_pod_request,
        request::{Request, workload_request},
    },
};

/// Returns a line for each namespace and difference, and one that names the namespaces of the plugin that the cluster lacks.
/// `settings` are those that `plugins` were converted to; the policy is asked what it makes of each Namespace, and of a Pod
/// there that requests nothing.
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
                let plain = annotated.plain_pod(refusal(plain_pod_request(name))?);
                let lines = [annotated.set_based_selector(), annotated.wider_whitelist(), plain];
                lines.into_iter().flatten().collect()
            }
        };
        lines.extend(own.iter().map(|line| format!("{name}: {line}")));
    }
    let names = plugins.node_selector.iter().flat_map(|plugin| plugin.whitelists.keys());
    let lacking: Vec<String> =
        names.filter(|name| is_dns_label(name) && cluster.namespace(name).is_none()).cloned().collect();
    if !lacking.is_empty() {
        lines.push(format!("The cluster has no such namespace: {}", listed_names(&lacking)));
    }
    Ok(lines)
}

/// The annotations of PodTolerationRestriction, with the names that it has for them.
const LISTS: [(&str, &str); 2] =
    [("defaultTolerations", DEFAULTS_ANNOTATION), ("tolerationsWhitelist", WHITELIST_ANNOTATION)];

/// Returns whether PodTolerationRestriction refuses Pods of a namespace that request nothing.
pub fn refuses_plain_pods(plugins: &Plugins, namespace: &Value) -> bool {
    Annotated { plugins, namespace }.outside_whitelist().is_some()
}

/// A Namespace, as the plugins look at it.
struct Annotated<'a> {
    plugins: &'a Plugins,
    namespace: &'a Value,
}

impl Annotated<'_> {
    /// Returns an annotation, if the plugin that reads it is configured.
    fn get(&self, key: &str) -> Option<&str> {
        let is_read = match key {
            IN_TREE_ANNOTATION => self.plugins.node_selector.is_some(),
            _ => self.plugins.tolerations.is_some(),
        };
        self.namespace["metadata"]["annotations"][key].as_str().filter(|_| is_read)
    }

    /// Returns what the plugins make of annotations that are malformed here, or that contradict something.
    fn as_the_plugins_read(&self) -> String {
        let mut readings = vec![];
        if let Some(text) = self.get(IN_TREE_ANNOTATION) {
            readings.push(match PairList::read(text) {
                Ok(pairs) => format!("PodNodeSelector reads {:?}", pairs.text()),
                Err(_) => "PodNodeSelector can't read the annotation".to_owned(),
            });
        }
        for (name, key) in LISTS {
            let Some(text) = self.get(key) else { continue };
            let list = read_leniently(text).map(|list| format!("reads {}", listed(&list)));
            let reading = list.unwrap_or_else(|| "can't read the list".to_owned());
            readings.push(format!("of {name} PodTolerationRestriction {reading}"));
        }
        if readings.is_empty() { String::new() } else { format!(" ({})", readings.join("; ")) }
    }

    /// Returns how a node selector is read here that the plugin can't read.
    fn set_based_selector(&self) -> Option<String> {
        let text = self.get(IN_TREE_ANNOTATION)?;
        let (here, error) = (parse(text).ok()?, PairList::read(text).err()?);
        Some(format!(
            "{IN_TREE_ANNOTATION} is {here} here; PodNodeSelector can't read it ({error}), and refuses all Pods"
        ))
    }

    /// Returns what becomes of a Pod that requests nothing: in the plugins, and here, where it is `refused`.
    fn plain_pod(&self, refused: Option<String>) -> Option<String> {
        let in_plugin = self.outside_whitelist();
        match (refused, in_plugin) {
            (Some(message), None) => Some(format!("a Pod that requests nothing is refused: {message}")),
            (Some(message), Some(_)) => {
                Some(format!("a Pod that requests nothing is refused, as by the plugin: {message}"))
            }
            (None, Some(lacking)) => Some(format!(
                "PodTolerationRestriction refuses a Pod that requests nothing, since {lacking}; here it is accepted"
            )),
            (None, None) => None,
        }
    }

    /// Returns what the whitelist of PodTolerationRestriction lacks of the tolerations that every Pod of the namespace
    /// has. An empty one allows everything.
    fn outside_whitelist(&self) -> Option<String> {
        let plugin = self.plugins.tolerations.as_ref()?;
        let annotated = |key: &str| self.get(key).map(|text| read_leniently(text).unwrap_or_default());
        let own = annotated(WHITELIST_ANNOTATION);
        let whose = if own.is_some() { "its tolerationsWhitelist" } else { "the plugin's whitelist" };
        let whitelist = own.or_else(|| plugin.whitelist.clone()).filter(|list| !list.is_empty())?;
        let defaults = annotated(DEFAULTS_ANNOTATION).or_else(|| plugin.default.clone()).unwrap_or_default();
        let lacking = outside(&whitelist, &defaults);
        (!lacking.is_empty()).then(|| format!("{whose} lacks {}, which every Pod has", listed(&lacking)))
    }

    /// Reports a whitelist that allows more here: the annotation's replaces the cluster's in the plugin, and is added to it here.
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

/// Returns an annotation's list as Go's `encoding/json` reads it: fields in any case, unknown ones passed over.
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

/// Returns what a Pod that requests nothing tolerates, once the API server and the plugin have added their `defaults`, and
/// the whitelist does not allow.
pub fn outside(whitelist: &[Toleration], defaults: &[Toleration]) -> Vec<Toleration> {
    let tolerations = plain_pod_request("default").json["object"]["spec"]["tolerations"].take();
    let mut tolerations: Vec<Toleration> = serde_json::from_value(tolerations).unwrap_or_default();
    tolerations.extend(defaults.iter().cloned());
    tolerations.retain(|toleration| !whitelist.iter().any(|allowed| allowed.covers(toleration)));
    tolerations
}

/// Lists tolerations as `kubectl taint` writes taints.
fn listed(tolerations: &[Toleration]) -> String {
    let texts: Vec<String> = tolerations.iter().map(ToString::to_string).collect();
    if texts.is_empty() { "no tolerations".to_owned() } else { texts.join(", ") }
}
