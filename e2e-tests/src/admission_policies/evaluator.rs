//! What policies of both kinds have: which requests they are evaluated for, and variables.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use cel::{Context, Env, Program, Value as Cel, extensions};
use cli::cluster::selectors::selects;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;
use serde_json::{Value, json};

static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib().with_optional_support(true);
    for extension in [extensions::strings, extensions::lists] {
        environment.add_extension(extension).expect("an extension");
    }
    Arc::new(environment)
});

/// Which requests a policy is evaluated for, and its variables.
#[derive(Debug)]
pub struct Evaluator {
    namespaces: LabelSelector,
    objects: LabelSelector,
    conditions: Vec<Expression>,
    /// In the order in which they are declared: each may use those before it.
    variables: Vec<Variable>,
}

#[derive(Debug)]
struct Variable {
    name: String,
    expression: Expression,
}

/// An expression, and what it is written like.
#[derive(Debug)]
pub struct Expression {
    text: String,
    program: Program,
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// It is no text, or no expression.
    pub fn read(expression: &Value) -> Result<Self> {
        let text = expression.as_str().context("an expression")?.to_owned();
        let program = ENVIRONMENT.compile(&text).map_err(|error| anyhow!("{text}: {error}"))?;
        Ok(Self { text, program })
    }

    /// Returns its value.
    ///
    /// # Errors
    /// It can't be evaluated.
    pub fn execute(&self, context: &Context<'_, '_>) -> Result<Cel> {
        self.program.execute(context).map_err(|error| anyhow!("{error}"))
    }

    /// Returns whether a condition holds.
    ///
    /// # Errors
    /// It can't be evaluated, or is neither true nor false.
    pub fn holds(&self, context: &Context<'_, '_>) -> Result<bool> {
        match self.execute(context)? {
            Cel::Bool(holds) => Ok(holds),
            value => bail!("expected true or false; found {value:?}"),
        }
    }

    fn uses(&self, variable: &str) -> bool {
        let mut rests = self.text.split("variables.").skip(1).filter_map(|rest| rest.strip_prefix(variable));
        rests.any(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
    }
}

impl Evaluator {
    /// Reads the spec of a policy.
    ///
    /// # Errors
    /// It is about something else than Pods that are created, or an expression can't be read.
    pub fn read(spec: &Value) -> Result<Self> {
        let constraints = &spec["matchConstraints"];
        let rule =
            json!([{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"] }]);
        ensure!(constraints["resourceRules"] == rule, "expected a rule for the creation of Pods");
        ensure!(spec["failurePolicy"] == "Fail", "expected failurePolicy Fail");
        let list = |field: &'static str| spec[field].as_array().into_iter().flatten();
        let conditions = list("matchConditions").map(|condition| {
            let text = condition["expression"].as_str().unwrap_or_default();
            ensure!(!text.contains("namespaceObject"), "a condition knows no Namespace: {text}");
            Expression::read(&condition["expression"])
        });
        let variables = list("variables").map(|variable| {
            let name = variable["name"].as_str().context("a name")?.to_owned();
            Ok(Variable { name, expression: Expression::read(&variable["expression"])? })
        });
        Ok(Self {
            namespaces: LabelSelector::deserialize(&constraints["namespaceSelector"])?,
            objects: Option::deserialize(&constraints["objectSelector"])?.unwrap_or_default(),
            conditions: conditions.collect::<Result<_>>()?,
            variables: variables.collect::<Result<_>>()?,
        })
    }

    /// Returns what expressions know of a request, whose object may have been changed, with the variables that these
    /// `expressions` use; nothing, if the policy is not evaluated for it.
    ///
    /// # Errors
    /// The request can't be handed to CEL, or an expression can't be evaluated.
    pub fn context(
        &self,
        expressions: &[&Expression],
        request: &Value,
        object: &Value,
        namespace: &Value,
    ) -> Result<Option<Context<'static, 'static>>> {
        let [of_namespace, of_object] = [namespace, object].map(|of| &of["metadata"]["labels"]);
        if !selects(&self.namespaces, |key| of_namespace[key].as_str())
            || !selects(&self.objects, |key| of_object[key].as_str())
        {
            return Ok(None);
        }
        let mut context = Context::with_env(ENVIRONMENT.clone());
        let object = as_stored(object);
        for (name, value) in [("request", request), ("object", &object), ("namespaceObject", namespace)] {
            let value = cel::to_value(value).map_err(|error| anyhow!("{name}: {error}"))?;
            context.add_variable_from_value(name, value);
        }
        for condition in &self.conditions {
            if !condition.holds(&context)? {
                return Ok(None);
            }
        }
        let mut variables = HashMap::<String, Cel>::new();
        for Variable { name, expression } in self.used_by(expressions) {
            context.add_variable_from_value("variables", variables.clone());
            let value = expression.execute(&context).with_context(|| format!("variable {name}"))?;
            variables.insert(name.clone(), value);
        }
        context.add_variable_from_value("variables", variables);
        Ok(Some(context))
    }

    /// Returns the variables that expressions use, and those that these use. An API server evaluates no others.
    fn used_by<'e>(&'e self, expressions: &[&'e Expression]) -> Vec<&'e Variable> {
        let (mut users, mut used) = (expressions.to_vec(), vec![]);
        for variable in self.variables.iter().rev() {
            if users.iter().any(|user| user.uses(&variable.name)) {
                users.push(&variable.expression);
                used.push(variable);
            }
        }
        used.reverse();
        used
    }
}

/// Returns an object as an API server decodes it before it hands it on: what is null is absent, and in a list empty.
pub fn as_stored(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let present = members.iter().filter(|(_, value)| !value.is_null());
            present.map(|(key, value)| (key.clone(), as_stored(value))).collect()
        }
        Value::Array(elements) => {
            elements.iter().map(|element| if element.is_null() { json!({}) } else { as_stored(element) }).collect()
        }
        _ => value.clone(),
    }
}
