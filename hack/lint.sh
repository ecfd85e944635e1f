#!/usr/bin/env bash
# clang-tidy 14 over sources, tests included. usage: hack/lint.sh [changed|all]
#   changed   the sources that differ from LINT_BASE [HEAD~1], so that it stays quick (the default). Name the commit
#             that a piece of work began with to look at all of it
#   all       every source, several to a translation unit: about a quarter of an hour on two cores
set -euo pipefail
cd "$(dirname "$0")/.."

base=$(git rev-parse --verify --quiet "${LINT_BASE:-HEAD~1}" || git rev-list --max-parents=0 HEAD | tail -n 1)

# Renames without a change of content are no change.
changed() { git diff --name-only --find-renames --diff-filter=d "$base" -- '*.cpp'; }

# Needs another configuration than the lint build's: see their CMakeLists.txt.
lintable() { grep -Ev '^test/(fuzz|bench)/' || true; }

# Configures build folder $1 with the further settings given.
configure() { cmake --preset debug -B "$1" -DCMAKE_CXX_COMPILER_LAUNCHER= "${@:2}" >/dev/null; }

# clang-tidy over the files named on standard input, with the compile commands of build folder $1.
tidy() { xargs -r -P "$(nproc)" -n "$2" clang-tidy-14 -p "$1" --quiet "${@:3}"; }

# A unity build's units include our .cpp files: the headers that they share are read once for all of them.
lint_all() {
  local build=build/lint-all
  configure "$build" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16
  sed -n 's/^ *"file": "\(.*\)",\?$/\1/p' "$build/compile_commands.json" | sed "s|^$PWD/||" |
    grep -Ev "^($build/)?test/(fuzz|bench)/|/embedded_(crds|viewer).cpp$" |
    tidy "$build" 1 --header-filter="^$PWD/" --checks=-bugprone-suspicious-include
}

lint_changed() {
  configure build/lint
  changed | sort -u | lintable | tidy build/lint 4
}

if [[ ${1:-changed} == all ]]; then lint_all; else lint_changed; fi
