#!/usr/bin/env bash
# Builds every fuzzer with clang's libFuzzer and runs each for a limited time. usage: hack/fuzz.sh [seconds each,
# default 30]
# A fuzzer fails if it does not build or run, or finds a crash, leak, timeout or excessive memory use. Findings are in
# out/fuzz/. The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-30}
build=build/fuzz
export seconds build

cmake --preset fuzz >/dev/null
cmake --build "$build" --parallel "$(nproc)" --target fuzzers >"$build/build.log" 2>&1 ||
  { tail -n 60 "$build/build.log" >&2; echo "fuzz: the fuzzers do not build (whole log: $build/build.log)" >&2; exit 1; }

fuzz() { # fuzz NAME
  local name=$1 found=out/fuzz/$1 log=out/fuzz/$1.log
  mkdir -p "$found"
  "$build/test/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$found/" "$found" "test/fuzz/seeds/$name" >"$log" 2>&1
}

run() { # run NAME
  local name=$1
  if fuzz "$name"; then
    echo "fuzz: $name ok, $(sed -n 's/^stat::number_of_executed_units: *//p' "out/fuzz/$name.log") runs"
  else
    grep -aE 'ERROR|SUMMARY|BINGO|Test unit' "out/fuzz/$name.log" || tail -n 20 "out/fuzz/$name.log"
    echo "fuzz: $name FAILED (whole log: out/fuzz/$name.log)"
  fi
}
export -f fuzz run

# One process per core, because each fuzzer is single-threaded.
mkdir -p out/fuzz
mapfile -t names < <(cd test/fuzz && printf '%s\n' *.cpp */*.cpp | sed 's|/|_|; s|\.cpp$||')
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run {}' | tee out/fuzz/results.log
passed=$(grep -c '^fuzz: [a-z_]* ok' out/fuzz/results.log || true)
failed=$((${#names[@]} - passed))
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
