#!/usr/bin/env bats
# What must come of each test is its row in fixtures/runs.tsv, which a Rust test reads too.

load kwctl

@test "workload: a Deployment within the rules stays as it is" {
  run_row
}

@test "workload: a ReplicaSet of a Deployment is not judged again" {
  run_row
}

@test "workload: a DaemonSet is completed" {
  run_row
}

@test "workload: a DaemonSet is warned of" {
  run_row
}
