#!/usr/bin/env bats
# The backstop, as an API server evaluates it. It needs no Kubewarden. A wrong type and an expression that costs too much show here alone.
# All pass on Kubernetes 1.36.2.

load cluster

BACKSTOP="$POLICY-backstop"

setup_file() {
  : "${KUBECONFIG:?names no cluster to test in}"
  delete_backstop
  apply "$CLUSTER/manifests/namespaces.yml"
  kubectl label --overwrite namespace npe2e-default npe2e-tenant=blue
  for namespace in "${NAMESPACES[@]}"; do
    eventually kubectl -n "$namespace" get serviceaccount default
  done
  backstop "$CLUSTER/manifests/fence.yml" | kubectl apply --server-side -f -
  # A new policy takes a few seconds to hold.
  eventually holds npe2e-production
}

teardown_file() {
  delete_backstop
  kubectl delete namespace "${NAMESPACES[@]}" --ignore-not-found --wait --timeout=2m
}

# A Pod that is not stored.
try() {
  pod "$@" | kubectl create --dry-run=server -f -
}

holds() {
  ! try "$1" probe
}

selects() {
  printf '.spec.nodeSelector = {"npe2e.example.com/env": "%s"}' "$1"
}

# requires <expression>…: the Pod has a term with these expressions.
requires() {
  local IFS=,
  echo ".spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms = [{matchExpressions: [$*]}]"
}

IN='{key: "npe2e.example.com/env", operator: "In", values: ["testing", "development"]}'
NOT_OLD='{key: "npe2e.example.com/old", operator: "DoesNotExist"}'
ABOVE='{key: "npe2e.example.com/n", operator: "Gt", values: ["4"]}'

@test "no expression has a wrong type" {
  eventually checked
  run kubectl get validatingadmissionpolicy "$BACKSTOP" "$BACKSTOP-warn" -o json
  echo "$output" | jq -e '[.items[].status.typeChecking.expressionWarnings // [] | .[]] == []'
}

checked() {
  kubectl get validatingadmissionpolicy "$BACKSTOP" -o json | jq -e '.status.observedGeneration == .metadata.generation'
}

@test "a Pod without the selector is refused, and told what it lacks" {
  run try npe2e-production web
  refused "ValidatingAdmissionPolicy '$BACKSTOP' with binding '$BACKSTOP' denied request: placement.namespaces[1].requiredNodeSelector"
  refused "demands npe2e.example.com/env=production of nodes"
}

@test "a Pod with the selector is let in" {
  try npe2e-production web "$(selects production)"
}

@test "a Pod with another value is refused" {
  run try npe2e-production web "$(selects development)"
  refused "denied request"
}

@test "sets, absence and numbers are let in, the values in another order" {
  try npe2e-development web "$(requires "$IN" "$NOT_OLD" "$ABOVE")"
}

@test "a Pod that lacks one of them is refused" {
  for lacking in "$IN,$NOT_OLD" "$IN,$ABOVE" "$NOT_OLD,$ABOVE"; do
    run try npe2e-development web "$(requires "$lacking")"
    refused "denied request"
  done
}

@test "a reference is filled in" {
  try npe2e-default web "$(selects of-blue)"
  run try npe2e-default web "$(selects of-red)"
  refused "demands npe2e.example.com/env=of-blue of nodes"
}

@test "a Pod that names its node is refused" {
  run try npe2e-production web "$(selects production) | .spec.nodeName = \"npe2e-production-1\""
  refused "remove nodeName"
}

@test "an entry that warns lets the Pod in" {
  run try npe2e-noannotation web
  [ "$status" -eq 0 ]
  [[ "$output" == *"Warning:"*"demands npe2e.example.com/env=production of nodes"* ]]
}

@test "a namespace without a fence, and an exempt one" {
  try npe2e-free web
  try kube-system npe2e-web
}

# The costs of an expression grow with the Pod. An API server ends one at a million units, and a policy at ten million.
@test "the largest Pod that passes a hundred entries" {
  hundred | backstop - | kubectl apply --server-side -f -
  eventually holds npe2e-free
  run_up_to 64
  local terms=64
  while [ "$terms" -lt 4096 ] && run_up_to "$((terms * 2))"; do
    terms=$((terms * 2))
  done
  echo "# 100 entries: a Pod of $terms terms of 10 expressions passes" >&3
}

# Settings of a hundred entries, of which the last is that of npe2e-free.
hundred() {
  jq -n '{placement: {namespaceAnnotations: [], namespaces: (
    [range(99) | {name: "npe2e-other-\(.)", namespaceSelector: "a\(.) in (b,c),!d\(.)", requiredNodeSelector: "e in (f,g\(.))"}]
    + [{name: "npe2e-free", requiredNodeSelector: "npe2e.example.com/env in (a,b,c),!npe2e.example.com/old"}]
  )}}'
}

# Whether a Pod of so many terms is let in, each of which has what is demanded last.
run_up_to() {
  try npe2e-free large '.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms = [
    range('"$1"') | {matchExpressions: (
      [range(8) | {key: "npe2e.example.com/k\(.)", operator: "In", values: ["a", "b", "c"]}]
      + [{key: "npe2e.example.com/env", operator: "In", values: ["a", "b", "c"]},
         {key: "npe2e.example.com/old", operator: "DoesNotExist"}]
    )}]'
}
