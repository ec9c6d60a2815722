//! What a ClusterAdmissionPolicy says beside its `spec`.

use node_placement_policy::selector::syntax::is_subdomain;
use serde_json::Value;

use crate::{check::finding::Finding, policies::policy_file::NAME_OF_AN_OBJECT};

/// Where its name stands.
pub const NAME: &str = "metadata.name";

const API_VERSION: &str = "policies.kubewarden.io/v1";

/// What the API server would refuse.
pub fn find(policy: &Value) -> Vec<Finding> {
    let mut mistakes = vec![];
    let found = &policy["apiVersion"];
    if found != API_VERSION {
        mistakes.push(Finding::new("apiVersion", format!("expected {API_VERSION}; found {found}")));
    }
    let name = &policy["metadata"]["name"];
    if !name.is_null() && !name.as_str().is_some_and(is_subdomain) {
        mistakes.push(Finding::new(NAME, format!("expected {NAME_OF_AN_OBJECT}; found {name}")));
    }
    mistakes
}
