//! YAML in the documentation is what the policy takes and writes.

use std::fs;

use anyhow::{Context, Result, ensure};
use e2e_tests::{Manifests, read_document, read_documents};
use serde_json::{Value, json};

use super::{file, pages, policy, schema::settings};

/// What else stands between fences of YAML: Kubernetes objects, and parts of them and of other files. Files of tests are
/// run by the tool's own test of the pages.
const OTHERS: [&str; 7] = ["kind", "env", "matchConditions", "policyServer", "telemetry", "tests", "results"];

/// The settings in the documentation are valid as they stand there, a part of some in the place where it belongs.
#[test]
fn settings_in_the_documentation_are_valid() -> Result<()> {
    let policy = policy()?;
    let mut count = 0;
    for document in pages()? {
        for written in yaml_of(&document)? {
            let Some(settings) = settings_with(&written) else {
                let is_known = OTHERS.iter().any(|other| written.get(other).is_some());
                ensure!(is_known, "{document}: neither settings nor one of {OTHERS:?}: {written}");
                continue;
            };
            let answer = policy.validate_settings(&settings)?;
            ensure!(answer.valid, "{document}: {:?} of {settings}", answer.message);
            count += 1;
        }
    }
    ensure!(count > 30, "only {count} settings");
    Ok(())
}

/// The settings that something is, or is a part of.
fn settings_with(written: &Value) -> Option<Value> {
    if let Some(first) = written.get(0) {
        let is_entry = first.get("name").or(first.get("namespaceSelector")).is_some();
        return is_entry.then(|| json!({ "placement": { "namespaces": written } }));
    }
    let members = written.as_object()?;
    let known = settings();
    let are_of = |block: &str| members.keys().all(|key| known.contains_key(format!("{block}{key}").as_str()));
    if are_of("") || members.contains_key("podNodeSelectorPluginConfig") {
        return Some(written.clone());
    }
    let (block, mut whole) = match () {
        // What there is to guard, for onNodes.
        () if are_of("placement.") => ("placement", json!({ "clusterDefaultNodeSelector": "a" })),
        () if are_of("nodeMetadata.") => ("nodeMetadata", json!({ "propagate": [{ "nodeLabel": "a" }] })),
        () => return None,
    };
    whole.as_object_mut()?.extend(members.clone());
    Some(json!({ block: whole }))
}

/// What stands between fences of YAML, without the indentation of the list that it stands in.
pub fn yaml_of(document: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(file(document))?;
    let mut found = vec![];
    let mut lines = text.lines();
    while let Some(fence) = lines.find(|line| line.trim_start() == "```yaml") {
        let indentation = fence.len() - fence.trim_start().len();
        let block = lines.by_ref().take_while(|line| line.trim_start() != "```");
        let block = block.map(|line| line.get(indentation..).unwrap_or_default()).collect::<Vec<_>>().join("\n");
        found.push(yaml_serde::from_str(&block).with_context(|| format!("{document}: {block}"))?);
    }
    Ok(found)
}

/// The request to create an object in a namespace of the tenant in the README.
fn creation(resource: &str, object: &Value) -> Value {
    let group = if resource == "pods" { "" } else { "apps" };
    json!({
        "resource": { "group": group, "version": "v1", "resource": resource },
        "operation": "CREATE", "namespace": "blue-web", "userInfo": { "username": "ada" }, "object": object,
    })
}

fn namespace() -> Manifests {
    let metadata = json!({ "name": "blue-web", "labels": { "tenant": "blue" } });
    [json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })].into_iter().collect()
}

#[test]
fn the_pod_in_the_readme_becomes_what_stands_there() -> Result<()> {
    let blocks = yaml_of("README.md")?;
    let [before, after, settings, ..] = &*blocks else { panic!("{blocks:?}") };
    let answer = policy()?.validate(&creation("pods", before), settings, namespace())?.answer;
    assert_eq!(answer.mutated_object.as_ref(), Some(after), "{:?}", answer.message);
    Ok(())
}

/// As `kubectl` shows it, which breaks no lines.
#[test]
fn the_refusal_in_the_readme_is_the_modules() -> Result<()> {
    let text = fs::read_to_string(file("README.md"))?;
    let (_, shown) = text.split_once("denied\nthe request: ").context("a refusal")?;
    let (shown, _) = shown.split_once("\n```").context("its end")?;
    let spec = json!({ "nodeSelector": { "node-restriction.kubernetes.io/tenant": "red" } });
    let deployment = json!({ "metadata": { "name": "web" }, "spec": { "template": { "spec": spec } } });
    let settings = &yaml_of("README.md")?[2];
    let answer = policy()?.validate(&creation("deployments", &deployment), settings, namespace())?.answer;
    assert_eq!(answer.message, Some(shown.replace('\n', " ")));
    Ok(())
}

/// The platform of the recipes is the example, which is tested and previewed.
#[test]
fn the_platform_in_the_recipes_is_the_example() -> Result<()> {
    let blocks = yaml_of("docs/recipes.md")?;
    let [settings, node_pool, ..] = &*blocks else { panic!("{blocks:?}") };
    assert_eq!(settings, &read_document(&file("examples/platform-team/settings.yml"))?);
    let cluster = read_documents(&file("examples/platform-team/cluster.yml"))?;
    assert!(cluster.contains(node_pool), "{node_pool}");
    Ok(())
}

/// The reference shows what containers get.
#[test]
fn the_variable_in_the_reference_is_the_modules() -> Result<()> {
    let blocks = yaml_of("docs/settings.md")?;
    let position = blocks.iter().position(|block| block.get("env").is_some()).context("a variable")?;
    let settings = settings_with(&blocks[position - 1]).context("its settings")?;
    let pod = json!({ "metadata": { "name": "web" }, "spec": { "containers": [{ "name": "app" }] } });
    let answer = policy()?.validate(&creation("pods", &pod), &settings, namespace())?.answer;
    let changed = answer.mutated_object.with_context(|| format!("unchanged: {:?}", answer.message))?;
    assert_eq!(changed["spec"]["containers"][0]["env"], blocks[position]["env"]);
    Ok(())
}

/// What the cluster's suite reads out of the page and runs, for the webhook of the policy there.
#[test]
fn the_ways_out_of_an_outage_are_those_of_the_suite() -> Result<()> {
    let page = fs::read_to_string(file("docs/outage.md"))?;
    let delete = "kubectl delete mutatingwebhookconfiguration kw.cap.node-placement clusterwide-node-placement --ignore-not-found";
    let delete_other = "kubectl delete validatingwebhookconfiguration kw.cap.placement-verify clusterwide-placement-verify --ignore-not-found";
    let apply = "kubectl apply --server-side -f backstop.yml";
    for (fence, expected) in [("may fall", vec![delete, delete_other]), ("must stay", vec![apply, "sleep 10", delete])]
    {
        let mark = format!("<!-- The way out of an outage, the fence {fence}:");
        let (_, rest) = page.split_once(&mark).context("the mark")?;
        let (_, rest) = rest.split_once("```console\n").context("commands")?;
        let (commands, _) = rest.split_once("```").context("their end")?;
        assert_eq!(commands.trim_end().lines().map(str::trim_start).collect::<Vec<_>>(), expected);
    }
    Ok(())
}
