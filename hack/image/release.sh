#!/usr/bin/env bash
# Builds a release in out/release: the images of all architectures, separate and combined, their bills of materials and
# signatures, the manifests as one file each, the chart, and checksums. docs/image.md describes each file.
#
#   hack/image/release.sh [ARCHITECTURE...]     default: amd64 arm64
#
#   IMAGE               name and tag under which you will push it, for the manifests   [evacuator:VERSION]
#   IMAGE_KEY           private key (PEM) that signs                                   [none: nothing is signed]
#   RELEASE_OUT         folder of the results                                          [out/release]
#   and the variables of hack/image.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
umask 022
export LC_ALL=C TZ=UTC

architectures=("$@")
(($#)) || architectures=(amd64 arm64)
out=${RELEASE_OUT:-out/release}
work=$(mktemp -d "${TMPDIR:-/tmp}/evacuator-release-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

say() { printf 'release: %s\n' "$*" >&2; }

reproducible_tar() { # reproducible_tar FOLDER ENTRY...
  tar -C "$1" -c --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu "${@:2}"
}

# Adds TEXT to the layout as a blob. Prints its descriptor.
add_blob() { # add_blob MEDIA_TYPE TEXT
  local checksum
  checksum=$(printf '%s' "$2" | sha256sum | cut -d' ' -f1)
  printf '%s' "$2" >"$work/layout/blobs/sha256/$checksum"
  jq -nc --arg type "$1" --arg digest "sha256:$checksum" --argjson size "$(printf '%s' "$2" | wc -c)" \
    '{mediaType: $type, digest: $digest, size: $size}'
}

# Builds one archive with an index of all architectures: one push, and each node pulls its own image.
join_images() {
  local arch manifests='[]' index descriptor
  mkdir -p "$work/layout/blobs/sha256"
  for arch in "${architectures[@]}"; do
    mkdir -p "$work/$arch"
    tar -C "$work/$arch" -xf "$out/evacuator-$version-linux-$arch.oci.tar"
    cp "$work/$arch"/blobs/sha256/* "$work/layout/blobs/sha256/"
    manifests=$(jq -c --arg arch "$arch" --slurpfile one "$work/$arch/index.json" \
      '. + [$one[0].manifests[0] | {mediaType, digest, size, platform: {architecture: $arch, os: "linux"}}]' <<<"$manifests")
  done
  index=$(jq -nc --argjson manifests "$manifests" \
    '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: $manifests}')
  descriptor=$(add_blob application/vnd.oci.image.index.v1+json "$index")
  cp "$work/${architectures[0]}/oci-layout" "$work/layout/"
  jq -nc --argjson index "$descriptor" --arg version "$version" '{schemaVersion: 2,
    manifests: [$index + {annotations: {"org.opencontainers.image.ref.name": $version}}]}' >"$work/layout/index.json"
  reproducible_tar "$work/layout" oci-layout index.json blobs >"$out/evacuator-$version.oci.tar"
  jq -r .digest <<<"$descriptor" >"$out/evacuator-$version.digest"
  hack/image/sign.sh "$IMAGE" "$(<"$out/evacuator-$version.digest")" "$out/evacuator-$version"
}

add_chart() {
  local name
  [[ -f config/chart/Chart.yaml ]] || { say "no chart: there is no config/chart"; return 0; }
  name=$(sed -n 's/^name: *//p' config/chart/Chart.yaml)
  cp -r config/chart "$work/$name"
  reproducible_tar "$work" "$name" | gzip -n >"$out/$name-chart-$(sed -n 's/^version: *//p' config/chart/Chart.yaml).tgz"
}

main() {
  local arch
  rm -rf "$out"
  mkdir -p "$out"
  version=$(sed -n 's/^project(evacuator VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  IMAGE=${IMAGE:-evacuator:$version}
  export IMAGE
  for arch in "${architectures[@]}"; do
    IMAGE_OUT=$out hack/image.sh "$arch"
  done
  ((${#architectures[@]} == 1)) || join_images
  hack/image/manifest.sh "$IMAGE" >"$out/evacuator.yaml"
  hack/image/manifest.sh "$IMAGE" legacy >"$out/evacuator-legacy.yaml"
  cp LICENSE "$out/"
  add_chart
  (cd "$out" && sha256sum -- * >SHA256SUMS)
  if [[ ${IMAGE_KEY:-} ]]; then
    openssl dgst -sha256 -sign "$IMAGE_KEY" "$out/SHA256SUMS" | base64 -w 0 >"$out/SHA256SUMS.sig"
  fi
  say "$out: $(cd "$out" && echo *)"
}

main
