//! A policy's fields, as the tool reads them, are those of Kubewarden's SDK.

use std::collections::BTreeSet;

use cli::PolicySpec;
use kubewarden_policy_sdk::crd::policies::cluster_admission_policy::ClusterAdmissionPolicySpec;
use serde_aux::serde_introspection::serde_introspect;

#[test]
fn the_fields_are_the_sdks() {
    let own: BTreeSet<&str> = serde_introspect::<PolicySpec>().iter().copied().collect();
    let mut expected: BTreeSet<&str> = serde_introspect::<ClusterAdmissionPolicySpec>().iter().copied().collect();
    // Kubewarden knows it since 1.33, its SDK does not yet.
    assert!(
        expected.insert("allowInsideAdmissionControllerNamespace"),
        "the SDK has it by now: no exception is needed"
    );
    assert_eq!(own, expected);
}
