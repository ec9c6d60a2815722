//! Users that are exempt, and that send no request for Pods.

use node_placement_policy::{selector::syntax, settings::Placement};

use crate::check::finding::Finding;

/// It binds Pods, which exemptions are not about.
const SCHEDULER: &str = "system:kube-scheduler";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Upstream: `k8s.io/apiserver/pkg/authentication/user` and `…/serviceaccount`.
const GROUPS: [&str; 7] = [
    "system:masters",
    "system:nodes",
    "system:authenticated",
    "system:unauthenticated",
    "system:serviceaccounts",
    "system:monitoring",
    "system:bootstrappers",
];

/// One for each such name.
pub fn find(placement: &Placement) -> Vec<Finding> {
    let find = |(position, username): (usize, &String)| {
        let problem = problem(username)?;
        Some(Finding::new(format!("placement.exemptUsernames[{position}]"), format!("{username:?} {problem}")))
    };
    placement.exempt_usernames.iter().enumerate().filter_map(find).collect()
}

fn problem(username: &str) -> Option<&'static str> {
    let is_group =
        |group: &str| username.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
    if GROUPS.iter().any(|group| is_group(group)) {
        return Some(
            "is a group, and exempts nobody; write the name of a user, such as system:serviceaccount:NAMESPACE:NAME",
        );
    }
    if username.starts_with("system:node:") {
        return Some("is a kubelet, whose Pods are mirror Pods, which are exempt anyway; remove it");
    }
    if username.starts_with(SERVICE_ACCOUNT) && !is_service_account(username) {
        return Some("is no service account, and exempts nobody; write system:serviceaccount:NAMESPACE:NAME");
    }
    if username == SCHEDULER {
        return Some("creates no Pods, and so exempts no Pod; remove it");
    }
    username.contains(char::is_whitespace).then_some("has a space, and exempts nobody; remove the space")
}

/// Upstream: `SplitUsername` of `k8s.io/apiserver/pkg/authentication/serviceaccount`.
fn is_service_account(username: &str) -> bool {
    let parts = username.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':'));
    parts.is_some_and(|(namespace, name)| syntax::is_dns_label(namespace) && syntax::is_subdomain(name))
}
