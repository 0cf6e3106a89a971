{{- define "toolkit.labels" -}}
application: {{ (index . 0).Chart.Name }}
component: {{ index . 1 }}
release_group: {{ (index . 0).Values.release_group | default (index . 0).Release.Name }}
{{- end }}

{{/* node (root, key of labels) */}}
{{- define "toolkit.node" -}}
{{- $label := index (index . 0).Values.labels (index . 1) -}}
nodeSelector:
  {{ $label.node_selector_key }}: {{ $label.node_selector_value }}
{{- $tolerations := index (index . 0).Values.pod.tolerations (index . 0).Chart.Name }}
{{- if $tolerations.enabled }}
tolerations:
  {{- toYaml $tolerations.tolerations | nindent 2 }}
{{- end }}
{{- end }}

{{- define "toolkit.image" -}}
image: {{ index (index . 0).Values.images.tags (index . 1) }}
imagePullPolicy: {{ (index . 0).Values.images.pull_policy }}
{{- end }}

{{- define "toolkit.resources" -}}
{{- if (index . 0).Values.pod.resources.enabled }}
resources:
  {{- toYaml (index . 1) | nindent 2 }}
{{- end }}
{{- end }}

{{- define "toolkit.pull_secrets" -}}
{{- with .Values.pod.image_pull_secrets }}
imagePullSecrets:
  {{- toYaml .default | nindent 2 }}
{{- end }}
{{- end }}

{{- define "toolkit.priority" -}}
{{- with dig "priorityClassName" (index . 1) "" (index . 0).Values.pod }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* security (root, application, container or null for the pod) */}}
{{- define "toolkit.security" -}}
{{- $all := dig "security_context" (index . 1) dict (index . 0).Values.pod }}
{{- $found := ternary (dig "container" (index . 2 | default "") dict $all) $all.pod (not (empty (index . 2))) }}
{{- with $found }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* wait (root, component): the container that waits for Jobs and Services; Jobs whose manifest is off count as done */}}
{{- define "toolkit.wait" -}}
{{- $root := index . 0 }}
{{- $deps := index $root.Values.dependencies.static (index . 1) }}
{{- $jobs := list }}
{{- range $deps.jobs }}
{{- if dig (printf "job_%s" (trimPrefix (printf "%s-" $root.Chart.Name) . | replace "-" "_")) true $root.Values.manifests }}{{ $jobs = append $jobs . }}{{ end }}
{{- end }}
{{- $services := list }}
{{- range $deps.services }}
{{- $e := index $root.Values.endpoints .service }}
{{- $services = append $services (printf "%s:%s" $root.Release.Namespace (include "toolkit.pick" (list $e.hosts .endpoint))) }}
{{- end -}}
- name: init
  {{- include "toolkit.image" (list $root "dep_check") | nindent 2 }}
  env:
    - {name: DEPENDENCY_SERVICE, value: {{ join "," $services | quote }}}
    - {name: DEPENDENCY_JOBS, value: {{ join "," $jobs | quote }}}
{{- end }}

{{/* snippets (root, key of pod.etcSources): the volume of the configuration directory */}}
{{- define "toolkit.snippets" -}}
- name: snippets
{{- with index (index . 0).Values.pod.etcSources (index . 1) }}
  projected:
    sources:
      {{- toYaml . | nindent 6 }}
{{- else }}
  emptyDir: {}
{{- end }}
{{- end }}

{{/* probe (root, container, kind, default) */}}
{{- define "toolkit.probe" -}}
{{- $asked := dig "probes" "api" (index . 1) (index . 2) dict (index . 0).Values.pod }}
{{- if dig "enabled" false $asked }}
{{ index . 2 }}Probe:
  {{- toYaml (mergeOverwrite (deepCopy (index . 3)) ($asked.params | default dict)) | nindent 2 }}
{{- end }}
{{- end }}

{{/* deployment (root): spec of the API's Deployment down to its template */}}
{{- define "toolkit.deployment" -}}
{{- $d := .Values.pod.lifecycle.upgrades.deployments -}}
replicas: {{ .Values.pod.replicas.api }}
revisionHistoryLimit: {{ $d.revision_history }}
strategy:
  type: {{ $d.pod_replacement_strategy }}
  {{- if eq $d.pod_replacement_strategy "RollingUpdate" }}
  rollingUpdate: {maxUnavailable: {{ $d.rolling_update.max_unavailable }}, maxSurge: {{ $d.rolling_update.max_surge }}}
  {{- end }}
selector:
  matchLabels:
    {{- include "toolkit.labels" (list . "api") | nindent 4 }}
{{- end }}

{{- define "toolkit.affinity" -}}
{{- $anti := .Values.pod.affinity.anti -}}
podAntiAffinity:
  {{ $anti.type.default }}:
    - weight: {{ $anti.weight.default }}
      podAffinityTerm:
        topologyKey: {{ $anti.topologyKey.default }}
        labelSelector:
          matchLabels:
            {{- include "toolkit.labels" (list . "api") | nindent 12 }}
{{- end }}
