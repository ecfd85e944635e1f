#!/usr/bin/env bash
# Builds the container image with whatever builder is there. usage: hack/image.sh [NAME:TAG]
set -euo pipefail
cd "$(dirname "$0")/.."

for builder in docker podman buildah; do
  command -v "$builder" >/dev/null || continue
  "$builder" build -t "${1:-evacuator:0.1.0}" -f Dockerfile .
  exit
done
echo "image: install docker, podman or buildah first (apt-get install podman)" >&2
exit 1
