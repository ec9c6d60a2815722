//! `matchConditions`: which requests an API server keeps from a policy, by expressions in CEL.

use std::sync::{Arc, LazyLock};

use anyhow::{Result, anyhow};
use cel::{Context as Variables, Env, ExecutionError, Program, extensions};
use k8s_openapi::api::admissionregistration::v1::MatchCondition;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What expressions may use: the standard library, and of Kubernetes' extensions optionals, `strings`, and `lists`. Its
/// others (`url`, `quantity`, `authorizer`, …) are not there, and what uses them can't be evaluated here.
static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib().with_optional_support(true);
    // They fail only where a function of the same name is there.
    for extension in [extensions::strings, extensions::lists] {
        let _ = environment.add_extension(extension);
    }
    Arc::new(environment)
});

/// A condition of a policy, ready to be evaluated.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "MatchCondition")]
pub struct Condition {
    /// Its name, which no other condition of the policy has.
    pub name: String,
    /// In CEL.
    pub expression: String,
    /// Or why it can't be read.
    #[serde(skip)]
    program: Result<Arc<Program>, String>,
}

/// What becomes of a request; what lets most through comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Passage {
    Passes,
    /// The condition of this name raises an error, and which: so it does in an API server, which then does what
    /// `failurePolicy` says.
    Fails(String, String),
    /// The condition of this name can't be evaluated here, and why. Kubernetes has libraries of its own for CEL.
    Unknown(String, String),
    /// By the condition of this name.
    KeptAway(String),
}

/// What conditions of a `ValidatingAdmissionPolicy` know, and those of a webhook do not.
const FOREIGN_VARIABLES: [&str; 3] = ["namespaceObject", "params", "variables"];

impl From<MatchCondition> for Condition {
    fn from(MatchCondition { name, expression }: MatchCondition) -> Self {
        let program = ENVIRONMENT.compile(&expression).map(Arc::new).map_err(first_line);
        Self { name, expression, program }
    }
}

/// Whether a request passes all conditions: as an API server has it, one that says no is enough, whatever becomes of the
/// others.
pub fn evaluate(conditions: &[Condition], request: &Value) -> Passage {
    let mut passage = Passage::Passes;
    if conditions.is_empty() {
        return passage;
    }
    let variables = match variables(request) {
        Ok(variables) => variables,
        Err(error) => return Passage::Unknown(String::new(), first_line(error)),
    };
    for condition in conditions {
        passage = passage.max(condition.evaluate(&variables));
        if matches!(passage, Passage::KeptAway(_)) {
            break;
        }
    }
    passage
}

impl Condition {
    /// Whether it looks at the node of a Binding: at its name, or at the labels that the API server copies from it.
    pub fn is_about_targets(&self) -> bool {
        ["target", "topology.kubernetes.io/"].iter().any(|part| self.expression.contains(part))
    }

    fn evaluate(&self, variables: &Variables<'_, '_>) -> Passage {
        let name = self.name.clone();
        let program = match &self.program {
            Ok(program) => program,
            Err(reason) => return Passage::Unknown(name, reason.clone()),
        };
        match program.execute(variables) {
            Ok(cel::Value::Bool(true)) => Passage::Passes,
            Ok(cel::Value::Bool(false)) => Passage::KeptAway(name),
            Ok(_) => Passage::Unknown(name, "not true or false".to_owned()),
            Err(error) if is_of_an_api_server(&error) => Passage::Fails(name, first_line(error)),
            Err(error) => Passage::Unknown(name, first_line(error)),
        }
    }

    /// Why no API server takes it, or why it keeps every request away: a syntax error, a variable that webhooks lack, or a
    /// value that is neither true nor false. What needs a library that is not here may be right.
    pub fn mistake(&self) -> Option<String> {
        let program = match &self.program {
            _ if self.expression.trim().is_empty() => {
                return Some(format!("expected an expression; found {:?}", self.expression));
            }
            Ok(program) => program,
            // Names between backquotes are newer than the crate.
            Err(problem) if problem.contains("unsupported syntax") => return None,
            Err(problem) => return Some(format!("expected an expression in CEL: {problem}")),
        };
        if let Some(foreign) = FOREIGN_VARIABLES.iter().find(|name| program.references().has_variable(name)) {
            return Some(format!(
                "the conditions of a webhook have no {foreign}, so no request can be let through; expected object, oldObject, \
                 request or authorizer; select namespaces with namespaceSelector"
            ));
        }
        let request = json!({ "operation": "CREATE", "name": "a", "namespace": "a", "object": {}, "oldObject": null });
        match program.execute(&variables(&request).ok()?) {
            Ok(cel::Value::Bool(_)) | Err(_) => None,
            Ok(value) => Some(format!("expected an expression that is true or false; found a {}", value.type_of())),
        }
    }
}

/// Whether an API server raises the same error: something is missing. What is not declared may be in a library of its own.
fn is_of_an_api_server(error: &ExecutionError) -> bool {
    match error {
        ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_) => true,
        // A field of null, such as oldObject of a creation.
        ExecutionError::NoSuchOverload(overload) => overload.function().starts_with('_'),
        _ => false,
    }
}

fn variables(request: &Value) -> Result<Variables<'static, 'static>> {
    let mut variables = Variables::with_env(ENVIRONMENT.clone());
    for (name, value) in [("request", request), ("object", &request["object"]), ("oldObject", &request["oldObject"])] {
        let value = cel::to_value(value).map_err(|error| anyhow!("{error}"))?;
        variables.add_variable_from_value(name, value);
    }
    Ok(variables)
}

fn first_line(problem: impl ToString) -> String {
    problem.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn condition(expression: &str) -> Condition {
        MatchCondition { name: "c".to_owned(), expression: expression.to_owned() }.into()
    }

    #[rstest]
    #[case::optional_fields("object.?spec.?nodeName.orValue('') == ''", Passage::Passes)]
    #[case::an_optional_field_that_is_there("object.metadata.?name.orValue('') == 'web'", Passage::Passes)]
    #[case::strings("object.metadata.name.upperAscii() == 'WEB'", Passage::Passes)]
    #[case::matches("object.metadata.name.matches('^w.*$')", Passage::Passes)]
    #[case::lists("[1, 2, 3].slice(0, 1) == [1]", Passage::Passes)]
    #[case::no("request.operation == 'UPDATE'", Passage::KeptAway("c".to_owned()))]
    fn expressions_have_what_kubernetes_gives_them(#[case] expression: &str, #[case] expected: Passage) {
        let conditions = [condition(expression)];
        let request = json!({ "operation": "CREATE", "object": { "metadata": { "name": "web" } }, "oldObject": null });
        assert_eq!(evaluate(&conditions, &request), expected);
    }

    #[rstest]
    #[case::a_function_of_kubernetes_alone("quantity('1Gi').isGreaterThan(quantity('1'))", false)]
    #[case::newer_syntax("object.metadata.`a-b` == 'x'", false)]
    #[case::a_field_that_may_be_missing("object.spec.nodeName == ''", false)]
    #[case::no_expression("object.", true)]
    #[case::no_truth("1", true)]
    #[case::a_variable_of_other_policies("namespaceObject.metadata.name == 'a'", true)]
    fn what_no_api_server_takes_is_a_mistake(#[case] expression: &str, #[case] is_mistake: bool) {
        assert_eq!(condition(expression).mistake().is_some(), is_mistake);
    }

    #[rstest]
    #[case::a_missing_field("object.spec.priorityClassName != 'a'")]
    #[case::a_field_of_nothing("oldObject.metadata.name == 'a'")]
    fn what_an_api_server_can_t_evaluate_either_fails(#[case] expression: &str) {
        let request = json!({ "operation": "CREATE", "object": { "spec": {} }, "oldObject": null });
        assert!(matches!(evaluate(&[condition(expression)], &request), Passage::Fails(..)));
    }

    #[rstest]
    #[case::of_kubernetes_alone("authorizer.group('').resource('pods').check('get').allowed()")]
    #[case::no_expression("object.")]
    #[case::no_truth("1")]
    fn what_can_t_be_evaluated_is_unknown(#[case] expression: &str) {
        let conditions = [condition(expression)];
        let request = json!({ "operation": "CREATE", "object": {}, "oldObject": null });
        assert!(matches!(evaluate(&conditions, &request), Passage::Unknown(..)));
    }
}
