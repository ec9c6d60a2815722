//! What stands beside the module in a registry, and the module's size.

use std::fs;

use anyhow::{Context, Result, ensure};
use e2e_tests::{policy_metadata, policy_module, read_document};
use serde_json::{Value, json};

use super::{
    REGISTRY, SOURCE, VERSION, file,
    rules::{known_rules, rules},
};

#[test]
fn the_metadata_is_complete() -> Result<()> {
    let metadata = read_document(&policy_metadata())?;
    assert_eq!(rules(&metadata["rules"])?, known_rules());
    assert_eq!(metadata["mutating"], true);
    assert_eq!(metadata["backgroundAudit"], false);
    assert_eq!(metadata["executionMode"], "kubewarden-wapc");
    assert_eq!(metadata["hostCapabilities"], json!(["kubernetes/get_resource"]));
    let resources = json!([
        { "apiVersion": "v1", "kind": "Namespace" },
        { "apiVersion": "v1", "kind": "Node" },
        { "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass" },
    ]);
    assert_eq!(metadata["contextAwareResources"], resources);
    assert_eq!(metadata["minimumKubewardenVersion"], "1.33.0");
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
    let install = package["install"].as_str().unwrap_or_default();
    assert!(install.contains("/examples") && !install.contains("scaffold manifest"), "{install}");
    Ok(())
}

#[test]
fn the_module_is_small() -> Result<()> {
    let size = fs::metadata(policy_module()?)?.len();
    ensure!(size <= 570 * 1024, "policy.wasm has {size} bytes");
    Ok(())
}
