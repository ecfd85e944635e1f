#!/usr/bin/env bash
# On plain Debian 12 with only git and make, `make demo` and then `make test` must work.
# Makes a bare root file system with mmdebstrap, puts a clean checkout of HEAD into it, and runs both there.
#
#   hack/bare-root.sh [COMMAND...]     default: make demo DEMO_FLAGS='--plain --speed 20', then make test
#
#   BARE_ROOT     folder of the root file system   [a new one under TMPDIR, removed at the end]
#   BARE_MIRROR   URL of a Debian mirror           [mmdebstrap's own default]
#   ../shared     next to the checkout, if it exists, for the conformance cases
# Needs root and mmdebstrap (Debian's package). Takes the time of a cold build.
set -euo pipefail
cd "$(dirname "$0")/.."

root=${BARE_ROOT:-$(mktemp -d "${TMPDIR:-/tmp}/evacuator-bare-XXXXXX")}

say() { printf 'bare-root: %s\n' "$*" >&2; }

clean_up() {
  umount "$root/proc" "$root/dev" 2>/dev/null || true
  [[ -n ${BARE_ROOT:-} ]] || rm -rf --one-file-system "$root"
}

make_root() {
  [[ -x $root/bin/sh ]] && return
  say "making a bare Debian 12 in $root"
  mmdebstrap --quiet --variant=apt --include=ca-certificates,git,make bookworm "$root" \
    ${BARE_MIRROR:+"$BARE_MIRROR"}
}

# Copies this machine's access to its mirror: name resolution and proxies only.
borrow_network() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  local file
  for file in /etc/apt/apt.conf.d/*proxy*; do
    [[ ! -f $file ]] || cp "$file" "$root/etc/apt/apt.conf.d/"
  done
}

put_checkout() {
  rm -rf "$root/work"
  mkdir -p "$root/work"
  git clone --quiet --no-hardlinks . "$root/work/main"
  [[ ! -d ../shared ]] || cp -rL ../shared "$root/work/shared"
}

inside() {
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
    chroot "$root" sh -c 'cd /work/main && exec "$@"' sh "$@"
}

timed() {
  local start=$SECONDS
  say "$*"
  inside "$@"
  say "$1 ${2:-}: ok after $((SECONDS - start)) s"
}

main() {
  [[ $(id -u) == 0 ]] || { say "needs root"; exit 2; }
  command -v mmdebstrap >/dev/null || { say "install mmdebstrap first (apt-get install mmdebstrap)"; exit 2; }
  trap clean_up EXIT
  make_root
  borrow_network
  put_checkout
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  if (($#)); then
    timed "$@"
  else
    timed make demo DEMO_FLAGS='--plain --speed 20'
    timed make test
  fi
}

main "$@"
