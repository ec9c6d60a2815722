//! Whether a namespace has any rule for its Pods. The policy itself is asked: settings are its business.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Preview, tally::Tally};
use crate::input::json::text;
use crate::requests::plain_pod;
use crate::{engine::native::parse_selector, input::settings::entries, namespace_rules::holding_entry};

/// What a rule would change in a Pod.
const PLACEMENT: [&str; 3] = ["/spec/nodeSelector", "/spec/affinity", "/spec/tolerations"];

impl Preview<'_> {
    /// Tries two Pods, of which one asks for nothing, and the other for what nobody has a reason to allow: if neither
    /// is changed or rejected, there is no rule.
    pub(super) fn try_namespace(&self, namespace: &str, tally: &mut Tally) -> Result<()> {
        let Some(there) = self.namespace(namespace) else { return Ok(()) };
        let greedy = json!({
            "nodeSelector": { "example.com/asked-by-the-preview": "yes" },
            "tolerations": [{ "operator": "Exists" }],
        });
        let mut is_spared = false;
        for spec in [json!({}), greedy] {
            let request = request(namespace, spec);
            is_spared = self.spared(&request, there).is_some();
            if !is_spared && self.has_rule_for(&request)? {
                tally.has_rule.insert(namespace.to_owned(), true);
                return Ok(());
            }
        }
        tally.has_rule.insert(namespace.to_owned(), false);
        if !is_spared && holding_entry(self.typed, namespace, there).is_none() {
            tally.without_entry.insert(namespace.to_owned(), self.labels_for_entries(there));
        }
        Ok(())
    }

    /// The labels that entries choose namespaces by, and that this one lacks.
    fn labels_for_entries(&self, namespace: &Value) -> BTreeSet<String> {
        let selectors = entries(self.typed).iter().filter_map(|entry| entry.namespace_selector.as_deref());
        let selectors = selectors.filter_map(|selector| parse_selector(selector).ok());
        let keys = selectors.flat_map(|selector| selector.requirements().to_vec());
        let keys = keys.map(|requirement| requirement.key().to_owned());
        keys.filter(|key| namespace["metadata"]["labels"].get(key).is_none()).collect()
    }

    fn has_rule_for(&self, request: &Value) -> Result<bool> {
        let evaluation = self.policy.validate(request, self.settings, self.cluster.clone())?;
        let patch = serde_json::to_value(&evaluation.patch)?;
        let mut paths = patch.as_array().into_iter().flatten().map(|change| text(&change["path"]));
        let is_placed = paths.any(|path| PLACEMENT.iter().any(|placement| path.starts_with(placement)));
        Ok(!evaluation.answer.accepted || is_placed)
    }
}

/// The request that creates a Pod of nobody's, with `spec` and a container.
pub fn request(namespace: &str, spec: Value) -> Value {
    plain_pod::creation_with(namespace, spec)
}
