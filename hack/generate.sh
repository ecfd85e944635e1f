#!/usr/bin/env bash
# Writes what is derived: from crds/*.yaml crds/legacy/ (no CEL rules, for servers before 1.25) and docs/reference/api.md,
# from api/vocabulary docs/troubleshooting.md, from the roles below config/ docs/reference/permissions.md.
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
