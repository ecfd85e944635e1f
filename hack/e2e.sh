#!/usr/bin/env bash
# Runs the end-to-end scenarios on the simulator and on a real Kubernetes, and the usage sources against a real
# Prometheus.
# Builds what it needs, starts its own cluster and stops it at the end.
# The last line is "N passed, N failed" over all targets. The lines before it name the failed tests.
#
#   hack/e2e.sh [TARGET...]      simulator, real, fragmentation and extender (real with 12 nodes), prometheus, docs (the
#                                command blocks of the pages, on the built-in cluster); default: all six.
#                                real is followed by the blocks that need a real cluster, and traces for an OTLP receiver.
#                                Targets without a cluster run in parallel with those that use one
#
#   PRESET                       CMake preset                      [release]
#   BUILD                        build folder                      [build/$PRESET]
#   E2E_FILTER                   GoogleTest filter                 [all]
#   E2E_OUT                      folder for logs and results       [out/e2e]
#   E2E_KEEP                     not empty: leave the cluster running
#   EVACUATOR_E2E_SEED           seed of the crash scenario        [random, printed]
set -euo pipefail
cd "$(dirname "$0")/.."

PRESET=${PRESET:-release}
BUILD=${BUILD:-build/$PRESET}
OUT=$(realpath -m "${E2E_OUT:-out/e2e}")
SUITE="$BUILD/test/e2e/evacuator_e2e"
LIMIT=1500 # maximum seconds per target, far above the usual time, so that a hang ends, too
passed=0
failed=0
guilty=()

say() { printf 'e2e: %s\n' "$*" >&2; }

main() {
  local target
  local targets=("$@")
  ((${#targets[@]})) || targets=(simulator real fragmentation extender prometheus docs)
  for target in "${targets[@]}"; do
    case "$target" in
      simulator | real | fragmentation | prometheus | docs | extender) ;;
      -h | --help) sed -n '2,/^[^#]/{/^#/!q;s/^# \{0,1\}//p}' "$0" && exit 0 ;;
      *) say "unknown target '$target': simulator, real, fragmentation, prometheus, docs or extender" && exit 2 ;;
    esac
  done
  build
  rm -rf "$OUT"
  mkdir -p "$OUT"
  play_side_by_side "${targets[@]}"
  ((${#guilty[@]} == 0)) || printf 'failed on %s\n' "${guilty[@]}"
  printf '%s passed, %s failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0))
}

# Runs targets without a cluster in parallel with those that use one, because both mostly wait. Prints their output at
# the end.
play_side_by_side() { # play_side_by_side TARGET...
  local target with=() without=()
  for target in "$@"; do
    if [[ $target == real || $target == fragmentation || $target == extender ]]; then with+=("$target"); else without+=("$target"); fi
  done
  trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
  (lane without "${without[@]}") >"$OUT/without-cluster.log" 2>&1 &
  (lane with "${with[@]}") &
  wait # the results of both are in their files
  cat "$OUT/without-cluster.log"
  add_lane with
  add_lane without
}

# Runs one target after the other. Writes the results to $OUT, because it runs in a subshell.
lane() { # lane NAME TARGET...
  local name=$1 target
  shift
  for target in "$@"; do
    "run_on_$target"
  done
  printf '%s\n' "${guilty[@]}" >"$OUT/$name.guilty"
  printf '%s %s\n' "$passed" "$failed" >"$OUT/$name.totals"
}

# A lane that ends without results counts as one failure.
add_lane() { # add_lane NAME
  local good=0 bad=1 each
  if [[ -f $OUT/$1.totals ]]; then
    read -r good bad <"$OUT/$1.totals"
    while read -r each; do [[ -z $each ]] || guilty+=("$each"); done <"$OUT/$1.guilty"
  else
    guilty+=("the targets $1 a cluster: they ended early")
  fi
  passed=$((passed + good))
  failed=$((failed + bad))
}

build() {
  mkdir -p out
  if [[ ! -f $BUILD/CMakeCache.txt ]]; then
    cmake --preset "$PRESET" -B "$BUILD" >out/e2e-configure.log 2>&1 || { cat out/e2e-configure.log >&2 && exit 1; }
  fi
  cmake --build "$BUILD" --parallel "$(nproc)" --target evacuator kubectl-evacuator \
    evacuator_e2e evacuator_e2e_prometheus evacuator_simulated_cluster evacuator_fake_kubevirt >out/e2e-build.log 2>&1 ||
    { tail -n 60 out/e2e-build.log >&2 && say "the build failed" && exit 1; }
}

run_on_simulator() { play simulator "$SUITE"; }

run_on_prometheus() { play prometheus "$BUILD/test/e2e/evacuator_e2e_prometheus"; }

run_on_docs() { play_docs docs; }

play_docs() { # play_docs NAME ARGUMENT...
  local log="$OUT/$1.log" good=0 bad=1
  say "playing the command blocks of the pages ($1)"
  timeout --kill-after=30 "$LIMIT" test/docs/command_blocks.py --binaries "$BUILD/cmd" "${@:2}" 2>&1 | tee "$log" || true
  read -r good bad < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log") || { good=0 bad=1; }
  passed=$((passed + good))
  failed=$((failed + bad))
  ((bad == 0)) || guilty+=("$1: $(grep -oE '^[A-Za-z/.-]+\.md:[0-9]+' "$log" | paste -sd ' ')")
}

# Both install the operator as docs/install.md describes.
play_after_real() {
  if ! kubectl kustomize config/legacy >/dev/null 2>&1; then
    say "command blocks for a real cluster, and traces: skipped: the kustomize of this kubectl is too old (Debian 12 has 1.20)"
    return
  fi
  play_docs docs-real --kubeconfig "$CLUSTER_DIR/kubeconfig"
  play_traces
}

play_traces() {
  local log="$OUT/traces.log"
  say "sending traces to a receiver of OTLP"
  if ! timeout --kill-after=30 "$LIMIT" hack/observability/verify-traces.sh "$BUILD/cmd" >"$log" 2>&1; then
    failed=$((failed + 1)) && guilty+=("traces: $(tail -n 3 "$log" | paste -sd ' ')")
  elif ! grep -q '^skipped:' "$log"; then
    passed=$((passed + 1))
  fi
  tail -n 1 "$log" >&2
}

run_on_real() { run_on_cluster real "${CLUSTER_NODES:-4}" '*'; }

run_on_fragmentation() { run_on_cluster fragmentation 12 'Defragmentation.*'; }

run_on_extender() { run_on_cluster extender 12 'Extender.*'; }

run_on_cluster() { # run_on_cluster TARGET NODES SCENARIOS
  export CLUSTER_DIR=${CLUSTER_DIR:-$OUT/cluster} CLUSTER_NODES=$2
  local E2E_FILTER=${E2E_FILTER:-$3}
  [[ -n ${E2E_KEEP:-} ]] || trap 'hack/cluster/down.sh >/dev/null 2>&1 || true' EXIT
  if ! hack/cluster/up.sh >"$OUT/cluster-up.log"; then
    say "the cluster did not start: every scenario counts as failed there"
    failed=$((failed + $("$SUITE" --gtest_filter="$E2E_FILTER" --gtest_list_tests | grep -c '^  ')))
    return
  fi
  local failed_before=$failed
  play "$1" "$SUITE"
  [[ $1 != real ]] || play_after_real
  look_at_cluster "$1" "$failed_before"
  [[ -n ${E2E_KEEP:-} ]] || hack/cluster/down.sh >/dev/null 2>&1 || true
}

# Shows a component of the cluster that has exited, because its log would be removed with the cluster.
look_at_cluster() { # look_at_cluster TARGET FAILED_BEFORE
  local ended
  ended=$(hack/cluster/control.sh status 2>/dev/null | awk '$2 == "stopped" { print $1 }' | paste -sd ' ')
  [[ -z $ended ]] || guilty+=("$1: of the cluster's own programs ended: $ended")
  if ((failed > $2)) || [[ -n $ended ]] || grep -qs '^keep-running.sh:' "$CLUSTER_DIR"/logs/*.log; then
    rm -rf "$OUT/$1-cluster-logs"
    cp -r "$CLUSTER_DIR/logs" "$OUT/$1-cluster-logs"
  fi
}

# Prints the failed tests with their messages at the end, because the log above may be lost.
failed_tests() { # failed_tests RESULT
  awk -F'"' '/<testcase / { name = $2; for (i = 1; i < NF; ++i) if ($i ~ / classname=$/) suite = $(i + 1) }
    /<failure / && !told[suite "." name]++ { print suite "." name " (" substr($2, 1, 400) ")" }' "$1" | sed 's/&#x0A; */ /g'
}

# Maps a target to one of the two kinds of clusters that the scenarios support.
kind_of() { [[ $1 == fragmentation || $1 == extender ]] && echo real || echo "$1"; }

# Runs a suite on one target and adds up its results. A suite that ends without a result counts as one additional
# failure.
play() { # play TARGET SUITE
  local target=$1 suite=$2 result="$OUT/$1.xml" status=0 tests=0 failures=0 skipped started=$SECONDS
  say "playing on the $target"
  EVACUATOR_E2E_TARGET=$(kind_of "$target") EVACUATOR_E2E_SCRATCH="$OUT/$target" timeout --kill-after=30 "$LIMIT" \
    "$suite" --gtest_filter="${E2E_FILTER:-*}" --gtest_output="xml:$result" || status=$?
  if [[ -f $result ]]; then
    read -r tests failures < <(sed -n 's/.*<testsuites tests="\([0-9]*\)" failures="\([0-9]*\)".*/\1 \2/p' "$result" | head -n 1)
    skipped=$(grep -c '<skipped' "$result" || true)
    passed=$((passed + tests - failures - skipped))
    failed=$((failed + failures))
    ((failures == 0)) || guilty+=("$target: $(failed_tests "$result" | paste -sd ' ')")
  fi
  ((status == 0 || failures > 0)) || { failed=$((failed + 1)) && guilty+=("$target: the suite ended with $status"); }
  say "$target: $((tests - failures)) of $tests passed in $((SECONDS - started)) s"
}

main "$@"
