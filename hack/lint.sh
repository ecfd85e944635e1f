#!/usr/bin/env bash
# clang-tidy 14 over sources, tests included. usage: hack/lint.sh [changed|all]
#   changed   the sources that differ from LINT_BASE [HEAD~1], so that it stays quick (the default). Name the commit
#             that a piece of work began with to look at all of it
#   all       every source: about half an hour on two cores
set -euo pipefail
cd "$(dirname "$0")/.."

base=$(git rev-parse --verify --quiet "${LINT_BASE:-HEAD~1}" || git rev-list --max-parents=0 HEAD | tail -n 1)

# Renames without a change of content are no change.
changed() { git diff --name-only --find-renames --diff-filter=d "$base" -- '*.cpp'; }

sources() { if [[ ${1:-changed} == all ]]; then git ls-files '*.cpp'; else changed; fi | sort -u; }

# Needs another configuration than the lint build's: see their CMakeLists.txt.
lintable() { grep -Ev '^test/(fuzz|bench)/' || true; }

build=build/lint
cmake --preset debug -B "$build" -DCMAKE_CXX_COMPILER_LAUNCHER= >/dev/null
mapfile -t files < <(sources "${1:-changed}" | lintable)
((${#files[@]})) || { echo "lint: nothing to do"; exit 0; }
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p "$build" --quiet
