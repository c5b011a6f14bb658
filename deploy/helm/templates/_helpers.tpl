{{- define "tributary.fullname" -}}
{{- if eq .Release.Name "tributary" }}tributary{{ else }}{{ printf "%s-tributary" .Release.Name | trunc 45 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "tributary.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Labels that choose a service's pods: dict "root" "service" */}}
{{- define "tributary.selector" -}}
app.kubernetes.io/name: tributary
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .service }}
{{- end }}

{{- define "tributary.labels" -}}
{{ include "tributary.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "tributary.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "tributary.container" -}}
image: {{ include "tributary.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* dict "root" "key" (of the secret, for PostgreSQL) */}}
{{- define "tributary.env" -}}
- name: TRIBUTARY_POSTGRES
  valueFrom: {secretKeyRef: {name: {{ .root.Values.existingSecret }}, key: {{ .key }}}}
{{- end }}

{{/* What migrate makes topics with, and doctor asks of them. */}}
{{- define "tributary.copies" -}}
- {name: TRIBUTARY_REPLICATION, value: {{ .Values.migrate.replication | quote }}}
- {name: TRIBUTARY_MIN_INSYNC_REPLICAS, value: {{ .Values.migrate.minInsyncReplicas | quote }}}
{{- end }}

{{- define "tributary.extraEnv" -}}
{{- range $key, $value := . }}
- {name: {{ $key }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{- define "tributary.kafka" -}}
{{- $kafka := .Values.kafka }}
- {name: TRIBUTARY_KAFKA_BROKERS, value: {{ join "," $kafka.brokers | quote }}}
{{- with .Values.topicPrefix }}
- {name: TRIBUTARY_TOPIC_PREFIX, value: {{ . | quote }}}
{{- end }}
{{- if $kafka.tls }}
- {name: TRIBUTARY_KAFKA_TLS, value: "true"}
{{- end }}
{{- if $kafka.sasl }}
- {name: TRIBUTARY_KAFKA_SASL, value: {{ $kafka.sasl | quote }}}
- {name: TRIBUTARY_KAFKA_SASL_USERNAME, value: {{ $kafka.username | quote }}}
- name: TRIBUTARY_KAFKA_SASL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .Values.existingSecret }}, key: kafka-password}}
{{- end }}
{{- end }}
