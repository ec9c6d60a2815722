//! The examples: policies that can be applied as they are, and what belongs to them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use e2e_tests::{policy_metadata, read_document, read_documents};
use serde_json::{Value, json};

use super::{
    REGISTRY, VERSION, file, policy,
    rules::{known_rules, opt_in_rules, rule, rules},
};

#[test]
fn every_example_is_one_that_the_policy_takes() -> Result<()> {
    let policy = policy()?;
    let metadata = read_document(&policy_metadata())?;
    let mut count = 0;
    for (name, spec) in deployments()? {
        let answer = policy.validate_settings(&spec["settings"])?;
        assert!(answer.valid, "{name}: {:?}", answer.message);
        let rules = rules(&spec["rules"]).with_context(|| name.clone())?;
        assert!(rules.is_subset(&known_rules().union(&opt_in_rules()).cloned().collect()), "{name}: {rules:?}");
        assert_eq!(spec["module"], format!("registry://{REGISTRY}:v{VERSION}"), "{name}");
        let declared = metadata["contextAwareResources"].as_array().context("a list")?;
        let looked_up = spec["contextAwareResources"].as_array().with_context(|| name.clone())?;
        assert!(looked_up.iter().all(|resource| declared.contains(resource)), "{name}");
        // What an administrator must have decided.
        for field in ["mutating", "backgroundAudit", "failurePolicy", "timeoutSeconds"] {
            assert!(spec.get(field).is_some(), "{name}: {field} is missing");
        }
        let nodes_only = rules.is_subset(&opt_in_rules());
        assert_ne!(
            spec.get("namespaceSelector").is_some(),
            nodes_only,
            "{name}: Nodes have no namespace, all else does"
        );
        count += 1;
    }
    assert!(count > 10, "only {count} examples");
    Ok(())
}

/// The audit scanner counts a policy that has rules with subresources as errored.
#[test]
fn only_examples_without_subresources_are_audited() -> Result<()> {
    for (name, spec) in deployments()? {
        let subresources = rules(&spec["rules"])?.iter().any(|(_, resource, _)| resource.contains('/'));
        let audited = spec["backgroundAudit"] != false;
        assert!(!(subresources && audited), "{name}");
    }
    Ok(())
}

/// A rule for one of the two ways to bind a Pod never matches the other.
#[test]
fn examples_list_both_ways_to_bind_a_pod() -> Result<()> {
    for (name, spec) in deployments()? {
        let rules = rules(&spec["rules"])?;
        let ways = ["pods/binding", "bindings"].map(|resource| rules.contains(&rule("", resource, "CREATE")));
        assert_eq!(ways[0], ways[1], "{name}");
    }
    Ok(())
}

/// What one of them judges, the other must have written, or guard.
#[test]
fn deployments_for_the_same_cluster_have_the_same_settings() -> Result<()> {
    let mut guard = deployment("nodes.yml")?["settings"].take();
    for own in ["onNodes", "guardedNodeLabels"] {
        guard["placement"].as_object_mut().context("a block")?.remove(own).context("this is what it is for")?;
    }
    assert_eq!(guard, deployment("placement.yml")?["settings"]);
    assert_eq!(deployment("verify.yml")?["settings"], deployment("both.yml")?["settings"]);
    Ok(())
}

/// With `Ignore` a tenant gets past a healthy policy at will.
#[test]
fn nothing_that_must_hold_has_failure_policy_ignore() -> Result<()> {
    let mut ignoring = 0;
    for (name, spec) in deployments()? {
        if spec["failurePolicy"] == "Fail" {
            continue;
        }
        let settings = &spec["settings"];
        let places = settings.as_object().context("expected settings")?.keys().any(|block| block != "nodeMetadata");
        assert!(!places || spec["mode"] == "monitor", "{name}: a fence");
        assert!(settings["nodeMetadata"]["protect"] != true, "{name}: protect");
        let mut entries = settings["nodeMetadata"]["propagate"].as_array().into_iter().flatten();
        assert!(entries.all(|entry| entry["required"] != true), "{name}: required");
        ignoring += 1;
    }
    ensure!(ignoring > 0, "no example has Ignore");
    Ok(())
}

/// Who applies settings of an imagined cluster by mistake rejects nothing. What comes after another policy, or a plugin,
/// goes on where that stopped.
#[test]
fn examples_that_place_start_in_monitor_mode() -> Result<()> {
    let placing = deployments()?.into_iter().filter(|(_, spec)| spec["settings"]["placement"].is_object());
    for (name, spec) in placing.filter(|(_, spec)| spec["mutating"] == true) {
        assert_eq!(spec["mode"], "monitor", "{name}");
    }
    Ok(())
}

/// Where an API server gives up first, `failurePolicy` answers in place of the policy-server.
#[test]
fn api_servers_wait_longer_than_an_evaluation_may_take() -> Result<()> {
    for (name, spec) in deployments()? {
        let evaluation = spec["timeoutEvalSeconds"].as_u64().unwrap_or(2);
        assert!(spec["timeoutSeconds"].as_u64() > Some(evaluation), "{name}");
    }
    Ok(())
}

#[test]
fn the_policy_server_may_get_what_is_looked_up_and_nothing_more() -> Result<()> {
    let documents = read_documents(&file("examples/rbac.yml"))?;
    let roles: Vec<&Value> = documents.iter().filter(|document| !document["rules"].is_null()).collect();
    assert_eq!(roles.len(), 1);
    let expected = json!([
        { "apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get"] },
        { "apiGroups": ["node.k8s.io"], "resources": ["runtimeclasses"], "verbs": ["get"] },
    ]);
    assert_eq!(roles[0]["rules"], expected);
    Ok(())
}

#[test]
fn the_index_of_examples_names_every_file() -> Result<()> {
    let index = fs::read_to_string(file("examples/README.md"))?;
    for (path, _) in examples()? {
        let name = path.strip_prefix(file("examples"))?.display().to_string();
        assert!(index.contains(&format!("({name})")), "{name}");
    }
    Ok(())
}

/// The alerts ask for metrics and labels that the documentation names, of every ClusterAdmissionPolicy: one that a list of
/// names forgets would be watched by nobody.
#[test]
fn the_alerts_ask_for_what_is_counted() -> Result<()> {
    let documentation = fs::read_to_string(file("docs/operating.md"))?;
    let alerts = read_document(&file("examples/alerts.yml"))?;
    let rules = alerts["spec"]["groups"][0]["rules"].as_array().context("a list of rules")?;
    assert_eq!(rules.len(), 3);
    for rule in rules {
        let expression = rule["expr"].as_str().context("an expression")?;
        let words = expression.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        for metric in words.filter(|word| ["kubewarden_", "apiserver_"].iter().any(|by| word.starts_with(by))) {
            assert!(documentation.contains(&format!("`{}`", metric.trim_end_matches("_bucket"))), "{metric}");
        }
        let (_, selectors) = expression.split_once('{').context("selectors")?;
        let (selectors, _) = selectors.split_once('}').context("selectors")?;
        for (label, _) in
            selectors.split(", ").flat_map(|part| part.split(",\n")).filter_map(|part| part.split_once('='))
        {
            assert!(documentation.contains(&format!("`{}`", label.trim())), "{label}");
        }
        let (_, names) = expression.split_once(r#"name=~""#).context("a regular expression of names")?;
        let (names, _) = names.split_once('"').context("its end")?;
        for policy in ["kw.cap.node-placement", "kw.cap.whatever-it-is-called", BEFORE_1_37_2] {
            let name =
                if names.contains("admission") { format!("{policy}.kubewarden.admission") } else { policy.to_owned() };
            assert!(matches(&name, names)?, "{expression} does not count {name}");
        }
        assert!(!matches("pod-policy.kyverno.io", names)?, "{expression} counts the webhooks of others");
    }
    Ok(())
}

/// What Kubewarden before 1.37.2 calls the policy: clusterwide-NAME.
const BEFORE_1_37_2: &str = "clusterwide-node-placement";

/// Returns whether a regular expression of Prometheus, which is anchored, matches.
fn matches(text: &str, expression: &str) -> Result<bool> {
    let program = cel::Program::compile("text.matches(expression)")?;
    let mut variables = cel::Context::default();
    variables.add_variable("text", text)?;
    variables.add_variable("expression", format!("^(?:{expression})$"))?;
    Ok(program.execute(&variables)? == cel::Value::Bool(true))
}

/// The `spec` of every example that deploys the policy, with the name of its file.
pub fn deployments() -> Result<Vec<(String, Value)>> {
    let policies = examples()?.into_iter().filter(|(_, example)| example["kind"] == "ClusterAdmissionPolicy");
    Ok(policies.map(|(path, mut example)| (path.display().to_string(), example["spec"].take())).collect())
}

/// The `spec` of one of them.
pub fn deployment(name: &str) -> Result<Value> {
    Ok(read_document(&file("examples").join(name))?["spec"].take())
}

/// Every object of every example.
pub fn examples() -> Result<Vec<(PathBuf, Value)>> {
    fn collect(folder: &Path, found: &mut Vec<(PathBuf, Value)>) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                collect(&path, found)?;
            } else if path.extension().is_some_and(|extension| extension == "yml") {
                found.extend(read_documents(&path)?.into_iter().map(|document| (path.clone(), document)));
            }
        }
        Ok(())
    }
    let mut found = vec![];
    collect(&file("examples"), &mut found)?;
    Ok(found)
}
