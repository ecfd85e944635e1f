#!/usr/bin/env bash
# Upgrade and downgrade with Evacuations in progress: builds the program of the commit in hack/upgrade/previous (cached
# by its hash), then runs the Upgrade scenarios of the end-to-end suite with it.
#
#   hack/upgrade/test.sh [TARGET...]     targets of hack/e2e.sh; default: simulator and real
#
#   PREVIOUS           commit of the earlier version       [hack/upgrade/previous]
#   EVACUATOR_CACHE    cache folder of its program         [~/.cache/evacuator]
set -euo pipefail
cd "$(dirname "$0")/../.."

commit=$(git rev-parse --verify "${PREVIOUS:-$(<hack/upgrade/previous)}^{commit}")
kept=${EVACUATOR_CACHE:-$HOME/.cache/evacuator}/previous/$commit

say() { printf 'upgrade: %s\n' "$*" >&2; }

build() {
  local source=out/upgrade/source
  say "building $commit"
  git worktree remove --force "$source" 2>/dev/null || true
  rm -rf "$source"
  mkdir -p out/upgrade
  git worktree add --quiet --detach --force "$source" "$commit"
  cmake -S "$source" -B "$source/build/release" --preset release >out/upgrade/build.log 2>&1 &&
    cmake --build "$source/build/release" --parallel "$(nproc)" --target evacuator >>out/upgrade/build.log 2>&1 ||
    { tail -n 40 out/upgrade/build.log >&2 && say "the build failed" && exit 1; }
  mkdir -p "$kept.new"
  cp "$source/build/release/cmd/evacuator" "$kept.new/"
  cp -r "$source/crds" "$kept.new/"
  git worktree remove --force "$source"
  rm -rf "$kept"
  mv "$kept.new" "$kept"
}

[[ -x $kept/evacuator ]] || build
(($#)) || set -- simulator real
EVACUATOR_PREVIOUS=$kept E2E_FILTER=${E2E_FILTER:-Upgrade.*} E2E_OUT=${E2E_OUT:-out/e2e-upgrade} hack/e2e.sh "$@"
