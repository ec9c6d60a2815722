//! Settings that are valid, and that may do something else than what is meant.

pub mod entries;
mod exempt_usernames;
mod fences;
mod whitelists;

use node_placement_policy::settings::Placement;

use super::finding::Finding;

/// What there is to be said about a block `placement` that is valid. It is one of those of a whole `deployment`, which may
/// consist of several policies.
pub fn remarks(placement: &Placement, deployment: &[&Placement]) -> Vec<Finding> {
    let mut remarks = entries::find_covered(placement);
    remarks.extend(fences::unfenced_rest(placement));
    remarks.extend(fences::warned_rest(placement));
    remarks.extend(fences::labels_of_kubelets(placement, deployment));
    remarks.extend(fences::unverified_bindings(placement, deployment));
    remarks.extend(whitelists::find(placement));
    remarks.extend(exempt_usernames::find(placement));
    remarks
}

#[cfg(test)]
mod tests {
    use node_placement_policy::settings::Settings;

    use super::remarks;

    /// All remarks on a block `placement`, a line each.
    fn said(placement: &str) -> Vec<String> {
        let placement: serde_json::Value = yaml_serde::from_str(placement).unwrap();
        let text = serde_json::json!({ "placement": placement }).to_string();
        let mistakes = node_placement_policy::settings::mistakes(&text);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let placement = Settings::read(Some(&text)).unwrap().placement.unwrap();
        remarks(&placement, &[&placement]).iter().map(ToString::to_string).collect()
    }

    const FENCE: &str = "requiredNodeSelector: node-restriction.kubernetes.io/pool=a";
    const REST: &str = "{ name: '*', requiredNodeSelector: '!node-restriction.kubernetes.io/pool' }";

    /// `FENCE` and `REST` in rows stand for what is not of interest there.
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
        "placement.namespaces[0].allowedNodeSelector: empty, so a Pod may ask for no node at all; leave it out to allow \
         everything"
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
    #[case::a_service_account(
        "{ exemptUsernames: ['system:serviceaccount:kueue-system:kueue-controller-manager', ada] }"
    )]
    fn what_is_meant_is_not_mentioned(#[case] placement: &str) {
        assert_eq!(said(&with_fences(placement)), Vec::<String>::new());
    }
}
