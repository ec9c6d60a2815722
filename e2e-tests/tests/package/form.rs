//! The form that Rancher shows asks for every setting, and offers what the policy takes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use e2e_tests::read_document;
use serde_json::{Value, json};

use crate::{file, policy, rules::strings};

/// A question of Rancher's form.
struct Question {
    variable: String,
    question: Value,
}

/// All questions, with their variables as paths; those about an entry of a list have `[]` in theirs.
fn questions() -> Result<Vec<Question>> {
    fn collect(list: &Value, prefix: &str, found: &mut Vec<Question>) {
        for question in list.as_array().into_iter().flatten() {
            let variable = format!("{prefix}{}", question["variable"].as_str().unwrap_or_default());
            collect(&question["subquestions"], prefix, found);
            collect(&question["sequence_questions"], &format!("{variable}[]."), found);
            found.push(Question { variable, question: question.clone() });
        }
    }
    let mut found = vec![];
    collect(&read_document(&file("questions-ui.yml"))?["questions"], "", &mut found);
    Ok(found)
}

/// Every setting that fits a form, a value that is valid for it, and what the form fills in; null where that is nothing.
pub fn settings() -> BTreeMap<&'static str, (Value, Value)> {
    let selector = || (json!("a=b"), Value::Null);
    BTreeMap::from([
        ("placement", (json!({}), json!({}))),
        ("placement.clusterDefaultNodeSelector", (json!("a=b"), json!(""))),
        ("placement.clusterDefaultTolerations", (json!([{ "operator": "Exists" }]), json!([]))),
        ("placement.clusterDefaultTolerations[].key", (json!("a"), Value::Null)),
        ("placement.clusterDefaultTolerations[].operator", (json!("Exists"), Value::Null)),
        ("placement.clusterDefaultTolerations[].value", (json!("a"), Value::Null)),
        ("placement.clusterDefaultTolerations[].effect", (json!("NoSchedule"), Value::Null)),
        ("placement.clusterDefaultTolerations[].tolerationSeconds", (json!(1), Value::Null)),
        ("placement.namespaceAnnotations", (json!(["a"]), json!([]))),
        ("placement.namespaces", (json!([{ "name": "a" }]), json!([]))),
        ("placement.namespaces[].name", (json!("a"), Value::Null)),
        ("placement.namespaces[].namespaceSelector", selector()),
        ("placement.namespaces[].requiredNodeSelector", selector()),
        ("placement.namespaces[].defaultNodeSelector", selector()),
        ("placement.namespaces[].allowedNodeSelector", selector()),
        ("placement.namespaces[].enforcement", (json!("Warn"), Value::Null)),
        ("placement.guardedNodeLabels", (json!(["a"]), json!([]))),
        ("placement.exemptUsernames", (json!(["a"]), json!([]))),
        ("placement.onDefaultConflict", (json!("Yield"), Value::Null)),
        ("placement.onRuntimeClasses", (json!("Resolve"), Value::Null)),
        ("placement.onNodeAffinity", (json!("Ignore"), Value::Null)),
        ("placement.onNodeName", (json!("Reject"), Value::Null)),
        ("placement.onTolerationAnnotations", (json!("Honor"), Value::Null)),
        ("placement.onExtendedResources", (json!("Tolerate"), Value::Null)),
        ("placement.onWorkloads", (json!("Warn"), Value::Null)),
        ("placement.onDaemonSets", (json!("Warn"), Value::Null)),
        ("placement.onNamespaces", (json!("Warn"), Value::Null)),
        ("placement.onBindings", (json!("Verify"), Value::Null)),
        ("placement.onNodes", (json!("Reject"), Value::Null)),
        ("nodeMetadata", (json!({ "propagate": [{ "nodeLabel": "a" }] }), json!({}))),
        ("nodeMetadata.propagate", (json!([{ "nodeLabel": "a" }]), json!([]))),
        ("nodeMetadata.propagate[].nodeLabel", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].nodeAnnotation", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].nodeField", (json!("spec.a"), Value::Null)),
        ("nodeMetadata.propagate[].podAnnotation", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].podLabel", (json!("a/b"), Value::Null)),
        ("nodeMetadata.propagate[].default", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].required", (json!(true), json!(false))),
        ("nodeMetadata.propagate[].env", (json!("A"), Value::Null)),
        ("nodeMetadata.onLookupFailure", (json!("Ignore"), Value::Null)),
        ("nodeMetadata.protect", (json!(true), Value::Null)),
    ])
}

#[test]
fn the_form_asks_for_every_setting() -> Result<()> {
    let asked: BTreeSet<String> = questions()?.into_iter().map(|question| question.variable).collect();
    let known: BTreeSet<String> = settings().into_keys().map(str::to_owned).collect();
    assert_eq!(asked, known);
    Ok(())
}

#[test]
fn the_form_asks_with_the_right_types_and_defaults() -> Result<()> {
    let settings = settings();
    for Question { variable, question } in questions()? {
        let (value, default) = &settings[variable.as_str()];
        let types: &[&str] = match value {
            Value::Bool(_) => &["boolean"],
            Value::Number(_) => &["int"],
            Value::String(_) => &["string", "enum"],
            Value::Array(items) if items.iter().all(Value::is_string) => &["array["],
            Value::Array(_) => &["sequence["],
            _ => &["map["],
        };
        let found = question["type"].as_str().unwrap_or_default();
        assert!(types.contains(&found), "{variable}: {found}, expected one of {types:?}");
        assert_eq!(question["default"], *default, "{variable}");
    }
    Ok(())
}

/// The policy takes every option of every choice, and refuses any other text.
#[test]
fn the_form_offers_what_the_policy_takes() -> Result<()> {
    let policy = policy()?;
    let questions = questions()?;
    let choices: Vec<&Question> = questions.iter().filter(|question| question.question["type"] == "enum").collect();
    let is_choice = |path: &&str| path.contains(".on") || path.ends_with(".enforcement");
    let known = settings().into_keys().filter(is_choice).count();
    assert_eq!(choices.len(), known, "every setting on… is a choice, and enforcement");
    for Question { variable, question } in choices {
        let (block, field) = variable.split_once('.').context("a choice stands in a block")?;
        for option in strings(&question["options"]).chain([""]) {
            let valid = policy.validate_settings(&with_setting(block, field, json!(option)))?.valid;
            assert_eq!(valid, !option.is_empty(), "{variable}: {option:?}");
        }
        let refused = policy.validate_settings(&with_setting(block, field, json!("")))?.message.unwrap_or_default();
        let options: Vec<&str> = strings(&question["options"]).collect();
        assert!(refused.ends_with(&format!("expected one of {}", options.join(", "))), "{variable}: {refused}");
    }
    Ok(())
}

/// Values of the types that the form asks for make valid settings. What is left empty is dropped by Rancher, so a block
/// that nobody touched is not there.
#[test]
fn what_the_form_fills_in_is_valid() -> Result<()> {
    let policy = policy()?;
    let empties = [json!(null), json!(""), json!([]), json!({})];
    for (variable, (value, default)) in settings().into_iter().filter(|(variable, _)| !variable.contains("[]")) {
        let Some((block, field)) = variable.split_once('.') else { continue };
        assert!(empties.contains(&default), "{variable}: {default}");
        let written = with_setting(block, field, value);
        let answer = policy.validate_settings(&written)?;
        assert!(answer.valid, "{written}: {:?}", answer.message);
    }
    Ok(())
}

/// Settings with this one, and with what its block can't be without.
fn with_setting(block: &str, field: &str, value: Value) -> Value {
    let mut settings = match block {
        "nodeMetadata" => json!({ block: { "propagate": [{ "nodeLabel": "a" }] } }),
        "placement" if field == "guardedNodeLabels" => json!({ block: { "onNodes": "Reject" } }),
        // What there is to guard, for onNodes.
        "placement" => json!({ block: { "clusterDefaultNodeSelector": "a" } }),
        _ => json!({ block: {} }),
    };
    match field.strip_prefix("namespaces[].") {
        Some(field) => settings[block]["namespaces"] = json!([{ "name": "a", field: value }]),
        None => settings[block][field] = value,
    }
    settings
}
