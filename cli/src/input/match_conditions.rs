//! `matchConditions`: which requests an API server keeps from a policy, by expressions in CEL.

use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, bail};
use cel::{Context as Variables, Env, Program, extensions};
use serde_json::Value;

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

/// The conditions of a policy, ready to be evaluated.
#[derive(Debug, Default)]
pub struct MatchConditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    name: String,
    /// Or why it can't be read.
    program: Result<Program, String>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    Passes,
    /// By the condition of this name.
    KeptAway(String),
    /// The condition of this name can't be evaluated here, and why. Kubernetes has libraries of its own for CEL.
    Unknown(String, String),
}

impl MatchConditions {
    /// Reads `spec.matchConditions`.
    pub fn read(conditions: &Value) -> Self {
        let conditions = conditions.as_array().into_iter().flatten().map(|condition| {
            let name = condition["name"].as_str().unwrap_or_default().to_owned();
            let expression = condition["expression"].as_str().unwrap_or_default();
            let program = ENVIRONMENT.compile(expression).map_err(|error| first_line(&error.to_string()));
            Condition { name, program }
        });
        Self(conditions.collect())
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a request passes: as an API server has it, one that says no is enough, whatever becomes of the others.
    pub fn evaluate(&self, request: &Value) -> Passage {
        let mut passage = Passage::Passes;
        if self.0.is_empty() {
            return passage;
        }
        let variables = match variables(request) {
            Ok(variables) => variables,
            Err(error) => return Passage::Unknown(String::new(), first_line(&format!("{error:#}"))),
        };
        for Condition { name, program } in &self.0 {
            let value = program.as_ref().map_err(Clone::clone).and_then(|program| {
                let value = program.execute(&variables).map_err(|error| first_line(&error.to_string()))?;
                if let cel::Value::Bool(passes) = value { Ok(passes) } else { Err("not true or false".to_owned()) }
            });
            match value {
                Ok(true) => {}
                Ok(false) => return Passage::KeptAway(name.clone()),
                Err(reason) => passage = Passage::Unknown(name.clone(), reason),
            }
        }
        passage
    }
}

fn variables(request: &Value) -> Result<Variables<'static, 'static>> {
    let mut variables = Variables::with_env(ENVIRONMENT.clone());
    if !request.is_object() {
        bail!("expected a request");
    }
    for (name, value) in [("request", request), ("object", &request["object"]), ("oldObject", &request["oldObject"])] {
        let value = cel::to_value(value).ok().context("a request that CEL can't hold")?;
        variables.add_variable_from_value(name, value);
    }
    Ok(variables)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::optional_fields("object.?spec.?nodeName.orValue('') == ''", Passage::Passes)]
    #[case::an_optional_field_that_is_there("object.metadata.?name.orValue('') == 'web'", Passage::Passes)]
    #[case::strings("object.metadata.name.upperAscii() == 'WEB'", Passage::Passes)]
    #[case::matches("object.metadata.name.matches('^w.*$')", Passage::Passes)]
    #[case::lists("[1, 2, 3].slice(0, 1) == [1]", Passage::Passes)]
    #[case::no("request.operation == 'UPDATE'", Passage::KeptAway("c".to_owned()))]
    fn expressions_have_what_kubernetes_gives_them(#[case] expression: &str, #[case] expected: Passage) {
        let conditions = MatchConditions::read(&json!([{ "name": "c", "expression": expression }]));
        let request = json!({ "operation": "CREATE", "object": { "metadata": { "name": "web" } }, "oldObject": null });
        assert_eq!(conditions.evaluate(&request), expected);
    }

    #[rstest]
    #[case::of_kubernetes_alone("authorizer.group('').resource('pods').check('get').allowed()")]
    #[case::no_expression("object.")]
    #[case::no_truth("1")]
    fn what_can_t_be_evaluated_is_unknown(#[case] expression: &str) {
        let conditions = MatchConditions::read(&json!([{ "name": "c", "expression": expression }]));
        let request = json!({ "operation": "CREATE", "object": {}, "oldObject": null });
        assert!(matches!(conditions.evaluate(&request), Passage::Unknown(..)));
    }
}
