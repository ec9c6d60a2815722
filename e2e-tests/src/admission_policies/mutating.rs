//! MutatingAdmissionPolicies with JSON patches.

use anyhow::{Context, Result, bail, ensure};
use cel::{Value as Cel, objects::Key};
use json_patch::Patch;
use serde::Deserialize;
use serde_json::{Value, json};

use super::evaluator::{Evaluator, Expression};

/// A policy with one binding.
#[derive(Debug)]
pub struct MutatingPolicy {
    evaluator: Evaluator,
    patches: Vec<Expression>,
}

impl MutatingPolicy {
    /// Reads the spec of a policy.
    ///
    /// # Errors
    /// An expression can't be read, or the API server would refuse something else.
    pub fn read(spec: &Value) -> Result<Self> {
        ensure!(spec["reinvocationPolicy"] == "IfNeeded", "expected reinvocationPolicy IfNeeded");
        let mutations = spec["mutations"].as_array().context("mutations")?.iter();
        let patches = mutations.map(|mutation| {
            ensure!(mutation["patchType"] == "JSONPatch", "expected a JSON patch");
            let expression = mutation["jsonPatch"]["expression"].as_str().context("an expression")?;
            Expression::read(&without_types(expression).into())
        });
        Ok(Self { evaluator: Evaluator::read(spec)?, patches: patches.collect::<Result<_>>()? })
    }

    /// Returns what becomes of the object. Each patch is made for what the one before it has left.
    ///
    /// # Errors
    /// An expression can't be evaluated, or its patch can't be applied.
    pub fn mutate(&self, request: &Value, object: &Value, namespace: &Value) -> Result<Value> {
        let mut object = object.clone();
        for patch in &self.patches {
            let context = self.evaluator.context(&[patch], request, &object, namespace)?;
            let Some(context) = context else { return Ok(object) };
            let patch = Patch::deserialize(json(&patch.execute(&context)?)?)?;
            json_patch::patch(&mut object, &patch)?;
        }
        Ok(object)
    }
}

/// Returns an expression with maps in place of values of the type `JSONPatch`, which Kubernetes alone has.
fn without_types(expression: &str) -> String {
    expression
        .replace("JSONPatch{op: ", "{'op': ")
        .replace("'add', path: ", "'add', 'path': ")
        .replace(", value: ", ", 'value': ")
}

fn json(value: &Cel) -> Result<Value> {
    Ok(match value {
        Cel::List(elements) => elements.iter().map(json).collect::<Result<_>>()?,
        Cel::Map(map) => {
            let members = map.map.iter().map(|(key, value)| match key {
                Key::String(key) => Ok((key.to_string(), json(value)?)),
                key => bail!("expected a text as key; found {key:?}"),
            });
            Value::Object(members.collect::<Result<_>>()?)
        }
        Cel::String(text) => json!(text.as_str()),
        Cel::Int(number) => json!(number),
        Cel::UInt(number) => json!(number),
        Cel::Bool(value) => json!(value),
        other => bail!("expected JSON; found {other:?}"),
    })
}
