#!/usr/bin/env bash
# Builds and runs the benchmarks (Google Benchmark, release build). Each prints its baseline, so compare the ratios.
# Fails if a list that a tenant controls has a superlinear cost (evacuator_growth_bench).
# usage: hack/bench.sh [benchmark filter]
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/bench
cmake --preset release -B "$build" -DEVACUATOR_BENCHMARKS=ON -DEVACUATOR_TESTS=ON >/dev/null
cmake --build "$build" --parallel "$(nproc)" --target evacuator_plan_bench evacuator_growth_bench evacuator_usage_bench evacuator_advise_bench evacuator_webhook_bench evacuator_extender_bench evacuator_bench \
  evacuator
for program in evacuator_plan_bench evacuator_usage_bench evacuator_advise_bench evacuator_webhook_bench evacuator_extender_bench evacuator_bench evacuator_growth_bench; do
  "$build/test/bench/$program" --benchmark_filter="${1:-.}" --benchmark_counters_tabular=true
done
