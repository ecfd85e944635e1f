#!/usr/bin/env bash
# Runs an operator that moves a pod once, and sends its traces to a receiver that accepts only what the definitions of
# opentelemetry-proto contain (test/otlp/receive.mjs). Without npm, or without a registry to install from, the last line
# begins with "skipped:"; EVACUATOR_VERIFY_TRACES=1 makes that a failure.
# usage: CLUSTER_DIR=FOLDER hack/observability/verify-traces.sh PROGRAMS   (hack/e2e.sh real; hack/cluster/up.sh has started the cluster)
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=$(realpath "$1")
here=$PWD
work=$(mktemp -d)
receiver=
trap '[[ -z $receiver ]] || kill "$receiver" 2>/dev/null; rm -rf "$work"' EXIT

skip() {
  echo "${EVACUATOR_VERIFY_TRACES:+failed, for EVACUATOR_VERIFY_TRACES is set; }skipped: $1"
  [[ -z ${EVACUATOR_VERIFY_TRACES:-} ]] || exit 1
  exit 0
}

install_receiver() {
  command -v npm >/dev/null || skip "npm is not here"
  cp test/otlp/package.json test/otlp/package-lock.json test/otlp/.npmrc test/otlp/receive.mjs "$work"
  (cd "$work" && timeout 300 npm ci --ignore-scripts --prefer-offline --fetch-retries=1 --fetch-retry-mintimeout=1000) >"$work/npm.log" 2>&1 ||
    { cat "$work/npm.log" && skip "npm could not install what the lockfile names"; }
}

start_receiver() {
  (cd "$work" && exec node receive.mjs) >"$work/received" &
  receiver=$!
  local i
  for ((i = 0; i < 100; ++i)); do
    port=$(sed -n 's/^port //p' "$work/received")
    [[ -z $port ]] || return 0
    sleep 0.1
  done
  echo "traces: the receiver does not start"
  return 1
}

play() {
  mkdir "$work/operator"
  cd "$work/operator"
  ln -s "$here/config" "$here/crds" "$here/hack" "$here/test" .
  KUBECONFIG=$CLUSTER_DIR/kubeconfig PATH=$programs:$PATH MORE_CONFIG="tracing: {endpoint: \"http://127.0.0.1:$port/v1/traces\"}" \
    bash -e test/docs/audited_operator.sh >"$work/play.log" 2>&1 || { cat "$work/play.log" && return 1; }
  cd "$here"
}

# Checks the kinds of spans that docs/tracing.md names.
all_are_there() {
  local name
  for name in evacuation Requesting PostEviction cycle snapshot strategies; do
    grep -qE "^span evacuator [0-9a-f]{32} [0-9a-f]{16} .* $name$" "$work/received" || { echo "traces: no span $name" && return 1; }
  done
}

install_receiver
start_receiver
play
kill "$receiver"
wait "$receiver" || { cat "$work/received" && exit 1; }
receiver=
all_are_there || { cat "$work/received" && exit 1; }
echo "traces: $(tail -n 1 "$work/received")"
