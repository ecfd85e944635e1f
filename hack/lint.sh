#!/usr/bin/env bash
# Runs clang-tidy 14 on the sources, including tests. usage: hack/lint.sh [changed|all]
#   changed   the sources that differ from LINT_BASE [HEAD~1], which is fast (the default). Set LINT_BASE to the commit
#             before a piece of work to check all of it
#   all       every source, several per translation unit: about a quarter of an hour on two cores
set -euo pipefail
cd "$(dirname "$0")/.."

base=$(git rev-parse --verify --quiet "${LINT_BASE:-HEAD~1}" || git rev-list --max-parents=0 HEAD | tail -n 1)

# Ignores renames without a change of content.
changed() { git diff --name-only --find-renames --diff-filter=d "$base" -- '*.cpp'; }

# Excludes sources that need another configuration than the lint build's: see their CMakeLists.txt.
lintable() { grep -Ev '^test/(fuzz|bench)/' || true; }

# Configures build folder $1 with the additional settings.
configure() {
  cmake --preset debug -B "$1" -DCMAKE_CXX_COMPILER_LAUNCHER= -DEVACUATOR_WERROR=OFF "${@:2}" >/dev/null
}

# Runs clang-tidy on the files from standard input, with the compile commands of build folder $1.
tidy() { xargs -r -P "$(nproc)" -n "$2" clang-tidy-14 -p "$1" --quiet "${@:3}"; }

# Units of a unity build include several .cpp files, so their common headers are parsed once.
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
