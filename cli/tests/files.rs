//! How files are read: as kubectl reads them, and with the same result in every command.

use std::{fs, path::Path};

use anyhow::Result;
use rstest::rstest;

use crate::common::{file, run, text};

const SETTINGS: &str = r#"
placement:
  namespaces:
    - namespaceSelector: "tenant"
      requiredNodeSelector: "node-restriction.kubernetes.io/tenant=$(tenant)"
      allowedNodeSelector: ""
      defaultTolerations: [{ key: tenant, operator: Equal, value: "$(tenant)", effect: NoSchedule }]
      allowedTolerations: []
    - { name: "*", requiredNodeSelector: "!node-restriction.kubernetes.io/tenant" }
  onBindings: Verify
"#;

const CLUSTER: &str = r#"
{ apiVersion: v1, kind: Namespace, metadata: { name: blue-shop, labels: { tenant: blue } } }
---
{ apiVersion: v1, kind: Namespace, metadata: { name: office } }
---
apiVersion: v1
kind: Node
metadata: { name: blue-1, labels: { node-restriction.kubernetes.io/tenant: blue } }
spec: { taints: [{ key: tenant, value: blue, effect: NoSchedule }] }
---
apiVersion: v1
kind: Node
metadata: { name: shared-1, labels: { pool: shared } }
"#;

/// Returns a Deployment `web` whose Pods have this in their spec, below six spaces.
fn deployment(namespace: &str, spec: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{ name: web, namespace: {namespace} }}\nspec:\n  selector: {{ \
         matchLabels: {{ app: web }} }}\n  template:\n    metadata: {{ labels: {{ app: web }} }}\n    spec:\n      \
         {spec}\n      containers: [{{ name: app, image: example.com/app:1 }}]\n"
    )
}

/// What a command ends with, and prints.
fn answer(arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let output = run(arguments)?;
    Ok((output.status.code(), text(&output.stdout) + &text(&output.stderr)))
}

fn written(name: &str, content: &str) -> Result<String> {
    Ok(file(name, content)?.to_string_lossy().into_owned())
}

#[rstest]
#[case::a_merge_key("blue-shop", "<<: &placement { nodeSelector: { pool: shared } }", (1, 1), "pool=shared")]
#[case::an_octal_number(
    "blue-shop", "volumes: [{ name: keys, secret: { secretName: keys, defaultMode: 0400 } }]", (0, 0), "blue-1"
)]
#[case::nothing_in_a_map_of_texts(
    "blue-shop", "nodeSelector: { node-role.kubernetes.io/infra: }", (1, 1), "node-role.kubernetes.io/infra"
)]
#[case::nothing_as_a_quantity(
    "office", "initContainers: [{ name: i, image: i, resources: { limits: { cpu: } } }]", (0, 0), "shared-1"
)]
fn a_manifest_is_read_as_kubectl_reads_it(
    #[case] namespace: &str,
    #[case] spec: &str,
    #[case] (tried, previewed): (i32, i32),
    #[case] told: &str,
) -> Result<()> {
    let settings = written("settings.yml", SETTINGS)?;
    let web = written("web.yml", &deployment(namespace, spec))?;
    let cluster = written("cluster.yml", CLUSTER)?;
    let (status, printed) = answer(&["try", &web, "-s", &settings, "-c", &cluster])?;
    assert!(status == Some(tried) && printed.contains(told), "{printed}");
    let (status, printed) = answer(&["preview", "-s", &settings, "-c", &cluster, "-c", &web])?;
    assert_eq!(status, Some(previewed), "{printed}");
    Ok(())
}

#[test]
fn a_boolean_in_a_node_selector_is_refused_as_by_the_api_server() -> Result<()> {
    let settings = written("settings.yml", SETTINGS)?;
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: { name: web, namespace: office }\nspec:\n  nodeSelector: { gpu: yes \
               }\n  containers: [{ name: app, image: i }]\n";
    let (web, cluster) = (written("web.yml", pod)?, written("cluster.yml", CLUSTER)?);
    let (status, printed) = answer(&["try", &web, "-s", &settings, "-c", &cluster])?;
    assert!(status == Some(1) && printed.contains("400"), "{printed}");
    assert!(
        printed.contains("web.yml:5:19: spec.nodeSelector.gpu: ") && printed.contains("write \"yes\""),
        "{printed}"
    );
    let (status, printed) = answer(&["preview", "-s", &settings, "-c", &cluster, "-c", &web])?;
    assert_eq!(status, Some(2), "{printed}");
    let expected =
        "web.yml:5:19: object 1: Pod office/web: spec.nodeSelector.gpu: expected a text; found boolean `true`";
    assert!(printed.contains(expected), "{printed}");
    Ok(())
}

#[test]
fn files_without_objects_are_passed_over_in_folders_alone() -> Result<()> {
    let settings = written("settings.yml", SETTINGS)?;
    let cluster = written("cluster.yml", CLUSTER)?;
    let folder = Path::new(&cluster).with_extension("d");
    fs::create_dir_all(&folder)?;
    fs::copy(&cluster, folder.join("cluster.yml"))?;
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [base.yml]\n";
    fs::write(folder.join("kustomization.yaml"), kustomization)?;
    fs::write(folder.join("values.yaml"), "replicas: 3\n")?;
    let path = folder.to_string_lossy();
    let (status, printed) = answer(&["preview", "-s", &settings, "-c", &path])?;
    assert!(status == Some(0) && printed.contains("passed over 2 files without a Kubernetes object"), "{printed}");
    let (status, printed) = answer(&["preview", "-s", &settings, "-c", &format!("{path}/values.yaml")])?;
    assert!(status == Some(2) && printed.contains("values.yaml:1:1: object 1: expected"), "{printed}");
    Ok(())
}

#[test]
fn a_template_is_named_as_one() -> Result<()> {
    let template = written("dep.yaml", "{{- if .Values.enabled }}\nkind: Deployment\n{{- end }}\n")?;
    for arguments in [&["try", &template, "-s", "cli/tour/fences.yml"][..], &["check", &template]] {
        let (status, printed) = answer(arguments)?;
        assert!(status == Some(2) && printed.contains("render it first, for example with helm template"), "{printed}");
    }
    Ok(())
}

#[test]
fn utf_16_and_typed_lists_are_read() -> Result<()> {
    let settings = written("settings.yml", SETTINGS)?;
    let cluster = file("cluster.json", "")?;
    let list = r#"{"apiVersion": "v1", "kind": "NamespaceList", "items": [{"metadata": {"name": "office"}}]}
                  {"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n1"}}]}"#;
    let units: Vec<u8> = format!("\u{feff}{list}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&cluster, units)?;
    let (status, printed) = answer(&["preview", "-s", &settings, "-c", &cluster.to_string_lossy()])?;
    assert!(status == Some(0) && printed.contains("office"), "{printed}");
    Ok(())
}

#[test]
fn nodes_of_other_groups_are_none() -> Result<()> {
    let settings = written("settings.yml", SETTINGS)?;
    let cluster = "{ apiVersion: v1, kind: Namespace, metadata: { name: office } }\n---\n{ apiVersion: \
                   longhorn.io/v1beta2, kind: Node, metadata: { name: worker-1, namespace: longhorn-system } }\n";
    let web = written("web.yml", &deployment("office", "restartPolicy: Always"))?;
    let (status, printed) = answer(&["try", &web, "-s", &settings, "-c", &written("c.yml", cluster)?])?;
    assert!(status == Some(0) && !printed.contains("node fits") && !printed.contains("would wait"), "{printed}");
    Ok(())
}

#[test]
fn an_object_without_a_namespace_is_in_that_of_its_request() -> Result<()> {
    let review = r#"{"uid": "1", "kind": {"group": "apps", "version": "v1", "kind": "Deployment"}, "resource": {"group":
        "apps", "version": "v1", "resource": "deployments"}, "name": "web", "namespace": "office", "operation": "CREATE",
        "userInfo": {"username": "jane"}, "object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name":
        "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec":
        {"containers": [{"name": "a", "image": "b"}]}}}}}"#;
    let (settings, cluster) = (written("settings.yml", SETTINGS)?, written("cluster.yml", CLUSTER)?);
    let (status, printed) = answer(&["try", &written("r.json", review)?, "-s", &settings, "-c", &cluster])?;
    assert!(status == Some(0) && printed.contains("!node-restriction.kubernetes.io/tenant"), "{printed}");
    Ok(())
}

#[test]
fn json_objects_may_follow_each_other() -> Result<()> {
    let pod = |name: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"office"}},"spec":{{"containers":[{{"name":"a","image":"b"}}]}}}}"#
        )
    };
    let (settings, cluster) = (written("settings.yml", SETTINGS)?, written("cluster.yml", CLUSTER)?);
    let pods = written("s.json", &format!("{}\n{}\n", pod("one"), pod("two")))?;
    let (status, printed) = answer(&["try", &pods, "-s", &settings, "-c", &cluster])?;
    assert!(status == Some(0) && printed.contains("office/one") && printed.contains("office/two"), "{printed}");
    Ok(())
}

#[test]
fn what_is_planned_counts_as_applied() -> Result<()> {
    let (settings, cluster) = (written("settings.yml", SETTINGS)?, written("cluster.yml", CLUSTER)?);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: { name: web, namespace: green }\nspec: { containers: [{ name: a, \
               image: b }] }\n";
    let planned = "apiVersion: v1\nkind: Namespace\nmetadata: { name: green, labels: { tenant: green } }\n---\napiVersion: \
                   v1\nkind: Node\nmetadata: { name: blue-1, labels: { node-restriction.kubernetes.io/tenant: green } \
                   }\nspec: { taints: [] }\n";
    let (pod, planned) = (written("pod.yml", pod)?, written("planned.yml", planned)?);
    let (status, printed) = answer(&["try", &pod, "-s", &settings, "-c", &cluster, "--with", &planned])?;
    assert!(status == Some(0) && printed.contains("blue-1"), "{printed}");
    assert!(printed.contains("Node blue-1.spec.taints loses 1 of 1"), "{printed}");
    Ok(())
}

#[test]
fn of_a_repeated_key_the_last_counts() -> Result<()> {
    let (settings, cluster) = (written("settings.yml", SETTINGS)?, written("cluster.yml", CLUSTER)?);
    let web = deployment("blue-shop", "nodeSelector: { pool: a }\n      nodeSelector: { pool: shared }");
    let web = written("web.yml", &web)?;
    let told = "web.yml:10:7: spec.template.spec.nodeSelector";
    let (status, printed) = answer(&["try", &web, "-s", &settings, "-c", &cluster])?;
    assert!(status == Some(1) && printed.contains("pool=shared") && printed.contains(told), "{printed}");
    let (status, printed) = answer(&["preview", "-s", &settings, "-c", &cluster, "-c", &web])?;
    assert!(status == Some(1) && printed.contains(told), "{printed}");
    Ok(())
}

/// What the policy adds is required by its setting, and not requested by the manifest.
#[rstest]
#[case::a_pod(
    "{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop }, spec: { containers: [{ name: c, image: x }] } }"
)]
#[case::a_deployment(
    "{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: shop }, spec: { selector: { matchLabels: { a: b } \
     }, template: { metadata: { labels: { a: b } }, spec: { containers: [{ name: c, image: x }] } } } }"
)]
fn a_label_is_required_by_the_setting_that_adds_it(#[case] manifest: &str) -> Result<()> {
    let cluster = "{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }\n---\n{ apiVersion: v1, kind: Node, metadata: { \
                   name: n-1, labels: { team: other } } }\n";
    let settings = "placement: { namespaces: [{ name: shop, requiredNodeSelector: team=shop }, { name: '*', requiredNodeSelector: '!team' }] }";
    let (settings, cluster) = (written("settings.yml", settings)?, written("cluster.yml", cluster)?);
    let (_, printed) = answer(&["try", &written("web.yml", manifest)?, "-s", &settings, "-c", &cluster])?;
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let told =
        "the node has team=other, the Pod needs team=shop, required by placement.namespaces[0].requiredNodeSelector";
    assert!(printed.contains(told), "{printed}");
    Ok(())
}

/// With `required: true`, a node without the value can't run the Pod.
#[test]
fn required_metadata_excludes_nodes_in_tests_too() -> Result<()> {
    let cluster = written(
        "cluster.yml",
        "{ apiVersion: v1, kind: Namespace, metadata: { name: kafka } }\n---\n{ apiVersion: v1, kind: Node, metadata: { name: z-1, \
         labels: { topology.kubernetes.io/zone: a } } }\n---\n{ apiVersion: v1, kind: Node, metadata: { name: z-2 } }\n",
    )?;
    let settings =
        "nodeMetadata: { propagate: [{ nodeLabel: topology.kubernetes.io/zone, required: true, env: ZONE }] }";
    let settings = written("settings.yml", settings)?;
    let pod = written(
        "pod.yml",
        "{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: kafka }, spec: { containers: [{ name: c, image: x }] } }",
    )?;
    let tests = format!(
        "tests: [{{ name: T, settings: {settings}, cluster: {cluster}, cases: [{{ name: zones, manifest: {pod}, expect: {{ accepted: \
         true, nodes: [z-1], environment: {{ ZONE: a }} }} }}] }}]"
    );
    let (status, printed) = answer(&["test", &written("tests.yml", &tests)?])?;
    assert_eq!(status, Some(0), "{printed}");
    Ok(())
}

#[test]
fn a_node_pool_of_another_version_is_named() -> Result<()> {
    let cluster = "{ apiVersion: v1, kind: Namespace, metadata: { name: office } }\n---\n{ apiVersion: v1, kind: Node, metadata: { \
                   name: n1 } }\n---\n{ apiVersion: karpenter.sh/v1beta1, kind: NodePool, metadata: { name: default }, spec: {} }\n";
    let settings = "placement: { namespaces: [{ name: '*', requiredNodeSelector: karpenter.sh/capacity-type=spot }] }";
    let (settings, cluster) = (written("settings.yml", settings)?, written("cluster.yml", cluster)?);
    for arguments in [&["preview"][..], &["explain", "-n", "office"]] {
        let (_, printed) = answer(&[arguments, &["-s", &settings, "-c", &cluster]].concat())?;
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains("NodePool default has apiVersion karpenter.sh/v1beta1, which is not"), "{printed}");
        assert!(!printed.contains("Karpenter is"), "{printed}");
    }
    Ok(())
}

/// A policy that verifies refuses what a later webhook adds to a Pod, where variables are written to containers.
#[test]
fn a_container_that_came_later_is_refused_by_a_policy_that_verifies() -> Result<()> {
    let settings =
        "nodeMetadata: { propagate: [{ nodeLabel: topology.kubernetes.io/zone, default: unknown, env: ZONE }] }";
    let (_, policy) = answer(&["policy", &written("settings.yml", settings)?])?;
    let policy = written("verify.yml", &policy.replace("mutating: true", "mutating: false"))?;
    let env = "[{ name: ZONE, valueFrom: { fieldRef: { apiVersion: v1, fieldPath: \"metadata.annotations['topology.kubernetes.io/zone']\" \
               } } }]";
    let pod = format!(
        "{{ apiVersion: v1, kind: Pod, metadata: {{ name: a, namespace: shop }}, spec: {{ containers: [{{ name: c, image: x, env: {env} \
         }}, {{ name: proxy, image: y }}] }} }}"
    );
    let cluster = written("cluster.yml", "{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }\n")?;
    let (status, printed) = answer(&["try", &written("pod.yml", &pod)?, "-s", &policy, "-c", &cluster])?;
    assert!(status == Some(1) && printed.contains("attempted to mutate the request"), "{printed}");
    let (_, printed) = answer(&["check", &policy])?;
    assert!(printed.contains("spec.mutating: false, while nodeMetadata.propagate has env"), "{printed}");
    Ok(())
}
