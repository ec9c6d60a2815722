# What the tests share: how a row of fixtures/runs.tsv is run with kwctl, and judged.
#
# A verdict is one of: accepted (unchanged, no warning), warned (unchanged), mutated, rejected. The words of a row must be found in the
# patch of a mutation, in the warnings, or in the message.

E2E="${BATS_TEST_DIRNAME:?}"
FIXTURES="$E2E/fixtures"
POLICY="${ANNOTATED_POLICY:-$E2E/../annotated-policy.wasm}"

# Runs the row whose name is that of the test.
run_row() {
  local request settings session verdict words
  IFS=$'\t' read -r _ request settings session verdict words < <(grep -F "$BATS_TEST_DESCRIPTION"$'\t' "$FIXTURES/runs.tsv")
  run_kwctl "$request" "$session" --settings-path "$FIXTURES/settings/$settings.yml"
  [ "${status:?}" -eq 0 ]
  "expect_$verdict" "$words"
}

# Runs a Pod with the settings of the row whose name is that of the test: they must be refused.
refuse_row() {
  local settings words
  IFS=$'\t' read -r _ settings words < <(grep -F "$BATS_TEST_DESCRIPTION"$'\t' "$FIXTURES/refusals.tsv")
  run_kwctl pod-create - --settings-json "$settings"
  [ "${status:?}" -ne 0 ]
  lacks '"allowed"'
  contains "$words"
}

# Runs a request with a session, or without (-): whatever the policy would look up then, there is nothing to answer with.
run_kwctl() {
  local request="$FIXTURES/bare/$1.json" session="$FIXTURES/sessions/$2.yml"
  if [ "$2" = - ]; then
    session="$BATS_TEST_TMPDIR/nothing.yml"
    echo '[]' >"$session"
  fi
  run kwctl run --allow-context-aware --request-path "$request" --replay-host-capabilities-interactions "$session" "${@:3}" "$POLICY"
  echo "$output"
}

expect_accepted() {
  contains '"allowed":true'
  lacks '"patch"'
  lacks '"warnings":["'
}

expect_warned() {
  contains '"allowed":true'
  lacks '"patch"'
  contains '"warnings":["'
  contains "$1"
}

expect_mutated() {
  contains '"allowed":true'
  contains '"patchType":"JSONPatch"'
  output="$(patch)"
  echo "$output"
  contains "$1"
}

expect_rejected() {
  contains '"allowed":false'
  lacks '"patch"'
  contains "$1"
}

# The JSON patch of the answer.
patch() {
  sed -n 's/.*"patch":"\([^"]*\)".*/\1/p' <<<"$output" | base64 -d
}

contains() {
  [[ "$output" == *"$1"* ]] || { echo "not found: $1" && false; }
}

lacks() {
  [[ "$output" != *"$1"* ]] || { echo "found: $1" && false; }
}
