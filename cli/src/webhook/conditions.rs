//! `matchConditions`: which requests an API server keeps from a policy, by expressions in CEL.
//!
//! A request is evaluated as far as it is known. An expression that selects a field which is not known could not be
//! evaluated, unless the rest of the condition decides: `false && …` is false, whatever the other side is.

use std::sync::{Arc, LazyLock};

use anyhow::{Result, anyhow};
use cel::{Context as Variables, Env, ExecutionError, IdedExpr as Expression, extensions};
use k8s_openapi::api::admissionregistration::v1::MatchCondition;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    fields::{Read, reads},
    request::Request,
};
use crate::lists::distinct;

/// The functions of expressions: the standard library, and of Kubernetes' extensions optionals, `strings`, and `lists`.
/// An expression that uses others (`url`, `quantity`, `authorizer`, …) can't be evaluated here.
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
    /// The parsed expression, or why it can't be read.
    #[serde(skip)]
    formula: Result<Arc<Formula>, String>,
}

/// What conditions do with a request, in the order in which they let most through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Passage {
    Passes,
    /// The condition of this name raises an error, and which: so it does in an API server, which then does what
    /// `failurePolicy` says.
    Fails(String, String),
    /// The condition of this name can't be evaluated here, and why.
    Unknown(String, String),
    /// The condition of this name is false.
    KeptAway(String),
}

/// An expression, divided at its logical operators.
#[derive(Debug)]
enum Formula {
    And(Box<[Self; 2]>),
    Or(Box<[Self; 2]>),
    Not(Box<Self>),
    /// A condition, and the formulas for true and false.
    If(Box<[Self; 3]>),
    /// Any other expression, and what it reads of the request.
    Leaf(Expression, Vec<Read>),
}

/// The value of a formula.
#[derive(Clone, Debug, PartialEq)]
enum Truth {
    True,
    False,
    /// An API server raises the same error.
    Fails(String),
    Unknown(String),
}

/// The variables that a `ValidatingAdmissionPolicy` has, and a webhook does not.
const FOREIGN_VARIABLES: [&str; 3] = ["namespaceObject", "params", "variables"];

impl From<MatchCondition> for Condition {
    fn from(MatchCondition { name, expression }: MatchCondition) -> Self {
        let program = ENVIRONMENT.compile(&expression).map_err(first_line);
        let formula = program.map(|program| Arc::new(Formula::new(program.expression())));
        Self { name, expression, formula }
    }
}

/// Returns whether a request passes all conditions. As in an API server, one that is false is enough, whatever the others
/// are.
pub fn evaluate(conditions: &[Condition], request: &Request) -> Passage {
    let mut passage = Passage::Passes;
    if conditions.is_empty() {
        return passage;
    }
    let variables = match variables(&request.json) {
        Ok(variables) => variables,
        Err(error) => return Passage::Unknown(String::new(), first_line(error)),
    };
    for condition in conditions {
        passage = passage.max(condition.evaluate(request, &variables));
        if matches!(passage, Passage::KeptAway(_)) {
            break;
        }
    }
    passage
}

impl Condition {
    /// Returns whether it reads the node of a Binding: its name, or the labels that the API server copies from it.
    pub fn reads_target(&self) -> bool {
        self.reads().any(|read| ["object.target", "object.metadata.labels"].iter().any(|path| read.overlaps(path)))
    }

    /// Returns what it depends on that users choose: fields of an object that are not compared with those of the old one,
    /// and of the request its name and options.
    pub fn choices_of_users(&self) -> Vec<String> {
        let mut choices = vec![];
        for reads in self.formula.iter().flat_map(|formula| formula.leaves()) {
            let is_compared = |read: &Read| reads.iter().any(|other| read.is_counterpart_of(other));
            let chosen = reads.iter().filter(|read| read.is_chosen_by_users() && !is_compared(read));
            choices.extend(chosen.map(|read| read.first_steps(3)));
        }
        distinct(choices)
    }

    fn reads(&self) -> impl Iterator<Item = &Read> {
        self.formula.iter().flat_map(|formula| formula.leaves()).flatten()
    }

    fn evaluate(&self, request: &Request, variables: &Variables<'_, '_>) -> Passage {
        let name = self.name.clone();
        let formula = match &self.formula {
            Ok(formula) => formula,
            Err(reason) => return Passage::Unknown(name, reason.clone()),
        };
        // What is assumed keeps no request away.
        let value = match formula.value(request, variables, false) {
            Truth::False => formula.value(request, variables, true),
            value => value,
        };
        match value {
            Truth::True => Passage::Passes,
            Truth::False => Passage::KeptAway(name),
            Truth::Fails(reason) => Passage::Fails(name, reason),
            Truth::Unknown(reason) => Passage::Unknown(name, reason),
        }
    }

    /// Returns why no API server takes it, or why it keeps every request away: a syntax error, a variable that webhooks
    /// lack, or a value that is neither true nor false. What needs a library that is not here may be right.
    pub fn mistake(&self) -> Option<String> {
        if self.expression.trim().is_empty() {
            return Some(format!("expected an expression; found {:?}", self.expression));
        }
        let formula = match &self.formula {
            Ok(formula) => formula,
            // Names between backquotes are newer than the crate.
            Err(problem) if problem.contains("unsupported syntax") => return None,
            Err(problem) => return Some(format!("expected an expression in CEL: {problem}")),
        };
        let is_foreign =
            |name: &&&str| formula.leaves().iter().flat_map(|reads| reads.iter()).any(|read| read.is_of(name));
        if let Some(foreign) = FOREIGN_VARIABLES.iter().find(is_foreign) {
            return Some(format!(
                "the conditions of a webhook have no {foreign}, so no request can be let through; expected object, oldObject, \
                 request or authorizer; select namespaces with namespaceSelector"
            ));
        }
        let Formula::Leaf(expression, _) = &**formula else { return None };
        let request = json!({ "operation": "CREATE", "name": "a", "namespace": "a", "object": {}, "oldObject": null });
        match cel::Value::resolve(expression, &variables(&request).ok()?) {
            Ok(cel::Value::Bool(_)) | Err(_) => None,
            Ok(value) => Some(format!("expected an expression that is true or false; found a {}", value.type_of())),
        }
    }
}

impl Formula {
    fn new(expression: &Expression) -> Self {
        use cel::common::ast::{Expr, operators};
        let leaf = || Self::Leaf(expression.clone(), reads(expression));
        let Expr::Call(call) = &expression.expr else { return leaf() };
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND, [one, other]) => Self::And(Box::new([Self::new(one), Self::new(other)])),
            (operators::LOGICAL_OR, [one, other]) => Self::Or(Box::new([Self::new(one), Self::new(other)])),
            (operators::LOGICAL_NOT, [one]) => Self::Not(Box::new(Self::new(one))),
            (operators::CONDITIONAL, [test, yes, no]) => {
                Self::If(Box::new([Self::new(test), Self::new(yes), Self::new(no)]))
            }
            _ => leaf(),
        }
    }

    /// Returns what each of its leaves reads.
    fn leaves(&self) -> Vec<&Vec<Read>> {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().flat_map(Self::leaves).collect(),
            Self::Not(part) => part.leaves(),
            Self::If(parts) => parts.iter().flat_map(Self::leaves).collect(),
            Self::Leaf(_, reads) => vec![reads],
        }
    }

    /// Returns its value; with `assumed`, what is assumed of the request is not known.
    fn value(&self, request: &Request, variables: &Variables<'_, '_>, assumed: bool) -> Truth {
        let value = |part: &Self| part.value(request, variables, assumed);
        match self {
            Self::And(parts) => both(value(&parts[0]), || value(&parts[1]), &Truth::False),
            Self::Or(parts) => both(value(&parts[0]), || value(&parts[1]), &Truth::True),
            Self::Not(part) => match value(part) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                other => other,
            },
            Self::If(parts) => match value(&parts[0]) {
                Truth::True => value(&parts[1]),
                Truth::False => value(&parts[2]),
                other => other,
            },
            Self::Leaf(expression, reads) => {
                if let Some(unknown) = reads.iter().find_map(|read| request.unknown_in(read, assumed)) {
                    return Truth::Unknown(unknown);
                }
                match cel::Value::resolve(expression, variables) {
                    Ok(cel::Value::Bool(true)) => Truth::True,
                    Ok(cel::Value::Bool(false)) => Truth::False,
                    Ok(_) => Truth::Unknown("not true or false".to_owned()),
                    Err(error) if is_of_an_api_server(&error) => Truth::Fails(first_line(error)),
                    Err(error) => Truth::Unknown(first_line(error)),
                }
            }
        }
    }
}

/// Returns the value of two formulas together: one that is `decisive` is enough.
fn both(one: Truth, other: impl FnOnce() -> Truth, decisive: &Truth) -> Truth {
    if one == *decisive {
        return one;
    }
    match (one, other()) {
        (_, other) if other == *decisive => other,
        (Truth::Unknown(reason), _) | (_, Truth::Unknown(reason)) => Truth::Unknown(reason),
        (Truth::Fails(reason), _) => Truth::Fails(reason),
        (_, other) => other,
    }
}

/// Returns whether an API server raises the same error: something is missing. What is not declared may be in a library of
/// its own.
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
    use node_placement_policy::resource::Resource;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::webhook::request::Requester;

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
        assert_eq!(evaluate(&conditions, &Request::recorded(request)), expected);
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
        let request = Request::recorded(request);
        assert!(matches!(evaluate(&[condition(expression)], &request), Passage::Fails(..)));
    }

    #[rstest]
    #[case::of_kubernetes_alone("authorizer.group('').resource('pods').check('get').allowed()")]
    #[case::no_expression("object.")]
    #[case::no_truth("1")]
    fn what_can_t_be_evaluated_is_unknown(#[case] expression: &str) {
        let conditions = [condition(expression)];
        let request = json!({ "operation": "CREATE", "object": {}, "oldObject": null });
        assert!(matches!(evaluate(&conditions, &Request::recorded(request)), Passage::Unknown(..)));
    }

    /// Returns a Pod that an ordinary user creates, with one container and a toleration.
    fn pod() -> Request {
        let spec = json!({
            "containers": [{ "name": "c", "image": "registry.example.com/i" }],
            "tolerations": [{ "operator": "Exists" }],
            "schedulerName": "default-scheduler",
            "serviceAccountName": "builder",
        });
        let metadata = json!({ "name": "web", "namespace": "a", "labels": { "app": "web" } });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
        Request::creation(Resource::Pod, pod, Requester::Somebody)
    }

    #[rstest]
    #[case::a_field_that_a_plugin_fills_in("!has(object.spec.volumes)")]
    #[case::one_that_is_absent("object.spec.?priorityClassName.orValue('') == ''")]
    #[case::a_list_that_a_plugin_adds_to("object.spec.tolerations.exists(t, t.operator == 'Exists')")]
    #[case::of_the_request("has(request.object.spec.priority)")]
    #[case::between_brackets("object['spec']['preemptionPolicy'] == 'Never'")]
    #[case::of_each_container("object.spec.containers.all(c, has(c.resources))")]
    #[case::of_one_container("has(object.spec.containers[0].volumeMounts)")]
    #[case::within_a_map("{'a': object.spec.imagePullSecrets}.a == []")]
    #[case::all_of_the_object("object == oldObject")]
    #[case::all_of_the_spec("object.spec != {}")]
    #[case::a_computed_index("object.spec['volu' + 'mes'] == []")]
    #[case::every_key_of_the_object("object.exists(key, key == 'status')")]
    #[case::who_creates_it("'system:masters' in request.userInfo.groups")]
    #[case::with_which_options("request.options.?fieldManager.orValue('') == 'kubectl'")]
    #[case::in_one_of_two_cases("request.operation == 'CREATE' ? has(object.spec.volumes) : true")]
    fn what_is_not_known_could_not_be_evaluated(#[case] expression: &str) {
        assert!(matches!(evaluate(&[condition(expression)], &pod()), Passage::Unknown(..)));
    }

    #[rstest]
    #[case::a_side_that_decides("request.operation != 'UPDATE' || has(object.spec.volumes)", true)]
    #[case::the_other_side("has(object.spec.volumes) || request.operation != 'UPDATE'", true)]
    #[case::both_sides("has(object.spec.volumes) && request.operation == 'UPDATE'", false)]
    #[case::a_case_that_does_not_hold("request.operation == 'UPDATE' ? has(object.spec.volumes) : true", true)]
    #[case::a_field_that_the_pod_has("object.spec.serviceAccountName == 'builder'", true)]
    #[case::images("object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))", true)]
    #[case::whether_there_is_a_spec("has(object.spec)", true)]
    #[case::labels("'app' in object.metadata.labels && object.metadata.labels['app'] == 'web'", true)]
    #[case::a_word_in_a_text("object.metadata.name != 'volumes'", true)]
    #[case::somebody_ordinary("!('system:masters' in request.userInfo.groups)", true)]
    #[case::a_default_of_every_pod("object.spec.schedulerName == 'default-scheduler'", true)]
    fn what_is_known_decides(#[case] expression: &str, #[case] passes: bool) {
        let expected = if passes { Passage::Passes } else { Passage::KeptAway("c".to_owned()) };
        assert_eq!(evaluate(&[condition(expression)], &pod()), expected);
    }
}
