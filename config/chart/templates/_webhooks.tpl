{{/* The objects of a webhook. root: $; values: features.…; name: of Service and so on, as config/ calls it; service: as it
     is configured; files: its folder in the chart; verbs: on its configurations where cert-manager fills them [get]. */}}
{{- define "evacuator.webhook" -}}
{{- $root := .root -}}
{{- $port := include "evacuator.port" (include "evacuator.config" $root | fromYaml).webhook.address -}}
{{- $certManager := eq .values.certificate "CertManager" -}}
{{- $annotations := dict -}}
{{- if $certManager -}}
{{- $certificate := include "evacuator.renamed" (dict "root" $root "name" "evacuator-webhook") -}}
{{- $annotations = dict "cert-manager.io/inject-ca-from" (printf "%s/%s" $root.Release.Namespace $certificate) -}}
{{- end -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .service }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "evacuator.labels" $root | nindent 4 }}
spec:
  selector:
    {{- include "evacuator.selector" $root | nindent 4 }}
  ports:
    - name: webhook
      port: 443
      targetPort: {{ $port }}
{{- if $root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "evacuator.renamed" (dict "root" $root "name" .name) }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "evacuator.labels" $root | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "evacuator.selector" $root | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    - ports:
        - protocol: TCP
          port: {{ $port }}
      {{- with .values.from }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
{{- include "evacuator.objects" (dict "root" $root "file" (printf "%s/webhook.yaml" .files) "annotations" $annotations) }}
{{- if $root.Values.rbac.create }}
{{- if $certManager }}
{{- /* The operator makes no certificate, and only looks whether caBundle goes with it. What else it writes is said by
       the caller. */}}
{{- include "evacuator.objects" (dict "root" $root "file" (printf "%s/role.yaml" .files)
      "kinds" (list "ClusterRole" "ClusterRoleBinding") "verbs" (.verbs | default (list "get"))) }}
{{- else }}
{{- include "evacuator.objects" (dict "root" $root "file" (printf "%s/role.yaml" .files)) }}
{{- end }}
{{- end }}
{{- end }}
