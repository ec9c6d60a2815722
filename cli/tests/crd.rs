//! The schema that policies are checked with is that of Kubewarden's SDK.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use kubewarden_policy_sdk::crd::policies::cluster_admission_policy::ClusterAdmissionPolicySpec;
use schemars::{
    schema_for,
    transform::{RecursiveTransform, Transform},
};
use serde_json::json;

#[test]
fn the_schema_is_the_sdks() -> Result<()> {
    let mut schema = schema_for!(ClusterAdmissionPolicySpec);
    RecursiveTransform(|schema: &mut schemars::Schema| drop(schema.remove("description"))).transform(&mut schema);
    let mut schema = schema.to_value();
    // Kubewarden knows it since 1.33, its SDK does not yet.
    schema["properties"]["allowInsideAdmissionControllerNamespace"] = json!({ "type": "boolean" });
    let expected = serde_json::to_string_pretty(&schema)? + "\n";
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/policies/cluster_admission_policy.schema.json");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cluster_admission_policy.schema.json");
    fs::write(&made, &expected)?;
    let (made, there) = (made.display(), kept.display());
    ensure!(fs::read_to_string(&kept)? == expected, "the SDK has another schema: cp {made} {there}");
    Ok(())
}
