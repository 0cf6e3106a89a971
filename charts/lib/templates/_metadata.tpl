{{/* Labels. Each template has a list as argument: first the root context, then its other arguments. */}}

{{/* lib.name (root): name of the application: values.name if a chart may have several releases, otherwise the chart's name. */}}
{{- define "lib.name" -}}
{{- .Values.name | default .Chart.Name }}
{{- end }}

{{/* lib.suffix (root): suffix of the names of an agent's objects for some nodes only; see lib.agent. */}}
{{- define "lib.suffix" -}}
{{- with .Suffix }}-{{ . }}{{ end }}
{{- end }}

{{/* lib.selector (root, component): labels that select pods. Immutable in workloads, so they contain nothing variable. */}}
{{- define "lib.selector" -}}
{{- $root := index . 0 -}}
application: {{ include "lib.text" (include "lib.name" $root) }}
component: {{ include "lib.text" (index . 1) }}
{{- with $root.Suffix }}
stackwright.dev/override: {{ include "lib.text" . }}
{{- end }}
{{- end }}

{{/* lib.pod_labels (root, component): the selector and labels for users, without versions, which would restart pods. */}}
{{- define "lib.pod_labels" -}}
{{- $root := index . 0 -}}
{{ include "lib.selector" . }}
release_group: {{ include "lib.text" ($root.Values.release_group | default $root.Release.Name) }}
app.kubernetes.io/name: {{ include "lib.text" (include "lib.name" $root) }}
app.kubernetes.io/instance: {{ include "lib.text" $root.Release.Name }}
app.kubernetes.io/component: {{ include "lib.text" (index . 1) }}
app.kubernetes.io/part-of: stackwright
app.kubernetes.io/managed-by: {{ include "lib.text" $root.Release.Service }}
{{- end }}

{{/* lib.metadata (root, component, name): the metadata of an object in the release's namespace. */}}
{{- define "lib.metadata" -}}
name: {{ include "lib.text" (index . 2) }}
namespace: {{ include "lib.text" ((index . 0).Release.Namespace) }}
{{ include "lib.metadata.labels" . }}
{{- end }}

{{/* lib.cluster_metadata (root, component, name): the same for a cluster-scoped object. */}}
{{- define "lib.cluster_metadata" -}}
name: {{ include "lib.text" (index . 2) }}
{{ include "lib.metadata.labels" . }}
{{- end }}

{{- define "lib.metadata.labels" -}}
labels:
  {{- include "lib.pod_labels" . | nindent 2 }}
  app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
{{- end }}

{{/*
lib.annotations (root, workload): digests of the ConfigMaps that a pod mounts, so that a changed file restarts the pod,
and the user's annotations, of the component and of all (`default`). Only data is hashed, so a new label causes no restart.
*/}}
{{- define "lib.annotations" -}}
{{- $root := index . 0 -}}
{{- $w := index . 1 -}}
{{- range $w.configmaps }}
{{- $object := include (printf "%s/configmap-%s.yaml" $root.Template.BasePath .) $root | fromYaml }}
configmap-{{ . }}-hash: {{ $object.data | toJson | sha256sum }}
{{- end }}
{{- with merge (deepCopy (dig "annotations" $w.component dict $root.Values.pod)) (dig "annotations" "default" dict $root.Values.pod) }}
{{ toYaml . }}
{{- end }}
{{- end }}
