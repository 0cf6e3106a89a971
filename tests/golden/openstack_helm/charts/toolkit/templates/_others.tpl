{{/* Objects around the API, and those that Stackwright switches off: a Job or a Secret with a password out of values. */}}

{{- define "toolkit.service" -}}
{{- $root := index . 0 }}
{{- $type := index . 1 }}
{{- if $root.Values.manifests.service_api }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "toolkit.pick" (list (index $root.Values.endpoints $type).hosts "internal") }}
spec:
  ports:
    - {name: {{ index . 2 }}, port: {{ include "toolkit.port" (list $root $type "service" "api") }}}
  selector:
    {{- include "toolkit.labels" (list $root "api") | nindent 4 }}
{{- end }}
{{- end }}

{{- define "toolkit.pdb" -}}
{{- if .Values.manifests.pdb_api }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .Chart.Name }}-api
spec:
  minAvailable: {{ .Values.pod.lifecycle.disruption_budget.api.min_available }}
  selector:
    matchLabels:
      {{- include "toolkit.labels" (list . "api") | nindent 6 }}
{{- end }}
{{- end }}

{{- define "toolkit.network_policy" -}}
{{- if .Values.manifests.network_policy }}
{{- $asked := index .Values.network_policy .Chart.Name }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .Chart.Name }}-netpol
spec:
  policyTypes:
    {{- if or $asked.egress (has "Egress" ($asked.policyTypes | default list)) }}
    - Egress
    {{- end }}
    {{- if or $asked.ingress (has "Ingress" ($asked.policyTypes | default list)) }}
    - Ingress
    {{- end }}
  podSelector:
    matchLabels:
      application: {{ .Chart.Name }}
  {{- with $asked.egress }}
  egress:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $asked.ingress }}
  ingress:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "toolkit.unwanted" -}}
{{- $root := . }}
{{- range $name, $on := .Values.manifests }}
{{- if and $on (or (hasPrefix "cron_" $name) (and (hasPrefix "job_" $name) (not (has $name (list "job_db_sync" "job_metadefs_load"))))) }}
{{- if and (eq $name "job_bootstrap") (not $root.Values.bootstrap.enabled) }}{{ else }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $root.Chart.Name }}-{{ $name | replace "_" "-" }}
{{- end }}
{{- else if and $on (hasPrefix "secret_" $name) }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ $root.Chart.Name }}-{{ $name | replace "_" "-" }}
stringData:
  passwords: {{ $root.Values.endpoints | toJson | quote }}
{{- end }}
{{- end }}
{{- range .Values.extraObjects }}
---
{{ tpl (toYaml .) $root }}
{{- end }}
{{- end }}
