#!/usr/bin/env bash
# Checks config/chart: it renders the same objects as kustomize, invalid values fail with the field, its variants are
# complete, and the packed chart has the same content. test/chart/render is Helm's engine, built with Debian's Go.
# usage: hack/verify-chart.sh   (part of make verify)
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS='' GOCACHE="${GOCACHE:-${HOME:-/root}/.cache/go-build}"

# Debian's go, since another one, for example of a newer Kubernetes, may not support GO111MODULE=off.
go=/usr/lib/go-1.19/bin/go
[[ -x $go ]] || go=$(command -v go) || { echo "chart: no go here: run hack/setup.sh verify" >&2; exit 1; }

build() {
  local unformatted
  unformatted=$("${go%/*}/gofmt" -l test/chart/render)
  [[ -z $unformatted ]] || { echo "gofmt -w: $unformatted"; return 1; }
  (cd test/chart/render && "$go" build -o "$scratch/render" . && "$go" test -vet=all . >"$scratch/test.log" 2>&1) ||
    { cat "$scratch/test.log" 2>/dev/null; return 1; }
}

# Verifies that the check itself finds an injected difference.
finds_a_difference() {
  cp -rL config/chart "$scratch/changed"
  sed -i 's/failureThreshold: 6/failureThreshold: 7/' "$scratch/changed/templates/_pod.tpl"
  ! "$scratch/render" same "$scratch/changed" test/chart/cases >"$scratch/changed.log" 2>&1 &&
    grep -q 'Deployment/evacuator.*failureThreshold: kustomize has 6, the chart 7' "$scratch/changed.log"
}

build
"$scratch/render" check config/chart test/chart/cases docs/operations.md
finds_a_difference || { cat "$scratch/changed.log"; echo "chart: a difference on purpose was not found"; exit 1; }
make --silent chart OUT="$scratch" >/dev/null
"$scratch/render" equal config/chart "$scratch"/evacuator-*.tgz
echo "chart: ok"
