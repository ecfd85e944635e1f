{{/* Fails where another installation serves the cluster: until the pods of this one have started, its webhook would refuse
     all creations. `helm template` sees no cluster and does not fail. election: the configuration's leaderElection. */}}
{{- define "evacuator.onlyInstallation" -}}
{{- $mine := printf "%s/%s" .election.namespace .election.name -}}
{{- with .election.claimNamespace -}}
{{- $claim := (lookup "coordination.k8s.io/v1" "Lease" . "evacuator-operator").spec | default dict -}}
{{- $renewed := toDate "2006-01-02T15:04:05.999999Z07:00" ($claim.renewTime | default "") | unixEpoch | int64 -}}
{{- $holds := gt (add $renewed (int $claim.leaseDurationSeconds)) (now | unixEpoch | int64) -}}
{{- if and $holds $claim.holderIdentity (ne $claim.holderIdentity $mine) -}}
{{- fail (printf "features.admissionWebhook.enabled: must be false while %s serves the cluster (Lease %s/evacuator-operator): remove that installation first" $claim.holderIdentity .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What no schema can tell. Each message begins with the field. */}}
{{- define "evacuator.checks" -}}
{{- $config := include "evacuator.config" . | fromYaml -}}
{{- $replicas := int .Values.replicas -}}
{{- if and (ne .Values.kind "Deployment") (not $config.leaderElection.enabled) -}}
{{- fail (printf "config.leaderElection.enabled: must be true with kind %s: a run must see that no other one is under way" .Values.kind) -}}
{{- end -}}
{{- if and (eq .Values.kind "CronJob") .Values.once.timeZone (semverCompare "<1.25-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "once.timeZone: needs Kubernetes 1.25, and this is %s" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- range list "placementWebhook" "admissionWebhook" -}}
{{- if and (ne $.Values.kind "Deployment") (get $.Values.features .).enabled -}}
{{- fail (printf "features.%s.enabled: must be false with kind %s: between runs nobody would answer" . $.Values.kind) -}}
{{- end -}}
{{- end -}}
{{- if .Values.features.admissionWebhook.enabled -}}
{{- include "evacuator.onlyInstallation" (dict "election" $config.leaderElection) -}}
{{- end -}}
{{- if and (gt $replicas 1) (not $config.leaderElection.enabled) -}}
{{- fail (printf "config.leaderElection.enabled: must be true with %d replicas, or all of them act at once" $replicas) -}}
{{- end -}}
{{- with .Values.podDisruptionBudget -}}
{{- if and .enabled (eq $.Values.kind "Deployment") -}}
{{- $least := toString .minAvailable | replace "<nil>" "" -}}
{{- $most := toString .maxUnavailable | replace "<nil>" "" -}}
{{- if and $least $most -}}
{{- fail "podDisruptionBudget.maxUnavailable: must not be set beside minAvailable: set minAvailable to \"\" or null" -}}
{{- end -}}
{{- if not (or $least $most) -}}
{{- fail "podDisruptionBudget.minAvailable: must be set when maxUnavailable is not" -}}
{{- end -}}
{{- if and (gt $replicas 1) (regexMatch "^[0-9]+$" $least) (ge (int $least) $replicas) -}}
{{- fail (printf "podDisruptionBudget.minAvailable: must be below replicas (%d), or no node with a replica can be drained" $replicas) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.features -}}
{{- range list "podWriteLimits" "policyChecks" -}}
{{- if and (get $.Values.features .).enabled (semverCompare "<1.30-0" $.Capabilities.KubeVersion.Version) -}}
{{- fail (printf "features.%s.enabled: needs Kubernetes 1.30, and this is %s" . $.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}
{{- if and .priorityAndFairness.enabled (semverCompare "<1.29-0" $.Capabilities.KubeVersion.Version) -}}
{{- fail (printf "features.priorityAndFairness.enabled: needs Kubernetes 1.29, and this is %s" $.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if and .placementWebhook.enabled .admissionWebhook.enabled -}}
{{- range list "certificate" "issuerRef" -}}
{{- if ne (get $.Values.features.placementWebhook . | toJson) (get $.Values.features.admissionWebhook . | toJson) -}}
{{- fail (printf "features.admissionWebhook.%s: must be that of features.placementWebhook: they share the certificate" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .usageSecrets.enabled (not .usageSecrets.names) -}}
{{- fail "features.usageSecrets.names: must name the Secrets that the operator may read" -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- range .Values.extraVolumes -}}
{{- if has .name (concat (list "config" "audit" "webhook") $names) -}}
{{- fail (printf "extraVolumes: the pod has a volume %s already" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $paths := list "/etc/evacuator" "/etc/evacuator-webhook" (dir $config.audit.file.path) -}}
{{- range .Values.extraVolumeMounts -}}
{{- if not (has .name $names) -}}
{{- fail (printf "extraVolumeMounts: there is no volume %s in extraVolumes" .name) -}}
{{- end -}}
{{- $path := trimSuffix "/" (toString .mountPath) -}}
{{- if has $path $paths -}}
{{- fail (printf "extraVolumeMounts: something is mounted at %s already" $path) -}}
{{- end -}}
{{- $paths = append $paths $path -}}
{{- end -}}
{{- $loopback := "^(127\\.|localhost:|\\[::1\\]:)" -}}
{{- if regexMatch $loopback $config.server.healthAddress -}}
{{- fail "config.server.healthAddress: must not be a loopback address: the kubelet asks there" -}}
{{- end -}}
{{- if and (or .Values.features.placementWebhook.enabled .Values.features.admissionWebhook.enabled) (regexMatch $loopback $config.webhook.address) -}}
{{- fail "config.webhook.address: must not be a loopback address: the API server asks there" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) -}}
{{- fail "metrics.service.enabled: must be true for metrics.serviceMonitor" -}}
{{- end -}}
{{- end }}
