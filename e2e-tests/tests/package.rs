//! What is shipped around the module says the same as the module, and the same everywhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail, ensure};
use cel::{Context as Variables, Env};
use e2e_tests::{admission_request, policy_metadata, policy_module, policy_under_test, read_document, read_documents};
use rstest::rstest;
use serde_json::{Value, json};

const SOURCE: &str = "https://github.com/node-placement/node-placement-policy";
const REGISTRY: &str = "ghcr.io/node-placement/policies/node-placement";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The requests that are somebody's job, less `pods/status`, which is opt-in: group, resource, operation.
fn known_rules() -> BTreeSet<Rule> {
    let both = ["CREATE", "UPDATE"];
    let mut rules = BTreeSet::new();
    let mut add = |group: &str, resources: &[&str], operations: &[&str]| {
        for resource in resources {
            rules.extend(operations.iter().map(|operation| rule(group, resource, operation)));
        }
    };
    add("", &["pods", "namespaces", "replicationcontrollers", "podtemplates"], &both);
    add("", &["pods/binding", "bindings"], &["CREATE"]);
    add("apps", &["deployments", "replicasets", "statefulsets", "daemonsets"], &both);
    add("batch", &["jobs", "cronjobs"], &both);
    rules
}

type Rule = (String, String, String);

fn rule(group: &str, resource: &str, operation: &str) -> Rule {
    (group.to_owned(), resource.to_owned(), operation.to_owned())
}

/// The rules in a list as webhooks have it, one by one.
fn rules(list: &Value) -> Result<BTreeSet<Rule>> {
    let mut rules = BTreeSet::new();
    for entry in list.as_array().context("expected a list of rules")? {
        ensure!(entry["apiVersions"] == json!(["v1"]), "expected apiVersions [v1]: {entry}");
        for group in strings(&entry["apiGroups"]) {
            for resource in strings(&entry["resources"]) {
                rules.extend(strings(&entry["operations"]).map(|operation| rule(group, resource, operation)));
            }
        }
    }
    Ok(rules)
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[test]
fn the_metadata_is_complete() -> Result<()> {
    let metadata = read_document(&policy_metadata())?;
    assert_eq!(rules(&metadata["rules"])?, known_rules());
    assert_eq!(metadata["mutating"], true);
    assert_eq!(metadata["backgroundAudit"], false);
    assert_eq!(metadata["executionMode"], "kubewarden-wapc");
    assert_eq!(metadata["hostCapabilities"], json!(["kubernetes/get_resource"]));
    let resources = json!([{ "apiVersion": "v1", "kind": "Namespace" }, { "apiVersion": "v1", "kind": "Node" }]);
    assert_eq!(metadata["contextAwareResources"], resources);
    let annotation = |name: &str| metadata["annotations"][name].as_str().unwrap_or_default();
    assert_eq!(annotation("io.kubewarden.policy.version"), VERSION);
    assert_eq!(annotation("io.kubewarden.policy.source"), SOURCE);
    assert_eq!(annotation("io.kubewarden.policy.ociUrl"), REGISTRY);
    assert_eq!(annotation("io.kubewarden.policy.license"), env!("CARGO_PKG_LICENSE"));
    assert_eq!(env!("CARGO_PKG_REPOSITORY"), SOURCE);
    for name in ["title", "description", "author", "url", "category", "severity"] {
        assert!(!annotation(&format!("io.kubewarden.policy.{name}")).is_empty(), "{name}");
    }
    for name in ["displayName", "resources", "keywords"] {
        assert!(!annotation(&format!("io.artifacthub.{name}")).is_empty(), "{name}");
    }
    Ok(())
}

#[test]
fn artifact_hub_is_told_the_same() -> Result<()> {
    let metadata = read_document(&policy_metadata())?;
    let package = read_document(&file("artifacthub-pkg.yml"))?;
    let annotation = |name: &str| metadata["annotations"][name].clone();
    assert_eq!(package["version"], VERSION);
    assert_eq!(package["name"], annotation("io.kubewarden.policy.title"));
    assert_eq!(package["displayName"], annotation("io.artifacthub.displayName"));
    assert_eq!(package["description"], annotation("io.kubewarden.policy.description"));
    assert_eq!(package["license"], annotation("io.kubewarden.policy.license"));
    assert_eq!(package["homeURL"], SOURCE);
    assert_eq!(package["containersImages"][0]["image"], format!("{REGISTRY}:v{VERSION}"));
    assert_eq!(package["annotations"]["kubewarden/resources"], annotation("io.artifacthub.resources"));
    assert_eq!(package["annotations"]["kubewarden/mutation"], "true");
    let embedded = |name: &str| -> Result<Value> {
        let text = package["annotations"][name].as_str().with_context(|| name.to_owned())?;
        Ok(yaml_serde::from_str(text)?)
    };
    assert_eq!(rules(&embedded("kubewarden/rules")?)?, known_rules());
    assert_eq!(embedded("kubewarden/contextAwareResources")?, metadata["contextAwareResources"]);
    assert_eq!(embedded("kubewarden/questions-ui")?, read_document(&file("questions-ui.yml"))?);
    Ok(())
}

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

/// Every setting that fits a form, a value that is valid for it, and its default; null where it has none.
fn settings() -> BTreeMap<&'static str, (Value, Value)> {
    let selector = || (json!("a=b"), Value::Null);
    BTreeMap::from([
        ("placement", (json!({}), json!({}))),
        ("placement.clusterDefaultNodeSelector", (json!("a=b"), json!(""))),
        ("placement.namespaceAnnotations", (json!(["a"]), json!(["scheduler.alpha.kubernetes.io/node-selector"]))),
        ("placement.namespaces", (json!([{ "name": "a" }]), json!([]))),
        ("placement.namespaces[].name", (json!("a"), json!(""))),
        ("placement.namespaces[].requiredNodeSelector", selector()),
        ("placement.namespaces[].defaultNodeSelector", selector()),
        ("placement.namespaces[].allowedNodeSelector", selector()),
        ("placement.onNodeAffinity", (json!("Ignore"), json!("Check"))),
        ("placement.onNodeName", (json!("Reject"), json!("Verify"))),
        ("placement.onWorkloads", (json!("Warn"), json!("Reject"))),
        ("placement.onDaemonSets", (json!("Warn"), json!("Inject"))),
        ("placement.onNamespaces", (json!("Warn"), json!("Reject"))),
        ("placement.onBindings", (json!("Verify"), json!("Ignore"))),
        ("nodeMetadata", (json!({}), json!({}))),
        ("nodeMetadata.propagate", (json!([{ "nodeLabel": "a" }]), Value::Null)),
        ("nodeMetadata.propagate[].nodeLabel", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].nodeAnnotation", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].nodeField", (json!("spec.a"), Value::Null)),
        ("nodeMetadata.propagate[].podAnnotation", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].podLabel", (json!("a/b"), Value::Null)),
        ("nodeMetadata.propagate[].default", (json!("a"), Value::Null)),
        ("nodeMetadata.propagate[].required", (json!(true), json!(false))),
        ("nodeMetadata.onLookupFailure", (json!("Ignore"), json!("Reject"))),
        ("nodeMetadata.protect", (json!(true), json!(false))),
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
            Value::String(_) => &["string", "enum"],
            Value::Array(items) if items.iter().all(Value::is_string) => &["array["],
            Value::Array(_) => &["sequence["],
            _ => &["map["],
        };
        let found = question["type"].as_str().unwrap_or_default();
        assert!(types.contains(&found), "{variable}: {found}, expected one of {types:?}");
        assert_eq!(question["default"], *default, "{variable}");
        if found == "enum" {
            assert!(strings(&question["options"]).any(|option| option == default), "{variable}");
        }
    }
    Ok(())
}

/// The policy takes every option of every choice, and refuses any other text.
#[test]
fn the_form_offers_what_the_policy_takes() -> Result<()> {
    let policy = policy_under_test()?;
    let questions = questions()?;
    let choices: Vec<&Question> = questions.iter().filter(|question| question.question["type"] == "enum").collect();
    let known = settings().into_keys().filter(|path| path.contains(".on")).count();
    assert_eq!(choices.len(), known, "every setting on… is a choice");
    for Question { variable, question } in choices {
        let (block, field) = variable.split_once('.').context("a choice stands in a block")?;
        for option in strings(&question["options"]).chain([""]) {
            let valid = policy.validate_settings(&json!({ block: { field: option } }))?.valid;
            assert_eq!(valid, !option.is_empty(), "{variable}: {option:?}");
        }
        let refused = policy.validate_settings(&json!({ block: { field: "" } }))?.message.unwrap_or_default();
        let options: Vec<&str> = strings(&question["options"]).collect();
        assert!(refused.ends_with(&format!("expected one of {}", options.join(", "))), "{variable}: {refused}");
    }
    Ok(())
}

/// Defaults that the form fills in, and values of the types that it asks for, make valid settings.
#[test]
fn what_the_form_fills_in_is_valid() -> Result<()> {
    let policy = policy_under_test()?;
    let settings = settings();
    for pick in [|(value, _): &(Value, Value)| value.clone(), |(_, default): &(Value, Value)| default.clone()] {
        for (variable, values) in settings.iter().filter(|(variable, _)| !variable.contains("[]")) {
            let written = match variable.split_once('.') {
                Some((block, field)) => json!({ block: { field: pick(values) } }),
                None => json!({ *variable: pick(values) }),
            };
            let answer = policy.validate_settings(&written)?;
            assert!(answer.valid, "{written}: {:?}", answer.message);
        }
    }
    Ok(())
}

#[test]
fn every_example_is_one_that_the_policy_takes() -> Result<()> {
    let policy = policy_under_test()?;
    let metadata = read_document(&policy_metadata())?;
    let mut count = 0;
    for (name, spec) in deployments()? {
        let answer = policy.validate_settings(&spec["settings"])?;
        assert!(answer.valid, "{name}: {:?}", answer.message);
        let rules = rules(&spec["rules"]).with_context(|| name.clone())?;
        assert!(rules.is_subset(&known_rules()), "{name}: {rules:?}");
        assert_eq!(spec["module"], format!("registry://{REGISTRY}:v{VERSION}"), "{name}");
        let declared = metadata["contextAwareResources"].as_array().context("a list")?;
        let looked_up = spec["contextAwareResources"].as_array().with_context(|| name.clone())?;
        assert!(looked_up.iter().all(|resource| declared.contains(resource)), "{name}");
        // What an administrator must have decided.
        for field in ["mutating", "backgroundAudit", "failurePolicy", "timeoutSeconds", "namespaceSelector"] {
            assert!(spec.get(field).is_some(), "{name}: {field} is missing");
        }
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

/// Whether an API server would send the request to the policy, as far as its `matchConditions` decide. An expression that
/// can't be evaluated is an error: an API server takes it for a failure, and does what `failurePolicy` says.
fn reaches(spec: &Value, request: &Value) -> Result<bool> {
    let conditions = spec["matchConditions"].as_array().context("expected a list of matchConditions")?;
    let env = Arc::new(Env::stdlib());
    let mut variables = Variables::with_env(Arc::clone(&env));
    for (name, value) in [("request", request), ("object", &request["object"]), ("oldObject", &request["oldObject"])] {
        variables.add_variable_from_value(name, cel::to_value(value)?);
    }
    let mut reached = true;
    for condition in conditions {
        let expression = condition["expression"].as_str().context("expected an expression")?;
        let value = env.compile(expression)?.execute(&variables).with_context(|| expression.to_owned())?;
        let cel::Value::Bool(passes) = value else { bail!("expected a boolean from {expression}") };
        reached &= passes;
    }
    Ok(reached)
}

/// An update of an object that is being deleted, as far as conditions look at it.
fn terminating(resource: &str) -> Value {
    let metadata = json!({
        "name": "web",
        "annotations": { "topology.kubernetes.io/zone": "eu-1a" },
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    });
    let mut old_metadata = metadata.clone();
    old_metadata["finalizers"] = json!(["example.com/hold"]);
    json!({
        "operation": "UPDATE",
        "resource": { "resource": resource },
        "object": { "metadata": metadata, "spec": {} },
        "oldObject": { "metadata": old_metadata, "spec": {} },
    })
}

/// What is being deleted must be able to go, whatever the rules say by now: with a rule for updates of everything, too.
#[test]
fn a_finalizer_can_always_be_removed() -> Result<()> {
    for (name, spec) in deployments()? {
        for (_, resource, _) in known_rules().iter().filter(|(_, _, operation)| operation == "UPDATE") {
            assert!(!reaches(&spec, &terminating(resource))?, "{name}: {resource}");
        }
    }
    Ok(())
}

/// An API server leaves it to the sender what a Binding, or the new object of an update, says of itself when webhooks see it.
#[rstest]
#[case::a_new_pod("pods", "CREATE", json!({ "spec": {} }), Value::Null)]
#[case::a_binding("pods", "CREATE", json!({ "target": { "name": "node-a" } }), Value::Null)]
#[case::a_binding_on_the_older_endpoint("bindings", "CREATE", json!({ "target": { "name": "node-a" } }), Value::Null)]
#[case::a_pod_that_waits("pods", "UPDATE", json!({ "spec": {} }), json!({ "metadata": {}, "spec": {} }))]
#[case::a_pod_that_claims_to_be_bound("pods", "UPDATE", json!({ "spec": { "nodeName": "node-a" } }), json!({ "metadata": {}, "spec": {} }))]
fn nobody_passes_by_a_claim(
    #[case] resource: &str,
    #[case] operation: &str,
    #[case] mut object: Value,
    #[case] old_object: Value,
) -> Result<()> {
    object["metadata"] = json!({ "name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let request = json!({
        "operation": operation, "resource": { "resource": resource }, "object": object, "oldObject": old_object,
    });
    for (name, spec) in deployments()? {
        assert!(reaches(&spec, &request)?, "{name}");
    }
    Ok(())
}

/// A Pod runs on for as long as its grace period says.
#[test]
fn what_is_protected_is_so_until_the_pod_ends() -> Result<()> {
    let mut count = 0;
    for (name, spec) in deployments()? {
        let updates = rules(&spec["rules"])?.contains(&rule("", "pods", "UPDATE"));
        if !updates || spec["settings"]["nodeMetadata"]["protect"] != true {
            continue;
        }
        for (field, target) in [("annotations", "podAnnotation"), ("labels", "podLabel")] {
            let mut entries = spec["settings"]["nodeMetadata"]["propagate"].as_array().into_iter().flatten();
            if entries.any(|entry| entry[target].is_string()) {
                for value in [json!({ "example.com/forged": "x" }), json!({}), Value::Null] {
                    let mut request = terminating("pods");
                    request["oldObject"]["metadata"][field] = json!({ "example.com/true": "x" });
                    request["object"]["metadata"][field] = value;
                    if request["object"]["metadata"][field].is_null() {
                        request["object"]["metadata"].as_object_mut().context("an object")?.remove(field);
                    }
                    assert!(reaches(&spec, &request)?, "{name}: {field}");
                    count += 1;
                }
            }
        }
    }
    ensure!(count > 0, "no example protects anything");
    Ok(())
}

/// A Pod's annotations must leave room for what its Binding brings, from its creation until it is bound.
#[test]
fn examples_with_node_metadata_see_every_pod_before_it_is_bound() -> Result<()> {
    let pod = json!({ "metadata": { "name": "web" }, "spec": {} });
    let mut count = 0;
    for (name, spec) in deployments()?.iter().filter(|(_, spec)| spec["settings"]["nodeMetadata"].is_object()) {
        let rules = rules(&spec["rules"])?;
        assert!(rules.contains(&rule("", "pods", "CREATE")), "{name}");
        for (operation, old_object) in [("CREATE", Value::Null), ("UPDATE", pod.clone())] {
            let request = json!({
                "operation": operation, "resource": { "resource": "pods" }, "object": pod, "oldObject": old_object,
            });
            assert!(reaches(spec, &request)?, "{name}: {operation}");
        }
        count += 1;
    }
    ensure!(count > 5, "only {count} examples have node metadata");
    Ok(())
}

/// An API server takes an expression that can't be evaluated for a failure of the webhook.
#[test]
fn conditions_can_be_evaluated_for_whatever_comes() -> Result<()> {
    let mut requests = vec![
        json!({ "operation": "DELETE", "resource": { "resource": "pods" }, "object": null, "oldObject": { "metadata": {} } }),
        json!({ "operation": "CONNECT", "resource": { "resource": "pods" }, "object": {}, "oldObject": null }),
    ];
    for entry in fs::read_dir(file("e2e-tests/fixtures/requests"))? {
        requests.push(admission_request(&read_document(&entry?.path())?).clone());
    }
    for (name, spec) in deployments()? {
        for request in &requests {
            let sent = reaches(&spec, request).with_context(|| format!("{name}: {request}"))?;
            assert!(sent || request["operation"] == "UPDATE", "{name}: {request}");
        }
    }
    ensure!(requests.len() > 20, "only {} requests", requests.len());
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
fn the_policy_server_may_get_nodes_and_namespaces_and_nothing_more() -> Result<()> {
    let documents = read_documents(&file("examples/rbac.yml"))?;
    let roles: Vec<&Value> = documents.iter().filter(|document| !document["rules"].is_null()).collect();
    assert_eq!(roles.len(), 1);
    let expected = json!([{ "apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get"] }]);
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

/// Every file or heading that the documentation points to is there.
#[rstest]
#[case("README.md")]
#[case("CONTRIBUTING.md")]
#[case("SECURITY.md")]
#[case("docs/settings.md")]
#[case("docs/recipes.md")]
#[case("docs/threat-model.md")]
#[case("fuzz/README.md")]
#[case("docs/performance.md")]
#[case("examples/README.md")]
fn links_lead_somewhere(#[case] document: &str) -> Result<()> {
    let path = file(document);
    let text = fs::read_to_string(&path)?;
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    for link in links.filter(|link| !link.starts_with("https://")) {
        let (target, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = match target {
            "" => path.clone(),
            _ => path.parent().context("a document stands in a folder")?.join(target),
        };
        ensure!(target.exists(), "{document}: {link}");
        if !heading.is_empty() {
            let text = fs::read_to_string(&target)?;
            ensure!(text.lines().any(|line| anchor(line).as_deref() == Some(heading)), "{document}: {link}");
        }
    }
    Ok(())
}

/// The anchor that GitHub gives a heading.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_'));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// A test is named `file::function`, or `file::title` where cases are data: YAML in either style, or rows of a table.
#[test]
fn every_test_that_the_threat_model_names_is_there() -> Result<()> {
    let text = fs::read_to_string(file("docs/threat-model.md"))?;
    let named = text.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::"));
    let mut count = 0;
    for (path, name) in named.filter(|(path, _)| !path.is_empty()) {
        let tests = fs::read_to_string(file(path)).with_context(|| path.to_owned())?;
        let spellings = [
            format!("fn {name}("),
            format!("case::{name}("),
            format!("title: {name}\n"),
            format!("title: {name}, "),
            format!("{name}\t"),
            format!("name: {name}\n"),
        ];
        ensure!(spellings.iter().any(|spelling| tests.contains(spelling)), "{path} has no {name}");
        count += 1;
    }
    ensure!(count > 20, "only {count} tests are named");
    Ok(())
}

/// Every setting is found from the README, and explained in the reference.
#[test]
fn every_setting_is_documented() -> Result<()> {
    let readme = fs::read_to_string(file("README.md"))?;
    let reference = fs::read_to_string(file("docs/settings.md"))?;
    let mut names = BTreeSet::from(["podNodeSelectorPluginConfig"]);
    names.extend(settings().keys().filter_map(|path| path.rsplit('.').next()));
    for name in names {
        assert!(readme.contains(name), "README.md: {name}");
        assert!(reference.contains(&format!("`{name}`")) || reference.contains(&format!("# {name}")), "{name}");
    }
    Ok(())
}

#[test]
fn the_module_is_small() -> Result<()> {
    let size = fs::metadata(policy_module()?)?.len();
    ensure!(size <= 352 * 1024, "policy.wasm has {size} bytes");
    Ok(())
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The `spec` of every example that deploys the policy, with the name of its file.
fn deployments() -> Result<Vec<(String, Value)>> {
    let policies = examples()?.into_iter().filter(|(_, example)| example["kind"] == "ClusterAdmissionPolicy");
    Ok(policies.map(|(path, mut example)| (path.display().to_string(), example["spec"].take())).collect())
}

/// Every object of every example.
fn examples() -> Result<Vec<(PathBuf, Value)>> {
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
