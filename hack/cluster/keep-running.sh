#!/usr/bin/env bash
# Runs a program, and again when it breaks, as a kubelet does with the parts of a control plane; a few times at most.
#   keep-running.sh PROGRAM ARGUMENT...
set -uo pipefail

for ((again = 0; again < 4; ++again)); do
  "$@" && exit
  printf 'keep-running.sh: it ended with %s\n' "$?"
  sleep 1
done
exit 1
