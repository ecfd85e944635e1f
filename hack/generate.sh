#!/usr/bin/env bash
# Generates crds/legacy/ (no CEL rules, for servers before 1.25) and docs/reference/api.md from crds/*.yaml,
# docs/troubleshooting.md from api/vocabulary, and docs/reference/permissions.md from the roles in config/.
# usage: hack/generate.sh  (BUILD=directory to use another build than build/release)
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build/release}
if [[ ! -f $build/CMakeCache.txt ]]; then
  cmake --preset release -B "$build" >/dev/null
fi
if ! output=$(cmake --build "$build" --target generate_reference --parallel "$(nproc)" 2>&1); then
  echo "$output" >&2
  exit 1
fi
"$build/hack/generate/generate_reference" .
