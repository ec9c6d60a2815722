#!/usr/bin/env bats
# What must come of each test is its row in fixtures/runs.tsv, which a Rust test reads too.

load kwctl

@test "binding: both jobs read the node once" {
  run_row
}

@test "binding: a node that the namespace may not use" {
  run_row
}

@test "binding: a label of the node becomes annotation and label" {
  run_row
}

@test "binding: the older endpoint" {
  run_row
}

@test "binding: a target without a kind is a Node" {
  run_row
}

@test "binding: annotations and fields of the node" {
  run_row
}

@test "binding: a default where the node has nothing" {
  run_row
}

@test "binding: nothing is written where the node has nothing" {
  run_row
}

@test "binding: what is required and lacking" {
  run_row
}

@test "binding: a node that is gone" {
  run_row
}

@test "binding: a node that is gone, where that is ignored" {
  run_row
}

@test "metadata: a Pod that names its node learns at once" {
  run_row
}

@test "metadata: a Pod without a node learns nothing yet" {
  run_row
}

@test "metadata: a forged key is taken away" {
  run_row
}

@test "metadata: what is missing is filled in at an update" {
  run_row
}

@test "metadata: a kubelet's update of the status stays as it is" {
  run_row
}

@test "env: every container gets the variable" {
  run_row
}

@test "env: a Pod that names its node gets variable and value" {
  run_row
}

@test "env: a mirror Pod of a kubelet gets none" {
  run_row
}

@test "env: the Binding brings the value" {
  run_row
}
