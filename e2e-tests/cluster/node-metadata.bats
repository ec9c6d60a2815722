#!/usr/bin/env bats
# Node metadata in a cluster: on the Pods, and in the environment of a container where there is a kubelet.

load cluster

setup_file() {
  set_up
}

teardown_file() {
  clean_up
}

zone() {
  value "$1" "$2" '.metadata.annotations["npe2e.example.com/zone"]'
}

@test "a Binding brings annotations and fields" {
  create npe2e-production bound "$(unscheduled)"
  bind npe2e-production bound npe2e-production-1
  [ "$(zone npe2e-production bound)" = zone-1 ]
  [ "$(value npe2e-production bound '.metadata.annotations["npe2e.example.com/rack"]')" = "rack 7/b" ]
  [ "$(value npe2e-production bound '.metadata.annotations["npe2e.example.com/provider-id"]')" = npe2e://zone-1/npe2e-production-1 ]
}

@test "a Binding brings labels, from Kubernetes 1.35 on" {
  minor="$(kubectl version -o json | jq -r '.serverVersion.minor | sub("[^0-9].*"; "") | tonumber')"
  [ "$minor" -ge 35 ] || skip "labels of Bindings are dropped before 1.35"
  create npe2e-production labelled "$(unscheduled)"
  bind npe2e-production labelled npe2e-production-1
  [ "$(value npe2e-production labelled '.metadata.labels["npe2e.example.com/zone"]')" = zone-1 ]
}

@test "so does the older endpoint" {
  create npe2e-production legacy "$(unscheduled)"
  bind_legacy npe2e-production legacy npe2e-production-1
  [ "$(zone npe2e-production legacy)" = zone-1 ]
}

@test "so does the scheduler" {
  needs_a_scheduler
  create npe2e-production scheduled
  eventually scheduled
  [ "$(zone npe2e-production scheduled)" = zone-1 ]
}

scheduled() {
  [ "$(value npe2e-production scheduled '.spec.nodeName')" = npe2e-production-1 ]
}

@test "a container has it in its environment" {
  needs_a_kubelet
  # Real Nodes have no such label: the default is what every Pod gets there.
  apply "$CLUSTER/manifests/zone-aware.yml"
  eventually told
}

told() {
  [ "$(kubectl -n npe2e-free logs zone-aware)" = "zone=unknown" ]
}

@test "a Pod that names its node learns at once" {
  create npe2e-development pinned '.spec.nodeName = "npe2e-development-1"'
  [ "$(zone npe2e-development pinned)" = zone-2 ]
  [ "$(value npe2e-development pinned '.metadata.labels["npe2e.example.com/zone"]')" = zone-2 ]
}

@test "an annotation that is forged on a Binding is overwritten" {
  create npe2e-production forged "$(unscheduled)"
  bind npe2e-production forged npe2e-production-1 '{"npe2e.example.com/zone": "forged"}'
  [ "$(zone npe2e-production forged)" = zone-1 ]
}

@test "an annotation that is forged on a Pod is taken away" {
  run create npe2e-production forger "$(unscheduled) | .metadata.annotations = {\"npe2e.example.com/zone\": \"forged\"}"
  [ "$status" -eq 0 ]
  [[ "$output" == *"only the policy may set these keys"* ]]
  [ "$(zone npe2e-production forger)" = null ]
}

@test "an annotation that is changed later is put back" {
  create npe2e-production meddled "$(unscheduled)"
  bind npe2e-production meddled npe2e-production-1
  kubectl -n npe2e-production annotate --overwrite pod meddled npe2e.example.com/zone=forged
  [ "$(zone npe2e-production meddled)" = zone-1 ]
}

@test "a Binding to a node of another namespace is refused" {
  create npe2e-production astray "$(unscheduled)"
  run bind npe2e-production astray npe2e-development-1
  refused "can't be bound to node"
  run bind_legacy npe2e-production astray npe2e-development-1
  refused "can't be bound to node"
}

@test "a Binding to a node that is gone is refused" {
  create npe2e-production lost "$(unscheduled)"
  run bind npe2e-production lost npe2e-gone
  refused "which does not exist"
}
