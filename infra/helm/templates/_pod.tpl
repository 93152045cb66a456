{{/* Security settings of every pod. */}}
{{- define "sealgate.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.extraInitContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sealgate.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* One variable from an existing Secret. Takes {variable, secret: {name, key}}. */}}
{{- define "sealgate.secretVariable" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret.name }}
      key: {{ .secret.key | default .variable }}
{{- end }}

{{/* Settings of both the service and its migration job. */}}
{{- define "sealgate.sharedEnv" -}}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if or (hasKey $.Values.env .name) (hasKey $.Values.secrets .name) }}
{{- fail (printf "%s is set twice: in extraEnv, and in env or secrets." .name) }}
{{- end }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- if or .Values.ca.secret .Values.ca.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/sealgate/ca/{{ .Values.ca.key }}
{{- end }}
{{- end }}

{{/* Takes {root, integrates}. The integrator's public listener stays on loopback: it serves no requests. */}}
{{- define "sealgate.env" -}}
{{- $values := .root.Values -}}
- name: HOST
  value: {{ ternary "127.0.0.1" "0.0.0.0" .integrates | quote }}
- name: PORT
  value: "8080"
- name: OPS_HOST
  value: 0.0.0.0
- name: OPS_PORT
  value: "8081"
{{- if $values.admin.enabled }}
- name: ADMIN_HOST
  value: {{ ternary "0.0.0.0" "127.0.0.1" (and $values.admin.service.enabled (not .integrates)) | quote }}
- name: ADMIN_PORT
  value: {{ $values.admin.port | quote }}
{{- end }}
{{- if not .integrates }}
{{- if $values.tls.secretName }}
- name: TLS_CERT_FILE
  value: /etc/sealgate/tls/tls.crt
- name: TLS_KEY_FILE
  value: /etc/sealgate/tls/tls.key
{{- else }}
- name: TLS_TERMINATED_UPSTREAM
  value: "true"
{{- end }}
{{- end }}
- name: DRAIN_DELAY_MS
  value: {{ ternary 0 (mul $values.drain.delaySeconds 1000) .integrates | quote }}
- name: DRAIN_TIMEOUT_MS
  value: {{ mul $values.drain.timeoutSeconds 1000 | quote }}
{{- if $values.secrets.DATABASE_URL }}
# Local rate limits are divided by it.
- name: REPLICAS
  value: {{ ternary $values.autoscaling.maxReplicas $values.replicas $values.autoscaling.enabled | quote }}
{{- end }}
{{- if .integrates }}
- name: LEDGER_INTEGRATOR
  value: "true"
- name: CHECKPOINT_DIR
  value: /checkpoints
{{ include "sealgate.secretVariable" (dict "variable" "LEDGER_SIGNING_KEY" "secret" $values.integrator.signingKey) }}
{{- with $values.integrator.witnesses.policy.configMap }}
- name: LEDGER_WITNESS_POLICY
  value: file:///etc/sealgate/witnesses/{{ $values.integrator.witnesses.policy.key }}
{{- end }}
{{- with $values.integrator.witnesses.waitMs }}
- name: LEDGER_WITNESS_WAIT_MS
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- if $values.archive.enabled }}
- name: LEDGER_ARCHIVE_DIR
  value: /archive
{{- end }}
{{- with $values.verifierKeys.configMap }}
- name: LEDGER_VERIFIER_KEYS
  valueFrom:
    configMapKeyRef:
      name: {{ . }}
      key: {{ $values.verifierKeys.key }}
{{- end }}
{{- if $values.tracing.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ $values.tracing.endpoint | quote }}
- name: OTEL_TRACES_SAMPLER
  value: {{ $values.tracing.sampler | quote }}
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ $values.tracing.share | quote }}
{{- end }}
{{- with include "sealgate.sharedEnv" .root | trim }}
{{ . }}
{{- end }}
{{- range $variable, $secret := $values.secrets }}
{{ include "sealgate.secretVariable" (dict "variable" $variable "secret" $secret) }}
{{- end }}
{{- end }}

{{/* Takes {root, integrates}. */}}
{{- define "sealgate.container" -}}
{{- $values := .root.Values -}}
- name: {{ $values.surface }}
  image: {{ include "sealgate.image" .root }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  {{- with $values.heapMiB }}
  # The last of two such options wins, so this overrides that of the image.
  args: ["--max-old-space-size={{ . }}", main.js]
  {{- end }}
  {{- include "sealgate.containerSecurity" . | nindent 2 }}
  env:
    {{- include "sealgate.env" . | nindent 4 }}
  ports:
    {{- if not .integrates }}
    - name: public
      containerPort: 8080
    {{- end }}
    - name: ops
      containerPort: 8081
    {{- if and $values.admin.service.enabled (not .integrates) }}
    - name: admin
      containerPort: {{ $values.admin.port }}
    {{- end }}
  {{- range $probe, $path := dict "startup" "startup" "liveness" "live" "readiness" "ready" }}
  {{ $probe }}Probe:
    httpGet: { path: /health/{{ $path }}, port: ops }
    {{- toYaml (get $values.probes $probe) | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml $values.resources | nindent 4 }}
  {{- with include "sealgate.mounts" . | trim }}
  volumeMounts:
    {{- . | nindent 4 }}
  {{- end }}
{{- with $values.extraContainers }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sealgate.mounts" -}}
{{- $values := .root.Values }}
{{- if .integrates }}
- name: checkpoints
  mountPath: /checkpoints
{{- if $values.integrator.witnesses.policy.configMap }}
- name: witnesses
  mountPath: /etc/sealgate/witnesses
  readOnly: true
{{- end }}
{{- else if $values.tls.secretName }}
- name: tls
  mountPath: /etc/sealgate/tls
  readOnly: true
{{- end }}
{{- if $values.archive.enabled }}
- name: archive
  mountPath: /archive
  # Only one process writes it.
  readOnly: {{ not .integrates }}
{{- end }}
{{ include "sealgate.sharedMounts" .root }}
{{- end }}

{{/* Mounts of both the service and its migration job: certificate authority, files, extra volumes. */}}
{{- define "sealgate.sharedMounts" -}}
{{- if or .Values.ca.secret .Values.ca.configMap }}
- name: ca
  mountPath: /etc/sealgate/ca
  readOnly: true
{{- end }}
{{- range $index, $file := .Values.files }}
- name: files-{{ $index }}
  mountPath: {{ $file.path }}
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sealgate.caVolume" -}}
{{- if .Values.ca.secret }}
- name: ca
  secret:
    secretName: {{ .Values.ca.secret }}
    defaultMode: 0440
{{- else if .Values.ca.configMap }}
- name: ca
  configMap:
    name: {{ .Values.ca.configMap }}
{{- end }}
{{- end }}

{{- define "sealgate.sharedVolumes" -}}
{{- include "sealgate.caVolume" . }}
{{- range $index, $file := .Values.files }}
- name: files-{{ $index }}
  {{- if $file.secret }}
  secret:
    secretName: {{ $file.secret }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ $file.configMap }}
  {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sealgate.volumes" -}}
{{- $values := .root.Values -}}
{{- if .integrates }}
- name: checkpoints
  persistentVolumeClaim:
    claimName: {{ include "sealgate.checkpointClaim" .root }}
{{- with $values.integrator.witnesses.policy.configMap }}
- name: witnesses
  configMap:
    name: {{ . }}
{{- end }}
{{- else if $values.tls.secretName }}
- name: tls
  secret:
    secretName: {{ $values.tls.secretName }}
    defaultMode: 0440
{{- end }}
{{- if $values.archive.enabled }}
- name: archive
  persistentVolumeClaim:
    claimName: {{ include "sealgate.archiveClaim" .root }}
{{- end }}
{{ include "sealgate.sharedVolumes" .root }}
{{- end }}

{{/* The drain, plus up to five seconds for each resource released after it. */}}
{{- define "sealgate.graceSeconds" -}}
{{ add .Values.drain.delaySeconds .Values.drain.timeoutSeconds 45 }}
{{- end }}
