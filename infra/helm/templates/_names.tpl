{{- define "sealgate.name" -}}
{{- if contains .Values.surface .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Values.surface | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "sealgate.selector" -}}
app.kubernetes.io/name: {{ .Values.surface }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sealgate.labels" -}}
{{ include "sealgate.selector" . }}
app.kubernetes.io/part-of: sealgate
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Chart.Annotations }}
{{- with index . "sealgate/revision" }}
sealgate/revision: {{ . | trunc 63 | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sealgate.image" -}}
{{ include "sealgate.imageOf" (dict "image" .Values.image "root" .) }}
{{- end }}

{{/* Takes {image: {repository, tag, digest}, root}. */}}
{{- define "sealgate.imageOf" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "sealgate.servicePort" -}}
{{ .Values.service.port | default (ternary 443 80 (ne .Values.tls.secretName "")) }}
{{- end }}

{{/* The existing claim, or the one that the chart creates. */}}
{{- define "sealgate.archiveClaim" -}}
{{ .Values.archive.claimName | default (printf "archive-%s" (include "sealgate.name" .)) }}
{{- end }}

{{/* The name that a claim template of the StatefulSet gave it in earlier versions of the chart. */}}
{{- define "sealgate.checkpointClaim" -}}
checkpoints-{{ include "sealgate.name" . }}-integrator-0
{{- end }}
