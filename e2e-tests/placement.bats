#!/usr/bin/env bats
# What must come of each test is its row in fixtures/runs.tsv, which a Rust test reads too.

load kwctl

@test "pod: the namespace's annotation becomes its nodeSelector" {
  run_row
}

@test "pod: without an annotation, the cluster's default does" {
  run_row
}

@test "pod: a dry run is no exception" {
  run_row
}

@test "pod: a set becomes node affinity, with no look-up" {
  run_row
}

@test "pod: one of a ReplicaSet, which has no name yet" {
  run_row
}

@test "pod: a default that is not on the whitelist rejects every one" {
  run_row
}

@test "pod: an annotation cannot leave the fence" {
  run_row
}

@test "pod: a malformed annotation is rejected" {
  run_row
}

@test "pod: a Namespace that can't be read rejects, in one line" {
  run_row
}

@test "pod: a node of its own choice that the namespace may use" {
  run_row
}

@test "pod: a node of its own choice that it may not use" {
  run_row
}

@test "pod: a node of its own choice that is gone" {
  run_row
}

@test "pod: a mirror Pod of a kubelet passes" {
  run_row
}

@test "plugin: the annotation becomes the nodeSelector" {
  run_row
}

@test "namespace: a malformed annotation is rejected" {
  run_row
}

@test "namespace: a malformed annotation is warned of" {
  run_row
}

@test "namespace: an update elsewhere passes" {
  run_row
}
