{{/* The text of a file of the chart. Fails when it is not there. */}}
{{- define "evacuator.file" -}}
{{- $text := .root.Files.Get .path -}}
{{- if not $text -}}
{{- fail (printf "%s is missing in the chart: files/ holds symbolic links, which something on the way dropped; take the packed chart (make chart)" .path) -}}
{{- end -}}
{{- $text -}}
{{- end }}

{{/* Names in what only some kinds have. */}}
{{- define "evacuator.renameWithin" -}}
{{- $root := .root -}}
{{- $object := .object -}}
{{- with $object.roleRef -}}
{{- $_ := set . "name" (include "evacuator.renamed" (dict "root" $root "name" .name)) -}}
{{- end -}}
{{- range $object.subjects -}}
{{- $_ := set . "name" $.account -}}
{{- end -}}
{{- range $rule := $object.rules -}}
{{- with $rule.resourceNames -}}
{{- $names := list -}}
{{- range . -}}
{{- $names = append $names (get $.configured . | default .) -}}
{{- end -}}
{{- $_ := set $rule "resourceNames" $names -}}
{{- end -}}
{{- end -}}
{{- if eq $object.kind "ValidatingAdmissionPolicyBinding" -}}
{{- $_ := set $object.spec "policyName" (include "evacuator.renamed" (dict "root" $root "name" $object.spec.policyName)) -}}
{{- else if eq $object.kind "FlowSchema" -}}
{{- with $object.spec.priorityLevelConfiguration -}}
{{- $_ := set . "name" (include "evacuator.renamed" (dict "root" $root "name" .name)) -}}
{{- end -}}
{{- range $object.spec.rules -}}
{{- range .subjects -}}
{{- $_ := set .serviceAccount "name" $.account -}}
{{- end -}}
{{- end -}}
{{- else if hasSuffix "WebhookConfiguration" $object.kind -}}
{{- $_ := set $object.metadata "name" (get $.configured $.name) -}}
{{- range $object.webhooks -}}
{{- $_ := set .clientConfig.service "name" (get $.configured .clientConfig.service.name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The objects of a file of config/ under this release: names, namespace, service account and labels are the release's.
     root: $; file: its path in the chart. Optional: namespaces: bind cluster roles only there; kinds: no others;
     verbs: in all rules; annotations: on all. */}}
{{- define "evacuator.objects" -}}
{{- $root := .root -}}
{{- $account := include "evacuator.serviceAccountName" $root -}}
{{- $config := include "evacuator.config" $root | fromYaml -}}
{{- /* What the operator finds by its configuration. The left side is what config/ calls it. */ -}}
{{- $configured := dict "evacuator" $config.leaderElection.name "evacuator-signing" $config.signing.secretName
      "evacuator-webhook-tls" $config.webhook.secretName "evacuator-placement" $config.webhook.configurationName
      "evacuator-webhook" $config.webhook.serviceName
      "evacuator-admission" $config.webhook.admission.configurationName
      "evacuator-admission-webhook" $config.webhook.admission.serviceName -}}
{{- $text := include "evacuator.file" (dict "root" $root "path" .file)
      | replace "serviceaccount:evacuator-system:evacuator" (printf "serviceaccount:%s:%s" $root.Release.Namespace $account) -}}
{{- $text = regexReplaceAll "([ \\[])evacuator-system" $text (printf "${1}%q" $root.Release.Namespace) -}}
{{- range $document := regexSplit "(?m)^---[ \t]*$" $text -1 -}}
{{- $object := fromYaml $document -}}
{{- if $object.Error -}}
{{- fail (printf "%s: %s" $.file $object.Error) -}}
{{- end -}}
{{- if and $object (or (not $.kinds) (has $object.kind $.kinds)) -}}
{{- $name := $object.metadata.name -}}
{{- $_ := set $object.metadata "name" (include "evacuator.renamed" (dict "root" $root "name" $object.metadata.name)) -}}
{{- $_ := set $object.metadata "labels" (merge (dict) (default dict $object.metadata.labels) (include "evacuator.commonLabels" $root | fromYaml)) -}}
{{- with $.annotations -}}
{{- $_ := set $object.metadata "annotations" (merge (dict) (default dict $object.metadata.annotations) .) -}}
{{- end -}}
{{- if $.verbs -}}
{{- range $object.rules -}}
{{- $_ := set . "verbs" $.verbs -}}
{{- end -}}
{{- end -}}
{{- include "evacuator.renameWithin" (dict "root" $root "object" $object "name" $name "account" $account "configured" $configured) -}}
{{- $bound := list $object -}}
{{- if and $.namespaces (eq $object.kind "ClusterRoleBinding") -}}
{{- $bound = list -}}
{{- range $.namespaces -}}
{{- $binding := deepCopy $object -}}
{{- $_ := set $binding "kind" "RoleBinding" -}}
{{- $_ := set $binding.metadata "namespace" . -}}
{{- $bound = append $bound $binding -}}
{{- end -}}
{{- end -}}
{{- range $bound }}
---
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end }}
