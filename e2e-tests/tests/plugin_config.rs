//! `podNodeSelectorPluginConfig` is the in-tree plugin: every recorded answer comes out of the module too.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use e2e_tests::{Evaluation, Manifests, Policy, policy_under_test};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Vector {
    id: u32,
    operation: String,
    subresource: String,
    config: Value,
    namespace: Value,
    pod: Value,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    admit: bool,
    node_selector: Option<Value>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    code: u16,
}

#[test]
fn every_recorded_answer_comes_out_of_the_module() -> Result<()> {
    let policy = policy_under_test()?;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors/podnodeselector.jsonl");
    let mut evaluated = 0;
    for line in fs::read_to_string(file)?.lines() {
        let vector: Vector = serde_json::from_str(line)?;
        vector.check(&policy).with_context(|| format!("line {}: {line}", vector.id))?;
        evaluated += 1;
    }
    ensure!(evaluated == 1497, "{evaluated} lines");
    Ok(())
}

impl Vector {
    fn check(&self, policy: &Policy) -> Result<()> {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.pod["name"]},
            "spec": {"nodeSelector": self.pod["nodeSelector"]},
        });
        let request = json!({
            "uid": "1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "subResource": self.subresource,
            "operation": self.operation,
            "namespace": self.namespace["name"],
            "userInfo": {"username": "somebody"},
            "object": object,
        });
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.namespace["name"], "annotations": self.namespace["annotations"]},
        });
        let cluster: Manifests = [namespace].into_iter().collect();
        let settings = json!({"podNodeSelectorPluginConfig": self.config});
        let Evaluation { answer, .. } = policy.validate(&request, &settings, cluster)?;
        ensure!(answer.accepted == self.expect.admit, "{answer:?}");
        match self.expect.code {
            _ if answer.accepted => {
                let object = answer.mutated_object.unwrap_or(object);
                let result = pairs(Some(&object["spec"]["nodeSelector"]));
                ensure!(result == pairs(self.expect.node_selector.as_ref()), "the nodeSelector is {result}");
            }
            403 => {
                let sentence = self.expect.error.split_once(" is forbidden: ").map(|(_, sentence)| sentence);
                ensure!(answer.code == Some(403) && answer.message.as_deref() == sentence, "{answer:?}");
            }
            // A malformed selector: of an annotation 403, of the configuration what the API server makes of it.
            _ => ensure!(matches!(answer.code, Some(403 | 500)), "{answer:?}"),
        }
        Ok(())
    }
}

/// No nodeSelector and an empty one are the same.
fn pairs(node_selector: Option<&Value>) -> Value {
    node_selector.filter(|pairs| !pairs.is_null()).cloned().unwrap_or_else(|| json!({}))
}
