#!/usr/bin/env bash
# Prints the overlay of config/ for a server: "legacy" before 1.25 (no CEL rules in CRDs, policy/v1beta1), else "default".
# Environment::everything() of test/e2e/harness has the same rule.
# usage: hack/image/overlay_of.sh [VERSION]     VERSION: such as v1.24.3   [that of kubectl's server]
set -euo pipefail

version=${1:-$(kubectl get --raw /version | sed -n 's/.*"gitVersion": *"\([^"]*\)".*/\1/p')}
if [[ ! $version =~ ^v?([0-9]+)\.([0-9]+) ]]; then
  echo "overlay_of.sh: \"$version\" is no version of a server such as v1.36.1" >&2
  exit 1
fi
((BASH_REMATCH[1] > 1 || BASH_REMATCH[2] >= 25)) && echo default || echo legacy
