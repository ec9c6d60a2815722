//! `podNodeSelectorPluginConfig` is the in-tree plugin: every recorded answer comes out of the module too.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use e2e_tests::{Answer, Evaluation, Manifests, Policy, policy_under_test};
use serde::Deserialize;
use serde_json::{Value, json};

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

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
            _ => return self.check_malformed(&answer),
        }
        Ok(())
    }

    /// Of a malformed selector the API server makes 500. So does the policy where it stands in the configuration; an
    /// annotation is its author's mistake.
    fn check_malformed(&self, answer: &Answer) -> Result<()> {
        let name = self.namespace["name"].as_str().unwrap_or_default();
        let is_annotated = self.namespace["annotations"][ANNOTATION].is_string();
        let fault = match answer.code {
            Some(403) if is_annotated => {
                format!("annotation {ANNOTATION} of namespace \"{name}\" is not a node selector: ")
            }
            Some(500) => "the policy's settings have a mistake: podNodeSelectorPluginConfig.".to_owned(),
            _ => bail!("{answer:?}"),
        };
        ensure!(answer.message.as_ref().is_some_and(|message| message.starts_with(&fault)), "{answer:?}");
        Ok(())
    }
}

/// No nodeSelector and an empty one are the same.
fn pairs(node_selector: Option<&Value>) -> Value {
    node_selector.filter(|pairs| !pairs.is_null()).cloned().unwrap_or_else(|| json!({}))
}
