//! ValidatingAdmissionPolicies.

use anyhow::{Result, bail, ensure};
use cel::{Context, Value as Cel};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Admission,
    evaluator::{Evaluator, Expression},
};

/// A policy with one binding.
#[derive(Debug)]
pub struct ValidatingPolicy {
    actions: Vec<String>,
    evaluator: Evaluator,
    validations: Vec<Validation>,
}

#[derive(Debug)]
struct Validation {
    is_valid: Expression,
    message: String,
    message_expression: Option<Expression>,
}

impl ValidatingPolicy {
    /// Reads the spec of a policy and of its binding.
    ///
    /// # Errors
    /// An expression can't be read, or the API server would refuse something else.
    pub fn read(spec: &Value, binding: &Value) -> Result<Self> {
        let validations = spec["validations"].as_array().into_iter().flatten().map(|validation| {
            let message = validation["message"].as_str().unwrap_or_default();
            // What an API server demands of a message.
            ensure!(!message.trim().is_empty() && !message.contains('\n'), "a message: {message:?}");
            let message_expression = Some(&validation["messageExpression"]).filter(|text| !text.is_null());
            Ok(Validation {
                is_valid: Expression::read(&validation["expression"])?,
                message: message.to_owned(),
                message_expression: message_expression.map(Expression::read).transpose()?,
            })
        });
        Ok(Self {
            actions: Vec::deserialize(&binding["validationActions"])?,
            evaluator: Evaluator::read(spec)?,
            validations: validations.collect::<Result<_>>()?,
        })
    }

    /// Adds to `admission` what this finds.
    ///
    /// # Errors
    /// The request can't be handed to CEL.
    pub fn admit(&self, request: &Value, namespace: &Value, admission: &mut Admission) -> Result<()> {
        let conditions = self.validations.iter().map(|validation| &validation.is_valid);
        let messages = self.validations.iter().filter_map(|validation| validation.message_expression.as_ref());
        let expressions: Vec<_> = conditions.chain(messages).collect();
        let context = self.evaluator.context(&expressions, request, &request["object"], namespace)?;
        let Some(context) = context else { return Ok(()) };
        let failures = self.validations.iter().filter_map(|validation| match validation.is_valid.holds(&context) {
            Ok(true) => None,
            Ok(false) => Some(validation.message(&context)),
            Err(error) => Some(format!("failed to evaluate: {error}")),
        });
        let failures: Vec<String> = failures.collect();
        for action in &self.actions {
            match action.as_str() {
                "Deny" => admission.denied.extend(failures.clone()),
                "Warn" => admission.warnings.extend(failures.clone()),
                _ => bail!("action {action}"),
            }
        }
        Ok(())
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
