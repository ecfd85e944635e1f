#!/usr/bin/env bash
# Prints an overlay of config/ as one file, with the name under which you pushed the image.
# usage: hack/image/manifest.sh IMAGE [OVERLAY]     IMAGE: NAME[:TAG][@DIGEST]   OVERLAY: default, legacy, cronjob, job,
#                                                 auto (default or legacy, by the version of kubectl's server)   [default]
set -euo pipefail
cd "$(dirname "$0")/../.."

image=${1:?usage: hack/image/manifest.sh IMAGE [OVERLAY]} overlay=${2:-default}
[[ $overlay != auto ]] || overlay=$(hack/image/overlay_of.sh)
digest=
[[ $image != *@* ]] || digest=${image#*@} image=${image%@*}
tag=
[[ ${image##*/} != *:* ]] || tag=${image##*:} image=${image%:*}

folder=out/manifest-$overlay-$$
mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT
{
  printf '%s\n' 'apiVersion: kustomize.config.k8s.io/v1beta1' 'kind: Kustomization' "resources: [../../config/$overlay]" \
    'images:' '  - name: evacuator' "    newName: $image"
  [[ -z $tag || $digest ]] || echo "    newTag: \"$tag\""
  [[ -z $digest ]] || echo "    digest: $digest"
} >"$folder/kustomization.yaml"
kubectl kustomize "$folder"
