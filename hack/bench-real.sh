#!/usr/bin/env bash
# Benchmarks the operator on a real API server: etcd and kube-apiserver on loopback, without kubelets and controllers,
# filled with nodes and Running pods. Prints one Markdown table per shape with medians and ranges of the runs.
# Compare the ratios, because everything runs on the same cores.
#
# usage: hack/bench-real.sh [option]...
#   --shape NODES/PODS_PER_NODE   a cluster; several are measured one after the other [300/30 and 1000/30]
#   --evictions N                 evictions per run [300]
#   --runs N                      runs per program, alternating [5]
#   --operator NAME=PATH[,CRDS]   an evacuator program; several run alternately [ours=build/release/cmd/evacuator]. CRDS: a
#                                 folder or file with the CRDs of that program, applied before each of its runs; default: the
#                                 CRDs of this tree
#   --other 'NAME=COMMAND'        any other descheduler, which uses $KUBECONFIG, evicts, and exits by itself
#   --loops 'N N N'               connections of the bare loops [1 8 32]
#   --rest SECONDS                duration of the measurement of the idle operator [20]
#   --cycles N                    minutes of the measurement with a policy that plans once per minute and moves nothing [2];
#                                 0: skipped
#   --flood CONNECTIONS           only measures the operator while another ServiceAccount lists all pods continuously on this
#                                 number of connections, without and with config/optional/priority-and-fairness.yaml. The API
#                                 server answers at most 20 reads and 10 writes concurrently
#   --keep FILE                   append the lines of JSON behind the table
#
# The binaries are searched in KUBEBUILDER_ASSETS, PATH, or as hack/cluster/README.md describes. CLUSTER_DIR: state folder
# [/tmp/evacuator-bench]. GLIBC_TUNABLES: passed to the operator [as in the image]. HELPER: an existing evacuator_real_bench,
# so that nothing is built.
set -euo pipefail
cd "$(dirname "$0")/.."

SHAPES=() OPERATORS=() OTHERS=() EVICTIONS=300 RUNS=5 LOOPS="1 8 32" REST=20 CYCLES=2 FLOOD="" KEEP=""
BUILD=${BUILD:-build/release}
READY=${HELPER:-}
TUNABLES=$(sed -n 's/^tunables=//p' hack/image.sh) # as in the image
HELPER=${HELPER:-$BUILD/test/bench/real/evacuator_real_bench}
export CLUSTER_DIR=${CLUSTER_DIR:-/tmp/evacuator-bench} CLUSTER_NODES=0
RESULTS="" OPERATOR_PID="" FLOOD_PID="" OPERATOR_KUBECONFIG="$CLUSTER_DIR/kubeconfig" LEADER_ELECTION=false

main() {
  read_options "$@"
  build
  RESULTS="$(mktemp -d /tmp/bench-real.XXXXXX)"
  trap finish EXIT
  trap 'exit 130' INT TERM HUP
  local shape
  for shape in "${SHAPES[@]}"; do
    if [[ -n $FLOOD ]]; then
      measure_flooded "${shape%/*}" "${shape#*/}"
    else
      measure "${shape%/*}" "${shape#*/}"
    fi
  done
}

read_options() {
  while (($# > 0)); do
    case "$1" in
      --shape) SHAPES+=("$2") ;;
      --evictions) EVICTIONS=$2 ;;
      --runs) RUNS=$2 ;;
      --operator) OPERATORS+=("$2") ;;
      --other) OTHERS+=("$2") ;;
      --loops) LOOPS=$2 ;;
      --rest) REST=$2 ;;
      --cycles) CYCLES=$2 ;;
      --flood) FLOOD=$2 ;;
      --keep) KEEP=$2 ;;
      *) sed -n '2,/^[^#]/{/^#/!q;s/^# \{0,1\}//p}' "$0" >&2 && exit 2 ;;
    esac
    shift 2
  done
  ((${#SHAPES[@]} > 0)) || SHAPES=(300/30 1000/30)
  ((${#OPERATORS[@]} > 0)) || OPERATORS=("ours=$BUILD/cmd/evacuator")
}

build() {
  [[ -z $READY ]] || return 0
  [[ -d $BUILD ]] || cmake --preset release >/dev/null
  local targets=(evacuator_real_bench) each
  for each in "${OPERATORS[@]}"; do
    [[ $(program_of "$each") != "$BUILD/cmd/evacuator" ]] || targets+=(evacuator)
  done
  cmake --build "$BUILD" --parallel "$(nproc)" --target "${targets[@]}" >&2
}

# shellcheck disable=SC2317  # called by the trap
finish() {
  stop_operator
  stop_flood
  hack/cluster/down.sh >/dev/null 2>&1 || true
  rm -rf "$RESULTS"
}

# Parts of NAME=PATH[,CRDS].
name_of() { printf '%s\n' "${1%%=*}"; }
program_of() { local rest=${1#*=} && printf '%s\n' "${rest%%,*}"; }
crds_of() { # empty for the CRDs of this tree
  local rest=${1#*=}
  [[ $rest != *,* ]] || printf '%s\n' "${rest#*,}"
}

say() { printf 'bench-real: %s\n' "$*" >&2; }

kube() { kubectl --kubeconfig="$CLUSTER_DIR/kubeconfig" --cache-dir="$RESULTS/kubectl" "$@"; }

pid_of() { cat "$CLUSTER_DIR/run/$1.pid"; }

# ---------------------------------------------------------------- one shape

measure() { # measure NODES PODS_PER_NODE
  local nodes=$1 per_node=$2 run each lines="$RESULTS/$1.jsonl"
  start_cluster
  fill "$nodes" "$per_node"
  for each in $LOOPS; do
    "$HELPER" loop "$CLUSTER_DIR/kubeconfig" "$each" "$(at_most "$EVICTIONS" $((each * 40)))" >>"$lines"
    fill "$nodes" "$per_node"
  done
  for ((run = 1; run <= RUNS; run++)); do
    for each in "${OPERATORS[@]}"; do
      say "run $run of $RUNS: ${each%%=*}"
      apply_crds "$(crds_of "$each")"
      run_operator "$(name_of "$each")" "$(program_of "$each")" >>"$lines"
      "$HELPER" clean "$CLUSTER_DIR/kubeconfig"
      fill "$nodes" "$per_node"
    done
    for each in "${OTHERS[@]}"; do
      say "run $run of $RUNS: ${each%%=*}"
      run_other "${each%%=*}" "${each#*=}" >>"$lines"
      fill "$nodes" "$per_node"
    done
  done
  print_table "$nodes" "$per_node" "$lines"
  hack/cluster/down.sh
}

# ---------------------------------------------------------------- during a flood

measure_flooded() { # measure_flooded NODES PODS_PER_NODE
  local nodes=$1 per_node=$2 run each beside lines="$RESULTS/$1.jsonl"
  export CLUSTER_APISERVER_FLAGS="--max-requests-inflight=20 --max-mutating-requests-inflight=10"
  start_cluster
  fill "$nodes" "$per_node"
  service_account evacuator-system evacuator
  service_account default flood
  OPERATOR_KUBECONFIG="$RESULTS/evacuator.kubeconfig" LEADER_ELECTION=true
  for ((run = 1; run <= RUNS; run++)); do
    for each in "${OPERATORS[@]}"; do
      for beside in "alone" "flooded" "flooded, own share"; do
        say "run $run of $RUNS: ${each%%=*}, $beside"
        apply_crds "$(crds_of "$each")"
        fairness "$beside"
        [[ $beside == alone ]] || start_flood
        run_operator "$(name_of "$each"), $beside" "$(program_of "$each")" >>"$lines"
        stop_flood
        "$HELPER" clean "$CLUSTER_DIR/kubeconfig"
        fill "$nodes" "$per_node"
      done
    done
  done
  print_table "$nodes" "$per_node" "$lines"
  hack/cluster/down.sh
}

# Creates a ServiceAccount with all rights, and its kubeconfig in $RESULTS.
service_account() { # service_account NAMESPACE NAME
  local token
  kube --namespace="$1" create serviceaccount "$2" --dry-run=client -o yaml | kube apply -f - >/dev/null
  kube create clusterrolebinding "$2" --clusterrole=cluster-admin --serviceaccount="$1:$2" >/dev/null
  token="$(kube create --raw "/api/v1/namespaces/$1/serviceaccounts/$2/token" -f - <<'JSON' |
{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}
JSON
    sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')"
  (umask 077 && cp "$CLUSTER_DIR/kubeconfig" "$RESULTS/$2.kubeconfig")
  kubectl --kubeconfig="$RESULTS/$2.kubeconfig" config set-credentials "$2" --token="$token" >/dev/null
  kubectl --kubeconfig="$RESULTS/$2.kubeconfig" config set-context --current --user="$2" >/dev/null
}

# Applies or deletes the sample, in the API version of the server.
fairness() { # fairness BESIDE
  local version=v1 sample="$RESULTS/fairness.yaml"
  kube api-versions | grep -x flowcontrol.apiserver.k8s.io/v1 >/dev/null || version=v1beta1
  cp config/optional/priority-and-fairness.yaml "$sample"
  [[ $version == v1 ]] ||
    sed -i "s|flowcontrol.apiserver.k8s.io/v1$|&beta1|; s/nominalConcurrencyShares/assuredConcurrencyShares/; /lendablePercent/d" "$sample"
  if [[ $1 == *"own share" ]]; then
    kube apply -f "$sample" >/dev/null
  else
    kube delete --ignore-not-found -f "$sample" >/dev/null
  fi
  sleep 3 # until the API server has processed it
}

start_flood() {
  "$HELPER" flood "$RESULTS/flood.kubeconfig" "$FLOOD" >"$RESULTS/flood.log" 2>&1 &
  FLOOD_PID=$!
  sleep 5
}

stop_flood() {
  [[ -n $FLOOD_PID ]] || return 0
  kill "$FLOOD_PID" 2>/dev/null || true
  wait "$FLOOD_PID" 2>/dev/null || true
  FLOOD_PID=
}

# ---------------------------------------------------------------- helpers

at_most() { printf '%s\n' $(($1 < $2 ? $1 : $2)); }

start_cluster() {
  hack/cluster/up.sh >/dev/null
  apply_crds ""
  kube create namespace evacuator-system --dry-run=client -o yaml | kube apply -f - >/dev/null
}

server_version() { kube get --raw=/version | sed -n 's/.*"gitVersion": *"\(v[^"]*\)".*/\1/p'; }

# No objects exist at this time, so no stored one violates the new schema.
apply_crds() { # apply_crds CRDS
  local crds=$1 how=-f
  if [[ -z $crds ]]; then
    crds=crds
    [[ $(hack/image/overlay_of.sh "$(server_version)") == default ]] || crds=crds/legacy
  fi
  [[ ! -e $crds/kustomization.yaml ]] || how=-k
  kube apply "$how" "$crds" >/dev/null
  kube wait --for=condition=Established crd/evacuations.evacuator.dev crd/deschedulerpolicies.evacuator.dev >/dev/null
}

fill() { "$HELPER" fill "$CLUSTER_DIR/kubeconfig" "$@"; } # fill NODES PODS_PER_NODE

print_table() { # print_table NODES PODS_PER_NODE FILE
  printf '\n%s nodes, %s pods on each third, %s evictions, %s runs, %s\n\n' "$1" "$(($2 * 2)), $2 and 0" "$EVICTIONS" "$RUNS" \
    "Kubernetes $(server_version)"
  "$HELPER" report <"$3"
  [[ -z $KEEP ]] || cat "$3" >>"$KEEP"
}

# ---------------------------------------------------------------- one run

operator_config() {
  cat <<YAML
limits: {inFlight: {total: 20000, perNode: 20000, perTargetNode: 20000, perNamespace: 20000, perWorkload: 20000}}
leaderElection: {enabled: $LEADER_ELECTION}
logging: {level: warning}
YAML
}

policy() { # policy [MODE [INTERVAL]]
  cat <<YAML
apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: bench}
spec:
  mode: ${1:-Automatic}
  schedule: {interval: ${2:-1h}}
  evictability: {nodeFit: true}
  limits: {perCycle: {total: $EVICTIONS}}
  strategies:
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 10, memory: 10, pods: 10}, targetThresholds: {cpu: 20, memory: 20, pods: 20}}
YAML
}

run_operator() { # run_operator NAME PATH
  local from started
  policy | kube apply -f - >/dev/null
  operator_config >"$RESULTS/config.yaml"
  from="$(audit_size)" started="$(date +%s.%N)"
  GLIBC_TUNABLES=${GLIBC_TUNABLES-$TUNABLES} "$2" run --kubeconfig="$OPERATOR_KUBECONFIG" \
    --config="$RESULTS/config.yaml" --qps=2000 --burst=4000 \
    --health-address=127.0.0.1:0 --metrics-address=127.0.0.1:0 --identity=bench >"$RESULTS/operator.log" 2>&1 &
  OPERATOR_PID=$!
  observe "$1" "$OPERATOR_PID" "$started" "$from" "$EVICTIONS"
  kill -0 "$OPERATOR_PID" 2>/dev/null || say "$1 ended by itself: $(grep -v '^{' "$RESULTS/operator.log" | tail -n 1)"
  kube delete deschedulerpolicy bench >/dev/null
  [[ -z $FLOOD_PID ]] || { stop_operator && return 0; }
  sleep 5
  "$HELPER" rest "$1" "$OPERATOR_PID" "$REST" || { tail -n 20 "$RESULTS/operator.log" >&2 && exit 1; }
  ((CYCLES == 0)) || watch_cycles "$1"
  stop_operator
}

# Measures the cost of planning alone: in mode DryRun a cycle plans, and nothing moves.
watch_cycles() { # watch_cycles NAME
  policy DryRun 1m | kube apply -f - >/dev/null
  "$HELPER" rest "$1" "$OPERATOR_PID" $((CYCLES * 60)) in_cycles || { tail -n 20 "$RESULTS/operator.log" >&2 && exit 1; }
  local took
  took="$(kube get deschedulerpolicy bench -o jsonpath='{.status.lastCycle.duration}')"
  [[ -z $took ]] || "$HELPER" cycle "$1" "$took"
  kube delete deschedulerpolicy bench >/dev/null
}

stop_operator() {
  [[ -n $OPERATOR_PID ]] || return 0
  kill "$OPERATOR_PID" 2>/dev/null || true
  wait "$OPERATOR_PID" 2>/dev/null || true
  OPERATOR_PID=
}

run_other() { # run_other NAME COMMAND
  local from started
  from="$(audit_size)" started="$(date +%s.%N)"
  KUBECONFIG="$CLUSTER_DIR/kubeconfig" bash -c "exec $2" >"$RESULTS/other.log" 2>&1 &
  OPERATOR_PID=$!
  observe "$1" "$OPERATOR_PID" "$started" "$from" 0
  stop_operator
}

audit_size() { stat --format=%s "$CLUSTER_DIR/logs/audit.log"; }

observe() { # observe NAME PID STARTED FROM EVICTIONS
  "$HELPER" observe "$1" "$2" "$3" "$CLUSTER_DIR/logs/audit.log" "$4" "$5" 300 \
    "apiserver=$(pid_of kube-apiserver)" "etcd=$(pid_of etcd)"
}

main "$@"
exit
