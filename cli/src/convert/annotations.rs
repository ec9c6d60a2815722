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
    requests::{admission, pod},
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
        let found =
            match refusal(policy, &admission::workload_request(Resource::Namespace, namespace), settings, cluster)? {
                Some(message) => vec![format!("{message}{}", subject.as_the_plugins_read())],
                None => {
                    let refused = refusal(policy, &pod::plain_pod_request(name), settings, cluster)?;
                    let refused = refused.map(|message| format!("a Pod that asks for nothing is refused: {message}"));
                    [subject.set_based_selector(), subject.wider_whitelist(), refused].into_iter().flatten().collect()
                }
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

    /// How a node selector is read here that the plugin can't read.
    fn set_based_selector(&self) -> Option<String> {
        let text = self.node_selector()?;
        let (here, error) = (parse(text).ok()?, PairList::read(text).err()?);
        Some(format!(
            "{IN_TREE_ANNOTATION} is {here} here; PodNodeSelector can't read it ({error}), and refuses all Pods"
        ))
    }

    /// The annotation's whitelist takes the place of the cluster's in the plugin, and stands beside it here.
    fn wider_whitelist(&self) -> Option<String> {
        let allowed = self.plugins.tolerations.as_ref()?.whitelist.as_ref().filter(|allowed| !allowed.is_empty())?;
        let annotated = read_leniently(self.annotation(WHITELIST_ANNOTATION)?)?;
        let is_wider = |toleration: &Toleration| !allowed.iter().any(|allowed| allowed.covers(toleration));
        let wider: Vec<Toleration> = annotated.iter().filter(|own| is_wider(own)).cloned().collect();
        let what = if annotated.is_empty() { "everything".to_owned() } else { listed(&wider) };
        let text =
            format!("its tolerationsWhitelist allows {what} in the plugin; here allowedTolerations must allow it, too");
        (annotated.is_empty() || !wider.is_empty()).then_some(text)
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
    let texts: Vec<String> = tolerations.iter().map(ToString::to_string).collect();
    if texts.is_empty() { "no tolerations".to_owned() } else { texts.join(", ") }
}
