#!/usr/bin/env bats
# The twin and the backstop, as an API server evaluates them: Kubernetes 1.36 or later. They need no Kubewarden. A wrong
# type and an expression that costs too much show here alone.

load cluster

AFFINITY='.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'

setup_file() {
  : "${KUBECONFIG:?names no cluster to test in}"
  delete_twin
  delete_backstop
  apply "$CLUSTER/manifests/namespaces.yml"
  kubectl label --overwrite namespace npe2e-default npe2e-tenant=blue
  for namespace in "${NAMESPACES[@]}"; do
    eventually kubectl -n "$namespace" get serviceaccount default
  done
  in_process "$CLUSTER/manifests/fence.yml" | kubectl apply --server-side -f -
  # New policies take a few seconds to hold.
  eventually completes npe2e-production
}

teardown_file() {
  delete_twin
  delete_backstop
  kubectl delete mutatingadmissionpolicybinding,mutatingadmissionpolicy npe2e-remover --ignore-not-found
  kubectl delete namespace "${NAMESPACES[@]}" --ignore-not-found --wait --timeout=2m
}

# try <namespace> [<jq filter>]: what becomes of a Pod that requests nothing, and is not stored.
try() {
  pod "$1" web "del(.spec.tolerations) | ${2:-.}" | kubectl create --dry-run=server -o json -f -
}

completes() {
  try "$1" | jq -e '.spec.nodeSelector["npe2e.example.com/env"] == "production"'
}

@test "a Pod without nodeSelector and tolerations gets both" {
  run try npe2e-production
  jq -e '.spec.nodeSelector == {"npe2e.example.com/env": "production"}' <<<"$output"
  jq -e 'any(.spec.tolerations[]; .key == "npe2e.example.com/env" and .value == "production")' <<<"$output"
}

@test "what the Pod has stays" {
  run try npe2e-production '.spec.nodeSelector = {a: "b"} | .spec.tolerations = [{operator: "Exists"}]'
  jq -e '.spec.nodeSelector == {a: "b", "npe2e.example.com/env": "production"}' <<<"$output"
  jq -e '[.spec.tolerations[] | select(.key == "npe2e.example.com/env")] == []' <<<"$output"
}

@test "a name that is generated" {
  name="$(pod npe2e-production web 'del(.metadata.name) | .metadata.generateName = "generated-" | .spec.schedulerName = "nobody"' |
    kubectl create -o name -f -)"
  kubectl -n npe2e-production get "$name" -o json | jq -e '.spec.nodeSelector["npe2e.example.com/env"] == "production"'
  kubectl -n npe2e-production delete "$name" --force --grace-period=0
}

@test "Pods of a ReplicaSet" {
  kubectl -n npe2e-production create deployment twin --image=registry.k8s.io/pause:3.10
  eventually has_pods
  kubectl -n npe2e-production get pods -l app=twin -o json |
    jq -e '[.items[].spec.nodeSelector["npe2e.example.com/env"]] == ["production"]'
  kubectl -n npe2e-production delete deployment twin
}

has_pods() {
  [ -n "$(kubectl -n npe2e-production get pods -l app=twin -o name)" ]
}

@test "sets, absence and numbers become node affinity" {
  run try npe2e-development
  jq -e "$AFFINITY | length == 1 and (.[0].matchExpressions | length == 3)" <<<"$output"
}

@test "each term is narrowed, and an empty one stays" {
  run try npe2e-development "$AFFINITY = [
    {matchExpressions: [{key: \"a\", operator: \"Exists\"}]}, {},
    {matchFields: [{key: \"metadata.name\", operator: \"In\", values: [\"n\"]}]},
    {matchExpressions: [{key: \"npe2e.example.com/old\", operator: \"DoesNotExist\"}]}]"
  jq -e "[${AFFINITY}[] | .matchExpressions // [] | length] == [4, 0, 3, 3]" <<<"$output"
}

@test "a Pod that requests other nodes is left alone, and refused" {
  run try npe2e-production '.spec.nodeSelector = {"npe2e.example.com/env": "development"}'
  refused "denied request"
  run try npe2e-development "$AFFINITY = [{matchExpressions: [{key: \"npe2e.example.com/old\", operator: \"Exists\"}]}]"
  refused "denied request"
}

@test "a reference is filled in" {
  run try npe2e-default
  jq -e '.spec.nodeSelector == {"npe2e.example.com/env": "of-blue"}' <<<"$output"
}

@test "a reference that can't be filled in adds nothing, and the Pod is refused" {
  kubectl label --overwrite namespace npe2e-default npe2e-tenant=
  eventually refused_for_its_label
  kubectl label --overwrite namespace npe2e-default npe2e-tenant=blue
}

refused_for_its_label() {
  run try npe2e-default
  [ "$status" -ne 0 ]
  [[ "$output" == *"the namespace lacks a label that this refers to"* ]]
}

@test "an entry that warns adds nothing" {
  run try npe2e-noannotation
  [ "$status" -eq 0 ]
  [[ "$output" != *'"nodeSelector"'* ]]
}

@test "a namespace without a fence, and an exempt one" {
  try npe2e-free | jq -e '.spec.nodeSelector == null'
  try kube-system | jq -e '.spec.nodeSelector == null'
}

# A policy in place of a webhook: it runs after the twin, by its name.
@test "what is removed later is put back" {
  remover | kubectl apply -f -
  eventually marked
  run try npe2e-production '.metadata.labels = {"npe2e-remove": ""}'
  jq -e '.metadata.annotations["npe2e-removed"] == ""' <<<"$output"
  jq -e '.spec.nodeSelector == {"npe2e.example.com/env": "production"}' <<<"$output"
  kubectl delete mutatingadmissionpolicybinding,mutatingadmissionpolicy npe2e-remover
}

marked() {
  try npe2e-production '.metadata.labels = {"npe2e-remove": ""}' | jq -e '.metadata.annotations["npe2e-removed"] == ""'
}

remover() {
  jq -n '{
    apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingAdmissionPolicy", metadata: {name: "npe2e-remover"},
    spec: {
      failurePolicy: "Fail", reinvocationPolicy: "Never",
      matchConstraints: {
        objectSelector: {matchExpressions: [{key: "npe2e-remove", operator: "Exists"}]},
        resourceRules: [{apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"]}]
      },
      mutations: [{patchType: "JSONPatch", jsonPatch: {expression:
        "(has(object.spec.nodeSelector) ? [JSONPatch{op: \"remove\", path: \"/spec/nodeSelector\"}] : []) + [JSONPatch{op: \"add\", path: \"/metadata/annotations\", value: {\"npe2e-removed\": \"\"}}]"
      }}]
    }
  }'
  echo ---
  jq -n '{
    apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingAdmissionPolicyBinding", metadata: {name: "npe2e-remover"},
    spec: {policyName: "npe2e-remover"}
  }'
}

@test "a single entry" {
  jq -n '{placement: {namespaces: [{name: "npe2e-production", requiredNodeSelector: "npe2e.example.com/env=production"}]}}' |
    in_process - | kubectl apply --server-side -f -
  eventually completes npe2e-production
}

# The costs of an expression grow with the Pod. An API server ends one at a million units, and a policy at ten million.
@test "a hundred entries, and the largest Pod that passes them" {
  hundred | in_process - | kubectl apply --server-side -f -
  eventually completed_by_the_last
  run_up_to 64
  local terms=64
  while [ "$terms" -lt 4096 ] && run_up_to "$((terms * 2))"; do
    terms=$((terms * 2))
  done
  echo "# 100 entries: a Pod of $terms terms of 10 expressions is completed" >&3
}

# Settings of a hundred entries, of which the last is that of npe2e-free.
hundred() {
  jq -n '{placement: {namespaceAnnotations: [], namespaces: (
    [range(99) | {name: "npe2e-other-\(.)", namespaceSelector: "a\(.) in (b,c),!d\(.)", requiredNodeSelector: "e in (f,$(g\(.)))",
                  defaultTolerations: [{key: "e", value: "$(g\(.))"}]}]
    + [{name: "npe2e-free", requiredNodeSelector: "npe2e.example.com/env in (a,b,c),!npe2e.example.com/old"}]
  )}}'
}

completed_by_the_last() {
  try npe2e-free | jq -e "${AFFINITY}[0].matchExpressions | length == 2"
}

# Whether a Pod of so many terms is completed.
run_up_to() {
  try npe2e-free "$AFFINITY = [range($1) | {matchExpressions:
    [range(10) | {key: \"npe2e.example.com/k\(.)\", operator: \"In\", values: [\"a\", \"b\", \"c\"]}]}]" |
    jq -e "[${AFFINITY}[].matchExpressions | length] | unique == [12]"
}
