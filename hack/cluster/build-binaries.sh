#!/usr/bin/env bash
# Finds the Kubernetes binaries of the end-to-end cluster, or builds them once.
#
# Searches KUBEBUILDER_ASSETS, then PATH, then the cache. Missing binaries come from Debian's archive: etcd and kubectl
# prebuilt, the Kubernetes server compiled from Debian's source package. Packages are unpacked into a scratch folder and
# never installed: no root, no conflict with other packages of the same file (Google's kubectl and Debian's
# kubernetes-client both own /usr/bin/kubectl), no etcd service that starts unexpectedly.
#
# Prints one "name path" line per binary on stdout, everything else on stderr.
set -euo pipefail
# shellcheck source=hack/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

RECIPE=1 # increase when the build steps or kubernetes.patch change, so that the cache is rebuilt
SUITE=bookworm
GO_VERSION=1.19 # tested with Kubernetes 1.20
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
RECIPE_FILE="$CACHE_BIN/../recipe"
SCRATCH= # set by enter_scratch

main() {
  case "${1:-}" in
    "") ;;
    -h | --help) manual && return ;;
    *) manual >&2 && exit 2 ;;
  esac
  if cache_outdated || ! all_found; then
    mkdir -p "$CACHE"
    exec 9>"$CACHE/lock"
    flock --nonblock 9 || { say "another build is running, waiting for it" && flock 9; }
    forget_outdated_cache
    all_found || make_missing
  fi
  print_found
  explain_unused_assets
}

# ---------------------------------------------------------------- search

all_found() {
  folder_with etcd >/dev/null && folder_with kubectl >/dev/null && folder_with "${KUBERNETES_BINARIES[@]}" >/dev/null
}

print_found() {
  local name dir
  for name in etcd kubectl; do
    printf '%s %s/%s\n' "$name" "$(folder_with "$name")" "$name"
  done
  dir="$(folder_with "${KUBERNETES_BINARIES[@]}")"
  for name in "${KUBERNETES_BINARIES[@]}"; do
    printf '%s %s/%s\n' "$name" "$dir" "$name"
  done
}

explain_unused_assets() {
  local assets=${KUBEBUILDER_ASSETS:-}
  if [[ -n $assets ]] && ! has_all "$assets" "${KUBERNETES_BINARIES[@]}"; then
    say "KUBEBUILDER_ASSETS=$assets is not used for Kubernetes itself, it lacks some of: ${KUBERNETES_BINARIES[*]}"
  fi
}

cache_outdated() {
  has_all "$CACHE_BIN" kube-apiserver && [[ $(cat "$RECIPE_FILE" 2>/dev/null) != "$RECIPE" ]]
}

forget_outdated_cache() {
  if cache_outdated; then
    say "the cached Kubernetes was built by another recipe, building it again"
    rm -f "${KUBERNETES_BINARIES[@]/#/$CACHE_BIN/}"
  fi
}

# ---------------------------------------------------------------- build

make_missing() {
  enter_scratch
  folder_with etcd >/dev/null || take_from_package etcd etcd-server
  folder_with kubectl >/dev/null || take_from_package kubectl kubernetes-client
  folder_with "${KUBERNETES_BINARIES[@]}" >/dev/null || build_kubernetes
}

enter_scratch() {
  SCRATCH="$(mktemp -d "$CACHE/build.XXXXXX")"
  trap 'rm -rf "$SCRATCH"' EXIT
  trap 'exit 130' INT TERM HUP
}

# Moves finished binaries into the cache. Each one appears there atomically.
publish() { # publish FILE...
  local file
  mkdir -p "$CACHE_BIN"
  for file in "$@"; do
    mv -f "$file" "$CACHE_BIN/"
  done
}

# ---------------------------------------------------------------- Debian

# apt-get with separate lists and sources, so that it needs no root and does not change those of the machine.
apt() {
  apt-get --quiet --quiet \
    -o Dir::Etc::sourcelist="$SCRATCH/apt/$SUITE.sources" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$SCRATCH/apt/lists" -o Dir::Cache="$SCRATCH/apt/cache" \
    -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 "$@"
}

# Prints the mirror that this machine uses for Debian, so that proxies and local mirrors keep working.
mirror() {
  local uri
  # shellcheck disable=SC2016  # $(REPO_URI) is for apt
  uri="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $SUITE" 'Label: Debian' 2>/dev/null | head -n 1)"
  printf '%s\n' "${uri:-http://deb.debian.org/debian}"
}

prepare_apt() {
  [[ -d $SCRATCH/apt ]] && return
  command -v apt-get >/dev/null || die "no apt-get here: point KUBEBUILDER_ASSETS at a folder with etcd, kubectl and ${KUBERNETES_BINARIES[*]}"
  [[ -r $KEYRING ]] || die "$KEYRING is missing: install debian-archive-keyring, or point KUBEBUILDER_ASSETS at ready binaries"
  mkdir -p "$SCRATCH"/apt/{lists,cache/archives}/partial
  printf '%s\n' "Types: deb deb-src" "URIs: $(mirror)" "Suites: $SUITE" "Components: main" "Signed-By: $KEYRING" \
    >"$SCRATCH/apt/$SUITE.sources"
  say "reading the package lists of $(mirror) $SUITE"
  apt update || die "cannot read the package lists of $(mirror): is the network there?"
}

unpack_package() { # unpack_package NAME...   into $SCRATCH/root
  prepare_apt
  say "unpacking (not installing) $*"
  mkdir -p "$SCRATCH/debs" "$SCRATCH/root"
  (cd "$SCRATCH/debs" && apt download "$@") || die "cannot download the package(s) $*"
  local deb
  for deb in "$SCRATCH"/debs/*.deb; do
    dpkg-deb --extract "$deb" "$SCRATCH/root"
    rm "$deb"
  done
}

take_from_package() { # take_from_package BINARY PACKAGE
  unpack_package "$2"
  verify_runs "$SCRATCH/root/usr/bin/$1"
  publish "$SCRATCH/root/usr/bin/$1"
}

# ---------------------------------------------------------------- Kubernetes

build_kubernetes() {
  local tree="$SCRATCH/go/src/k8s.io/kubernetes"
  say "building Kubernetes $KUBERNETES_VERSION from Debian's source: 5 to 10 minutes on two idle cores, this once"
  find_go
  fetch_source "$tree"
  replace_reflect2 "$tree"
  apply_patch "$tree"
  generate_openapi "$tree"
  compile "$tree" "$SCRATCH/bin"
  check_version "$SCRATCH/bin"
  mkdir -p "$CACHE_BIN"
  printf '%s\n' "$RECIPE" >"$RECIPE_FILE"
  publish "${KUBERNETES_BINARIES[@]/#/$SCRATCH/bin/}"
  say "built in $((SECONDS / 60)) min $((SECONDS % 60)) s, kept in $CACHE_BIN ($(du -sh "$CACHE_BIN" | cut -f1))"
}

find_go() {
  export GOROOT="/usr/lib/go-$GO_VERSION"
  if [[ ! -x $GOROOT/bin/go || ! -d $GOROOT/src/runtime ]]; then
    unpack_package "golang-$GO_VERSION-go" "golang-$GO_VERSION-src"
    GOROOT="$SCRATCH/root/usr/lib/go-$GO_VERSION"
  fi
  export GOPATH="$SCRATCH/go" GOCACHE="${GOCACHE:-$SCRATCH/go-cache}" GOTMPDIR="$SCRATCH" HOME="$SCRATCH"
  export GO111MODULE=off GOTOOLCHAIN=local GOFLAGS=-trimpath CGO_ENABLED=0 GOENV=off
  "$GOROOT/bin/go" version >&2 || die "$GOROOT/bin/go does not run"
}

go() { nice -n 5 "$GOROOT/bin/go" "$@"; }

fetch_source() { # fetch_source TREE
  prepare_apt
  say "downloading the source package kubernetes (35 MB)"
  (cd "$SCRATCH" && apt source --download-only kubernetes) || die "cannot download the source package kubernetes"
  local archives=("$SCRATCH"/kubernetes_*"really$KUBERNETES_VERSION.orig.tar.gz")
  [[ -f ${archives[0]} ]] || die "Debian $SUITE no longer carries Kubernetes $KUBERNETES_VERSION"
  mkdir -p "$1"
  tar --extract --gzip --file="${archives[0]}" --directory="$1" --strip-components=1
}

# The vendored version is too old for this Go: the API server crashes in map iteration on the first apply.
replace_reflect2() { # replace_reflect2 TREE
  local inside=usr/share/gocode/src/github.com/modern-go/reflect2
  local from="/$inside" to="$1/vendor/github.com/modern-go/reflect2"
  if [[ ! -d $from ]]; then
    unpack_package golang-github-modern-go-reflect2-dev
    from="$SCRATCH/root/$inside"
  fi
  rm -rf "$to"
  cp -r "$from" "$to"
  find "$to" -name '*_test.go' -delete
}

apply_patch() { # apply_patch TREE
  local patch=patch
  if ! patch --version >/dev/null 2>&1; then
    unpack_package patch
    patch="$SCRATCH/root/usr/bin/patch"
  fi
  "$patch" --quiet --strip=1 --directory="$1" <"$HERE/kubernetes.patch" || die "kubernetes.patch does not apply"
}

# Upstream's release tarball lacks this generated file.
generate_openapi() { # generate_openapi TREE
  say "generating zz_generated.openapi.go"
  cd "$1"
  local prefix=k8s.io/kubernetes packages
  packages="$(grep -rl --include='*.go' '+k8s:openapi-gen=' pkg cmd staging/src |
    grep -vE '/code-generator/|/sample-|/testdata/' | xargs -n1 dirname | sort -u |
    sed "s|^staging/src/|vendor/|; s|^|$prefix/|" | paste -sd,)"
  go build -o "$SCRATCH/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  nice -n 5 "$SCRATCH/openapi-gen" --logtostderr --input-dirs "$packages" \
    --output-package "$prefix/pkg/generated/openapi" --output-file-base zz_generated.openapi \
    --go-header-file vendor/k8s.io/code-generator/hack/boilerplate.go.txt \
    --output-base "$GOPATH/src" --report-filename "$SCRATCH/openapi-violations" 2>"$SCRATCH/openapi.log" ||
    { tail -n 20 "$SCRATCH/openapi.log" >&2 && die "openapi-gen failed"; }
}

compile() { # compile TREE OUTPUT_FOLDER
  say "compiling ${KUBERNETES_BINARIES[*]}"
  cd "$1"
  mkdir -p "$2"
  go build -ldflags "-s -w $(version_flags)" -o "$2/" "${KUBERNETES_BINARIES[@]/#/./cmd/}" || die "the Kubernetes build failed"
}

# The version is in two packages: --version reads the first, the aggregator's /version the second.
version_flags() {
  local package major minor
  IFS=. read -r major minor _ <<<"$KUBERNETES_VERSION"
  for package in component-base/version client-go/pkg/version; do
    printf -- "-X k8s.io/kubernetes/vendor/k8s.io/$package.%s " "gitVersion=v$KUBERNETES_VERSION" \
      "gitMajor=$major" "gitMinor=$minor" gitTreeState=archive
  done
}

check_version() { # check_version FOLDER
  local name
  for name in "${KUBERNETES_BINARIES[@]}"; do
    verify_runs "$1/$name"
    [[ $("$1/$name" --version) == "Kubernetes v$KUBERNETES_VERSION" ]] || die "$name calls itself $("$1/$name" --version)"
  done
}

verify_runs() { # verify_runs BINARY
  local argument=--version
  [[ $1 == */kubectl ]] && argument="version --client"
  # shellcheck disable=SC2086  # two words on purpose
  "$1" $argument >/dev/null 2>&1 || die "${1##*/} does not run here: $("$1" $argument 2>&1 | tail -n 3)"
}

main "$@"
exit
