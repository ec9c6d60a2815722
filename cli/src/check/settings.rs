//! What is wrong with settings alone: the mistakes that the policy finds in them, and remarks on settings that are valid,
//! and that may do something else than what is meant.

use node_placement_policy::{
    selector::{Operator, Requirement, Selector, syntax},
    settings::{
        EntryAt, OnDefaultConflict, OnNodeName, Placement, SettingSelector, first_not_allowed, key::ForbiddenLabels,
    },
};
use serde_json::Value;

use super::{
    fences,
    finding::{Finding, Findings},
};
use crate::{
    Policy,
    engine::policy,
    input::{
        json::at,
        settings::{covers, covers_names, entries_at, entry_name, fence, namespace_selector, node_selector},
    },
};

/// Returns the mistakes that the policy finds in its settings. It reports all of them in one sentence, or the first
/// field that it can't read; the crate that it is made of has them one by one.
///
/// # Errors
/// The policy can't be run.
pub fn mistakes(settings: &Value, engine: &Policy) -> anyhow::Result<Vec<Finding>> {
    let answer = engine.validate_settings(settings)?;
    if answer.valid {
        return Ok(vec![]);
    }
    let message = answer.message.unwrap_or_default();
    let known = node_placement_policy::settings::mistakes(&settings.to_string());
    if known.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ") != message {
        return Ok(vec![Finding::from_line(&message)]);
    }
    let mut findings: Vec<Finding> = policy::mistakes(settings).into_iter().map(Finding::from).collect();
    for finding in &mut findings {
        if let Some((found, key)) = foreign_reference(settings, &finding.path) {
            finding.text += &format!("; for {found}, write $({key})");
        }
    }
    Ok(findings)
}

/// What brackets a reference elsewhere: in shells and Kyverno's older policies, in templates.
const FOREIGN_BRACKETS: [(&str, &str); 2] = [("${", "}"), ("{{", "}}")];

/// Returns a reference to a label of the Namespace as other tools write it, in a text at `path` of the settings: all of
/// it, and its key.
fn foreign_reference<'s>(settings: &'s Value, path: &str) -> Option<(String, &'s str)> {
    // Its node selectors may have references, and the values of its tolerations.
    let may_refer = path.contains("NodeSelector") || path.ends_with("].value");
    if !path.starts_with("placement.namespaces[") || !may_refer {
        return None;
    }
    let text = at(settings, path)?.as_str()?;
    FOREIGN_BRACKETS.iter().find_map(|(open, close)| {
        let (_, rest) = text.split_once(open)?;
        let (key, _) = rest.split_once(close)?;
        Some((format!("{open}{key}{close}"), key.trim().trim_start_matches('.')))
    })
}

/// Adds remarks on a block `placement` that is valid. It is one of those of a whole `deployment`, which may consist of
/// several policies.
pub fn find(placement: &Placement, deployment: &[&Placement], findings: &mut Findings) {
    let entries: Vec<EntryAt<'_>> = entries_at(placement).collect();
    for at in &entries {
        if let Some(text) = entries.iter().take(at.position).find_map(|before| covered(*before, *at)) {
            findings.remark(at.to_string(), text);
        }
    }
    fences::find(placement, deployment, findings);
    for at in entries {
        find_in_limits(at, placement, findings);
    }
    for (position, username) in placement.exempt_usernames.iter().enumerate() {
        if let Some(problem) = problem_of_username(username) {
            findings.remark(format!("placement.exemptUsernames[{position}]"), format!("{username:?} {problem}"));
        }
    }
}

/// Returns what an earlier entry takes from a later one, which then never holds, or hardly ever. An entry that has a
/// name alone is a mistake then, which the policy finds itself.
fn covered(earlier: EntryAt<'_>, later: EntryAt<'_>) -> Option<String> {
    let (name, before) = (entry_name(later.entry), entry_name(earlier.entry));
    let before = format!("{before}, {earlier}, comes before and takes all of its namespaces");
    if covers(earlier.entry, later.entry) {
        return Some(format!("{name} never holds: {before}; move it up"));
    }
    if earlier.entry.pod_selector.is_some() || !covers_names(earlier.entry, later.entry) {
        return None;
    }
    let most = met_by_most(&namespace_selector(earlier.entry), &namespace_selector(later.entry))?;
    Some(format!("{name} hardly ever holds: {before} that meet {most}; move it up"))
}

/// Returns the part of `earlier` that `later` does not demand, if namespaces without those labels meet it. Of a narrow
/// entry before a general one, this is meant.
fn met_by_most(earlier: &Selector, later: &Selector) -> Option<Selector> {
    if earlier.implies(later) {
        return None;
    }
    let is_beyond = |requirement: &&Requirement| !later.implies(&Selector::new(vec![(*requirement).clone()]));
    let beyond: Vec<Requirement> = earlier.requirements().iter().filter(is_beyond).cloned().collect();
    let is_met_by_most = |own: &Requirement| own.accepts(None) && later.on(own.key()).is_empty();
    beyond.iter().all(is_met_by_most).then(|| Selector::new(beyond))
}

/// Adds remarks on what an entry says of the labels that Pods may request.
fn find_in_limits(at: EntryAt<'_>, placement: &Placement, findings: &mut Findings) {
    let allowed = at.entry.allowed_node_selector.as_deref().and_then(node_selector);
    if let Some(text) = allowed.as_ref().and_then(|allowed| wrong_whitelist(at, allowed, placement)) {
        findings.remark(format!("{at}.allowedNodeSelector"), text);
    }
    let forbidden = ForbiddenLabels::new(&at.entry.forbidden_node_labels);
    let named = |allowed: &Selector| {
        let key = allowed.requirements().iter().map(Requirement::key).find(|key| forbidden.names(key))?;
        Some(format!("forbids {key}, which allowedNodeSelector allows; remove it from one of the two"))
    };
    let text = match allowed {
        _ if at.entry.forbidden_node_labels.is_empty() => None,
        Some(allowed) if allowed.is_empty() => {
            Some("allowedNodeSelector is empty, so Pods may request no label anyway; remove one of the two".to_owned())
        }
        Some(allowed) => named(&allowed),
        None => None,
    };
    let may_name_nodes = forbidden.names(HOSTNAME) && placement.on_node_name != OnNodeName::Reject;
    let of_names = may_name_nodes.then(|| {
        format!("forbids {HOSTNAME}, but Pods may still choose a node by spec.nodeName; set onNodeName: Reject")
    });
    for text in text.into_iter().chain(of_names) {
        findings.remark(format!("{at}.forbiddenNodeLabels"), text);
    }
}

/// The label of a Node's name.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Returns what a whitelist refuses beyond what Pods request: every Pod, or any choice.
fn wrong_whitelist(at: EntryAt<'_>, allowed: &Selector, placement: &Placement) -> Option<String> {
    let fence = fence(at.entry);
    // Beside a fence an empty one is meant: Pods get the nodes of the fence, and have no choice.
    let is_empty = allowed.is_empty() && fence.is_none();
    let is_negative =
        |own: &Requirement| matches!(own.operator(), Operator::DoesNotExist | Operator::NotEquals | Operator::NotIn);
    if let Some(refused) = refused_default(at, &fence.unwrap_or_default(), placement) {
        Some(refused)
    } else if is_empty {
        Some("empty, so a Pod may request no node at all; leave it out to allow everything".to_owned())
    } else if !allowed.is_empty() && allowed.requirements().iter().all(is_negative) {
        Some(format!(
            "has negative requirements only, so a Pod may request no other label; name those that it may, such as \
             {allowed}, disktype; to forbid a label, use forbiddenNodeLabels"
        ))
    } else {
        None
    }
}

/// Returns the cluster's default, which the whitelist of an entry without a default of its own does not allow. The
/// entry requires its `fence`. As
/// in-tree, every Pod that gets it is refused. Where nothing at all can avert that, the policy calls it a mistake.
fn refused_default(at: EntryAt<'_>, fence: &Selector, placement: &Placement) -> Option<String> {
    if at.entry.default_node_selector.is_some() {
        return None;
    }
    let default = node_selector(placement.cluster_default_node_selector.as_deref()?)?;
    let allowed = SettingSelector::read(at.entry.allowed_node_selector.as_deref()?).ok()?;
    let refused = first_not_allowed(&default, &allowed, fence, placement.on_node_affinity)?;
    let unless = match (placement.on_default_conflict, placement.namespace_annotations.0.is_empty()) {
        (OnDefaultConflict::Yield, _) => "that does not choose the label itself",
        (_, false) => "unless its namespace has an annotation",
        (_, true) => return None,
    };
    Some(format!(
        "it does not allow {refused}, which placement.clusterDefaultNodeSelector adds to Pods, so every Pod is refused \
         {unless}; give the entry a defaultNodeSelector that it allows"
    ))
}

/// Groups that are taken for users.
///
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

/// Returns why no request for Pods is of a user of this name.
fn problem_of_username(username: &str) -> Option<&'static str> {
    let is_group =
        |group: &&str| username.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
    // Upstream: `SplitUsername` of `k8s.io/apiserver/pkg/authentication/serviceaccount`.
    let is_service_account =
        |(namespace, name): (&str, &str)| syntax::is_dns_label(namespace) && syntax::is_subdomain(name);
    let service_account = username.strip_prefix("system:serviceaccount:");
    match username {
        _ if GROUPS.iter().any(is_group) => Some(
            "is a group, and exempts nobody; write the name of a user, such as system:serviceaccount:NAMESPACE:NAME",
        ),
        _ if username.starts_with("system:node:") => {
            Some("is a kubelet, whose Pods are mirror Pods, which are exempt anyway; remove it")
        }
        _ if service_account.is_some_and(|rest| !rest.split_once(':').is_some_and(is_service_account)) => {
            Some("is no service account, and exempts nobody; write system:serviceaccount:NAMESPACE:NAME")
        }
        // It binds Pods, which exemptions are not about.
        "system:kube-scheduler" => Some("creates no Pods, and so exempts no Pod; remove it"),
        _ if username.contains(char::is_whitespace) => Some("has a space, and exempts nobody; remove the space"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use node_placement_policy::settings::Settings;

    use super::{Findings, find};

    /// Returns all remarks on a block `placement`, a line each.
    fn said(placement: &str) -> Vec<String> {
        let placement: serde_json::Value = yaml_serde::from_str(placement).unwrap();
        let text = serde_json::json!({ "placement": placement }).to_string();
        let mistakes = node_placement_policy::settings::mistakes(&text);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let placement = Settings::read(Some(&text)).unwrap().placement.unwrap();
        let mut findings = Findings::default();
        find(&placement, &[&placement], &mut findings);
        findings.remarks.iter().map(ToString::to_string).collect()
    }

    const FENCE: &str = "requiredNodeSelector: node-restriction.kubernetes.io/pool=a";
    const REST: &str = "{ name: '*', requiredNodeSelector: '!node-restriction.kubernetes.io/pool' }";

    /// Replaces `FENCE` and `REST` in rows, which stand for what is not of interest there.
    fn with_fences(row: &str) -> String {
        row.replace("FENCE", FENCE).replace("REST", REST)
    }

    #[rstest::rstest]
    #[case::a_general_entry_above_a_narrow_one(
        "{ onBindings: Verify, namespaces: [{ namespaceSelector: tenant, FENCE }, { namespaceSelector: tenant=blue, FENCE }, REST] }",
        "placement.namespaces[1]: the entry for tenant=blue never holds: the entry for tenant, placement.namespaces[0], \
         comes before and takes all of its namespaces; move it up"
    )]
    #[case::a_general_entry_above_one_for_a_name(
        "{ namespaces: [{ namespaceSelector: '!sandbox' }, { name: team-a, namespaceSelector: '!sandbox, tier' }] }",
        "placement.namespaces[1]: the entry for team-a with !sandbox, tier never holds: the entry for !sandbox, \
         placement.namespaces[0], comes before and takes all of its namespaces; move it up"
    )]
    #[case::the_label_of_the_name(
        "{ namespaces: [{ namespaceSelector: 'kubernetes.io/metadata.name in (a, b)' }, { name: a }] }",
        "placement.namespaces[1]: the entry for a never holds: the entry for kubernetes.io/metadata.name in (a, b), \
         placement.namespaces[0], comes before and takes all of its namespaces; move it up"
    )]
    #[case::an_entry_that_takes_most(
        "{ namespaces: [{ namespaceSelector: 'tenant, !sandbox' }, { namespaceSelector: tenant=blue }] }",
        "placement.namespaces[1]: the entry for tenant=blue hardly ever holds: the entry for tenant, !sandbox, \
         placement.namespaces[0], comes before and takes all of its namespaces that meet !sandbox; move it up"
    )]
    #[case::no_entry_for_the_rest(
        "{ onBindings: Verify, namespaces: [{ name: blue, FENCE }] }",
        "placement.namespaces: other namespaces have no entry, so their Pods may run on the nodes of others; add \
         a last entry for the rest, such as {name: \"*\", requiredNodeSelector: \"!node-restriction.kubernetes.io/pool\"}"
    )]
    #[case::a_default_for_the_rest_that_yields(
        "{ onBindings: Verify, clusterDefaultNodeSelector: a.k8s.io/e=dev, onDefaultConflict: Yield, \
         namespaces: [{ name: blue, FENCE }] }",
        "placement.namespaces: other namespaces have no entry, so their Pods may run on the nodes of others; add \
         a last entry for the rest, such as {name: \"*\", requiredNodeSelector: \"!node-restriction.kubernetes.io/pool\"}"
    )]
    #[case::values_that_no_entry_is_for(
        "{ onBindings: Verify, namespaces: [{ namespaceSelector: 't in (a,b)', FENCE }, { namespaceSelector: '!t', requiredNodeSelector: '!node-restriction.kubernetes.io/pool' }] }",
        "placement.namespaces: namespaces with another value of t have no entry, so their Pods may run on the nodes of \
         others; add a last entry for the rest, such as {name: \"*\", requiredNodeSelector: \
         \"!node-restriction.kubernetes.io/pool\"}"
    )]
    #[case::an_entry_for_the_rest_without_a_fence(
        "{ onBindings: Verify, namespaces: [{ name: blue, FENCE }, { name: '*', defaultNodeSelector: '!node-restriction.kubernetes.io/pool' }] }",
        "placement.namespaces[1]: the entry for the rest does not keep Pods off the nodes of the entry for blue, \
         placement.namespaces[0]; add requiredNodeSelector: \"!node-restriction.kubernetes.io/pool\""
    )]
    #[case::an_entry_for_the_rest_that_leaves_out_a_label(
        "{ onBindings: Verify, namespaces: [{ name: blue, FENCE }, { name: red, requiredNodeSelector: 'a.k8s.io/rack=r' }, REST] }",
        "placement.namespaces[2]: the entry for the rest does not keep Pods off the nodes of the entry for red, \
         placement.namespaces[1]; add to requiredNodeSelector: \"!a.k8s.io/rack\""
    )]
    #[case::an_entry_for_the_rest_that_only_warns(
        "{ onBindings: Verify, namespaces: [{ name: blue, FENCE }, { name: '*', enforcement: Warn, requiredNodeSelector: '!node-restriction.kubernetes.io/pool' }] }",
        "placement.namespaces[1].enforcement: Warn, so other namespaces may run Pods on the nodes of the entry for blue until \
         it is enforced; remove it when their workloads are ready"
    )]
    #[case::a_label_that_kubelets_set(
        "{ onBindings: Verify, namespaces: [{ name: a, requiredNodeSelector: 'pool=a' }, { name: '*', requiredNodeSelector: '!pool' }] }",
        "placement.namespaces[0].requiredNodeSelector: every kubelet may set the label pool of its own Node, and so get Pods \
         that are not for it; use a label below node-restriction.kubernetes.io/, or set onNodes"
    )]
    #[case::a_label_that_the_kubelet_has_by_itself(
        "{ onBindings: Verify, namespaces: [{ name: '*', requiredNodeSelector: 'node.kubernetes.io/instance-type=a' }] }",
        "placement.namespaces[0].requiredNodeSelector: every kubelet may set the label node.kubernetes.io/instance-type of \
         its own Node, and so get Pods that are not for it; use a label below node-restriction.kubernetes.io/, or set onNodes"
    )]
    #[case::bindings_that_are_not_verified(
        "{ namespaces: [{ name: blue, FENCE }, REST] }",
        "placement.onBindings: Ignore, so whoever may create Bindings can bind a Pod to any node, past \
         placement.namespaces[0].requiredNodeSelector; set Verify"
    )]
    #[case::an_empty_whitelist(
        "{ namespaces: [{ name: a, allowedNodeSelector: '' }] }",
        "placement.namespaces[0].allowedNodeSelector: empty, so a Pod may request no node at all; leave it out to allow \
         everything"
    )]
    #[case::an_absence_alone(
        "{ onBindings: Verify, namespaces: [{ name: a, FENCE, allowedNodeSelector: '!kubernetes.io/hostname' }, REST] }",
        "placement.namespaces[0].allowedNodeSelector: has negative requirements only, so a Pod may request no other label; name \
         those that it may, such as !kubernetes.io/hostname, disktype; to forbid a label, use forbiddenNodeLabels"
    )]
    #[case::other_values_alone(
        "{ onBindings: Verify, namespaces: [{ name: a, FENCE, allowedNodeSelector: 'a!=gold, b notin (c)' }, REST] }",
        "placement.namespaces[0].allowedNodeSelector: has negative requirements only, so a Pod may request no other label; name \
         those that it may, such as a!=gold,b notin (c), disktype; to forbid a label, use forbiddenNodeLabels"
    )]
    #[case::nodes_that_pods_name(
        "{ onBindings: Verify, onNodeName: Ignore, namespaces: [{ name: blue, FENCE }, REST] }",
        "placement.onNodeName: Ignore, so whoever may create Pods can write any node into spec.nodeName, past \
         placement.namespaces[0].requiredNodeSelector; set Verify"
    )]
    #[case::a_hostname_that_pods_can_name(
        "{ namespaces: [{ name: a, forbiddenNodeLabels: ['kubernetes.io/*'] }] }",
        "placement.namespaces[0].forbiddenNodeLabels: forbids kubernetes.io/hostname, but Pods may still choose a node by \
         spec.nodeName; set onNodeName: Reject"
    )]
    #[case::a_forbidden_label_beside_an_empty_whitelist(
        "{ onBindings: Verify, namespaces: [{ name: a, FENCE, allowedNodeSelector: '', forbiddenNodeLabels: [pool] }, REST] }",
        "placement.namespaces[0].forbiddenNodeLabels: allowedNodeSelector is empty, so Pods may request no label anyway; remove \
         one of the two"
    )]
    #[case::a_forbidden_label_that_is_allowed(
        "{ namespaces: [{ name: a, allowedNodeSelector: 'disktype, pool in (a, b)', forbiddenNodeLabels: [pool] }] }",
        "placement.namespaces[0].forbiddenNodeLabels: forbids pool, which allowedNodeSelector allows; remove it from one of the \
         two"
    )]
    #[case::a_default_that_the_whitelist_refuses(
        "{ clusterDefaultNodeSelector: env=dev, namespaces: [{ name: a, allowedNodeSelector: disktype }] }",
        "placement.namespaces[0].allowedNodeSelector: it does not allow env=dev, which placement.clusterDefaultNodeSelector \
         adds to Pods, so every Pod is refused unless its namespace has an annotation; give the entry a defaultNodeSelector that it allows"
    )]
    #[case::a_default_that_the_whitelist_refuses_and_that_yields(
        "{ clusterDefaultNodeSelector: env=dev, onDefaultConflict: Yield, namespaceAnnotations: [], \
         namespaces: [{ name: a, allowedNodeSelector: '' }] }",
        "placement.namespaces[0].allowedNodeSelector: it does not allow env=dev, which placement.clusterDefaultNodeSelector \
         adds to Pods, so every Pod is refused that does not choose the label itself; give the entry a defaultNodeSelector that it allows"
    )]
    #[case::a_group(
        "{ exemptUsernames: ['system:serviceaccounts:kueue-system'] }",
        "placement.exemptUsernames[0]: \"system:serviceaccounts:kueue-system\" is a group, and exempts nobody; write the \
         name of a user, such as system:serviceaccount:NAMESPACE:NAME"
    )]
    #[case::a_service_account_without_a_name(
        "{ exemptUsernames: ['system:serviceaccount:kueue-system'] }",
        "placement.exemptUsernames[0]: \"system:serviceaccount:kueue-system\" is no service account, and exempts nobody; \
         write system:serviceaccount:NAMESPACE:NAME"
    )]
    #[case::a_kubelet(
        "{ exemptUsernames: ['system:node:node-a'] }",
        "placement.exemptUsernames[0]: \"system:node:node-a\" is a kubelet, whose Pods are mirror Pods, which are exempt \
         anyway; remove it"
    )]
    fn what_may_be_meant_otherwise_is_said(#[case] placement: &str, #[case] remark: &str) {
        assert_eq!(said(&with_fences(placement)), [remark]);
    }

    #[rstest::rstest]
    #[case::nothing("{}")]
    #[case::the_narrow_entry_first(
        "{ onBindings: Verify, namespaces: [{ namespaceSelector: tenant=blue, FENCE }, { namespaceSelector: tenant, FENCE }, REST] }"
    )]
    #[case::a_narrow_entry_by_an_absence(
        "{ namespaces: [{ namespaceSelector: 'tenant, !gpu' }, { namespaceSelector: tenant }] }"
    )]
    #[case::other_names(
        "{ namespaces: [{ name: a-*, namespaceSelector: tenant }, { name: b-*, namespaceSelector: tenant }] }"
    )]
    #[case::a_name_within_others("{ namespaces: [{ name: team-a, namespaceSelector: tenant }, { name: team-* }] }")]
    #[case::other_values(
        "{ namespaces: [{ namespaceSelector: 't in (a, b)' }, { namespaceSelector: 't in (b, c)' }] }"
    )]
    #[case::one_label_and_its_absence(
        "{ onBindings: Verify, namespaces: [{ namespaceSelector: tenant, FENCE }, { namespaceSelector: '!tenant', FENCE }] }"
    )]
    #[case::numbers(
        "{ onBindings: Verify, namespaces: [{ namespaceSelector: 't in (1, 2), t', FENCE }, { namespaceSelector: 't notin (1, 2)', FENCE }] }"
    )]
    #[case::a_default_for_the_rest(
        "{ onBindings: Verify, clusterDefaultNodeSelector: a=b, \
         namespaces: [{ name: blue, FENCE, defaultNodeSelector: '' }] }"
    )]
    #[case::nodes_of_its_own_for_the_rest(
        "{ onBindings: Verify, namespaces: [{ name: blue, FENCE }, { name: '*', requiredNodeSelector: 'a.k8s.io/pool=shared' }] }"
    )]
    #[case::all_entries_only_warn(
        "{ onBindings: Verify, namespaces: [{ name: blue, enforcement: Warn, FENCE }, { name: '*', enforcement: Warn, requiredNodeSelector: '!node-restriction.kubernetes.io/pool' }] }"
    )]
    #[case::guarded_nodes(
        "{ onBindings: Verify, onNodes: Reject, namespaces: [{ name: '*', requiredNodeSelector: pool=a }] }"
    )]
    #[case::a_label_that_no_kubelet_may_set(
        "{ onBindings: Verify, namespaces: [{ name: '*', requiredNodeSelector: 'example.k8s.io/a=b, node-role.kubernetes.io/worker' }] }"
    )]
    #[case::a_whitelist_that_allows_nothing_beside_a_fence(
        "{ onBindings: Verify, namespaces: [{ name: '*', FENCE, allowedNodeSelector: '' }] }"
    )]
    #[case::a_whitelist_that_allows_the_default(
        "{ clusterDefaultNodeSelector: env=dev, namespaces: [{ name: a, allowedNodeSelector: 'env in (dev, test)' }] }"
    )]
    #[case::a_default_that_the_entry_demands(
        "{ onBindings: Verify, clusterDefaultNodeSelector: a.k8s.io/e=dev, \
         namespaces: [{ name: a, requiredNodeSelector: 'a.k8s.io/e in (dev)', allowedNodeSelector: disktype }, \
         { name: '*', requiredNodeSelector: '!a.k8s.io/e', defaultNodeSelector: '' }] }"
    )]
    #[case::a_default_that_no_whitelist_sees(
        "{ clusterDefaultNodeSelector: 'env in (dev, test)', onNodeAffinity: Ignore, \
         namespaces: [{ name: a, allowedNodeSelector: disktype }] }"
    )]
    #[case::a_default_that_a_reference_may_allow(
        "{ clusterDefaultNodeSelector: env=dev, namespaces: [{ namespaceSelector: env, allowedNodeSelector: 'env=$(env)' }] }"
    )]
    #[case::a_whitelist_with_an_absence(
        "{ onBindings: Verify, namespaces: [{ name: a, FENCE, allowedNodeSelector: 'disktype, !spot' }, REST] }"
    )]
    #[case::a_hostname_where_no_pod_names_its_node(
        "{ onNodeName: Reject, namespaces: [{ name: a, allowedNodeSelector: disktype, forbiddenNodeLabels: ['kubernetes.io/*'] }] }"
    )]
    #[case::a_service_account(
        "{ exemptUsernames: ['system:serviceaccount:kueue-system:kueue-controller-manager', ada] }"
    )]
    #[case::an_entry_for_some_pods_above_one_for_a_name(
        "{ namespaces: [{ name: '*', podSelector: app=agent }, { name: team-a, podSelector: app=web }] }"
    )]
    fn what_is_meant_is_not_mentioned(#[case] placement: &str) {
        assert_eq!(said(&with_fences(placement)), Vec::<String>::new());
    }
}
