//! The preview of a cluster: who may run where, what would wait, what other settings change, and the page.

use anyhow::{Context, Result, ensure};
use cli::{
    Manifests, Policy, SettingsFile,
    preview::scheduler::{lasts, matches_node, untolerated},
    preview::{
        Changes, Finding, Origin, Preview, Tally, Verdict, advice, page, page_of_changes, pools::State, report,
        report_of_changes, trial,
    },
};
use rstest::rstest;
use serde_json::{Value, json};

fn file(settings: &str) -> Result<SettingsFile> {
    let mut files = SettingsFile::read_all(vec![yaml_serde::from_str(settings)?])?;
    files.pop().context("settings")
}

fn tally(settings: &str, cluster: Manifests) -> Result<Tally> {
    Preview::new(&Policy::native(), &file(settings)?, cluster, true).run(|_, _| {})
}

fn origin() -> Origin {
    Origin::now("cluster.json".to_owned(), "settings.yml".to_owned(), None)
}

fn node(name: &str, labels: Value, taints: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels }, "spec": { "taints": taints } })
}

fn namespace(name: &str, labels: Value, annotations: Value) -> Value {
    let metadata = json!({ "name": name, "labels": labels, "annotations": annotations });
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })
}

fn pod(namespace: &str, name: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["containers"] = json!([{ "name": "c", "image": "i" }]);
    let metadata = json!({ "namespace": namespace, "name": name });
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": { "phase": "Running" } })
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        &values[usize::try_from(self.0 >> 33).unwrap_or_default() % values.len()]
    }
}

/// Of some nodes, namespaces and Pods, whatever comes.
fn any_cluster(dice: &mut Dice, nodes: usize) -> Vec<Value> {
    let labels =
        [json!({}), json!({ "pool": "a" }), json!({ "pool": "b", "disk": "ssd" }), json!({ "pool": "a", "n": "7" })];
    let taint = |key: &str, effect: &str| json!({ "key": key, "value": "x", "effect": effect });
    let taints = [
        json!([]),
        json!([]),
        json!([taint("team", "NoSchedule")]),
        json!([taint("team", "NoExecute"), taint("gpu", "NoSchedule")]),
        json!([taint("soft", "PreferNoSchedule"), taint("node.kubernetes.io/not-ready", "NoExecute")]),
    ];
    let key = "scheduler.alpha.kubernetes.io/node-selector";
    let annotations = [
        json!({}),
        json!({ key: "pool=b" }),
        json!({ key: "" }),
        json!({ key: "n>5, pool notin (b)" }),
        json!({ key: "a in" }),
    ];
    let tenants = [json!({}), json!({ "tenant": "a" }), json!({ "tenant": "b" })];
    let mut objects = vec![];
    for index in 0..nodes {
        objects.push(node(&format!("node-{index}"), dice.roll(&labels).clone(), dice.roll(&taints).clone()));
    }
    for index in 0..12 {
        let name = format!("{}-{index}", dice.roll(&["team", "prod", "other"]));
        for pod_index in 0..3 {
            let node = format!("node-{}", dice.roll(&(0..nodes).collect::<Vec<_>>()));
            objects.push(pod(&name, &format!("pod-{pod_index}"), json!({ "nodeName": node })));
        }
        objects.push(namespace(&name, dice.roll(&tenants).clone(), dice.roll(&annotations).clone()));
    }
    objects
}

const FENCES: &str = "
placement:
  clusterDefaultNodeSelector: disk
  namespaces:
    - name: prod-*
      requiredNodeSelector: pool=b
      defaultNodeSelector: ''
    - namespaceSelector: tenant=a
      requiredNodeSelector: pool in (a, c)
      defaultTolerations: [{ key: team, operator: Exists }]
    - name: team-*
      requiredNodeSelector: '!pool'
      allowedTolerations: []
";

#[rstest]
#[case::fences(FENCES)]
#[case::the_plugin("podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: pool=a, other-1: pool=b }")]
#[case::nothing_about_placement("nodeMetadata: { propagate: [{ nodeLabel: pool }] }")]
fn the_table_agrees_with_brute_force(#[case] settings: &str, #[values(1, 5, 40)] nodes: usize) -> Result<()> {
    let file = file(settings)?;
    let (mut dice, policy) = (Dice(nodes as u64), Policy::native());
    for _ in 0..5 {
        let objects = any_cluster(&mut dice, nodes);
        let cluster: Manifests = objects.iter().cloned().collect();
        let Tally { pools: table, has_rule, .. } = tally(settings, cluster.clone())?;
        let of_kind = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        for namespace in of_kind("Namespace") {
            let name = namespace["metadata"]["name"].as_str().context("a name")?;
            let request = trial::request(name, json!({}));
            let answer = policy.validate(&request, &file.settings, cluster.clone())?.answer;
            for node in of_kind("Node") {
                let created = answer.mutated_object.as_ref().unwrap_or(&request["object"]);
                let lasting: Value = node["spec"]["taints"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|taint| lasts(taint))
                    .cloned()
                    .collect();
                let expected = match () {
                    () if !answer.accepted || !matches_node(&created["spec"], node) => State::MustNot,
                    () if untolerated(&created["spec"]["tolerations"], &lasting).is_none() => State::May,
                    () if has_rule[name] => State::Waits,
                    () => State::Tainted,
                };
                let found = table.state(name, node["metadata"]["name"].as_str().context("a name")?);
                assert_eq!(found, Some(expected), "{name} on {node}: {:?}", answer.message);
            }
        }
        // Pods of namespaces whose names repeat are counted once: each name is there once.
        let counted: usize = table.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.pods).sum();
        assert_eq!(counted, of_kind("Pod").count());
        let folded = table.folded();
        assert!(folded.pools.len() <= 12);
        let still: usize = folded.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.pods).sum();
        assert_eq!((still, folded.pools.iter().map(|pool| pool.nodes.len()).sum()), (counted, nodes));
    }
    Ok(())
}

#[test]
fn the_smallest_pools_share_a_column() -> Result<()> {
    let nodes = (0..20).flat_map(|pool| {
        (0..=pool)
            .map(move |index| node(&format!("n-{pool}-{index}"), json!({ "pool": format!("p{pool:02}") }), json!([])))
    });
    let cluster: Manifests = nodes.chain([namespace("a", json!({}), json!({}))]).collect();
    let settings = "placement: { namespaces: [{ name: a, requiredNodeSelector: pool=p00 }] }";
    let table = tally(settings, cluster)?.pools.folded();
    let last = table.pools.last().context("a pool")?;
    assert_eq!((table.pools.len(), last.name(), last.nodes.len()), (12, "9 more pools".to_owned(), 45));
    assert_eq!(table.rows[0].cells[11].state, State::Mixed);
    Ok(())
}

#[test]
fn narrow_terminals_get_a_list() -> Result<()> {
    let cluster: Manifests = any_cluster(&mut Dice(1), 40).into_iter().collect();
    let tally = tally(FENCES, cluster)?;
    let (narrow, wide) = (report(&tally, false, 40), report(&tally, false, 200));
    assert!(!narrow.contains('│') && narrow.contains("  may: ") && narrow.contains("  must not: "), "{narrow}");
    assert!(wide.contains('│'), "{wide}");
    Ok(())
}

#[rstest]
#[case::no_node("pool=gone", json!([]), Some("no node matches its node selector and node affinity"))]
#[case::a_taint("pool=a", json!([{ "key": "team", "effect": "NoExecute" }]), Some("all nodes that match have taints that it does not tolerate"))]
#[case::a_passing_condition("pool=a", json!([{ "key": "node.kubernetes.io/not-ready", "effect": "NoExecute" }]), None)]
#[case::a_node("pool=a", json!([]), None)]
fn pods_that_no_node_takes_would_wait(
    #[case] selector: &str,
    #[case] taints: Value,
    #[case] reason: Option<&str>,
) -> Result<()> {
    let settings = format!("placement: {{ namespaces: [{{ name: a, requiredNodeSelector: {selector} }}] }}");
    let other = node("other", json!({}), json!([]));
    let objects = [
        namespace("a", json!({}), json!({})),
        node("one", json!({ "pool": "a" }), taints),
        other,
        pod("a", "web", json!({})),
    ];
    let tally = tally(&settings, objects.into_iter().collect())?;
    let waits = tally.findings["a"].keys().find_map(|finding| match finding {
        Finding::Waits { reason } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(waits, reason);
    assert_eq!(tally.total(Verdict::Rejected), 0);
    Ok(())
}

const GPU: &str = "
placement:
  namespaces: [{ name: a, allowedNodeSelector: gpu, forbiddenTolerations: [{ key: gpu, operator: Exists }] }]
";

#[rstest]
#[case::that_is_there(true, 1, 0)]
#[case::that_is_not_there(false, 0, 1)]
fn a_runtime_class_is_merged_into_pods(
    #[case] there: bool,
    #[case] rejected: usize,
    #[case] unknown: usize,
) -> Result<()> {
    let owner = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": true });
    let template = json!({ "spec": { "runtimeClassName": "nvidia", "containers": [{ "name": "c", "image": "i" }] } });
    let metadata = json!({ "name": "web", "namespace": "a" });
    let replicas = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": { "template": template } });
    let mut web = pod("a", "web-1", json!({}));
    web["metadata"]["ownerReferences"] = json!([owner]);
    let scheduling =
        json!({ "nodeSelector": { "gpu": "yes" }, "tolerations": [{ "key": "gpu", "operator": "Exists" }] });
    let class = json!({ "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": { "name": "nvidia" }, "scheduling": scheduling });
    let objects = [namespace("a", json!({}), json!({})), replicas, web].into_iter().chain(there.then_some(class));
    let tally = tally(GPU, objects.collect())?;
    let pods = &tally.sums["Pod"];
    let count = |verdict| pods.get(&verdict).copied().unwrap_or_default();
    assert_eq!((count(Verdict::Rejected), count(Verdict::Unknown)), (rejected, unknown), "{tally:#?}");
    Ok(())
}

#[test]
fn an_entry_that_comes_to_nothing_is_told_first() -> Result<()> {
    let settings = "
placement:
  namespaces:
    - { name: a, requiredNodeSelector: pool=a }
    - { name: b, requiredNodeSelector: pool=gone }
    - { name: c }
    - { name: '*' }
";
    let objects = [
        namespace("a", json!({}), json!({})),
        namespace("b", json!({}), json!({})),
        node("n", json!({ "pool": "a" }), json!([])),
    ];
    let tally = tally(settings, objects.into_iter().collect())?;
    let counts: Vec<_> =
        tally.entries.iter().map(|entry| (entry.position, entry.namespaces.len(), entry.nodes)).collect();
    assert_eq!(counts, [(2, 0, None), (3, 0, None), (1, 1, Some(0)), (0, 1, Some(1))]);
    Ok(())
}

/// The policy knows it by now, or will.
#[test]
fn what_is_only_warned_of_is_told_as_what_it_would_be() -> Result<()> {
    let settings = "placement: { namespaces: [{ name: a, requiredNodeSelector: pool=a, enforcement: Warn }] }";
    if !Policy::native().validate_settings(&yaml_serde::from_str(settings)?)?.valid {
        return Ok(());
    }
    let wrong = pod("a", "wrong", json!({ "nodeSelector": { "pool": "b" } }));
    let objects = [namespace("a", json!({}), json!({})), pod("a", "web", json!({})), wrong];
    let tally = tally(settings, objects.into_iter().collect())?;
    assert_eq!(tally.total(Verdict::Rejected), 0);
    let would_be: Vec<&str> = tally.findings["a"]
        .keys()
        .filter_map(|finding| match finding {
            Finding::WouldBe { what } => Some(what.as_str()),
            _ => None,
        })
        .collect();
    assert!(would_be.iter().any(|what| what.starts_with("would be rejected: 403: ")), "{would_be:?}");
    assert!(would_be.iter().any(|what| what.starts_with("would get pool=a")), "{would_be:?}");
    Ok(())
}

#[test]
fn conditions_keep_requests_away() -> Result<()> {
    let policy = |expression: &str| {
        format!(
            "{{apiVersion: policies.kubewarden.io/v1, kind: ClusterAdmissionPolicy, metadata: {{name: p}}, spec: {{
            rules: [{{apiGroups: [\"\"], apiVersions: [v1], resources: [pods], operations: [CREATE]}}],
            matchConditions: [{{name: mine, expression: \"{expression}\"}}],
            settings: {{placement: {{clusterDefaultNodeSelector: a=b}}}}}}}}"
        )
    };
    let cluster: Manifests = [namespace("a", json!({}), json!({})), pod("a", "web", json!({}))].into_iter().collect();
    let kept = tally(&policy("object.metadata.name != 'web'"), cluster.clone())?;
    assert!(kept.spared.keys().any(|why| why.contains("matchCondition mine leaves it out")), "{:?}", kept.spared);
    let unchecked = tally(&policy("authorizer.group('').resource('pods').check('get').allowed()"), cluster)?;
    assert!(unchecked.unchecked.keys().any(|why| why.starts_with("mine: ")), "{:?}", unchecked.unchecked);
    assert_eq!(unchecked.sums["Pod"][&Verdict::Changed], 1);
    Ok(())
}

#[rstest]
#[case::nothing(
    "placement: { namespaces: [{ name: b }, { name: a, requiredNodeSelector: pool=a }] }",
    "change nothing",
    false
)]
#[case::another_pool(
    "placement: { namespaces: [{ name: a, requiredNodeSelector: pool=b }] }",
    "  new nodes  two\n  lost nodes one\n",
    true
)]
#[case::no_pool("placement: {}", "No longer:\n\nNamespace a\n  REJECTED   Pod wrong\n", false)]
fn what_other_settings_change_is_told_and_nothing_else(
    #[case] new: &str,
    #[case] told: &str,
    #[case] rejects: bool,
) -> Result<()> {
    let old = "placement: { namespaces: [{ name: a, requiredNodeSelector: pool=a }] }";
    let cluster: Manifests = [
        namespace("a", json!({}), json!({})),
        node("one", json!({ "pool": "a" }), json!([])),
        node("two", json!({ "pool": "b" }), json!([])),
        pod("a", "wrong", json!({ "nodeSelector": { "pool": "b" } })),
        pod("a", "right", json!({ "nodeSelector": { "pool": "a" } })),
    ]
    .into_iter()
    .collect();
    let changes = Changes::between(&tally(old, cluster.clone())?, &tally(new, cluster)?);
    let report = report_of_changes(&changes, false);
    ensure!(report.contains(told), "{told:?} is missing in\n{report}");
    assert_eq!(changes.reject(), rejects, "{report}");
    Ok(())
}

#[test]
fn the_page_needs_nothing_and_escapes_what_others_wrote() -> Result<()> {
    let mut objects = any_cluster(&mut Dice(3), 40);
    objects.push(namespace(
        "prod-evil",
        json!({}),
        json!({ "scheduler.alpha.kubernetes.io/node-selector": "<script>alert(1)</script>" }),
    ));
    objects.push(pod("prod-evil", "web", json!({})));
    let tally = tally(FENCES, objects.into_iter().collect())?;
    let page = page(&tally, &origin())?;
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let rejected = tally.total(Verdict::Rejected);
    assert!(page.contains(&format!("{rejected} rejected, ")), "{rejected}");
    for told in ["Who may run where", "prefers-color-scheme: dark", "@media print", "<details open>"] {
        assert!(page.contains(told), "{told}");
    }
    Ok(())
}

/// A cluster of two tenants, each with a pool, of which something is wrong.
#[rstest]
#[case::nothing("", "No entry matches other")]
#[case::a_namespace_without_a_label(
    "unlabelled",
    "placement.namespaces[1] (namespaceSelector \"tenant=b\") matches no namespace, and b has no label tenant. Its Pods may run on all nodes. Label it: kubectl label namespace b tenant=b"
)]
#[case::a_typo(
    "typo",
    "placement.namespaces[0].requiredNodeSelector (namespaceSelector \"tenant=a\") matches no node: none has pool=aple; did you mean pool=apple? New Pods of a would wait."
)]
#[case::another_key(
    "key",
    "placement.namespaces[0].requiredNodeSelector (namespaceSelector \"tenant=a\") matches no node: none has poool=apple; did you mean pool?"
)]
#[case::tainted(
    "tainted",
    "New Pods of b would wait: all nodes that they may use have a taint that they do not tolerate (full:NoSchedule). Add to placement.namespaces[1]: defaultTolerations: [{ key: full, operator: Exists, effect: NoSchedule }]."
)]
#[case::a_whitelist(
    "whitelist",
    "Pod web in a would be rejected: the reason is placement.namespaces[0].allowedNodeSelector."
)]
#[case::a_runtime_class(
    "class",
    "1 Pod of ReplicaSet web in b would be rejected: RuntimeClass kata adds pool=apple to the Pods, which placement.namespaces[1].requiredNodeSelector does not permit."
)]
fn what_is_wrong_is_the_first_thing_one_reads(#[case] fault: &str, #[case] told: &str) -> Result<()> {
    let is = |one: &str| one == fault;
    let taints = if is("tainted") { json!([{ "key": "full", "effect": "NoSchedule" }]) } else { json!([]) };
    let chosen = if is("whitelist") { json!({ "nodeSelector": { "disk": "ssd" } }) } else { json!({}) };
    let class = if is("class") { json!({ "runtimeClassName": "kata" }) } else { json!({}) };
    let template = json!({ "metadata": {}, "spec": class });
    let owner = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": true });
    let mut owned = pod("b", "web-1", json!({}));
    owned["metadata"]["ownerReferences"] = json!([owner]);
    let cluster = [
        namespace("a", json!({ "tenant": "a" }), json!({})),
        namespace("b", if is("unlabelled") { json!({}) } else { json!({ "tenant": "b" }) }, json!({})),
        namespace("other", json!({}), json!({})),
        node("one", json!({ "pool": "apple" }), json!([])),
        node("two", json!({ "pool": "b" }), taints),
        pod("a", "web", chosen),
        owned,
        json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "web", "namespace": "b" }, "spec": { "template": template } }),
        json!({
            "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": { "name": "kata" },
            "scheduling": { "nodeSelector": { "pool": "apple" } },
        }),
    ];
    let selector = if is("typo") {
        "pool=aple"
    } else if is("key") {
        "poool=apple"
    } else {
        "pool=apple"
    };
    let settings = format!(
        "placement: {{ namespaces: [
            {{ namespaceSelector: tenant=a, requiredNodeSelector: {selector}, allowedNodeSelector: {selector} }},
            {{ namespaceSelector: tenant=b, requiredNodeSelector: pool=b }} ] }}"
    );
    let tally = tally(&settings, cluster.into_iter().collect())?;
    let advice = advice(&tally);
    ensure!(advice.first().is_some_and(|line| line.starts_with(told)), "expected {told:?} first in {advice:#?}");
    let report = report(&tally, false, 100);
    let (_, start) = report.split_once("What to do:\n  - ").context("what to do")?;
    assert_eq!(start.get(..20), told.get(..20), "{report}");
    let page = page(&tally, &origin())?;
    assert!(page.contains("<h2>What to do</h2>"));
    assert_eq!(page.contains("(RuntimeClass kata adds pool=apple)"), is("class"), "{page}");
    Ok(())
}

/// Two tenants with a pool each, a namespace without an entry, and a control plane.
fn tenants(labels: Value, more: Vec<Value>) -> Manifests {
    let tainted = json!([{ "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule" }]);
    let nodes = [
        node("one", json!({ "pool": "red" }), json!([])),
        node("two", json!({ "pool": "green" }), json!([])),
        node("control", json!({}), tainted),
    ];
    let namespaces = [
        namespace("team-red", json!({ "tenant": "red" }), json!({})),
        namespace("team-green", labels, json!({})),
        namespace("default", json!({}), json!({})),
        namespace("system", json!({}), json!({})),
    ];
    nodes.into_iter().chain(namespaces).chain(more).collect()
}

/// A Pod of a Deployment, on a node.
fn owned(namespace: &str, deployment: &str, node: &str, spec: Value) -> [Value; 2] {
    let template = json!({ "metadata": {}, "spec": spec });
    let owner =
        json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{deployment}-1"), "controller": true });
    let mut pod = pod(namespace, &format!("{deployment}-1-{node}"), spec);
    pod["spec"]["nodeName"] = node.into();
    pod["metadata"]["ownerReferences"] = json!([owner]);
    pod["metadata"]["labels"] = json!({ "pod-template-hash": "1" });
    let metadata = json!({ "name": deployment, "namespace": namespace });
    let kind = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": { "template": template } });
    [kind, pod]
}

const TENANTS: &str = "
placement:
  namespaces:
    - { name: system }
    - { namespaceSelector: tenant=red, requiredNodeSelector: pool=red }
    - { namespaceSelector: tenant=green, requiredNodeSelector: pool=green }
";

#[test]
fn a_namespace_that_lacks_a_label_has_a_row_of_its_own() -> Result<()> {
    let tally = tally(TENANTS, tenants(json!({}), vec![]))?;
    let row = |name: &str| tally.pools.rows.iter().find(|row| row.namespaces.contains(name)).context("a row");
    let (green, default, system) = (row("team-green")?, row("default")?, row("system")?);
    assert_eq!(green.note.in_words(), "no label tenant: see placement.namespaces[2]");
    assert_eq!((default.note.in_words().as_str(), system.note.in_words().as_str()), ("no label tenant", ""));
    assert_eq!([green, default, system].map(|row| row.namespaces.len()), [1, 1, 1]);
    let lines = advice(&tally);
    assert_eq!(lines.iter().filter(|line| line.contains("team-green")).count(), 1, "{lines:#?}");
    let narrow = report(&tally, false, 80);
    assert!(narrow.contains(" role.kubernetes.io/ ") && narrow.contains(" namespaces[2])"), "{narrow}");
    let report = report(&tally, false, 200);
    assert!(report.contains("\n1 namespace seems to lack a label: team-green.\n"), "{report}");
    assert!(report.contains("default (no entry matches), system (placement.namespaces[0] has no rules)"), "{report}");
    Ok(())
}

/// A Pod without a rule is kept away by a taint, and not by the policy.
#[test]
fn taints_are_no_fault_of_the_policy_where_it_has_no_rule() -> Result<()> {
    let table = tally(TENANTS, tenants(json!({ "tenant": "green" }), vec![]))?.pools;
    assert_eq!(table.state("system", "control"), Some(State::Tainted));
    let rules = "placement: { namespaces: [{ name: system, allowedTolerations: [] }] }";
    let table = tally(rules, tenants(json!({}), vec![]))?.pools;
    assert_eq!(table.state("system", "control"), Some(State::Waits));
    Ok(())
}

/// With its only node misspelled, a Pod that runs is told of once, and where it runs.
#[test]
fn a_pod_that_would_wait_counts_once() -> Result<()> {
    let typo = TENANTS.replace("requiredNodeSelector: pool=green", "requiredNodeSelector: pool=gren");
    let cluster = tenants(json!({ "tenant": "green" }), owned("team-green", "web", "two", json!({})).to_vec());
    let tally = tally(&typo, cluster)?;
    let lines = advice(&tally);
    assert_eq!(lines.iter().filter(|line| line.contains("team-green")).count(), 1, "{lines:#?}");
    let report = report(&tally, false, 200);
    assert!(report.contains("\n1 Pod would wait if it were created again: no node would take it.\n"), "{report}");
    assert!(report.contains("node affinity; running now on two\n"), "{report}");
    assert!(!report.contains("misplaced"), "{report}");
    Ok(())
}

#[rstest]
#[case::nothing_else("", "choose otherwise than defaults, with placement.onDefaultConflict: Yield.")]
#[case::a_whitelist(
    ", allowedNodeSelector: pool=green",
    "Yield, and allow what these ask for in placement.namespaces[0].allowedNodeSelector."
)]
fn who_contradicts_a_default_learns_of_yield_and_no_restart(#[case] more: &str, #[case] told: &str) -> Result<()> {
    let settings =
        format!("placement: {{ namespaces: [{{ name: team-green, defaultNodeSelector: pool=green{more} }}] }}");
    let worker = owned("team-green", "worker", "one", json!({ "nodeSelector": { "pool": "red" } }));
    let web = owned("team-green", "web", "one", json!({}));
    let tally = tally(&settings, tenants(json!({}), [worker, web].concat()))?;
    let lines = advice(&tally);
    let rejected = "Deployment worker and 1 Pod of Deployment worker in team-green would be rejected:";
    assert!(lines[0].starts_with(rejected) && lines[0].ends_with(told), "{lines:#?}");
    assert!(lines[1].starts_with("1 Pod of Deployment web in team-green would run on other nodes"), "{lines:#?}");
    let report = report(&tally, false, 200);
    assert!(report.contains("2 rejected, ") && report.contains("\nRejected: 1 Deployment, 1 Pod.\n"), "{report}");
    Ok(())
}

/// What a restart would not bring back is not to be restarted.
#[test]
fn a_workload_that_is_rejected_is_not_to_be_restarted() -> Result<()> {
    let settings =
        "placement: { onBindings: Verify, namespaces: [{ name: team-red, requiredNodeSelector: pool=red }] }";
    let cluster = owned("team-red", "web", "two", json!({ "nodeSelector": { "pool": "green" } }));
    let tally = tally(settings, tenants(json!({}), cluster.to_vec()))?;
    assert!(tally.findings["team-red"].keys().any(|finding| matches!(finding, Finding::Misplaced { .. })));
    let lines = advice(&tally);
    assert!(lines[0].contains("they contradict placement.namespaces[0].requiredNodeSelector."), "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains("restart") && !line.contains("allow")), "{lines:#?}");
    Ok(())
}

#[rstest]
#[case::a_value(
    "\"red\"",
    "",
    "Add to placement.namespaces[0]: defaultTolerations: [{ key: dedicated, operator: Equal, value: red, effect: NoSchedule }]."
)]
#[case::a_value_that_is_no_string("\"true\"", "", "value: 'true', effect: NoSchedule }].")]
#[case::other_tolerations(
    "\"red\"",
    ", defaultTolerations: [{ key: a, operator: Exists }]",
    "Add to placement.namespaces[0].defaultTolerations: { key: dedicated,"
)]
fn what_tolerates_a_taint_is_told_first(#[case] value: &str, #[case] more: &str, #[case] told: &str) -> Result<()> {
    let settings = format!("placement: {{ namespaces: [{{ name: a, requiredNodeSelector: pool=a{more} }}] }}");
    let taint = json!([{ "key": "dedicated", "value": value.trim_matches('"'), "effect": "NoSchedule" }]);
    let cluster = [namespace("a", json!({}), json!({})), node("one", json!({ "pool": "a" }), taint)];
    let tally = tally(&settings, cluster.into_iter().collect())?;
    let lines = advice(&tally);
    assert!(lines[0].contains(told), "{lines:#?}");
    let page = page(&tally, &origin())?;
    assert!(page.contains("taint dedicated=<wbr>"), "{page}");
    Ok(())
}

#[test]
fn entries_are_not_judged_where_no_namespaces_or_nodes_are_known() -> Result<()> {
    let settings = "placement: { namespaces: [{ name: a, requiredNodeSelector: pool=a }] }";
    let without_namespaces = tally(settings, [node("one", json!({}), json!([]))].into_iter().collect())?;
    assert!(without_namespaces.entries.is_empty(), "{:?}", without_namespaces.entries);
    let without_nodes = tally(settings, [namespace("a", json!({}), json!({}))].into_iter().collect())?;
    assert_eq!(without_nodes.entries[0].nodes, None);
    Ok(())
}

/// The same objects are refused, by another entry, or with other words.
#[rstest]
#[case::by_another_entry("namespaces: [{ name: b }, { name: a, defaultNodeSelector: pool=a }]", true)]
#[case::for_another_reason("namespaces: [{ name: a, requiredNodeSelector: pool=c }]", false)]
fn what_was_refused_before_is_not_refused_anew(#[case] new: &str, #[case] is_the_same: bool) -> Result<()> {
    let wrong = pod("a", "wrong", json!({ "nodeSelector": { "pool": "b" } }));
    let cluster: Manifests = [namespace("a", json!({}), json!({})), wrong].into_iter().collect();
    let old = tally("placement: { namespaces: [{ name: a, requiredNodeSelector: pool=a }] }", cluster.clone())?;
    let changes = Changes::between(&old, &tally(&format!("placement: {{ {new} }}"), cluster)?);
    assert_eq!((changes.is_empty(), changes.reject()), (is_the_same, false), "{changes:?}");
    Ok(())
}

#[test]
fn what_other_settings_change_is_a_page_too() -> Result<()> {
    let cluster: Manifests = [
        namespace("a", json!({}), json!({})),
        node("one", json!({ "pool": "a" }), json!([])),
        node("two", json!({ "pool": "b" }), json!([])),
        pod("a", "wrong", json!({ "nodeSelector": { "pool": "<b" } })),
    ]
    .into_iter()
    .collect();
    let old = tally("placement: {}", cluster.clone())?;
    let new = tally("placement: { namespaces: [{ name: '*', requiredNodeSelector: pool=a }] }", cluster)?;
    let page = page_of_changes(&Changes::between(&old, &new), &origin())?;
    for told in
        ["New: 1 rejected.", "1 namespace may use other nodes.", "<h2>New with these settings</h2>", "pool=&lt;b"]
    {
        assert!(page.contains(told), "{told} is missing in {page}");
    }
    for left_out in ["Who may run where", "By kind", "What to do", "No longer", "https://"] {
        assert!(!page.contains(left_out), "{left_out}");
    }
    Ok(())
}
