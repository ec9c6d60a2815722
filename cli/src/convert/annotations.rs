//! The namespaces of a cluster whose Pods the plugins and `placement` treat differently, because of their annotations or
//! of a whitelist that a Pod which asks for nothing can't satisfy.

use anyhow::Result;
use k8s_openapi::api::core::v1::Toleration;
use node_placement_policy::{
    placement::toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION},
    selector::parse,
    settings::placement::IN_TREE_ANNOTATION,
    toleration::Toleration as PolicyToleration,
};
use serde_json::{Map, Value};

use super::{
    plugins::{PairList, Plugins},
    settings::not_allowed,
};
use crate::{
    Manifests, Policy,
    requests::resource::NAMESPACE,
    requests::{admission, plain_pod},
};

/// A line for each namespace and difference. `settings` are those that `plugins` were converted to; the policy is asked
/// what it makes of each Namespace, and of a Pod there that asks for nothing.
///
/// # Errors
/// The policy can't be asked.
pub fn differences(plugins: &Plugins, settings: &Value, cluster: &Manifests, policy: &Policy) -> Result<Vec<String>> {
    let mut lines = vec![];
    for namespace in cluster.namespaces() {
        let name = namespace["metadata"]["name"].as_str().unwrap_or_default();
        let subject = Subject { plugins, namespace };
        let as_applied = admission::creation(NAMESPACE, namespace);
        let plain_pod = plain_pod::creation(name);
        let found = match refusal(policy, &as_applied, settings, cluster)? {
            Some(message) => vec![format!("{message}{}", subject.as_the_plugins_read())],
            None => subject.read_differently(refusal(policy, &plain_pod, settings, cluster)?),
        };
        lines.extend(found.into_iter().map(|line| format!("{name}: {line}")));
    }
    Ok(lines)
}

/// The message, if the policy refuses the request.
fn refusal(policy: &Policy, request: &Value, settings: &Value, cluster: &Manifests) -> Result<Option<String>> {
    let answer = policy.validate(request, settings, cluster.clone())?.answer;
    Ok((!answer.accepted).then(|| answer.message.unwrap_or_default()))
}

/// A Namespace, as the plugins look at it.
struct Subject<'a> {
    plugins: &'a Plugins,
    namespace: &'a Value,
}

impl Subject<'_> {
    fn annotation(&self, key: &str) -> Option<&str> {
        self.namespace["metadata"]["annotations"][key].as_str()
    }

    /// The namespace's node selector, if the plugin is there and the annotation too.
    fn node_selector(&self) -> Option<&str> {
        self.plugins.node_selector.as_ref().and_then(|_| self.annotation(IN_TREE_ANNOTATION))
    }

    /// The texts of the annotations of tolerations, if the plugin is there.
    fn toleration_annotations(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let keys = self.plugins.tolerations.iter().flat_map(|_| [DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION]);
        keys.filter_map(|key| Some((key, self.annotation(key)?)))
    }

    /// What the plugins make of annotations that are malformed here, or that contradict something.
    fn as_the_plugins_read(&self) -> String {
        let mut readings = vec![];
        if let Some(text) = self.node_selector() {
            readings.push(match PairList::read(text) {
                Ok(pairs) => format!("PodNodeSelector reads {:?}", pairs.text()),
                Err(_) => "PodNodeSelector can't read the annotation".to_owned(),
            });
        }
        for (key, text) in self.toleration_annotations() {
            let reading = match read_leniently(text) {
                Some(list) => format!("reads {}", listed(&list)),
                None => "can't read the list".to_owned(),
            };
            let name = key.rsplit('/').next().unwrap_or(key);
            readings.push(format!("of {name} PodTolerationRestriction {reading}"));
        }
        if readings.is_empty() { String::new() } else { format!(" ({})", readings.join("; ")) }
    }

    /// What is different though the annotations can be read. `refused` says how a Pod that asks for nothing is refused.
    fn read_differently(&self, refused: Option<String>) -> Vec<String> {
        let mut lines = vec![];
        lines.extend(self.node_selector().and_then(selector_difference));
        lines.extend(self.wider_whitelist());
        let by_plugin = self.refused_by_plugin();
        lines.extend(match (refused, by_plugin) {
            (Some(message), Some(_)) => {
                Some(format!("a Pod that asks for nothing is refused, as by the plugin: {message}"))
            }
            (Some(message), None) => Some(format!("a Pod that asks for nothing is refused: {message}")),
            (None, Some(reason)) => Some(format!("a Pod that asks for nothing is let in; {reason}")),
            (None, None) => None,
        });
        lines
    }

    /// The annotation's whitelist takes the place of the cluster's in the plugin, and stands beside it here.
    fn wider_whitelist(&self) -> Option<String> {
        let plugin = self.plugins.tolerations.as_ref()?;
        let annotated = read_leniently(self.annotation(WHITELIST_ANNOTATION)?)?;
        let allowed: Vec<PolicyToleration> = plugin.allowed().iter().cloned().map(Into::into).collect();
        if allowed.is_empty() {
            return None;
        }
        if annotated.is_empty() {
            return Some(format!(
                "its empty tolerationsWhitelist allows everything in the plugin; here {ONLY_SETTINGS}"
            ));
        }
        let is_wider = |toleration: &&Toleration| {
            let own = (*toleration).clone().into();
            !allowed.iter().any(|allowed| allowed.covers(&own))
        };
        let wider: Vec<Toleration> = annotated.iter().filter(is_wider).cloned().collect();
        if wider.is_empty() {
            return None;
        }
        Some(format!("its tolerationsWhitelist allows {} in the plugin; here {ONLY_SETTINGS}", listed(&wider)))
    }

    /// Why a plugin refuses a Pod that asks for nothing.
    fn refused_by_plugin(&self) -> Option<String> {
        if let Some(plugin) = &self.plugins.node_selector {
            let name = self.namespace["metadata"]["name"].as_str().unwrap_or_default();
            let annotated = self.annotation(IN_TREE_ANNOTATION).map(PairList::read);
            // What it can't read is told by itself.
            let annotated = annotated.transpose().ok()?;
            let demanded = annotated.as_ref().unwrap_or(&plugin.cluster_default);
            let outside = plugin.whitelists.get(name).map(|whitelist| demanded.outside(whitelist)).unwrap_or_default();
            if !outside.is_empty() {
                return Some(format!("PodNodeSelector refuses it: its whitelist lacks {}", outside.text()));
            }
        }
        let plugin = self.plugins.tolerations.as_ref()?;
        // What the plugin's own whitelist lacks is told once, for all namespaces.
        self.toleration_annotations().next()?;
        let list = |key| self.annotation(key).and_then(read_leniently);
        let default = list(DEFAULTS_ANNOTATION).unwrap_or_else(|| plugin.default.clone());
        let whitelist = list(WHITELIST_ANNOTATION).unwrap_or_else(|| plugin.allowed().to_vec());
        let missing = not_allowed(&default, &whitelist);
        if missing.is_empty() {
            return None;
        }
        Some(format!("PodTolerationRestriction refuses it: its whitelist lacks {}", listed(&missing)))
    }
}

const ONLY_SETTINGS: &str = "allowedTolerations must allow it, too";

/// How a node selector's annotation is read by the plugin and here.
fn selector_difference(text: &str) -> Option<String> {
    let here = parse(text).ok()?;
    match PairList::read(text) {
        Err(error) => Some(format!(
            "{IN_TREE_ANNOTATION} is {here} here; PodNodeSelector can't read it ({error}), and refuses all Pods"
        )),
        Ok(pairs) if !pairs.repeated.is_empty() => {
            Some(format!("{IN_TREE_ANNOTATION} is {here} here; PodNodeSelector reads {}", pairs.text()))
        }
        Ok(_) => None,
    }
}

/// An annotation's list as Go's `encoding/json` reads it: fields in any case, unknown ones passed over.
fn read_leniently(text: &str) -> Option<Vec<Toleration>> {
    if text.is_empty() {
        return Some(vec![]);
    }
    let list: Option<Vec<Option<Map<String, Value>>>> = serde_json::from_str(text).ok()?;
    list.unwrap_or_default().into_iter().map(|fields| toleration(fields.unwrap_or_default())).collect()
}

fn toleration(fields: Map<String, Value>) -> Option<Toleration> {
    let known = ["key", "operator", "value", "effect", "tolerationSeconds"];
    let named = |(name, value): (String, Value)| {
        let field = known.into_iter().find(|field| field.eq_ignore_ascii_case(&name))?;
        Some((field.to_owned(), value))
    };
    serde_json::from_value(Value::Object(fields.into_iter().filter_map(named).collect())).ok()
}

/// As taints are written for `kubectl taint`.
fn listed(tolerations: &[Toleration]) -> String {
    let tolerations = tolerations.iter().cloned().map(PolicyToleration::from);
    let texts: Vec<String> = tolerations.map(|toleration| toleration.to_string()).collect();
    if texts.is_empty() { "no tolerations".to_owned() } else { texts.join(", ") }
}
