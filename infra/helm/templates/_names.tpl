{{- define "sealgate.name" -}}
{{- if not .Values.surface -}}
{{- fail "No surface is chosen. Install each by its values file: `-f values/ingest-gateway.yaml -f yours.yaml`. These files (case-gate, console, ingest-gateway, ledger-peer, risk-partner) are in the folder `values` of the chart, which `helm pull --untar` unpacks." -}}
{{- end -}}
{{- $name := .Values.nameOverride | default .Values.surface -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "sealgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "sealgate.name" .) }}
{{- else -}}
{{ .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{- define "sealgate.selector" -}}
app.kubernetes.io/name: {{ .Values.surface }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sealgate.labels" -}}
{{ include "sealgate.ownLabels" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What is added to the labels of every pod: a label of pods replaces a common one of the same name. */}}
{{- define "sealgate.podLabels" -}}
{{- with merge dict .Values.podLabels .Values.commonLabels }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- define "sealgate.ownLabels" -}}
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
{{- with .root.Values.image.registry }}{{ . }}/{{ end -}}
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

{{/*
The larger of a size in the values and that of the claim in the cluster. Kubernetes refuses a smaller request, for
instance by a release that is installed again on a claim that has grown. Takes {root, claim, size}.
*/}}
{{- define "sealgate.claimSize" -}}
{{- $found := lookup "v1" "PersistentVolumeClaim" .root.Release.Namespace .claim -}}
{{- $present := dig "spec" "resources" "requests" "storage" "0" $found -}}
{{- if gt (include "sealgate.bytes" $present | float64) (include "sealgate.bytes" .size | float64) -}}
{{ $present }}
{{- else -}}
{{ .size }}
{{- end -}}
{{- end }}

{{/* The bytes of a quantity of Kubernetes. */}}
{{- define "sealgate.bytes" -}}
{{- $units := dict "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 -}}
{{- $number := regexFind "^[0-9.]+" (toString .) -}}
{{- mulf ($number | float64) (get $units (trimPrefix $number (toString .)) | default 1.0) -}}
{{- end }}
