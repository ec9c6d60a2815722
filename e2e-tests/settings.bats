#!/usr/bin/env bats
# kwctl validates the settings before it runs anything: those of each test are refused, with the words of its row in
# fixtures/refusals.tsv, which a Rust test reads too.

load kwctl

@test "settings: none" {
  refuse_row
}

@test "settings: an unknown field" {
  refuse_row
}

@test "settings: both placement blocks" {
  refuse_row
}

@test "settings: a value that is none of the choices" {
  refuse_row
}

@test "settings: a selector that does not parse" {
  refuse_row
}

@test "settings: a default that contradicts what is required" {
  refuse_row
}

@test "settings: a set, where the plugin reads pairs only" {
  refuse_row
}

@test "settings: a label that workloads select by" {
  refuse_row
}

@test "settings: a variable that two entries define" {
  refuse_row
}

@test "settings: every mistake at once" {
  refuse_row
}
