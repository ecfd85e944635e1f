{{/* The pod of Deployment, CronJob and Job: metadata and spec. */}}
{{- define "evacuator.pod" -}}
{{- $config := include "evacuator.config" . | fromYaml -}}
{{- $certManager := eq (include "evacuator.hasCertManager" .) "true" -}}
{{- $metricsPort := include "evacuator.port" $config.server.metricsAddress -}}
{{- /* A changed configuration rolls a Deployment. */ -}}
{{- $isJob := ne .Values.kind "Deployment" -}}
{{- $annotations := dict "checksum/config" (include "evacuator.config" . | sha256sum) -}}
{{- if .Values.metrics.scrapeAnnotations -}}
{{- $annotations = merge $annotations (dict "prometheus.io/scrape" "true" "prometheus.io/port" $metricsPort "prometheus.io/scheme" "https") -}}
{{- end -}}
metadata:
  labels:
    {{- merge (dict) (.Values.podLabels | default dict) (include "evacuator.labels" . | fromYaml) | toYaml | nindent 4 }}
  annotations:
    {{- merge (dict) (.Values.podAnnotations | default dict) $annotations | toYaml | nindent 4 }}
spec:
  serviceAccountName: {{ include "evacuator.serviceAccountName" . }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $isJob }}
  restartPolicy: Never
  {{- end }}
  {{- with .Values.priorityClass.name }}
  priorityClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
  {{- with get $.Values $field }}
  {{ $field }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- with .Values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: evacuator
      image: {{ include "evacuator.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - run
        - --config=/etc/evacuator/config.yaml
        - --namespace=$(POD_NAMESPACE)
        - --identity=$(POD_NAME)
        {{- if $isJob }}
        - --once
        - --once-timeout={{ .Values.once.timeout }}
        {{- end }}
        {{- with .Values.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: health
          containerPort: {{ include "evacuator.port" $config.server.healthAddress }}
        - name: metrics
          containerPort: {{ $metricsPort }}
      livenessProbe:
        httpGet:
          path: /healthz
          port: health
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: health
        periodSeconds: 5
        timeoutSeconds: 3
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: config
          mountPath: /etc/evacuator
          readOnly: true
        - name: audit
          mountPath: {{ dir $config.audit.file.path }}
          {{- if .Values.audit.existingClaim }}
          subPathExpr: $(POD_NAME)
          {{- end }}
        {{- if $certManager }}
        - name: webhook
          mountPath: /etc/evacuator-webhook
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "evacuator.fullname" . }}-config
    - name: audit
      {{- if .Values.audit.existingClaim }}
      persistentVolumeClaim:
        claimName: {{ .Values.audit.existingClaim }}
      {{- else }}
      emptyDir:
        sizeLimit: {{ .Values.audit.sizeLimit }}
      {{- end }}
    {{- if $certManager }}
    - name: webhook
      secret:
        secretName: {{ $config.webhook.secretName }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
