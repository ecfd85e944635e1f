{{/* What every name begins with. */}}
{{- define "evacuator.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* A name of config/ under this release: evacuator-metrics becomes <fullname>-metrics. */}}
{{- define "evacuator.renamed" -}}
{{- regexReplaceAllLiteral "^evacuator" .name (include "evacuator.fullname" .root) -}}
{{- end }}

{{- define "evacuator.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "evacuator.fullname" . -}}
{{- else -}}
{{- fail "serviceAccount.name: is required when serviceAccount.create is false" -}}
{{- end -}}
{{- end }}

{{/* The operator, its webhook's rules and its plugin look for this label, whatever the release is called. */}}
{{- define "evacuator.selector" -}}
app.kubernetes.io/name: evacuator
{{- end }}

{{/* Helm's labels and the user's: on everything. */}}
{{- define "evacuator.commonLabels" -}}
{{- merge (dict) (.Values.commonLabels | default dict) (dict
      "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
      "app.kubernetes.io/instance" .Release.Name
      "app.kubernetes.io/version" .Chart.AppVersion
      "app.kubernetes.io/managed-by" .Release.Service) | toYaml -}}
{{- end }}

{{- define "evacuator.labels" -}}
{{ include "evacuator.selector" . }}
{{ include "evacuator.commonLabels" . }}
{{- end }}

{{- define "evacuator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end }}
