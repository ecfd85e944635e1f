#!/usr/bin/env bash
# Stops the cluster of up.sh, or what is left of it, and removes its state.
#
#   CLUSTER_DIR  state folder of the cluster                [<repository>/.cluster]
#   KEEP         1: keep the state (logs, audit log, etcd's data) until the next up.sh
set -euo pipefail
FOLDER="$(dirname "${BASH_SOURCE[0]}")"
for part in lib process; do
  # shellcheck source=/dev/null
  . "$FOLDER/$part.sh"
done

main() {
  [[ $# -eq 0 ]] || { manual && [[ $1 == -h || $1 == --help ]] && exit 0 || exit 2; }
  lock
  if [[ ! -e $DIR && -z $(our_pids) ]]; then
    say "nothing to do, there is no cluster in $DIR"
    return
  fi
  stop_all
  if [[ ${KEEP:-} == 1 ]]; then
    say "stopped; its state stays in $DIR until the next up.sh"
  else
    remove_state
    say "stopped and removed"
  fi
}

main "$@"
exit
