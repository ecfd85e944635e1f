#!/usr/bin/env bash
# Installs missing Debian packages. Idempotent; prints what it does; works as root and with sudo.
# usage: hack/setup.sh [build] [e2e] [verify] [bench] [fuzz] [proof] [bare-root] [image] [image-arm64]
set -euo pipefail

declare -A package_sets=(
  [build]="g++ cmake ninja-build ccache make libcpprest-dev libboost1.74-dev libssl-dev nlohmann-json3-dev
    libsimdjson-dev libspdlog-dev libfmt-dev libyaml-dev libcli11-dev prometheus-cpp-dev zlib1g-dev
    libhowardhinnant-date-dev tzdata
    libgtest-dev libgmock-dev ca-certificates openssl git"
  [e2e]="etcd-server curl prometheus python3 jq bsdutils"
  [verify]="clang-format-14 clang-tidy-14 shellcheck codespell python3 prometheus golang-go golang-github-masterminds-sprig-dev
    golang-github-xeipuuv-gojsonschema-dev golang-k8s-sigs-yaml-dev jq"
  [bench]="libbenchmark-dev"
  [fuzz]="clang-14 libclang-rt-14-dev"
  [proof]="coinor-cbc"
  [bare-root]="mmdebstrap"
  [image]="mmdebstrap umoci skopeo jq binutils"
  [image-arm64]="g++-aarch64-linux-gnu qemu-user-static"
)

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "setup: these packages are missing and neither root nor sudo is at hand: $*" >&2
    exit 1
  fi
}

require_debian() {
  command -v apt-get >/dev/null && return
  echo "setup: this is no Debian-like system; install the packages listed in hack/setup.sh yourself" >&2
  exit 1
}

main() {
  local wanted=() missing set
  for set in "${@:-build}"; do
    [[ -v package_sets[$set] ]] || { echo "setup: unknown set '$set' (there are: ${!package_sets[*]})" >&2; exit 2; }
    read -r -d '' -a packages <<<"${package_sets[$set]}" || true
    wanted+=("${packages[@]}")
  done
  # Any kubectl is sufficient. Debian's package is installed only if there is none, since it conflicts with other
  # packages.
  if [[ " $* " == *" e2e "* || " $* " == *" verify "* ]] && ! command -v kubectl >/dev/null; then
    wanted+=(kubernetes-client)
  fi
  require_debian
  missing=$(missing_packages "${wanted[@]}")
  [[ -n $missing ]] || return 0
  echo "setup: installing $(tr '\n' ' ' <<<"$missing")"
  as_root apt-get update -q >/dev/null
  # shellcheck disable=SC2086  # one word a package
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >/tmp/evacuator-setup.log 2>&1 ||
    { tail -n 20 /tmp/evacuator-setup.log >&2; echo "setup: apt-get failed (see /tmp/evacuator-setup.log)" >&2; exit 1; }
  echo "setup: done"
}

main "$@"
