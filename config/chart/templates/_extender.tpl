{{/* Changes the pod of config/extender to that of the release. root: $; name: of account and ConfigMap; template; config. */}}
{{- define "evacuator.extenderPod" -}}
{{- $values := .root.Values -}}
{{- $pod := .template.spec -}}
{{- $container := index $pod.containers 0 -}}
{{- $_ := set .template.metadata "annotations" (dict "checksum/config" (toYaml .config | sha256sum)) -}}
{{- $_ := set .template.metadata "labels" (merge (dict) .template.metadata.labels (include "evacuator.commonLabels" .root | fromYaml)) -}}
{{- $_ := set $pod "serviceAccountName" .name -}}
{{- $_ := set $pod "priorityClassName" $values.priorityClass.name -}}
{{- if not $values.priorityClass.name -}}
{{- $_ := unset $pod "priorityClassName" -}}
{{- end -}}
{{- with $values.image.pullSecrets -}}
{{- $_ := set $pod "imagePullSecrets" . -}}
{{- end -}}
{{- range $field := list "affinity" "tolerations" "nodeSelector" -}}
{{- with get $values.extender $field -}}
{{- $_ := set $pod $field . -}}
{{- end -}}
{{- end -}}
{{- $_ := set $container "image" (include "evacuator.image" .root) -}}
{{- $_ := set $container "imagePullPolicy" $values.image.pullPolicy -}}
{{- with $values.extender.resources -}}
{{- $_ := set $container "resources" . -}}
{{- end -}}
{{- $volumes := list (dict "name" "config" "configMap" (dict "name" .name)) -}}
{{- with $values.extender.tls.secretName -}}
{{- $volumes = append $volumes (dict "name" "tls" "secret" (dict "secretName" .)) -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts (dict "name" "tls" "mountPath" "/etc/evacuator-tls" "readOnly" true)) -}}
{{- end -}}
{{- $_ := set $pod "volumes" $volumes -}}
{{- end }}
