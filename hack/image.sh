#!/usr/bin/env bash
# Assembles the container image as an OCI archive from Debian's packages. Needs no daemon, no root and no kernel
# privileges: mmdebstrap unpacks packages, umoci writes the image. docs/image.md describes its contents and how to push it.
#
#   hack/image.sh [amd64|arm64]     default: this machine's architecture
#
#   IMAGE               name and tag for the push; part of signatures         [evacuator:VERSION]
#   IMAGE_KEY           private key (PEM) that signs the digest                [none: nothing is signed]
#   IMAGE_OUT           folder of the results                                  [out/image/ARCHITECTURE]
#   IMAGE_PROGRAMS      build folder of programs that are used unchanged       [build/package, compiled first]
#   IMAGE_MIRROR        Debian mirror, or a file of apt sources                [mmdebstrap's own default]
#   SOURCE_DATE_EPOCH   timestamp of all files                                 [that of the commit]
#   JOBS                number of parallel compilers                           [one per processor]
# The same commit, packages and compiler give the same digest.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C TZ=UTC

arch=${1:-$(dpkg --print-architecture)}
user=65532
suite=bookworm
preset=package
# Limits the free blocks that each thread caches (docs/performance.md#memory). hack/bench-real.sh reads this line.
tunables=glibc.malloc.tcache_count=2
case $arch in
  amd64) triplet=x86_64-linux-gnu strip=strip ;;
  arm64) triplet=aarch64-linux-gnu strip=aarch64-linux-gnu-strip ;;
  *) echo "image: there is no image for '$arch' (amd64, arm64)" >&2 && exit 2 ;;
esac
cross=
[[ $arch == "$(dpkg --print-architecture)" ]] || cross=1

# Their dependencies are added if the programs load them.
runtime=(base-files ca-certificates tzdata libcpprest2.10 libssl3 libsimdjson14 libspdlog1.10 libfmt9 libyaml-0-2
  libprometheus-cpp-core1.0 libdate-tz3 zlib1g)
# Libraries that are compiled into the programs: the image contains their licences only.
compiled_in=(libboost1.74-dev libcli11-dev nlohmann-json3-dev)
# Packages of the other architecture for a cross compiler: the -dev packages of hack/setup.sh's set "build".
sysroot_packages=(libcpprest-dev libboost1.74-dev libssl-dev nlohmann-json3-dev libsimdjson-dev libspdlog-dev libfmt-dev
  libyaml-dev libcli11-dev prometheus-cpp-dev zlib1g-dev libhowardhinnant-date-dev libc6-dev libstdc++-12-dev)

say() { printf 'image: %s\n' "$*" >&2; }
fail() { say "$@" && exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/evacuator-image-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

# unpack FOLDER PACKAGE...: unpacks the packages and their dependencies without installing them. The .deb files stay in
# FOLDER.debs.
unpack() {
  local folder=$1
  shift
  mkdir -p "$folder.debs"
  # shellcheck disable=SC2016  # $1 is the hook's
  mmdebstrap --quiet --mode=chrootless --variant=extract --format=directory --architectures="$arch" \
    --include="$(IFS=,; echo "$*")" --extract-hook='cp "$1"/var/cache/apt/archives/*.deb '"'$folder.debs'" \
    "$suite" "$folder" ${IMAGE_MIRROR:+"$IMAGE_MIRROR"} 2>"$folder.log" ||
    { cat "$folder.log" >&2; fail "mmdebstrap failed"; }
}

# Prints one line per .deb: name, version, architecture, source, its version, maintainer, checksum, file.
describe_debs() {
  local deb
  for deb in "$@"; do
    # shellcheck disable=SC2016  # fields of dpkg
    printf '%s\t%s\t%s\n' "$(dpkg-deb -W --showformat='${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Maintainer}' "$deb")" \
      "$(sha256sum "$deb" | cut -d' ' -f1)" "$deb"
  done
}

compile() {
  local arguments=(--preset "$preset")
  [[ ! $cross ]] || export EVACUATOR_SYSROOT=$PWD/build/sysroot-$arch
  if [[ ${IMAGE_PROGRAMS:-} ]]; then
    programs=$IMAGE_PROGRAMS
    return
  fi
  if [[ $cross ]]; then
    if [[ ! -f $EVACUATOR_SYSROOT.tsv ]]; then
      say "unpacking the libraries to compile with for $arch"
      rm -rf "$EVACUATOR_SYSROOT" "$EVACUATOR_SYSROOT.debs"
      mkdir -p build
      unpack "$EVACUATOR_SYSROOT" "${sysroot_packages[@]}"
      describe_debs "$EVACUATOR_SYSROOT.debs"/*.deb >"$work/sysroot.tsv"
      rm -rf "$EVACUATOR_SYSROOT.debs"
      mv "$work/sysroot.tsv" "$EVACUATOR_SYSROOT.tsv"
    fi
    arguments=(--preset "$preset-$arch")
    preset=$preset-$arch
  fi
  say "compiling (preset $preset)"
  cmake "${arguments[@]}" >"$work/configure.log" 2>&1 || { cat "$work/configure.log" >&2; fail "cmake failed"; }
  cmake --build "build/$preset" --parallel "${JOBS:-$(nproc)}" --target evacuator kubectl-evacuator evacuator-demo >"$work/build.log" 2>&1 ||
    { tail -n 40 "$work/build.log" >&2; fail "the build failed"; }
  programs=build/$preset
  hack/verify-hardening.sh "$programs/cmd/evacuator" "$programs/cmd/kubectl-evacuator" >&2
}

# Prints the libraries that programs load, directly or indirectly, as paths relative to the folder of packages.
libraries_of() {
  local queue=("$@") seen=' ' file name folder path
  while ((${#queue[@]})); do
    file=${queue[0]}
    queue=("${queue[@]:1}")
    for name in $(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p') \
      $(readelf -lW "$file" | sed -n 's/.*program interpreter: \/\(.*\)\]$/\1/p'); do
      [[ $seen != *" $name "* ]] || continue
      seen+="$name "
      for folder in "" lib/$triplet/ usr/lib/$triplet/; do
        path=$folder$name
        [[ -e $work/packages/$path || -L $work/packages/$path ]] && break
        path=
      done
      [[ $path ]] || fail "no package has $name, which ${file##*/} needs: add it to 'runtime' in hack/image.sh"
      # Prints the link by which the library is found, and its target.
      while [[ -L $work/packages/$path ]]; do
        echo "$path"
        name=$(readlink "$work/packages/$path")
        if [[ $name == /* ]]; then path=${name#/}; else path=$(dirname "$path")/$name; fi
      done
      echo "$path"
      queue+=("$work/packages/$path")
    done
  done
}

# Prints all other files from packages: time zones, name of the system, certificates, texts of licences.
data_files() {
  (cd "$work/packages" &&
    find usr/share/zoneinfo -path usr/share/zoneinfo/right -prune -o -path usr/share/zoneinfo/posix -prune -o ! -type d -print &&
    find usr/share/common-licenses ! -type d &&
    printf '%s\n' etc/os-release usr/lib/os-release etc/debian_version usr/share/ca-certificates/mozilla/*.crt)
}

# Prints the packages that contain one of these files.
owners_of() {
  local name version architecture source source_version maintainer checksum deb
  while IFS=$'\t' read -r name version architecture source source_version maintainer checksum deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's|^\./||' >"$work/names"
    if grep -qxFf "$1" "$work/names"; then
      printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$version" "$architecture" "$source" "$source_version" "$maintainer" "$checksum" "$deb"
    fi
  done
}

# Prints the libraries that were compiled in, from the machine or the sysroot. Copies their licences.
compiled_in_packages() {
  local name docs
  for name in "${compiled_in[@]}"; do
    if [[ $cross ]]; then
      docs=$EVACUATOR_SYSROOT
      awk -F '\t' -v OFS='\t' -v name="$name" '$1 == name { $8 = ""; print }' "$EVACUATOR_SYSROOT.tsv"
    else
      docs=
      # shellcheck disable=SC2016  # fields of dpkg
      dpkg-query -W -f='${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Maintainer}\t\t\n' "$name"
    fi
    install -D -m 644 "$docs/usr/share/doc/$name/copyright" "$root/usr/share/doc/$name/copyright"
  done
}

# Scanners read the packages of an image without dpkg from this folder, as with other distroless images.
write_status() {
  local name rest deb
  mkdir -p "$root/var/lib/dpkg/status.d"
  while IFS=$'\t' read -r name rest; do
    deb=${rest##*$'\t'}
    dpkg-deb -f "$deb" >"$root/var/lib/dpkg/status.d/$name"
    install -D -m 644 "$work/packages/usr/share/doc/$(readlink "$work/packages/usr/share/doc/$name" || echo "$name")/copyright" \
      "$root/usr/share/doc/$name/copyright"
  done <"$work/inside.tsv"
}

make_root() {
  say "unpacking packages for $arch"
  unpack "$work/packages" "${runtime[@]}"
  root=$work/root
  mkdir -p "$root"/{dev,proc,sys,etc/ssl/certs,usr/local/bin,usr/share/doc/evacuator}
  mkdir -m 1777 "$root/tmp"
  install -m 755 "$programs/cmd/evacuator" "$programs/cmd/kubectl-evacuator" "$root/usr/local/bin"
  "$strip" --strip-all "$root"/usr/local/bin/*
  libraries_of "$root"/usr/local/bin/* >"$work/libraries"
  data_files >"$work/data"
  sort -u "$work/libraries" "$work/data" >"$work/files"
  tar -C "$work/packages" -c --exclude='*.crt' -T "$work/files" | tar -C "$root" -x
  # Concatenates the certificates like update-ca-certificates.
  awk 1 "$work"/packages/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
  printf '%s\n' root:x:0:0:root:/:/nonexistent "evacuator:x:$user:$user:evacuator:/nonexistent:/nonexistent" >"$root/etc/passwd"
  printf '%s\n' root:x:0: "evacuator:x:$user:" >"$root/etc/group"
  printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$root/etc/nsswitch.conf"
  describe_debs "$work/packages.debs"/*.deb | owners_of "$work/files" >"$work/inside.tsv"
  write_status
  compiled_in_packages >"$work/compiled-in.tsv"
  install -m 644 LICENSE "$root/usr/share/doc/evacuator/copyright"
  chmod -R u=rwX,go=rX "$root"
  chmod 1777 "$root/tmp"
}

reproducible_tar() { # reproducible_tar FOLDER FILE ENTRY...
  local folder=$1 file=$2
  shift 2
  tar -C "$folder" -cf "$file" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu "$@"
}

make_archive() {
  local layout=$work/layout image=$work/layout:$version layer=$work/layer.tar label
  local labels=()
  for label in title=evacuator "description=Moves Kubernetes pods to better nodes, without breaking the workloads in them" \
    "version=$version" "revision=$commit" "created=$created" licenses=Apache-2.0 vendor=Evacuator; do
    labels+=(--config.label "org.opencontainers.image.$label" --manifest.annotation "org.opencontainers.image.$label")
  done
  (cd "$root" && printf '%s\n' *) >"$work/entries"
  reproducible_tar "$root" "$layer" -T "$work/entries"
  umoci init --layout "$layout"
  umoci new --image "$image"
  umoci raw add-layer --image "$image" --history.created "$created" --history.created_by hack/image.sh "$layer"
  umoci config --image "$image" --no-history --created "$created" --os linux --architecture "$arch" \
    --config.user "$user:$user" --config.entrypoint /usr/local/bin/evacuator --config.cmd run \
    --config.env PATH=/usr/local/bin --config.env "GLIBC_TUNABLES=$tunables" --config.workingdir / "${labels[@]}"
  umoci gc --layout "$layout" >/dev/null 2>&1
  digest=$(jq -r '.manifests[0].digest' "$layout/index.json")
  reproducible_tar "$layout" "$out/$base.oci.tar" oci-layout index.json blobs
  echo "$digest" >"$out/$base.digest"
}

make_sbom() {
  jq -n -S --rawfile inside "$work/inside.tsv" --rawfile compiled "$work/compiled-in.tsv" --arg version "$version" \
    --arg commit "$commit" --arg digest "$digest" --arg arch "$arch" \
    --arg archive "$base.oci.tar" --arg created "$created" -f hack/image/spdx.jq >"$out/$base.spdx.json"
}

main() {
  local tool
  for tool in mmdebstrap umoci jq readelf "$strip"; do
    command -v "$tool" >/dev/null || fail "no $tool here: hack/setup.sh build image${cross:+ image-$arch}"
  done
  [[ -z ${IMAGE_KEY:-} || -r ${IMAGE_KEY:-} ]] || fail "the key $IMAGE_KEY cannot be read"
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
  export SOURCE_DATE_EPOCH
  created=$(date -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
  compile
  version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$programs/CMakeCache.txt")
  commit=$(sed -n 's/.*return "\(.*\)".*/\1/p' "$programs/cmd/commit.cpp")
  [[ $commit != *-dirty ]] || say "tracked files differ from the commit: the image says $commit"
  IMAGE=${IMAGE:-evacuator:$version}
  base=evacuator-$version-linux-$arch
  out=${IMAGE_OUT:-out/image/$arch}
  mkdir -p "$out"
  make_root
  make_archive
  make_sbom
  hack/image/sign.sh "$IMAGE" "$digest" "$out/$base"
  say "$out/$base.oci.tar: $digest, $(($(du -s --apparent-size -B 1 "$root" | cut -f1) / 1000000)) MB unpacked," \
    "$(($(stat -c %s "$out/$base.oci.tar") / 1000000)) MB to send"
}

main
