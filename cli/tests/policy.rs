//! `policy` writes what settings need, and `check` finds nothing wrong with that.

use std::{fs, path::PathBuf, slice};

use anyhow::{Context, Result, ensure};
use cli::{
    Policy, SettingsFile,
    check::{
        check,
        finding::{Finding, Findings},
        findings,
    },
    input::documents::yaml_documents,
    policies::required_rules::{FEATURES, Feature, Rule, Setting, Update},
    policies::{backstop::backstop_file, overrides::Overrides, policy_file::policy_file, twin::twin_file},
};
use rstest::rstest;
use serde_json::{Value, json};

fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| path.to_owned())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The policies for some settings.
fn policies(settings: &str, overrides: &Overrides) -> Result<Vec<SettingsFile>> {
    SettingsFile::read_all(yaml_documents(&policy_file(settings, overrides)?)?)
}

/// What `check` says of what `policy` writes, and does not say of the settings.
fn said(settings: &str) -> Result<Vec<String>> {
    let of_settings = all(&check(settings, &Policy::native())?);
    let of_policy = check(&policy_file(settings, &Overrides::default())?, &Policy::native())?;
    ensure!(of_policy.mistakes.is_empty(), "{of_policy:?}");
    Ok(all(&of_policy).into_iter().filter(|line| !of_settings.contains(line)).collect())
}

fn all(findings: &Findings) -> Vec<String> {
    findings
        .mistakes
        .iter()
        .chain(&findings.remarks)
        .map(|Finding { path, text, .. }| format!("{path}: {text}"))
        .collect()
}

/// `audit.yml` and `verify.yml` report and prove: they do not enforce.
#[rstest]
fn examples_are_what_the_tool_writes(
    #[values(
        "both",
        "dedicated-nodes",
        "gpu-pool",
        "metadata/cost-labels",
        "metadata/env",
        "metadata/kyverno-add-node-labels-pod",
        "metadata/kyverno-mutate-pod-binding",
        "metadata/rack-and-provider",
        "metadata/zone",
        "node-metadata",
        "nodes",
        "placement",
        "plugin-config",
        "tenants"
    )]
    name: &str,
) -> Result<()> {
    let example = read(&format!("examples/{name}.yml"))?;
    let written = policy_file(&example, &Overrides::default())?;
    ensure!(
        written == example,
        "run: kubectl node-placement policy examples/{name}.yml > new.yml && mv new.yml examples/{name}.yml"
    );
    assert_eq!(said(&example)?, Vec::<String>::new());
    Ok(())
}

#[test]
fn every_example_that_enforces_is_held_to_the_tool() -> Result<()> {
    let this = read("cli/tests/policy.rs")?;
    for folder in ["examples", "examples/metadata"] {
        for entry in fs::read_dir(root().join(folder))? {
            let path = entry?.path();
            let is_policy = path.is_file() && fs::read_to_string(&path)?.contains("\nkind: ClusterAdmissionPolicy\n");
            let name = path.strip_prefix(root().join("examples"))?.with_extension("").display().to_string();
            let enforces = is_policy && !["audit", "verify"].contains(&name.as_str());
            ensure!(!enforces || this.contains(&format!("        \"{name}\"")), "{name}");
        }
    }
    Ok(())
}

/// Each feature alone, and all that can stand together.
#[rstest]
#[case::everything(
    "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c, allowedTolerations: []}], onBindings: Verify,
      onNodes: Reject, onExtendedResources: Tolerate},
      nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a, default: b}], protect: true}}"
)]
#[case::variables("{nodeMetadata: {propagate: [{nodeLabel: a, env: A}]}}")]
#[case::a_label("{nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a}]}}")]
#[case::marks("{nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a}, {nodeLabel: b}], protect: true}}")]
#[case::what_is_required("{nodeMetadata: {propagate: [{nodeLabel: a, required: true}]}}")]
#[case::the_plugin("{podNodeSelectorPluginConfig: {}}")]
#[case::no_look_up_of_namespaces("{placement: {namespaceAnnotations: [], clusterDefaultNodeSelector: a=b}}")]
#[case::as_little_as_can_be(
    "{placement: {onWorkloads: Ignore, onDaemonSets: Ignore, onNamespaces: Ignore, onNodeName: Ignore}}"
)]
#[case::annotations_of_tolerations("{placement: {onTolerationAnnotations: Honor}}")]
fn nothing_is_to_be_said_of_what_is_written(#[case] settings: &str) -> Result<()> {
    assert_eq!(said(settings)?, Vec::<String>::new());
    Ok(())
}

/// Those of the tests of the module, too.
#[test]
fn nothing_is_to_be_said_of_what_is_written_for_other_settings() -> Result<()> {
    let mut count = 0;
    for entry in fs::read_dir(root().join("e2e-tests/fixtures/settings"))? {
        let path = entry?.path();
        let said = said(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
        assert_eq!(said, Vec::<String>::new(), "{}", path.display());
        count += 1;
    }
    ensure!(count > 10, "only {count} settings");
    Ok(())
}

#[rstest]
#[case::metadata_that_need_not_fail(
    "placement:\n  # why\n  clusterDefaultNodeSelector: a=b\n# what\nnodeMetadata:\n  propagate: [{ nodeLabel: a }]\n",
    &["node-placement", "node-placement-node-metadata"],
    &["Fail", "Ignore"]
)]
#[case::metadata_that_must_not_be_missing(
    "placement: { clusterDefaultNodeSelector: a=b }\nnodeMetadata: { propagate: [{ nodeLabel: a, required: true }] }\n",
    &["node-placement"],
    &["Fail"]
)]
#[case::labels_of_nodes(
    "placement:\n  # for kubelets\n  onNodes: Reject\n  clusterDefaultNodeSelector: a=b\n",
    &["node-placement", "node-placement-nodes"],
    &["Fail", "Fail"]
)]
fn what_wants_two_policies_gets_two(
    #[case] settings: &str,
    #[case] names: &[&str],
    #[case] failure_policies: &[&str],
) -> Result<()> {
    let files = policies(settings, &Overrides::default())?;
    let spec = |file: &SettingsFile| file.policy.as_ref().map(|deployment| deployment.spec.clone()).unwrap_or_default();
    assert_eq!(files.iter().map(|file| file.name.clone().unwrap_or_default()).collect::<Vec<_>>(), names);
    assert_eq!(files.iter().map(|file| spec(file)["failurePolicy"].clone()).collect::<Vec<_>>(), failure_policies);
    let written = policy_file(settings, &Overrides::default())?;
    let again = policy_file(&written, &Overrides::default())?;
    assert_eq!(yaml_documents(&again)?, yaml_documents(&written)?, "the tool takes what it has written");
    assert_eq!(said(settings)?, Vec::<String>::new());
    Ok(())
}

/// Of a list, and with a byte-order mark or carriage returns, the same policies are written.
#[test]
fn several_policies_are_read_from_any_file() -> Result<()> {
    let settings =
        "placement: {clusterDefaultNodeSelector: a=b, onNodes: Reject}\nnodeMetadata: {propagate: [{nodeLabel: a}]}";
    let written = policy_file(settings, &Overrides::default())?;
    let said = |text: &str| yaml_documents(&policy_file(text, &Overrides::default())?);
    let documents = yaml_documents(&written)?;
    assert_eq!(documents.len(), 3);
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": documents }).to_string();
    for text in [format!("\u{feff}{written}"), written.replace('\n', "\r\n"), format!("# why\n---\n{written}"), list] {
        assert_eq!(said(&text)?, documents, "{text}");
    }
    let overrides = Overrides { name: Some("mine".to_owned()), ..Overrides::default() };
    assert!(policy_file(&written, &overrides).is_err(), "three policies can't have one name");
    Ok(())
}

#[test]
fn a_placeholder_says_so() -> Result<()> {
    let own = Overrides { module: Some("registry://example.com/module:v1".to_owned()), ..Overrides::default() };
    let says_so = |overrides| {
        Ok::<_, anyhow::Error>(policy_file("placement: {}", &overrides)?.contains("# A placeholder: nothing is"))
    };
    assert!(says_so(Overrides::default())? && !says_so(own)?);
    Ok(())
}

#[test]
fn comments_survive() -> Result<()> {
    let settings = "# about all\nplacement:\n  # about one\n  clusterDefaultNodeSelector: a=b # here\n";
    let written = policy_file(settings, &Overrides::default())?;
    for comment in ["    # about all\n", "      # about one\n", "a=b # here\n"] {
        assert_eq!(written.matches(comment).count(), 1, "{comment:?} in\n{written}");
    }
    Ok(())
}

#[test]
fn options_are_written_and_those_of_a_policy_are_kept() -> Result<()> {
    let overrides = Overrides {
        name: Some("mine".to_owned()),
        module: Some("registry://example.com/module:v1".to_owned()),
        policy_server: Some("second".to_owned()),
        namespaces: Some("tenant in (blue, red), !sandbox, tier=silver".to_owned()),
    };
    let written = policy_file("{placement: {}}", &overrides)?;
    let again = policy_file(&written.replace("mode: monitor", "mode: protect"), &Overrides::default())?;
    for text in [&written, &again] {
        let policy = yaml_documents(text)?.remove(0);
        assert_eq!(policy["metadata"]["name"], "mine");
        assert_eq!(policy["spec"]["module"], "registry://example.com/module:v1");
        assert_eq!(policy["spec"]["policyServer"], "second");
        let expected = json!([
            { "key": "sandbox", "operator": "DoesNotExist" },
            { "key": "tenant", "operator": "In", "values": ["blue", "red"] },
            { "key": "tier", "operator": "In", "values": ["silver"] },
        ]);
        assert_eq!(policy["spec"]["namespaceSelector"]["matchExpressions"], expected);
    }
    assert!(again.contains("mode: protect"), "{again}");
    Ok(())
}

/// What a policy has beyond what its settings need is kept, or told; the backstop, too.
#[test]
fn conditions_and_labels_of_a_policy_are_kept() -> Result<()> {
    let own = "request.namespace != 'x' ||   request.name == \"a: b\"";
    let own = json!({ "name": "not-x", "expression": own });
    let settings = "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c}], onNodes: Reject}}";
    let written = policy_file(settings, &Overrides::default())?;
    let mut documents = yaml_documents(&written)?;
    documents[0]["spec"]["matchConditions"].as_array_mut().unwrap().push(own.clone());
    documents[0]["spec"]["namespaceSelector"] = json!({ "matchLabels": { "tenant": "blue" } });
    let spec = json!({
        "message": "ask: #platform", "timeoutSeconds": 8, "timeoutEvalSeconds": 3,
        "allowInsideAdmissionControllerNamespace": true,
    });
    documents[0]["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let labels = json!({ "team": "yes" });
    documents[0]["metadata"]["labels"] = labels.clone();
    documents[0]["metadata"]["annotations"] = json!({ "kubectl.kubernetes.io/last-applied-configuration": "{}" });
    let given = documents.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    let again = yaml_documents(&policy_file(&given, &Overrides::default())?)?;
    for (field, value) in spec.as_object().unwrap() {
        assert_eq!(again[0]["spec"][field], *value, "{field}");
    }
    assert_eq!(again[0]["metadata"]["labels"], labels);
    assert_eq!(again[0]["metadata"].get("annotations"), None);
    let conditions = again[0]["spec"]["matchConditions"].as_array().unwrap();
    assert_eq!(conditions.last(), Some(&own));
    assert_eq!(conditions.len(), documents[0]["spec"]["matchConditions"].as_array().unwrap().len());
    assert!(!again[1]["spec"]["matchConditions"].to_string().contains("not-x"), "{}", again[1]);
    let covered = json!({ "matchExpressions": [{ "key": "tenant", "operator": "In", "values": ["blue"] }] });
    assert_eq!(again[0]["spec"]["namespaceSelector"], covered);
    let backstop = yaml_documents(&backstop_file(&given, &Overrides::default())?)?;
    assert_eq!(backstop[0]["spec"]["matchConditions"][1], own);
    Ok(())
}

/// Kubewarden calls the webhook for what `matchExpressions` select, whatever `matchLabels` say.
#[rstest]
#[case::backstop(backstop_file, 0)]
#[case::twin(twin_file, 2)]
fn what_kubewarden_deploys_is_carried_over(
    #[case] write: fn(&str, &Overrides) -> Result<String>,
    #[case] position: usize,
) -> Result<()> {
    let settings = "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c}]}}";
    let mut policy = yaml_documents(&policy_file(settings, &Overrides::default())?)?.remove(0);
    let expressions = json!([{ "key": "tenant", "operator": "Exists" }]);
    policy["spec"]["namespaceSelector"] = json!({ "matchLabels": { "a": "b" }, "matchExpressions": expressions });
    let objects = json!({ "matchLabels": { "c": "d" } });
    policy["spec"]["objectSelector"] = objects.clone();
    let written = yaml_documents(&write(&policy.to_string(), &Overrides::default())?)?;
    for document in [&written[0], &written[position]] {
        let constraints = &document["spec"]["matchConstraints"];
        assert_eq!(constraints["objectSelector"], objects);
        let covered = &constraints["namespaceSelector"]["matchExpressions"];
        assert_eq!(covered[0], expressions[0]);
        assert_eq!(covered[1]["values"], json!(["kubewarden"]), "{covered}");
        assert_eq!(covered.as_array().map(Vec::len), Some(2));
    }
    Ok(())
}

/// What an administrator has exempted stays exempt, such as the namespace of a network plugin.
#[rstest]
#[case::policy(policy_file)]
#[case::backstop(backstop_file)]
#[case::twin(twin_file)]
fn namespaces_are_selected_among_those_of_the_policy(
    #[case] write: fn(&str, &Overrides) -> Result<String>,
) -> Result<()> {
    let settings = "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c}]}}";
    let mut policy = yaml_documents(&policy_file(settings, &Overrides::default())?)?.remove(0);
    let own = json!([
        { "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["calico-system", "kubewarden"] },
        { "key": "tenant", "operator": "Exists" },
    ]);
    policy["spec"]["namespaceSelector"] = json!({ "matchExpressions": own });
    let namespaces = Some("tenant,kubernetes.io/metadata.name notin (team-blue)".to_owned());
    let written = write(&policy.to_string(), &Overrides { namespaces, ..Overrides::default() })?;
    let added = json!({ "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["team-blue"] });
    let mut expected = own.as_array().cloned().unwrap();
    expected.push(added);
    for document in yaml_documents(&written)? {
        let spec = &document["spec"];
        let selector = spec.get("namespaceSelector").or_else(|| spec.pointer("/matchConstraints/namespaceSelector"));
        if let Some(selector) = selector {
            assert_eq!(selector["matchExpressions"], json!(expected), "{written}");
        }
    }
    Ok(())
}

/// Names that an API server would refuse, once in a policy and once beside it.
#[rstest]
#[case::backstop(backstop_file, "placement", 244, "backstop")]
#[case::twin(twin_file, "placement", 244, "backstop")]
#[case::warnings(backstop_file, "warnings", 239, "backstop-warn")]
#[case::second_policy(policy_file, "nodes", 247, "nodes")]
fn names_are_not_too_long(
    #[case] write: fn(&str, &Overrides) -> Result<String>,
    #[case] settings: &str,
    #[case] longest: usize,
    #[case] suffix: &str,
) {
    let settings = match settings {
        "nodes" => "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c}], onNodes: Reject}}",
        "warnings" => "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c, enforcement: Warn}]}}",
        _ => "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c}]}}",
    };
    let with = |length| write(settings, &Overrides { name: Some("n".repeat(length)), ..Overrides::default() });
    let written = with(longest).expect("a name of 253 characters");
    assert!(written.contains(&format!("name: {}-{suffix}\n", "n".repeat(longest))), "{written}");
    let error = format!("{:#}", with(longest + 1).expect_err("a name of 254 characters"));
    assert!(error.contains(&format!("-{suffix}\", with 254 characters. Choose a shorter one with --name")), "{error}");
}

fn with_conditions(names: &[String]) -> Result<String> {
    let settings = "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c}]}}";
    let mut policy = yaml_documents(&policy_file(settings, &Overrides::default())?)?.remove(0);
    policy["spec"]["matchConditions"] =
        names.iter().map(|name| json!({ "name": name, "expression": "true" })).collect();
    Ok(policy.to_string())
}

/// The condition on mirror Pods is beside those of the policy, whatever they are called.
#[rstest]
#[case::another_name(&["mine"], &["not-a-mirror-pod", "mine"])]
#[case::the_same_name(&["not-a-mirror-pod"], &["not-a-mirror-pod-2", "not-a-mirror-pod"])]
#[case::the_next_name(
    &["not-a-mirror-pod-2", "not-a-mirror-pod"], &["not-a-mirror-pod-3", "not-a-mirror-pod-2", "not-a-mirror-pod"]
)]
fn conditions_have_different_names(#[case] own: &[&str], #[case] expected: &[&str]) -> Result<()> {
    let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
    for document in yaml_documents(&twin_file(&with_conditions(&own)?, &Overrides::default())?)? {
        let conditions = document["spec"]["matchConditions"].as_array().into_iter().flatten();
        let names: Vec<&str> = conditions.filter_map(|condition| condition["name"].as_str()).collect();
        assert!(names.is_empty() || names == expected, "{names:?}");
    }
    Ok(())
}

#[rstest]
#[case::twice(vec!["mine".to_owned(), "mine".to_owned()], "spec.matchConditions: two conditions have the name \"mine\"")]
#[case::no_name(vec!["no name".to_owned()], "spec.matchConditions: name \"no name\": expected at most 63 letters")]
#[case::too_many((0..64).map(|number| format!("c{number}")).collect(), "expected at most 63 of your own")]
fn conditions_that_an_api_server_refuses_are_refused(#[case] own: Vec<String>, #[case] told: &str) -> Result<()> {
    let policy = with_conditions(&own)?;
    for write in [backstop_file, twin_file] {
        let error = format!("{:#}", write(&policy, &Overrides::default()).expect_err("a mistake"));
        assert!(error.contains(told), "{error}");
    }
    Ok(())
}

/// A policy that covers all namespaces has a backstop that does. Kubewarden's own is no policy's.
#[test]
fn the_backstop_of_a_policy_for_all_namespaces_is_for_all() -> Result<()> {
    let settings = "{placement: {namespaces: [{name: a, requiredNodeSelector: b=c}]}}";
    let mut policy = yaml_documents(&policy_file(settings, &Overrides::default())?)?.remove(0);
    policy["spec"].as_object_mut().unwrap().remove("namespaceSelector");
    let backstop = yaml_documents(&backstop_file(&policy.to_string(), &Overrides::default())?)?;
    let covered = &backstop[0]["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"];
    assert_eq!(covered[0]["values"], json!(["kubewarden"]), "{covered}");
    Ok(())
}

/// All that is written has one of the names that are known as such.
#[test]
fn no_condition_that_is_written_is_kept_as_somebody_s_own() -> Result<()> {
    let metadata = "nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a}, {nodeLabel: b}]";
    for settings in [
        "{placement: {onNodes: Reject, clusterDefaultNodeSelector: a, onTolerationAnnotations: Honor}}".to_owned(),
        "{placement: {onWorkloads: Ignore}}".to_owned(),
        format!("{{{metadata}}}}}"),
        format!("{{placement: {{}}, {metadata}, protect: true}}}}"),
        format!("{{{metadata}, protect: true}}}}"),
        "{nodeMetadata: {propagate: [{nodeLabel: a, podLabel: x/a}], protect: true}}".to_owned(),
        "{nodeMetadata: {propagate: [{nodeLabel: a}], protect: true}}".to_owned(),
    ] {
        let written = policy_file(&settings, &Overrides::default())?;
        assert!(!policy_file(&written, &Overrides::default())?.contains("Kept, as"), "{written}");
    }
    Ok(())
}

#[rstest]
#[case::no_selector("", "expected a selector")]
#[case::a_number("n>5", "can't compare numbers")]
#[case::a_mistake("a in", "--namespaces")]
fn namespaces_are_selected_as_kubernetes_can(#[case] namespaces: &str, #[case] told: &str) {
    let overrides = Overrides { namespaces: Some(namespaces.to_owned()), ..Overrides::default() };
    let error = policy_file("{placement: {}}", &overrides).expect_err("a mistake");
    assert!(format!("{error:#}").contains(told), "{error:#}");
}

#[rstest]
#[case::a_word("flag=true,n=1.0", json!([["flag", ["true"]], ["n", ["1.0"]]]))]
#[case::the_empty_value("x=", json!([["x", [""]]]))]
#[case::an_empty_list("x in ()", json!([["x", [""]]]))]
#[case::null("null=null", json!([["null", ["null"]]]))]
fn namespaces_are_written_as_texts(#[case] namespaces: &str, #[case] expected: Value) -> Result<()> {
    let overrides = Overrides { namespaces: Some(namespaces.to_owned()), ..Overrides::default() };
    let policy = yaml_documents(&policy_file("{placement: {}}", &overrides)?)?.remove(0);
    let expressions = policy["spec"]["namespaceSelector"]["matchExpressions"].as_array().context("a list")?.iter();
    let found: Vec<Value> = expressions.map(|it| json!([it["key"], it["values"]])).collect();
    assert_eq!(Value::from(found), expected);
    Ok(())
}

#[rstest]
#[case::a_number("1.0")]
#[case::true_or_false("true")]
fn names_are_written_as_texts(#[case] name: &str) -> Result<()> {
    let name = Some(name.to_owned());
    let overrides =
        Overrides { name: name.clone(), module: name.clone(), policy_server: name.clone(), ..Overrides::default() };
    let policy = yaml_documents(&policy_file("{placement: {}}", &overrides)?)?.remove(0);
    let found = [&policy["metadata"]["name"], &policy["spec"]["module"], &policy["spec"]["policyServer"]];
    assert!(found.iter().all(|found| found.as_str() == name.as_deref()), "{policy}");
    Ok(())
}

#[rstest]
#[case::a_name(Overrides { name: Some("No Name".to_owned()), ..Overrides::default() }, "--name: expected lowercase")]
#[case::no_name(Overrides { name: Some(String::new()), ..Overrides::default() }, "--name: expected lowercase")]
#[case::no_module(Overrides { module: Some(String::new()), ..Overrides::default() }, "--module: expected a text of one line")]
#[case::two_lines(
    Overrides { policy_server: Some("a\nmutating: false".to_owned()), ..Overrides::default() },
    "--policy-server: expected a text of one line"
)]
fn options_that_nobody_could_deploy_are_refused(#[case] overrides: Overrides, #[case] told: &str) {
    for write in [policy_file, backstop_file, twin_file] {
        let error = write("{placement: {namespaces: [{name: a, requiredNodeSelector: b=c}]}}", &overrides);
        let error = format!("{:#}", error.expect_err("a mistake"));
        assert!(error.contains(told), "{error}");
    }
}

/// What users read is the table.
#[test]
fn the_documentation_has_the_table() -> Result<()> {
    ensure!(read("docs/operating.md")?.contains(&table()), "docs/operating.md lacks\n{}", table());
    Ok(())
}

/// The table as the documentation has it.
fn table() -> String {
    let mut table = "| Setting | Rules | Looks up | Updates that conditions must not exempt | `failurePolicy` |\n\
                     |---|---|---|---|---|\n"
        .to_owned();
    let list = |texts: Vec<String>| if texts.is_empty() { "–".to_owned() } else { texts.join(", ") };
    for Feature { settings, rules, looks_up, updates, needs_fail, .. } in FEATURES.iter() {
        let rule = |rule: &Rule| {
            let resources = rule.resources.iter().map(|resource| format!("`{resource}`")).collect();
            format!("{} {}", list(resources), rule.operations.join(", "))
        };
        table += &format!(
            "| {} | {} | {} | {} | {} |\n",
            list(settings.iter().map(setting_in_words).collect()),
            rules.iter().map(rule).collect::<Vec<_>>().join("; "),
            list(looks_up.iter().map(|it| it.kind.clone()).collect()),
            list(updates.iter().map(|update| update_in_words(*update).to_owned()).collect()),
            if *needs_fail { "`Fail`" } else { "`Fail` or `Ignore`" }
        );
    }
    table
}

fn setting_in_words(Setting { path, is, unless }: &Setting) -> String {
    match (is, unless) {
        (Some(choice), _) => format!("`{path}: {choice}`"),
        (None, Some(choice)) => format!("`{path}` unless `{choice}`"),
        (None, None) => format!("`{path}`"),
    }
}

const fn update_in_words(update: Update) -> &'static str {
    match update {
        Update::Unbound => "Pods that are not bound",
        Update::Tolerations => "bound Pods with new tolerations",
        Update::Bound => "bound Pods",
        Update::ManagedKeys => "managed keys of Pods being deleted",
        Update::Template => "changed Pod templates",
        Update::Selector => "changed selectors",
        Update::LabelsOrAnnotations => "changed labels or annotations",
    }
}

/// A condition that keeps away what a feature is about is found, whatever it is called; so is a rule that is missing.
#[test]
fn every_row_of_the_table_is_checked() -> Result<()> {
    for feature in FEATURES.iter() {
        let settings = settings_with(&feature.settings[0]);
        if !Policy::native().validate_settings(&settings)?.valid {
            // Of a policy to come.
            continue;
        }
        if feature.needs_fail {
            let mistakes = found(&settings, |spec| {
                spec["failurePolicy"] = "Ignore".into();
                spec["mode"] = "protect".into();
            })?;
            assert!(mistakes.mistakes.iter().any(|line| line.text.contains("needs Fail")), "{settings}: {mistakes:?}");
        }
        let (_, resource, operation) = feature.requests().next().context("a rule")?;
        let without = found(&settings, |spec| {
            let rules = spec["rules"].as_array_mut().expect("rules");
            for rule in rules.iter_mut() {
                rule["resources"].as_array_mut().expect("a list").retain(|name| name != resource);
            }
            rules.retain(|rule| rule["resources"] != json!([]));
        })?;
        let told = format!("of {resource} (");
        let told = |line: &Finding| {
            line.text.contains(operation) && line.text.contains(&told) || line.text.contains("at least one")
        };
        assert!(without.remarks.iter().chain(&without.mistakes).any(told), "{settings}: {without:?}");
    }
    Ok(())
}

/// What is said of the last of the policies for these settings, after a change.
fn found(settings: &Value, change: impl FnOnce(&mut Value)) -> Result<Findings> {
    let file = policies(&settings.to_string(), &Overrides::default())?.pop().context("a policy")?;
    let mut spec = file.policy.as_ref().context("a policy")?.spec.clone();
    change(&mut spec);
    let file = SettingsFile { policy: Some(cli::PolicySpec::read(&spec)?), ..file };
    findings(&file, slice::from_ref(&file), &Policy::native())
}

/// Settings with a feature, and what must stand around it.
fn settings_with(Setting { path, is, unless }: &Setting) -> Value {
    let value = match is.as_deref() {
        Some("true") => json!(true),
        Some(choice) => json!(choice),
        None if unless.is_some() => Value::Null,
        None => json!([]),
    };
    let value = match path.as_str() {
        "placement" | "podNodeSelectorPluginConfig" => json!({}),
        "nodeMetadata" => json!({ "propagate": [{ "nodeLabel": "a" }] }),
        "nodeMetadata.propagate[].podLabel" => json!("x/a"),
        path if path.starts_with("nodeMetadata.propagate[]") && value != true => json!("A"),
        _ => value,
    };
    let mut settings = path.rsplit('.').fold(value, |value, step| match step.strip_suffix("[]") {
        Some(list) => json!({ list: [value] }),
        None => json!({ step: value }),
    });
    if settings["placement"]["namespaces"].is_array() {
        settings["placement"]["namespaces"][0]["name"] = "a".into();
    }
    if path.starts_with("placement.onNodes") {
        settings["placement"]["clusterDefaultNodeSelector"] = "a=b".into();
    }
    if settings["nodeMetadata"].is_object() {
        if settings["nodeMetadata"]["propagate"].is_null() {
            settings["nodeMetadata"]["propagate"] = json!([{}]);
        }
        settings["nodeMetadata"]["propagate"][0]["nodeLabel"] = "a".into();
    }
    settings
}

#[test]
fn what_nobody_has_is_not_needed() {
    assert_eq!(Feature::in_settings(&json!({})).count(), 0);
}
