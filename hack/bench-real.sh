#!/usr/bin/env bash
# Measures the operator at a real API server: etcd and kube-apiserver on loopback, without kubelets and controllers, filled
# with nodes and Running pods. Prints one Markdown table for each shape: medians, and the range of the runs.
# Read the ratios: everything runs on the same cores.
#
# usage: hack/bench-real.sh [option]...
#   --shape NODES/PODS_PER_NODE   a cluster; several are measured one after the other [300/30 and 1000/30]
#   --evictions N                 evictions of each run [300]
#   --runs N                      runs of each program, in turn [5]
#   --operator NAME=PATH          an evacuator program; several run in turn [ours=build/release/cmd/evacuator]
#   --other 'NAME=COMMAND'        any other descheduler; it finds its way by $KUBECONFIG, and evicts and ends by itself
#   --loops 'N N N'               connections of the bare loops [1 8 32]
#   --rest SECONDS                how long the operator is watched while it has nothing to do [20]
#   --keep FILE                   append the lines of JSON that the table is made of
#
# The binaries: KUBEBUILDER_ASSETS, PATH, or as hack/cluster/README.md says. CLUSTER_DIR: the state [/tmp/evacuator-bench].
# HELPER: a ready evacuator_real_bench; then nothing is built.
set -euo pipefail
cd "$(dirname "$0")/.."

SHAPES=() OPERATORS=() OTHERS=() EVICTIONS=300 RUNS=5 LOOPS="1 8 32" REST=20 KEEP=
BUILD=${BUILD:-build/release}
READY=${HELPER:-}
HELPER=${HELPER:-$BUILD/test/bench/real/evacuator_real_bench}
export CLUSTER_DIR=${CLUSTER_DIR:-/tmp/evacuator-bench} CLUSTER_NODES=0
RESULTS="" OPERATOR_PID=""

main() {
  read_options "$@"
  build
  RESULTS="$(mktemp -d /tmp/bench-real.XXXXXX)"
  trap finish EXIT
  trap 'exit 130' INT TERM HUP
  local shape
  for shape in "${SHAPES[@]}"; do
    measure "${shape%/*}" "${shape#*/}"
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
    [[ ${each#*=} != "$BUILD/cmd/evacuator" ]] || targets+=(evacuator)
  done
  cmake --build "$BUILD" --parallel "$(nproc)" --target "${targets[@]}" >&2
}

# shellcheck disable=SC2317  # called by the trap
finish() {
  stop_operator
  hack/cluster/down.sh >/dev/null 2>&1 || true
  rm -rf "$RESULTS"
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
      run_operator "${each%%=*}" "${each#*=}" >>"$lines"
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

at_most() { printf '%s\n' $(($1 < $2 ? $1 : $2)); }

start_cluster() {
  hack/cluster/up.sh >/dev/null
  local crds=crds
  [[ $(kube version 2>/dev/null) != *'v1.2'[0-4]'.'* ]] || crds=crds/legacy
  kube apply -k "$crds" >/dev/null
  kube create namespace evacuator-system --dry-run=client -o yaml | kube apply -f - >/dev/null
  kube wait --for=condition=Established crd/evacuations.evacuator.dev crd/deschedulerpolicies.evacuator.dev >/dev/null
}

fill() { "$HELPER" fill "$CLUSTER_DIR/kubeconfig" "$@"; } # fill NODES PODS_PER_NODE

print_table() { # print_table NODES PODS_PER_NODE FILE
  printf '\n%s nodes, %s pods on each third, %s evictions, %s runs, %s\n\n' "$1" "$(($2 * 2)), $2 and 0" "$EVICTIONS" "$RUNS" \
    "$(kube get --raw=/version | sed -n 's/.*"gitVersion": *"\(v[^"]*\)".*/Kubernetes \1/p')"
  "$HELPER" report <"$3"
  [[ -z $KEEP ]] || cat "$3" >>"$KEEP"
}

# ---------------------------------------------------------------- one run

operator_config() {
  cat <<'YAML'
limits: {inFlight: {total: 20000, perNode: 20000, perTargetNode: 20000, perNamespace: 20000, perWorkload: 20000}}
leaderElection: {enabled: false}
logging: {level: error}
YAML
}

policy() {
  cat <<YAML
apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: bench}
spec:
  mode: Automatic
  schedule: {interval: 1h}
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
  "$2" run --kubeconfig="$CLUSTER_DIR/kubeconfig" --config="$RESULTS/config.yaml" --qps=2000 --burst=4000 \
    --health-address=127.0.0.1:0 --metrics-address=127.0.0.1:0 --identity=bench >"$RESULTS/operator.log" 2>&1 &
  OPERATOR_PID=$!
  observe "$1" "$OPERATOR_PID" "$started" "$from" "$EVICTIONS"
  kube delete deschedulerpolicy bench >/dev/null
  sleep 5
  "$HELPER" rest "$1" "$OPERATOR_PID" "$REST" || { tail -n 20 "$RESULTS/operator.log" >&2 && exit 1; }
  stop_operator
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
