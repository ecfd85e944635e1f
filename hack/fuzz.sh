#!/usr/bin/env bash
# Builds every fuzzer with clang's libFuzzer and runs each for a while. usage: hack/fuzz.sh [seconds each, default 30]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-30}
build=build/fuzz
cmake --preset debug -B "$build" -DCMAKE_CXX_COMPILER=clang++-14 -DEVACUATOR_FUZZERS=ON -DEVACUATOR_TESTS=ON \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" >/dev/null
cmake --build "$build" --parallel "$(nproc)" --target fuzzers
failed=0
for fuzzer in "$build"/test/fuzz/fuzz_*; do
  [[ -x $fuzzer && -f $fuzzer ]] || continue
  name=$(basename "$fuzzer")
  corpus=out/fuzz/$name
  mkdir -p "$corpus"
  seeds=()
  [[ ! -d test/fuzz/seeds/${name#fuzz_} ]] || seeds=("test/fuzz/seeds/${name#fuzz_}")
  echo "== $name"
  "$fuzzer" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$corpus/" "$corpus" "${seeds[@]}" 2>&1 | grep -E 'stat::number_of_executed|ERROR|SUMMARY|BINGO|Test unit' || true
  for kind in crash leak oom timeout; do
    ! compgen -G "$corpus/$kind-*" >/dev/null || failed=1
  done
done
exit "$failed"
