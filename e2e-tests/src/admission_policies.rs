//! ValidatingAdmissionPolicies, evaluated as an API server evaluates them. Of CEL it knows values, but neither types nor
//! costs: a real API server checks those.

use std::{collections::HashMap, sync::Arc};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use cel::{Context, Env, Program, Value as Cel};
use cli::{input::documents::yaml_documents, webhook::delivery};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;
use serde_json::{Value, json};

/// Policies and their bindings.
#[derive(Debug)]
pub struct AdmissionPolicies(Vec<AdmissionPolicy>);

/// A policy with one binding.
#[derive(Debug)]
struct AdmissionPolicy {
    actions: Vec<String>,
    namespaces: LabelSelector,
    conditions: Vec<Program>,
    /// In the order in which they are declared: each may use those before it.
    variables: Vec<(String, Program)>,
    validations: Vec<Validation>,
}

#[derive(Debug)]
struct Validation {
    is_valid: Program,
    message: String,
    message_expression: Option<Program>,
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
        let of_kind = |kind: &'static str| documents.iter().filter(move |document| document["kind"] == kind);
        let (policies, bindings) = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding");
        let count = of_kind(policies).count();
        ensure!(count > 0 && count + of_kind(bindings).count() == documents.len(), "expected policies and bindings");
        let read = of_kind(policies).map(|policy| {
            let name = &policy["metadata"]["name"];
            let binding = of_kind(bindings).find(|binding| binding["spec"]["policyName"] == *name);
            AdmissionPolicy::read(&policy["spec"], &binding.with_context(|| format!("{name} has no binding"))?["spec"])
                .with_context(|| name.to_string())
        });
        Ok(Self(read.collect::<Result<_>>()?))
    }

    /// Decides about the creation of a Pod by `request` in a Namespace.
    ///
    /// # Errors
    /// The request can't be handed to CEL.
    pub fn admit(&self, request: &Value, namespace: &Value) -> Result<Admission> {
        let mut admission = Admission::default();
        for policy in &self.0 {
            let failures = policy.failures(request, namespace)?;
            for action in &policy.actions {
                match action.as_str() {
                    "Deny" => admission.denied.extend(failures.clone()),
                    "Warn" => admission.warnings.extend(failures.clone()),
                    _ => bail!("action {action}"),
                }
            }
        }
        Ok(admission)
    }
}

impl AdmissionPolicy {
    fn read(spec: &Value, binding: &Value) -> Result<Self> {
        let rule =
            json!([{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"] }]);
        ensure!(spec["matchConstraints"]["resourceRules"] == rule, "expected a rule for the creation of Pods");
        ensure!(spec["failurePolicy"] == "Fail", "expected failurePolicy Fail");
        let compile = |expression: &Value| {
            let text = expression.as_str().context("an expression")?;
            Env::stdlib().compile(text).map_err(|error| anyhow!("{text}: {error}"))
        };
        let list = |field: &'static str| spec[field].as_array().into_iter().flatten();
        let conditions = list("matchConditions").map(|condition| compile(&condition["expression"]));
        let variables = list("variables").map(|variable| {
            Ok((variable["name"].as_str().context("a name")?.to_owned(), compile(&variable["expression"])?))
        });
        let validations = list("validations").map(|validation| {
            let message = validation["message"].as_str().unwrap_or_default();
            // What an API server demands of a message.
            ensure!(!message.trim().is_empty() && !message.contains('\n'), "a message: {message:?}");
            let message_expression = Some(&validation["messageExpression"]).filter(|text| !text.is_null());
            Ok(Validation {
                is_valid: compile(&validation["expression"])?,
                message: message.to_owned(),
                message_expression: message_expression.map(compile).transpose()?,
            })
        });
        Ok(Self {
            actions: Vec::deserialize(&binding["validationActions"])?,
            namespaces: LabelSelector::deserialize(&spec["matchConstraints"]["namespaceSelector"])?,
            conditions: conditions.collect::<Result<_>>()?,
            variables: variables.collect::<Result<_>>()?,
            validations: validations.collect::<Result<_>>()?,
        })
    }

    /// The messages of what does not hold.
    fn failures(&self, request: &Value, namespace: &Value) -> Result<Vec<String>> {
        if !delivery::selects(&self.namespaces, &namespace["metadata"]["labels"]) {
            return Ok(vec![]);
        }
        let mut context = Context::with_env(Arc::new(Env::stdlib()));
        let object = as_stored(&request["object"]);
        for (name, value) in [("request", request), ("object", &object), ("namespaceObject", namespace)] {
            let value = cel::to_value(value).map_err(|error| anyhow!("{name}: {error}"))?;
            context.add_variable_from_value(name, value);
        }
        for condition in &self.conditions {
            if !holds(condition, &context)? {
                return Ok(vec![]);
            }
        }
        let mut variables = HashMap::<String, Cel>::new();
        for (name, expression) in &self.variables {
            context.add_variable_from_value("variables", variables.clone());
            let value = expression.execute(&context).map_err(|error| anyhow!("variable {name}: {error}"))?;
            variables.insert(name.clone(), value);
        }
        context.add_variable_from_value("variables", variables);
        let failures = self.validations.iter().filter_map(|validation| match holds(&validation.is_valid, &context) {
            Ok(true) => None,
            Ok(false) => Some(validation.message(&context)),
            Err(error) => Some(format!("failed to evaluate: {error}")),
        });
        Ok(failures.collect())
    }
}

impl Validation {
    fn message(&self, context: &Context<'_, '_>) -> String {
        let evaluated = self.message_expression.as_ref().map(|expression| expression.execute(context));
        match evaluated {
            Some(Ok(Cel::String(message))) => message.to_string(),
            _ => self.message.clone(),
        }
    }
}

fn holds(expression: &Program, context: &Context<'_, '_>) -> Result<bool> {
    match expression.execute(context) {
        Ok(Cel::Bool(holds)) => Ok(holds),
        Ok(value) => bail!("expected true or false; found {value:?}"),
        Err(error) => bail!("{error}"),
    }
}

/// An API server decodes an object before it hands it on: what is null is absent then.
fn as_stored(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let present = members.iter().filter(|(_, value)| !value.is_null());
            present.map(|(key, value)| (key.clone(), as_stored(value))).collect()
        }
        Value::Array(elements) => elements.iter().map(as_stored).collect(),
        _ => value.clone(),
    }
}
