#!/usr/bin/env bash
# Records the lists of this folder, in JSON and in protobuf, from a running API server: creates objects.yaml, writes the
# statuses of statuses.tsv, and asks. usage: record.sh KUBECONFIG, one with certificates in it such as hack/cluster/up.sh
# writes (CLUSTER_NODES=0: nobody else may write statuses), and up for ten minutes, so that status_410 is one.
set -euo pipefail
cd "$(dirname "$0")"
export KUBECONFIG=$1
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
protobuf=application/vnd.kubernetes.protobuf

from_config() { kubectl config view --raw --minify -o "jsonpath={$1}"; }

ask() { # ask ACCEPT PATH [OPTION]...
  local accept=$1 path=$2
  shift 2
  curl --silent --show-error --cacert "$work/ca" --cert "$work/cert" --key "$work/key" -H "Accept: $accept" "$@" "$server$path"
}

server="$(from_config .clusters[0].cluster.server)"
from_config '.clusters[0].cluster.certificate-authority-data' | base64 -d >"$work/ca"
from_config '.users[0].user.client-certificate-data' | base64 -d >"$work/cert"
from_config '.users[0].user.client-key-data' | base64 -d >"$work/key"

kubectl create namespace golden >/dev/null
kubectl create serviceaccount default -n golden >/dev/null
kubectl apply -f objects.yaml >/dev/null 2>&1
while IFS=$'\t' read -r path status; do
  ask application/json "$path" -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$status" >/dev/null
done <statuses.tsv
kubectl delete pod full -n golden --wait=false >/dev/null

while read -r name path; do
  ask application/json "$path" >"json/$name.json"
  ask "$protobuf" "$path" >"protobuf/$name.pb"
done <<'LISTS'
pods /api/v1/namespaces/golden/pods?labelSelector=golden%3Dyes
nodes /api/v1/nodes?labelSelector=golden%3Dyes
namespaces /api/v1/namespaces?fieldSelector=metadata.name%3Dgolden
poddisruptionbudgets /apis/policy/v1beta1/namespaces/golden/poddisruptionbudgets?labelSelector=golden%3Dyes
priorityclasses /apis/scheduling.k8s.io/v1/priorityclasses?labelSelector=golden%3Dyes
persistentvolumeclaims /api/v1/namespaces/golden/persistentvolumeclaims?labelSelector=golden%3Dyes
persistentvolumes /api/v1/persistentvolumes?labelSelector=golden%3Dyes
storageclasses /apis/storage.k8s.io/v1/storageclasses?labelSelector=golden%3Dyes
csinodes /apis/storage.k8s.io/v1/csinodes?labelSelector=golden%3Dyes
replicasets /apis/apps/v1/namespaces/golden/replicasets?labelSelector=golden%3Dyes
statefulsets /apis/apps/v1/namespaces/golden/statefulsets?labelSelector=golden%3Dyes
jobs /apis/batch/v1/namespaces/golden/jobs?labelSelector=golden%3Dyes
page /api/v1/namespaces?limit=1
status_404 /api/v1/namespaces/golden/pods/absent
status_410 /api/v1/namespaces/golden/pods?resourceVersion=1&resourceVersionMatch=Exact
LISTS
watch='/api/v1/namespaces/golden/pods?watch=true&timeoutSeconds=1&resourceVersion=0&labelSelector=golden%3Dyes'
ask application/json "$watch" >json/watch.json
ask "$protobuf;stream=watch" "$watch" >protobuf/watch.pb
