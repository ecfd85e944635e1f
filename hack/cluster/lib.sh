# shellcheck shell=bash
# shellcheck disable=SC2034  # used by the scripts that source this one
# Shared by all scripts in this folder: messages, paths, search of binaries.
# Must be sourced. The caller has set -euo pipefail.
shopt -s inherit_errexit

HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
KUBERNETES_VERSION=1.20.2
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/evacuator"
CACHE_BIN="$CACHE/kubernetes-$KUBERNETES_VERSION/bin"
DIR="$(realpath -m "${CLUSTER_DIR:-$HERE/../../.cluster}")"

# These four programs depend on each other and must come from the same folder.
KUBERNETES_BINARIES=(kube-apiserver kube-controller-manager kube-scheduler kubemark)
# Without nodes only the API server runs, which may come from any folder.
[[ ${CLUSTER_NODES:-} != 0 ]] || KUBERNETES_BINARIES=(kube-apiserver)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# Prints the comment at the top of the running script as its manual.
manual() { sed -n '2,/^[^#]/{/^#/!q;s/^# \{0,1\}//p}' "$0"; }

has_all() { # has_all FOLDER NAME...
  local dir=$1 name
  shift
  for name in "$@"; do
    [[ -x $dir/$name && ! -d $dir/$name ]] || return 1
  done
}

# Prints the folders to search in order: KUBEBUILDER_ASSETS, PATH, the cache.
search_path() {
  local dirs
  IFS=: read -ra dirs <<<"$PATH"
  printf '%s\n' ${KUBEBUILDER_ASSETS:+"$KUBEBUILDER_ASSETS"} "${dirs[@]}" "$CACHE_BIN"
}

# Prints the first folder of the search path that contains every NAME.
folder_with() { # folder_with NAME...
  local dir
  while IFS= read -r dir; do
    if [[ -n $dir ]] && has_all "$dir" "$@"; then
      printf '%s\n' "$dir"
      return 0
    fi
  done < <(search_path)
  return 1
}
