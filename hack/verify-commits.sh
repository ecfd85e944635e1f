#!/usr/bin/env bash
# Checks the subjects of the commits since the last landing: "area: imperative summary", at most 72 characters, no full stop.
# .ci/landed has the commit of the last landing; merges are not checked.
# usage: hack/verify-commits.sh [RANGE]   (part of make verify)
set -euo pipefail
cd "$(dirname "$0")/.."

longest=72
range=${1:-$(<.ci/landed)..HEAD}
if ! git rev-parse --quiet --verify "${range%%..*}^{commit}" >/dev/null; then
  echo "commits: not checked: this clone does not have ${range%%..*}"
  exit 0
fi
git log --no-merges --format='%h %s' "$range" | awk -v longest="$longest" '
  {
    subject = substr($0, index($0, " ") + 1)
    if (length(subject) > longest) { print $1 ": " length(subject) " characters, at most " longest ": " subject; broken = 1 }
    if (subject !~ /^[a-z0-9_,\/ .-]+: [a-z0-9]/) { print $1 ": write \"area: imperative summary\": " subject; broken = 1 }
    if (subject ~ /\.$/) { print $1 ": no full stop: " subject; broken = 1 }
  }
  END { if (!broken) print "commits: ok"; exit broken }'
