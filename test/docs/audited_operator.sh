# shellcheck shell=bash
# Creates the input of docs/audit.md in the working folder: the audit log of an operator that has moved a pod once, its Secret
# of signing keys, and the API server's audit log of that time. Sourced by command_blocks.py and run by
# hack/observability/verify-traces.sh, on a real cluster whose folder is CLUSTER_DIR. MORE_CONFIG contains additional operator
# configuration as YAML.

kubectl create namespace shop --dry-run=client -o yaml | kubectl apply -f -
hack/image/manifest.sh registry.example.com/ops/evacuator:0.1.0 auto | kubectl apply -f -
kubectl -n evacuator-system scale deployment/evacuator --replicas=0
kubectl -n evacuator-system delete lease evacuator --ignore-not-found
kubectl -n kube-system delete lease evacuator-operator --ignore-not-found
kubectl create deployment web --namespace=shop --image=web --replicas=2 --dry-run=client -o yaml | kubectl apply -f -
kubectl -n shop rollout status deployment/web --timeout=120s
kubectl apply -f - <<'POLICY'
apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: audited}
spec:
  mode: Automatic
  limits: {perCycle: {total: 1}}
  strategies:
    - name: PodLifeTime
      args: {maxPodLifeTimeSeconds: 1}
POLICY
sleep 2 # until the pods are older than maxPodLifeTimeSeconds
cat >audit.yaml <<CONFIG
audit: {sinks: [File], file: {path: audit.log}}
server: {healthAddress: "127.0.0.1:0", metricsAddress: "127.0.0.1:0"}
${MORE_CONFIG:-}
CONFIG
evacuator run --once --once-timeout 90s --config audit.yaml
kubectl delete deschedulerpolicy audited
kubectl -n evacuator-system get secret evacuator-signing -o yaml >secret.yaml
cp "$(hack/cluster/control.sh audit-log)" apiserver-audit.log
