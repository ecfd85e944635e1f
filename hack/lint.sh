#!/usr/bin/env bash
# clang-tidy 14. usage: hack/lint.sh [changed|all]. `changed` (the default) takes the sources that differ from the newest
# commit's parent, so that it stays quick; `all` takes about ten minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

sources() {
  if [[ ${1:-changed} == all ]]; then
    git ls-files '*.cpp' | grep -Ev '^test/'
  else
    { git diff --name-only --diff-filter=d HEAD~1 -- '*.cpp' 2>/dev/null || true; git diff --name-only --diff-filter=d -- '*.cpp'; } |
      sort -u | grep -Ev '^test/' || true
  fi
}

# Boost 1.74, cpprest and simdjson do not get through clang 14 without noise.
lintable() { grep -Ev '^(kube/(cpprest_|beast_|http_|asio_)|serving/|api/core_codec)' || true; }

build=build/lint
[[ -f $build/compile_commands.json ]] || cmake --preset debug -B "$build" -DCMAKE_CXX_COMPILER_LAUNCHER= >/dev/null
mapfile -t files < <(sources "${1:-changed}" | lintable)
((${#files[@]})) || { echo "lint: nothing to do"; exit 0; }
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p "$build" --quiet
