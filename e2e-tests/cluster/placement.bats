#!/usr/bin/env bats
# Placement in a cluster: the four namespaces of the story, workloads, and Pods that name their node.

load cluster

setup_file() {
  set_up
}

teardown_file() {
  clean_up
}

selector() {
  value "$1" "$2" '.spec.nodeSelector["npe2e.example.com/env"]'
}

@test "production: its annotation becomes the Pod's nodeSelector" {
  create npe2e-production web "$(unscheduled)"
  [ "$(selector npe2e-production web)" = production ]
}

@test "development: its annotation becomes the Pod's nodeSelector" {
  create npe2e-development web "$(unscheduled)"
  [ "$(selector npe2e-development web)" = development ]
}

@test "noannotation: the default is not on the whitelist" {
  run create npe2e-noannotation web
  refused "pod node label selector labels conflict with its namespace whitelist"
}

@test "default: the cluster's default" {
  create npe2e-default web "$(unscheduled)"
  [ "$(selector npe2e-default web)" = development ]
}

@test "production: asking for another environment" {
  run create npe2e-production other '.spec.nodeSelector = {"npe2e.example.com/env": "development"}'
  refused "pod node label selector conflicts with its namespace node label selector"
}

@test "production: asking for what is not allowed" {
  run create npe2e-production windows '.spec.nodeSelector = {"kubernetes.io/os": "windows"}'
  refused "pod node label selector labels conflict with its namespace whitelist"
}

@test "a Deployment is refused when it is applied" {
  run apply "$CLUSTER/manifests/deployment-conflicting.yml"
  refused "pod node label selector conflicts with its namespace node label selector"
  refused "Pod template of Deployment"
}

@test "a DaemonSet's template is completed" {
  apply "$CLUSTER/manifests/daemonset.yml"
  run kubectl -n npe2e-production get daemonset agent -o "jsonpath={.spec.template.spec.nodeSelector['npe2e\.example\.com/env']}"
  [ "$output" = production ]
}

@test "a DaemonSet plans Pods for the nodes of its namespace only" {
  needs_a_scheduler
  apply "$CLUSTER/manifests/daemonset.yml"
  eventually planned
}

planned() {
  kubectl -n npe2e-production get daemonset agent -o json | jq -e '.status.desiredNumberScheduled == 1'
}

@test "a node of its own choice that the namespace may use" {
  create npe2e-production pinned '.spec.nodeName = "npe2e-production-1"'
  [ "$(selector npe2e-production pinned)" = production ]
}

@test "a node of its own choice that the namespace may not use" {
  run create npe2e-production foreign '.spec.nodeName = "npe2e-development-1"'
  refused 'names node "npe2e-development-1"'
}

@test "a node of its own choice that is gone" {
  run create npe2e-production lost '.spec.nodeName = "npe2e-gone"'
  refused "which does not exist"
}

@test "a malformed annotation is refused where it is written" {
  run kubectl annotate namespace npe2e-default "scheduler.alpha.kubernetes.io/node-selector=env production"
  refused "is not a node selector"
}
