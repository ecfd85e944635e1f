{{/* Writes the fields of the second map over those of the first one, at every depth. */}}
{{- define "evacuator.overlay" -}}
{{- $into := index . 0 -}}
{{- range $key, $value := index . 1 -}}
{{- if and (kindIs "map" $value) (kindIs "map" (get $into $key)) -}}
{{- include "evacuator.overlay" (list (get $into $key) $value) -}}
{{- else -}}
{{- $_ := set $into $key $value -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The operator's whole configuration, as YAML. */}}
{{- define "evacuator.config" -}}
{{- $config := include "evacuator.file" (dict "root" . "path" "files/manager/config.yaml") | fromYaml -}}
{{- include "evacuator.overlay" (list $config .Values.config) -}}
{{- $_ := set $config.leaderElection "namespace" .Release.Namespace -}}
{{- $_ := set $config.webhook "enabled" .Values.features.placementWebhook.enabled -}}
{{- $_ := set $config.webhook.admission "enabled" .Values.features.admissionWebhook.enabled -}}
{{- $_ := set $config.resourceAdvice "enabled" .Values.features.resourceAdvice.enabled -}}
{{- if eq (include "evacuator.hasCertManager" .) "true" -}}
{{- $_ := set $config.webhook "certFile" "/etc/evacuator-webhook/tls.crt" -}}
{{- $_ := set $config.webhook "keyFile" "/etc/evacuator-webhook/tls.key" -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{/* Of a webhook: cert-manager makes the certificate. */}}
{{- define "evacuator.hasCertManager" -}}
{{- range list .Values.features.placementWebhook .Values.features.admissionWebhook -}}
{{- if and .enabled (eq .certificate "CertManager") -}}true{{ break }}{{- end -}}
{{- end -}}
{{- end }}

{{/* The port of an address such as 0.0.0.0:8443. */}}
{{- define "evacuator.port" -}}
{{- regexFind "[0-9]+$" . -}}
{{- end }}
