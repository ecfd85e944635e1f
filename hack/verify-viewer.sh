#!/usr/bin/env bash
# Checks the committed bundle of dashboard/: its sources are those from which it was built and, with npm, a rebuild
# gives
# the same bytes and its tests pass. Without npm, or without a registry to install from, the last line begins with
# "skipped:". EVACUATOR_VERIFY_BUNDLE=1 makes that a failure, =0 always skips it.
set -euo pipefail
cd "$(dirname "$0")/../dashboard"

sha256sum --check --quiet --strict dist/sources.sha256 || {
  echo "dashboard/src is not what dist/ was built from: run 'npm ci --ignore-scripts && npm run build' in dashboard/" >&2
  exit 1
}
sources() { { find src -type f; printf '%s\n' package-lock.json tools/build.mjs; } | LC_ALL=C sort; }
[[ $(awk '{print $2}' dist/sources.sha256) == "$(sources)" ]] || {
  echo "dashboard/src has files that dist/ was not built from, or lacks some: run 'npm run build' in dashboard/" >&2
  exit 1
}

skip() {
  if [[ ${EVACUATOR_VERIFY_BUNDLE:-} == 1 ]]; then
    echo "$1, and EVACUATOR_VERIFY_BUNDLE=1 wants the bundle rebuilt" >&2
    exit 1
  fi
  echo "skipped: $1; only the sources' digests were compared"
  exit 0
}

[[ ${EVACUATOR_VERIFY_BUNDLE:-} != 0 ]] || skip "EVACUATOR_VERIFY_BUNDLE=0"
command -v npm >/dev/null || skip "npm is not here to rebuild the viewer"

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp -r src test tools package.json package-lock.json tsconfig.json .npmrc "$build"
(cd "$build" && timeout 300 npm ci --ignore-scripts --prefer-offline --fetch-retries=1 --fetch-retry-mintimeout=1000 >npm.log 2>&1) || {
  cat "$build/npm.log"
  skip "npm could not install what the lockfile names"
}
(cd "$build" && npm run --silent check && npm run --silent test >test.log 2>&1) || {
  cat "$build/test.log" 2>/dev/null
  echo "the viewer's tests fail" >&2
  exit 1
}
(cd "$build" && npm run --silent build)
for file in viewer.js viewer.css sources.sha256; do
  cmp "dist/$file" "$build/dist/$file" || {
    echo "dashboard/dist/$file is not what its sources give: run 'npm run build' in dashboard/" >&2
    exit 1
  }
done
echo "viewer: ok"
