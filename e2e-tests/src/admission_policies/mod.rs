//! ValidatingAdmissionPolicies and MutatingAdmissionPolicies, evaluated as an API server evaluates them. Of CEL this knows
//! values, but neither types nor costs: a real API server checks those.
//!
//! | modules | what they know |
//! |---|---|
//! | `evaluator` | which requests a policy is evaluated for, and its variables |
//! | `mutating` | what a MutatingAdmissionPolicy makes of an object |
//! | `validating` | what a ValidatingAdmissionPolicy finds wrong with it |

mod evaluator;
mod mutating;
mod validating;

use anyhow::{Context, Result, ensure};
use cli::input::documents::yaml_documents;
use serde_json::Value;

pub use evaluator::as_stored;
use mutating::MutatingPolicy;
use validating::ValidatingPolicy;

/// Policies and their bindings.
#[derive(Debug)]
pub struct AdmissionPolicies {
    mutating: Vec<MutatingPolicy>,
    validating: Vec<ValidatingPolicy>,
}

/// What becomes of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Why it is refused, if it is.
    pub denied: Vec<String>,
    /// What it is let in with.
    pub warnings: Vec<String>,
}

impl AdmissionPolicies {
    /// Reads policies and bindings, as `kubectl apply` would.
    ///
    /// # Errors
    /// There is something else; a policy has no binding; an expression can't be read; or the API server would refuse
    /// one of them.
    pub fn read(yaml: &str) -> Result<Self> {
        let documents = yaml_documents(yaml)?;
        let (mut mutating, mut validating, mut count) = (vec![], vec![], 0);
        for document in &documents {
            let (name, spec) = (&document["metadata"]["name"], &document["spec"]);
            let kind = document["kind"].as_str().unwrap_or_default();
            ensure!(document["apiVersion"] == "admissionregistration.k8s.io/v1", "{name}: another version");
            let is_binding = |other: &&Value| {
                other["kind"].as_str() == Some(&format!("{kind}Binding")) && other["spec"]["policyName"] == *name
            };
            let binding = || documents.iter().find(is_binding).with_context(|| format!("{name} has no binding"));
            match kind {
                "MutatingAdmissionPolicy" => {
                    binding()?;
                    mutating.push(MutatingPolicy::read(spec).with_context(|| name.to_string())?);
                }
                "ValidatingAdmissionPolicy" => {
                    validating
                        .push(ValidatingPolicy::read(spec, &binding()?["spec"]).with_context(|| name.to_string())?);
                }
                _ => count += 1,
            }
        }
        ensure!(count > 0 && count * 2 == documents.len(), "expected policies, each with a binding");
        Ok(Self { mutating, validating })
    }

    /// Returns what becomes of the Pod that `request` creates in a Namespace, before any webhook.
    ///
    /// # Errors
    /// An expression can't be evaluated, or its patch can't be applied: then the API server refuses the request.
    pub fn mutate(&self, request: &Value, namespace: &Value) -> Result<Value> {
        let mut object = as_stored(&request["object"]);
        for policy in &self.mutating {
            object = policy.mutate(request, &object, namespace)?;
        }
        Ok(object)
    }

    /// Decides about the creation of a Pod by `request` in a Namespace.
    ///
    /// # Errors
    /// The request can't be handed to CEL.
    pub fn admit(&self, request: &Value, namespace: &Value) -> Result<Admission> {
        let mut admission = Admission::default();
        for policy in &self.validating {
            policy.admit(request, namespace, &mut admission)?;
        }
        Ok(admission)
    }
}
