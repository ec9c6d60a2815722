#!/usr/bin/env bats
# kwctl validates the settings before it runs anything.

load kwctl

# Runs a Pod with the settings given as JSON, which must be refused with these words.
refuses() {
  run_kwctl pod-create - --settings-json "$1"
  [ "$status" -ne 0 ]
  lacks '"allowed"'
  contains "$2"
}

@test "settings: none" {
  refuses '{}' 'expected at least one of placement, podNodeSelectorPluginConfig, nodeMetadata'
}

@test "settings: an unknown field" {
  refuses '{"placement":{"onNodename":"Reject"}}' 'placement: unknown field'
}

@test "settings: both placement blocks" {
  refuses '{"placement":{},"podNodeSelectorPluginConfig":{}}' 'placement and podNodeSelectorPluginConfig exclude each other'
}

@test "settings: a value that is none of the choices" {
  refuses '{"placement":{"onNodeName":"verify"}}' 'expected one of Verify, Reject, Ignore'
}

@test "settings: a selector that does not parse" {
  refuses '{"placement":{"clusterDefaultNodeSelector":"env production"}}' 'placement.clusterDefaultNodeSelector: found'
}

@test "settings: a required selector that its whitelist forbids" {
  refuses '{"placement":{"namespaces":[{"name":"a","requiredNodeSelector":"env=p","allowedNodeSelector":"env=x"}]}}' \
    'placement.namespaces[0].requiredNodeSelector:'
}

@test "settings: a set, where the plugin reads pairs only" {
  refuses '{"podNodeSelectorPluginConfig":{"production":"env in (a)"}}' 'expected key=value'
}

@test "settings: a label that workloads select by" {
  refuses '{"nodeMetadata":{"propagate":[{"nodeLabel":"zone","podLabel":"app.kubernetes.io/zone"}]}}' 'workloads select their Pods by labels with this prefix'
}

@test "settings: every mistake at once" {
  refuses '{"placement":{"onBindings":"Maybe"},"nodeMetadata":{"propagate":[]}}' 'placement.onBindings: found'
  contains 'nodeMetadata.propagate: expected at least one entry'
}
