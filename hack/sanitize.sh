#!/usr/bin/env bash
# Builds tests with sanitizers and runs them. usage: hack/sanitize.sh [gate|all|SUITE...]
#   gate   as in .ci/run (the default): ThreadSanitizer for kube and http_server, AddressSanitizer and
#          UndefinedBehaviorSanitizer for api, kube and http_server, with the instrumented libraries of the fuzzers
#   live   the operator with all its threads for a minute. Seeds of the soak and nearly all of the controllers' tests have
#          one thread, so ThreadSanitizer finds little there
#   SUITE… these with both: controllers, soak, integration, …
#   all    both for every unit test, the integration tests, the soak and live
# A sanitizer report fails its program. Logs are in out/sanitize/. The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."

OUT=out/sanitize
CORES=$(nproc)
SOAK_SEEDS=15
LIVE_SECONDS=60
passed=0
failed=0

# ThreadSanitizer does not see locks inside of Debian's libraries: test/tsan.supp names them.
export TSAN_OPTIONS="suppressions=$PWD/test/tsan.supp:exitcode=66:second_deadlock_stack=1"
export ASAN_OPTIONS="detect_stack_use_after_return=1:exitcode=66" # simdjson's strings have no terminating 0: no strict_string_checks
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"

say() { printf 'sanitize: %s\n' "$*" >&2; }

main() {
  rm -rf "$OUT"
  mkdir -p "$OUT"
  case "${1:-gate}" in
    gate)
      play tsan kube http_server
      play fuzz api kube http_server
      ;;
    all)
      mapfile -t suites < <(find test/unit test/unit/planner -mindepth 1 -maxdepth 1 -type d ! -name planner -printf "%f\n" | sort -u)
      for preset in tsan asan-ubsan; do play "$preset" "${suites[@]}" integration live soak; done
      ;;
    -h | --help) sed -n '2,/^[^#]/{/^#/!q;s/^# \{0,1\}//p}' "$0" && exit 0 ;;
    *) for preset in tsan asan-ubsan; do play "$preset" "$@"; done ;;
  esac
  printf '%s passed, %s failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0))
}

play() { # play PRESET SUITE...
  local preset=$1 suite
  shift
  build "$preset" "$@"
  for suite in "$@"; do
    case "$suite" in
      soak) seeds "$preset" soak "$SOAK_SEEDS" ;;
      live) seeds "$preset" live 1 --live "$LIVE_SECONDS" ;;
      integration) tests "$preset" integration/test_integration ;;
      *) tests "$preset" "test_$suite" ;;
    esac
  done
}

build() { # build PRESET SUITE...
  local preset=$1 started=$SECONDS before
  shift
  local targets=("${@/#/test_}")
  targets=("${targets[@]/#test_live/test_soak}")
  before=$(cpu_seconds)
  { cmake --preset "$preset" && cmake --build "build/$preset" --parallel "$CORES" --target "${targets[@]}"; } >"$OUT/$preset-build.log" 2>&1 ||
    { tail -n 60 "$OUT/$preset-build.log" >&2 && say "the $preset build failed" && exit 1; }
  say "$preset built in $((SECONDS - started)) s ($(($(cpu_seconds) - before)) s of CPU)"
}

# Prints the CPU seconds of the child processes that this shell has waited for.
cpu_seconds() { awk '{print int(($16 + $17) / 100)}' "/proc/$$/stat"; }

# Runs a GoogleTest program with its tests distributed over one process per core.
tests() { # tests PRESET PROGRAM
  local name="$1-${2##*/}" started=$SECONDS shard bad=0 ran
  local pids=()
  for ((shard = 0; shard < CORES; ++shard)); do
    GTEST_TOTAL_SHARDS=$CORES GTEST_SHARD_INDEX=$shard timeout 1800 "build/$1/test/$2" --gtest_brief=1 \
      >"$OUT/$name.$shard.log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || bad=$((bad + 1)); done
  ran=$(cat "$OUT/$name".*.log | sed -n 's/^\[==========\] \([0-9]*\) tests\? .* ran\..*/\1/p' | awk '{n += $1} END {print n + 0}')
  count "$name" "$ran" "$bad" "$((SECONDS - started))"
  ((bad == 0)) || show "$OUT/$name".*.log
}

seeds() { # seeds PRESET NAME COUNT [FLAG...]
  local preset=$1 name=$2 seeds=$3 started=$SECONDS bad=0
  shift 3
  timeout 1800 "build/$preset/test/soak/test_soak" --first 1 --seeds "$seeds" "$@" >"$OUT/$preset-$name.log" 2>&1 || bad=1
  count "$preset-$name" "$seeds" "$bad" "$((SECONDS - started))"
  ((bad == 0)) || show "$OUT/$preset-$name.log"
}

# A process that fails counts as one failure, whether by a sanitizer report, a failed test or a crash.
count() { # count NAME RAN BAD SECONDS
  ((${2} > 0)) || { say "$1 ran no test" && failed=$((failed + 1)); }
  passed=$((passed + (${3} > 0 && ${2} > 0 ? ${2} - 1 : ${2})))
  failed=$((failed + ${3}))
  say "$1: $2 run, $3 processes failed, $4 s"
}

show() { grep -ahE -A 30 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer|ERROR: LeakSanitizer|runtime error|^\[  FAILED|FAILED$|FAILED;' "$@" | head -n 120 >&2 || true; }

main "$@"
