#!/usr/bin/env bash
# Runs a program and restarts it when it fails, like a kubelet does with control plane components, at most four runs.
#   keep-running.sh PROGRAM ARGUMENT...
set -uo pipefail

for ((again = 0; again < 4; ++again)); do
  "$@" && exit
  printf 'keep-running.sh: it ended with %s\n' "$?"
  sleep 1
done
exit 1
