#!/usr/bin/env bats
# An outage of the policy-server, and the way out of it that docs/outage.md prints. The tests build on each other.
# They stop Kubewarden's controller and the policy-server: give them a cluster that nobody else uses.
# These tests have not been run as they stand: their steps have been, by hand, with a webhook that nobody serves.
#
#   KUBEWARDEN_NAMESPACE    where Kubewarden is installed     [default: kubewarden]
#   KUBEWARDEN_CONTROLLER   the Deployment of its controller  [default: the one there with that word in its name]

load cluster

BACKSTOP="$POLICY-backstop"
KUBEWARDEN="${KUBEWARDEN_NAMESPACE:-kubewarden}"
PAGE="$CLUSTER/../../docs/outage.md"

setup_file() {
  : "${KUBECONFIG:?names no cluster to test in}"
  bring_back
  delete_twin
  delete_backstop
  clean_up
  apply "$CLUSTER/manifests/namespaces.yml"
  for namespace in "${NAMESPACES[@]}"; do
    eventually kubectl -n "$namespace" get serviceaccount default
  done
  "$TOOL" policy "$CLUSTER/manifests/fence.yml" --name "$POLICY" --module "$MODULE" \
    --policy-server "${POLICY_SERVER:-default}" --namespaces 'npe2e=true' |
    sed 's/mode: monitor/mode: protect/' | kubectl apply -f -
  kubectl wait --for=condition=PolicyActive "clusteradmissionpolicy/$POLICY" --timeout=3m
  eventually served
  deployment npe2e-production web 2 | kubectl apply -f -
  eventually replicas npe2e-production web 2
  kubectl -n npe2e-production create job due --image=registry.k8s.io/pause:3.10 --dry-run=client -o json |
    jq '.spec.suspend = true' | kubectl apply -f -
  stop
}

teardown_file() {
  bring_back
  delete_twin
  delete_backstop
  kubectl -n npe2e-production delete job due --ignore-not-found
  clean_up
}

controller() {
  local deployments
  deployments="$(kubectl -n "$KUBEWARDEN" get deployments -o jsonpath='{.items[*].metadata.name}' | tr ' ' '\n')"
  echo "${KUBEWARDEN_CONTROLLER:-$(grep -m1 controller <<<"$deployments")}"
}

# No policy-server answers, and no controller restores it.
stop() {
  kubectl -n "$KUBEWARDEN" scale deployment "$(controller)" --replicas=0
  kubectl -n "$KUBEWARDEN" scale deployment "policy-server-${POLICY_SERVER:-default}" --replicas=0
  eventually is_stopped
}

is_stopped() {
  [ -z "$(kubectl -n "$KUBEWARDEN" get pods -l "kubewarden/policy-server=${POLICY_SERVER:-default}" -o name)" ]
}

bring_back() {
  kubectl -n "$KUBEWARDEN" scale deployment "$(controller)" --replicas=1
  kubectl -n "$KUBEWARDEN" scale deployment "policy-server-${POLICY_SERVER:-default}" --replicas=1
  kubectl -n "$KUBEWARDEN" rollout status deployment "$(controller)" --timeout=3m
  kubectl -n "$KUBEWARDEN" rollout status deployment "policy-server-${POLICY_SERVER:-default}" --timeout=3m
}

# deployment <namespace> <name> <replicas> [<value of the selector>]
deployment() {
  jq -n --arg namespace "$1" --arg name "$2" --argjson replicas "$3" --arg env "${4:-}" '{
    apiVersion: "apps/v1", kind: "Deployment", metadata: { name: $name, namespace: $namespace },
    spec: { replicas: $replicas, selector: { matchLabels: { app: $name } }, template: {
      metadata: { labels: { app: $name } },
      spec: (
        { tolerations: [{ operator: "Exists" }], containers: [{ name: "app", image: "registry.k8s.io/pause:3.10" }] }
        + if $env == "" then {} else { nodeSelector: { "npe2e.example.com/env": $env } } end
      )
    } }
  }'
}

# replicas <namespace> <deployment> <count>: so many of its Pods exist.
replicas() {
  [ "$(kubectl -n "$1" get pods -l "app=$2" -o name | wc -l)" -eq "$3" ]
}

# way_out <may fall | must stay>: the commands of the page, for the policy of the tests.
way_out() {
  sed -n "/^ *<!-- The way out of an outage, the fence $1:/,/^ *\`\`\`\$/p" "$PAGE" |
    sed -n '/^ *```console$/,/^ *```$/p' | sed -e '/^ *```/d' -e 's/^ *//' \
    -e "s|kw.cap.node-placement|$(webhook)|" -e "s|clusterwide-node-placement|clusterwide-$POLICY|" \
    -e "s|backstop.yml|$BATS_FILE_TMPDIR/backstop.yml|"
}

# webhook: the name of the policy's webhook, or a failure if there is none. Kubewarden 1.37.2 changed these names.
webhook() {
  kubectl get mutatingwebhookconfigurations -l app.kubernetes.io/part-of=kubewarden -o json |
    jq -er --arg policy "$POLICY" '.items[].metadata | select(.annotations.kubewardenPolicyName == $policy) | .name'
}

@test "new Pods are refused" {
  run create npe2e-production refused "$(unscheduled)"
  refused "failed calling webhook"
}

@test "scaling down, pausing, labelling and suspending go on" {
  kubectl -n npe2e-production scale deployment web --replicas=1
  eventually replicas npe2e-production web 1
  kubectl -n npe2e-production rollout pause deployment web
  kubectl -n npe2e-production rollout resume deployment web
  kubectl -n npe2e-production label deployment web npe2e=outage
  kubectl -n npe2e-production patch job due --type merge -p '{"metadata":{"annotations":{"npe2e":"outage"}}}'
}

@test "another Pod template is refused" {
  run kubectl -n npe2e-production set image deployment web app=registry.k8s.io/pause:3.9
  refused "failed calling webhook"
}

@test "what waits is told in an event of its ReplicaSet" {
  kubectl -n npe2e-production scale deployment web --replicas=2
  eventually is_told
}

is_told() {
  kubectl -n npe2e-production get events --field-selector reason=FailedCreate -o json |
    jq -e 'any(.items[]; .message | contains("failed calling webhook"))'
}

@test "without a backstop, the page's command lets Pods start, and the fence is gone" {
  [ "$(way_out 'may fall' | wc -l)" -eq 2 ]
  kubectl get mutatingwebhookconfiguration "$(webhook)" -o json |
    jq 'del(.metadata.uid, .metadata.resourceVersion)' >"$BATS_FILE_TMPDIR/webhook.json"
  bash -euc "$(way_out 'may fall')"
  eventually create npe2e-production unfenced "$(unscheduled)"
  [ "$(value npe2e-production unfenced '.spec.nodeSelector["npe2e.example.com/env"]')" = null ]
  eventually replicas npe2e-production web 2
  # As it was, for the next test.
  kubectl -n npe2e-production delete pod unfenced --force --grace-period=0
  kubectl -n npe2e-production scale deployment web --replicas=1
  kubectl create -f "$BATS_FILE_TMPDIR/webhook.json"
  eventually is_refused
}

is_refused() {
  ! pod npe2e-production probe | kubectl create --dry-run=server -f -
}

@test "the page's commands let Pods start, and the fence holds" {
  # As on the page: of a policy, which tells its name and namespaces.
  kubectl get clusteradmissionpolicy "$POLICY" -o yaml >"$BATS_FILE_TMPDIR/policy.yml"
  "$TOOL" policy "$BATS_FILE_TMPDIR/policy.yml" --backstop >"$BATS_FILE_TMPDIR/backstop.yml"
  [ "$(way_out 'must stay' | wc -l)" -eq 3 ]
  bash -euc "$(way_out 'must stay')"
  eventually create npe2e-free free "$(unscheduled)"
  eventually denied_by_backstop
  create npe2e-production fenced "$(unscheduled) | .spec.nodeSelector = {\"npe2e.example.com/env\": \"production\"}"
  # Adding the selector to the template is what the message says.
  deployment npe2e-production web 2 production | kubectl apply -f -
  eventually replicas npe2e-production web 2
}

denied_by_backstop() {
  run create npe2e-production unfenced "$(unscheduled)"
  [ "$status" -ne 0 ]
  [[ "$output" == *"ValidatingAdmissionPolicy '$BACKSTOP'"*"demands npe2e.example.com/env=production of nodes"* ]]
}

@test "the policy-server comes back, and nothing is lost" {
  bring_back
  eventually webhook
  eventually served
  # The backstop lets in what the policy completes.
  create npe2e-production after "$(unscheduled)"
  [ "$(value npe2e-production after '.spec.nodeSelector["npe2e.example.com/env"]')" = production ]
  [ "$(value npe2e-production fenced '.spec.nodeSelector["npe2e.example.com/env"]')" = production ]
  [ "$(kubectl -n npe2e-production get pods -o json |
    jq '[.items[] | select(.spec.nodeSelector["npe2e.example.com/env"] != "production") | select(.metadata.labels.app != "web")] | length')" -eq 0 ]
  kubectl -n npe2e-production get deployment web -o json | jq -e '.metadata.labels.npe2e == "outage"'
}

# With failurePolicy: Ignore, and what `policy --in-process` prints.

@test "with a twin and a backstop, Pods start inside their fence while no policy-server answers" {
  kubectl patch clusteradmissionpolicy "$POLICY" --type merge -p '{"spec":{"failurePolicy":"Ignore"}}'
  eventually ignores_failures
  kubectl get clusteradmissionpolicy "$POLICY" -o yaml >"$BATS_FILE_TMPDIR/policy.yml"
  "$TOOL" policy "$BATS_FILE_TMPDIR/policy.yml" --in-process | kubectl apply --server-side -f -
  deployment npe2e-production ignored 1 | kubectl apply -f -
  eventually replicas npe2e-production ignored 1
  stop
  eventually completed_by_twin
  kubectl -n npe2e-production scale deployment ignored --replicas=3
  eventually replicas npe2e-production ignored 3
  kubectl -n npe2e-production get pods -l app=ignored -o json |
    jq -e '[.items[].spec.nodeSelector["npe2e.example.com/env"]] == ["production", "production", "production"]'
}

ignores_failures() {
  kubectl get mutatingwebhookconfiguration "$(webhook)" -o json | jq -e '[.webhooks[].failurePolicy] == ["Ignore"]'
}

completed_by_twin() {
  pod npe2e-production probe | kubectl create --dry-run=server -o json -f - |
    jq -e '.spec.nodeSelector["npe2e.example.com/env"] == "production"'
}

@test "a Pod that requests foreign nodes is refused meanwhile" {
  run create npe2e-production foreign "$(unscheduled) | .spec.nodeSelector = {\"npe2e.example.com/env\": \"development\"}"
  refused "ValidatingAdmissionPolicy '$BACKSTOP'"
}

@test "the policy-server comes back, and finds nothing to correct" {
  bring_back
  eventually served
  [ "$(kubectl -n npe2e-production get pods -l app=ignored -o json |
    jq '[.items[] | select(.spec.nodeSelector["npe2e.example.com/env"] != "production")] | length')" -eq 0 ]
  create npe2e-production completed "$(unscheduled)"
  [ "$(value npe2e-production completed '.spec.nodeSelector | length')" -eq 1 ]
}
