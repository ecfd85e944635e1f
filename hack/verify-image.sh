#!/usr/bin/env bash
# Builds a release (hack/image/release.sh) and checks its image: its contents, user, labels, licences, bill of
# materials and signature, that a registry returns it unchanged, that a second build gives the same digest, and that the
# programs run inside its root file system, read-only and as its user. The last check is skipped with a message if this
# machine does not allow mounts. Another architecture is only started, under qemu-user, and combined with this machine's.
# usage: hack/verify-image.sh [amd64|arm64]     REBUILD=1: the second build compiles again, elsewhere and without ccache
#        IMAGE_PROGRAMS=build/release: uses the programs of that build folder and compiles nothing
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C

arch=${1:-$(dpkg --print-architecture)}
native=
[[ $arch != "$(dpkg --print-architecture)" ]] || native=1
programs=$PWD/build/package
[[ $native ]] || programs=$programs-$arch
programs=${IMAGE_PROGRAMS:-$programs}
export demo_program=$programs/cmd/evacuator-demo
user=65532
pushed_as=registry.example.com:5000/ops/evacuator # name under which it will be pushed
most_bytes=60000000
most_seconds=240 # maximum for one command inside; a demonstration takes 10

work=$(mktemp -d "${TMPDIR:-/tmp}/evacuator-verify-image-XXXXXX") || exit 1
mkdir "$work/temporary"
registry=
trap '[[ -z $registry ]] || kill "$registry"; rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"
passed=0
failed=0

check() { # check NAME COMMAND...: prints the output of the command on failure
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "image: $name ok"
    passed=$((passed + 1))
  else
    tail -n 20 <<<"$output"
    echo "image: $name FAILED"
    failed=$((failed + 1))
  fi
}

nothing() { # nothing WHAT: fails if standard input has lines
  local lines
  lines=$(cat)
  [[ -z $lines ]] || { echo "$1:"; echo "$lines"; return 1; }
}

open_archive() {
  base=$(basename "$out"/*"-linux-$arch.oci.tar" .oci.tar)
  archive=$out/$base.oci.tar
  version=${base#evacuator-} version=${version%-linux-*}
  sbom=$out/$base.spdx.json
  mkdir -p "$work/layout"
  tar -C "$work/layout" -xf "$archive"
  digest=$(jq -r '.manifests[0].digest' "$work/layout/index.json")
  manifest=$(cat "$work/layout/blobs/sha256/${digest#sha256:}")
  config=$(cat "$work/layout/blobs/sha256/$(jq -r '.config.digest | sub("sha256:"; "")' <<<"$manifest")")
  umoci unpack --rootless --image "$work/layout:$version" "$work/bundle" 2>&1 || return 1
  root=$work/bundle/rootfs
  gzip -dc "$work/layout/blobs/sha256/$(jq -r '.layers[0].digest | sub("sha256:"; "")' <<<"$manifest")" >"$work/layer.tar"
}

other_tools_read_it() {
  skopeo copy --quiet --insecure-policy "oci-archive:$archive" "dir:$work/copied" &&
    [[ $(skopeo manifest-digest "$work/copied/manifest.json") == "$digest" && $digest == $(<"$out/$base.digest") ]]
}

is_small() {
  local bytes
  bytes=$(du -sb "$root" | cut -f1)
  echo "$bytes bytes unpacked"
  ((bytes <= most_bytes))
}

is_bare() {
  (cd "$root" && find . -type f -perm /111 ! -name '*.so' ! -name '*.so.*' ! -path './usr/local/bin/*') | nothing "programs" &&
    (cd "$root" && find . \( -path './bin/*' -o -path './sbin/*' -o -path './usr/bin/*' -o -path './usr/sbin/*' -o -path '*perl*' -o -path '*/apt/*' -o -path '*/dpkg/info/*' \
      -o -path './usr/share/man*' -o -path './usr/share/info*' -o -path './usr/include*' \) ! -type d) | nothing "files that nobody needs" &&
    (cd "$root" && find usr/share/doc -type f ! -name copyright) | nothing "documents" &&
    [[ $(cd "$root/usr/local/bin" && echo *) == "evacuator kubectl-evacuator" ]]
}

owners_and_modes() {
  tar --numeric-owner -tvf "$work/layer.tar" >"$work/members"
  awk '$2 != "0/0"' "$work/members" | nothing "not of root" &&
    awk '/^[^dl-]/' "$work/members" | nothing "devices and hard links" &&
    awk '/^...[sS]/ || /^......[sS]/' "$work/members" | nothing "setuid or setgid" &&
    awk '/^[d-].......w/ && $NF != "tmp/"' "$work/members" | nothing "writable by everybody"
}

labels_are_there() {
  local revision
  revision=$(git describe --always --dirty --abbrev=40 --exclude='*')
  jq -e --arg version "$version" --arg revision "$revision" --arg user "$user:$user" --arg arch "$arch" '
    .config.User == $user and .config.Entrypoint == ["/usr/local/bin/evacuator"] and .config.Cmd == ["run"]
    and .architecture == $arch and .os == "linux"
    and (.config.Labels | .["org.opencontainers.image.version"] == $version and .["org.opencontainers.image.revision"] == $revision
      and .["org.opencontainers.image.licenses"] == "Apache-2.0" and .["org.opencontainers.image.title"] == "evacuator"
      and (.["org.opencontainers.image.created"] | length == 20))' <<<"$config" >/dev/null || { echo "$config"; return 1; }
  [[ $(jq -cS .annotations <<<"$manifest") == $(jq -cS .config.Labels <<<"$config") ]]
}

bill_is_complete() {
  local name
  jq -e '.spdxVersion == "SPDX-2.3" and .dataLicense == "CC0-1.0" and (.documentNamespace | startswith("https://"))
    and ([.packages[] | .SPDXID, .name, .versionInfo, .downloadLocation] | all(. != null and . != ""))
    and ([.packages[].SPDXID] | length == (unique | length))
    and ([.relationships[].relatedSpdxElement] | sort) == ([.packages[].SPDXID] | sort)' "$sbom" >/dev/null || return 1
  jq -r '.packages[] | select(.SPDXID | startswith("SPDXRef-deb-")) | "\(.name) \(.versionInfo)"' "$sbom" | sort >"$work/listed"
  awk '/^Package: / { name = $2 } /^Version: / { print name, $2 }' "$root"/var/lib/dpkg/status.d/* | sort | diff - "$work/listed" || return 1
  for name in base-files ca-certificates tzdata libc6 libssl3 libcpprest2.10; do
    grep -q "^$name " "$work/listed" || { echo "the bill has no $name"; return 1; }
  done
  grep -q "$digest" "$sbom"
}

# A library without a listed package would be missing in the bill of materials. Only for this machine's architecture,
# because it uses dpkg.
libraries_are_listed() {
  local file package
  while read -r file; do
    package=$(dpkg-query -S "/${file}" 2>/dev/null | cut -d: -f1)
    [[ -n $package ]] || package=$(dpkg-query -S "*/${file##*/}" 2>/dev/null | head -n 1 | cut -d: -f1)
    grep -q "^$package " "$work/listed" || { echo "$file is of $package, which the bill does not list"; return 1; }
  done < <(cd "$root" && find lib usr/lib -type f -name '*.so*')
}

licences_are_there() {
  local name
  cmp LICENSE "$root/usr/share/doc/evacuator/copyright" || return 1
  while read -r name; do
    [[ -s $root/usr/share/doc/$name/copyright ]] || { echo "no licence of $name"; return 1; }
  done < <(jq -r '.packages[].name' "$sbom")
  [[ -e $root/usr/share/common-licenses/GPL-3 ]]
}

authorities_are_there() {
  local found
  found=$(openssl storeutl -noout -certs "$root/etc/ssl/certs/ca-certificates.crt" | sed -n 's/^Total found: //p')
  ((found > 100)) || { echo "$found certificates"; return 1; }
}

# inside COMMAND...: runs a command as the image's user in its root file system, mounted read-only except for a new /tmp
# with the samples and the demo.
inside() {
  # shellcheck disable=SC2016  # the inner shell's
  local prepare='set -e; root=$1 user=$2; shift 2
    mount --bind "$root" "$root"; mount -o remount,bind,ro "$root"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"; cp -r config/samples "$root/tmp"; chmod -R a+rX "$root/tmp/samples"
    sed "s|Europe/Berlin|Nowhere/City|" config/samples/policy-scheduled.yaml >"$root/tmp/samples/nowhere.yaml"
    cp "$demo_program" "$root/tmp/evacuator-demo"
    mount --rbind /proc "$root/proc"'
  if [[ $(id -u) == 0 ]]; then
    timeout "$most_seconds" unshare --mount bash -c "$prepare"'
      exec env -i PATH=/usr/local/bin "$(command -v chroot)" --userspec="$user:$user" "$root" "$@"' inside "$root" "$user" "$@"
  else
    timeout "$most_seconds" unshare --map-root-user --mount bash -c "$prepare"'
      exec env -i PATH=/usr/local/bin "$(command -v unshare)" --map-user="$user" --map-group="$user" --root="$root" --wd=/ "$@"' inside "$root" "$user" "$@"
  fi
}

# Checks the mounts that inside() needs.
can_go_inside() {
  local flags=()
  [[ $(id -u) == 0 ]] || flags=(--map-root-user)
  unshare "${flags[@]}" --mount mount -t tmpfs tmpfs "$work/temporary" 2>/dev/null
}

says_version() {
  local revision said
  revision=$(jq -r '.config.Labels["org.opencontainers.image.revision"]' <<<"$config")
  for program in evacuator kubectl-evacuator; do
    said=$("$@" "/usr/local/bin/$program" --version) || return 1
    echo "$said"
    [[ $said == "$program $version (commit $revision)" ]] || return 1
  done
}
under_qemu() { timeout "$most_seconds" qemu-aarch64-static -L "$root" "$root$1" "${@:2}"; }

validates() {
  inside /usr/local/bin/evacuator validate /tmp/samples/policy-lownodeutilization.yaml /tmp/samples/policy-scheduled.yaml || return 1
  inside /usr/local/bin/evacuator validate /tmp/samples/nowhere.yaml >"$work/said" 2>&1 && return 1
  grep -q "Nowhere/City" "$work/said"
}
# Runs the operator with all its libraries. The demo itself is not in the image.
demonstrates() { inside /tmp/evacuator-demo --plain --speed 20 --duration 60s; }
cannot_write() {
  local said
  said=$(inside /tmp/evacuator-demo --plain --speed 20 --duration 1s --kubeconfig-out /etc/kubeconfig 2>&1) && return 1
  echo "$said"
  [[ $said == *"Read-only file system"* ]]
}

release_is_whole() {
  local file
  (cd "$out" && sha256sum --quiet -c SHA256SUMS && [[ $(wc -l <SHA256SUMS) == $(find . -type f ! -name 'SHA256SUMS*' | wc -l) ]]) || return 1
  for file in evacuator.yaml evacuator-legacy.yaml; do
    [[ $(awk '$1 == "image:" { print $2 }' "$out/$file") == "$pushed_as:$version" ]] || { echo "$file names another image"; return 1; }
  done
  [[ $(hack/image/manifest.sh "$pushed_as@$digest" | awk '$1 == "image:" { print $2 }') == "$pushed_as@$digest" ]]
}

both_are_joined() {
  local index
  skopeo copy --quiet --insecure-policy --all "oci-archive:$out/evacuator-$version.oci.tar" "dir:$work/both" || return 1
  index=$(sha256sum <"$work/both/manifest.json" | cut -d' ' -f1)
  [[ sha256:$index == $(<"$out/evacuator-$version.digest") ]] &&
    jq -e --arg digest "$digest" --arg arch "$arch" 'any(.manifests[]; .digest == $digest and .platform.architecture == $arch)' "$work/both/manifest.json"
}

# Starts Debian's registry, unpacked but not installed, because the package would start a service. Prints nothing if it
# is unavailable.
start_registry() {
  (cd "$work" && apt-get download docker-registry && dpkg -x docker-registry_*.deb registry) >"$work/registry.log" 2>&1 || return 1
  cat >"$work/registry.yml" <<CONFIG
version: 0.1
storage: {filesystem: {rootdirectory: $work/stored}}
http: {addr: "127.0.0.1:0"}
CONFIG
  "$work/registry/usr/bin/docker-registry" serve "$work/registry.yml" >"$work/registry.log" 2>&1 &
  registry=$!
  for _ in {1..100}; do
    registry_at=$(sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$work/registry.log")
    [[ -z $registry_at ]] || return 0
    sleep 0.1
  done
  return 1
}

# Checks that the registry returns the built image by tag and by digest.
registry_gives_it_back() {
  local at=docker://$registry_at/ops/evacuator
  skopeo copy --quiet --insecure-policy --dest-tls-verify=false "oci-archive:$archive" "$at:$version" &&
    [[ $(skopeo inspect --tls-verify=false --format '{{.Digest}}' "$at:$version") == "$digest" ]] &&
    skopeo copy --quiet --insecure-policy --src-tls-verify=false "$at@$digest" "dir:$work/pulled" &&
    [[ $(skopeo manifest-digest "$work/pulled/manifest.json") == "$digest" ]]
}

not_signed_without_key() { [[ -z $(find "$out" -name '*.sig' -o -name '*.payload.json') ]] && grep -q "not signed" "$work/first.log"; }

signature_is_good() {
  local again=$work/second/$base
  [[ $(jq -r '.critical.identity["docker-reference"]' "$again.payload.json") == "$pushed_as" ]] || return 1
  base64 -d "$again.sig" >"$work/signature" &&
    openssl dgst -sha256 -verify "$work/key.pub" -signature "$work/signature" "$again.payload.json" &&
    [[ $(jq -r '.critical.image["docker-manifest-digest"]' "$again.payload.json") == "$(<"$again.digest")" ]] &&
    [[ $(jq -r .critical.type "$again.payload.json") == "cosign container image signature" ]] || return 1
  sed -i 's/sha256:./sha256:x/' "$again.payload.json"
  ! openssl dgst -sha256 -verify "$work/key.pub" -signature "$work/signature" "$again.payload.json"
}

same_digest() { [[ $(<"$work/second/$base.digest") == "$digest" ]] && cmp "$archive" "$work/second/$base.oci.tar" && cmp "$sbom" "$work/second/$base.spdx.json"; }

# Builds with another folder, umask and (as root) an unprivileged user; with REBUILD it also compiles again.
build_again() {
  local as=()
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/key" 2>/dev/null
  openssl pkey -in "$work/key" -pubout -out "$work/key.pub"
  mkdir -p "$work/second" "$work/temporary"
  if [[ ${REBUILD:-} ]]; then
    git clone --quiet --no-hardlinks . "$work/elsewhere/clone"
    (cd "$work/elsewhere/clone" && CCACHE_DISABLE=1 TMPDIR=$work/temporary IMAGE=$pushed_as IMAGE_KEY=$work/key IMAGE_OUT=$work/second hack/image.sh "$arch")
    return
  fi
  if [[ $(id -u) == 0 ]] && setpriv --reuid=65534 --regid=65534 --clear-groups test -r hack/image.sh; then
    chown -R 65534:65534 "$work/second" "$work/temporary" "$work/key"
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  fi
  (umask 077 && "${as[@]}" env HOME="$work/temporary" TMPDIR="$work/temporary" IMAGE="$pushed_as" IMAGE_KEY="$work/key" IMAGE_OUT="$work/second" \
    IMAGE_PROGRAMS="$programs" SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" hack/image.sh "$arch")
}

main() {
  out=$work/first
  local architectures=("$arch")
  [[ $native ]] || architectures+=("$(dpkg --print-architecture)")
  if ! IMAGE=$pushed_as:$(sed -n 's/^project(evacuator VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt) IMAGE_KEY='' RELEASE_OUT=$out \
    hack/image/release.sh "${architectures[@]}" >"$work/first.log" 2>&1; then
    cat "$work/first.log"
    echo "image: cannot be built"
    echo "0 passed, 1 failed"
    exit 1
  fi
  grep 'MB unpacked' "$work/first.log"
  open_archive >"$work/open.log" || { cat "$work/open.log"; echo "image: cannot be unpacked"; echo "0 passed, 1 failed"; exit 1; }
  check "another tool reads the archive" other_tools_read_it
  check "at most $((most_bytes / 1000000)) MB unpacked" is_small
  check "no shell, no package manager, nothing else to run" is_bare
  check "owners and modes" owners_and_modes
  check "user, entry point and labels" labels_are_there
  check "bill of materials" bill_is_complete
  [[ ! $native ]] || check "libraries are in the bill" libraries_are_listed
  check "licences" licences_are_there
  check "certificate authorities" authorities_are_there
  check "not signed without a key" not_signed_without_key
  check "release: checksums, and manifests that name the image" release_is_whole
  [[ $native ]] || check "release: both architectures in one archive" both_are_joined
  if start_registry; then
    check "a registry takes it, and gives the same back" registry_gives_it_back
  else
    echo "image: a registry takes it SKIPPED: $(tail -n 1 "$work/registry.log")"
  fi
  if [[ $native ]] && ! can_go_inside; then
    echo "image: runs inside SKIPPED: nobody may mount here"
  elif [[ $native ]]; then
    check "runs inside: version" says_version inside
    check "runs inside: validate" validates
    check "runs inside: demo" demonstrates
    check "runs inside: cannot write" cannot_write
  else
    check "starts under qemu: version" says_version under_qemu
  fi
  check "built again" build_again
  check "the same digest again" same_digest
  check "signature" signature_is_good
  echo "$passed passed, $failed failed"
  ((failed == 0))
}

main
