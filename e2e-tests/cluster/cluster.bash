# What the tests in a cluster share.
#
# They need KUBECONFIG, kubectl, jq, and Kubewarden with a PolicyServer that may read Nodes and Namespaces (examples/rbac.yml). They bring
# Nodes of their own, which no kubelet stands behind: what a container would see is read from its Pod. The node lifecycle controller
# finds those Nodes unreachable after a while, so the Pods here tolerate every taint.
#
#   POLICY_MODULE   the module to deploy                  [default: the released one]
#   POLICY_SERVER   the PolicyServer that serves it       [default: default]
#   TOOL            the command-line tool                 [default: that of `make tool`]
#   NO_SCHEDULER    set, if the cluster has no scheduler: the tests that need one are skipped
#   NO_KUBELET      set, if it has no real Node:          likewise

CLUSTER="${BATS_TEST_DIRNAME:?}"
POLICY='node-placement-e2e'
MODULE="${POLICY_MODULE:-registry://ghcr.io/node-placement/policies/node-placement:v0.1.0}"
TOOL="${TOOL:-$CLUSTER/../../target/debug/kubectl-node_placement}"
NAMESPACES=(npe2e-production npe2e-development npe2e-noannotation npe2e-default npe2e-free)
NODES=(npe2e-production-1 npe2e-development-1)

# Puts everything in place. Whatever was left by a run that was broken off goes first.
set_up() {
  : "${KUBECONFIG:?names no cluster to test in}"
  clean_up
  apply "$CLUSTER/manifests/nodes.yml"
  # The Nodes need a status, which kubectl apply does not write.
  for node in "${NODES[@]}"; do
    kubectl patch node "$node" --subresource=status --type=merge --patch-file "$CLUSTER/manifests/node-status.yml"
  done
  apply "$CLUSTER/manifests/namespaces.yml"
  # The namespace's service account is made by a controller, and no Pod is admitted before.
  for namespace in "${NAMESPACES[@]}"; do
    eventually kubectl -n "$namespace" get serviceaccount default
  done
  sed -e "s|MODULE|$MODULE|" -e "s|POLICY_SERVER|${POLICY_SERVER:-default}|" "$CLUSTER/manifests/policy.yml" | kubectl apply -f -
  kubectl wait --for=condition=PolicyActive "clusteradmissionpolicy/$POLICY" --timeout=3m
  # Active says that the webhook is there; whether it answers, a dry run says.
  eventually served
}

clean_up() {
  kubectl delete clusteradmissionpolicy "$POLICY" --ignore-not-found --wait
  # No kubelet ends Pods on Nodes like these.
  for namespace in "${NAMESPACES[@]}"; do
    kubectl -n "$namespace" delete daemonsets,deployments,pods --all --force --grace-period=0 --ignore-not-found
  done
  kubectl delete namespace "${NAMESPACES[@]}" --ignore-not-found --wait --timeout=2m
  kubectl delete node "${NODES[@]}" npe2e-gone --ignore-not-found
}

# backstop <settings>: what the tool prints for them.
backstop() {
  "$TOOL" policy "$1" --backstop --name "$POLICY"
}

# in_process <settings>: the twin that the tool prints for them, and the backstop.
in_process() {
  "$TOOL" policy "$1" --in-process --name "$POLICY"
}

delete_backstop() {
  for name in "$POLICY-backstop" "$POLICY-backstop-warn"; do
    kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy "$name" --ignore-not-found
  done
}

delete_twin() {
  kubectl delete mutatingadmissionpolicybinding,mutatingadmissionpolicy "$POLICY-twin" --ignore-not-found
}

served() {
  pod npe2e-production probe | kubectl create --dry-run=server -o json -f - | jq -e '.spec.nodeSelector["npe2e.example.com/env"] == "production"'
}

apply() {
  kubectl apply -f "$1"
}

# Tries a command until it succeeds, for a minute.
eventually() {
  for _ in $(seq 60); do
    if "$@" >/dev/null 2>&1; then
      return 0
    fi
    sleep 1
  done
  "$@"
}

# pod <namespace> <name> [<jq filter>]: the manifest of a Pod.
pod() {
  jq -n --arg namespace "$1" --arg name "$2" '{
    apiVersion: "v1", kind: "Pod",
    metadata: { name: $name, namespace: $namespace },
    spec: {
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "app", image: "registry.k8s.io/pause:3.10" }]
    }
  } | '"${3:-.}"
}

# create <namespace> <name> [<jq filter>]: creates that Pod.
create() {
  pod "$@" | kubectl create -f -
}

# A field of a Pod: value <namespace> <name> <jq filter>.
value() {
  kubectl -n "$1" get pod "$2" -o json | jq -r "$3"
}

# bind <namespace> <pod> <node> [<annotations as JSON>]: binds a Pod as a scheduler does.
bind() {
  binding "$@" | kubectl create --raw "/api/v1/namespaces/$1/pods/$2/binding" -f -
}

# The same on the older endpoint.
bind_legacy() {
  binding "$@" | kubectl create --raw "/api/v1/namespaces/$1/bindings" -f -
}

binding() {
  jq -n --arg namespace "$1" --arg name "$2" --arg node "$3" --argjson annotations "${4:-null}" '{
    apiVersion: "v1", kind: "Binding",
    metadata: { name: $name, namespace: $namespace, annotations: $annotations },
    target: { apiVersion: "v1", kind: "Node", name: $node }
  }'
}

# What no scheduler may bind: `bind` and `bind_legacy` do.
unscheduled() {
  echo '.spec.schedulerName = "nobody"'
}

refused() {
  echo "${output:?}"
  [ "${status:?}" -ne 0 ]
  [[ "$output" == *"$1"* ]]
}

needs_a_scheduler() {
  [ -z "${NO_SCHEDULER:-}" ] || skip "there is no scheduler"
}

needs_a_kubelet() {
  needs_a_scheduler
  [ -z "${NO_KUBELET:-}" ] || skip "there is no kubelet"
}
