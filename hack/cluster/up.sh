#!/usr/bin/env bash
# Starts a Kubernetes cluster on loopback: etcd, API server, controller manager, scheduler and hollow nodes, with TLS,
# RBAC and an audit log. Writes the administrator's kubeconfig to $CLUSTER_DIR/kubeconfig and prints its path on stdout.
# Does nothing if the cluster is already running.
#
#   CLUSTER_DIR              state folder                   [<repository>/.cluster]
#   CLUSTER_NODES            number of nodes                [4]
#                            0: etcd and API server only, no scheduler, no controllers
#   CLUSTER_NODE_CPUS        reported cores per node        [4]
#   CLUSTER_NODE_MEMORY_MIB  reported memory per node       [16384]
#   CLUSTER_APISERVER_FLAGS  more flags of kube-apiserver   []
#   CLUSTER_PORT_BASE        first of CLUSTER_NODES+6 ports [any free ones]
set -euo pipefail
FOLDER="$(dirname "${BASH_SOURCE[0]}")"
for part in lib process pki components; do
  # shellcheck source=/dev/null
  . "$FOLDER/$part.sh"
done

main() {
  [[ $# -eq 0 ]] || { manual && [[ $1 == -h || $1 == --help ]] && exit 0 || exit 2; }
  local binaries
  check_settings
  binaries="$("$HERE/build-binaries.sh")"
  lock
  if already_running; then
    say "already running"
  else
    start_afresh "$binaries"
  fi
  say "$NODES nodes, $(server_version), at https://127.0.0.1:$API_PORT; use it with: export KUBECONFIG=$DIR/kubeconfig"
  printf '%s\n' "$DIR/kubeconfig"
}

check_settings() {
  local name
  NODES=${CLUSTER_NODES:-4} NODE_CPUS=${CLUSTER_NODE_CPUS:-4} NODE_MEMORY_MIB=${CLUSTER_NODE_MEMORY_MIB:-16384}
  [[ $NODES =~ ^[0-9]{1,7}$ ]] || die "CLUSTER_NODES must be a number, it is '$NODES'"
  for name in NODE_CPUS NODE_MEMORY_MIB; do
    [[ ${!name} =~ ^[1-9][0-9]{0,6}$ ]] || die "CLUSTER_$name must be a number from 1, it is '${!name}'"
  done
}

already_running() {
  local asked=$NODES
  [[ -f $DIR/settings ]] || return 1
  load_settings
  if all_running && apiserver_ready >/dev/null 2>&1; then
    [[ $asked == "$NODES" || -z ${CLUSTER_NODES:-} ]] || say "it has $NODES nodes, not $asked: run down.sh first for another number"
    return 0
  fi
  NODES=$asked
  return 1
}

start_afresh() { # start_afresh BINARIES
  local started=$SECONDS
  clear_leftovers
  trap give_up EXIT
  trap 'exit 130' INT TERM HUP
  prepare_state "$1"
  prepare_pki
  start_control_plane
  ((NODES == 0)) || start_nodes
  trap - EXIT INT TERM HUP
  say "up in $((SECONDS - started)) s"
}

# shellcheck disable=SC2317  # called by the trap
give_up() {
  say "stopping what was started; the logs stay in $DIR/logs"
  stop_all
}

clear_leftovers() {
  [[ -z $(our_pids) ]] || say "clearing away a half-started cluster"
  stop_all
  remove_state
}

prepare_state() { # prepare_state BINARIES
  local ports
  (umask 077 && mkdir -p "$DIR")
  touch "$DIR/$MARKER"
  mkdir "$DIR"/{pki,logs,run,etcd,kubeconfigs}
  chmod 700 "$DIR/etcd"
  # Unix sockets allow some 100 bytes of path, so they are in a folder with a short name.
  ln -s "$(mktemp -d /tmp/evacuator.XXXXXX)" "$DIR/tmp"
  printf '*\n' >"$DIR/.gitignore"
  printf '%s\n' "$1" >"$DIR/binaries"
  ports="$(pick_ports $((NODES + 6)))"
  # shellcheck disable=SC2086  # one word for each port
  set -- $ports
  cat >"$DIR/settings" <<EOF
API_PORT=$1 ETCD_PORT=$2 ETCD_PEER_PORT=$3 CONTROLLER_MANAGER_PORT=$4 SCHEDULER_PORT=$5
SCHEDULER_PLAIN_PORT=$6
NODE_PORTS=(${*:7})
NODES=$NODES NODE_CPUS=$NODE_CPUS NODE_MEMORY_MIB=$NODE_MEMORY_MIB
EOF
  load_settings
}

prepare_pki() {
  local component node
  make_authority
  make_token_keys
  issue apiserver "/CN=kube-apiserver" \
    "IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
  issue_kubeconfig admin "/O=system:masters/CN=admin"
  mv "$DIR/pki/admin.kubeconfig" "$DIR/kubeconfig"
  for component in kube-controller-manager kube-scheduler; do
    ((NODES > 0)) || break
    issue_kubeconfig "$component" "/CN=system:$component" IP:127.0.0.1
  done
  for node in $(node_names); do
    issue_kubeconfig "$node" "/O=system:nodes/CN=system:node:$node"
  done
}

start_control_plane() {
  say "starting etcd"
  start_etcd
  say "starting the API server, $("$(binary kube-apiserver)" --version)"
  start_apiserver
  ((NODES > 0)) || return 0
  say "starting the controller manager and the scheduler"
  start_controller_manager
  start_scheduler
}

start_nodes() {
  local index=0 node
  say "starting $NODES nodes"
  for node in $(node_names); do
    start_node "$node" "${NODE_PORTS[index]}"
    ((index += 1))
  done
  await 60 kube-controller-manager "the controller manager is healthy" healthy_at "$CONTROLLER_MANAGER_PORT"
  await 60 kube-scheduler "the scheduler is healthy" healthy_at "$SCHEDULER_PORT"
  for node in $(node_names); do
    await 60 "$node" "$node is Ready" node_ready "$node"
  done
  await 60 kube-controller-manager "the namespace default accepts pods" accepts_pods
}

main "$@"
exit
