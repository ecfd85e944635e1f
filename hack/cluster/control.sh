#!/usr/bin/env bash
# Controls a running cluster for the end-to-end tests.
#
#   control.sh stop-apiserver             stop it and wait until it has exited
#   control.sh start-apiserver            start it on the same port and wait until it is ready
#   control.sh restart-apiserver          both
#   control.sh kubeconfig-for NAMESPACE SERVICEACCOUNT
#                                         write a kubeconfig with its token, print the path
#   control.sh audit-log                  print the path of the audit log (one JSON object per line)
#   control.sh status                     list the components; exit 1 unless all run
#
#   CLUSTER_DIR  state folder of the cluster [<repository>/.cluster]
set -euo pipefail
FOLDER="$(dirname "${BASH_SOURCE[0]}")"
for part in lib process pki components; do
  # shellcheck source=/dev/null
  . "$FOLDER/$part.sh"
done

main() {
  local command=${1:-}
  shift || true
  case "$command" in
    stop-apiserver) prepare 0 "$@" && lock && stop_apiserver ;;
    start-apiserver) prepare 0 "$@" && lock && start_apiserver_again ;;
    restart-apiserver) prepare 0 "$@" && lock && stop_apiserver && start_apiserver_again ;;
    kubeconfig-for) prepare 2 "$@" && kubeconfig_for "$@" ;;
    audit-log) prepare 0 "$@" && printf '%s\n' "$DIR/logs/audit.log" ;;
    status) prepare 0 "$@" && status ;;
    -h | --help) manual ;;
    *) manual >&2 && exit 2 ;;
  esac
}

prepare() { # prepare COUNT ARGUMENT...
  (($# - 1 == $1)) || { manual >&2 && exit 2; }
  load_settings
}

# ---------------------------------------------------------------- API server

stop_apiserver() {
  stop kube-apiserver 3
  say "the API server is stopped"
}

start_apiserver_again() {
  local started=$SECONDS
  if running kube-apiserver; then
    say "the API server is already running"
    return
  fi
  start_apiserver
  say "the API server is ready after $((SECONDS - started)) s"
}

# ---------------------------------------------------------------- tokens

kubeconfig_for() { # kubeconfig_for NAMESPACE SERVICEACCOUNT
  local file="$DIR/kubeconfigs/$1-$2.kubeconfig" token
  kubectl --namespace="$1" get serviceaccount "$2" -o name >/dev/null
  token="$(token_of "$1" "$2")"
  write_kubeconfig "$file" "$2" "    token: $token" "$1"
  printf '%s\n' "$file"
}

# Servers before 1.24 store a token in a secret for every account. Later ones create one on request.
token_of() { # token_of NAMESPACE SERVICEACCOUNT
  if [[ $(server_version) =~ v1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 24)); then
    kubectl --namespace="$1" create token "$2" --duration=24h
  else
    await 60 kube-controller-manager "the service account $1/$2 has a token" secret_token "$1" "$2"
    secret_token "$1" "$2"
  fi
}

secret_token() { # secret_token NAMESPACE SERVICEACCOUNT
  local secret token
  secret="$(kubectl --namespace="$1" get serviceaccount "$2" -o jsonpath='{.secrets[0].name}')"
  [[ -n $secret ]] || return 1
  token="$(kubectl --namespace="$1" get secret "$secret" -o jsonpath='{.data.token}')"
  [[ -n $token ]] && base64 --decode <<<"$token"
}

# ---------------------------------------------------------------- status

status() {
  local name result=0
  while IFS= read -r name; do
    if running "$name"; then
      printf '%-24s running  pid %s\n' "$name" "$(pid_of "$name")"
    else
      printf '%-24s stopped  see %s\n' "$name" "$DIR/logs/$name.log"
      result=1
    fi
  done < <(component_names)
  if apiserver_ready >/dev/null 2>&1; then
    printf 'ready at https://127.0.0.1:%s\n' "$API_PORT"
  else
    printf 'the API server does not answer at https://127.0.0.1:%s\n' "$API_PORT"
    result=1
  fi
  return "$result"
}

main "$@"
exit
