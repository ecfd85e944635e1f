#!/usr/bin/env bash
# Builds and runs the benchmarks (Google Benchmark, release build). Each prints its baseline beside it: read the ratios.
# usage: hack/bench.sh [benchmark filter]
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/bench
generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
cmake --preset release -B "$build" "${generator[@]}" -DEVACUATOR_BENCHMARKS=ON -DEVACUATOR_TESTS=ON >/dev/null
cmake --build "$build" --parallel "$(nproc)" --target evacuator_bench evacuator
"$build/test/bench/evacuator_bench" --benchmark_filter="${1:-.}" --benchmark_counters_tabular=true
