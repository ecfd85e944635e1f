# shellcheck shell=bash
# shellcheck disable=SC2154  # the ports and NODES come from the file settings
# Starts the components of the control plane and checks their health.

load_settings() {
  [[ -f $DIR/settings ]] || die "no cluster in $DIR: run up.sh first"
  # shellcheck source=/dev/null
  . "$DIR/settings"
}

binary() { awk -v name="$1" '$1 == name { print substr($0, length(name) + 2) }' "$DIR/binaries"; }

# Prints a flag if the binary supports it. Other versions would not start with it.
if_known() { # if_known BINARY FLAG=VALUE
  # grep --quiet would close the pipe early and fail the pipeline.
  "$(binary "$1")" --help 2>&1 | grep --fixed-strings -- " ${2%%=*} " >/dev/null && printf '%s\n' "$2"
  return 0
}

kubectl() { "$(binary kubectl)" --kubeconfig="$DIR/kubeconfig" --request-timeout=5s --cache-dir="$DIR/tmp/kubectl" "$@"; }

# Prints the control plane first, then the nodes.
component_names() {
  printf '%s\n' etcd kube-apiserver
  ((NODES == 0)) || printf '%s\n' kube-controller-manager kube-scheduler
  node_names
}

node_names() { seq --format='node-%.0f' 1 "$NODES"; }

# ---------------------------------------------------------------- start

start_etcd() {
  launch etcd "$(binary etcd)" --name=evacuator --data-dir="$DIR/etcd" --log-level=warn --logger=zap \
    --listen-client-urls="http://127.0.0.1:$ETCD_PORT" --advertise-client-urls="http://127.0.0.1:$ETCD_PORT" \
    --listen-peer-urls="http://127.0.0.1:$ETCD_PEER_PORT" --initial-advertise-peer-urls="http://127.0.0.1:$ETCD_PEER_PORT" \
    --initial-cluster="evacuator=http://127.0.0.1:$ETCD_PEER_PORT"
  await 20 etcd "etcd listens" port_open "$ETCD_PORT"
}

# The service "kubernetes" gets no endpoint: an endpoint must not be a loopback address, and no pod really runs.
start_apiserver() {
  # shellcheck disable=SC2086  # one word for each flag
  launch kube-apiserver "$(binary kube-apiserver)" \
    --bind-address=127.0.0.1 --secure-port="$API_PORT" --advertise-address=127.0.0.1 --endpoint-reconciler-type=none \
    --etcd-servers="http://127.0.0.1:$ETCD_PORT" --service-cluster-ip-range=10.96.0.0/16 \
    --cert-dir="$DIR/pki" --tls-cert-file="$DIR/pki/apiserver.crt" --tls-private-key-file="$DIR/pki/apiserver.key" \
    --client-ca-file="$DIR/pki/ca.crt" --requestheader-client-ca-file="$DIR/pki/ca.crt" \
    --requestheader-allowed-names=front-proxy --requestheader-username-headers=X-Remote-User --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$DIR/pki/tokens.pub" \
    --service-account-signing-key-file="$DIR/pki/tokens.key" \
    --audit-policy-file="$HERE/audit-policy.yaml" --audit-log-path="$DIR/logs/audit.log" --audit-log-maxsize=2000 \
    --allow-privileged=true --profiling=false ${CLUSTER_APISERVER_FLAGS:-}
  await 60 kube-apiserver "the API server is ready" apiserver_ready
}

start_controller_manager() {
  local serving known
  mapfile -t serving < <(serving_flags kube-controller-manager "$CONTROLLER_MANAGER_PORT")
  mapfile -t known < <(if_known kube-controller-manager --flex-volume-plugin-dir="$DIR/tmp/flexvolume")
  launch kube-controller-manager "$HERE/keep-running.sh" "$(binary kube-controller-manager)" "${serving[@]}" \
    --leader-elect=false --use-service-account-credentials --controllers='*' \
    --root-ca-file="$DIR/pki/ca.crt" --service-account-private-key-file="$DIR/pki/tokens.key" \
    --cluster-signing-cert-file="$DIR/pki/ca.crt" --cluster-signing-key-file="$DIR/pki/ca.key" \
    --kube-api-qps=200 --kube-api-burst=400 "${known[@]}"
}

# With a configuration file, the scheduler ignores the flags for the same settings.
start_scheduler() {
  local file serving settings=(--leader-elect=false --kube-api-qps=200 --kube-api-burst=400)
  mapfile -t serving < <(serving_flags kube-scheduler "$SCHEDULER_PORT")
  file="$(scheduler_file)"
  if [[ -n $file ]]; then
    sed "s|@KUBECONFIG@|$DIR/pki/kube-scheduler.kubeconfig|; s|@PLAIN_PORT@|$SCHEDULER_PLAIN_PORT|" \
      "$HERE/$file" >"$DIR/scheduler.yaml"
    settings=(--config="$DIR/scheduler.yaml")
  fi
  launch kube-scheduler "$(binary kube-scheduler)" "${serving[@]}" "${settings[@]}"
}

# Prints the configuration with a profile for each score. Versions in between use their defaults.
scheduler_file() {
  [[ $("$(binary kube-scheduler)" --version) =~ v1\.([0-9]+)\. ]] || return 0
  if ((BASH_REMATCH[1] == 20)); then
    printf 'scheduler.yaml\n'
  elif ((BASH_REMATCH[1] >= 25)); then
    printf 'scheduler-v1.yaml\n'
  fi
}

# Serves health over TLS on loopback only. Old versions also open a plain port on all addresses by default.
serving_flags() { # serving_flags NAME PORT
  local kubeconfig="$DIR/pki/$1.kubeconfig"
  printf '%s\n' --bind-address=127.0.0.1 --secure-port="$2" --cert-dir="$DIR/pki/$1" \
    --tls-cert-file="$DIR/pki/$1.crt" --tls-private-key-file="$DIR/pki/$1.key" --profiling=false \
    --kubeconfig="$kubeconfig" --authentication-kubeconfig="$kubeconfig" --authorization-kubeconfig="$kubeconfig"
  if_known "$1" --port=0
}

# Starts a real kubelet with a fake container runtime (kubemark). See kubernetes.patch for the two variables, which a
# stock kubemark ignores: its nodes have one core and 3.75 GiB. Newer versions use the machine's own image service by
# default. Restarts the kubelet when it exits, like the init of a real node, because the fake file system of 1.20 is not
# safe for concurrent writes.
start_node() { # start_node NAME PORT
  local known
  mapfile -t known < <(if_known kubemark --use-host-image-service=false)
  # shellcheck disable=SC2016  # the words are for the inner shell
  HOLLOW_CORES="$NODE_CPUS" HOLLOW_MEMORY_BYTES=$((NODE_MEMORY_MIB << 20)) \
    launch "$1" bash -c 'while :; do "$@"; echo "kubelet ended with $?, starting it again"; sleep 0.5; done' node \
    "$(binary kubemark)" --morph=kubelet --name="$1" \
    --kubeconfig="$DIR/pki/$1.kubeconfig" --kubelet-port="$2" --kubelet-read-only-port=0 \
    "${known[@]}"
}

# ---------------------------------------------------------------- health

apiserver_ready() { kubectl get --raw=/readyz; }

server_version() { kubectl get --raw=/version | sed -n 's/.*"gitVersion": *"\(v[^"]*\)".*/Kubernetes \1/p'; }

healthy_at() { kubectl --server="https://127.0.0.1:$1" get --raw=/healthz; } # healthy_at PORT

node_ready() { # node_ready NAME
  [[ $(kubectl get node "$1" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}') == True ]]
}

# Needs the namespace, its service account and, on old servers, the token of that account.
accepts_pods() { kubectl --namespace=default run probe --image=probe --dry-run=server; }

all_running() {
  local name
  while IFS= read -r name; do
    running "$name" || return 1
  done < <(component_names)
}
